"""The check of answers: what stands in the passages passes, what does not is found."""

from __future__ import annotations

import pytest

from graph_agent.agent.grounding import Evidence, check, marked
from graph_agent.agent.response import Passage

PASSAGES = {
    1: Passage(
        n=1,
        title="Report of the third quarter",
        breadcrumb=["Report 2025", "Income"],
        text="The total was 1,234.50 euro, up 12 % on 2024. The Board of Trustees met on 3 May.\n**Nobody**\nobjected to it.",
    ),
    2: Passage(
        n=2, title="Client", text="The client calls `getBaseFee` of EIP-1559. Umsatz: 3,2 Mio. Euro.", page=12
    ),
}


def evidence(**fields: object) -> Evidence:
    return Evidence(PASSAGES, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sentence",
    [
        "The total was 1234.5 euro [1].",
        "The total was 1.234,50 Euro [1].",
        "It rose by 12 percent [1].",
        "It rose by 0.12 [1].",
        "The figure of 2025 is in the report [1].",
        "The Board of Trustees met on 3 May [1].",
        "“Nobody objected to it” [1].",
        'The report says "Nobody … to it" [1].',
        "EIP 1559 is called [2].",
        "Revenue was 3.2 million euro [2].",
        "Revenue was 3 200 000 euro [2].",
        "See page 12 [2].",
        "1. The client calls getBaseFee [2].",
        "Nothing to check here [1].",
        "No citation and no figure.",
    ],
)
def test_what_stands_there_passes(sentence: str) -> None:
    result = check(sentence, evidence(), must_cite=False)
    assert result.findings == []
    assert result.failed == {}


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("The total was 1,234.60 euro [1].", "1,234.60"),
        ("The total was 1,234.50 euro [2].", "1,234.50"),
        ("It fell by 13 % [1].", "13 %"),
        ("“Somebody objected to it” [1].", "Somebody objected"),
        ("The Council of Elders met on 3 May [1].", "Council of Elders"),
        ("The client calls getTipFee [2].", "getTipFee"),
        ("EIP-7702 is used [2].", "7702"),
        ("It is so [9].", "[9]"),
        ("There were 777 of them.", "777"),
    ],
)
def test_what_does_not_stand_there_is_found(sentence: str, missing: str) -> None:
    result = check(sentence, evidence(), must_cite=False)
    assert len(result.findings) == 1
    assert missing in result.findings[0].problem
    assert result.status == "unsupported"


def test_figures_of_the_question_the_rows_and_the_calculation_may_be_used() -> None:
    known = evidence(question="What about 2019?", rows="count\n4711", results=["100 / 3 = 33.3333333333"])
    answer = "In 2019 it was so [1]. The graph has 4711 of them. That is a share of 33.3 % [1]. About 33 [1]."
    assert check(answer, known, must_cite=False).findings == []
    assert check("That is a share of 33.4 % [1].", known, must_cite=False).findings != []


def test_german_nouns_are_no_names_but_identifiers_are_checked_everywhere() -> None:
    german = evidence(language="de")
    assert check("Der Gesamte Betrag Stieg laut Bericht [1].", german, must_cite=False).findings == []
    assert check("Die Norm ISO9001 gilt [1].", german, must_cite=False).findings != []


def test_an_answer_that_cites_nothing_is_a_finding_only_where_it_must_cite() -> None:
    assert check("It is so.", evidence(), must_cite=True).findings != []
    assert check("It is so.", evidence(), must_cite=False).findings == []
    assert check("It is so [1].", evidence(), must_cite=True).findings == []


def test_one_bad_sentence_of_two_is_partly_and_fails_its_citation_only() -> None:
    result = check("The total was 1,234.50 euro [1]. It fell by 13 % [2].", evidence(), must_cite=True)
    assert result.status == "partly"
    assert set(result.failed) == {2}


def test_marks_stand_behind_the_sentence_and_in_the_citation() -> None:
    answer = "Good: 12 % [1]. Bad: 13 % [1]. Unread [9].\n\n| a | b |\n|---|---|\n| 5555 | x [1] |"
    assert marked(answer, evidence(), "de") == (
        "Good: 12 % [1]. Bad: 13 % [1]. (nicht belegt) Unread [9?].\n\n"
        "| a | b |\n|---|---|\n| 5555 | x [1] (nicht belegt) |"
    )


def test_a_passed_answer_is_not_touched() -> None:
    answer = "The total was 1,234.50 euro [1].\n\n- one\n- two [2]\n"
    assert marked(answer, evidence(), "en") == answer
