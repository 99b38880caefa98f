"""Verbatim matches and repeats: what only the text itself can tell, for the few passages at the top."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from graph_agent.text import words

_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e01-\u0e4e\U00020000-\U0003ffff]"
)

MIN_RUN = 5  # words that must follow one another before a match counts as verbatim
_SHINGLE = 4
_NEAR = 0.9


def longest_run(wanted: Sequence[str], text: str) -> int:
    """Length of the longest run of consecutive words of `wanted` that stands in `text` (joined, padded).

    Args:
        wanted: folded words.
        text: folded words of a passage joined by single blanks, with a blank at each end.
    """
    best = 0
    start = 0
    while start + best < len(wanted):
        end = start + best + 1
        while end <= len(wanted) and f" {' '.join(wanted[start:end])} " in text:
            best = end - start
            end += 1
        start += 1
    return best


def verbatim_share(query_words: tuple[str, ...], phrases: Sequence[tuple[str, ...]], passage: str) -> float:
    """How much of a query stands word for word in a passage, 0 to 1.

    With quoted phrases: the share of their words that stand there as written, a phrase counting only
    when half of it does. Without: the longest run of the query's words, when it is long enough to be no
    accident and at least half of the query.

    Args:
        query_words: folded words of the whole query.
        phrases: folded words of each quoted phrase.
        passage: the passage's text.
    """
    text = _joined(passage)
    if phrases:
        return max(_phrase_share(phrase, text) for phrase in phrases)
    return _run_share(query_words, text)


def units(folded: Sequence[str]) -> list[str]:
    """Words, those of scripts without blanks taken apart into characters."""
    found: list[str] = []
    for word in folded:
        if word.isascii() or not _UNSPACED.search(word):
            found.append(word)
        else:
            found.extend(word)
    return found


@lru_cache(maxsize=4_096)
def _joined(passage: str) -> str:
    """The folded words of a passage as one string with a blank at each end; the same passages come again."""
    folded = words(passage)
    return f" {' '.join(folded if passage.isascii() else units(folded))} "


@lru_cache(maxsize=256)
def _wanted(folded: tuple[str, ...]) -> tuple[list[str], int]:
    """The units of a query, and how many must follow one another to count."""
    found = units(folded)
    characters = sum(len(word) == 1 and not word.isascii() for word in found)
    return found, 2 * MIN_RUN if 2 * characters > len(found) else MIN_RUN


def _phrase_share(phrase: tuple[str, ...], text: str) -> float:
    return 1.0 if f" {' '.join(_wanted(phrase)[0])} " in text else _run_share(phrase, text)


def _run_share(folded: tuple[str, ...], text: str) -> float:
    wanted, shortest = _wanted(folded)
    if len(wanted) < shortest:
        return 0.0
    run = longest_run(wanted, text)
    return run / len(wanted) if run >= shortest and 2 * run >= len(wanted) else 0.0


class Likeness(NamedTuple):
    """What two passages are compared by.

    Attributes:
        shingles: every run of four words (characters for text without blanks).
        figures: the words with digits: two editions that differ in one number do not repeat each other.
    """

    shingles: frozenset[tuple[str, ...]]
    figures: frozenset[str]


@lru_cache(maxsize=2_048)
def likeness(text: str) -> Likeness:
    """The shingles and figures of a text."""
    found: Sequence[str] = words(text)
    figures = frozenset(word for word in found if any(map(str.isdigit, word)))
    if not text.isascii():
        found = units(found)
    if len(found) <= _SHINGLE:
        return Likeness(frozenset({tuple(found)}), figures)
    return Likeness(frozenset(zip(found, found[1:], found[2:], found[3:], strict=False)), figures)


def is_repeat(one: Likeness, other: Likeness, *, nearness: float = _NEAR) -> bool:
    """Whether two passages say the same: equal figures, and nearly the same words.

    Nearly: the Jaccard similarity of their shingles (Broder 1997) reaches `nearness`.
    """
    small, large = sorted((len(one.shingles), len(other.shingles)))
    if one.figures != other.figures or not large or small < large * nearness:
        return False
    shared = len(one.shingles & other.shingles)
    return shared >= nearness * (small + large - shared)
