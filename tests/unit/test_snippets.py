"""Snippets: short, around the best match, and never a broken character, mark or link."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.retrieval.snippets import snippet

FILLER = "The weather on the lake was mild and nothing of note took place that day. " * 12


def marks(*words: str) -> dict[str, tuple[int, float]]:
    return {word: (number, 1.0) for number, word in enumerate(words)}


def unmarked(text: str) -> str:
    return text.replace("**", "").strip("…").strip()


def test_the_window_holds_the_best_match_and_marks_it() -> None:
    text = FILLER + "The rope of the funicular was renewed in May. " + FILLER
    shown = snippet(text, marks("rope", "funicular"))
    assert "**rope**" in shown
    assert "**funicular**" in shown
    assert len(shown) <= 240
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_different_words_count_more_than_one_word_often() -> None:
    text = "rope rope rope rope. " + FILLER + "A rope and a funicular. " + FILLER
    assert "**funicular**" in snippet(text, marks("rope", "funicular"))


def test_short_text_is_shown_whole() -> None:
    assert snippet("A rope.", marks("rope")) == "A **rope**."
    assert snippet("", marks("rope")) == ""
    assert snippet("No match here", marks("rope")) == "No match here"


def test_stems_are_marked_as_written() -> None:
    assert snippet("Running boats", marks("run", "boat"), languages=("en",)) == "**Running** **boats**"


def test_cjk_bigrams_that_touch_make_one_mark() -> None:
    assert snippet("公司的现金流量表如下", marks("现金", "金流", "流量")) == "公司的**现金流量**表如下"


@pytest.mark.parametrize(
    "text",
    [
        "see [the boat](boat.md) and <https://boat.example/boat> now",
        "see https://boat.example/boat?boat=1 now",
        "![plan](img/boat.png)",
        "call `boat.sink()` now",
        '<a href="boat.md">link</a>',
        "[text][boat]",
    ],
)
def test_nothing_is_marked_where_a_mark_would_break_something(text: str) -> None:
    shown = snippet(text, marks("boat"))
    assert unmarked(shown) == text
    for kept in re.findall(r"\]\([^)]*\)|<[^>]*>|https?://\S+|`[^`]*`|\]\[[^\]]*\]", text):
        assert kept in shown


def test_what_is_bold_already_stays_so() -> None:
    assert snippet("a **boat** sank", marks("boat")) == "a **boat** sank"


def test_pieces_of_words_can_be_marked() -> None:
    assert snippet("Akkus laden", {}, within=["akku"]) == "**Akkus** laden"


def test_lines_become_one() -> None:
    assert snippet("# Title\n\nThe  boat\tsank.", marks("boat")) == "# Title The **boat** sank."


def test_characters_stay_whole() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for text in (family * 80, "e\u0301" * 400, "नि" * 300, "👍🏽" * 200):
        shown = snippet(text, {}).strip("…")
        assert text.startswith(shown)
        rest = text[len(shown) :]
        assert not rest or (rest[0] not in "\u200d\u0301िः" and not "\U0001f3fb" <= rest[0] <= "\U0001f3ff")


WORDS = st.sampled_from(
    ["boat", "rope", "*", "**boat**", "lake", "[a](boat.md)", "现金流量", "\n\n", "e\u0301t", "😀", "`", "_"]
)


@given(st.lists(WORDS, max_size=200), st.integers(20, 300))
@settings(max_examples=300, deadline=None)
def test_bounded_and_balanced(pieces: list[str], length: int) -> None:
    text = " ".join(pieces)
    shown = snippet(text, marks("boat", "rope", "现金"), length=length)
    assert len(shown) <= length
    flat = " ".join(text.split())
    assert shown.replace("*", "").strip("… ") in flat.replace("*", "")
    if "*" not in text:
        assert shown.count("**") % 2 == 0
