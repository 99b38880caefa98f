"""Commands that run a tool as it is: status, tools, tool."""

from __future__ import annotations

import json
from typing import Any

import click

from graph_agent import terminal
from graph_agent.cli.opening import open_tools
from graph_agent.cli.options import OK, global_options, json_option
from graph_agent.errors import BadArgument


@click.command()
@json_option
@global_options
def status(as_json: bool) -> int:
    """Tell what is in the graph and whether all is well."""
    return _run_tool("status", {}, as_json)


@click.command("tools")
@json_option
@global_options
def list_tools(as_json: bool) -> int:
    """List the tools with their arguments."""
    from graph_agent.tools import TOOLS

    schemas = [entry["function"] for entry in TOOLS]
    if as_json:
        terminal.print_json(schemas)
    else:
        rows = [
            (
                entry["name"],
                ", ".join(entry["parameters"].get("properties", {})),
                entry["description"].split("\n")[0],
            )
            for entry in schemas
        ]
        terminal.print_rows(("tool", "arguments", "what it answers"), rows)
    return OK


@click.command("tool")
@click.argument("name")
@click.argument("arguments", default="{}")
@click.option("--artifact", is_flag=True, help="Print the JSON artifact instead of the text.")
@global_options
def run_tool(name: str, arguments: str, artifact: bool) -> int:
    """Run one tool with JSON arguments."""
    try:
        given = json.loads(arguments)
    except json.JSONDecodeError as error:
        raise BadArgument(
            f"The arguments are not JSON ({error}).", """Write them like '{"query": "refunds"}'."""
        ) from None
    if not isinstance(given, dict):
        raise BadArgument(
            "The arguments are not a JSON object.", """Write them like '{"query": "refunds"}'."""
        )
    return _run_tool(name, given, artifact)


def _run_tool(name: str, arguments: dict[str, Any], as_json: bool) -> int:
    with open_tools() as context:
        from graph_agent.tools import call_tool

        result = call_tool(context, name, arguments)
    if as_json:
        terminal.print_json(result.artifact)
    else:
        click.echo(terminal.safe(result.content))
    return OK
