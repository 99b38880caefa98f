"""A graph made anew from records, beside the one of its name, and put in its place in one step when it is whole."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graph_agent.errors import ConfigurationError
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.keys import LAST_SYNC, UNREAD
from graph_agent.store.maintenance import tidy_after_writing
from graph_agent.store.migrations import migrate
from graph_agent.store.queries import moving as statements
from graph_agent.store.records import POINT, TEMPORAL, Record
from graph_agent.store.schema import create_indexes, read_meta, wait_for_indexes

STEP = 500
STEP_CHARACTERS = 4_000_000
CACHES = ("skeleton", "postings", "vectors", LAST_SYNC, UNREAD)
_NAME = re.compile(r"[^`\x00]{1,512}")


class Rebuilding:
    """Writes records into `<name>~new`; `swap` gives that graph the name.

    Until then nothing of it is seen under the name, and a graph of that name is untouched. Leave it by
    `discard` when something fails.
    """

    def __init__(self, target: DocumentGraph) -> None:
        self.target = target
        self.graph = target.select(f"{target.name}~new")
        self.graph.drop()  # left behind by a killed one
        self._ids: dict[int, int] = {}

    def write(self, records: Sequence[Record]) -> None:
        """Write nodes, or edges between nodes that were written.

        Raises:
            ConfigurationError: a name that cannot be written, or an edge without its node.
            EngineUnavailable, QueryError: as for any write.
        """
        groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
        for record in records:
            groups[_shape(record)].append(record)
        for group in groups.values():
            for part in _parts(group):
                (self._write_nodes if part[0].ends is None else self._write_edges)(part)

    def swap(self) -> None:
        """Index it, bring it to this program's schema, and put it in the place of the graph of that name.

        Raises:
            EngineUnavailable: the engine went away; the old graph or the new one is there, whole.
        """
        meta = read_meta(self.graph)
        if meta is not None:
            migrate(self.graph, meta.schema_version, meta.written_by)
            create_indexes(self.graph)
            # A reader that remembers the old graph by its version must see that this is another.
            version = max(self.target.version(), meta.graph_version) + 1
            self.graph.write(statements.SET_VERSION, {"version": version})
            wait_for_indexes(self.graph)
        if self.graph.exists():
            self.target.connection.command("RENAME", self.graph.name, self.target.name)
        else:
            self.target.drop()
        self.target.keys.delete(*CACHES)
        if meta is not None:
            tidy_after_writing(self.target, meta.dimension)

    def discard(self) -> None:
        """Take away what was written."""
        self.graph.drop()

    def _write_nodes(self, records: Sequence[Record]) -> None:
        labels = "".join(f":{_quoted(name)}" for name in records[0].names)
        statement = statements.CREATE_NODES.format(labels=labels, more=_assignments("n", records[0]))
        rows, arrays = _rows(records)
        made = self.graph.write(statement, {"rows": rows}, arrays=arrays)
        self._ids.update((int(old), int(new)) for old, new in made.rows)

    def _write_edges(self, records: Sequence[Record]) -> None:
        statement = statements.CREATE_EDGES.format(
            type=_quoted(records[0].names[0]), more=_assignments("e", records[0])
        )
        rows, arrays = _rows(records)
        try:
            for row, record in zip(rows, records, strict=True):
                source, target = record.ends or (-1, -1)
                row["a"], row["b"] = self._ids[source], self._ids[target]
        except KeyError as error:
            raise ConfigurationError(f"An edge refers to the node {error}, which is not there.") from None
        self.graph.write(statement, {"rows": rows}, arrays=arrays)


def _shape(record: Record) -> tuple[Any, ...]:
    """What records that are written by one statement have in common."""
    return (
        record.ends is None,
        record.names,
        tuple(sorted((key, len(vector)) for key, vector in record.vectors.items())),
        tuple(sorted((key, kind) for key, (kind, _) in record.special.items())),
    )


def _parts(records: Sequence[Record]) -> list[list[Record]]:
    parts: list[list[Record]] = []
    weight = 0
    for record in records:
        size = sum(len(value) for value in record.properties.values() if isinstance(value, str))
        if not parts or weight + size > STEP_CHARACTERS or len(parts[-1]) >= STEP:
            parts.append([])
            weight = 0
        parts[-1].append(record)
        weight += size
    return parts


def _rows(records: Sequence[Record]) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    rows = [
        {
            "id": record.id,
            "i": position,
            "p": dict(record.properties),
            **({"s": {key: value for key, (_, value) in record.special.items()}} if record.special else {}),
        }
        for position, record in enumerate(records)
    ]
    arrays = {
        f"v{number}": np.stack([record.vectors[key] for record in records])
        for number, key in enumerate(sorted(records[0].vectors))
    }
    return rows, arrays


def _assignments(variable: str, record: Record) -> str:
    parts = [
        f", {variable}.{_quoted(key)} = vecf32($v{number}[r.i])"
        for number, key in enumerate(sorted(record.vectors))
    ]
    for key, (kind, _) in sorted(record.special.items()):
        function = "point" if kind == POINT else TEMPORAL.get(kind)
        if function is None:
            raise ConfigurationError(f"The property {key!r} is of the unknown kind {kind!r}.")
        parts.append(f", {variable}.{_quoted(key)} = {function}(r.s.{_quoted(key)})")
    return "".join(parts)


def _quoted(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"The name {name[:80]!r} cannot be written into a graph.")
    return f"`{name}`"
