"""Descriptions without a model: the first sentence as a reader sees it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.ingest.summary import MAX_CHARS, description_of, plain_text


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# Title\n\nFirst sentence of the text. Second one.", "First sentence of the text."),
        ("Title\n=====\n\nFirst sentence of all,\nover two lines. Second.", "First sentence of all, over two lines."),
        ("## A\n\nShort. But then a longer sentence follows here.", "Short. But then a longer sentence follows here."),
        ("A **bold** [link](x.md) and `code_x` in _this_ snake_case text.", "A bold link and code_x in this snake_case text."),
        ("![img](x.png)\n\n<!-- no -->\n\n> Quoted prose comes first here.", "Quoted prose comes first here."),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nProse after the table stands.", "Prose after the table stands."),
        ("```\ncode\n```\n\n- item one\n- item two\n\nProse wins over items.", "Prose wins over items."),
        ("# T\n\n- item one\n- item two", "item one"),
        ("# T\n\n1. [ ] [task](x)\n", "task"),
        ("# T\n\n| Name | Amount |\n|---|---|\n| x | 1 |", "Name, Amount"),
        ("# T\n\n```py\n\n{\ndef run(): ...\n```", "def run(): ..."),
        ("# Only a heading", ""),
        ("", ""),
        ("---\n\n***\n", ""),
        ("这是第一句话，内容不多也不少，但是足够长，可以作为整个章节的一句话说明来使用。第二句。", "这是第一句话，内容不多也不少，但是足够长，可以作为整个章节的一句话说明来使用。"),
        ("Fish &amp; chips &lt;b&gt; <b>are</b> \\*good\\*, e.g. on Fridays.", "Fish & chips <b> are *good*, e.g. on Fridays."),
        ("[ref]: /x\n\n[[Page|Wiki page]] text with a footnote[^1] in it.", "Wiki page text with a footnote in it."),
        ('The key words "MUST" and "MAY" are to be read as in RFC 2119.\n\nThe real first sentence.', "The real first sentence."),
        ("a\r\rFirst line here is rather short\r", "a"),
    ],
)  # fmt: skip
def test_descriptions(markdown: str, expected: str) -> None:
    assert description_of(markdown) == expected


def test_the_authors_own_description_comes_first() -> None:
    assert description_of("Text.", {"description": "  My *own*\nwords "}) == "My own words"
    assert description_of("Text of the document here.", {"summary": ["a"]}) == "Text of the document here."


def test_long_sentences_are_cut_between_words() -> None:
    found = description_of("word " * 100)
    assert len(found) <= MAX_CHARS
    assert found.endswith("word…")


@given(st.text(max_size=400))
def test_one_short_storable_line(text: str) -> None:
    found = description_of(text)
    assert len(found) <= MAX_CHARS
    assert len(found.splitlines()) <= 1
    assert "\x00" not in found
    found.encode()


@pytest.mark.parametrize(
    "unit",
    [
        "*",
        "[",
        "`",
        "_a",
        "<",
        "![a](",
        "**a ",
        "a\n",
        "- a\n",
        "~~~\n",
        "> ",
        "[a](b(c)",
        "- - ",
        "|",
        "\\",
        "&",
        "<!--",
    ],
)
def test_linear_time(unit: str) -> None:
    started = time.process_time()
    description_of(unit * 20_000)
    assert time.process_time() - started < 2


def test_plain_text_keeps_words() -> None:
    assert plain_text("2 * 3 * 4 and a_b_c and **x**y") == "2 * 3 * 4 and a_b_c and xy"
