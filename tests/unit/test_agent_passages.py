"""From search results to passages: whole sections, pieces of tables, a budget, several documents."""

from __future__ import annotations

import pytest

from graph_agent.agent.passages import (
    MAX_PASSAGES,
    Found,
    Section,
    found_in,
    merged_sources,
    pack,
    ranked_documents,
    section_passage,
    trimmed,
)
from graph_agent.agent.response import Passage, Source
from graph_agent.text import estimate_tokens


def section(name: str, text: str, document: str = "d") -> Section:
    return Section(
        name,
        text,
        title=name,
        start_line=100,
        breadcrumb=("Doc", name),
        document_id=document,
        path=f"{document}.md",
    )


def found(name: str, text: str, score: float = 0.5, document: str = "d") -> Found:
    return Found(name, f"{name}::0", text, score, document_id=document)


def test_a_section_that_fits_is_taken_whole_with_its_line() -> None:
    text = "## Head\n\nFirst words.\n\nThe match."
    (passage,) = pack([found("s", "The match.")], {"s": section("s", text)}, 1_000)
    assert (passage.text, passage.line, passage.section_id, passage.n) == (text, 100, "s", 1)


def test_of_a_long_section_the_piece_is_taken_where_it_stands() -> None:
    text = (
        "\n".join(f"Line {number} says little." for number in range(400))
        + "\nThe needle is here.\n"
        + "tail\n" * 400
    )
    (passage,) = pack([found("s", "The needle is here.")], {"s": section("s", text)}, 2_000)
    assert passage.text == "The needle is here."
    assert text.splitlines()[passage.line - 100] == "The needle is here."


def test_a_piece_of_a_table_gets_its_header_and_neighbours_back() -> None:
    table = "| Name | Fee |\n|---|---|\n" + "\n".join(f"| berth {n} | {n} |" for n in range(300))
    text = "Intro words.\n\n" + table + "\n\nOutro."
    # search puts the header on top of a piece of a table
    piece = "| Name | Fee |\n|---|---|\n| berth 20 | 20 |\n| berth 21 | 21 |"
    (passage,) = pack([found("s", piece)], {"s": section("s", text)}, 3_000)
    assert passage.text.startswith("| Name | Fee |")
    assert "| berth 21 | 21 |" in passage.text
    assert passage.text in text
    assert estimate_tokens(passage.text) < 1_600


def test_the_budget_holds_and_every_good_document_is_there() -> None:
    sections = {
        f"{d}{n}": section(f"{d}{n}", f"{d} {n} " + "word " * 400, d) for d in "abcde" for n in range(8)
    }
    results = [
        found(f"{d}{n}", f"{d} {n} word", 0.9 - 0.01 * n - 0.02 * "abcde".index(d), d)
        for d in "abcde"
        for n in range(8)
    ]
    passages = pack(results, sections, 4_000)
    assert sum(estimate_tokens(passage.text) for passage in passages) <= 4_000
    assert {passage.document_id for passage in passages} == set("abcde")
    assert [passage.n for passage in passages] == list(range(1, len(passages) + 1))
    assert len(pack(results, sections, 100_000)) == MAX_PASSAGES


def test_a_chunk_without_a_section_stands_for_itself() -> None:
    (passage,) = pack([found("", "An old chunk.")], {}, 500)
    assert (passage.text, passage.line) == ("An old chunk.", 0)


def test_documents_are_ranked_by_their_best_and_by_how_much_is_about_it() -> None:
    results = [found("1", "x", 1.0, "once"), *[found(str(n), "x", 0.95, "throughout") for n in range(2, 8)]]
    assert ranked_documents(results) == ["throughout", "once"]
    assert ranked_documents([]) == []


def test_results_of_query_documents_are_read() -> None:
    artifact = {
        "results": [
            {
                "text": "t",
                "source": "/r/a.md",
                "title": "A",
                "chunkIndex": 2,
                "score": 0.7,
                "parentId": "h::1",
                "page": 3,
            },
            {
                "text": "u",
                "source": "/r/b.md",
                "title": "B",
                "chunkIndex": 0,
                "score": 0.6,
                "parentId": None,
                "page": None,
            },
        ],
        "sources": [{"source": "/r/a.md", "displayPath": "a.md", "hits": 1}],
    }
    first, second = found_in(artifact)
    assert (first.chunk_id, first.section_id, first.display_path, first.page) == (
        "h::1::2",
        "h::1",
        "a.md",
        3,
    )
    assert (second.chunk_id, second.section_id) == ("", "")


def test_sources_of_several_searches_are_merged_in_order() -> None:
    one = [Source(document_id="a", hits=2), Source(document_id="b", hits=1)]
    merged = merged_sources(one, [Source(document_id="b", hits=3), Source(document_id="c", hits=1)])
    assert [(source.document_id, source.hits) for source in merged] == [("a", 2), ("b", 4), ("c", 1)]


@pytest.mark.parametrize("budget", [10, 100, 1_000])
def test_trimming_keeps_the_first_and_never_more_than_fits(budget: int) -> None:
    passages = [Passage(n=n, text="word " * 60) for n in range(1, 9)]
    kept = trimmed(passages, budget)
    assert kept
    assert kept[0].n == 1
    assert sum(estimate_tokens(passage.text) for passage in kept) <= budget + 1


def test_a_window_of_a_section_knows_its_line() -> None:
    passage = section_passage(section("s", "one\ntwo\nthree\nfour"), 4, start=8, end=13)
    assert (passage.text, passage.line, passage.n) == ("three", 102, 4)
