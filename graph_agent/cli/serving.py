"""Commands that stay: the chat in a browser with its logins, and the MCP server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graph_agent.cli.opening import open_tools, settings_of_context
from graph_agent.cli.options import OK, global_options


@click.command()
@click.option("--host", help="Address to listen on (default 127.0.0.1).")
@click.option("--port", type=int, help="Port to listen on (default 7860).")
@click.option("--auth", type=click.Path(path_type=Path), help="Users file; made by `graph-agent user add`.")
@click.option("--root-path", default="", help="Path prefix behind a proxy.")
@click.option(
    "--sample", type=click.Path(path_type=Path), help="Documents to begin with when the graph is empty."
)
@global_options
def ui(host: str | None, port: int | None, auth: Path | None, root_path: str, sample: Path | None) -> int:
    """Serve the chat in a browser."""
    from graph_agent.ui import serve

    serve(settings_of_context(host=host, port=port), users=auth, root_path=root_path, sample=sample)
    return OK


@click.group()
def user() -> None:
    """Logins of the chat."""


def users_file_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--file`: where the logins are kept."""
    return click.option(
        "--file", "file", type=click.Path(path_type=Path), help="Users file (default: in the data folder)."
    )(command)


@user.command("add")
@click.argument("name")
@click.password_option(help="Asked for when it is not given.")
@users_file_option
@global_options
def add_user(name: str, password: str, file: Path | None) -> int:
    """Add a login, or give it another password."""
    from graph_agent.ui import users

    path = file or users.default_users_file(settings_of_context().data)
    fresh = users.add_user(path, name, password)
    click.echo(
        f"{'Added' if fresh else 'Changed the password of'} {name} in {path}. Serve with: graph-agent ui --auth {path}"
    )
    return OK


@user.command("remove")
@click.argument("name")
@users_file_option
@global_options
def remove_user(name: str, file: Path | None) -> int:
    """Take a login away."""
    from graph_agent.ui import users

    users.remove_user(file or users.default_users_file(settings_of_context().data), name)
    return OK


@user.command("list")
@users_file_option
@global_options
def list_users(file: Path | None) -> int:
    """List the logins."""
    from graph_agent.ui import users

    for entry in users.list_users(file or users.default_users_file(settings_of_context().data)):
        click.echo(entry.name)
    return OK


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=8765, show_default=True)
@global_options
def mcp(http: bool, host: str, port: int) -> int:
    """Serve the tools to other programs by the Model Context Protocol."""
    from graph_agent.mcp_server import serve

    with open_tools() as context:
        serve(context, http=http, host=host, port=port)
    return OK
