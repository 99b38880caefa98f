"""The command `graph-agent`: a thin skin over ingest, tools, agent and pages; it holds no rules of its own.

Exit codes: 0 done; 1 done but some files failed or no answer was found; 2 bad usage or configuration;
3 engine or model unavailable. With --json standard output holds one JSON document and nothing else.
"""

from __future__ import annotations

import sqlite3
import sys
from importlib import import_module
from typing import ClassVar

import click

from graph_agent import __version__, terminal
from graph_agent.cli.options import INTERRUPTED, OK, USAGE, global_options
from graph_agent.errors import GraphAgentError


class _Commands(click.Group):
    """Commands that are loaded when they are asked for; a new one needs a line here and its module."""

    places: ClassVar[dict[str, str]] = {
        "ingest": "documents.ingest",
        "remove": "documents.remove",
        "reembed": "documents.reembed",
        "search": "questions.search",
        "ask": "questions.ask",
        "query": "questions.query",
        "status": "tools.status",
        "tools": "tools.list_tools",
        "tool": "tools.run_tool",
        "ui": "serving.ui",
        "user": "serving.user",
        "mcp": "serving.mcp",
        "eval": "evaluations.evaluations",
        "backup": "keeping.backup",
        "restore": "keeping.restore",
        "copy": "keeping.copy",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (place := self.places.get(cmd_name)) is None:
            return None
        module, _, name = place.partition(".")
        command: click.Command = getattr(import_module(f"{__name__}.{module}"), name)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="graph-agent")
@global_options
def cli() -> None:
    """Ask questions of document collections through a graph, with citations that open the passage."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point: turns exceptions into one line on stderr and an exit code."""
    verbose = "--verbose" in (sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(args=arguments, prog_name="graph-agent", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USAGE
    except (click.exceptions.Abort, KeyboardInterrupt):  # click makes the one of the other
        terminal.note("Interrupted; what was finished is kept.")
        code = INTERRUPTED
    except GraphAgentError as error:
        if verbose:
            raise
        terminal.note(f"graph-agent: {error}")
        code = error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        code = OK
    except (OSError, sqlite3.Error) as error:  # a full disk, a damaged file of conversations
        if verbose:
            raise
        terminal.note(f"graph-agent: {type(error).__name__}: {error} (--verbose shows where)")
        code = USAGE
    sys.exit(code if isinstance(code, int) else OK)
