"""What a graph needs after writing and after a crash: a sound vector index and a short append-only file."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator

from redis.exceptions import RedisError

from graph_agent.errors import GraphAgentError
from graph_agent.store.connection import Connection
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.queries import schema as statements
from graph_agent.store.schema import (
    drop_vector_index,
    has_vector_index,
    read_meta,
    rebuild_vector_index,
)

# An embedded engine builds its vector index anew at every start (5 s of one core for 10,000 vectors), and
# searches do not need it while the vectors are held in memory: above this it would cost more than it gives.
EMBEDDED_INDEX_LIMIT = 20_000
COMPACT_ABOVE_BYTES = 8 * 1024 * 1024
COMPACT_TIMEOUT_S = 120.0

log = logging.getLogger(__name__)


def tidy_after_writing(graph: DocumentGraph, dimension: int) -> None:
    """Rebuild the vector index where it is wanted; shorten the embedded engine's append-only file.

    The file is shortened while there is no vector index, so that the snapshot at its head loads fast and
    the index is built in the background after a start, instead of holding the start up.
    """
    wanted = wants_vector_index(graph)
    if graph.connection.lease is not None and _has_grown(graph.connection):
        drop_vector_index(graph)
        with _without_vector_indexes(graph):
            compact(graph.connection)
    if wanted:
        rebuild_vector_index(graph, dimension)
    else:
        drop_vector_index(graph)


@contextlib.contextmanager
def vector_index_put_aside(graph: DocumentGraph) -> Iterator[None]:
    """Let an embedded engine write a snapshot without vector indexes, which are built again after it.

    Loading one with them takes seven times as long. Searches go on by what is held in memory, or by a scan.
    """
    meta = read_meta(graph)
    had = meta is not None and has_vector_index(graph)
    drop_vector_index(graph)
    try:
        with _without_vector_indexes(graph):
            yield
    finally:
        try:
            if had and meta is not None:
                rebuild_vector_index(graph, meta.dimension)
        except (GraphAgentError, RedisError) as error:
            log.warning("The vector index of graph %s was not built again: %s", graph.name, error)


def wants_vector_index(graph: DocumentGraph) -> bool:
    """Whether an index pays: always on a server, on an embedded engine for small and for very large graphs."""
    chunks = int(graph.read(statements.COUNT_VECTORS).scalar(0) or 0)
    if chunks == 0:
        return False
    if graph.connection.lease is None:
        return True
    return chunks <= EMBEDDED_INDEX_LIMIT or chunks > graph.settings.mirror_limit


def compact(connection: Connection) -> None:
    """Rewrite the append-only file and wait for it; failing only costs the next start some time."""
    client = connection.plain()
    try:
        connection.command("BGREWRITEAOF")
        deadline = time.monotonic() + COMPACT_TIMEOUT_S
        while time.monotonic() < deadline:
            facts = client.info("persistence")
            if not facts.get("aof_rewrite_in_progress") and not facts.get("aof_rewrite_scheduled"):
                return
            time.sleep(0.05)
    except GraphAgentError as error:
        log.warning("The append-only file was not shortened: %s", error)


@contextlib.contextmanager
def _without_vector_indexes(graph: DocumentGraph) -> Iterator[None]:
    """Other graphs of the engine go into the snapshot without theirs, too: it would hold up every start."""
    without = []
    for name in _graph_names(graph.connection):
        other = graph.select(name)
        with contextlib.suppress(GraphAgentError):
            meta = read_meta(other)
            if name != graph.name and meta is not None and has_vector_index(other):
                drop_vector_index(other)
                without.append((other, meta.dimension))
    try:
        yield
    finally:
        for other, dimension in without:
            rebuild_vector_index(other, dimension)


def _graph_names(connection: Connection) -> list[str]:
    return [
        name.decode() if isinstance(name, bytes) else str(name) for name in connection.command("GRAPH.LIST")
    ]


def repair_after_crash(connection: Connection, graph: DocumentGraph) -> None:
    """Build vector indexes again after an engine that was not stopped cleanly; a replayed one may miss nodes."""
    if connection.lease is None or not connection.lease.take_unclean_mark():
        return
    for name in _graph_names(connection):
        other = graph.select(name)
        try:
            meta = read_meta(other)
            if meta is not None and has_vector_index(other):
                rebuild_vector_index(other, meta.dimension)
        except GraphAgentError as error:
            log.warning("The vector index of graph %s was not rebuilt after a crash: %s", name, error)


def _has_grown(connection: Connection) -> bool:
    facts = connection.plain().info("persistence")
    size, base = int(facts.get("aof_current_size", 0)), int(facts.get("aof_base_size", 0))
    return size > COMPACT_ABOVE_BYTES and size > 2 * base
