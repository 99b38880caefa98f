"""A sync: look, plan, carry out, embed. Killed anywhere, the next run ends where a clean one would."""

from __future__ import annotations

import datetime
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
from redis.lock import Lock

from graph_agent.embeddings import Embedder, local_tokenizer
from graph_agent.errors import ConfigurationError, EngineUnavailable, UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.discover import Discovery, discover
from graph_agent.ingest.labelling import relabel
from graph_agent.ingest.linking import relink
from graph_agent.ingest.plan import Plan, Source, make_plan, root_keys
from graph_agent.ingest.preparing import Preparer, children_for
from graph_agent.ingest.reading import read_documents
from graph_agent.ingest.report import FileFailure, Progress, Silent, SyncReport
from graph_agent.ingest.rows import Cutting, Prepared
from graph_agent.ingest.vectors import Filled, clear_vectors, fill_vectors
from graph_agent.ingest.wordpieces import WordPieces
from graph_agent.ingest.writing import Writer, collect_garbage, settle_places
from graph_agent.store import DocumentGraph
from graph_agent.store.maintenance import tidy_after_writing
from graph_agent.store.queries import ingest as statements
from graph_agent.store.schema import ensure_schema

LOCK = "sync-lock"
VECTOR_LOCK = "vector-lock"
LAST_SYNC = "last-sync"
BATCH_WEIGHT = 600_000  # characters per batch: a write of well under a second, so that readers hardly wait
BATCH_DOCUMENTS = 100

log = logging.getLogger(__name__)


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

    Raises:
        ConfigurationError: nothing to read at any of the paths; a graph or model that does not fit.
        SyncInProgress: another process syncs this graph; names it.
        EngineUnavailable, ModelUnavailable: what was finished before stays.
    """
    options = options or SyncOptions()
    progress = progress or Silent()
    began = time.perf_counter()
    report = SyncReport()
    with sync_lock(graph, wait_s=options.wait_s):
        ensure_schema(graph, embedding_model=embedder.name, dimension=embedder.dimension)
        collect_garbage(graph)
        discovery = _discover(graph, paths)
        try:
            plan = _plan(graph, embedder, discovery, options, progress)
            _fill_report(report, plan, discovery)
            carry_out(graph, embedder, plan, report, progress)
        finally:
            discovery.close()
        if not plan.is_empty:
            relink(graph)
        report.relabelled = relabel(graph, discovery.roots, report)
        report.documents = len(graph.read(statements.LINK_TARGETS).rows)
        report.seconds_to_search = time.perf_counter() - began
    filled = _embed(graph, embedder, progress, stop) if options.vectors else Filled()
    report.vectors, report.vectors_per_second = filled.vectors, round(filled.per_second, 1)
    report.vectors_reused, report.tokens_saved = filled.reused, filled.tokens_saved
    report.vectors_pending = filled.pending if options.vectors else _pending(graph)
    if report.wrote or filled.vectors:
        tidy_after_writing(graph, embedder.dimension)
    report.seconds = round(time.perf_counter() - began, 3)
    report.finished_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with suppress(EngineUnavailable):
        graph.keys.set(LAST_SYNC, orjson.dumps(report.as_json()))
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
        return _plan(graph, embedder, discovery, options, progress)
    finally:
        discovery.close()


def carry_out(
    graph: DocumentGraph, embedder: Embedder, plan: Plan, report: SyncReport, progress: Progress
) -> None:
    """Convert and write what a plan names; files that fail are reported and the rest goes on."""
    writer = Writer(graph)
    if plan.redo:
        # The same text cut otherwise has the same ids: it must be gone before it can come again.
        writer.hide([source.replaces for source in plan.redo if source.replaces])
        collect_garbage(graph)
    writer.show(plan.show)
    todo = plan.write + plan.redo
    progress.stage("Reading documents", len(todo))
    settings = graph.settings
    lost: list[Source] = []
    with (
        Preparer(
            Limits.from_settings(settings),
            _cutting(graph, embedder),
            WordPieces(local_tokenizer()),
            children=children_for([source.file.size for source in todo]),
        ) as preparer,
        ThreadPoolExecutor(1, thread_name_prefix="graph-writer") as executor,
    ):
        waiting: list[Future[None]] = []
        for batch in _batches(read_documents(todo, preparer), report, lost, progress):
            report.sections += sum(len(document.sections) for _, document in batch)
            report.chunks += sum(document.chunk_count for _, document in batch)
            waiting.append(executor.submit(writer.write, batch))
            while len(waiting) > 2:
                waiting.pop(0).result()
        for future in waiting:
            future.result()
    # A file that changed into something unreadable: its old text is no longer what the file says.
    writer.hide([*plan.hide, *(source.replaces for source in lost if source.replaces)])
    if not plan.is_empty:
        collect_garbage(graph)
        settle_places(graph)


def remove(graph: DocumentGraph, paths: Sequence[Path | str], progress: Progress | None = None) -> SyncReport:
    """Take everything below some paths out of the graph; files on disk are left alone.

    Raises:
        ConfigurationError: a path under which no document is known; lists the roots that are.
    """
    report = SyncReport()
    began = time.perf_counter()
    with sync_lock(graph):
        from graph_agent.ingest.removal import places_below

        places = places_below(graph, paths)
        Writer(graph).hide(places)
        collect_garbage(graph)
        settle_places(graph)
        relink(graph)
        report.deleted = len(places)
        report.documents = len(graph.read(statements.LINK_TARGETS).rows)
    report.seconds = round(time.perf_counter() - began, 3)
    return report


def reembed(graph: DocumentGraph, embedder: Embedder, progress: Progress | None = None) -> Filled:
    """Replace every vector by the given model's; run again after an interruption, it goes on."""
    from graph_agent.store.schema import drop_vector_index, read_meta

    meta = read_meta(graph)
    if meta is None:
        raise ConfigurationError(
            "There are no documents to embed.", "Ingest some first: graph-agent ingest FOLDER"
        )
    with sync_lock(graph):
        if (meta.embedding_model, meta.dimension) != (embedder.name, embedder.dimension):
            drop_vector_index(graph)
            clear_vectors(graph, embedder.name, embedder.dimension)
    filled = _embed(graph, embedder, progress or Silent(), None)
    tidy_after_writing(graph, embedder.dimension)
    return filled


@contextmanager
def sync_lock(graph: DocumentGraph, *, name: str = LOCK, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the sync of a graph, kept alive by a thread while the work runs.

    Raises:
        SyncInProgress: somebody else holds it; names the holder.
    """
    holder = f"process {os.getpid()} on {socket.gethostname()} ({uuid.uuid4().hex[:8]})"
    with graph.keys.lock(name, holder, wait_s=wait_s, is_gone=_is_gone) as lock:
        done = threading.Event()
        keeper = threading.Thread(target=_keep, args=(lock, done), name="lock-keeper", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()


def _keep(lock: Lock, done: threading.Event) -> None:
    from redis.exceptions import RedisError

    while not done.wait(5.0):
        with suppress(RedisError):
            lock.reacquire()


def _is_gone(holder: str) -> bool:
    """Whether a lock's holder was a process of this machine that no longer lives."""
    words = holder.split()
    if len(words) < 4 or words[0] != "process" or words[3] != socket.gethostname():
        return False
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


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
        chunker=_cutting(graph, embedder).name,
        progress=progress,
    )


def _cutting(graph: DocumentGraph, embedder: Embedder) -> Cutting:
    return Cutting.of(embedder, graph.settings.chunk_tokens, graph.settings.chunk_overlap)


def _fill_report(report: SyncReport, plan: Plan, discovery: Discovery) -> None:
    report.added, report.changed = plan.added, plan.changed + len(plan.redo)
    report.moved, report.deleted, report.unchanged = len(plan.moves), len(plan.hide), plan.unchanged
    report.skipped = dict(discovery.skipped)
    report.roots = [str(root.path) for root in discovery.roots]
    for failure in discovery.failures:
        report.add_failure(failure)
    report.failed += plan.failed


def _batches(
    documents: Iterable[tuple[Source, Prepared | UnreadableFile]],
    report: SyncReport,
    lost: list[Source],
    progress: Progress,
) -> Iterator[list[tuple[Source, Prepared]]]:
    """Documents in batches of a bounded size; those that cannot be read go into the report and `lost`."""
    batch: list[tuple[Source, Prepared]] = []
    weight = 0
    for source, document in documents:
        progress.advance(1, source.path)
        if isinstance(document, UnreadableFile):
            report.failed.append(FileFailure(source.file.path, str(document)))
            lost.append(source)
            if source.replaces is None:
                report.added -= 1
            else:
                report.changed -= 1
            continue
        report.warnings += [FileFailure(source.file.path, warning) for warning in document.warnings]
        batch.append((source, document))
        weight += document.weight
        if weight >= BATCH_WEIGHT or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _embed(
    graph: DocumentGraph, embedder: Embedder, progress: Progress, stop: threading.Event | None
) -> Filled:
    with sync_lock(graph, name=VECTOR_LOCK, wait_s=3_600.0):
        return fill_vectors(graph, embedder, progress, stop=stop)


def _pending(graph: DocumentGraph) -> int:
    return sum(int(row[1]) for row in graph.read(statements.WITHOUT_VECTORS).rows)
