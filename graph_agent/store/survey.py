"""Building the skeleton of any graph from bounded samples.

Counts come from the engine's own statistics and cost the same on ten nodes as on 190 million. Everything
else is looked at in samples: at most `SAMPLE_NODES` nodes of a label, spread over the range of its ids, each
query stopped after `QUERY_MS` milliseconds and the whole build after `BUILD_S` seconds. What was not looked
at is left out and counted, never guessed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from graph_agent.errors import QueryError
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.queries import overview as statements
from graph_agent.store.skeleton import PropertyFact, Skeleton, Triple
from graph_agent.store.values import plain

BUILD_S = 8.0
TRIPLES_S = 4.0
QUERY_MS = 500
EXACT_MS = 1_500
EXACT_EDGES = 100_000
EXACT_NODES = 500_000
SAMPLE_NODES = 600
WINDOWS = 4
WHOLE_LABEL = 1_000  # nodes up to which a label's properties are read whole
EXAMPLE_NODES = 100
SAMPLE_EDGES = 2_000
EXAMPLE_CHARS = 60
EXAMPLES = 3
FEW_VALUES = 10
VALUES_NODES = 200_000  # nodes up to which distinct values are worth a scan


def count(graph: DocumentGraph) -> Skeleton:
    """Labels and types in use with their counts, nothing else; a few milliseconds on any graph."""
    rows = graph.read(statements.STATISTICS).dicts()
    row = rows[0] if rows else {}
    return Skeleton(
        nodes=int(row.get("nodeCount") or 0),
        edges=int(row.get("relCount") or 0),
        labels=_in_use(row.get("labels")),
        edge_types=_in_use(row.get("relTypes")),
        pending=True,
    )


def build(graph: DocumentGraph, version: int) -> Skeleton:
    """Look at the graph; takes milliseconds on a small one and at most about `BUILD_S` seconds.

    Raises:
        EngineUnavailable: the engine does not answer. Queries that are too slow are left out instead.
    """
    began = time.time()
    survey = Survey(graph, count(graph))
    triples = survey.triples(time.monotonic() + TRIPLES_S)
    properties, unsampled = survey.properties(triples, time.monotonic() + BUILD_S - TRIPLES_S)
    return replace(
        survey.counts,
        version=version,
        built_at=began,
        triples=triples,
        properties=properties,
        unsampled=unsampled,
        pending=False,
    )


class Survey:
    """One look at a graph whose counts are known."""

    def __init__(self, graph: DocumentGraph, counts: Skeleton) -> None:
        self.graph = graph
        self.counts = counts
        self._indexes: dict[tuple[str, str], tuple[str, ...]] | None = None
        self._starts: dict[str, list[int]] = {}

    def triples(self, deadline: float) -> tuple[Triple, ...]:
        """Which labels each relationship type connects; counted exactly where that is quick."""
        counts = self.counts
        if not counts.edges:
            return ()
        if counts.edges <= EXACT_EDGES and counts.nodes <= EXACT_NODES:
            rows = self._rows(statements.ALL_TRIPLES, timeout_ms=EXACT_MS)
            if rows is not None:
                return _sorted(
                    Triple(_joined(row["source"]), row["type"], _joined(row["target"]), int(row["count"]))
                    for row in rows
                )
        seen: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))

        def add(kind: str, row: Mapping[str, Any]) -> None:
            seen[kind][_joined(row["source"]), _joined(row["target"])] += int(row["count"])

        for label in counts.labels:
            statement = statements.TRIPLES_FROM.format(label=statements.quoted(label))
            for first in self._windows(label):
                if time.monotonic() > deadline:
                    break
                parameters = {"first": first, "nodes": SAMPLE_NODES // WINDOWS, "edges": SAMPLE_EDGES}
                for row in self._rows(statement, parameters) or []:
                    add(row["type"], row)
        for kind in [kind for kind in counts.edge_types if kind not in seen]:
            if time.monotonic() > deadline:
                break
            statement = statements.TRIPLES_OF_TYPE.format(type=statements.quoted(kind))
            for row in self._rows(statement, {"edges": SAMPLE_EDGES}) or []:
                add(kind, row)
        return _sorted(_estimated(counts.edge_types, seen))

    def properties(
        self, triples: Iterable[Triple], deadline: float
    ) -> tuple[tuple[PropertyFact, ...], tuple[str, ...]]:
        """Properties of labels and types, most frequent owners first, and the owners there was no time for."""
        facts: list[PropertyFact] = []
        unsampled: list[str] = []
        sources = _sources(triples)
        owners = [*self.counts.labels, *(kind for kind in self.counts.edge_types if kind in sources)]
        for position, owner in enumerate(owners):
            if time.monotonic() > deadline:
                unsampled.append(owner)
            elif position < len(self.counts.labels):
                facts += self.properties_of_label(owner)
            else:
                facts += self.properties_of_type(owner, sources[owner])
        return tuple(facts), tuple(unsampled)

    def properties_of_label(self, label: str) -> list[PropertyFact]:
        """Properties of one label's nodes, those most of them have first."""
        number = self.counts.labels.get(label, 0)
        windows = self._windows(label)
        names = {"label": statements.quoted(label)}
        types: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for first in windows:
            nodes = WHOLE_LABEL if number <= WHOLE_LABEL else SAMPLE_NODES // len(windows)
            for row in (
                self._rows(statements.NODE_TYPES.format(**names), {"first": first, "nodes": nodes}) or []
            ):
                types[row["name"]][row["type"]] += int(row["count"])
        queries = (statements.NODE_STRINGS, statements.NODE_OTHERS, statements.NODE_LISTS)
        examples = self._examples([query.format(**names) for query in queries])
        return self._facts(label, "", types, examples)

    def properties_of_type(self, kind: str, source: str) -> list[PropertyFact]:
        """Properties of one type's edges; `source` is a label that some of them start from."""
        names = {"label": statements.quoted(source), "type": statements.quoted(kind)}
        types: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for row in self._rows(statements.EDGE_TYPES.format(**names), {"nodes": SAMPLE_NODES}) or []:
            types[row["name"]][row["type"]] += int(row["count"])
        queries = (statements.EDGE_STRINGS, statements.EDGE_OTHERS, statements.EDGE_LISTS)
        return self._facts("", kind, types, self._examples([query.format(**names) for query in queries]))

    def _facts(
        self,
        label: str,
        kind: str,
        types: Mapping[str, Mapping[str, int]],
        examples: Mapping[str, list[Any]],
    ) -> list[PropertyFact]:
        owner = kind or label
        facts = []
        for name, counts in types.items():
            found = examples.get(name, [])
            values = self._values(label, name, found) if label and set(counts) == {"String"} else None
            facts.append(
                PropertyFact(
                    owner=owner,
                    owner_kind="edge" if kind else "node",
                    name=name,
                    types=tuple(sorted(counts, key=lambda type_: (-counts[type_], type_))),
                    indexes=self._index_kinds().get((owner, name), ()),
                    examples=tuple(_short(value) for value in found[:EXAMPLES]),
                    values=values,
                    count=sum(counts.values()),
                )
            )
        return sorted(facts, key=lambda fact: (-fact.count, fact.name))

    def _examples(self, queries: Iterable[str]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = defaultdict(list)
        parameters = {
            "nodes": EXAMPLE_NODES,
            "chars": EXAMPLE_CHARS + 1,
            "distinct": FEW_VALUES + 1,
            "first": 0,
        }
        for query in queries:
            for row in self._rows(query, parameters) or []:
                found[row["name"]] += [plain(value) for value in row["examples"]]
        return found

    def _values(self, label: str, name: str, examples: list[Any]) -> tuple[str, ...] | None:
        """All values of a text property that has few: a model can then copy one instead of guessing it."""
        if not _listable(examples) or self.counts.labels.get(label, 0) > VALUES_NODES:
            return None
        names = {"label": statements.quoted(label), "property": statements.quoted(name)}
        parameters = {"distinct": FEW_VALUES + 1, "chars": EXAMPLE_CHARS + 1}
        rows = self._rows(statements.DISTINCT_VALUES.format(**names), parameters)
        values = rows[0]["values"] if rows else []
        return tuple(sorted(values)) if _listable(values) else None

    def _index_kinds(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Kinds of index by (label or type, property)."""
        if self._indexes is None:
            self._indexes = {}
            for row in self._rows(statements.INDEXES) or []:
                for name, kinds in (row["types"] or {}).items():
                    known = self._indexes.get((row["label"], name), ())
                    self._indexes[row["label"], name] = tuple(sorted({*known, *kinds}))
        return self._indexes

    def _windows(self, label: str) -> list[int]:
        """Node ids to start reading at: one for a small label, else spread over the ids it really has.

        The highest id is found by halving, each step one look at the label's own matrix: some 30 of them
        on 200 million nodes. Ids of deleted nodes are reused, so the range may exceed the count.
        """
        if label in self._starts:
            return self._starts[label]
        number = self.counts.labels.get(label, 0)
        low = 0 if number <= WHOLE_LABEL else self._id_from(label, 0)
        if number <= WHOLE_LABEL or low is None:
            self._starts[label] = [0]
            return [0]
        high, beyond = low, max(self.counts.nodes, low + 1) * 2
        while beyond - high > number // 100:
            middle = (high + beyond) // 2
            found = self._id_from(label, middle)
            if found is None:
                beyond = middle
            else:
                high = found
        self._starts[label] = sorted({low + (high - low) * part // WINDOWS for part in range(WINDOWS)})
        return self._starts[label]

    def _id_from(self, label: str, first: int) -> int | None:
        rows = self._rows(statements.NODE_FROM.format(label=statements.quoted(label)), {"first": first})
        return int(rows[0]["id"]) if rows else None

    def _rows(
        self, statement: str, params: Mapping[str, Any] | None = None, timeout_ms: int = QUERY_MS
    ) -> list[dict[str, Any]] | None:
        """Rows of a query; None when it was too slow, or not to the engine's liking."""
        wanted = {name: value for name, value in (params or {}).items() if f"${name}" in statement}
        try:
            return self.graph.read(statement, wanted, timeout_ms=timeout_ms).dicts()
        except QueryError:
            return None


def sources_of(skeleton: Skeleton) -> dict[str, str]:
    """For each relationship type, one label that its edges start from."""
    return _sources(skeleton.triples)


def _in_use(counts: Mapping[str, int] | None) -> dict[str, int]:
    """Names that anything carries, most first; ties by name. Labels of deleted nodes stay listed at zero."""
    used = {name: int(number) for name, number in (counts or {}).items() if number}
    return dict(sorted(used.items(), key=lambda item: (-item[1], item[0])))


def _estimated(
    totals: Mapping[str, int], seen: Mapping[str, Mapping[tuple[str, str], int]]
) -> Iterator[Triple]:
    """Each type's exact total, shared out by what the sample holds of each pair of labels."""
    for kind, pairs in seen.items():
        total, sampled = totals.get(kind, 0), sum(pairs.values())
        exact = sampled == total
        for (source, target), number in pairs.items():
            estimate = number if exact else max(1, round(total * number / sampled))
            yield Triple(source, kind, target, estimate, exact)


def _sorted(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    return tuple(
        sorted(triples, key=lambda triple: (-triple.count, triple.source, triple.type, triple.target))
    )


def _joined(labels: list[str] | None) -> str:
    return ":".join(labels or [])


def _sources(triples: Iterable[Triple]) -> dict[str, str]:
    sources: dict[str, str] = {}
    for triple in triples:
        if triple.source:
            sources.setdefault(triple.type, triple.source.split(":")[0])
    return sources


def _listable(values: list[Any]) -> bool:
    return 0 < len(values) <= FEW_VALUES and all(
        isinstance(value, str) and len(value) <= EXAMPLE_CHARS for value in values
    )


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > EXAMPLE_CHARS:
        return value[: EXAMPLE_CHARS - 1].rstrip() + "…"
    if isinstance(value, list):
        return [_short(item) for item in value[:EXAMPLES]]
    return value
