"""Options that many commands share, and the exit codes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

OK, PARTLY, USAGE = 0, 1, 2
"""Exit codes; an error of ours brings its own, 3 for what does not answer."""
INTERRUPTED = 130


def global_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that may stand before or after the subcommand; the later one wins."""
    options = (
        click.option("--data", type=click.Path(path_type=Path), help="Data folder of the embedded engine."),
        click.option("--graph", help="Name of the graph (default: documents)."),
        click.option("--url", help="FalkorDB server, falkor://user:password@host:6379."),
        click.option("--model", help="Chat model, of the OpenAI-compatible endpoint or provider:name."),
        click.option("--verbose", is_flag=True, default=None, help="Log what is done; tracebacks on errors."),
    )

    @functools.wraps(command)
    @click.pass_context
    def run(context: click.Context, /, **arguments: Any) -> Any:
        given = context.ensure_object(dict)
        for name in ("data", "graph", "url", "model", "verbose"):
            value = arguments.pop(name, None)
            if value is not None:
                given[name] = value
        return context.invoke(command, **arguments)

    for option in reversed(options):
        run = option(run)
    return run


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json`: one JSON document on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)
