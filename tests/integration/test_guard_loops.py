"""Loops in a WHERE behind a WITH: refused where 4.16.3 finds nothing in silence, let pass where it answers rightly."""

from __future__ import annotations

import pytest

from graph_agent.errors import QueryRefused
from graph_agent.store import DocumentGraph
from graph_agent.store.guard import approve

RIGHT = [
    "MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN count(s)",
    "MATCH (s:B) WITH s, any(w IN ['x'] WHERE s.t CONTAINS w) AS ok WHERE ok RETURN count(s)",
    "MATCH (s:B) WITH s WHERE any(w IN s.l WHERE w = 'x') RETURN s",
    "MATCH (s:B) WITH s MATCH (s) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s",
    "MATCH (a:A) WITH a OPTIONAL MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s",
    "MATCH (a) WITH a RETURN 1 AS c UNION MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN count(s) AS c",
    "MATCH (s:B) WITH s RETURN sum(CASE WHEN any(w IN ['x'] WHERE s.t CONTAINS w) THEN 1 ELSE 0 END)",
    "MATCH (s:B) WITH s WHERE any(x IN s.l WHERE any(y IN ['x'] WHERE y = x)) RETURN s",
    "MATCH (s:B) WITH s WHERE any(w IN s.l WHERE w = $p) RETURN s",
    "MATCH (a:A) WITH a CALL { MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s } RETURN count(s)",
    "MATCH (a)-[:R]->(s) WITH DISTINCT s MATCH (s)-[:R]->(t) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN t",
    "MATCH (a), (s) WITH * MATCH (t) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN t",
    "MATCH (s:B) WITH s WHERE reduce(a = 0, w IN s.l | a + size(w)) > 0 RETURN s",
]
WRONG = [
    "MATCH (s:B) WITH s WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s",
    "MATCH (a:A) WITH a MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s",
    "MATCH (a:A) CALL { WITH a MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s } RETURN count(s)",
    "MATCH (s:B) WITH s WHERE any(x IN ['x'] WHERE any(y IN s.l WHERE y = x)) RETURN s",
    "MATCH (s:B) WITH s WHERE 'xyq' IN [w IN ['q'] | s.t + w] RETURN s",
    "MATCH (s:B) WITH s WHERE reduce(a = 0, w IN ['x'] | a + s.n) > 0 RETURN s",
    "MATCH (s:B) WITH count(s) AS n MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s, n",
    "WITH 1 AS one MATCH (s:B) WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s",
    "UNWIND ['xy'] AS t WITH t WHERE any(w IN ['x'] WHERE t CONTAINS w) RETURN t",
]
VERSION = 41603


@pytest.fixture
def marked(empty_graph: DocumentGraph) -> DocumentGraph:
    empty_graph.write(
        "CREATE (:B {t: 'xy', l: ['x', 'y'], n: 1}), (:B {t: 'z', l: ['z'], n: 2}), "
        "(:A {t: 'x'})-[:R]->(:B {t: 'x', l: [], n: 3})"
    )
    return empty_graph


@pytest.mark.parametrize("query", RIGHT)
def test_what_the_engine_answers_is_let_pass(query: str, marked: DocumentGraph) -> None:
    marked.read(approve(query, engine_version=VERSION).cypher, {"p": "x"})


@pytest.mark.parametrize("query", WRONG)
def test_what_it_would_lose_is_refused_with_the_form_that_works(query: str) -> None:
    with pytest.raises(QueryRefused, match="behind WITH") as caught:
        approve(query, engine_version=VERSION)
    assert query[caught.value.position :].startswith(caught.value.word)
    assert "AS ok WHERE ok" in caught.value.fix
    approve(query, engine_version=42201)


def test_the_form_that_works(marked: DocumentGraph) -> None:
    if marked.engine.version < 42200:
        lost = marked.read("MATCH (s:B) WITH s WHERE any(w IN ['x'] WHERE s.t CONTAINS w) RETURN s.t")
        assert lost.rows == [], "the engine answers it now: the rule may go"
    kept = marked.read(
        "MATCH (s:B) WITH s, any(w IN ['x'] WHERE s.t CONTAINS w) AS ok WHERE ok RETURN s.t ORDER BY s.t"
    )
    assert kept.rows == [["x"], ["xy"]]
