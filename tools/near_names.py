"""Names that somebody may have meant: spelling, case, and words in common."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


def nearest(name: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """Known names that look like `name`, the nearest first; none when nothing does.

    `fullName` is near `name` and `full_name`; `Persn` is near `Person`; `MOVIE` is near `Movie`.
    """
    scored = [(_likeness(name, candidate), candidate) for candidate in dict.fromkeys(known)]
    near = sorted((item for item in scored if item[0] >= 0.6), key=lambda item: (-item[0], item[1]))
    return [candidate for _, candidate in near[:count]]


def _likeness(name: str, candidate: str) -> float:
    ours, theirs = name.casefold(), candidate.casefold()
    if ours == theirs:
        return 2.0
    spelling = difflib.SequenceMatcher(None, ours, theirs).ratio()
    mine, other = _words(name), _words(candidate)
    shared = len(mine & other)
    words = 0.6 + 0.4 * shared / max(len(mine), len(other)) if shared else 0.0
    return max(spelling, words)


def _words(name: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(name)}
