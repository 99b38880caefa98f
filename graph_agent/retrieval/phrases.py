"""Verbatim matches and repeats: what only the text itself can tell, for the few passages at the top."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

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


@lru_cache(maxsize=2_048)
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every run of four words of a text (characters for text without blanks), for comparing passages."""
    found: Sequence[str] = words(text)
    if not text.isascii():
        found = units(found)
    if len(found) <= _SHINGLE:
        return frozenset({tuple(found)})
    return frozenset(zip(found, found[1:], found[2:], found[3:], strict=False))


def is_repeat(
    one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]], *, nearness: float = _NEAR
) -> bool:
    """Whether two passages, given by their shingles, say nearly the same.

    Their Jaccard similarity (Broder 1997) reaches `nearness`.
    """
    small, large = sorted((len(one), len(other)))
    if not large or small < large * nearness:
        return False
    shared = len(one & other)
    return shared >= nearness * (small + large - shared)
