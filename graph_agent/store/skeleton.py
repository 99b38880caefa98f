"""The skeleton of a graph: what labels, relationships and properties it has. Plain data; see survey.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import orjson

FORMAT = 1  # of the cached JSON; a cache of another format is built anew


@dataclass(frozen=True)
class Triple:
    """`(source)-[type]->(target)`; labels of a node with several are joined by a colon.

    `exact` is False for a count that was estimated from a sample.
    """

    source: str
    type: str
    target: str
    count: int
    exact: bool = True


@dataclass(frozen=True)
class PropertyFact:
    """One property of a label or relationship type.

    Attributes:
        owner, owner_kind: the label or type, and which of the two it is.
        types: the engine's names of the types seen (String, Integer, List ...), most frequent first.
        indexes: kinds of index on it (RANGE, FULLTEXT, VECTOR).
        examples: up to three short values.
        values: all values, when it is text and there are at most ten; else None.
        count: nodes or edges seen with it, among those looked at.
    """

    owner: str
    owner_kind: Literal["node", "edge"]
    name: str
    types: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    examples: tuple[Any, ...] = ()
    values: tuple[str, ...] | None = None
    count: int = 0


@dataclass(frozen=True)
class Skeleton:
    """The map of a graph at one moment.

    Attributes:
        version: graph_version when it was built (0 on a foreign graph).
        built_at: seconds since the epoch.
        labels, edge_types: those in use with their counts, most first.
        triples: relationships with the labels at their ends, most first.
        properties: of the labels and types that were looked at.
        unsampled: labels and types whose properties were not looked at for lack of time.
        pending: True while only the counts are known.
    """

    version: int = 0
    built_at: float = 0.0
    nodes: int = 0
    edges: int = 0
    labels: Mapping[str, int] = field(default_factory=dict)
    edge_types: Mapping[str, int] = field(default_factory=dict)
    triples: tuple[Triple, ...] = ()
    properties: tuple[PropertyFact, ...] = ()
    unsampled: tuple[str, ...] = ()
    pending: bool = False

    def same_names(self, other: Skeleton) -> bool:
        """Whether both have the same labels and types, whatever their counts."""
        return self.labels.keys() == other.labels.keys() and self.edge_types.keys() == other.edge_types.keys()

    def with_counts(self, other: Skeleton) -> Skeleton:
        """This one with the counts of `other`; itself when they are the same."""
        mine = (self.nodes, self.edges, self.labels, self.edge_types)
        if mine == (other.nodes, other.edges, other.labels, other.edge_types):
            return self
        return replace(
            self, nodes=other.nodes, edges=other.edges, labels=other.labels, edge_types=other.edge_types
        )

    def to_json(self) -> bytes:
        """For the cache."""
        return orjson.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, data: bytes) -> Skeleton | None:
        """From the cache; None when it is of another format or damaged."""
        try:
            facts = orjson.loads(data)
            if facts.pop("format") != FORMAT:
                return None
            facts["triples"] = tuple(Triple(**triple) for triple in facts["triples"])
            facts["properties"] = tuple(_fact(fact) for fact in facts["properties"])
            facts["unsampled"] = tuple(facts["unsampled"])
            return cls(**facts)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _fact(facts: dict[str, Any]) -> PropertyFact:
    for name in ("types", "indexes", "examples", "values"):
        if facts[name] is not None:
            facts[name] = tuple(facts[name])
    return PropertyFact(**facts)
