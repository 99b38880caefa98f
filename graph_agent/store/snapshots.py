"""A graph as it was at one moment, read in parts while others read and write it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.store.embedded import EngineLease
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.locking import SNAPSHOT_LOCK, WRITER_LOCKS, sync_lock
from graph_agent.store.maintenance import compact, vector_index_put_aside
from graph_agent.store.queries import moving as statements
from graph_agent.store.records import Record, Tally, from_row

MANIFEST = "appendonly.aof.manifest"
PATIENCE_S = 600.0
STEP = 1_000
"""Nodes (or nodes whose edges are) read at once: about 12 MB of numbers as text."""

Advance = Callable[[int], None]


@contextlib.contextmanager
def snapshot(graph: DocumentGraph) -> Iterator[DocumentGraph]:
    """The graph as it is now, to be read while others go on.

    Of an embedded engine: a second one of its own, on the snapshot that the first writes at the head of its
    append-only file; readers and writers go on. Of a server: the graph itself, while syncs wait, and at the end it is
    seen whether it changed all the same. (GRAPH.COPY would be the short way, but it takes the engine's two locks in
    the other order than a write does, and stands still for ever when both come at once: FalkorDB 4.16.3.)

    Raises:
        ConfigurationError: somebody else changed a server's graph meanwhile.
        SyncInProgress: another snapshot of this graph is being read, or a sync did not end.
        EngineUnavailable: the engine did not write a snapshot.
    """
    with sync_lock(graph, name=SNAPSHOT_LOCK):
        if graph.connection.lease is not None:
            with _engine_on_snapshot(graph, graph.connection.lease) as copy:
                yield copy
            return
        with contextlib.ExitStack() as locks:
            for name in WRITER_LOCKS:
                locks.enter_context(sync_lock(graph, name=name, wait_s=PATIENCE_S))
            before = _signs(graph)
            yield graph
            if _signs(graph) != before:
                raise ConfigurationError(
                    f"The graph {graph.name!r} was changed while it was read.",
                    "Stop whatever writes to it, and try again.",
                )


@contextlib.contextmanager
def _engine_on_snapshot(graph: DocumentGraph, lease: EngineLease) -> Iterator[DocumentGraph]:
    name = hashlib.sha256(graph.name.encode()).hexdigest()[:12]
    folder = graph.settings.data / f"snapshot-{name}"
    shutil.rmtree(folder, ignore_errors=True)  # left behind by a killed one; its engine ended with it
    try:
        files = folder / "engine" / "appendonlydir"
        files.mkdir(parents=True, mode=0o700)
        folder.chmod(0o700)
        _take(graph, lease.folder / "appendonlydir", files / "appendonly.aof.1.base.rdb")
        (files / "appendonly.aof.1.incr.aof").touch()
        (files / MANIFEST).write_text(
            "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n"
        )
        settings = graph.settings.model_copy(update={"data": folder, "falkordb_url": None})
        with DocumentGraph.open(settings, name=graph.name) as copy:
            yield copy
    except OSError as error:
        raise ConfigurationError(
            f"The data folder {graph.settings.data} cannot be written ({error.strerror or error}).",
            "Free some space there.",
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take(graph: DocumentGraph, files: Path, target: Path) -> None:
    """Have the engine write a snapshot, and link it: the engine removes its own name of it some day."""
    before = _base(files)
    deadline = time.monotonic() + PATIENCE_S
    with vector_index_put_aside(graph):
        while (base := _base(files)) == before or base is None:
            if time.monotonic() > deadline:
                raise EngineUnavailable(
                    "The engine did not write a snapshot of its data.", "Look at the end of its log."
                )
            compact(graph.connection)
        try:
            os.link(files / base, target)
        except OSError:
            shutil.copyfile(files / base, target)


def _base(files: Path) -> str | None:
    """Name of the snapshot at the head of the append-only file."""
    for line in (files / MANIFEST).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["file"] and words[-2:] == ["type", "b"]:
            return words[1]
    return None


def _signs(graph: DocumentGraph) -> tuple[int, object]:
    return graph.version(), graph.read(statements.SIZES).rows


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
