"""Commands that change what is in the graph: ingest, remove, reembed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph_agent import terminal
from graph_agent.cli.opening import open_chat_model, open_embedder, open_graph, settings_of_context
from graph_agent.cli.options import OK, PARTLY, global_options, json_option
from graph_agent.errors import ConfigurationError, SyncInProgress, UnavailableError
from graph_agent.settings import Settings

if TYPE_CHECKING:
    from graph_agent.ingest import Estimate, SyncReport
    from graph_agent.ingest.plan import Plan
    from graph_agent.store import DocumentGraph


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--folder", "name", help="Name of the top folder in the graph (default: the folder's own).")
@click.option("--watch", is_flag=True, help="Stay and follow changes.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
@click.option("--no-vectors", is_flag=True, help="Leave the embedding to a later run.")
@click.option("--enrich", is_flag=True, help="Describe sections and documents by the chat model, too.")
@click.option("--include", multiple=True, help="Take only files matching this glob (repeatable).")
@click.option("--exclude", multiple=True, help="Leave out files matching this glob (repeatable).")
@json_option
@global_options
def ingest(
    paths: tuple[Path, ...],
    name: str | None,
    watch: bool,
    dry_run: bool,
    no_vectors: bool,
    enrich: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    as_json: bool,
) -> int:
    """Add or sync folders, files and zips."""
    from graph_agent.ingest import SyncOptions, preview, sync, watch_folders

    if watch and as_json:
        raise ConfigurationError(
            "--watch and --json do not go together: there would be one document after each sync.",
            "Leave one of them out; `graph-agent status --json` tells of the last sync.",
        )
    if watch and dry_run:
        raise ConfigurationError("--watch and --dry-run do not go together.", "Leave one of them out.")
    settings = settings_of_context(include=include or None, exclude=exclude or None)
    chat = open_chat_model(settings) if enrich else None  # that none is set must not come out after an hour
    options = SyncOptions(name=name, vectors=not no_vectors)
    with open_graph(settings) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        embedder = open_embedder(settings)
        if dry_run:
            plan = preview(graph, embedder, paths, options, progress)
            _show_plan(plan, _estimate(graph, settings, plan) if enrich else None, as_json)
            return PARTLY if plan.failed else OK

        def finish(report: SyncReport) -> None:
            try:
                if chat is not None:
                    report.enrichment = _enrich(graph, chat, settings, paths, progress)
            finally:  # what the sync did is done, whatever the model does
                _show_report(report, as_json)

        def follow(report: SyncReport) -> None:
            try:
                finish(report)
            except (
                UnavailableError,
                SyncInProgress,
            ) as error:  # what is left is described after the next change
                terminal.note(str(error))

        if watch:
            watch_folders(graph, embedder, paths, options, progress, follow)
            return OK
        report = sync(graph, embedder, paths, options, progress)
        finish(report)
    unanswered = report.enrichment is not None and report.enrichment.failed
    return PARTLY if report.failed or unanswered else OK


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
@global_options
def remove(paths: tuple[Path, ...], as_json: bool) -> int:
    """Take folders or files out of the graph; the files themselves are left alone."""
    from graph_agent.ingest import remove as remove_paths

    with open_graph(settings_of_context()) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        report = remove_paths(graph, paths, progress)
    _show_report(report, as_json)
    return OK


@click.command()
@json_option
@global_options
def reembed(as_json: bool) -> int:
    """Embed everything again, with the embedding model that --model names; can be interrupted and run again.

    Here --model is a value of GRAPH_AGENT_EMBEDDINGS: local, multilingual or provider:name.
    """
    from graph_agent.ingest import reembed as embed_again

    name = (click.get_current_context().find_object(dict) or {}).pop("model", None)
    settings = settings_of_context(embeddings=name)
    with open_graph(settings) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        embedder = open_embedder(settings)
        filled = embed_again(graph, embedder, progress)
    facts = {
        "model": embedder.name,
        "dimension": embedder.dimension,
        "vectors": filled.vectors,
        "pending": filled.pending,
    }
    if as_json:
        terminal.print_json(facts)
    else:
        click.echo(f"{filled.vectors:,} passages embedded with {embedder.name}.")
        if name:
            terminal.note(f"Set GRAPH_AGENT_EMBEDDINGS={name} for every process that uses this graph.")
    return OK


def _estimate(graph: DocumentGraph, settings: Settings, plan: Plan) -> Estimate:
    """What describing will take, for what is in the graph; what is still to be read is not counted."""
    from graph_agent.ingest import estimate_enrichment

    if unread := len(plan.write) + len(plan.redo):
        terminal.note(f"{unread:,} files are still to be read; what describing them takes is not counted.")
    return estimate_enrichment(graph, settings, str(settings.model))


def _show_plan(plan: Plan, estimate: Estimate | None, as_json: bool) -> None:
    if as_json:
        described = {} if estimate is None else {"enrichment": asdict(estimate)}
        terminal.print_json({"plan": plan.lines(), **described})
        return
    click.echo("\n".join(terminal.safe(line) for line in plan.lines()) or "nothing to do")
    if estimate is not None:
        click.echo(f"To describe: {estimate.summary()}")


def _enrich(graph: Any, model: Any, settings: Settings, paths: Sequence[Path], progress: Any) -> Any:
    from graph_agent.ingest import enrich, estimate_enrichment

    name = str(settings.model)
    terminal.note(f"To describe: {estimate_enrichment(graph, settings, name, paths).summary()}")
    return enrich(graph, model, settings, model_name=name, paths=paths, progress=progress)


def _show_report(report: Any, as_json: bool) -> None:
    if as_json:
        terminal.print_json(report.as_json())
        return
    click.echo(f"{report.summary()}; {report.documents:,} documents in the graph ({report.seconds:.1f} s).")
    for failure in report.failed:
        terminal.note(f"failed: {failure.path}: {failure.reason}")
    for reason, count in report.redone.items():
        terminal.note(f"made anew: {count} x {reason}")
    for reason, count in report.skipped.items():
        terminal.note(f"left out: {count} x {reason}")
    if report.enrichment is not None:
        terminal.note(report.enrichment.summary())
    if report.vectors_pending:
        terminal.note(
            f"{report.vectors_pending:,} passages have no vector yet; the next ingest goes on with them."
        )
