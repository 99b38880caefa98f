"""Queries that only look like writes or attacks: the guard lets each through, and graph_query answers it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from trap_queries import GRAPH, INDEXES, TRAPS, traps

from graph_agent.store import DocumentGraph
from graph_agent.store.guard import approve
from graph_agent.tools import ToolContext, call_tool

EACH = pytest.mark.parametrize(
    ("query", "params"), [pytest.param(query, params, id=name) for name, query, params in traps()]
)


@pytest.fixture(scope="module")
def trap_graph(engine: DocumentGraph) -> Iterator[DocumentGraph]:
    graph = engine.select("trap-queries")
    graph.write(GRAPH)
    for index in INDEXES:
        graph.write(index)
    yield graph
    graph.drop()
    graph.keys.delete("skeleton", "postings", "vectors", "last-sync", "sync-lock")


def test_there_are_enough_of_every_kind() -> None:
    queries = [query for _, query, _ in traps()]
    assert len(set(queries)) == len(queries) >= 220
    assert min(len(members) for members in TRAPS.values()) >= 7


@EACH
def test_the_guard_lets_it_through(query: str, params: dict[str, Any]) -> None:
    approve(query, extract=False)
    approve(query, params=params)


@EACH
def test_graph_query_answers_it(trap_graph: DocumentGraph, query: str, params: dict[str, Any]) -> None:
    result = call_tool(ToolContext(trap_graph), "graph_query", {"cypher": query, "params": params or None})
    assert result.artifact["columns"]
