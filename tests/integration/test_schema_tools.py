"""The tools about labels, types and properties: on any graph, fresh, and within their bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graph_agent.store import DocumentGraph, Result, survey
from graph_agent.store.overview import COUNTS_S, FOREIGN_S, Overview
from graph_agent.store.skeleton import Skeleton
from graph_agent.tools import ToolContext, call_tool
from graph_agent.tools.bounds import output_tokens

SCHEMA_TOOLS = (
    "get_graph_overview",
    "get_node_labels",
    "get_edge_types",
    "get_node_label_counts",
    "get_edge_type_counts",
    "get_property_types",
)


def test_labels_and_types_in_use_sorted_by_count(movies: ToolContext) -> None:
    assert call_tool(movies, "get_node_labels").artifact == ["Person", "Movie"]
    types = ["ACTED_IN", "DIRECTED", "PRODUCED", "WROTE", "REVIEWED", "FOLLOWS"]
    assert call_tool(movies, "get_edge_types").artifact == types
    assert call_tool(movies, "get_edge_types").content.splitlines() == types


def test_counts_of_labels_and_types(movies: ToolContext) -> None:
    assert call_tool(movies, "get_node_label_counts").artifact == [
        {"label": "Person", "count": 133},
        {"label": "Movie", "count": 38},
    ]
    counts = call_tool(movies, "get_edge_type_counts")
    assert counts.artifact[0] == {"edge_type": "ACTED_IN", "count": 172}
    assert counts.content.startswith("ACTED_IN: 172\n")


def test_labels_whose_nodes_are_gone_are_not_listed(empty_graph: DocumentGraph) -> None:
    empty_graph.write("CREATE (:Kept)-[:STAYS]->(:Kept), (:Gone)-[:WENT]->(:Gone)")
    empty_graph.write("MATCH (n:Gone) DETACH DELETE n")
    context = ToolContext(empty_graph)
    assert call_tool(context, "get_node_labels").artifact == ["Kept"]
    assert call_tool(context, "get_edge_types").artifact == ["STAYS"]


def test_names_of_equal_count_are_in_order_of_the_alphabet(empty_graph: DocumentGraph) -> None:
    empty_graph.write("CREATE (:B), (:A), (:C), (:C)")
    assert call_tool(ToolContext(empty_graph), "get_node_labels").artifact == ["C", "A", "B"]


@pytest.mark.parametrize("name", SCHEMA_TOOLS)
def test_an_empty_graph_is_no_error(empty_graph: DocumentGraph, name: str) -> None:
    result = call_tool(ToolContext(empty_graph), name)
    assert result.content.startswith("No ")
    assert result.artifact is not None
    assert not empty_graph.exists()


def test_the_overview_shows_types_counts_properties_and_relationships(movies: ToolContext) -> None:
    result = call_tool(movies, "get_graph_overview")
    for part in ("Person 133 {", "title: String", "(:Person)-[:ACTED_IN]->(:Movie) 172", "roles: List"):
        assert part in result.content
    assert {
        "source": "Person",
        "type": "FOLLOWS",
        "target": "Person",
        "count": 3,
        "exact": True,
    } in result.artifact["relationships"]
    assert output_tokens(result.content) <= 1_500


def test_300_labels_fit_and_what_is_dropped_is_counted(empty_graph: DocumentGraph) -> None:
    for label in range(300):
        properties = ", ".join(f"p{number}: {number}" for number in range(30))
        empty_graph.write(f"UNWIND range(1, 3) AS i CREATE (:`Label {label}` {{{properties}}})")
    empty_graph.write("MATCH (a:`Label 1`), (b:`Label 2`) CREATE (a)-[:`KNOWS OF`]->(b)")
    context = ToolContext(empty_graph)
    while (result := call_tool(context, "get_graph_overview")).artifact["pending"]:
        assert "Pending" in result.content
    assert output_tokens(result.content) <= 1_500
    shown = sum(f"`Label {label}` 3" in result.content for label in range(300))
    assert shown + result.artifact["dropped"]["node types"] == 300
    assert "(:`Label 1`)-[:`KNOWS OF`]->(:`Label 2`) 9" in result.content
    assert "get_node_label_counts" in result.content
    assert len(call_tool(context, "get_node_labels").artifact) == 300
    assert len(call_tool(context, "get_property_types", {"label": "Label 299"}).artifact) == 30


def test_property_types_with_examples_indexes_and_all_of_few_values(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "UNWIND range(1, 1500) AS i CREATE (:Thing {id: 'id' + toString(i), colour: ['red', 'green', 'blue'][i % 3], "
        "size: i, mixed: CASE WHEN i % 2 = 0 THEN i ELSE toString(i) END, tags: ['a', 'b', 'c', 'd'], "
        "long: 'x' + toString(i) + ' " + "y" * 5_000 + "', v: vecf32([1.0, 2.0])})"
    )
    empty_graph.write("MATCH (t:Thing) WITH t LIMIT 5 CREATE (t)-[:NEAR {metres: 1.5}]->(t)")
    empty_graph.write("CREATE INDEX FOR (t:Thing) ON (t.id)")
    result = call_tool(ToolContext(empty_graph), "get_property_types")
    rows = {(row["owner"], row["property"]): row for row in result.artifact}
    assert rows["Thing", "id"]["indexed"] is True
    assert rows["Thing", "id"]["types"] == ["String"]
    assert rows["Thing", "id"]["owner_kind"] == "node"
    assert rows["Thing", "size"]["indexed"] is False
    assert rows["Thing", "colour"]["values"] == ["blue", "green", "red"]
    assert "values" not in rows["Thing", "id"]
    assert sorted(rows["Thing", "mixed"]["types"]) == ["Integer", "String"]
    assert rows["Thing", "v"]["types"] == ["Vectorf32"]
    assert rows["Thing", "v"]["examples"] == []
    assert rows["NEAR", "metres"] == {
        "owner": "NEAR", "owner_kind": "edge", "property": "metres", "types": ["Float"], "indexed": False, "examples": [1.5]
    }  # fmt: skip
    for row in result.artifact:
        assert len(row["examples"]) <= 3
        assert len(str(row["examples"])) < 300
    assert 'colour: String one of "blue", "green", "red"' in result.content


def test_eleven_values_are_not_listed(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "UNWIND range(1, 5000) AS i CREATE (:T {ten: toString(i % 10), eleven: CASE WHEN i = 4999 THEN 'k' ELSE toString(i % 10) END})"
    )
    rows = {
        row["property"]: row for row in call_tool(ToolContext(empty_graph), "get_property_types").artifact
    }
    assert len(rows["ten"]["values"]) == 10
    assert "values" not in rows["eleven"]


def test_an_unknown_label_is_answered_with_near_ones(movies: ToolContext) -> None:
    result = call_tool(movies, "get_property_types", {"label": "movie"})
    assert result.artifact == []
    assert result.content.startswith("No label or relationship type 'movie' found")
    assert "Movie" in result.content
    assert {
        row["owner"] for row in call_tool(movies, "get_property_types", {"label": "REVIEWED"}).artifact
    } == {"REVIEWED"}


def test_a_label_added_by_somebody_else_is_seen_without_restart(empty_graph: DocumentGraph) -> None:
    now = [0.0]
    empty_graph.write("CREATE (:First)")
    overview = Overview(empty_graph, clock=lambda: now[0])
    assert list(overview.current().labels) == ["First"]
    empty_graph.write("CREATE (:Second {name: 'x'})-[:AFTER]->(:First)")
    assert list(overview.current().labels) == ["First"]  # from the cache
    now[0] += COUNTS_S
    current = overview.current()
    assert set(current.labels) == {"First", "Second"}
    assert current.triples[0].type == "AFTER"


def test_new_counts_are_seen_at_once_and_other_changes_within_half_a_minute(
    empty_graph: DocumentGraph,
) -> None:
    now = [0.0]
    empty_graph.write("CREATE (:First {a: 1})")
    overview = Overview(empty_graph, clock=lambda: now[0])
    overview.current()
    empty_graph.write("MATCH (f:First) SET f.b = 'new' CREATE (:First)")
    now[0] += COUNTS_S
    assert overview.current().labels == {"First": 2}
    assert [fact.name for fact in overview.current().properties] == ["a"]
    now[0] += FOREIGN_S
    overview.current()
    until(lambda: {fact.name for fact in overview.current().properties} == {"a", "b"})


def test_a_new_graph_version_is_seen_at_once(empty_graph: DocumentGraph) -> None:
    empty_graph.write("CREATE (:GraphMeta {graph_version: 1}), (:Document)")
    overview = Overview(empty_graph)
    assert "Folder" not in overview.current().labels
    empty_graph.write("MATCH (m:GraphMeta) SET m.graph_version = 2 CREATE (:Folder)-[:CONTAINS]->(:Document)")
    current = overview.current()
    assert current.labels["Folder"] == 1
    assert current.version == 2
    assert any(triple.type == "CONTAINS" for triple in current.triples)


def test_the_skeleton_is_shared_on_the_server_and_checked_before_use(
    empty_graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_graph.write("CREATE (:A)-[:TO]->(:B)")
    Overview(empty_graph).current()
    until(lambda: empty_graph.keys.get("skeleton") is not None)
    builds = count_builds(monkeypatch)
    assert set(Overview(empty_graph).current().labels) == {"A", "B"}
    assert builds == []
    empty_graph.write("CREATE (:C)")
    assert set(Overview(empty_graph).current().labels) == {"A", "B", "C"}
    assert len(builds) == 1
    empty_graph.keys.set("skeleton", b"damaged")
    assert set(Overview(empty_graph).current().labels) == {"A", "B", "C"}


def test_it_is_built_in_the_background_and_pending_until_then(
    empty_graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_graph.write("CREATE (:A {p: 1})-[:TO]->(:B)")
    gate = threading.Event()
    build = survey.build

    def slow(graph: DocumentGraph, version: int) -> Skeleton:
        gate.wait(20)
        return build(graph, version)

    monkeypatch.setattr(survey, "build", slow)
    overview = Overview(empty_graph)
    began = time.monotonic()
    overview.warm()
    assert time.monotonic() - began < 0.2
    pending = overview.current(wait_s=0.05)
    assert pending.pending
    assert pending.labels == {"A": 1, "B": 1}
    assert pending.triples == ()
    assert [fact.name for fact in overview.properties("A", wait_s=0.05)] == ["p"]
    gate.set()
    until(lambda: not overview.current().pending)
    assert overview.current().triples[0].type == "TO"


def test_one_build_serves_all_who_wait(empty_graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_graph.write("CREATE (:A)")
    builds = count_builds(monkeypatch, pause_s=0.2)
    overview = Overview(empty_graph)
    threads = [threading.Thread(target=overview.current) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1


def test_a_large_graph_is_sampled_within_its_time(
    empty_graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a graph of millions: nothing is counted through, labels are found over the whole range of ids."""
    monkeypatch.setattr(survey, "EXACT_EDGES", 0)
    empty_graph.write("UNWIND range(1, 20000) AS i CREATE (:Account {i: i})")
    empty_graph.write(
        "UNWIND range(1, 3000) AS i CREATE (:Person:Customer {name: toString(i)})-[:OWNS {since: i}]->(:Card)"
    )
    empty_graph.write("MATCH (a:Account) WHERE a.i < 9000 CREATE (a)-[:LINKED]->(a)")
    empty_graph.write("MATCH (a:Account {i: 19999}), (c:Card) WITH a, c LIMIT 1 CREATE (a)-[:RARE]->(c)")
    skeleton = survey.build(empty_graph, 0)
    triples = {(triple.source, triple.type, triple.target): triple for triple in skeleton.triples}
    assert triples["Person:Customer", "OWNS", "Card"].count == 3_000
    assert not triples["Person:Customer", "OWNS", "Card"].exact
    assert triples["Account", "LINKED", "Account"].count == 8_999
    assert ("Account", "RARE", "Card") in triples
    owners = {(fact.owner, fact.name): fact for fact in skeleton.properties}
    assert owners["OWNS", "since"].types == ("Integer",)
    assert owners["Customer", "name"].types == ("String",)
    assert owners["Account", "i"].count <= survey.SAMPLE_NODES


def test_190_million_claimed_nodes_take_bounded_time_and_rows(
    empty_graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's statistics say so; every statement that follows must be limited in rows, and short."""
    empty_graph.write("UNWIND range(1, 3000) AS i CREATE (:Account {i: i})-[:LINKED]->(:Card {n: 'x'})")
    count = survey.count

    def claimed(graph: DocumentGraph) -> Skeleton:
        found = count(graph)
        return replace(
            found,
            nodes=190_000_000,
            edges=1_200_000_000,
            labels={"Account": 100_000_000, "Card": 90_000_000},
            edge_types={"LINKED": 1_200_000_000},
        )

    asked: list[tuple[str, int | None]] = []
    read = DocumentGraph.read

    def watched(
        graph: DocumentGraph, cypher: str, params: Any = None, *, timeout_ms: int | None = None
    ) -> Result:
        asked.append((cypher, timeout_ms))
        return read(graph, cypher, params, timeout_ms=timeout_ms)

    monkeypatch.setattr(survey, "count", claimed)
    monkeypatch.setattr(DocumentGraph, "read", watched)
    began = time.monotonic()
    skeleton = survey.build(empty_graph, 0)
    assert time.monotonic() - began < survey.BUILD_S + 2
    assert [(triple.type, triple.count) for triple in skeleton.triples] == [("LINKED", 1_200_000_000)]
    assert {fact.name for fact in skeleton.properties} == {"i", "n"}
    for cypher, timeout_ms in asked:
        if cypher != "CALL db.meta.stats()":
            assert cypher.startswith("CALL db.indexes") or "LIMIT" in cypher, cypher
            assert timeout_ms == survey.QUERY_MS
    assert len(asked) < 200


def test_samples_reach_over_all_ids_of_a_label(empty_graph: DocumentGraph) -> None:
    empty_graph.write("UNWIND range(1, 5000) AS i CREATE (:Old {early: 1})")
    empty_graph.write("UNWIND range(1, 5000) AS i CREATE (:Old {late: 1})")
    names = {fact.name for fact in survey.build(empty_graph, 0).properties}
    assert names == {"early", "late"}


def test_what_there_was_no_time_for_is_named_and_looked_at_when_asked(
    empty_graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "BUILD_S", survey.TRIPLES_S - 1)
    empty_graph.write("CREATE (:A {p: 1})-[:TO {q: 'x'}]->(:B)")
    context = ToolContext(empty_graph)
    everything = call_tool(context, "get_property_types")
    assert everything.artifact == []
    assert [row["property"] for row in call_tool(context, "get_property_types", {"label": "A"}).artifact] == [
        "p"
    ]
    assert [
        row["property"] for row in call_tool(context, "get_property_types", {"label": "TO"}).artifact
    ] == ["q"]
    assert (
        "3 property lists (get_property_types lists them)" in call_tool(context, "get_graph_overview").content
    )


def test_a_thousand_names_stay_within_the_output_bound(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE " + ", ".join(f"(:AVeryLongNameOfALabelNumber{number})" for number in range(1_000))
    )
    result = call_tool(ToolContext(empty_graph), "get_node_label_counts")
    assert len(result.artifact) == 1_000
    assert output_tokens(result.content) <= 6_100
    left_out = 1_000 - (len(result.content.splitlines()) - 1)
    assert f"({left_out} more node labels" in result.content


def count_builds(monkeypatch: pytest.MonkeyPatch, pause_s: float = 0.0) -> list[int]:
    builds: list[int] = []
    build = survey.build

    def counted(graph: DocumentGraph, version: int) -> Skeleton:
        builds.append(version)
        time.sleep(pause_s)
        return build(graph, version)

    monkeypatch.setattr(survey, "build", counted)
    return builds


def until(condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)
