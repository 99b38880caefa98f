"""What models send: thinking, loops, broken JSON, odd tool names, failures."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.chat_models.models import one_line, trouble, unavailable
from graph_agent.chat_models.replies import (
    ThinkingFilter,
    find_json,
    known_name,
    loop_start,
    text_of,
    without_thinking,
)


def streamed(pieces: Sequence[str]) -> str:
    cleaner, shown = ThinkingFilter(), ""
    for piece in pieces:
        text, dropped = cleaner.feed(piece)
        shown = text if dropped else shown + text
    text, dropped = cleaner.finish()
    return text if dropped else shown + text


@given(st.lists(st.integers(1, 7), max_size=40))
def test_thinking_is_taken_out_however_the_stream_is_cut(cuts: list[int]) -> None:
    whole = "Before <think>secret plan, 3 < 4</think>\n\nafter, a < b and <b>bold</b>."
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(whole[at : at + cut])
        at += cut
    pieces.append(whole[at:])
    assert streamed(pieces) == "Before after, a < b and <b>bold</b>."


def test_thinking_without_its_opening_tag_takes_back_what_was_shown() -> None:
    assert streamed(["I should look ", "it up</th", "ink>", "The answer."]) == "The answer."


def test_thinking_that_never_ends_is_dropped_and_template_marks_go() -> None:
    assert without_thinking("Yes.<thinking>hm, maybe") == "Yes."
    assert without_thinking("MATCH (n) RETURN n<|im_end|>") == "MATCH (n) RETURN n"


def test_only_text_blocks_count() -> None:
    blocks = [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "a"}, "b", {"type": "image"}]
    assert text_of(blocks) == "ab"
    assert text_of(None) == ""


@pytest.mark.parametrize("unit", ["The same again. ", "word ", "a", "Line one.\nLine two is longer.\n"])
def test_a_loop_is_seen_and_begins_behind_its_first_round(unit: str) -> None:
    text = "An honest beginning; " + unit * 400
    start = loop_start(text)
    assert 0 <= start <= len("An honest beginning; ") + len(unit)


@pytest.mark.parametrize(
    "honest",
    [
        " ".join(str(number) for number in range(900)),
        "| a | b |\n|" + "-" * 300 + "|\n| 1 | 2 |",
        "\n".join(f"| row {number} | {number * 7} |" for number in range(120)),
        "short",
    ],
)
def test_honest_text_is_no_loop(honest: str) -> None:
    assert loop_start(honest) == -1


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure! ```json\n{"a": {"b": "}"}}\n``` Done.', {"a": {"b": "}"}}),
        ('<think>{"no": 1}</think>{"a": 2}', {"a": 2}),
        ('{"a": [1, {"b": "cut he', {"a": [1, {"b": "cut he"}]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{not json} then {"a": 3}', {"a": 3}),
        ("nothing", None),
        ("[1, 2]", None),
        ("{" * 5000, None),
    ],
)
def test_json_is_found(reply: str, value: object) -> None:
    assert find_json(reply) == value


@given(
    st.dictionaries(
        st.text(max_size=8), st.one_of(st.integers(), st.text(max_size=20), st.none()), max_size=5
    )
)
def test_json_survives_prose_around_it(value: dict[str, object]) -> None:
    assert find_json(f"Here you are:\n```json\n{json.dumps(value)}\n```") == value


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("search", "search"),
        ("searchsearchsearch", "search"),
        ("functions.search", "search"),
        ("default_api:search", "search"),
        ("search()", "search"),
        ("Search", "search"),
        ("get-toc", "get_toc"),
        ("delete_all", None),
        ("", None),
    ],
)
def test_tool_names_are_mended(given_name: str, name: str | None) -> None:
    assert known_name(given_name, {"search", "get_toc"}) == name


class Refused(Exception):
    def __init__(self, status: int, text: str = "no") -> None:
        super().__init__(text)
        self.status_code = status


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Refused(429), "retry"),
        (Refused(503), "retry"),
        (Refused(500), "retry"),
        (TimeoutError(), "retry"),
        (Refused(401), "refused"),
        (Refused(404, "The model `x` does not exist"), "refused"),
        (Refused(400, "This model's maximum context length is 8192 tokens"), "context"),
        (Refused(400, "Unsupported parameter: 'temperature'"), "parameter"),
        (ConnectionRefusedError("refused"), "connection"),
        (ValueError("what"), "fatal"),
    ],
)
def test_failures_are_told_apart(error: Exception, kind: str) -> None:
    assert trouble(error) == kind


def test_no_key_is_ever_repeated() -> None:
    said = str(unavailable(Refused(401, "Incorrect API key provided: sk-proj-abcdef1234567890."), "m"))
    assert "abcdef" not in said
    assert "OPENAI_API_KEY" in said
    shown = one_line(ValueError("GET https://user:secret@host/v1 with Bearer abcdefgh123"))
    assert "secret" not in shown
    assert "abcdefgh" not in shown
