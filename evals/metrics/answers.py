"""Scores of answers against gold answers, each by the rule of the answer's kind, without a model.

`correct` is the one score that every kind has. These rules are lenient towards form (a figure in a sentence is
as good as a bare figure) and know no synonyms; where that is too coarse, a judge model grades beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from graph_agent.agent.citations import without_citations, without_source_list
from graph_agent.evals.metrics.wording import (
    contains,
    content_recall,
    exact,
    position,
    token_f1,
    tokens,
)
from graph_agent.evals.questions import Question
from graph_agent.text import numbers, words

ENOUGH_WORDS = 0.8  # share of a text answer's content words that must stand in the answer
_SCALES = {
    "thousand": 1e3, "tsd": 1e3, "tausend": 1e3, "million": 1e6, "millions": 1e6, "millionen": 1e6, "mio": 1e6,
    "billion": 1e9, "billions": 1e9, "milliarden": 1e9, "mrd": 1e9, "trillion": 1e12,
}  # fmt: skip
_PERCENT = frozenset({"percent", "%", "prozent", "per cent", "pct"})
# From two on: "one" is more often a pronoun.
_NUMBER_WORDS = {
    word: float(value)
    for value, pair in enumerate(
        (
            ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "funf"), ("six", "sechs"),
            ("seven", "sieben"), ("eight", "acht"), ("nine", "neun"), ("ten", "zehn"), ("eleven", "elf"),
            ("twelve", "zwolf"),
        ),
        start=2,
    )
    for word in pair
}  # fmt: skip
_ITEM = re.compile(r"(?m)^\s*(?:[-*+•]|\d{1,3}[.)])\s+(.+)$")
_PARTS = re.compile(r"\s*(?:[,;、，；]|\band\b|\bund\b|\bor\b|\boder\b)\s*")
_LETTER = re.compile(r"(?:^|[\s(*\"'`])(?:option|answer|antwort)?\s*\(?([A-Z])(?:[).:*\"'`]|$)", re.MULTILINE)
_LETTERS = re.compile(
    r"\W*[A-Z](?:\W+(?:(?:and|or|und|oder)\W+)?[A-Z])*\W*"
)  # nothing but letters: "A and C"


def said(answer: str) -> str:
    """The answer's own words: no citation marks, no list of sources."""
    return without_citations(without_source_list(answer)).strip()


def answer_scores(question: Question, answer: str, answered: bool) -> dict[str, float]:
    """Scores of an answer, each in [0, 1]; `answer.correct` whenever the gold is known.

    Args:
        question: with its gold.
        answer: Markdown, with citations and sources.
        answered: whether the answer claims to be one ("not in the documents" does not).
    """
    if question.answerable is None:
        return {}
    scores = {"abstention": float(answered == question.answerable)}
    if not question.answerable:
        return {**scores, "abstention.recall": float(not answered), "answer.correct": float(not answered)}
    scores["abstention.false"] = float(not answered)
    if question.kind == "rows":
        return scores
    text = said(answer) if answered else ""
    scores["answer.words"] = float(len(words(text)))
    return {**scores, **_BY_KIND[question.kind](question, text)}


def number_scores(question: Question, text: str) -> dict[str, float]:
    """Whether the gold number is among those of the answer, within its tolerance, in any scale of its unit."""
    value = float(question.answer)  # type: ignore[arg-type]
    right = float(any(_matches(one, value, question) for one in stated_numbers(text)))
    return {"answer.numeric": right, "answer.correct": right}


def stated_numbers(text: str) -> list[tuple[float, bool]]:
    """(value, whether it is a share) of each number that a text states, in every reading, number words included."""
    found = [(reading, one.percent) for one in numbers(text) for reading in one.readings]
    return found + [(_NUMBER_WORDS[word], False) for word in words(text) if word in _NUMBER_WORDS]


def _matches(stated: tuple[float, bool], gold: float, question: Question) -> bool:
    value, share = stated
    unit = words(question.unit or "")
    percent = bool(_PERCENT & {*unit, (question.unit or "").strip().lower()})
    scale = next((_SCALES[word] for word in unit if word in _SCALES), 1.0)
    # (gold as it may be written, how far that is from the gold itself)
    forms = [(gold, 1.0)] + ([(gold * scale, scale)] if scale != 1.0 else [])
    if percent or share:
        forms.append((gold / 100, 0.01))  # 12.5 % is read as 0.125, and may be written so
    for form, factor in forms:
        margin = (question.tolerance or 0.0) * factor
        if abs(value - form) <= margin + 1e-9 * max(1.0, abs(form)):
            return not (
                share and percent and factor == 1.0
            )  # 0.5 % is not 0.5 taken for half a percent point
    return False


def list_scores(question: Question, text: str) -> dict[str, float]:
    """F1 of the items; when order counts, only items in the gold's order are found."""
    gold = [str(item) for item in question.answer]  # type: ignore[union-attr]
    return _items(gold, text, ordered=question.ordered)


def _items(gold: Sequence[str], text: str, *, ordered: bool) -> dict[str, float]:
    places = [place for item in gold if (place := position(text, item)) >= 0]
    found = _longest_rise(places) if ordered else len(places)
    stated = stated_items(text)
    right = sum(1 for item in stated if any(contains(item, one) for one in gold))
    precision = right / len(stated) if stated else float(bool(places))
    recall = found / len(gold)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "answer.list_f1": f1,
        "answer.list_recall": recall,
        "answer.correct": float(recall == 1.0 and precision == 1.0),
    }


def stated_items(text: str) -> list[str]:
    """The items that an answer lists: bullets, else the first cells of a table, else parts of the longest enumeration."""
    bullets = _ITEM.findall(text)
    if len(bullets) > 1:
        return bullets
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.strip().startswith("|")]
    if len(rows) > 2:
        return [row[0].strip() for row in rows[2:] if row[0].strip()]
    sentences = re.split(r"(?<=[.!?])\s+|\n+", text)
    best: list[str] = max(
        ([part for part in _PARTS.split(sentence) if part.strip()] for sentence in sentences),
        key=len,
        default=[],
    )
    return best


def _longest_rise(places: Sequence[int]) -> int:
    """Length of the longest rising subsequence: how many items stand in the right order."""
    lengths: list[int] = []
    for at, place in enumerate(places):
        lengths.append(
            1 + max((lengths[before] for before in range(at) if places[before] < place), default=0)
        )
    return max(lengths, default=0)


def option_scores(question: Question, text: str) -> dict[str, float]:
    """Whether the choice is the right one; with several right ones, F1 of the chosen set."""
    options = [option.strip() for option in question.options or ()]
    answer = question.answer
    gold = {str(item).strip() for item in answer} if isinstance(answer, tuple) else {str(answer).strip()}
    chosen = {options[at] for at in chosen_options(options, text)}
    shared = len(gold & chosen)
    f1 = 2 * shared / (len(gold) + len(chosen)) if gold or chosen else 0.0
    return {"answer.option": f1, "answer.correct": float(gold == chosen)}


def chosen_options(options: Sequence[str], text: str) -> list[int]:
    """Which options an answer takes: by letter (A is the first), else by the words, else none."""
    only = _LETTERS.fullmatch(text.strip())
    letters = re.findall(r"[A-Z]", text) if only else _LETTER.findall(text)
    named = sorted({at for letter in letters if (at := ord(letter) - ord("A")) < len(options)})
    if named:
        return named
    held = [at for at, option in enumerate(options) if tokens(option) and contains(text, option)]
    # An option that is part of another one that is held, too, was not meant: "64" in "u64".
    return [
        at for at in held if not any(other != at and contains(options[other], options[at]) for other in held)
    ]


def field_scores(question: Question, text: str) -> dict[str, float]:
    """Share of the named parts that the answer gives."""
    parts: list[bool] = []
    for value in question.answer.values():  # type: ignore[union-attr]
        if isinstance(value, int | float) and not isinstance(value, bool):
            parts.append(any(abs(stated - value) < 1e-9 for stated, _ in stated_numbers(text)))
        else:
            parts.append(contains(text, str(value)))
    share = sum(parts) / len(parts) if parts else 0.0
    return {"answer.fields": share, "answer.correct": float(share == 1.0)}


def text_scores(question: Question, text: str) -> dict[str, float]:
    """Token F1, exact match, containment; right when the gold stands in the answer, or nearly all its words do."""
    forms = [_written(question.answer), *question.alternatives]
    held = max(float(contains(text, form)) for form in forms)
    enough = max(float(content_recall(text, form) >= ENOUGH_WORDS) for form in forms)
    return {
        "answer.exact": max(exact(text, form) for form in forms),
        "answer.token_f1": max(token_f1(text, form) for form in forms),
        "answer.contains": held,
        "answer.correct": max(held, enough),
    }


def _written(answer: Any) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(answer)


_BY_KIND = {
    "number": number_scores,
    "list": list_scores,
    "option": option_scores,
    "fields": field_scores,
    "text": text_scores,
}
