"""Answers made of quotes: their form, whatever stands in the documents."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent.agent.citations import cited_numbers
from graph_agent.agent.composing import composed, not_found
from graph_agent.agent.extracts import Extract, asks_present, chosen, defined_topic
from graph_agent.agent.outlines import asked_part
from graph_agent.agent.phrases import counted
from graph_agent.agent.reasoner import AnswerRequest
from graph_agent.agent.response import Passage
from graph_agent.agent.signals import Words, missed_years, missing_words


def extract(n: int, text: str, *, document: str = "", score: float = 1.0, header: str = "") -> Extract:
    passage = Passage(
        n=n, text=text, document_id=document or f"d{n}", breadcrumb=["Title", f"Part {n}"], line=1
    )
    return Extract(passage, 0, len(text), score, score, header)


def request(**fields: Any) -> AnswerRequest:
    plan: Any = {"question": "q", "kind": "fact", "language": "en", "details": {}, "phrases": ["q"]}
    defaults: dict[str, Any] = {
        "plan": plan, "kind": "documents", "overview": "", "facts": {}, "passages": [], "rows": "", "runs": [],
        "rounds": [], "search": {"phrases": ["q"]},
    }  # fmt: skip
    return AnswerRequest(**{**defaults, **fields})


def test_a_code_block_that_was_cut_swallows_no_citation() -> None:
    text, quotes = composed(request(), [extract(1, "```rust\nfn main() {"), extract(2, "Plain words.")])
    assert cited_numbers(text) == [1, 2]
    assert quotes == {1: "```rust\nfn main() {", 2: "Plain words."}


def test_what_looks_like_a_citation_in_a_document_is_none() -> None:
    evil = extract(1, "See [7] and [8, 9]. Code `a[2]` stays.")
    evil.passage.breadcrumb = ["A [5] title", "**bold**"]
    text, _ = composed(request(), [evil])
    assert cited_numbers(text) == [1]
    assert "`a[2]`" in text


def test_a_row_is_shown_under_its_header() -> None:
    text, _ = composed(request(), [extract(1, "| 45 | 30 % |", header="| Minutes | Share |")])
    assert "> | Minutes | Share |\n> |---|---|\n> | 45 | 30 % |" in text


def test_five_documents_first_then_further_passages() -> None:
    many = [
        extract(n, f"text {n}", document=f"d{n % 3 if n < 6 else n}", score=1.0 - n / 100)
        for n in range(1, 11)
    ]
    first, more = chosen(many)
    assert len({one.passage.document_id for one in first}) == len(first) == 5
    assert 0 < len(more) <= 3
    assert not {one.passage.n for one in first} & {one.passage.n for one in more}
    named, _ = chosen(many, ["d9", "d1"])
    assert {"d9", "d1"} <= {one.passage.document_id for one in named}
    assert chosen([]) == ([], [])


def test_the_best_comes_first_and_what_falls_far_behind_is_left_out() -> None:
    weak, good, fair = (
        extract(1, "weak", score=0.02),
        extract(2, "good", score=1.2),
        extract(3, "fair", score=0.9),
    )
    first, more = chosen([weak, good, fair])
    assert [one.passage.n for one in first] == [2, 3]
    assert more == []


def test_of_documents_as_good_the_newest_leads_and_dates_are_shown() -> None:
    def version(n: int, date: str | None, score: float) -> Extract:
        made = extract(n, f"Version {n}.", score=score)
        made.passage.date = date
        return made

    versions = [version(1, "2023-01-05", 1.0), version(2, "2025-03", 0.98), version(3, "2026", 0.85)]
    assert [one.passage.n for one in chosen(versions)[0]] == [2, 1, 3]
    assert [one.passage.n for one in chosen(versions, present=True)[0]] == [3, 1, 2]
    undated = [version(1, None, 1.0), version(2, "2025-03", 0.99)]
    assert [one.passage.n for one in chosen(undated, present=True)[0]] == [1, 2]
    assert "**Title › Part 2**, 2025-03 [2]" in composed(request(), versions)[0]
    assert asks_present("What is the current limit?")
    assert asks_present("Was gilt derzeit?")
    assert not asks_present("What was the limit in 2023?")


def test_a_newer_text_on_another_subject_does_not_lead() -> None:
    rule, glossary = extract(1, "Swaps need notice.", score=1.0), extract(2, "See the rules.", score=0.99)
    rule.passage.date, glossary.passage.date = "2024", "2025"
    rule.passage.breadcrumb = ["Rest periods and shift swaps", "Swapping a shift"]
    glossary.passage.breadcrumb = ["Glossary", "Lotse"]
    assert [one.passage.n for one in chosen([rule, glossary])[0]] == [1, 2]
    assert [one.passage.n for one in chosen([rule, glossary], present=True)[0]] == [2, 1]
    glossary.passage.breadcrumb = ["Rest periods and shift swaps (2025)", "Swapping a shift"]
    assert [one.passage.n for one in chosen([rule, glossary])[0]] == [2, 1]


def test_the_same_words_are_shown_once() -> None:
    text, quotes = composed(request(), [extract(1, "Equal words."), extract(2, "Equal  words.")])
    assert text.count("words.") == 1
    assert list(quotes) == [1]


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What is ownership?", "ownership"),
        ("What are the traits?", "traits"),
        ("Was ist ein Lotse?", "lotse"),
        ("What is the highest speed at which vessels may pass?", ""),
        ("Who pays?", ""),
    ],
)
def test_what_a_question_asks_the_meaning_of(question: str, topic: str) -> None:
    assert defined_topic(question) == topic


def test_words_that_stand_nowhere_are_said() -> None:
    text, _ = composed(request(), [extract(1, "Plain words.")], lambda shown: ["salary"] * len(shown))
    told = text.index("Words of the question that stand in none of these passages: salary.")
    assert told < text.index("Plain words.")  # before what may answer another question
    assert "none of these" not in composed(request(), [extract(1, "Plain words.")], lambda shown: [])[0]


def test_nothing_found_names_what_was_searched_and_the_closest() -> None:
    text, quotes = not_found(request(), [extract(1, "Close but wrong.")])
    assert text.startswith("This is not in the documents.")
    assert "Searched for: q" in text
    assert quotes == {1: "Close but wrong."}
    assert not_found(request(), [])[1] == {}
    assert "other years, not about 2024." in not_found(request(), [], ("2024",))[0]


@pytest.mark.parametrize(
    ("question", "texts", "missed"),
    [
        (
            "How many passengers in the first quarter of 2024?",
            ["Report 2025-Q1", "Report of 2025"],
            ("2024",),
        ),
        ("How many passengers in the first quarter of 2025?", ["Report 2024", "Report of 2025"], ()),
        ("How many passengers in 2025?", ["Season 2024/25"], ()),
        ("How many passengers in 2025?", ["Summer of '25, after that of 2024"], ()),
        ("How many passengers in 2024?", ["No year at all", "1,912 boats"], ()),
        ("Which edition is 2021?", ["```\nlet year = 2018;\n```"], ("2021",)),
        ("What is `2021`?\n```\nlet x = 2021;\n```", ["of 1999"], ("2021",)),
        ("What prints\n```\nlet x = 2021;\n```", ["of 1999"], ()),
        ("Who pays 2,024 euro?", ["in 1999"], ()),
        ("What happened?", ["in 1999"], ()),
    ],
)
def test_a_question_of_one_year_is_not_answered_by_another(
    question: str, texts: list[str], missed: tuple[str, ...]
) -> None:
    assert missed_years(question, texts) == missed


def test_missing_words_are_given_as_they_are_written() -> None:
    asked = Words(
        groups=tuple(frozenset({term}) for term in ("salari", "marit", "mani", "compar", "\u6e29\u5ba4")),
        idf=(6.0, 5.0, 4.0, 2.0, 6.0),
        surfaces=("salary", "marit", "many", "compare", "\u6e29\u5ba4"),
        unknown=frozenset({0}),
        languages=("en",),
    )
    question = "How many? Compare Marit's Salary, `salary`, \u6e29\u5ba4"
    assert missing_words(question, asked, ["Marit sails."]) == ["Salary"]
    assert missing_words(question, asked, ["Marit has a salary."]) == []


TOC = {
    "title": "Manual",
    "sections": [
        {"id": "a", "title": "Manual", "level": 0},
        {
            "id": "b",
            "title": "Manual: operations",
            "level": 1,
            "sections": [
                {
                    "id": "c",
                    "title": "Start",
                    "level": 2,
                    "sections": [{"id": "d", "title": "Checks", "level": 3}],
                },
                {
                    "id": "e",
                    "title": "Evacuation",
                    "level": 2,
                    "sections": [{"id": "f", "title": "By boat", "level": 3}],
                },
            ],
        },
    ],
}


def test_the_part_of_an_outline_that_is_asked_for() -> None:
    name, sections, chapter = asked_part(TOC, "What are the chapters of the manual?", "outline")
    assert (name, [one["id"] for one in sections]) == ("Manual", ["c", "e"])
    assert chapter is not None
    name, sections, chapter = asked_part(
        TOC, "Which subsections has the chapter on evacuation?", "subsections"
    )
    assert (name, [one["id"] for one in sections]) == ("Evacuation", ["f"])
    flat = {
        "title": "T",
        "sections": [{"id": "1", "title": "x"}, {"id": "2", "title": "y"}, {"id": "3", "title": "z"}],
    }
    assert [one["id"] for one in asked_part(flat, "outline of T", "outline")[1]] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("number", "name", "language", "said"),
    [
        (1, "documents", "en", "1 document"),
        (0, "sections", "de", "0 Abschnitte"),
        (1, "folders", "es", "1 carpeta"),
        (1200, "documents", "zh", "1,200 documents"),
        (1, "Movies", "en", "1 Movies"),
    ],
)
def test_numbers_with_their_nouns(number: int, name: str, language: str, said: str) -> None:
    assert counted(number, name, language) == said


def test_a_property_that_is_told_is_not_said_to_be_missing() -> None:
    asked = request()
    asked.plan["details"] = {"properties": ["review_status"]}
    asked.passages.append(extract(1, "Plain words.").passage)
    rows = [{"document_id": "d1", "document": "a.md", "review_status": "final"}]
    asked.rounds.append({"calls": [{"name": "graph_query", "artifact": {"rows": rows}}]})
    text, _ = composed(asked, [extract(1, "Plain words.")], lambda shown: ["status", "salary"])
    assert "- a.md — review_status: final [1]" in text
    assert "none of these passages: salary." in text
