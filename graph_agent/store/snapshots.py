"""A graph as it was at one moment, read in parts while others read and write it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from graph_agent.errors import ConfigurationError, GraphAgentError, QueryError
from graph_agent.store.graph import WRITE_TIMEOUT_S, DocumentGraph
from graph_agent.store.locking import SNAPSHOT_LOCK, sync_lock
from graph_agent.store.maintenance import vector_index_put_aside
from graph_agent.store.queries import moving as statements
from graph_agent.store.records import Record, Tally, from_row

STEP = 1_000
"""Nodes (or nodes whose edges are) read at once: about 12 MB of numbers as text."""

Advance = Callable[[int], None]


@contextlib.contextmanager
def snapshot(graph: DocumentGraph) -> Iterator[DocumentGraph]:
    """A copy of the graph as it is now, on the same engine, which goes at the end.

    GRAPH.COPY forks the engine: readers and writers go on, and no half of a write is in the copy.

    Raises:
        ConfigurationError: the server does not make copies, or not for this user.
        SyncInProgress: another snapshot of this graph is being read.
    """
    copy = graph.select(f"{graph.name}~snapshot")
    with sync_lock(graph, name=SNAPSHOT_LOCK), vector_index_put_aside(graph):
        copy.drop()  # left behind by a killed one
        try:
            graph.connection.command("GRAPH.COPY", graph.name, copy.name, timeout_s=WRITE_TIMEOUT_S)
        except (QueryError, ConfigurationError) as error:
            raise ConfigurationError(
                f"The server makes no snapshot of the graph {graph.name!r}: {error.message}",
                "It takes FalkorDB 4.2 or newer, and a user who may run GRAPH.COPY and GRAPH.DELETE.",
            ) from error
        try:
            yield copy
        finally:
            with contextlib.suppress(GraphAgentError):
                copy.drop()


def blocks(graph: DocumentGraph, advance: Advance) -> Iterator[tuple[str, list[Record]]]:
    """All nodes and then all edges of a graph that does not change meanwhile, in blocks: ("nodes", [...])."""
    highest = graph.read(statements.SPAN).scalar()
    for kind, statement in (("nodes", statements.NODES), ("edges", statements.EDGES)):
        for start in range(0, -1 if highest is None else int(highest) + 1, STEP):
            rows = graph.read(statement, {"start": start, "end": start + STEP}).dicts()
            advance(STEP)
            if rows:
                yield kind, [from_row(row) for row in rows]


def tally(graph: DocumentGraph, advance: Advance) -> Tally:
    """Counts and digests of a graph that does not change meanwhile."""
    counted = Tally()
    for _, records in blocks(graph, advance):
        for record in records:
            counted.add(record)
    return counted


def work_of(graph: DocumentGraph) -> int:
    """How far `advance` is called by `blocks`, for a progress bar."""
    highest = graph.read(statements.SPAN).scalar()
    return 0 if highest is None else 2 * STEP * (int(highest) // STEP + 1)
