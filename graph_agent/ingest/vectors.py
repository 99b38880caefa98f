"""Vectors for chunks that have none yet: embedded in batches, written while the next batch is embedded.

Chunks are written once and their vector is set once. What is asked for is always "chunks without a
vector", so a run that was killed goes on where it stopped. When a document's vectors are whole they are
kept as one block beside the graph too (plain key `vectors`), which readers load a thousand times faster
than numbers as text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from graph_agent.embeddings import Embedder, Vectors
from graph_agent.errors import EngineUnavailable
from graph_agent.ingest.report import Progress
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements
from graph_agent.text import passage_text

BATCH = 32
QUEUE_LIMIT = 4
SHOW_EVERY_S = 10.0


@dataclass(frozen=True)
class Filled:
    """What one filling did: vectors set, seconds of embedding, chunks still without a vector."""

    vectors: int = 0
    seconds: float = 0.0
    pending: int = 0

    @property
    def per_second(self) -> float:
        """Vectors a second."""
        return self.vectors / self.seconds if self.seconds > 0 else 0.0


def fill_vectors(
    graph: DocumentGraph, embedder: Embedder, progress: Progress, *, stop: threading.Event | None = None
) -> Filled:
    """Embed every visible chunk that has no vector.

    Args:
        stop: when set, ends after the batch in hand; the rest stays for the next run.

    Raises:
        ModelUnavailable: the embedding model failed; what was written before stays.
        EngineUnavailable: the engine went away.
    """
    missing = graph.read(statements.WITHOUT_VECTORS).rows
    total = sum(int(count) for _, count in missing)
    if not total:
        return Filled()
    progress.stage("Embedding passages", total)
    began = shown = time.perf_counter()
    done = 0
    with ThreadPoolExecutor(1, thread_name_prefix="vector-writer") as writer:
        waiting: list[Future[None]] = []
        for rows in _batches(graph, [str(name) for name, _ in missing]):
            if stop is not None and stop.is_set():
                break
            vectors = embedder.embed_passages(
                [passage_text(row["breadcrumb"] or [], row["text"]) for row in rows]
            )
            waiting.append(writer.submit(_write, graph, [row["chunk_id"] for row in rows], vectors))
            while len(waiting) > QUEUE_LIMIT or (waiting and waiting[0].done()):
                waiting.pop(0).result()
            done += len(rows)
            progress.advance(len(rows))
            if time.perf_counter() - shown > SHOW_EVERY_S:
                graph.write(statements.BUMP_VERSION)  # readers take in what is there so far
                shown = time.perf_counter()
        for future in waiting:
            future.result()
    if done:
        graph.write(statements.BUMP_VERSION)
    return Filled(done, time.perf_counter() - began, total - done)


def clear_vectors(graph: DocumentGraph, model: str, dimension: int) -> None:
    """Take every vector away and note the model that is to make the new ones; safe to repeat."""
    while graph.write(statements.CLEAR_VECTORS).stats.get("Properties set", 0):
        pass
    with suppress(EngineUnavailable):
        graph.keys.delete("vectors")
    graph.write(statements.SET_EMBEDDING_MODEL, {"embedding_model": model, "dimension": dimension})


def _batches(graph: DocumentGraph, hashes: list[str]) -> Iterator[list[dict[str, Any]]]:
    """Chunks without vectors, BATCH at a time, across documents."""
    batch: list[dict[str, Any]] = []
    for name in hashes:
        for row in graph.read(statements.CHUNKS_WITHOUT_VECTORS, {"hash": name}).dicts():
            batch.append(row)
            if len(batch) == BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def _write(graph: DocumentGraph, ids: list[str], vectors: Vectors) -> None:
    graph.write(statements.SET_VECTORS, {"ids": ids}, arrays={"vectors": vectors})
