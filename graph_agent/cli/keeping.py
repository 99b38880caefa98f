"""Commands that keep a graph: backup, restore, copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from graph_agent import terminal
from graph_agent.cli.opening import open_graph, settings_of_context
from graph_agent.cli.options import OK, global_options, json_option
from graph_agent.errors import ConfigurationError

if TYPE_CHECKING:
    from graph_agent.store.moving import Moved


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--no-files", is_flag=True, help="The graph only, without conversations and uploaded documents."
)
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@json_option
@global_options
def backup(file: Path, no_files: bool, overwrite: bool, as_json: bool) -> int:
    """Write the graph, vectors included, to one file; readers and syncs go on meanwhile.

    Conversations and uploaded documents of the data folder are in it, logins are not.
    """
    from graph_agent.store import moving

    if file.exists() and not overwrite:
        raise ConfigurationError(f"{file} is there already.", "Name another file, or use --overwrite.")
    with open_graph(settings_of_context()) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        moved = moving.backup(graph, file, progress, files=not no_files)
    _tell(moved, f"Backup of {moved.graph} in {file} ({moved.megabytes:,.1f} MB)", as_json)
    return OK


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Take the place of what is there now.")
@click.option(
    "--no-files", is_flag=True, help="The graph only, without conversations and uploaded documents."
)
@json_option
@global_options
def restore(file: Path, replace: bool, no_files: bool, as_json: bool) -> int:
    """Make the graph from a backup; checked before anything is changed, and put in place in one step."""
    from graph_agent.store import moving

    with open_graph(settings_of_context()) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        moved = moving.restore(graph, file, progress, replace=replace, files=not no_files)
    _tell(moved, f"Restored {moved.graph} from {file}", as_json)
    return OK


@click.command()
@click.option("--to", "address", required=True, help="FalkorDB server, falkor://user:password@host:6379.")
@click.option("--to-graph", help="Name of the graph there (default: the same).")
@click.option("--replace", is_flag=True, help="Take the place of the graph that is there now.")
@json_option
@global_options
def copy(address: str, to_graph: str | None, replace: bool, as_json: bool) -> int:
    """Copy the graph, vectors included, to a FalkorDB server; compared at the end."""
    from graph_agent.store import moving

    settings = settings_of_context()
    there = settings_of_context(falkordb_url=address, graph=to_graph or settings.graph)
    with (
        open_graph(settings) as graph,
        open_graph(there) as target,
        terminal.TerminalProgress(quiet=as_json) as progress,
    ):
        moved = moving.copy(graph, target, progress, replace=replace)
        where = target.engine.address
    _tell(moved, f"Copied {graph.name} to {moved.graph} at {where}", as_json)
    return OK


def _tell(moved: Moved, headline: str, as_json: bool) -> None:
    if as_json:
        terminal.print_json(moved.as_json())
        return
    nodes = ", ".join(f"{count:,} {label or 'without label'}" for label, count in moved.nodes.items())
    click.echo(terminal.safe(f"{headline}: {nodes or 'no nodes'} in {moved.seconds:.1f} s."))
    if moved.files:
        terminal.note(f"{len(moved.files)} files of the data folder.")
    if moved.kept:
        terminal.note(f"Kept as they are: {', '.join(moved.kept[:5])}; --replace takes the backup's instead.")
