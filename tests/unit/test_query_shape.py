"""What is read off a query's tokens: names for hints, and where a LIMIT may stand."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent.store.query_shape import Comparison, Step, capped, names_in


@pytest.mark.parametrize(
    ("cypher", "params", "expected"),
    [
        ("MATCH (n) RETURN n", {}, "MATCH (n) RETURN n\nLIMIT 9"),
        ("MATCH (n) RETURN n // all", {}, "MATCH (n) RETURN n // all\nLIMIT 9"),
        ("MATCH (n) RETURN n ORDER BY n.x SKIP 3", {}, "MATCH (n) RETURN n ORDER BY n.x SKIP 3\nLIMIT 9"),
        ("MATCH (n) RETURN n LIMIT 5", {}, None),
        ("MATCH (n) RETURN n limit 500", {}, "MATCH (n) RETURN n limit 9"),
        ("MATCH (n) RETURN n LIMIT $k", {"k": 500}, "MATCH (n) RETURN n LIMIT 9"),
        ("MATCH (n) RETURN n LIMIT $k", {"k": 5}, None),
        ("MATCH (n) WITH n LIMIT 3 RETURN n", {}, "MATCH (n) WITH n LIMIT 3 RETURN n\nLIMIT 9"),
        ("MATCH (a) RETURN a UNION MATCH (b) RETURN b", {}, None),
        ("CALL { MATCH (a) RETURN a UNION MATCH (b) RETURN b AS a } RETURN a", {}, "CALL { MATCH (a) RETURN a UNION MATCH (b) RETURN b AS a } RETURN a\nLIMIT 9"),
        ("CALL db.labels()", {}, None),
        ("RETURN 'LIMIT 5' AS `LIMIT`", {}, "RETURN 'LIMIT 5' AS `LIMIT`\nLIMIT 9"),
    ],
)  # fmt: skip
def test_rows_are_capped_where_that_changes_nothing_else(
    cypher: str, params: dict[str, Any], expected: str | None
) -> None:
    assert capped(cypher, 9, params) == (expected or cypher)


def test_labels_types_properties_and_texts_of_a_query() -> None:
    names = names_in(
        "MATCH (m:Movie {title: 'The Matrix'})<-[r:ACTED_IN|DIRECTED*1..2]-(p:Person) "
        "WHERE p.fullName = \"O\\'Neil\" AND 'x' = p.nick AND m.tagline CONTAINS $word AND r.since > 3 RETURN p.name AS n, db.f(p.x)",
        {"word": "free"},
    )
    assert list(names.labels) == ["Movie", "Person"]
    assert list(names.types) == ["ACTED_IN", "DIRECTED"]
    assert set(names.properties) == {
        ("m", "title"), ("p", "fullName"), ("p", "nick"), ("m", "tagline"), ("r", "since"), ("p", "name"), ("p", "x")
    }  # fmt: skip
    assert set(names.comparisons) == {
        Comparison("m", "title", "The Matrix"),
        Comparison("p", "fullName", "O'Neil"),
        Comparison("p", "nick", "x"),
        Comparison("m", "tagline", "free", "CONTAINS"),
    }
    assert names.steps == [Step("p", ("ACTED_IN", "DIRECTED"), "m")]
    assert names.edges == {"r"}


def test_words_inside_strings_comments_maps_and_lists_are_no_names() -> None:
    names = names_in(
        "MATCH (n) /* (x:Secret) */ WHERE n.a = ':Merge' // [:HIDDEN]\nRETURN {key: n.b, other: 'n.c'} AS `n.d`, [x IN n.e | x], size([1, 2])"
    )
    assert list(names.labels) == []
    assert list(names.types) == []
    assert {name for _, name in names.properties} == {"a", "b", "e"}


def test_a_renamed_variable_keeps_its_labels() -> None:
    names = names_in("MATCH (a:Person) WITH a AS b, count(*) AS c RETURN b.salary, c")
    assert ("b", "salary") in names.properties
    assert list(names.owners["b"]) == ["Person"]


def test_backticked_names_and_labels_in_conditions_are_seen() -> None:
    names = names_in("MATCH (n)-[:`has MD5 hash`]->(m) WHERE n:Person OR m:`线索` RETURN n.`discussions-to`")
    assert list(names.labels) == ["Person", "线索"]
    assert list(names.types) == ["has MD5 hash"]
    assert ("n", "discussions-to") in names.properties


def test_a_pattern_without_arrow_or_types_has_no_direction() -> None:
    assert names_in("MATCH (a:A)-[:T]-(b:B), (c)-->(d) RETURN a").steps == []
