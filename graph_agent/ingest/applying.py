"""Carrying out a plan: files are read, converted and cut while the ones before them are written."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from graph_agent.embeddings import Embedder, local_tokenizer
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.plan import Place, Plan, Source
from graph_agent.ingest.preparing import Preparer, children_for
from graph_agent.ingest.reading import read_documents
from graph_agent.ingest.report import FileFailure, Progress, SyncReport
from graph_agent.ingest.rows import Cutting, Prepared
from graph_agent.ingest.wordpieces import WordPieces
from graph_agent.ingest.writing import Writer
from graph_agent.store import DocumentGraph

BATCH_WEIGHT = 600_000  # characters per batch: a write of well under a second, so that readers hardly wait
BATCH_DOCUMENTS = 100
BATCHES_AHEAD = 2


def cutting_of(graph: DocumentGraph, embedder: Embedder) -> Cutting:
    """How documents are cut by the settings, for the embedding model."""
    return Cutting.of(embedder, graph.settings.chunk_tokens, graph.settings.chunk_overlap)


def carry_out(
    graph: DocumentGraph,
    embedder: Embedder,
    plan: Plan,
    report: SyncReport,
    progress: Progress,
    *,
    stop: threading.Event | None = None,
) -> None:
    """Convert and write what a plan names; files that fail are reported and the rest goes on.

    Args:
        stop: when set, what was read is written and the other files are left to the next run.
    """
    redo: dict[str, list[Place]] = defaultdict(list)
    for source in plan.redo:
        if source.replaces is not None:
            redo[source.replaces.markdown_hash].append(source.replaces)
    writer = Writer(graph, redo)
    writer.show(plan.show)
    writer.touch(plan.touched)
    lost = _read_and_write(graph, embedder, plan, writer, report, progress, stop)
    # A file that changed into something unreadable: its old text is no longer what the file says. One that
    # was only to be made anew keeps what it has.
    kept = {source.place for source in plan.redo} - plan.moves
    gone = [source.replaces for source in lost if source.replaces and source.place not in kept]
    writer.hide([*plan.hide, *gone])


def _read_and_write(
    graph: DocumentGraph,
    embedder: Embedder,
    plan: Plan,
    writer: Writer,
    report: SyncReport,
    progress: Progress,
    stop: threading.Event | None,
) -> list[Source]:
    """Bring the files in, and give back those that could not be."""
    todo = plan.write + plan.redo
    if not todo:
        return []
    progress.stage("Reading documents", len(todo))
    lost: list[Source] = []
    taken: set[tuple[str, str]] = set()
    waiting: list[Future[list[tuple[Source, str]]]] = []

    def settle(most: int) -> None:
        while len(waiting) > most:
            for source, reason in waiting.pop(0).result():
                _lose(source, reason, plan, report, lost)

    preparer = Preparer(
        Limits.from_settings(graph.settings),
        cutting_of(graph, embedder),
        WordPieces(local_tokenizer()),
        children=children_for([source.file.size for source in todo]),
    )
    with preparer, ThreadPoolExecutor(1, thread_name_prefix="graph-writer") as executor:
        for batch in _batches(read_documents(todo, preparer), plan, report, lost, progress):
            report.sections += sum(len(document.sections) for _, document in batch)
            report.chunks += sum(document.chunk_count for _, document in batch)
            waiting.append(executor.submit(writer.write, batch))
            taken |= {source.place for source, _ in batch}
            settle(BATCHES_AHEAD)
            if stop is not None and stop.is_set():
                break
        settle(0)
    taken |= {source.place for source in lost}
    for source in todo:
        if source.place not in taken:
            _uncount(source, plan, report)
            report.left += 1
    return lost


def _batches(
    documents: Iterable[tuple[Source, Prepared | UnreadableFile]],
    plan: Plan,
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
            _lose(source, str(document), plan, report, lost)
            continue
        report.warnings += [FileFailure(source.file.path, warning) for warning in document.warnings]
        batch.append((source, document))
        weight += document.weight
        if weight >= BATCH_WEIGHT or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _lose(source: Source, reason: str, plan: Plan, report: SyncReport, lost: list[Source]) -> None:
    """Report a file that is not taken after all."""
    report.failed.append(FileFailure(source.file.path, reason))
    lost.append(source)
    _uncount(source, plan, report)


def _uncount(source: Source, plan: Plan, report: SyncReport) -> None:
    """Take a file out of what the report says was done."""
    if source.place in plan.moves:
        report.moved -= 1
    elif source.replaces is None:
        report.added -= 1
    else:
        report.changed -= 1
