"""Tokens a word at a time: always exactly the tokenizer's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.embeddings import local_tokenizer
from graph_agent.ingest.wordpieces import WordPieces

SHARED = WordPieces(local_tokenizer())  # what it has learned from one text must not spoil the next
PIECES = st.sampled_from(
    [
        *(
            "EIP-1559",
            "unaffable",
            "x" * 120,
            "FY2018",
            "a_b",
            "don't",
            " ",
            "\n",
            "\t",
            "  \r\n",
            "3,141.59",
        ),
        *(
            "\u00e9",
            "e\u0301",
            "\u4e2d\u6587",
            "\x0c",
            "\x00",
            "\x7f",
            "\u00a0",
            "\u200b",
            "\ufffd",
            "\u017f",
            "\u0130",
        ),
        *("##ing", "[CLS]", "[sep]", "(#)", "\U0001f600"),
    ]
)


def expected(text: str) -> list[tuple[int, int]]:
    return list(local_tokenizer().encode(text, add_special_tokens=False).offsets)


@settings(deadline=None)
@given(
    st.one_of(st.text(), st.lists(PIECES).map("".join), st.text(alphabet=st.characters(max_codepoint=127)))
)
def test_any_text_gives_the_tokenizers_offsets(text: str) -> None:
    assert list(SHARED.token_offsets(text)) == expected(text)


@settings(deadline=None)
@given(st.lists(st.lists(PIECES).map("".join), max_size=6))
def test_many_texts_at_once_are_as_one_by_one(texts: list[str]) -> None:
    assert [list(spans) for spans in SHARED.token_offsets_of(texts)] == [expected(text) for text in texts]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "word", "a" * 101, "\x0cform feed", "tail\x00"])
def test_edges(text: str) -> None:
    assert list(WordPieces(local_tokenizer()).token_offsets(text)) == expected(text)


def test_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_agent.ingest.wordpieces._MOST_KNOWN", 3)
    pieces = WordPieces(local_tokenizer())
    for text in ("unaffable words stand here", "and other ones", "unaffable again"):
        assert list(pieces.token_offsets(text)) == expected(text)
