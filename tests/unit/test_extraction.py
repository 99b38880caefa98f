"""The query in a model's reply is found, or the reply is sent back; prose is never taken for a query."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.errors import QueryRefused
from graph_agent.store.extraction import extract_query

Q = "MATCH (n:Person) RETURN n.name"

FOUND = [
    (Q, Q),
    (f"\ufeff  {Q}\n", Q),
    (f"```cypher\n{Q}\n```", Q),
    (f"```Cypher\n{Q}\n```", Q),
    (f"```\n{Q}\n```", Q),
    (f"~~~cypher\n{Q}\n~~~", Q),
    (f"```cypher\n{Q}", Q),
    (f"```cypher\n{Q}```", Q),
    (f"```{Q}```", Q),
    (f"```cypher {Q}```", Q),
    (f"  ```cypher\n  {Q}\n  ```", Q),
    (f"Here is the query you asked for:\n\n```cypher\n{Q}\n```\nIt returns all names.", Q),
    (f"Here is the query: {Q}", Q),
    (f"Sure! Here is the Cypher query:\n{Q}", Q),
    (f"Sure! Here is the Cypher query:\n\n{Q}\n\nThis query returns the name of each person.", Q),
    (f"{Q}\n\nExplanation: it matches every person and returns the name.", Q),
    (f"{Q}\nThis returns the names of all people in the graph.", Q),
    (f"Cypher: {Q}", Q),
    (f"Cypher query: {Q}", Q),
    (f"**Cypher:** {Q}", Q),
    (f"Query:\n{Q}", Q),
    (f"cypher\n{Q}", Q),
    (f"You can use `{Q}` for that.", Q),
    (f"{Q}<|im_end|>", Q),
    (f"{Q}<|im_end|>\n<|im_start|>user\nthanks", Q),
    (f"<|im_start|>assistant\n{Q}<|im_end|>", Q),
    (f"{Q}</s>", Q),
    (f"<think>They want names. MATCH (n) DELETE n would be wrong.</think>\n{Q}", Q),
    (f"I think so.</think>{Q}", Q),
    (f"<thinking>hm</thinking>```cypher\n{Q}\n```", Q),
    (json.dumps({"cypher": Q}), Q),
    (json.dumps({"query": Q, "reason": "RETURN the names"}), Q),
    (json.dumps({"name": "graph_query", "arguments": {"cypher": Q}}), Q),
    (f"```json\n{json.dumps({'cypher': Q})}\n```", Q),
    (json.dumps(Q), Q),
    (json.dumps({"cypher": f"```cypher\n{Q}\n```"}), Q),
    ("MATCH (p)-[:ACTED\\_IN]->(m) RETURN m.release\\_date", "MATCH (p)-[:ACTED_IN]->(m) RETURN m.release_date"),
    ("MATCH (p)-\\[:R\\]->(m) RETURN count(\\*)", "MATCH (p)-[:R]->(m) RETURN count(*)"),
    ("MATCH (p)-[:ACTED\\_IN]->(m {name: 'a\\_b'}) RETURN m", "MATCH (p)-[:ACTED_IN]->(m {name: 'a_b'}) RETURN m"),
    ("MATCH (n) WHERE n.x = 'a\\_b' RETURN n", "MATCH (n) WHERE n.x = 'a\\_b' RETURN n"),
    ("MATCH (a)--&gt;(b) WHERE a.x &lt; 3 RETURN b", "MATCH (a)-->(b) WHERE a.x < 3 RETURN b"),
    ("MATCH (n) WHERE n.name = &quot;x&quot; RETURN n", 'MATCH (n) WHERE n.name = "x" RETURN n'),
    ("MATCH (n) WHERE n.name = &#39;x&#39; RETURN n", "MATCH (n) WHERE n.name = 'x' RETURN n"),
    ("MATCH (n) WHERE n.html = 'a &gt; b' RETURN n", "MATCH (n) WHERE n.html = 'a &gt; b' RETURN n"),
    ("MATCH (n) WHERE n.`has MD5 hash` = 'x' RETURN n", "MATCH (n) WHERE n.`has MD5 hash` = 'x' RETURN n"),
    ("MATCH (n:人) RETURN n.名前", "MATCH (n:人) RETURN n.名前"),
    (f"```cypher\n{Q}\n```\nor, the same again:\n```cypher\n{Q}\n```", Q),
    (f"First look at the labels:\n```python\nprint(1)\n```\nthen\n```cypher\n{Q}\n```", Q),
    (f"```text\nsome output\n```\n\n```cypher\n{Q}\n```", Q),
    ("MATCH (n)\n\nWHERE n.x = 1\n\nRETURN n", "MATCH (n)\n\nWHERE n.x = 1\n\nRETURN n"),
    ("MATCH (n) RETURN n.name,\n  n.age", "MATCH (n) RETURN n.name,\n  n.age"),
    ("MATCH (n) RETURN n.name AS name\nORDER BY name\nLIMIT 3", "MATCH (n) RETURN n.name AS name\nORDER BY name\nLIMIT 3"),
    ("// the names\nMATCH (n) RETURN n", "// the names\nMATCH (n) RETURN n"),
    ("match (n) return n", "match (n) return n"),
    ("with 1 as x return x", "with 1 as x return x"),
    ("return 1", "return 1"),
    ("call db.labels()", "call db.labels()"),
    ("unwind $names as name return name", "unwind $names as name return name"),
    ("match p = (a)-->(b) return p", "match p = (a)-->(b) return p"),
    ("RETURN 'Cypher: MATCH' AS x", "RETURN 'Cypher: MATCH' AS x"),
    ("neo4j> MATCH (n) RETURN n", "MATCH (n) RETURN n"),
    ("MATCH (n) RETURN n;", "MATCH (n) RETURN n;"),
]  # fmt: skip

PROSE = [
    "", "   ", "```cypher\n```", "Hello!", "I cannot answer that with a query.", "Return the names of all movies.",
    "Match the people who acted in more than three movies, and return them.", "With kind regards, your assistant",
    "Call me when the data is there.", "The labels are Person and Movie.", "Create a node for each of them first.",
    "Set the limit lower and try again.", "Delete nothing, please.", "Use the tool get_node_labels first, then MATCH.",
    "<think>MATCH (n) RETURN n", "{\"answer\": \"none\"}", "[1, 2, 3]", "Show me the money", "42", "MATCH", "return",
    "Optional courses are listed below.", "Union members pay less.", "Remove the word and call again.",
    "```python\nprint('MATCH')\n```", "Unwind and relax on the beach.", "Merge sort is a sorting algorithm.",
    "Load the file first, then ask again.", "Drop me a line.", "Start with the overview.",
]  # fmt: skip


@pytest.mark.parametrize(("reply", "query"), FOUND)
def test_the_query_is_found(reply: str, query: str) -> None:
    assert extract_query(reply) == query


@pytest.mark.parametrize("reply", PROSE)
def test_prose_is_sent_back(reply: str) -> None:
    with pytest.raises(QueryRefused, match=r"no Cypher query|no query"):
        extract_query(reply)


def test_two_queries_that_differ_are_sent_back() -> None:
    reply = f"```cypher\n{Q}\n```\nor\n```cypher\nMATCH (n) RETURN count(n)\n```"
    with pytest.raises(QueryRefused, match="2 different queries") as caught:
        extract_query(reply)
    assert "one query" in caught.value.fix


def test_a_block_tagged_cypher_wins_over_an_untagged_one() -> None:
    reply = f"```\nMATCH (x) RETURN x\n```\n```cypher\n{Q}\n```"
    assert extract_query(reply) == Q


def test_a_reply_of_megabytes_is_refused_at_once() -> None:
    with pytest.raises(QueryRefused, match="200,000"):
        extract_query("MATCH (n) " * 100_000)


@pytest.mark.parametrize(
    "reply", ["MATCH (n)\nRETRUN n", "MATCH (n) RETURN n\nODER BY n.x", "MATCH (n) RETURN n\nLIMT 3"]
)
def test_a_misspelt_clause_is_kept_so_that_the_engine_points_at_it(reply: str) -> None:
    assert extract_query(reply) == reply


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_a_query_or_a_refusal(text: str) -> None:
    with contextlib.suppress(QueryRefused):
        assert extract_query(text).strip()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["the", "names", "of", "return", "match", "all", "movies", "with", "call", "a", "set", "people",
                                 "create", "and", "where", "order", "by", "then"]), min_size=4, max_size=12))  # fmt: skip
def test_plain_words_are_no_query(words: list[str]) -> None:
    sentence = " ".join(words).capitalize() + "."
    try:
        query = extract_query(sentence)
    except QueryRefused:
        return
    pytest.fail(f"prose taken for a query: {query!r}")
