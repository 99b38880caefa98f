"""The piece of a passage that shows why it was found, with the matched words in bold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graph_agent.text import Token, tokens

LENGTH = 240
MARK = "**"
ELLIPSIS = "…"
_MAX_SCANNED = 20_000
# Where a mark would break Markdown or a link: link and image targets, autolinks, bare addresses, code.
_UNMARKED = re.compile(
    r"\]\([^)\n]*\)|\]\[[^\]\n]*\]|<[^>\n]{1,300}>|\b[a-z][a-z0-9+.-]*://\S+|`[^`\n]*`", re.IGNORECASE
)
_SPACE = re.compile(r"\s+")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    group: int
    weight: float


def snippet(
    text: str,
    terms: dict[str, tuple[int, float]],
    *,
    languages: Sequence[str] = ("en",),
    within: Sequence[str] = (),
    length: int = LENGTH,
) -> str:
    """A piece of `text` of at most `length` characters around its best match, on one line.

    Args:
        text: the passage.
        terms: index terms looked for, with the number of the query's word that each stands for and that
            word's weight; a window is as good as the weights of the different words in it.
        languages: stemmers by which the terms were made.
        within: lower-case pieces of text; a word that holds one is marked, too.
        length: limit in characters, marks and ellipses included.

    Matched words are set in **bold**, but never within a link's target, an address, a tag or code. No
    character is cut apart from its marks, and no pair of marks is left open.
    """
    text = _flat(text[:_MAX_SCANNED])
    if not text:
        return ""
    matches = _matches(text, terms, languages, within)
    budget = length - 2 * len(ELLIPSIS)
    start, end = _window(text, matches, budget)
    inside = [match for match in matches if match.start >= start and match.end <= end]
    marked = _markable(text, inside)
    # Each mark costs characters: narrow the window until text and marks fit
    while end - start + 2 * len(MARK) * len(marked) > budget and marked:
        spare = budget - 2 * len(MARK) * len(marked)
        if spare < budget // 2:
            marked = marked[:-1]
            continue
        middle = (marked[0].start + marked[-1].end) // 2
        start, end = _fitted(text, max(start, middle - spare // 2), spare)
        narrowed = [match for match in marked if match.start >= start and match.end <= end]
        if len(narrowed) == len(marked) and end - start <= spare:
            break
        marked = narrowed
    return _render(text, start, end, marked)


def _flat(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _matches(
    text: str, terms: dict[str, tuple[int, float]], languages: Sequence[str], within: Sequence[str]
) -> list[_Match]:
    found: dict[tuple[int, int], _Match] = {}
    for language in languages or ("en",):
        for token in _tokens(text, language):
            hits = [terms[term] for term in token.terms if term in terms]
            if within and not hits:
                word = text[token.start : token.end].lower()
                hits = [(-1 - at, 1.0) for at, piece in enumerate(within) if piece in word]
            if hits:
                group, weight = max(hits, key=lambda hit: hit[1])
                found.setdefault((token.start, token.end), _Match(token.start, token.end, group, weight))
    return sorted(found.values(), key=lambda match: (match.start, match.end))


@lru_cache(maxsize=1_024)
def _tokens(text: str, language: str) -> tuple[Token, ...]:
    return tuple(tokens(text, language))


def _window(text: str, matches: Sequence[_Match], budget: int) -> tuple[int, int]:
    """The stretch whose matched words weigh most, each word counted once, the first of equals."""
    if len(text) <= budget or not matches:
        return _fitted(text, 0, budget)
    best_value, best = -1.0, (matches[0].start, matches[0].end)
    for at, first in enumerate(matches):
        groups: dict[int, float] = {}
        last = first
        for match in matches[at:]:
            if match.end - first.start > budget - 40:
                break
            groups[match.group] = max(groups.get(match.group, 0.0), match.weight)
            last = match
        value = sum(groups.values())
        if value > best_value + 1e-9:
            best_value, best = value, (first.start, last.end)
    lead = max(0, (budget - (best[1] - best[0])) // 3)
    return _fitted(text, max(0, best[0] - lead), budget)


def _fitted(text: str, start: int, budget: int) -> tuple[int, int]:
    """A stretch of at most `budget` characters from about `start`, cut at blanks where there are some."""
    start = max(0, min(start, len(text) - budget))
    end = min(len(text), start + budget)
    if start > 0:
        blank = text.find(" ", start, start + 30)
        start = blank + 1 if blank >= 0 else _boundary(text, start, 1)
    if end < len(text):
        blank = text.rfind(" ", max(start + 1, end - 30), end)
        end = blank if blank > start else _boundary(text, end, -1)
    return start, max(start, end)


def _boundary(text: str, at: int, step: int) -> int:
    """The nearest place at or beyond `at` where no character is parted from its marks."""
    while 0 < at < len(text) and (_continues(text[at]) or text[at - 1] == _JOINER):
        at += step
    return at


def _continues(char: str) -> bool:
    return (
        unicodedata.category(char) in {"Mn", "Mc", "Me"}
        or char == _JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _markable(text: str, matches: Collection[_Match]) -> list[_Match]:
    """Matches that may be set in bold, overlapping and touching ones joined."""
    closed = [(match.start(), match.end()) for match in _UNMARKED.finditer(text)]
    joined: list[_Match] = []
    for match in matches:
        if (
            any(start < match.end and match.start < end for start, end in closed)
            or MARK in text[match.start : match.end]
        ):
            continue
        if joined and match.start <= joined[-1].end:
            last = joined[-1]
            joined[-1] = _Match(
                last.start, max(last.end, match.end), last.group, max(last.weight, match.weight)
            )
        else:
            joined.append(match)
    return joined


def _render(text: str, start: int, end: int, marked: Sequence[_Match]) -> str:
    pieces: list[str] = [ELLIPSIS] if start > 0 else []
    at = start
    for match in marked:
        if match.start < at or match.end > end:
            continue
        already = text[max(0, match.start - 1) : match.start] == "*" or text[match.end : match.end + 1] == "*"
        pieces += [text[at : match.start]]
        word = text[match.start : match.end]
        pieces.append(word if already else f"{MARK}{word}{MARK}")
        at = match.end
    pieces.append(text[at:end])
    if end < len(text):
        pieces.append(ELLIPSIS)
    return "".join(pieces).strip()
