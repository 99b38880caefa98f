"""Which sort of question it is; a question that no rule knows is a fact question."""

from __future__ import annotations

import re

import pytest

from graph_agent.agent.analysis import analysed, is_small_talk
from graph_agent.agent.extractive import followed
from graph_agent.agent.naming import named_document
from graph_agent.agent.structure import document_queries, foreign_query, properties_query
from graph_agent.retrieval.corpus import DocumentRow
from graph_agent.store.cypher_values import with_values
from graph_agent.store.skeleton import PropertyFact

PROPERTIES = [
    PropertyFact("Document", "node", "status", ("String",), values=("current", "superseded")),
    PropertyFact("Document", "node", "language", ("String",), values=("de", "en")),
    PropertyFact("Document", "node", "contract_no", ("String",), examples=("C-1",)),
    PropertyFact("Document", "node", "title", ("String",), values=("status",)),
]
FOLDERS = ["/data/papers", "/data/papers/reports", "/data/papers/old/reports2"]


@pytest.mark.parametrize(
    ("question", "kind", "structure"),
    [
        ("hello", "chat", ""),
        ("Thank you very much!", "chat", ""),
        ("What can you do?", "chat", ""),
        ("what is in here?", "corpus", ""),
        ("Worum geht es hier?", "corpus", ""),
        ("How many documents are there?", "structure", "count"),
        ("Wie viele Dokumente gibt es?", "structure", "count"),
        ("List all documents", "structure", "list"),
        ("Which documents are in the folder reports?", "structure", "list"),
        ("What is the outline of the handbook?", "structure", "outline"),
        (
            "Welche Gliederung hat das Handbuch? Zeig das Inhaltsverzeichnis von handbuch.md",
            "structure",
            "outline",
        ),
        ("Which subsections are under Specification?", "structure", "subsections"),
        ('Which documents have a section titled "Rationale"?', "structure", "titled"),
        ('How many documents have a section called "Rationale"?', "structure", "titled"),
        ("How many passengers did Line 1 carry in 2025?", "fact", ""),
        ("How many documents mention the ferry?", "structure", "mention"),
        ("Which documents talk about gravel?", "fact", ""),
        ("Hello, what does a ticket cost?", "fact", ""),
        ("What is the status of the harbour?", "fact", ""),
        ("Which program prints 3?\n```rust\nfn main() {}\n```", "fact", ""),
        ("Thanks. How much is the fee?", "fact", ""),
    ],
)
def test_kinds(question: str, kind: str, structure: str) -> None:
    found = analysed(question)
    assert (found.kind, found.structure) == (kind, structure)


def test_small_talk_is_only_small_talk() -> None:
    assert is_small_talk("Hi!")
    assert not is_small_talk("Hi, who owns the company?")
    assert not is_small_talk("")
    assert not is_small_talk("hello " * 60)


def query(question: str) -> str:
    queries = document_queries(question, analysed(question), PROPERTIES, FOLDERS)
    return with_values(queries.cypher, queries.params) if queries else ""


def test_queries_for_counts_and_lists() -> None:
    assert "count(d)" in query("How many documents are there?")
    assert "toLower(f.path) = '/data/papers/reports'" in query(
        "How many documents are in the reports folder?"
    )
    assert "toLower(toString(d.status)) = 'superseded'" in query("Which files have the status superseded?")
    assert "d.language = 'de'" in query("How many documents are in German, by language?")
    assert "s.level = 4" in query("How many headings of level 4 are there in all documents?")
    assert "= 'o\\'clock'" in query('How many documents have a section titled "O\'clock"?')


@pytest.mark.parametrize(
    "question",
    [
        "Which documents are in German?",
        "How many German documents are there?",
        "Welche Dokumente sind auf Deutsch?",
    ],
)
def test_documents_of_a_language(question: str) -> None:
    assert "d.language = 'de'" in query(question)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which documents mention the battery?", ["batteries", "battery"]),
        ("How many files mention Lana Wachowski?", ["lana wachowski"]),
        ('Which documents contain the word "Lotse"?', ["lotse"]),
        ("Welche Dokumente erwähnen Störungen?", ["störungen"]),
    ],
)
def test_documents_that_mention_some_words(question: str, words: list[str]) -> None:
    assert re.findall(r"CONTAINS '([^']+)'", query(question)) == words


NAMED = [
    DocumentRow(
        "a",
        "a",
        "manuals/hochwarte-funicular.md",
        "hochwarte-funicular.md",
        "Cable Railway, operations manual",
    ),
    DocumentRow("b", "b", "manuals/reiher-charging.md", "reiher-charging.md", "MF Reiher, shore charging"),
    DocumentRow("c", "c", "reports/2025-q1.md", "2025-q1.md", "Quarterly report, first quarter 2025"),
    DocumentRow("d", "d", "reports/2025-q2.md", "2025-q2.md", "Quarterly report, second quarter 2025"),
    DocumentRow("e", "e", "public/faq.md", "faq.md", "Questions that passengers ask"),
]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What are the chapters of the funicular manual?", "a"),
        ("Outline of the FAQ", "e"),
        ("What is the date of the report on the second quarter of 2025?", "d"),
        ("What is the date of the quarterly report 2025?", ""),
        ("What are the chapters of the manual?", ""),
        ("On what date did passengers of the funicular first complain about cold seats?", ""),
        ("Outline of everything", ""),
    ],
)
def test_the_document_that_a_question_names(question: str, named: str) -> None:
    assert named_document(question, NAMED) == named
    assert named_document(question, []) == ""


@pytest.mark.parametrize(
    "question",
    [
        "How many documents are in the folder nowhere?",
        "Which documents did the board approve?",
        "How many files does a lawyer need?",
        "Which documents mention what a passenger has to do after a delay?",
    ],
)
def test_no_query_is_better_than_a_wrong_one(question: str) -> None:
    assert query(question) == ""


def test_values_are_parameters_whatever_they_hold() -> None:
    title = "x') DETACH DELETE d //" + " and so on" * 8
    evil = f'Which documents have a section titled "{title}"?'
    queries = document_queries(evil, analysed(evil), PROPERTIES, FOLDERS)
    assert queries is not None
    assert queries.params == {"title": title.lower()}
    assert "toLower(s.title) = $title" in queries.cypher
    assert "detach" not in queries.cypher.lower() + queries.fallback.lower()
    asked = "Which documents have the status superseded and the language German?"
    both = document_queries(asked, analysed(asked), PROPERTIES, FOLDERS)
    assert both is not None
    assert set(both.params.values()) <= {"superseded", "de"}
    assert properties_query(["status"], ["a'b"]).params == {"documents": ["a'b"]}
    plain = "How many documents are there?"
    counted = document_queries(plain, analysed(plain), PROPERTIES, FOLDERS)
    assert counted is not None
    assert counted.params == {}


def test_queries_for_other_graphs() -> None:
    facts = {"labels": {"Person": 3, "Movie": 2}}
    counted = foreign_query("How many movies are there?", facts)
    assert counted is not None
    assert counted.cypher == "MATCH (n:Movie) RETURN count(n) AS Movie"
    looked = foreign_query('Who directed "The Matrix"?', facts)
    assert looked is not None
    assert looked.params == {"name": "the matrix"}
    assert "= $name" in looked.cypher
    assert "CONTAINS $name" in looked.fallback
    assert foreign_query("why?", facts) is None
    related = foreign_query(
        "Who directed The Matrix?", {**facts, "edge_types": {"DIRECTED": 2, "ACTED_IN": 5}}
    )
    assert related is not None
    assert "[r:DIRECTED]" in related.cypher
    alone = foreign_query("Tom Hanks", {**facts, "edge_types": {"ACTED_IN": 5}})
    assert alone is not None
    assert alone.params == {"name": "tom hanks"}
    assert "[r]->" in alone.cypher


def test_a_question_that_points_back_is_joined_with_the_one_before() -> None:
    turns = [{"question": "What does Line 1 cost?", "answer": "4 euro"}]
    assert followed("And what about Line 2?", turns) == "And what about Line 2? (What does Line 1 cost?)"  # type: ignore[arg-type]
    assert followed("How long does it take?", turns) == "How long does it take? (What does Line 1 cost?)"  # type: ignore[arg-type]
    assert followed("Who owns Tolmsee Lines?", turns) == "Who owns Tolmsee Lines?"  # type: ignore[arg-type]
    assert followed("And Line 2?", []) == "And Line 2?"
    chained = [{"question": "And Line 2? (What does Line 1 cost?)", "answer": "3 euro"}]
    assert followed("Is it cheap?", chained) == "Is it cheap? (What does Line 1 cost?)"  # type: ignore[arg-type]
