"""Faults that people met in systems of this kind, the graph side: of each kind at least three variants."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_cases import agent_at, honest, plan, stage_of
from scripted_server import ScriptedServer, structured, text

from graph_agent.agent import GraphAgent
from graph_agent.errors import EngineUnavailable, QueryTimeout
from graph_agent.store import DocumentGraph
from graph_agent.store.overview import COUNTS_S, Overview
from graph_agent.tools import ToolContext, ToolResult, call_tool
from graph_agent.tools.bounds import output_tokens


def ask(context: ToolContext, cypher: str, params: dict[str, Any] | None = None) -> ToolResult:
    return call_tool(context, "graph_query", {"cypher": cypher, "params": params})


# 1. The overview fits its budget, counts what it dropped, names the tool that lists it.

PROPERTIES = ", ".join(f"property_{at}: {at}" for at in range(30))


@pytest.mark.parametrize(
    ("labels", "statement", "tool"),
    [
        (1, "CREATE (:L0 {{{many}}})", "get_property_types"),
        (3, "CREATE (:L{at} {{{few}}})", ""),
        (40, "CREATE (:`人名和地名和其他很长的标签的名字 {at}` {{{few}}})", "get_property_types"),
        (300, "CREATE (:`A label whose name is rather long, number {at}` {{{few}}})", "get_node_label_counts"),
        (60, "MERGE (a:A) MERGE (b:B) CREATE (a)-[:RELATED_BY_KIND_{at} {{{few}}}]->(b)-[:BACK_BY_KIND_{at}]->(a)", "get_"),
    ],
)  # fmt: skip
def test_case_1_the_overview_fits_any_schema(
    empty_graph: DocumentGraph, labels: int, statement: str, tool: str
) -> None:
    many = ", ".join(f"a_property_with_a_long_name_{at}: {at}" for at in range(400))
    for at in range(labels):
        empty_graph.write(statement.format(at=at, few=PROPERTIES, many=many))
    context = ToolContext(empty_graph)
    while (result := call_tool(context, "get_graph_overview")).artifact["pending"]:
        time.sleep(0.05)
    assert output_tokens(result.content) <= 1_500
    assert tool in result.content
    dropped = result.artifact["dropped"]
    assert bool(dropped) == bool(tool)
    for what, number in dropped.items():
        assert f"{number} {what}" in result.content or f"{number:,} {what}" in result.content


# 2. What somebody else adds is seen without a restart.


@pytest.mark.parametrize(
    ("statement", "seen"),
    [
        ("CREATE (:Second)", lambda now: "Second" in now.labels),
        ("MATCH (n:First) SET n:Third", lambda now: "Third" in now.labels),
        ("MATCH (n:First) CREATE (n)-[:KNOWS]->(n)", lambda now: "KNOWS" in now.edge_types and now.triples),
        ("MATCH (n:First) DELETE n", lambda now: "First" not in now.labels),
    ],
)
def test_case_2_changes_by_others_are_seen(
    empty_graph: DocumentGraph, statement: str, seen: Callable[[Any], Any]
) -> None:
    now = [0.0]
    empty_graph.write("CREATE (:First), (:Other)")
    overview = Overview(empty_graph, clock=lambda: now[0])
    assert not seen(overview.current())
    context = ToolContext(empty_graph)
    before = call_tool(context, "get_node_label_counts").artifact
    empty_graph.write(statement)
    now[0] += COUNTS_S
    assert seen(overview.current())
    listed = (
        call_tool(context, "get_node_label_counts").artifact + call_tool(context, "get_edge_types").artifact
    )
    assert listed != before  # these two are never behind


# 7. An invalid query, then a right one: one failed run, one repair. The same text twice: stop and say so.


@pytest.fixture
def cinema(
    scripted_server: ScriptedServer, movies: ToolContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GraphAgent]:
    """An agent over the movies; its model is scripted."""
    with agent_at(scripted_server, movies.graph, tmp_path, monkeypatch, context=movies) as made:
        yield made


def querying(first: str, second: str, answer: str) -> Callable[..., Any]:
    return honest(
        plan=lambda request: structured(plan(kind="structure", cypher=True, search=False)),
        cypher=lambda request: text(first),
        repair=lambda request: text(second),
        answer=lambda request: text(answer),
    )


RIGHT = "MATCH (p:Person)-[:DIRECTED]->(m:Movie {title: 'The Matrix'}) RETURN p.name AS name ORDER BY name"


@pytest.mark.parametrize(
    "wrong",
    [
        "MATCH (p:Person-[:DIRECTED]->(m:Movie) RETURN p.name",  # does not parse
        "MATCH (p:Person)-[:DIRECTED]->(m:Movie) RETURN apoc.text.join([p.name], ',') AS name",  # unknown function
        "MATCH (p:Person)-[:DIRECTED]->(m:Movie) SET p.seen = true RETURN p.name",  # writes
        "Directors are found by their films.",  # no query at all
        "MATCH (p:Persn)-[:DIRECTED]->(m:Movie {title: 'The Matrix'}) RETURN p.name AS name",  # unknown label
    ],
)
def test_case_7_one_failed_run_one_repair(
    cinema: GraphAgent, scripted_server: ScriptedServer, wrong: str
) -> None:
    scripted_server.respond(querying(wrong, RIGHT, "Lana and Lilly Wachowski."))
    response = cinema.ask("Who directed The Matrix?")
    assert [stage_of(request) for request in scripted_server.chats] == ["plan", "cypher", "repair", "answer"]
    assert response.cypher[-1].rows
    assert len(response.cypher) == 2
    assert response.answered


@pytest.mark.parametrize(
    "again",
    ["{wrong}", "```cypher\n{wrong}\n```", "Here it is:\n\n{wrong};", "  {wrong}  "],
)
def test_case_7_the_same_text_again_ends_it(
    cinema: GraphAgent, scripted_server: ScriptedServer, again: str
) -> None:
    wrong = "MATCH (p:Regisseur)-[:DIRECTED]->(m:Movie) RETURN p.name AS name"
    scripted_server.respond(querying(wrong, again.format(wrong=wrong), "NOT_IN_DOCUMENTS"))
    response = cinema.ask("Who directed The Matrix?")
    assert [stage_of(request) for request in scripted_server.chats].count("repair") == 1
    assert len(response.cypher) == 1
    assert any("same text came again" in note for note in response.notes)


# 8. Near names for what does not exist.


@pytest.mark.parametrize(
    ("cypher", "near"),
    [
        ("MATCH (p:Person) RETURN p.fullName AS n LIMIT 1", "near: name"),
        ("MATCH (m:Movie) WHERE m.releaseYear > 1990 RETURN m.title", "near: released"),
        ("MATCH (p:Persons) RETURN p", "near: Person"),
        ("MATCH (p:Person)-[:ACTS_IN]->(m) RETURN m", "near: ACTED_IN"),
        ("MATCH (p:Person)-[r:ACTED_IN]->(m) RETURN r.role LIMIT 1", "near: roles"),
    ],
)
def test_case_8_near_names_are_suggested(movies: ToolContext, cypher: str, near: str) -> None:
    result = ask(movies, cypher)
    assert near in result.artifact["hint"]
    assert near in result.content


# 9. A value in another case or with a qualifier: the hint finds it, and the answer says that it fell back.


@pytest.mark.parametrize(
    ("value", "found"),
    [("the matrix", "The Matrix"), ("THE MATRIX", "The Matrix"), ("Matrix", "The Matrix"), ("The Matrx", "The Matrix"),
     ("Top Gun (1986)", "Top Gun")],
)  # fmt: skip
def test_case_9_a_value_written_otherwise_is_found(movies: ToolContext, value: str, found: str) -> None:
    hint = ask(movies, "MATCH (m:Movie {title: $title}) RETURN m.released", {"title": value}).artifact["hint"]
    literal = ask(movies, f"MATCH (m:Movie) WHERE m.title = '{value}' RETURN m.released").artifact["hint"]
    assert found in str(hint)
    assert found in str(literal)


# 10. Direction is reported as stored.


@pytest.mark.parametrize(
    ("cypher", "rows"),
    [
        ("MATCH (a)-[:TRANSFER]->(b {name: 'B'}) RETURN a.name AS who", [{"who": "A"}]),
        ("MATCH (b {name: 'B'})<-[:TRANSFER]-(a) RETURN a.name AS who", [{"who": "A"}]),
        ("MATCH (x {name: 'B'})-[t:TRANSFER]-(y) RETURN startNode(t).name AS payer, endNode(t).name AS paid",
         [{"payer": "A", "paid": "B"}]),
        ("MATCH (a {name: 'B'})-[:TRANSFER]->(b) RETURN b.name AS who", []),
    ],
)  # fmt: skip
def test_case_10_who_paid_whom(empty_graph: DocumentGraph, cypher: str, rows: list[dict[str, Any]]) -> None:
    empty_graph.write("CREATE (:Account {name: 'A'})-[:TRANSFER {amount: 5}]->(:Account {name: 'B'})")
    assert ask(ToolContext(empty_graph), cypher).artifact["rows"] == rows


def test_case_10_relationships_and_paths_keep_their_ends(empty_graph: DocumentGraph) -> None:
    empty_graph.write("CREATE (:Account {name: 'A'})-[:TRANSFER]->(:Account {name: 'B'})")
    ids = {
        row["n"]: row["i"]
        for row in ask(ToolContext(empty_graph), "MATCH (a) RETURN a.name AS n, id(a) AS i").artifact["rows"]
    }
    for cypher in (
        "MATCH p = (a {name: 'B'})-[t]-(b) RETURN t, p",
        "MATCH p = (b {name: 'B'})<-[t]-(a) RETURN t, p",
    ):
        result = ask(ToolContext(empty_graph), cypher)
        row = result.artifact["rows"][0]
        assert (row["t"]["source"], row["t"]["target"]) == (ids["A"], ids["B"])
        assert "<-[" in result.content  # the path is walked from B, against the arrow


# 11. Rows came back: the answer uses them. No rows: no matching data, never an answer from memory.


@pytest.mark.parametrize(
    ("cypher", "shown"),
    [
        (RIGHT, "Wachowski"),
        ("MATCH (m:Movie) RETURN count(m) AS movies", "38"),
        ("MATCH (p:Person {name: 'Keanu Reeves'}) RETURN p.born AS born", "1964"),
    ],
)
def test_case_11_rows_are_given_to_the_model_and_used(
    cinema: GraphAgent, scripted_server: ScriptedServer, cypher: str, shown: str
) -> None:
    scripted_server.respond(querying(cypher, cypher, f"It is {shown}."))
    response = cinema.ask("Tell me from the graph")
    answering = next(request for request in scripted_server.chats if stage_of(request) == "answer")
    assert shown in answering.everything
    assert shown in response.answer
    assert response.answered


@pytest.mark.parametrize(
    "memory", ["Steven Spielberg directed it.", "It was directed in 1975 by Spielberg [1].", ""]
)
def test_case_11_without_rows_nothing_is_answered_from_memory(
    cinema: GraphAgent, scripted_server: ScriptedServer, memory: str
) -> None:
    nothing = "MATCH (p:Person)-[:DIRECTED]->(m:Movie {title: 'Jaws'}) RETURN p.name AS name"
    other = "MATCH (p:Person)-[:DIRECTED]->(m:Movie) WHERE m.title = 'Jaws 2' RETURN p.name AS name"
    scripted_server.respond(querying(nothing, other, memory))
    response = cinema.ask("Who directed Jaws?")
    assert not response.answered
    assert "Spielberg" not in response.answer


# 12. Capped, truncated, vectors gone, names of columns kept; no group lost.


@pytest.mark.parametrize(
    ("cypher", "columns", "total"),
    [
        ("MATCH (c:Chunk) RETURN c", ["c"], 3_000),
        ("MATCH (c:Chunk) RETURN [c, c.v] AS pair, {inner: c} AS map", ["pair", "map"], 3_000),
        (
            "MATCH (c:Chunk) WITH c ORDER BY c.i RETURN c.i AS `the number`, c.v AS v",
            ["the number", "v"],
            3_000,
        ),
        ("MATCH (c:Chunk) RETURN c.i % 1000 AS g, collect(c.v) AS vectors", ["g", "vectors"], 1_000),
        ("MATCH (c:Chunk) RETURN c.i AS a UNION ALL MATCH (c:Chunk) RETURN c.i AS a", ["a"], 6_000),
    ],
)
def test_case_12_many_rows_with_vectors(
    empty_graph: DocumentGraph, cypher: str, columns: list[str], total: int
) -> None:
    empty_graph.write("UNWIND range(1, 3000) AS i CREATE (:Chunk {i: i, v: vecf32($v)})", {"v": [0.25] * 64})
    result = ask(ToolContext(empty_graph), cypher)
    artifact = result.artifact
    assert artifact["columns"] == columns
    assert len(artifact["rows"]) == 200
    assert artifact["truncated"] is True
    assert artifact["total"] == total
    assert list(artifact["rows"][0]) == columns
    assert "0.25" not in str(artifact["rows"])
    assert "0.25" not in result.content
    assert output_tokens(result.content) <= 6_000


@pytest.mark.parametrize("groups", [41, 150, 200])
def test_case_12_no_group_is_lost(empty_graph: DocumentGraph, groups: int) -> None:
    empty_graph.write("UNWIND range(1, 3000) AS i CREATE (:Item {g: i % $n})", {"n": groups})
    result = ask(ToolContext(empty_graph), "MATCH (i:Item) RETURN i.g AS g, count(*) AS n ORDER BY g")
    assert [row["g"] for row in result.artifact["rows"]] == list(range(groups))
    assert sum(row["n"] for row in result.artifact["rows"]) == 3_000
    assert len([line for line in result.content.splitlines() if " | " in line]) == groups + 1


# 13. A slow query is stopped; the next one works; another conversation is answered meanwhile.


@pytest.mark.parametrize(
    "slow",
    [
        "MATCH (a), (b), (c), (d), (e) WHERE a.i + b.i + c.i + d.i + e.i < 0 RETURN count(*)",
        "UNWIND range(1, 30000) AS a UNWIND range(1, 30000) AS b RETURN sum(a * b)",
        "MATCH p = (:N {i: 1})-[:R*1..25]->() RETURN count(p)",
        "MATCH (a:N) OPTIONAL MATCH (b:N), (c:N), (d:N), (e:N) WHERE b.i + c.i + d.i < e.i RETURN max(a.i + e.i)",
    ],
)
def test_case_13_a_slow_query_is_stopped(empty_graph: DocumentGraph, slow: str) -> None:
    empty_graph.write("UNWIND range(1, 60) AS i CREATE (:N {i: i})")
    empty_graph.write("MATCH (a:N), (b:N) WHERE b.i > a.i AND b.i < a.i + 9 CREATE (a)-[:R]->(b)")
    settings = empty_graph.settings.model_copy(update={"query_timeout_ms": 700})
    stopped: list[Exception] = []

    def run() -> None:
        try:
            ask(ToolContext(empty_graph, settings=settings), slow)
        except QueryTimeout as error:
            stopped.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    context = ToolContext(empty_graph)
    assert ask(context, "MATCH (n:N) RETURN count(n) AS n").artifact["rows"] == [{"n": 60}]
    thread.join(20)
    assert "stopped after 0.7 s" in str(stopped[0])
    assert ask(context, "RETURN 1 AS one").artifact["rows"] == [{"one": 1}]


# 15. An engine that is gone is never "no data".


@pytest.mark.parametrize("name", ["graph_query", "get_node_labels", "get_graph_overview", "search_sections"])
def test_case_15_gone_is_not_empty(tmp_path: Path, name: str) -> None:
    from graph_agent.settings import load_settings

    graph = DocumentGraph.open(load_settings(data=tmp_path, falkordb_url=""))
    context = ToolContext(graph)
    graph.write("CREATE (:N)")
    graph.close()
    arguments = {"graph_query": {"cypher": "MATCH (n) RETURN n"}, "search_sections": {"query": "x"}}.get(
        name, {}
    )
    with pytest.raises(EngineUnavailable):
        call_tool(context, name, arguments)
