"""Property graphs out of nodes.jsonl and edges.jsonl into FalkorDB, for questions that are asked of them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.evals.questions import read_json_lines
from graph_agent.store.queries import evals as statements

if TYPE_CHECKING:
    from graph_agent.store import DocumentGraph

NODES_AT_A_TIME = 500
EDGES_AT_A_TIME = 2_000
T = TypeVar("T")
INDEX_WAIT_S = 60.0
_MOMENT, _POINT = "$localdatetime", "latitude"


def load_graph(graph: DocumentGraph, folder: Path) -> bool:
    """Make a graph equal to the files of a folder; False when it is already.

    nodes.jsonl: {"key", "labels": [...], "props": {...}}; edges.jsonl: {"from", "to", "type", "props"}, ends by
    key. A value {"$localdatetime": ISO text} is a moment, {"latitude", "longitude"} a point.

    Raises:
        ConfigurationError: the files are not there, or an edge's end is none of the nodes.
        EngineUnavailable: the engine does not answer.
    """
    nodes = [row for _, row in read_json_lines(folder / "nodes.jsonl")]
    edges = [row for _, row in read_json_lines(folder / "edges.jsonl")]
    if _size(graph) == (len(nodes), len(edges)):
        return False
    graph.drop()
    home = {str(node["key"]): str(node["labels"][0]) for node in nodes}
    _require_ends(edges, home, folder)
    labels = sorted(set(home.values()))
    _write_nodes(graph, nodes)
    for label in labels:
        graph.write(statements.KEYED.format(label=statements.named(label)))
    _wait_for_indexes(graph)
    _write_edges(graph, edges, home)
    for label in labels:
        graph.write(statements.UNKEYED.format(label=statements.named(label)))
    graph.write(statements.WITHOUT_KEYS)
    return True


def _write_nodes(graph: DocumentGraph, nodes: Sequence[Mapping[str, Any]]) -> None:
    special: dict[str, set[tuple[str, str]]] = {statements.MOMENT: set(), statements.POINT: set()}
    rows = []
    for node in nodes:
        properties = {}
        for name, value in node["props"].items():
            if isinstance(value, Mapping):
                kind = statements.MOMENT if _MOMENT in value else statements.POINT
                special[kind].add((str(node["labels"][0]), name))
                value = value[_MOMENT] if _MOMENT in value else dict(value)
            if value is not None:
                properties[name] = value
        rows.append({"key": node["key"], "properties": properties})
    ids: list[int] = []
    for part in _parts(rows, NODES_AT_A_TIME):
        ids += [int(row[0]) for row in graph.write(statements.NODES, {"rows": part}).rows]
    by_labels: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for node, identity in zip(nodes, ids, strict=True):
        by_labels[tuple(node["labels"])].append(identity)
    for names, members in by_labels.items():
        labels = ":".join(statements.named(name) for name in names)
        for chunk in _parts(members, NODES_AT_A_TIME):
            graph.write(statements.LABELLED.format(labels=labels), {"ids": chunk})
    for statement, places in special.items():
        for label, name in sorted(places):
            graph.write(statement.format(label=statements.named(label), name=statements.named(name)))


def _write_edges(graph: DocumentGraph, edges: Sequence[Mapping[str, Any]], home: Mapping[str, str]) -> None:
    by_kind: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for edge in edges:
        start, end = str(edge["from"]), str(edge["to"])
        properties = {name: value for name, value in edge["props"].items() if value is not None}
        by_kind[home[start], home[end], str(edge["type"])].append(
            {"start": start, "end": end, "properties": properties}
        )
    for (start, end, kind), rows in sorted(by_kind.items()):
        cypher = statements.EDGES.format(
            start=statements.named(start), end=statements.named(end), type=statements.named(kind)
        )
        for part in _parts(rows, EDGES_AT_A_TIME):
            graph.write(cypher, {"rows": part})


def _require_ends(edges: Sequence[Mapping[str, Any]], home: Mapping[str, str], folder: Path) -> None:
    for number, edge in enumerate(edges, start=1):
        for end in ("from", "to"):
            if str(edge[end]) not in home:
                raise ConfigurationError(
                    f"{folder / 'edges.jsonl'}, line {number}: there is no node {edge[end]!r}.",
                    "Check the file.",
                )


def _size(graph: DocumentGraph) -> tuple[int, int]:
    rows = graph.read(statements.COUNTS).rows if graph.exists() else []
    return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)


def _wait_for_indexes(graph: DocumentGraph) -> None:
    deadline = time.monotonic() + INDEX_WAIT_S
    while graph.read(statements.UNREADY).scalar(0):
        if time.monotonic() > deadline:
            raise EngineUnavailable("An index is still being built after a minute.", "Try again.")
        time.sleep(0.02)


def _parts(rows: list[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
