"""Backup, restore, and copying to another server: a whole graph, vectors included, proved by counts and digests."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from graph_agent.errors import ConfigurationError, EngineUnavailable, GraphAgentError
from graph_agent.store.archive import ArchiveReader, ArchiveWriter
from graph_agent.store.data_files import add_files, restore_files
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.keys import LAST_SYNC, UNREAD
from graph_agent.store.locking import WRITER_LOCKS, sync_lock
from graph_agent.store.migrations import refuse_newer
from graph_agent.store.program import program_version
from graph_agent.store.queries import moving as statements
from graph_agent.store.rebuilding import Rebuilding
from graph_agent.store.records import Tally, decode, differences, encode
from graph_agent.store.schema import read_meta
from graph_agent.store.snapshots import blocks, snapshot, tally, work_of

GRAPH, KEYS = "graph/", "keys/"
CACHES = ("postings", "vectors", "enrichments", UNREAD)
_FIELDS = 500


class Progress(Protocol):
    """Who is told how far the work is."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` units begins."""

    def advance(self, units: int = 1, detail: str = "") -> None:
        """Units are done."""


@dataclass
class Moved:
    """What a backup, restore or copy moved.

    Attributes:
        graph: name of the graph in its new place.
        nodes: count by label. edges: count by type.
        files: of the data folder that were taken along. kept: those that were there and stayed.
        megabytes: size of the backup file, 0 for a copy.
    """

    graph: str
    nodes: dict[str, int]
    edges: dict[str, int]
    files: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    megabytes: float = 0.0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """JSON types."""
        return asdict(self)


def backup(graph: DocumentGraph, path: Path, progress: Progress, *, files: bool = True) -> Moved:
    """Write a graph as it is at this moment to one file, while others read and write it.

    Args:
        files: the data folder's conversations and uploads, too.

    Raises:
        ConfigurationError: no such graph, no snapshot to be had, or a file that cannot be written.
        SyncInProgress: another backup or copy of this graph is running.
        EngineUnavailable: the engine went away; no file is left.
    """
    began = time.perf_counter()
    _needs(graph)
    with ArchiveWriter(path) as archive:
        progress.stage("Taking a snapshot", 1)
        with snapshot(graph) as copy:
            progress.advance()
            progress.stage("Reading the graph", work_of(copy))
            counted = Tally()
            for number, (kind, records) in enumerate(blocks(copy, progress.advance)):
                for record in records:
                    counted.add(record)
                lines, numbers = encode(records)
                archive.add(f"{GRAPH}{number:06}.{kind}", lines)
                if numbers:
                    archive.add(f"{GRAPH}{number:06}.vectors", numbers, compress=False)
            facts = _facts(copy, graph)
        with contextlib.suppress(EngineUnavailable):  # caches: a server may forbid plain keys
            for name, block in _cached(graph):
                archive.add(KEYS + name, block, compress=False)
        added = add_files(archive, graph.settings.data) if files else []
        size = archive.finish({**facts, "content": counted.as_json(), "files": added})
    return _moved(graph.name, counted.as_json(), began, files=added, megabytes=round(size / 1e6, 3))


def restore(
    graph: DocumentGraph, path: Path, progress: Progress, *, replace: bool = False, files: bool = True
) -> Moved:
    """Make a graph from a backup; readers see the old one until the new one is whole and proved.

    Args:
        replace: take the place of a graph that holds something, and of files of the same name.
        files: the data folder's conversations and uploads, too.

    Raises:
        ConfigurationError: a damaged or newer backup, or a graph that is not empty. Nothing was changed.
        SyncInProgress: somebody writes to that graph.
    """
    began = time.perf_counter()
    with ArchiveReader(path) as archive:
        content = _content(archive)
        _refuse_full(graph, replace=replace)
        progress.stage("Checking the backup", 1)
        archive.check()
        progress.advance()
        with _alone(graph) as check:
            _refuse_full(graph, replace=replace)
            with _rebuilding(graph) as rebuilding:
                progress.stage("Writing the graph", _count(content))
                for kind, lines, numbers in _blocks(archive):
                    try:
                        records = list(decode(lines, numbers))
                    except (ValueError, KeyError, TypeError) as error:
                        raise ConfigurationError(
                            f"The backup {path} is not usable: {kind} that cannot be read ({error}).",
                            "Take another copy of it; nothing was changed.",
                        ) from None
                    rebuilding.write(records)
                    progress.advance(len(records))
                _prove_and_swap(rebuilding, content, progress, check)
            for entry in archive.names(KEYS):
                _uncache(graph, entry.removeprefix(KEYS), archive.read(entry))
        written, kept = restore_files(archive, graph.settings.data, replace=replace) if files else ([], [])
        size = path.stat().st_size
    return _moved(graph.name, content, began, files=written, kept=kept, megabytes=round(size / 1e6, 3))


def copy(graph: DocumentGraph, target: DocumentGraph, progress: Progress, *, replace: bool = False) -> Moved:
    """Copy a graph, as it is at this moment, to another engine or name; the same in both at the end.

    Raises:
        ConfigurationError: no such graph, or a target that is not empty, or the same one.
        SyncInProgress: somebody writes to the target.
    """
    began = time.perf_counter()
    _needs(graph)
    if (graph.engine.address, graph.name) == (target.engine.address, target.name):
        raise ConfigurationError("A graph cannot be copied onto itself.", "Name another server or graph.")
    with _alone(target) as check:
        _refuse_full(target, replace=replace)
        progress.stage("Taking a snapshot", 1)
        with snapshot(graph) as source, _rebuilding(target) as rebuilding:
            progress.advance()
            progress.stage("Copying the graph", work_of(source))
            counted = Tally()
            for _, records in blocks(source, progress.advance):
                for record in records:
                    counted.add(record)
                rebuilding.write(records)
            _prove_and_swap(rebuilding, counted.as_json(), progress, check)
        with contextlib.suppress(EngineUnavailable):
            for name, block in _cached(graph):
                _uncache(target, name, block)
    return _moved(target.name, counted.as_json(), began)


def _needs(graph: DocumentGraph) -> None:
    if not graph.exists():
        raise ConfigurationError(
            f"There is no graph {graph.name!r} at {graph.engine.address}.", "Name another with --graph."
        )


def _refuse_full(graph: DocumentGraph, *, replace: bool) -> None:
    if not replace and graph.read(statements.COUNT).scalar(0):
        raise ConfigurationError(
            f"The graph {graph.name!r} at {graph.engine.address} is not empty.",
            "Choose another with --graph, or put the new one in its place with --replace.",
        )


@contextlib.contextmanager
def _alone(graph: DocumentGraph) -> Iterator[Callable[[], None]]:
    """Keep every writer of ours away; readers go on. Gives what asks whether it is still so."""
    with contextlib.ExitStack() as locks:
        held = [locks.enter_context(sync_lock(graph, name=name)) for name in WRITER_LOCKS]

        def check() -> None:
            for one in held:
                one.check()

        yield check


@contextlib.contextmanager
def _rebuilding(graph: DocumentGraph) -> Iterator[Rebuilding]:
    rebuilding = Rebuilding(graph)
    try:
        yield rebuilding
    except BaseException:
        with contextlib.suppress(GraphAgentError):
            rebuilding.discard()
        raise


def _prove_and_swap(
    rebuilding: Rebuilding, content: dict[str, Any], progress: Progress, check: Callable[[], None]
) -> None:
    progress.stage("Comparing", work_of(rebuilding.graph))
    found = tally(rebuilding.graph, progress.advance).as_json()
    if wrong := differences(content, found):
        raise ConfigurationError(
            f"What was written is not what was read ({'; '.join(wrong[:3])}).",
            "Nothing was changed; try again, and report it if it stays so.",
        )
    check()
    rebuilding.swap()


def _facts(copied: DocumentGraph, graph: DocumentGraph) -> dict[str, Any]:
    meta, engine = read_meta(copied), graph.engine
    return {
        "made_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "written_by": program_version(),
        "graph": graph.name,
        "schema_version": meta.schema_version if meta else None,
        "schema_written_by": meta.written_by if meta else "",
        "engine": {
            "kind": engine.kind,
            "version": engine.version_text,
            "redis_version": engine.redis_version,
        },
        "embedding": {"model": meta.embedding_model, "dimension": meta.dimension} if meta else None,
        "graph_version": meta.graph_version if meta else 0,
    }


def _content(archive: ArchiveReader) -> dict[str, Any]:
    """Counts and digests of a backup, of a schema that this program knows."""
    manifest = archive.manifest
    version = manifest.get("schema_version")
    if isinstance(version, int):
        refuse_newer(f"The backup {archive.path}", version, str(manifest.get("schema_written_by") or ""))
    content = manifest.get("content")
    return content if isinstance(content, dict) else {}


def _blocks(archive: ArchiveReader) -> Iterator[tuple[str, bytes, bytes]]:
    names = archive.names(GRAPH)
    for name in names:
        number, _, kind = name.rpartition(".")
        if kind != "vectors":
            vectors = f"{number}.vectors"
            yield (
                kind,
                archive.read(name),
                archive.read(vectors) if vectors in archive.manifest["entries"] else b"",
            )


def _cached(graph: DocumentGraph) -> Iterator[tuple[str, bytes]]:
    """Plain keys that spare the next readers work: ("postings-000000", fields and values framed by length)."""
    for key in CACHES:
        fields = graph.keys.hkeys(key)
        for start in range(0, len(fields), _FIELDS):
            part = fields[start : start + _FIELDS]
            pairs = zip(part, graph.keys.hmget(key, part), strict=True)
            framed = b"".join(
                _frame(name.encode()) + _frame(value) for name, value in pairs if value is not None
            )
            yield f"{key}-{start:06}", framed
    last = graph.keys.get(LAST_SYNC)
    if last is not None:
        yield LAST_SYNC, last


def _uncache(graph: DocumentGraph, name: str, block: bytes) -> None:
    with contextlib.suppress(EngineUnavailable):
        if name == LAST_SYNC:
            graph.keys.set(LAST_SYNC, block)
        elif (key := name.rpartition("-")[0]) in CACHES:
            parts = list(_unframed(block))
            graph.keys.hset(key, dict(zip((part.decode() for part in parts[::2]), parts[1::2], strict=False)))


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def _unframed(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        size = int.from_bytes(data[position : position + 8], "little")
        yield data[position + 8 : position + 8 + size]
        position += 8 + size


def _count(content: dict[str, Any]) -> int:
    return sum(group["count"] for kind in ("nodes", "edges") for group in content.get(kind, {}).values())


def _moved(name: str, content: dict[str, Any], began: float, **facts: Any) -> Moved:
    counts = {
        kind: {group: facts["count"] for group, facts in content.get(kind, {}).items()}
        for kind in ("nodes", "edges")
    }
    return Moved(
        name, counts["nodes"], counts["edges"], seconds=round(time.perf_counter() - began, 3), **facts
    )
