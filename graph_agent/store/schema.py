"""Indexes, constraints and the GraphMeta node: made once, waited for, checked on every opening for writing."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from graph_agent.errors import ConfigurationError, EmbeddingMismatch, EngineUnavailable, QueryError
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.migrations import migrate
from graph_agent.store.program import program_version
from graph_agent.store.queries import schema as statements

READY_TIMEOUT_S = 120.0
BUILD_TIMEOUT_S = 1_800.0  # of a vector index: 100,000 chunks were seen to take 7 minutes
OPERATIONAL = "OPERATIONAL"


@dataclass(frozen=True)
class GraphMeta:
    """The one GraphMeta node: what the graph was made with."""

    schema_version: int
    embedding_model: str
    dimension: int
    graph_version: int
    chunk_tokens: int
    chunk_overlap: int
    written_by: str = ""


def read_meta(graph: DocumentGraph) -> GraphMeta | None:
    """GraphMeta, or None on an empty, foreign or broken graph."""
    rows = graph.read(statements.META).dicts()
    if not rows or rows[0]["schema_version"] is None:
        return None
    row = {key: value for key, value in rows[0].items() if value is not None}
    return GraphMeta(
        schema_version=int(row["schema_version"]),
        embedding_model=str(row.get("embedding_model", "")),
        dimension=int(row.get("dimension", 0)),
        graph_version=int(row.get("graph_version", 0)),
        chunk_tokens=int(row.get("chunk_tokens", 0)),
        chunk_overlap=int(row.get("chunk_overlap", 0)),
        written_by=str(row.get("written_by", "")),
    )


def ensure_schema(graph: DocumentGraph, *, embedding_model: str, dimension: int) -> GraphMeta:
    """Make what is missing of indexes, constraints and GraphMeta; the vector index comes later, after data.

    Raises:
        ConfigurationError: the graph is from a newer version, or is somebody else's.
        EmbeddingMismatch: it holds vectors of another model; names the command that re-embeds.
    """
    meta = read_meta(graph)
    if meta is None:
        _refuse_foreign(graph)
        graph.write(statements.CREATE_TYPES)
        create_indexes(graph)
        graph.write(
            statements.CREATE_META,
            {
                "schema_version": statements.SCHEMA_VERSION,
                "written_by": program_version(),
                "embedding_model": embedding_model,
                "dimension": dimension,
                "chunk_tokens": graph.settings.chunk_tokens,
                "chunk_overlap": graph.settings.chunk_overlap,
            },
        )
        wait_for_indexes(graph)
        meta = read_meta(graph)
        if meta is None:
            raise EngineUnavailable("The graph's GraphMeta node vanished while it was made.", "Try again.")
    if migrate(graph, meta.schema_version, meta.written_by):
        create_indexes(graph)
        meta = read_meta(graph) or meta
    check_embedding(meta, embedding_model=embedding_model, dimension=dimension)
    return meta


def check_embedding(meta: GraphMeta, *, embedding_model: str, dimension: int) -> None:
    """Refuse to mix vectors of two models.

    Raises:
        EmbeddingMismatch: names both models and sizes, and the command that re-embeds.
    """
    if (meta.embedding_model, meta.dimension) != (embedding_model, dimension):
        raise EmbeddingMismatch(
            f"The graph's vectors are of {meta.embedding_model} ({meta.dimension} numbers); "
            f"the embedding model now is {embedding_model} ({dimension}).",
            "Set GRAPH_AGENT_EMBEDDINGS back, or run: graph-agent reembed",
        )


def rebuild_vector_index(graph: DocumentGraph, dimension: int, *, wait: bool = False) -> None:
    """Drop and create the vector index; the engine builds it in the background.

    On FalkorDB 4.16 an index loses results after any SET or DELETE on its label, and on every version
    an index that was replayed from the append-only file may miss nodes: making it anew mends both.
    """
    drop_vector_index(graph)
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            graph.write(statements.CREATE_VECTOR.format(dimension=int(dimension)))
            break
        except QueryError as error:
            # Dropping is asynchronous: for a moment the old index is still in the way.
            if "already indexed" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    if wait:
        wait_for_indexes(graph)


def drop_vector_index(graph: DocumentGraph) -> None:
    """Drop the vector index if there is one; one that is being built is waited for.

    Dropped in the middle of its building it holds the engine's main thread until it is done (FalkorDB 4.16), which
    an embedded engine's watchdog takes for a hang.

    Raises:
        EngineUnavailable: it is still being built after BUILD_TIMEOUT_S.
    """
    deadline = time.monotonic() + BUILD_TIMEOUT_S
    while has_vector_index(graph) and _is_building(graph):
        if time.monotonic() > deadline:
            raise EngineUnavailable(
                f"The vector index is still being built after {BUILD_TIMEOUT_S:.0f} s.", "Wait and try again."
            )
        time.sleep(0.1)
    if has_vector_index(graph):
        graph.write(statements.DROP_VECTOR)


def has_vector_index(graph: DocumentGraph, *, ready: bool = False) -> bool:
    """Whether SectionChunk.embedding has a vector index (with `ready`: one that serves)."""
    return any(
        row["label"] == statements.VECTOR_LABEL
        and "VECTOR" in row["types"].get(statements.VECTOR_PROPERTY, [])
        and (not ready or row["status"] == OPERATIONAL)
        for row in indexes(graph)
    )


def _is_building(graph: DocumentGraph) -> bool:
    """Whether the label's index is under construction; an old one may serve beside it, in a row of its own."""
    return any(
        row["label"] == statements.VECTOR_LABEL and row["status"] != OPERATIONAL for row in indexes(graph)
    )


def indexes(graph: DocumentGraph) -> list[dict[str, Any]]:
    """Rows of db.indexes(): label, properties, types {property: [kind]}, status, entitytype."""
    return graph.read(statements.INDEXES).dicts()


def wait_for_indexes(graph: DocumentGraph, timeout_s: float = READY_TIMEOUT_S) -> None:
    """Wait until every index and constraint is OPERATIONAL.

    Raises:
        EngineUnavailable: they are not within `timeout_s` seconds.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        waiting = [row["label"] for row in indexes(graph) if row["status"] != OPERATIONAL]
        waiting += [
            row["label"] for row in graph.read(statements.CONSTRAINTS).dicts() if row["status"] == "PENDING"
        ]
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise EngineUnavailable(
                f"Indexes on {', '.join(sorted(set(waiting)))} are still being built after {timeout_s:.0f} s.",
                "Wait and try again.",
            )
        time.sleep(0.05)


def create_indexes(graph: DocumentGraph) -> None:
    """Make what is missing of range and full-text indexes and of unique constraints; does not wait for them."""
    _create_ranges(graph)
    _create_full_text(graph)


def _create_ranges(graph: DocumentGraph) -> None:
    present = {(row["label"], name) for row in indexes(graph) for name in row["types"]}
    for label, name in statements.RANGES:
        if (label, name) not in present:
            graph.write(statements.CREATE_RANGE.format(label=label, property=name))
    constrained = {
        (row["label"], tuple(row["properties"])) for row in graph.read(statements.CONSTRAINTS).dicts()
    }
    for label, name in statements.KEYS:
        if (label, (name,)) not in constrained:
            graph.connection.command(
                "GRAPH.CONSTRAINT", "CREATE", graph.name, "UNIQUE", "NODE", label, "PROPERTIES", "1", name
            )


def _create_full_text(graph: DocumentGraph) -> None:
    present = {
        name
        for row in indexes(graph)
        if row["label"] == statements.FULL_TEXT_LABEL
        for name, kinds in row["types"].items()
        if "FULLTEXT" in kinds
    }
    if not set(statements.FULL_TEXT_PROPERTIES) <= present:
        graph.write(statements.CREATE_FULL_TEXT)


def _refuse_foreign(graph: DocumentGraph) -> None:
    """Never write documents into a graph that holds something else."""
    rows = graph.read(statements.STATISTICS).dicts()
    labels = {label for label, count in (rows[0].get("labels") or {}).items() if count} if rows else set()
    foreign = labels - {"Folder", "Document", "MarkdownSection", "SectionChunk", "Label", "GraphMeta"}
    if foreign:
        raise ConfigurationError(
            f"The graph {graph.name!r} holds other data (labels {', '.join(sorted(foreign)[:5])}).",
            "Choose another graph for documents with --graph NAME.",
        )
