"""Find a quotation in parsed Markdown and mark it, whatever the markup in between.

Only letters and digits are compared, so that emphasis, table bars, list markers and line breaks do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

MIN_PIECE = 12  # letters and digits of a part that may stand for a quotation that is not there as a whole
_LEAVES = frozenset({"text", "code_inline", "fence", "code_block"})
_PIECES = re.compile(r"(?<=[.!?;:])\s+|\n+|…")


@dataclass(frozen=True, slots=True)
class _Folded:
    """Letters and digits of a text, and where each one stands: (number of the leaf, offset in it)."""

    letters: str
    places: list[tuple[int, int]]


def mark_quotes(
    tokens: Sequence[Token], quotes: Iterable[str], parse: Callable[[str], Sequence[Token]]
) -> bool:
    """Put `meta["marks"]`, a list of (start, end) in characters, on the tokens that hold the first quote found.

    Args:
        tokens: of the text.
        quotes: words to find, in order of preference; each as Markdown.
        parse: the parser that made `tokens`.

    Returns:
        Whether one was found.
    """
    leaves = _leaves(tokens)
    folded = _fold(leaves)
    for quote in quotes:
        spans = _find(folded.letters, quote, parse)
        if spans:
            for start, end in spans:
                _mark(leaves, folded.places[start:end])
            return True
    return False


def _find(letters: str, quote: str, parse: Callable[[str], Sequence[Token]]) -> list[tuple[int, int]]:
    """Where the quote is; when it is not there as a whole, where its sentences or lines are."""
    wanted = _fold(_leaves(parse(quote))).letters
    if not wanted:
        return []
    at = letters.find(wanted)
    if at >= 0:
        return [(at, at + len(wanted))]
    spans: list[tuple[int, int]] = []
    after = 0
    for piece in _PIECES.split(quote):
        part = _fold(_leaves(parse(piece))).letters
        if len(part) < MIN_PIECE:
            continue
        at = letters.find(part, after)
        if at >= 0:
            spans.append((at, at + len(part)))
            after = at + len(part)
    return spans


def _leaves(tokens: Sequence[Token]) -> list[Token]:
    return [
        leaf
        for token in tokens
        for leaf in ([token] if not token.children else token.children)
        if leaf.type in _LEAVES
    ]


def _fold(leaves: Sequence[Token]) -> _Folded:
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for number, leaf in enumerate(leaves):
        for offset, character in enumerate(leaf.content):
            if character.isalnum():
                letters.append(character.lower()[:1])
                places.append((number, offset))
    return _Folded("".join(letters), places)


def _mark(leaves: Sequence[Token], places: Sequence[tuple[int, int]]) -> None:
    """One mark in each leaf, from the first of its letters to the last."""
    ends: dict[int, list[int]] = {}
    for number, offset in places:
        ends.setdefault(number, [offset, offset])[1] = offset
    for number, (first, last) in ends.items():
        leaf = leaves[number]
        leaf.meta.setdefault("marks", []).append((first, last + 1))
