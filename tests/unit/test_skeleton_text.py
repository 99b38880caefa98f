"""The overview's text: within its budget on any graph, and honest about what it leaves out."""

from __future__ import annotations

import pytest

from graph_agent.store.skeleton import PropertyFact, Skeleton, Triple
from graph_agent.store.skeleton_text import render
from graph_agent.tools.bounds import output_tokens

BUDGET = 1_500


def made(labels: int, properties: int = 30, count: int = 20) -> Skeleton:
    names = [f"Lab{at}" for at in range(labels)]
    return Skeleton(
        nodes=labels * count,
        edges=(labels - 1) * count,
        labels=dict.fromkeys(names, count),
        edge_types={f"R{at}": count for at in range(labels - 1)},
        triples=tuple(Triple(f"Lab{at}", f"R{at}", f"Lab{at + 1}", count) for at in range(labels - 1)),
        properties=tuple(
            PropertyFact(name, "node", f"p{at}_{number}", ("Integer",))
            for at, name in enumerate(names)
            for number in range(properties)
        ),
    )


@pytest.mark.parametrize("labels", [1, 3, 30, 300, 3_000])
def test_it_fits_the_budget_and_counts_what_it_dropped(labels: int) -> None:
    skeleton = made(labels)
    outline = render(skeleton, "big", budget=BUDGET, measure=output_tokens)
    assert output_tokens(outline.text) <= BUDGET
    shown = sum(f"Lab{at} " in outline.text for at in range(labels))
    dropped = labels - shown
    assert outline.dropped.get("node types", 0) == dropped
    if labels <= 3:
        assert outline.dropped == {}
    if dropped:
        assert f"{dropped} node types (get_node_label_counts lists them)" in outline.text
        assert (
            f"{outline.dropped['relationships']} relationships (get_edge_type_counts lists them)"
            in outline.text
        )
        assert "property lists (get_property_types lists them)" in outline.text


def test_300_labels_show_names_relationships_and_properties_in_that_order_of_weight() -> None:
    text = render(made(300), "big", budget=BUDGET, measure=output_tokens).text
    assert sum(f"Lab{at} 20" in text for at in range(300)) >= 100
    assert text.count("]->(:") >= 20


def test_the_budget_can_be_another() -> None:
    for budget in (300, 600, 5_000):
        assert output_tokens(render(made(300), "big", budget=budget, measure=output_tokens).text) <= budget


def test_the_most_frequent_come_first_and_names_are_written_as_cypher_needs_them() -> None:
    skeleton = Skeleton(
        nodes=3,
        edges=2,
        labels={"Person": 2, "has MD5 hash": 1},
        edge_types={"IN": 2},
        triples=(Triple("Person", "IN", "has MD5 hash", 2), Triple("Person:Actor", "IN", "", 1, exact=False)),
        properties=(
            PropertyFact("Person", "node", "discussions-to", ("String", "Integer")),
            PropertyFact("Person", "node", "embedding", ("Vectorf32",)),
            PropertyFact("IN", "edge", "since", ("Integer",)),
        ),
    )
    text = render(skeleton, "g", budget=BUDGET, measure=output_tokens).text
    assert text.splitlines() == [
        "Graph 'g': 3 nodes, 2 relationships.",
        "Node types with counts and properties:",
        "- Person 2 {`discussions-to`: String|Integer}",
        "- `has MD5 hash` 1",
        "Relationships with counts:",
        "- (:Person)-[:IN]->(:`has MD5 hash`) 2",
        "- (:Person:Actor)-[:IN]->() ~1",
        "- IN {since: Integer}",
        "Counts with ~ are estimated from a sample.",
    ]


def test_an_empty_graph_and_a_pending_skeleton_say_so() -> None:
    assert render(Skeleton(), "g", budget=BUDGET, measure=output_tokens).text.startswith("No nodes found")
    pending = Skeleton(nodes=5, labels={"A": 5}, pending=True)
    text = render(pending, "g", budget=BUDGET, measure=output_tokens).text
    assert "A 5" in text
    assert "Pending" in text


def test_the_cached_form_reads_back_equal_and_damage_reads_as_nothing() -> None:
    skeleton = made(3)
    assert Skeleton.from_json(skeleton.to_json()) == skeleton
    for damaged in (b"", b"{}", b"[]", b'{"format": 0}', skeleton.to_json()[:-5]):
        assert Skeleton.from_json(damaged) is None
