"""Vectors for chunks that have none yet: embedded in batches, while the next are read and the last are written.

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
from dataclasses import dataclass, field

import numpy as np

from graph_agent.embeddings import Embedder, Vectors
from graph_agent.errors import EngineUnavailable
from graph_agent.ingest.report import Progress
from graph_agent.ingest.writing import VECTORS
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements
from graph_agent.text import passage_text
from graph_agent.vector_blocks import encode_block

BATCH = 64
QUEUE_LIMIT = 4
SHOW_EVERY_S = 10.0


@dataclass(frozen=True)
class Filled:
    """What one filling did.

    Attributes:
        vectors: set.
        seconds: of embedding.
        pending: chunks still without a vector.
        reused: vectors that were known from equal texts, in this run or an earlier one.
        tokens_saved: of those texts, which the model did not have to read.
    """

    vectors: int = 0
    seconds: float = 0.0
    pending: int = 0
    reused: int = 0
    tokens_saved: int = 0

    @property
    def per_second(self) -> float:
        """Vectors a second."""
        return self.vectors / self.seconds if self.seconds > 0 else 0.0


@dataclass(eq=False)
class _Document:
    """The vectors of one text, gathered for its block.

    Attributes:
        missing: how many are to come.
        total: chunks of the text.
        whole: False when its chunks are no longer those that were read, or some had vectors before.
    """

    markdown_hash: str
    chunker: str
    missing: int
    total: int
    whole: bool
    vectors: list[Vectors] = field(default_factory=list)


@dataclass(frozen=True)
class _Chunk:
    document: _Document
    chunk_id: str
    text: str
    passage: str
    tokens: int


def fill_vectors(
    graph: DocumentGraph, embedder: Embedder, progress: Progress, *, stop: threading.Event | None = None
) -> Filled:
    """Embed every visible chunk that has no vector, document by document in the order of their paths.

    Args:
        stop: when set, ends after the batch in hand; the rest stays for the next run.

    Raises:
        ModelUnavailable: the embedding model failed; what was written before stays.
        EngineUnavailable: the engine went away.
    """
    missing = graph.read(statements.WITHOUT_VECTORS).dicts()
    total = sum(int(row["missing"]) for row in missing)
    if not total:
        return Filled()
    graph.write(statements.MARK_UNTIDY)  # first: a run that is killed must leave the mark
    progress.stage("Embedding passages", total)
    began = shown = time.perf_counter()
    done = reused = saved = 0
    texts = [(str(row["hash"]), str(row["chunker"] or "")) for row in missing]
    with (
        ThreadPoolExecutor(1, thread_name_prefix="vector-writer") as writer,
        ThreadPoolExecutor(1, thread_name_prefix="passage-reader") as reader,
    ):
        written: list[Future[None]] = []
        batches = _batches(graph, texts)
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None and not (stop is not None and stop.is_set()):
            coming = reader.submit(next, batches, None)
            vectors, fresh = embedder.embed_new_passages([chunk.passage for chunk in batch])
            written.append(writer.submit(_write, graph, embedder.name, batch, vectors))
            while len(written) > QUEUE_LIMIT or (written and written[0].done()):
                written.pop(0).result()
            known = _known(batch, fresh)
            reused, saved = reused + len(known), saved + sum(chunk.tokens for chunk in known)
            done += len(batch)
            progress.advance(len(batch))
            if time.perf_counter() - shown > SHOW_EVERY_S:
                graph.write(statements.BUMP_VERSION)  # readers take in what is there so far
                shown = time.perf_counter()
        for future in written:
            future.result()
    if done:
        graph.write(statements.BUMP_VERSION)
    return Filled(done, time.perf_counter() - began, total - done, reused, saved)


def clear_vectors(graph: DocumentGraph, model: str, dimension: int) -> None:
    """Take every vector away and note the model that is to make the new ones; safe to repeat."""
    while graph.write(statements.CLEAR_VECTORS).stats.get("Properties set", 0):
        pass
    with suppress(EngineUnavailable):
        graph.keys.delete(VECTORS)
    graph.write(statements.SET_EMBEDDING_MODEL, {"embedding_model": model, "dimension": dimension})


def _batches(graph: DocumentGraph, texts: list[tuple[str, str]]) -> Iterator[list[_Chunk]]:
    """Chunks without vectors, BATCH at a time, across documents."""
    batch: list[_Chunk] = []
    for name, chunker in texts:
        rows = graph.read(statements.CHUNKS_TO_EMBED, {"hash": name}).dicts()
        missing = [row for row in rows if row["missing"]]
        document = _Document(name, chunker, len(missing), len(rows), len(missing) == len(rows))
        for row in missing:
            passage = passage_text(row["breadcrumb"] or [], row["text"])
            batch.append(
                _Chunk(document, row["chunk_id"], row["text"], passage, int(row["token_count"] or 0))
            )
            if len(batch) == BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def _known(batch: list[_Chunk], fresh: frozenset[str]) -> list[_Chunk]:
    """The chunks of a batch whose passage the model was not asked for, or not for them."""
    left = set(fresh)
    known = []
    for chunk in batch:
        if chunk.passage in left:
            left.remove(chunk.passage)
        else:
            known.append(chunk)
    return known


def _write(graph: DocumentGraph, model: str, batch: list[_Chunk], vectors: Vectors) -> None:
    done = graph.write(
        statements.SET_VECTORS,
        {"ids": [chunk.chunk_id for chunk in batch], "texts": [chunk.text for chunk in batch]},
        arrays={"vectors": vectors},
    )
    changed = int(done.stats.get("Properties set", 0)) < len(batch)
    for chunk, vector in zip(batch, vectors, strict=True):
        document = chunk.document
        document.missing -= 1
        document.whole = document.whole and not changed
        if document.whole:
            document.vectors.append(vector)
            if not document.missing:
                _keep(graph, model, document)


def _keep(graph: DocumentGraph, model: str, document: _Document) -> None:
    """Put a text's vectors beside the graph; where that is forbidden, readers ask the graph."""
    block = encode_block(np.stack(document.vectors), model=model, cut=document.chunker)
    with suppress(EngineUnavailable):
        graph.keys.hset(VECTORS, {document.markdown_hash: block})
    document.vectors.clear()
