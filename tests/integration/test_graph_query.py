"""graph_query: read-only always, bounded, told what to write instead, on any graph."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent.errors import BadArgument, EngineUnavailable, QueryError, QueryRefused, QueryTimeout
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, ToolResult, call_tool
from graph_agent.tools.bounds import output_tokens

SOAK = bool(os.environ.get("GRAPH_AGENT_SOAK"))
EXAMPLES = int(os.environ.get("GRAPH_AGENT_FUZZ", "10000" if SOAK else "300"))


def ask(context: ToolContext, cypher: str, params: dict[str, Any] | None = None) -> ToolResult:
    return call_tool(context, "graph_query", {"cypher": cypher, "params": params})


def size(graph: DocumentGraph) -> list[Any]:
    return graph.read("MATCH (n) RETURN count(n), sum(size(keys(n))), sum(size(labels(n)))").rows


@pytest.fixture
def people(empty_graph: DocumentGraph) -> ToolContext:
    empty_graph.write(
        "UNWIND range(1, 40) AS i CREATE (p:Person {name: 'Person ' + toString(i), born: 1950 + i, email: 'p' + toString(i)})"
    )
    empty_graph.write(
        "MATCH (a:Person {born: 1951}), (b:Person {born: 1952}) CREATE (a)-[:TRANSFER {amount: 5}]->(b)"
    )
    empty_graph.write(
        "CREATE (:Company {name: 'Acme Ltd', city: 'Oslo'}), (:Merge {delete: 1}), (:`has MD5 hash` {v: 1}), (:`线索` {v: 2})"
    )
    return ToolContext(empty_graph)


# What comes back


def test_rows_are_keyed_by_the_aliases_in_the_order_of_return(people: ToolContext) -> None:
    result = ask(
        people, "MATCH (p:Person) RETURN p.name AS name, p.born, p.born + 1 AS next ORDER BY p.born LIMIT 2"
    )
    assert result.artifact["columns"] == ["name", "p.born", "next"]
    assert result.artifact["rows"][0] == {"name": "Person 1", "p.born": 1951, "next": 1952}
    assert {key: result.artifact[key] for key in ("truncated", "total", "hint", "rewritten")} == {
        "truncated": False, "total": 2, "hint": None, "rewritten": []
    }  # fmt: skip
    assert result.content == "name | p.born | next\nPerson 1 | 1951 | 1952\nPerson 2 | 1952 | 1953\n(2 rows)"
    json.dumps(result.artifact)


def test_nodes_relationships_and_paths_are_plain_data(people: ToolContext) -> None:
    row = ask(people, "MATCH p = (a)-[t:TRANSFER]->(b) RETURN a, t, b, p").artifact["rows"][0]
    assert row["a"]["labels"] == ["Person"]
    assert row["a"]["properties"]["name"] == "Person 1"
    assert (row["t"]["type"], row["t"]["properties"]) == ("TRANSFER", {"amount": 5})
    assert (row["t"]["source"], row["t"]["target"]) == (row["a"]["id"], row["b"]["id"])
    assert [node["id"] for node in row["p"]["nodes"]] == [row["a"]["id"], row["b"]["id"]]


def test_parameters_are_passed(people: ToolContext) -> None:
    rows = ask(
        people,
        "MATCH (p:Person) WHERE p.born IN $years RETURN p.name ORDER BY p.name",
        {"years": [1951, 1952]},
    ).artifact["rows"]
    assert [row["p.name"] for row in rows] == ["Person 1", "Person 2"]
    hostile = "'}) DETACH DELETE n //"
    assert ask(people, "RETURN $x AS x", {"x": hostile}).artifact["rows"] == [{"x": hostile}]
    with pytest.raises(BadArgument, match="NUL"):
        ask(people, "RETURN $x", {"x": "a\x00b"})
    with pytest.raises(QueryError, match=r"[Pp]arameter"):
        ask(people, "RETURN $missing")


def test_rows_are_capped_columns_kept_vectors_gone_and_the_total_known(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "UNWIND range(1, 10000) AS i CREATE (:Chunk {i: i, text: 'text ' + toString(i), embedding: vecf32($v), tiny: vecf32([1.0, 2.0])})",
        {"v": [0.5] * 64},
    )
    result = ask(
        ToolContext(empty_graph), "MATCH (c:Chunk) RETURN c, c.i AS i, c.embedding AS e ORDER BY c.i"
    )
    artifact = result.artifact
    assert len(artifact["rows"]) == 200
    assert artifact["truncated"] is True
    assert artifact["total"] == 10_000
    assert artifact["columns"] == ["c", "i", "e"]
    assert artifact["rows"][199]["i"] == 200
    assert set(artifact["rows"][0]["c"]["properties"]) == {"i", "text"}
    assert artifact["rows"][0]["e"] is None
    assert "of 10000, more exist" in result.content
    assert output_tokens(result.content) <= 6_000


def test_a_limit_in_the_query_is_kept_and_counted(people: ToolContext) -> None:
    assert len(ask(people, "MATCH (p:Person) RETURN p.name LIMIT 7").artifact["rows"]) == 7
    many = ask(people, "UNWIND range(1, 900) AS i RETURN i LIMIT 500").artifact
    assert (len(many["rows"]), many["truncated"], many["total"]) == (200, True, 500)
    union = ask(
        people, "UNWIND range(1, 300) AS i RETURN i UNION ALL UNWIND range(1, 300) AS i RETURN i"
    ).artifact
    assert (len(union["rows"]), union["truncated"], union["total"]) == (200, True, 600)
    exact = ask(people, "UNWIND range(1, 200) AS i RETURN i").artifact
    assert (len(exact["rows"]), exact["truncated"], exact["total"]) == (200, False, 200)


def test_a_grouped_count_over_40_groups_loses_none(people: ToolContext) -> None:
    artifact = ask(people, "MATCH (p:Person) RETURN p.born AS born, count(*) AS n").artifact
    assert len(artifact["rows"]) == 40
    assert artifact["truncated"] is False


def test_nothing_found_is_said(people: ToolContext) -> None:
    result = ask(people, "MATCH (p:Person) WHERE p.born > 3000 RETURN p")
    assert result.content.startswith("No rows found")
    assert result.artifact["rows"] == []
    assert result.artifact["total"] == 0


# What models write


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Person) RETURN count(p) AS n;",
        "```cypher\nMATCH (p:Person) RETURN count(p) AS n\n```",
        "Sure! To count people, run this:\n\n```\nMATCH (p:Person)\nRETURN count(p) AS n;\n```\nIt matches every person.",
        "MATCH (p:Person) RETURN count(p) AS n<|im_end|>",
        "Cypher: MATCH (p:Person) RETURN count(p) AS n",
        "MATCH (p:Person) // all of them\nRETURN /* how many */ count(p) AS n",
    ],
)
def test_the_query_is_taken_out_of_what_models_write(people: ToolContext, text: str) -> None:
    assert ask(people, text).artifact["rows"] == [{"n": 40}]


def test_escaped_underscores_backticked_names_and_other_scripts_run(
    people: ToolContext, movies: ToolContext
) -> None:
    assert ask(movies, "MATCH (p:Person)-[:ACTED\\_IN]->(m) RETURN count(m) AS n").artifact["rows"] == [
        {"n": 172}
    ]
    assert ask(people, "MATCH (n:`has MD5 hash`) RETURN n.v AS v").artifact["rows"] == [{"v": 1}]
    assert ask(people, "MATCH (n:线索) RETURN n.v AS v").artifact["rows"] == [{"v": 2}]


def test_prose_is_never_run(people: ToolContext) -> None:
    before = size(people.graph)
    for text in (
        "I would match the people and delete them.",
        "MATCHING people is easy: create a list.",
        "Sorry, I cannot.",
    ):
        with pytest.raises(QueryRefused):
            ask(people, text)
    assert size(people.graph) == before


def test_two_fenced_queries_run_one_or_are_sent_back(people: ToolContext) -> None:
    text = "First:\n```cypher\nMATCH (p:Person) RETURN count(p) AS n\n```\nOr:\n```cypher\nMATCH (c:Company) RETURN count(c) AS n\n```"
    try:
        rows = ask(people, text).artifact["rows"]
    except QueryRefused:
        return
    assert rows in ([{"n": 40}], [{"n": 1}])


def test_a_certain_rewrite_is_made_and_told(people: ToolContext) -> None:
    result = ask(
        people, "MATCH (p:Person) WHERE p.born != 1951 AND p.name NOT IN ['Person 2'] RETURN count(p) AS n"
    )
    assert result.artifact["rows"] == [{"n": 38}]
    assert len(result.artifact["rewritten"]) == 2
    assert "`!=` written as `<>`" in result.content


# What is refused

WRITES = [
    "CREATE (:X)", "MERGE (:Person {name: 'new'})", "MATCH (n) SET n.x = 1", "MATCH (n) SET n:Y", "MATCH (n) DETACH DELETE n",
    "MATCH (n:Merge) DELETE n", "MATCH (n:Person) REMOVE n.name", "MATCH (n) FOREACH (i IN [1] | SET n.x = i)",
    "MATCH (n:Person) WITH n LIMIT 1 CALL { WITH n CREATE (:X) } RETURN 1", "CREATE INDEX FOR (p:Person) ON (p.name)",
    "DROP INDEX ON :Person(name)", "CREATE VECTOR INDEX FOR (p:Person) ON (p.v) OPTIONS {dimension: 2, similarityFunction: 'cosine'}",
    "CALL db.idx.fulltext.createNodeIndex('Person', 'name')", "CALL db.idx.fulltext.drop('Person')",
    "GRAPH.CONSTRAINT CREATE g UNIQUE NODE Person PROPERTIES 1 name", "ＣＲＥＡＴＥ (:X)", "CRE/**/ATE (:X)", "MATCH (n) SET/* */n.x = 1",
    "MATCH (n) RETURN n; CREATE (:X)", "cReAtE (:X)", "MATCH (n) WITH n CREATE (:X) RETURN n", "CYPHER x=1 CREATE (:X)",
    "OPTIONAL MATCH (n:Nope) MERGE (:X)", "UNWIND [1] AS i CREATE (:X {i: i})", "EXPLAIN CREATE (:X)", "PROFILE MATCH (n) DELETE n",
]  # fmt: skip


@pytest.mark.parametrize("cypher", WRITES)
def test_writes_are_refused_and_nothing_changes(people: ToolContext, cypher: str) -> None:
    before = size(people.graph)
    with pytest.raises((QueryRefused, QueryError)):
        ask(people, cypher)
    assert size(people.graph) == before


@pytest.mark.parametrize("cypher", WRITES)
def test_the_second_layer_refuses_them_without_the_guard(people: ToolContext, cypher: str) -> None:
    before = size(people.graph)
    with pytest.raises(QueryError):
        people.graph.read(cypher)
    assert size(people.graph) == before


@pytest.mark.parametrize("source", ["'https://127.0.0.1:{port}/x.csv'", "'file://x.csv'"])
@pytest.mark.parametrize(
    "head", ["LOAD CSV FROM", "LOAD CSV WITH HEADERS FROM", "load  csv from", "LOAD/**/CSV FROM"]
)
def test_load_csv_is_refused_and_nobody_is_called(people: ToolContext, head: str, source: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        with pytest.raises(QueryRefused):
            ask(people, f"{head} {source.format(port=port)} AS row RETURN row")
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize(
    "cypher",
    [
        "MATCH (n) RETURN 1; MATCH (m) RETURN 2",
        "EXPLAIN MATCH (n) RETURN n",
        "PROFILE MATCH (n) RETURN n",
        "CALL algo.unheardOf() YIELD node RETURN node",
        "CALL db.idx.vector.createNodeIndex('A', 'b', 2, 'cosine')",
        "RETURN " + "(" * 16 + "1" + ")" * 16,
        "RETURN " + "[" * 16 + "1" + "]" * 16,
        "RETURN " + "NOT " * 16 + "true",
        "RETURN size(range(1, 300000000))",
        "UNWIND range(1, 3e8) AS i RETURN count(i)",
    ],
)
def test_what_could_hang_or_mislead_is_refused_before_the_engine_sees_it(
    people: ToolContext, cypher: str
) -> None:
    began = time.monotonic()
    with pytest.raises(QueryRefused):
        ask(people, cypher)
    assert time.monotonic() - began < 1.0


def test_forms_that_this_engine_answers_wrongly_or_dies_of_never_reach_it(people: ToolContext) -> None:
    version = people.graph.engine.version
    reduce_alias = "RETURN reduce(s = 0, x IN [1, 2, 3] | s + x) AS x"
    nested = "MATCH (a:Person) RETURN [(a)-[:TRANSFER]->(b) | [(b)-[:TRANSFER]->(c) | c.name]] AS l"
    with pytest.raises(QueryRefused, match="Rename"):
        ask(people, reduce_alias)
    if version == 41603:
        with pytest.raises(QueryRefused, match="CALL"):
            ask(people, nested)
    assert ask(people, "RETURN 1 AS one").artifact["rows"] == [{"one": 1}]


@pytest.mark.parametrize(
    ("cypher", "rows"),
    [
        ("RETURN 'Create // a map; SET x' AS text", [{"text": "Create // a map; SET x"}]),
        ("MATCH (n:Merge) RETURN n.delete AS d", [{"d": 1}]),
        ("RETURN 'merge sort' AS merge", [{"merge": "merge sort"}]),
        ("MATCH (n:Company) /* DELETE n */ RETURN n.city AS `set` // CREATE", [{"set": "Oslo"}]),
        ("WITH {create: 1, load: 2} AS csv RETURN csv.create + csv.load AS sum", [{"sum": 3}]),
    ],
)
def test_words_in_strings_comments_names_and_maps_refuse_nothing(
    people: ToolContext, cypher: str, rows: list[Any]
) -> None:
    assert ask(people, cypher).artifact["rows"] == rows


def test_a_refusal_names_word_position_and_what_to_write(people: ToolContext) -> None:
    with pytest.raises(QueryRefused) as raised:
        ask(people, "MATCH (n) SET n.x = 1")
    assert raised.value.word == "SET"
    assert raised.value.position == 10
    assert "SET" in str(raised.value)
    assert raised.value.fix


# Errors, time, hints


def test_an_error_of_the_engine_comes_with_what_to_write_instead(people: ToolContext) -> None:
    with pytest.raises(QueryError) as raised:
        ask(people, "MATCH (p:Person) RETURN apoc.text.join([p.name], ',')")
    assert "apoc" in str(raised.value)
    assert raised.value.fix


def test_a_slow_query_is_stopped_while_others_are_answered(people: ToolContext) -> None:
    settings = people.settings.model_copy(update={"query_timeout_ms": 1_500})
    slow = ToolContext(people.graph, settings=settings)
    failures: list[Exception] = []

    def run() -> None:
        try:
            ask(
                slow,
                "MATCH (a), (b), (c), (d), (e) WHERE a.born + b.born + c.born + d.born + e.born < 0 RETURN count(*)",
            )
        except QueryTimeout as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    began = time.monotonic()
    thread.start()
    time.sleep(0.2)
    assert ask(people, "MATCH (c:Company) RETURN c.name AS n").artifact["rows"] == [{"n": "Acme Ltd"}]
    assert thread.is_alive()
    thread.join(20)
    assert time.monotonic() - began < 10
    assert "stopped after 1.5 s" in str(failures[0])
    assert ask(people, "RETURN 1 AS one").artifact["rows"] == [{"one": 1}]


@pytest.mark.parametrize(
    ("cypher", "parts"),
    [
        ("MATCH (p:Persn) RETURN p", [":Persn", "near: Person"]),
        ("MATCH (p:person) RETURN p", [":person", "near: Person"]),
        ("MATCH (p:Person)-[:TRANSFERS]->(q) RETURN q", [":TRANSFERS", "near: TRANSFER"]),
        ("MATCH (p:Person) RETURN p.fullName", ["fullName", "near: name"]),
        ("MATCH (p:Person) WHERE p.birthYear > 1960 RETURN p.name", ["birthYear", "it has: born"]),
        ("MATCH (c:Company) RETURN c.born", [":Company has the property born"]),
        ("MATCH (n) RETURN n.emial LIMIT 1", ["Nothing in the graph has the property emial", "near: email"]),
        (
            "MATCH (p:Person)-[t:TRANSFER]->() RETURN t.amout",
            [":TRANSFER has the property amout", "near: amount"],
        ),
        ("MATCH (c:Company {name: 'acme ltd'}) RETURN c", ["'acme ltd'", "near: 'Acme Ltd'"]),
        ("MATCH (c:Company) WHERE c.name = 'Acme' RETURN count(c)", ["near: 'Acme Ltd'"]),
        (
            "MATCH (c:Company) WHERE c.name CONTAINS 'acme' RETURN c",
            ["name CONTAINS 'acme' (near: 'Acme Ltd')"],
        ),
        ("MATCH (p:Person) WHERE p.name = 'Persom 7' RETURN p", ["'Persom 7'", "Person 7"]),
        (
            "MATCH (p:Person)<-[:TRANSFER]-(c:Company) RETURN c",
            ["(:Company)-[:TRANSFER]->(:Person) is not in the graph"],
        ),
    ],
)
def test_names_and_values_that_are_not_there_get_near_ones(
    people: ToolContext, cypher: str, parts: list[str]
) -> None:
    result = ask(people, cypher)
    for part in parts:
        assert part in (result.artifact["hint"] or ""), result.artifact["hint"]
        assert part in result.content


def test_an_unknown_property_gives_the_rows_as_well(people: ToolContext) -> None:
    artifact = ask(
        people, "MATCH (p:Person) RETURN p.name AS name, p.fullName AS full ORDER BY p.born LIMIT 1"
    ).artifact
    assert artifact["rows"] == [{"name": "Person 1", "full": None}]
    assert artifact["hint"]


def test_a_relationship_asked_against_its_arrow_is_told(movies: ToolContext) -> None:
    result = ask(movies, "MATCH (m:Movie)-[:DIRECTED]->(p:Person) RETURN p")
    assert "it is stored the other way: (:Person)-[:DIRECTED]->(:Movie)" in result.artifact["hint"]


@pytest.mark.parametrize(
    "cypher",
    [
        "MATCH (p:Person)-[t:TRANSFER]->(q:Person) RETURN p.name, t.amount, q.born",
        "MATCH (p:Person) WHERE p.born > 3000 RETURN p",
        "MATCH (p:Person) WHERE p.name = 'Person 7' AND p.born = 1 RETURN p",
        "MATCH (c:Company) WHERE c.name CONTAINS 'Acme' AND c.city = 'Oslo' AND 1 = 2 RETURN c",
        "UNWIND [{a: 1}] AS m RETURN m.a AS x",
        "CALL db.labels() YIELD label RETURN label ORDER BY label",
    ],
)
def test_what_is_right_gets_no_hint(people: ToolContext, cypher: str) -> None:
    assert ask(people, cypher).artifact["hint"] is None


def test_direction_is_reported_as_stored(people: ToolContext) -> None:
    payer = ask(people, "MATCH (a)-[:TRANSFER]->(b {name: 'Person 2'}) RETURN a.name AS payer").artifact[
        "rows"
    ]
    assert payer == [{"payer": "Person 1"}]


def test_an_engine_that_was_killed_is_up_again_or_said_to_be_down(tmp_path: Any) -> None:
    with DocumentGraph.open(load_settings(data=tmp_path, falkordb_url="")) as graph:
        graph.write("UNWIND range(1, 7) AS i CREATE (:N {i: i})")
        time.sleep(1.2)  # everysec: what was acknowledged is on disk
        context = ToolContext(graph)
        assert graph.connection.lease is not None
        process = graph.connection.lease.process_id()
        assert process is not None
        os.kill(process, signal.SIGKILL)
        try:
            rows = ask(context, "MATCH (n:N) RETURN count(n) AS n").artifact["rows"]
        except EngineUnavailable:
            return
        assert rows == [{"n": 7}]


# Generated queries

NAMES = st.sampled_from(["n", "m", "merge", "delete", "set", "`a b`"])
LABELS = st.sampled_from(["", ":Person", ":Company", ":Merge", ":`has MD5 hash`", ":Nope"])
VALUES = st.sampled_from(
    [
        "1",
        "'CREATE (:X)'",
        '"SET // x"',
        "[1, 2]",
        "{create: 1}",
        "null",
        "n.born",
        "$p",
        "toLower('DELETE')",
        "size([1])",
    ]
)
CONDITIONS = st.sampled_from(
    [
        "n.born > 1960",
        "n.name CONTAINS 'DROP'",
        "NOT n.born IS NULL",
        "n:Person",
        "n.delete = 1",
        "n.name IN ['MERGE']",
    ]
)
READS = st.one_of(
    st.tuples(LABELS, CONDITIONS, VALUES).map(lambda part: f"MATCH (n{part[0]}) WHERE {part[1]} RETURN n, {part[2]} AS v LIMIT 5"),
    st.tuples(LABELS, LABELS).map(lambda part: f"MATCH (n{part[0]})-[r]->(m{part[1]}) RETURN type(r) AS t, count(*) AS c ORDER BY c DESC"),
    VALUES.filter(lambda value: "n." not in value).map(lambda value: f"WITH {value} AS x RETURN x /* CREATE */"),
    st.tuples(LABELS, NAMES).map(lambda part: f"MATCH (n{part[0]}) WITH n.born AS {part[1]} RETURN max({part[1]}) AS top // SET n.x = 1"),
    LABELS.map(lambda label: f"CALL {{ MATCH (n{label}) RETURN count(n) AS c }} RETURN c"),
    LABELS.map(lambda label: f"MATCH (n{label}) OPTIONAL MATCH (n)-->(m) RETURN n.name, collect(m.name) AS names LIMIT 3"),
)  # fmt: skip
WRITING = st.sampled_from(
    ["CREATE (:X)", "MERGE (:X {a: 1})", "SET n.x = 1", "DELETE n", "DETACH DELETE n", "REMOVE n.name", "FOREACH (i IN [1] | CREATE (:X))",
     "CALL { CREATE (:X) RETURN 1 AS z }", "SET n += {a: 1}", "SET n:X", "CREATE (n)-[:R]->(:X)", "CALL db.idx.fulltext.drop('Person')"]
)  # fmt: skip
CASES = st.sampled_from([str, str.lower, str.upper, str.title])
GAPS = st.sampled_from([" ", "\n", "\t", " /* x */ ", " // x\n"])


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """A query that writes somewhere."""
    clause = draw(WRITING)
    words = clause.split(" ")
    clause = draw(GAPS).join([draw(CASES)(words[0]), *words[1:]])
    head = draw(
        st.sampled_from(
            [
                "MATCH (n:Person)",
                "MATCH (n) WITH n LIMIT 1",
                "UNWIND [1] AS i MATCH (n:Company)",
                "OPTIONAL MATCH (n)",
            ]
        )
    )
    tail = draw(st.sampled_from(["", " RETURN 1", " WITH 1 AS one RETURN one", " RETURN 'MATCH'"]))
    return draw(
        st.sampled_from(["{h} {c}{t}", "{c}", "MATCH (q) RETURN q; {c}", "```cypher\n{h} {c}{t}\n```"])
    ).format(h=head, c=clause, t=tail)


@pytest.fixture(scope="module")
def arena(engine: DocumentGraph) -> ToolContext:
    graph = engine.select("arena")
    graph.drop()
    graph.write(
        "UNWIND range(1, 20) AS i CREATE (:Person {name: 'P' + toString(i), born: 1950 + i})-[:KNOWS]->(:Company {name: 'C'})"
    )
    graph.write("CREATE (:Merge {delete: 1}), (:`has MD5 hash`)")
    return ToolContext(graph)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cypher=hostile())
def test_no_generated_write_changes_the_graph(arena: ToolContext, cypher: str) -> None:
    before = size(arena.graph)
    with pytest.raises(QueryError):
        ask(arena, cypher, {"p": 1})
    assert size(arena.graph) == before


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cypher=READS)
def test_no_generated_reading_query_is_refused(arena: ToolContext, cypher: str) -> None:
    before = size(arena.graph)
    result = ask(arena, cypher, {"p": 1})
    assert result.artifact["columns"]
    assert size(arena.graph) == before
