"""A sync: look, plan, carry out, embed. Killed anywhere, the next run ends where a clean one would."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.ingest.applying import carry_out, cutting_of
from graph_agent.ingest.discover import discover
from graph_agent.ingest.enriching import reuse_descriptions
from graph_agent.ingest.found import Discovery
from graph_agent.ingest.labelling import label_changes, relabel
from graph_agent.ingest.linking import relink
from graph_agent.ingest.plan import Plan, make_plan, root_keys
from graph_agent.ingest.removal import absolute_paths, places_below
from graph_agent.ingest.report import FileFailure, Progress, Silent, SyncReport
from graph_agent.ingest.vectors import Filled, clear_vectors, fill_vectors
from graph_agent.ingest.writing import Writer, collect_garbage, settle_places
from graph_agent.store import DocumentGraph
from graph_agent.store.keys import LAST_SYNC
from graph_agent.store.locking import VECTOR_LOCK, sync_lock
from graph_agent.store.maintenance import tidy_after_writing
from graph_agent.store.queries import ingest as statements
from graph_agent.store.schema import drop_vector_index, ensure_schema, read_meta
from graph_agent.store.unread import forget_unread, keep_unread


@dataclass(frozen=True)
class SyncOptions:
    """How to sync.

    Attributes:
        name: name of the top folder in the graph, instead of the folder's own.
        vectors: embed as well; without, keywords and tables of contents work, and a later run embeds.
        wait_s: how long to wait for another sync to end, in seconds.
    """

    name: str | None = None
    vectors: bool = True
    wait_s: float = 0.0


def sync(
    graph: DocumentGraph,
    embedder: Embedder,
    paths: Sequence[Path | str],
    options: SyncOptions | None = None,
    progress: Progress | None = None,
    *,
    stop: threading.Event | None = None,
) -> SyncReport:
    """Bring folders, files and zips into the graph, or into step with it.

    Args:
        stop: when set, what was begun is finished and the rest is left to the next run.

    Raises:
        ConfigurationError: nothing to read at any of the paths; a graph or model that does not fit.
        SyncInProgress: another process syncs this graph; names it.
        EngineUnavailable, ModelUnavailable: what was finished before stays.
    """
    options = options or SyncOptions()
    progress = progress or Silent()
    began = time.perf_counter()
    report = SyncReport()
    with sync_lock(graph, wait_s=options.wait_s) as held:
        ensure_schema(held, embedding_model=embedder.name, dimension=embedder.dimension)
        collect_garbage(held)
        discovery = _discover(held, paths)
        try:
            plan = _plan(held, embedder, discovery, options, progress)
            _fill_report(report, plan, discovery)
            carry_out(held, embedder, plan, report, progress, stop=stop)
        finally:
            discovery.close()
        settle(held)
        report.relabelled = relabel(held, discovery.roots, report)
        if report.wrote:
            reuse_descriptions(held, graph.settings)
        report.documents = int(held.read(statements.COUNT_DOCUMENTS).scalar(0))
        report.seconds_to_search = time.perf_counter() - began
    filled = _embed(graph, embedder, progress, stop) if options.vectors else Filled()
    report.vectors, report.vectors_per_second = filled.vectors, round(filled.per_second, 1)
    report.vectors_reused, report.tokens_saved = filled.reused, filled.tokens_saved
    report.vectors_pending = filled.pending if options.vectors else _pending(graph)
    tidy(graph)
    report.seconds = round(time.perf_counter() - began, 3)
    report.finished_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with suppress(EngineUnavailable):
        told = report.as_json()
        graph.keys.set(LAST_SYNC, orjson.dumps(told))
        keep_unread(graph.keys, report.roots, told["failed"])
    return report


def preview(
    graph: DocumentGraph,
    embedder: Embedder,
    paths: Sequence[Path | str],
    options: SyncOptions,
    progress: Progress,
) -> Plan:
    """What a sync would do; writes nothing."""
    discovery = _discover(graph, paths)
    try:
        plan = _plan(graph, embedder, discovery, options, progress)
    finally:
        discovery.close()
    changes = label_changes(graph, discovery.roots)
    plan.relabelled = sorted(changes.paths[name] for name in changes.documents)
    plan.failed += [FileFailure(failure.path, failure.reason) for failure in discovery.failures]
    plan.failed += changes.failures
    return plan


def remove(graph: DocumentGraph, paths: Sequence[Path | str], progress: Progress | None = None) -> SyncReport:
    """Take everything below some paths out of the graph; files on disk are left alone.

    Raises:
        ConfigurationError: a path under which no document is known; lists the roots that are.
    """
    report = SyncReport()
    began = time.perf_counter()
    with sync_lock(graph) as held:
        places = places_below(held, paths)
        gone = absolute_paths(held, paths)
        Writer(held).hide(places)
        settle(held)
        tidy(held)
        report.deleted = len(places)
        report.documents = int(held.read(statements.COUNT_DOCUMENTS).scalar(0))
    with suppress(EngineUnavailable):
        forget_unread(graph.keys, gone)
    report.seconds = round(time.perf_counter() - began, 3)
    return report


def reembed(graph: DocumentGraph, embedder: Embedder, progress: Progress | None = None) -> Filled:
    """Replace every vector by the given model's; run again after an interruption, it goes on."""
    meta = read_meta(graph)
    if meta is None:
        raise ConfigurationError(
            "There are no documents to embed.", "Ingest some first: graph-agent ingest FOLDER"
        )
    with sync_lock(graph) as held:
        if (meta.embedding_model, meta.dimension) != (embedder.name, embedder.dimension):
            drop_vector_index(held)
            clear_vectors(held, embedder.name, embedder.dimension)
    filled = _embed(graph, embedder, progress or Silent(), None)
    tidy(graph)
    return filled


def settle(graph: DocumentGraph) -> None:
    """Bring what depends on several documents in step: leftovers, names by place, links; if there is need."""
    if not _marks(graph).get("unsettled"):
        return
    collect_garbage(graph)
    settle_places(graph)
    relink(graph)
    graph.write(statements.MARK_SETTLED)


def tidy(graph: DocumentGraph) -> None:
    """Rebuild the vector index and shorten the engine's file, if something was written since the last time."""
    meta = read_meta(graph)
    if meta is not None and _marks(graph).get("untidy"):
        tidy_after_writing(graph, meta.dimension)
        graph.write(statements.MARK_TIDY)


def _marks(graph: DocumentGraph) -> dict[str, bool]:
    rows = graph.read(statements.MARKS).dicts()
    return {name: bool(value) for name, value in rows[0].items()} if rows else {}


def _discover(graph: DocumentGraph, paths: Sequence[Path | str]) -> Discovery:
    settings = graph.settings
    found = discover(
        paths, include=settings.include, exclude=settings.exclude, max_file_mb=settings.max_file_mb
    )
    known = {row["path"] for row in graph.read(statements.KNOWN_ROOTS).dicts()}
    missing = [root for root in found.roots if not root.reachable]
    if missing and len(missing) == len(found.roots) and not any(str(root.path) in known for root in missing):
        found.close()
        raise ConfigurationError(
            f"{missing[0].path} {missing[0].reason}", "Name an existing folder, file or zip."
        )
    if not found.files and not found.failures and not any(str(root.path) in known for root in found.roots):
        found.close()
        skipped = ", ".join(f"{count} {reason}" for reason, count in found.skipped.items())
        raise ConfigurationError(
            f"There are no documents in {', '.join(str(root.path) for root in found.roots)}"
            + (f" (left out: {skipped})." if skipped else "."),
            "Name a folder with documents: Markdown, text, PDF, Office, HTML, transcripts or zips of them.",
        )
    return found


def _plan(
    graph: DocumentGraph, embedder: Embedder, discovery: Discovery, options: SyncOptions, progress: Progress
) -> Plan:
    return make_plan(
        graph,
        discovery,
        root_keys(graph, discovery.roots, options.name),
        name=options.name,
        chunker=cutting_of(graph, embedder).name,
        progress=progress,
    )


def _fill_report(report: SyncReport, plan: Plan, discovery: Discovery) -> None:
    report.added, report.changed = plan.added, plan.changed + sum(plan.redone.values())
    report.redone = dict(plan.redone)
    report.moved, report.deleted, report.unchanged = len(plan.moves), len(plan.hide), plan.unchanged
    report.skipped = dict(discovery.skipped)
    report.roots = [str(root.path) for root in discovery.roots]
    for failure in discovery.failures:
        report.add_failure(failure)
    report.failed += plan.failed


def _embed(
    graph: DocumentGraph, embedder: Embedder, progress: Progress, stop: threading.Event | None
) -> Filled:
    with sync_lock(graph, name=VECTOR_LOCK, wait_s=3_600.0) as held:
        return fill_vectors(held, embedder, progress, stop=stop)


def _pending(graph: DocumentGraph) -> int:
    return sum(int(row[1]) for row in graph.read(statements.WITHOUT_VECTORS).rows)
