"""Citations in an answer: read, bound to passages, listed as sources."""

from __future__ import annotations

from itertools import pairwise

import pytest

from graph_agent.agent.citations import (
    bind,
    cited_numbers,
    cited_statements,
    in_order_of_use,
    normalised,
    renumbered,
    source_list,
    without_citations,
    without_source_list,
)
from graph_agent.agent.response import Passage
from graph_agent.agent.sentences import statements


def passage(n: int, text: str, **fields: object) -> Passage:
    return Passage(n=n, text=text, display_path=f"folder/doc{n}.md", document_id=f"d{n}", line=10, **fields)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a [1, 2].", "a [1][2]."),
        ("a [1-3]", "a [1][2][3]"),
        ("a [2–4]", "a [2][3][4]"),
        ("a [1;3]", "a [1][3]"),
        ("a [^5]", "a [5]"),
        ("a 【3†source】", "a [3]"),
        ("a [Source 4]", "a [4]"),
        ("a [1](https://example.org)", "a [1](https://example.org)"),
        ("`x[1, 2]` and [2, 1]", "`x[1, 2]` and [2][1]"),
        ("```\nrows[1, 2]\n``` [1,2]", "```\nrows[1, 2]\n``` [1][2]"),
        ("array[0]", "array[0]"),
    ],
)
def test_every_way_of_citing_becomes_one(written: str, meant: str) -> None:
    assert normalised(written) == meant


def test_numbers_come_in_the_order_of_first_use_and_not_out_of_code() -> None:
    assert cited_numbers("B [2]. A [1][2]. `c[9]` d [3]") == [2, 1, 3]


def test_new_numbers_count_in_the_order_of_use() -> None:
    answer = "Third [7], then [3][7]. `a[3]` and \\[3\\] stay; [12] was never read."
    numbers = in_order_of_use(answer, [1, 3, 7])
    assert numbers == {7: 1, 3: 2, 1: 3}
    assert (
        renumbered(answer, numbers) == "Third [1], then [2][1]. `a[3]` and \\[3\\] stay; [12] was never read."
    )


def test_a_citation_behind_the_full_stop_belongs_to_its_sentence() -> None:
    found = cited_statements("First thing. [1] Second thing [2]. Third.")
    assert [(one.bare, one.numbers) for one in found] == [
        ("First thing.", (1,)),
        ("Second thing.", (2,)),
        ("Third.", ()),
    ]


def test_a_list_of_sources_that_the_model_wrote_is_taken_off() -> None:
    assert without_source_list("It is so [1].\n\n**Sources:**\n- a.md\n- b.md") == "It is so [1]."
    assert without_source_list("Es ist so [1].\n\nQuellen:\na.md") == "Es ist so [1]."


def test_a_section_called_sources_with_sentences_stays() -> None:
    answer = "Two kinds.\n\n## Sources\n" + "The river is fed by three springs that never run dry, " * 5
    assert without_source_list(answer) == answer.rstrip()


def test_sources_are_paths_alone_one_line_each_once() -> None:
    passages = [
        passage(1, "x"),
        passage(2, "y"),
        passage(3, "z").model_copy(update={"display_path": "folder/doc1.md"}),
    ]
    assert source_list(passages, [3, 1, 2], "de") == "Quellen:\nfolder/doc1.md\nfolder/doc2.md"
    assert source_list(passages, [], "en") == ""


def test_a_citation_opens_the_line_of_the_sentence_that_bears_it() -> None:
    text = (
        "# Fares\n\nChildren under six travel free.\nDogs pay half of the adult fare.\n\nBikes cost 4 euro."
    )
    citations = bind("Dogs pay half [1]. Bikes are 4 euro [1].", [passage(1, text)], failed={})
    assert [(one.n, one.line, one.verified) for one in citations] == [(1, 15, True)]
    citations = bind("Dogs pay half the adult fare [1].", [passage(1, text)], failed={})
    assert citations[0].quote == "Dogs pay half of the adult fare."
    assert citations[0].line == 13


def test_what_was_not_read_and_what_failed_is_not_verified() -> None:
    citations = bind("A [1]. B [7].", [passage(1, "A.")], failed={1: "the figure"})
    assert [(one.n, one.verified, one.section_id) for one in citations] == [(1, False, ""), (7, False, "")]


def test_an_exact_quote_is_kept_with_its_line() -> None:
    text = "one\ntwo\nthree four five\nsix"
    (citation,) = bind("> three four five [1]", [passage(1, text)], failed={}, quotes={1: "three four five"})
    assert (citation.quote, citation.line) == ("three four five", 12)


def test_without_citations_leaves_no_blank_before_the_full_stop() -> None:
    assert without_citations("It is 5 [1][2]. And [a] stays.") == "It is 5. And [a] stays."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It begins on 1. Mai 2025. Then it ends.", ["It begins on 1. Mai 2025.", "Then it ends."]),
        ("See Nr. 5 and Dr. Who. Done.", ["See Nr. 5 and Dr. Who.", "Done."]),
        ("wrapped\nline goes on. Next", ["wrapped\nline goes on.", "Next"]),
        ("- one\n- two. Three", ["one", "two.", "Three"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("```\ncode. more\n```\nAfter.", ["```\ncode. more\n```", "After."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
    ],
)
def test_statements(text: str, expected: list[str]) -> None:
    assert [one.of(text) for one in statements(text)] == expected


def test_headings_of_both_kinds_are_no_sentences_and_breaks_are_nothing() -> None:
    text = (
        "Swaps\n=====\n\nAsk first.\n\nOf two\nlines\n---\n\nThen go.\n\n---\n* * *\n\n## Last\n\n- a\n- b\n"
    )
    found = [(one.kind, one.of(text)) for one in statements(text)]
    assert found == [
        ("heading", "Swaps\n====="),
        ("sentence", "Ask first."),
        ("heading", "Of two\nlines\n---"),
        ("sentence", "Then go."),
        ("heading", "## Last"),
        ("item", "a"),
        ("item", "b"),
    ]


def test_statements_are_slices_in_order() -> None:
    text = "# T\n\nA b. C d.\n\n1. x\n2. y\n\n| h |\n|---|\n| 1 |\n" * 20
    found = statements(text)
    assert all(one.start < one.end for one in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
