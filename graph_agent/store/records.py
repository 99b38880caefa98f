"""Nodes and edges as they travel between graphs: JSON records, vectors beside them, and digests of both.

A digest is a hash of what a node or edge says, its internal number left out; a set's digest is the sum of its
members' (modulo 2^128), so it does not depend on the order in which a graph gives them back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from graph_agent.errors import ConfigurationError

Float32 = npt.NDArray[np.float32]
VECTOR, POINT = "Vectorf32", "Point"
TEMPORAL = {"Date": "date", "Datetime": "localdatetime", "Time": "localtime", "Duration": "duration"}
"""Types that travel as text, with the function that makes each from its text."""
_DIGEST_BYTES = 16
_MODULUS = 1 << (8 * _DIGEST_BYTES)


@dataclass(frozen=True)
class Record:
    """A node, or an edge when `ends` is set.

    Attributes:
        id: internal number in the graph it was read from.
        names: the labels in order of name, or the one relationship type.
        properties: values of JSON types.
        vectors: vectors by property, float32 [dimension].
        special: (kind, text or map) by property, for dates, times, durations and points.
        ends: internal numbers of an edge's source and target.
    """

    id: int
    names: tuple[str, ...]
    properties: Mapping[str, Any]
    vectors: Mapping[str, Float32] = field(default_factory=dict)
    special: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    ends: tuple[int, int] | None = None

    def digest(self, *ends: bytes) -> bytes:
        """Hash of the content; of an edge with the digests of its source and target."""
        hashed = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        said = [
            list(self.names),
            dict(self.properties),
            {key: list(pair) for key, pair in self.special.items()},
        ]
        hashed.update(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))
        for key in sorted(self.vectors):
            hashed.update(key.encode() + b"\x00" + self.vectors[key].astype("<f4").tobytes())
        for end in ends:
            hashed.update(end)
        return hashed.digest()


class Tally:
    """Counts and digests by label or type, and the nodes' digests that edges refer to."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[int]] = {}
        self.edges: dict[str, list[int]] = {}
        self._known: dict[int, bytes] = {}

    def add(self, record: Record) -> None:
        """Count a record; the nodes of an edge come before it."""
        if record.ends is None:
            digest = self._known[record.id] = record.digest()
        else:
            digest = record.digest(*(self._known[end] for end in record.ends))
        groups = self.nodes if record.ends is None else self.edges
        group = groups.setdefault(":".join(record.names), [0, 0])
        group[0] += 1
        group[1] = (group[1] + int.from_bytes(digest, "little")) % _MODULUS

    def as_json(self) -> dict[str, dict[str, dict[str, Any]]]:
        """`{"nodes": {label: {"count": n, "digest": hex}}, "edges": ...}`."""
        return {
            kind: {
                name: {"count": count, "digest": f"{digest:032x}"}
                for name, (count, digest) in sorted(groups.items())
            }
            for kind, groups in (("nodes", self.nodes), ("edges", self.edges))
        }


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Where two tallies (as JSON) differ, in words; empty when they are equal."""
    told = []
    for kind in ("nodes", "edges"):
        ours, theirs = expected.get(kind) or {}, found.get(kind) or {}
        for name in sorted({*ours, *theirs}):
            one, other = ours.get(name) or {"count": 0}, theirs.get(name) or {"count": 0}
            if one["count"] != other["count"]:
                told.append(f"{kind} {name}: {other['count']} instead of {one['count']}")
            elif one != other:
                told.append(f"{kind} {name}: other content")
    return told


def from_row(row: Mapping[str, Any]) -> Record:
    """A record of one row of NODES or EDGES.

    Raises:
        ConfigurationError: a property of a type that cannot travel.
    """
    properties = dict(row["properties"] or {})
    vectors: dict[str, Float32] = {}
    special: dict[str, tuple[str, Any]] = {}
    texts = dict(row["texts"] or ())
    for key, kind in row["kinds"] or ():
        value = properties.pop(key)
        if kind == VECTOR:
            vectors[key] = np.asarray(value, dtype=np.float32)
        elif kind == POINT:
            special[key] = (kind, dict(value))
        elif kind in TEMPORAL:
            special[key] = (kind, texts[key])
        else:
            raise ConfigurationError(
                f"The property {key!r} holds a {kind}, which cannot be copied.",
                "Remove it from the graph first.",
            )
    names = (str(row["type"]),) if "type" in row else tuple(sorted(row["labels"] or ()))
    ends = (int(row["source"]), int(row["target"])) if "type" in row else None
    return Record(int(row["id"]), names, properties, vectors, special, ends)


def encode(records: Sequence[Record]) -> tuple[bytes, bytes]:
    """Records as JSON lines, and their vectors as float32 one after another."""
    lines, numbers = [], []
    for record in records:
        entry: dict[str, Any] = {"id": record.id, "names": record.names, "p": record.properties}
        if record.ends is not None:
            entry["ends"] = record.ends
        if record.special:
            entry["special"] = record.special
        if record.vectors:
            entry["vectors"] = {key: len(vector) for key, vector in record.vectors.items()}
            numbers += [vector.astype("<f4").tobytes() for vector in record.vectors.values()]
        lines.append(orjson.dumps(entry))
    return b"\n".join(lines), b"".join(numbers)


def decode(lines: bytes, numbers: bytes) -> Iterable[Record]:
    """The records of `encode`.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    position = 0
    for line in lines.split(b"\n") if lines else ():
        entry = orjson.loads(line)
        vectors = {}
        for key, size in (entry.get("vectors") or {}).items():
            vectors[str(key)] = np.frombuffer(numbers, dtype="<f4", count=int(size), offset=position)
            position += 4 * int(size)
        ends = entry.get("ends")
        yield Record(
            int(entry["id"]),
            tuple(map(str, entry["names"])),
            dict(entry["p"]),
            vectors,
            {str(key): (str(kind), value) for key, (kind, value) in (entry.get("special") or {}).items()},
            (int(ends[0]), int(ends[1])) if ends is not None else None,
        )
