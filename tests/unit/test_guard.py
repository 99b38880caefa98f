"""What the guard refuses, with word and place; what it lets pass untouched; what it rewrites."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from cypher_traps import TRAPS

from graph_agent.errors import QueryRefused
from graph_agent.store.guard import LENGTH_LIMIT, approve
from graph_agent.store.guard_hints import functions, hint_for_error

GOLD = Path(__file__).parents[2] / ".." / "shared" / "data" / "text2cypher" / "dev" / "questions.jsonl"
V416, V422 = 41603, 42201


def refusal(text: str, version: int | None = None, params: dict[str, object] | None = None) -> QueryRefused:
    with pytest.raises(QueryRefused) as caught:
        approve(text, engine_version=version, params=params)
    assert caught.value.fix, "every refusal says what to do"
    return caught.value


# Writes and whatever else is not one reading statement

WRITES = [
    ("CREATE (n:X)", "CREATE", 0),
    ("create (n:X)", "create", 0),
    ("MATCH (n) CREATE (m)", "CREATE", 10),
    ("MATCH (a), (b) CREATE (a)-[:R]->(b)", "CREATE", 15),
    ("MATCH (n)CREATE (m)", "CREATE", 9),
    ("MATCH (n) CREATE p = (n)-[:R]->()", "CREATE", 10),
    ("MATCH (n) CREATE UNIQUE (n)-[:R]->()", "CREATE", 10),
    ("MERGE (n:X)", "MERGE", 0),
    ("MERGE (n:X) ON CREATE SET n.a = 1", "MERGE", 0),
    ("MATCH (n) SET n.x = 1", "SET", 10),
    ("MATCH (n) sEt n.x = 1", "sEt", 10),
    ("MATCH (n) SET n:Label", "SET", 10),
    ("MATCH (n) SET n += {a: 1}", "SET", 10),
    ("MATCH (n) SET (n).x = 1", "SET", 10),
    ("MATCH (n) SET n.`a b` = 1", "SET", 10),
    ("MATCH (n)\nSET\nn.x = 1", "SET", 10),
    ("MATCH (n)/**/SET/**/n.x = 1", "SET", 13),
    ("MATCH (n) // c\nSET n.x = 1", "SET", 15),
    ("MATCH (n) DELETE n", "DELETE", 10),
    ("MATCH (n) DETACH DELETE n", "DETACH", 10),
    ("MATCH ()-[r]->() DELETE r", "DELETE", 17),
    ("MATCH (n) REMOVE n.x", "REMOVE", 10),
    ("MATCH (n) REMOVE n:Label", "REMOVE", 10),
    ("MATCH (n) FOREACH (x IN [1] | SET n.x = 1)", "FOREACH", 10),
    ("FOREACH (x IN [1] | CREATE (:N))", "FOREACH", 0),
    ("CREATE INDEX FOR (n:N) ON (n.x)", "CREATE", 0),
    ("CREATE VECTOR INDEX FOR (n:N) ON (n.x) OPTIONS {dimension: 2, similarityFunction: 'cosine'}", "CREATE", 0),
    ("CREATE FULLTEXT INDEX FOR (n:N) ON (n.x)", "CREATE", 0),
    ("CREATE CONSTRAINT ON (n:N) ASSERT n.x IS UNIQUE", "CREATE", 0),
    ("DROP INDEX ON :N(x)", "DROP", 0),
    ("DROP CONSTRAINT ON (n:N) ASSERT n.x IS UNIQUE", "DROP", 0),
    ("CALL { CREATE (n) } RETURN 1", "CREATE", 7),
    ("MATCH (n) CALL { WITH n SET n.x = 1 RETURN 1 AS o } RETURN o", "SET", 24),
    ("MATCH (n) CALL { WITH n CALL { WITH n DELETE n } RETURN 1 AS o } RETURN o", "DELETE", 38),
    ("RETURN 1 AS x UNION CREATE (n) RETURN 1 AS x", "CREATE", 20),
    ("RETURN 1 AS x UNION ALL MATCH (n) DELETE n RETURN 1 AS x", "DELETE", 34),
    ("CALL db.labels() YIELD label CREATE (:X)", "CREATE", 29),
    ("CALL db.labels() YIELD - CREATE (:X)", "CREATE", 25),
    ("CALL db.labels SET x = 1", "SET", 15),
    ("UNWIND [1] AS x CREATE (:X)", "CREATE", 16),
    ("UNWIND [1]AS x CREATE (:X)", "CREATE", 15),
    ("WITH 'a'AS x CREATE (:X)", "CREATE", 13),
    ("MATCH (n) WITH n, 1 AS case WITH n, case SET n.x = 1 RETURN n", "SET", 41),
    ("MATCH (n) WITH n AS when, 1 AS case WITH when, case SET when.x = 1 RETURN 1", "SET", 52),
    ("MATCH (n) WITH n AS when, 1 AS case WITH when, case DELETE when RETURN 1", "DELETE", 52),
    ("MATCH (n) WITH n, 1 AS case WITH n, case CALL { CREATE (:W) } RETURN n", "CREATE", 48),
    ("MATCH (n) WITH n, 1 AS case WITH n, case MATCH (m) SET m.x = 1", "SET", 51),
    ("MATCH (n) WITH n, 1 AS case WITH n, case UNION CREATE (:W)", "CREATE", 47),
    ("MATCH (n) WITH n, 1 AS when, 1 AS case WITH n, case WITH when CALL { SET n.x = 1 }", "SET", 69),
    ("MATCH (n) RETURN n.x AS set SET n.y = 1", "SET", 28),
    ("MATCH (n) WITH * SET n.y = 1", "SET", 17),
    ("MATCH (n) WITH n ORDER BY n.x DESC SET n.y = 1", "SET", 35),
    ("MATCH (n) WITH n LIMIT 1 SET n.y = 1", "SET", 25),
    ("MATCH (n) WITH n WHERE n.x IS NOT NULL SET n.y = 1", "SET", 39),
    ("MATCH (n) WITH n ORDER BY true NOT in SET n.y = 1", "SET", 38),
    ("MATCH (n) WITH n, CASE WHEN true THEN 1 END AS q SET n.y = 1", "SET", 49),
    ("OPTIONAL MATCH (n) DELETE n", "DELETE", 19),
    ("MATCH (`create`) DELETE `create`", "DELETE", 17),
    ("MATCH (set) SET set.set = 1", "SET", 12),
    ("LOAD CSV FROM 'https://example.com/x' AS row RETURN row", "LOAD", 0),
    ("load csv with headers from 'file://x' as row return row", "load", 0),
    ("MATCH (n) LOAD/**/CSV FROM 'x' AS row RETURN row", "LOAD", 10),
    ("ＣＲＥＡＴＥ (n)", "ＣＲＥＡＴＥ", 0),
    ("MATCH (n) ＤＥＬＥＴＥ n", "ＤＥＬＥＴＥ", 10),
    ("MATCH (n) ſet n.x = 1", "ſet", 10),
    ("MATCH (n) CRE\u200bATE (m)", "CRE\u200bATE", 10),
    ("MATCH (n) CR/**/EATE (m)", "CREATE", 10),
    ("MATCH (n) D/* x */E/**/LETE n", "DELETE", 10),
    ("MATCH (n)\u00a0DELETE\u3000n", "DELETE", 10),
    ("MATCH (n) RETURN create (n)", "create", 17),
    ("MATCH (n) RETURN n SET", "SET", 19),
]  # fmt: skip


@pytest.mark.parametrize(("text", "word", "position"), WRITES)
def test_writes_are_refused_with_word_and_place(text: str, word: str, position: int) -> None:
    refused = refusal(text)
    assert (refused.word, refused.position) == (word, position)
    assert "only reading is allowed" in refused.message or "not allowed" in refused.message
    assert f"position {position}" in refused.message


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("EXPLAIN MATCH (n) RETURN n", "EXPLAIN"),
        ("PROFILE MATCH (n) RETURN n", "PROFILE"),
        ("CYPHER x=1 MATCH (n) RETURN $x", "CYPHER"),
        ("cypher x=1 MATCH (n) RETURN $x", "cypher"),
        ("RETURN 1; RETURN 2", ";"),
        ("RETURN 1; MATCH (n) DELETE n", ";"),
        ("SHOW INDEXES", "SHOW"),
        ("MATCH (n) RETURN n ; ; CREATE (m)", ";"),
        ("RETURN (1", "("),
        ("RETURN [1)", ")"),
    ],
)
def test_what_is_not_one_reading_statement_is_refused(text: str, word: str) -> None:
    assert refusal(text).word == word


@pytest.mark.parametrize(
    "name",
    [
        "db.idx.fulltext.createNodeIndex", "db.idx.fulltext.drop", "DB.IDX.FULLTEXT.DROP", "`db`.`idx`.fulltext.drop",
        "db . idx /* */ . fulltext . drop", "db.idx.vector.createNodeIndex", "apoc.cypher.runWrite", "dbms.shutdown", "foo",
    ],
)  # fmt: skip
def test_procedures_that_are_not_known_to_read_are_refused(name: str) -> None:
    refused = refusal(f"CALL {name}('N')")
    assert "not among the procedures" in refused.message
    assert "db.labels" in refused.fix
    assert refused.position == 5


@pytest.mark.parametrize(
    "query",
    [
        "CALL db.labels()", "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType", "CALL db.propertyKeys()",
        "CALL db.indexes()", "CALL db.constraints()", "CALL db.meta.stats()", "CALL dbms.procedures()", "CALL dbms.functions()",
        "CALL db.idx.fulltext.queryNodes('N', 'merge') YIELD node RETURN node.name",
        "CALL db.idx.vector.queryNodes('N', 'v', 3, vecf32($v)) YIELD node, score RETURN node, score",
        "CALL algo.pageRank('N', 'R') YIELD node, score RETURN node.name, score", "CALL ALGO.BFS(n, 1, 'R')",
        "MATCH (n) CALL { WITH n RETURN n.x AS y } RETURN y", "CALL db . labels()", "CALL `db`.`labels`()",
    ],
)  # fmt: skip
def test_procedures_known_to_read_pass(query: str) -> None:
    assert approve(query).cypher == query


# Harmless look-alikes: nothing here may be refused or changed


@pytest.mark.parametrize("query", TRAPS)
@pytest.mark.parametrize("version", [None, V416, V422])
def test_harmless_look_alikes_pass_unchanged(query: str, version: int | None) -> None:
    approved = approve(query, engine_version=version)
    assert approved.cypher == query
    assert approved.rewrites == ()


def test_there_are_enough_of_them() -> None:
    assert len(set(TRAPS)) >= 100


def test_every_gold_query_passes_unchanged() -> None:
    if not GOLD.exists():
        pytest.skip(f"needs {GOLD.name} of the text2cypher data beside the project")
    for line in GOLD.read_text(encoding="utf-8").splitlines():
        query = json.loads(line)["gold_cypher"]
        approved = approve(query)
        assert approved.cypher == query.strip()
        assert approved.rewrites == ()


# Bounds

DEEP = ["(" * 11 + "1" + ")" * 11, "[" * 11 + "1" + "]" * 11, "{a: " * 11 + "1" + "}" * 11, "NOT " * 11 + "true", "-" * 11 + "1",
        "CASE WHEN " * 11 + "true" + " THEN 1 END" * 11, "abs(" * 11 + "1" + ")" * 11, "(NOT [" * 4 + "1" + "])" * 4,
        "- - - - - - - - - - - 1", "[x IN " * 11 + "[]" + " | 1]" * 11, "+ " * 11 + "1"]  # fmt: skip


@pytest.mark.parametrize("expression", DEEP)
def test_nesting_over_ten_is_refused(expression: str) -> None:
    assert "more than 10 deep" in refusal(f"RETURN {expression}").message


@pytest.mark.parametrize(
    "expression", ["(" * 10 + "1" + ")" * 10, "NOT " * 10 + "true", "-" * 10 + "1", "[" * 10 + "]" * 10]
)
def test_nesting_of_ten_passes(expression: str) -> None:
    assert approve(f"RETURN {expression} AS x").cypher


def test_wide_and_deep_together_are_bounded() -> None:
    item = "[" * 9 + "1" + "]" * 9
    assert "seconds to parse" in refusal(f"RETURN [{','.join([item] * 300)}]").message
    assert "seconds to parse" in refusal("RETURN " + "all(x IN " * 9 + "[1]" + " WHERE true)" * 9).message


@pytest.mark.parametrize(
    "text",
    ["MATCH (n)" + "-->()" * 101 + " RETURN 1", "MATCH " + ", ".join(f"(a{i})" for i in range(200)) + " RETURN 1",
     "MATCH (n) WHERE " + " AND ".join(["(n)-->()"] * 101) + " RETURN n"],
)  # fmt: skip
def test_more_than_a_hundred_relationships_are_refused(text: str) -> None:
    assert "more than 100 relationships" in refusal(text).message


def test_a_long_list_of_values_passes() -> None:
    numbers = ", ".join(str(i) for i in range(3000))
    assert approve(f"MATCH (n) WHERE n.x IN [{numbers}] RETURN n").cypher


def test_length_nul_and_surrogates() -> None:
    assert "20,000" in refusal("RETURN '" + "a" * LENGTH_LIMIT + "'").message
    assert (refusal("RETURN '\0'").position, refusal("RETURN '\ud800'").position) == (8, 8)


def test_the_guard_takes_linear_time_on_hostile_text() -> None:
    for text in ("(" * 19_000, "CASE " * 3_900, "'" * 19_999, "/*" * 9_000, "MATCH (n) RETURN " + "n." * 9_000 + "x", "$" * 19_000,
                 "RETURN " + "1+" * 9_000 + "1", "RETURN 1" + " AS x, 1" * 2_000, "RETURN " + "NOT " * 4_900, "-" * 19_900,
                 "RETURN [" + "1," * 5_900 + "1]", "MATCH (n) WHERE " + "n.x IN [1] AND " * 1_300 + "true RETURN n"):  # fmt: skip
        began = time.monotonic()
        with contextlib.suppress(QueryRefused):
            approve(text, extract=False)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "call",
    ["range(1, 100001)", "range(1, 300000000)", "range(1, 3e8)", "range(0, 0x7fffffff)", "range(1, 1000 * 1000)", "range(-200000, 0)",
     "range(100000, -1, -1)", "range(0, 2 ^ 30)", "range(1, (10 + 90) * 5000)", "range(1, 1000000, 2)", "range(1, -(-200000))",
     "range(toInteger('1'), 5)", "range(1, toInteger(200000))", "range(1, 1e400)", "range(1, 9223372036854775807)", "range(1, 100000 + size([]) + 1)"],
)  # fmt: skip
def test_long_ranges_are_refused(call: str) -> None:
    refused = refusal(f"UNWIND {call} AS i RETURN i")
    assert "range()" in refused.message
    assert refused.word == "range"


@pytest.mark.parametrize(
    "call",
    ["range(1, 100000)", "range(0, 1000000, 100)", "range(10, 1, -1)", "range(-5, 5)", "range(1, 10 * 10)", "range(0, size($l) - 1)",
     "range(0, length($p))", "range(1, 7 / 2)", "range(1, 7 % 4)", "range(0, 10 - 3)", "range(1, 5, 0)", "RANGE(1, 3)"],
)  # fmt: skip
def test_bounded_ranges_pass(call: str) -> None:
    assert call in approve(f"UNWIND {call} AS i RETURN i").cypher


def test_ranges_over_names_are_followed_to_their_values() -> None:
    assert approve("MATCH (n) WITH n, size(n.l) AS k UNWIND range(0, k - 1) AS i RETURN n.l[i]").cypher
    assert approve("UNWIND range(1, 10) AS i UNWIND range(i, 10) AS j RETURN i, j").cypher
    assert approve("WITH 5 AS a, 7 AS b UNWIND range(a, b) AS i RETURN i").cypher
    assert approve("RETURN [i IN range(1, 9) | size(range(1, i))] AS l").cypher
    assert approve("UNWIND [10, 20] AS n RETURN size(range(1, n)) AS s").cypher
    assert "300,000,000" in refusal("WITH 300000000 AS n UNWIND range(1, n) AS i RETURN i").message
    assert "cannot be known" in refusal("MATCH (n) UNWIND range(1, n.count) AS i RETURN i").message
    assert "cannot be known" in refusal("WITH {a: 300000000} AS m UNWIND range(1, m.a) AS i RETURN i").message
    assert (
        "cannot be known" in refusal("MATCH (n) WITH max(n.x) AS m UNWIND range(1, m) AS i RETURN i").message
    )
    assert (
        "cannot be known"
        in refusal("WITH 1 AS n MATCH (x) WITH x.y AS n UNWIND range(1, n) AS i RETURN i").message
    )
    assert (
        "cannot be known"
        in refusal("WITH 9 AS n CALL db.labels() YIELD label AS q UNWIND range(1, q) AS i RETURN i").message
    )


def test_ranges_over_parameters_need_their_values() -> None:
    query = "UNWIND range(1, $n) AS i RETURN i"
    assert approve(query, params={"n": 10}).cypher == query
    assert "300,000" in refusal(query, params={"n": 300_000}).message
    assert "cannot be known" in refusal(query).message
    assert "cannot be known" in refusal(query, params={"n": "10"}).message


def test_loops_over_ranges_in_loops_are_bounded() -> None:
    assert (
        "Loops 2 deep"
        in refusal("RETURN [a IN range(1, 50000) | [b IN range(1, 50000) | a * b]] AS l").message
    )
    assert approve("RETURN [a IN range(1, 100) | [b IN range(1, 100) | a * b]] AS l").cypher


# Work and memory within one expression


@pytest.mark.parametrize(
    "query",
    ["RETURN size(reduce(s = 'aa', q IN range(1, 32) | s + s)) AS z", "RETURN reduce(s = [1], q IN range(1, 30) | s + s) AS z",
     "WITH 'a' AS s " + "WITH s + s AS s " * 30 + "RETURN size(s)", "WITH 'a' AS s " + "WITH replace(s, 'a', 'aaaaaaaaaa') AS s " * 8 + "RETURN s",
     "RETURN reduce(s = 'a', q IN range(1, 40) | replace(s, 'a', 'aa')) AS z", "WITH range(1, 100000) AS r RETURN size(" + "+".join(["r"] * 300) + ")",
     "WITH range(1, 100000) AS r RETURN any(x IN r WHERE x IN r AND x = -1) AS z", "WITH range(1, 100000) AS r RETURN size([x IN r | r]) AS z",
     "RETURN size([x IN range(1, 100000) WHERE NOT x IN range(1, x)]) AS z", "RETURN reduce(l = [], x IN range(1, 100000) | l + x) AS z",
     "UNWIND range(1, 50000) AS x RETURN x, range(1, 50000) AS r", "WITH range(1, 100000) AS r WITH r AS q RETURN [x IN q | size(q) + size([y IN q | y])] AS z"],
)  # fmt: skip
def test_lists_and_texts_that_multiply_are_refused(query: str) -> None:
    refusal(query)


@pytest.mark.parametrize(
    "query",
    ["MATCH (n) WITH n, n.a + ' ' + n.b AS name RETURN name", "RETURN reduce(m = 0, q IN $l | CASE WHEN q > m THEN q ELSE m END) AS z",
     "MATCH (n) RETURN reduce(l = [], q IN n.l | CASE WHEN q IN l THEN l ELSE l + q END) AS z", "RETURN reduce(s = $text, c IN ['a', 'b', 'c'] | replace(s, c, '')) AS z",
     "MATCH (n) RETURN reduce(f = [0, 1], q IN $l | [f[1], f[0] + f[1]]) AS z", "WITH 1 AS a, 2 AS b WITH a + b AS c, a AS a RETURN a + c + a AS z",
     "MATCH (n) WITH collect(n) AS ns RETURN [x IN ns | size([y IN ns WHERE y.a = x.a])] AS z", "UNWIND range(1, 1000) AS i WITH collect(i) AS l RETURN [x IN l | x * 2] AS z",
     "MATCH (n) RETURN replace(replace(n.a, ' ', '_'), '\"', '') AS z", "RETURN [i IN range(1, 100000) | i * i] AS z", "MATCH (n) RETURN n.a + n.a + n.a + n.a AS z"],
)  # fmt: skip
def test_what_does_not_multiply_passes(query: str) -> None:
    assert approve(query).cypher == query


# Forms that kill an engine or are answered wrongly

KILLING_REDUCES = [
    "RETURN reduce(s = 0, x IN [1] | s + x) AS x", "RETURN reduce(s = 0, x IN [1] | s + x) + 1 AS x", "WITH 1 AS x RETURN reduce(s = 0, x IN [1] | s + x) AS t",
    "RETURN 1 AS x, reduce(s = 0, x IN [1] | s + x) AS t", "WITH reduce(s = 0, x IN [1] | s + x) AS t RETURN t AS x",
    "MATCH (n) WHERE reduce(s = 0, n IN [1] | s + n) > 1 RETURN n", "RETURN reduce(s = 0, `x` IN [1] | s + x) AS x",
    "UNWIND [reduce(s = 0, x IN [1] | s + x)] AS x RETURN x", "CALL db.labels() YIELD label AS x RETURN reduce(s = 0, x IN [1] | s + x) AS t",
    "RETURN {a: reduce(s = 0, x IN [1] | s + x)} AS x", "RETURN reduce(s = 0, x IN [1] | s + reduce(t = 0, y IN [1] | t + y)) AS y",
    "WITH [1] AS x RETURN reduce(s = 0, x IN x | s + x) AS t", "MATCH (x) RETURN reduce(s = 0, x IN x.l | s + x) AS t",
]  # fmt: skip


@pytest.mark.parametrize("query", KILLING_REDUCES)
def test_reduce_over_a_name_used_elsewhere_is_refused_on_every_version(query: str) -> None:
    for version in (None, V416, V422):
        refused = refusal(query, version)
        assert "Rename the loop variable" in refused.fix


@pytest.mark.parametrize(
    "query",
    [
        "RETURN [x IN [1] | reduce(a = 0, x IN [1] | [x IN [1] | x])] AS r",
        "RETURN all(x IN [1] WHERE reduce(a = 0, x IN [1] | a + x) = 1) AS r",
    ],
)
def test_reduce_in_a_loop_over_the_same_name_is_refused_on_every_version(query: str) -> None:
    for version in (None, V416, V422):
        assert refusal(query, version).word == "x"


@pytest.mark.parametrize(
    "query",
    ["RETURN reduce(s = 0, x IN [1, 2] | s + x) AS s", "RETURN reduce(s = 0, x IN [1] | s + x) AS t, reduce(s = 0, x IN [1] | s + x) AS u",
     "RETURN [x IN [1] | x] AS a, reduce(s = 0, x IN [1] | s + x) AS t", "RETURN reduce(s = 0, x IN [x IN [1] | x * 2] | s + x) AS t",
     "MATCH (n) RETURN n.x AS a, reduce(s = 0, x IN n.l | s + x) AS t"],
)  # fmt: skip
def test_other_reduces_pass(query: str) -> None:
    assert approve(query).cypher == query


def test_nested_pattern_comprehensions_by_version() -> None:
    query = "MATCH (a) RETURN [(a)-->(b) | [(b)-->(c) | c.i]] AS l"
    for version in (None, V416):
        assert "CALL {" in refusal(query, version).fix
    assert approve(query, engine_version=V422).cypher == query
    assert approve(
        "MATCH (a) RETURN [(a)-->(b) | [x IN b.l | x]] AS l, [[(a)-->(b) | b], [(a)<--(b) | b]] AS k"
    ).cypher


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("MATCH (a) RETURN [(a)-->(b) | size((b)-->())] AS l", "inside a pattern comprehension"),
        ("MATCH p = (a)-->(b) RETURN [x IN nodes(p) | size((x)-->())] AS l", "loop variable `x`"),
        ("MATCH p = (a)-->(b) RETURN [x IN nodes(p) | [(x)-->(c) | c.i]] AS l", "loop variable `x`"),
        ("MATCH p = (a)-->(b) WHERE all(x IN nodes(p) WHERE (x)-->()) RETURN p", "loop variable `x`"),
        ("MATCH (n) WHERE (n)-->() XOR n.i = 1 RETURN n", "kills"),
        ("MATCH (n) WHERE n.i = 1 OR (n.i = 2 XOR NOT (n)-->()) RETURN n", "kills"),
        ("MATCH (n) WITH count(n) AS total MATCH (m:M) RETURN toFloat(count(m)) / total AS r", "beside an aggregate"),
        ("MATCH (m) RETURN m.g AS g, m.g + toString(count(m)) AS r", "beside an aggregate"),
        ("MATCH (m) WITH 2 AS k, m RETURN collect(m.t)[0..k] AS r", "beside an aggregate"),
        ("RETURN 1 = 1 = 1 AS x", "chains"),
        ("RETURN 2 ^ 3 ^ 2 AS x", "chains"),
        ("MATCH (n) WHERE n.a = n.b = n.c RETURN n", "chains"),
    ],
)  # fmt: skip
def test_forms_answered_wrongly_by_every_version_are_refused(query: str, part: str) -> None:
    for version in (None, V416, V422):
        assert part in refusal(query, version).message


@pytest.mark.parametrize(
    "query",
    ["MATCH (n) WITH count(n) AS total MATCH (m:M) RETURN total, toFloat(count(m)) / total AS r", "MATCH (m) RETURN count(m) + 1 AS r",
     "MATCH (m) RETURN sum(m.x) / count(m) AS r", "MATCH (m) RETURN [x IN collect(m.t) | x * 2] AS r", "MATCH (m) RETURN m, m.x + count(*) AS r",
     "MATCH (m) RETURN collect(m {.t, .g}) AS r", "MATCH (m) RETURN CASE WHEN count(m) > 2 THEN 'many' ELSE 'few' END AS r",
     "MATCH (n) WHERE true XOR n.i = 1 RETURN n", "MATCH (n) RETURN [x IN n.l | size((n)-->())] AS l", "MATCH (n) WHERE (n.a = 1) = true RETURN n"],
)  # fmt: skip
def test_their_harmless_cousins_pass(query: str) -> None:
    assert approve(query).cypher == query


# Rewrites

REWRITTEN = [
    ("MATCH (n) WHERE n.x != 1 RETURN n", "MATCH (n) WHERE n.x <> 1 RETURN n"),
    ("MATCH (n) WHERE n.x == 1 && n.y = 2 RETURN n", "MATCH (n) WHERE n.x = 1  AND  n.y = 2 RETURN n"),
    ("MATCH (n) WHERE n.x NOT IN [1, 2] RETURN n", "MATCH (n) WHERE NOT n.x IN [1, 2] RETURN n"),
    ("MATCH (n) WHERE n.a = 1 AND n.x not in $l OR n.b = 2 RETURN n", "MATCH (n) WHERE n.a = 1 AND NOT n.x in $l OR n.b = 2 RETURN n"),
    ("MATCH (n) WHERE NOT n.x NOT IN [1] RETURN n", "MATCH (n) WHERE NOT NOT n.x IN [1] RETURN n"),
    ("MATCH (n) WHERE toLower(n.x) NOT IN ['a'] RETURN n", "MATCH (n) WHERE NOT toLower(n.x) IN ['a'] RETURN n"),
    ("MATCH (n) WHERE (n.x NOT CONTAINS 'a') RETURN n", "MATCH (n) WHERE (NOT n.x CONTAINS 'a') RETURN n"),
    ("MATCH (n) WHERE n.x NOT STARTS WITH 'a' RETURN n", "MATCH (n) WHERE NOT n.x STARTS WITH 'a' RETURN n"),
    ("MATCH (n) RETURN CASE WHEN n.x NOT IN [1] THEN 1 END AS y", "MATCH (n) RETURN CASE WHEN NOT n.x IN [1] THEN 1 END AS y"),
    ("MATCH (n) RETURN [y IN n.l WHERE y NOT IN [1] | y] AS l", "MATCH (n) RETURN [y IN n.l WHERE NOT y IN [1] | y] AS l"),
    ("MATCH (n) WHERE lower(n.x) = upper('a') RETURN n", "MATCH (n) WHERE toLower(n.x) = toUpper('a') RETURN n"),
    ("MATCH (n) RETURN elementId(n) AS e", "MATCH (n) RETURN id(n) AS e"),
    ("RETURN datetime() AS d, datetime('2020-01-01T10:00:00Z') AS e", "RETURN localdatetime() AS d, localdatetime('2020-01-01T10:00:00Z') AS e"),
    ("RETURN char_length('a') AS x, length('abc') AS y, length([1]) AS z", "RETURN size('a') AS x, size('abc') AS y, size([1]) AS z"),
    ("RETURN point.distance($a, $b) AS d", "RETURN distance($a, $b) AS d"),
    ("RETURN 'a' || 'b' AS x", "RETURN 'a' + 'b' AS x"),
    ("MATCH (n) WHERE n.x IN ['a'] + ['b'] RETURN n", "MATCH (n) WHERE n.x IN (['a'] + ['b']) RETURN n"),
    ("MATCH (n) WHERE n.a + n.b CONTAINS 'x' RETURN n", "MATCH (n) WHERE (n.a + n.b) CONTAINS 'x' RETURN n"),
    ("MATCH (n) WHERE n.a STARTS WITH 'x' + $p RETURN n", "MATCH (n) WHERE n.a STARTS WITH ('x' + $p) RETURN n"),
    ("MATCH (n) WHERE n.a - n.b IS NOT NULL RETURN n", "MATCH (n) WHERE (n.a - n.b) IS NOT NULL RETURN n"),
    ("MATCH (n) WHERE n.a + 1 NOT IN [1] RETURN n", "MATCH (n) WHERE NOT (n.a + 1) IN [1] RETURN n"),
    ("RETURN -1 IN [-1] AS x", "RETURN (-1) IN [-1] AS x"),
    ("RETURN CASE WHEN true THEN 1 END + 1 IN [2] AS x", "RETURN (CASE WHEN true THEN 1 END + 1) IN [2] AS x"),
    ("MATCH (n) WHERE exists((n)-->()) RETURN n", "MATCH (n) WHERE ((n)-->()) RETURN n"),
    ("MATCH (n) WHERE n.x = 1 AND NOT exists((n)-[:R]->(:M)) RETURN n", "MATCH (n) WHERE n.x = 1 AND NOT ((n)-[:R]->(:M)) RETURN n"),
    ("MATCH (n) RETURN exists((n)-->()) AS x", "MATCH (n) RETURN (size((n)-->()) > 0) AS x"),
    ("MATCH (n) RETURN exists((n)-->())", "MATCH (n) RETURN (size((n)-->()) > 0) AS `exists((n)-->())`"),
    ("MATCH (n) RETURN CASE WHEN (n)-->() THEN 1 ELSE 0 END AS x", "MATCH (n) RETURN CASE WHEN (size((n)-->()) > 0) THEN 1 ELSE 0 END AS x"),
    ("MATCH (n) RETURN NOT (n)-->() AS x", "MATCH (n) RETURN NOT (size((n)-->()) > 0) AS x"),
    ("MATCH (n) WHERE size((n)-->()) > 0 RETURN n", "MATCH (n) WHERE ((n)-->()) RETURN n"),
    ("MATCH (n) WHERE size((n)-->()) = 0 RETURN n", "MATCH (n) WHERE NOT ((n)-->()) RETURN n"),
    ("MATCH (n) WHERE EXISTS { (n)-[:R]->(m:M) } RETURN n", "MATCH (n) WHERE ((n)-[:R]->(:M)) RETURN n"),
    ("MATCH (n) WHERE NOT EXISTS { MATCH (n)-[r:R]->(:M) } RETURN n", "MATCH (n) WHERE NOT ((n)-[:R]->(:M)) RETURN n"),
    ("MATCH (n) WHERE COUNT { (n)-->() } > 0 RETURN n", "MATCH (n) WHERE ((n)-->()) RETURN n"),
    ("MATCH (n) RETURN COUNT { (n)-->() } AS c", "MATCH (n) RETURN size((n)-->()) AS c"),
    ("MATCH (n) RETURN EXISTS { (n)-->(m) WHERE m.i > 1 } AS c", "MATCH (n) RETURN (size([(n)-->(m) WHERE m.i > 1 | 1]) > 0) AS c"),
    ("MATCH (d) CALL (d) { RETURN d.i AS x } RETURN x", "MATCH (d) CALL { WITH d RETURN d.i AS x } RETURN x"),
    ("CALL () { RETURN 1 AS x } RETURN x", "CALL { RETURN 1 AS x } RETURN x"),
    ("MATCH (a)-[:R]->{1,3}(b) RETURN a", "MATCH (a)-[:R*1..3]->(b) RETURN a"),
    ("MATCH (a)-[:R]-{2}(b) RETURN a", "MATCH (a)-[:R*2]-(b) RETURN a"),
    ("MATCH (a)<-[:R]-+(b) RETURN a", "MATCH (a)<-[:R*1..]-(b) RETURN a"),
    ("MATCH (n) WHERE n.x =~ 'a.*' RETURN n",
     "MATCH (n) WHERE CASE WHEN n.x IS NULL THEN NULL ELSE size(string.matchRegEx(n.x, '\\\\A(?:a.*)\\\\z')) > 0 END RETURN n"),
    ("MATCH (n) WHERE n.x IN (1, 2) RETURN n", "MATCH (n) WHERE n.x IN [1, 2] RETURN n"),
    ("MATCH (n) RETURN n.x AS 'the x'", "MATCH (n) RETURN n.x AS `the x`"),
    ("MATCH (n:人) RETURN n.名前 AS 名", "MATCH (n:`人`) RETURN n.`名前` AS `名`"),
    ("MATCH （n：Person） RETURN n．name，n.x；", "MATCH (n:Person) RETURN n.name,n.x"),
    ("ＭＡＴＣＨ (n) RETURN n", "MATCH (n) RETURN n"),
    ("MATCH (n) WHERE n.x = “it’s” RETURN n", "MATCH (n) WHERE n.x = 'it’s' RETURN n"),
    ("MATCH (n) WHERE n.x ≥ 1 RETURN n", "MATCH (n) WHERE n.x >= 1 RETURN n"),
    ("MATCH\u00a0(n)\u3000RETURN\u200b n", "MATCH (n) RETURN  n"),
    ("MATCH (n) RETURN\rn", "MATCH (n) RETURN\nn"),
    ("RETURN 1;", "RETURN 1"),
    ("RETURN 1 ;\n;; // done", "RETURN 1"),
    ("RETURN string./* kills 4.16.3 */join(['a'], '') AS x", "RETURN string. join(['a'], '') AS x"),
    ("MATCH (n) // all of them\nRETURN n", "MATCH (n) \n\nRETURN n"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), REWRITTEN)
def test_rewrites(given: str, wanted: str) -> None:
    assert approve(given).cypher == wanted


@pytest.mark.parametrize(("given", "wanted"), REWRITTEN)
def test_what_was_rewritten_stays(given: str, wanted: str) -> None:
    again = approve(wanted, extract=False)
    assert (again.cypher, again.rewrites) == (wanted, ())


def test_rewrites_are_told_with_their_place() -> None:
    approved = approve("MATCH (n) WHERE n.x NOT IN [1] AND n.y != 2 RETURN lower(n.z)")
    assert approved.rewrites == (
        "`!=` written as `<>` (position 39)",
        "`x NOT IN` written as `NOT x IN` (position 16)",
        "lower() written as toLower() (position 51)",
    )


def test_a_refusals_place_is_that_in_the_query_as_given() -> None:
    query = "MATCH (n:人) /* a comment */ WHERE n.x NOT IN [1] SET n.y = 1"
    assert refusal(query).position == query.index("SET")
    assert refusal(f"Sure:\n```cypher\n{query}\n```").position == query.index("SET")


@pytest.mark.parametrize(
    "query",
    ["MATCH (n) WHERE elementId(n) = '4:abc:1' RETURN n", "RETURN datetime('2020-01-01T10:00:00+02:00') AS d", "RETURN length(x) AS y",
     "MATCH (n) WHERE n.a = n.x NOT IN [1] RETURN n", "MATCH (n) WHERE n.x =~ $p RETURN n", "MATCH (n:A|B) RETURN n",
     "MATCH (n) WHERE EXISTS { (n)-->(m) WHERE m.i > 1 } RETURN n", "MATCH (a)-[r:R]->{1,3}(b) RETURN r"],
)  # fmt: skip
def test_what_is_not_certain_is_left_to_the_engine(query: str) -> None:
    assert approve(query, extract=False).cypher == query


def test_count_star_names_what_416_would_leave_out() -> None:
    query = "MATCH (a)-[:A]->(m)<-[:A]-(b) RETURN b.n, count(*) ORDER BY count(*) DESC"
    wanted = "MATCH (a)-[:A]->(m)<-[:A]-(b) RETURN b.n, count([m]) AS `count(*)` ORDER BY count([m]) DESC"
    assert approve(query, engine_version=V416).cypher == wanted
    assert approve(query, engine_version=V422).cypher == query
    for unchanged in ("MATCH (a)-[:A]->(b) RETURN count(*)", "MATCH (a)-->(m)<--(b) RETURN m.x, count(*)", "MATCH (a)-[r]->(b) RETURN count(r)",
                      "MATCH (a)-[r*]->(b) RETURN count(*)"):  # fmt: skip
        assert approve(unchanged, engine_version=V416).cypher == unchanged


def test_a_query_is_found_in_a_reply_unless_told_otherwise() -> None:
    reply = "Here you are:\n```cypher\nMATCH (n) RETURN n;\n```<|im_end|>"
    assert approve(reply).cypher == "MATCH (n) RETURN n"
    with pytest.raises(QueryRefused):
        approve(reply, extract=False)


# Hints


@pytest.mark.parametrize(
    ("message", "cypher", "part"),
    [
        ("Unknown function 'toUppercase'", "RETURN toUppercase('a')", "toUpper()"),
        ("Unknown function 'apoc.text.join'", "RETURN apoc.text.join(['a'], '')", "string.join()"),
        ("Procedure `db.schema.visualization` is not registered", "CALL db.schema.visualization()", "CALL db.labels()"),
        ("errMsg: Invalid input '|'", "MATCH (n:A|B) RETURN n", "n:A OR n:B"),
        ("errMsg: Invalid input 'W'", "MATCH (n WHERE n.i = 1) RETURN n", "behind the pattern"),
        ("errMsg: Invalid input 'G'", "MATCH (n) RETURN n.i, count(*) GROUP BY n.i", "no GROUP BY"),
        ("errMsg: Invalid input '('", "MATCH (a) RETURN COLLECT { MATCH (a)-->(b) RETURN b }", "collect()"),
        ("errMsg: Invalid input 'K'", "MATCH (n) RETURN n LIMIT 5 SKIP 1", "before LIMIT"),
        ("errMsg: Invalid input 'H'", "MATCH (n) RETURN n.i AS i WHERE i > 1", "RETURN takes no WHERE"),
        ("'n' not defined", "MATCH (n) WITH n.i AS i RETURN n", "add `n`"),
        ("'IN' not defined", "MATCH (n) WHERE n.a = n.i NOT IN [1] RETURN n", "NOT x IN"),
        ("Unable to resolve filtered alias '[(n)-->(b) | b]'", "MATCH (n) WHERE size([(n)-->(b) | b]) > 1 RETURN n", "WITH n, size"),
        ("Query timed out", "MATCH (a), (b), (c) RETURN count(*)", "LIMIT"),
        ("FalkorDB does not currently support =~", "MATCH (n) WHERE n.x =~ $p RETURN n", "CONTAINS"),
    ],
)  # fmt: skip
def test_hints_say_what_to_write(message: str, cypher: str, part: str) -> None:
    hint = hint_for_error(message, cypher)
    assert hint is not None
    assert part in hint


def test_no_hint_where_the_message_says_it_all() -> None:
    assert hint_for_error("Division by zero", "RETURN 1 / 0") is None


def test_function_names_are_unique() -> None:
    names = list(functions())
    assert len(names) == len({name.lower() for name in names})
