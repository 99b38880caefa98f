"""Where the embedding model's tokens stand in texts, measured in batches and kept in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeAlias, overload

Offsets: TypeAlias = Sequence[tuple[int, int]]
"""[start, end) in characters of each token of a text, special tokens left out."""

Tokenize: TypeAlias = Callable[[str], Offsets]

_PART_CHARS = 50_000
_BATCH_CHARS = 400_000


class TokenSpans(Sequence[tuple[int, int]]):
    """Where the tokens of a text stand, in sixteen bytes a token; counts and limits in O(log n)."""

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._starts = array("q")
        self._ends = array("q")
        self.extend(0, spans)

    @classmethod
    def of(cls, starts: list[int], ends: list[int]) -> Self:
        """Spans from where they start and where they end."""
        spans = cls()
        spans._starts, spans._ends = array("q", starts), array("q", ends)
        return spans

    def extend(self, base: int, spans: Iterable[tuple[int, int]]) -> None:
        """Add the tokens of the next part of the text, which starts at `base`."""
        spans = list(spans)
        self._starts.extend([base + start for start, _ in spans])
        self._ends.extend([base + end for _, end in spans])

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        if isinstance(index, slice):
            return list(zip(self._starts[index], self._ends[index], strict=True))
        return self._starts[index], self._ends[index]

    def between(self, start: int, end: int) -> int:
        """Tokens that end in (start, end]."""
        return bisect_right(self._ends, end) - bisect_right(self._ends, start)

    def reach(self, start: int, count: int, size: int) -> int:
        """The furthest offset, at most `size`, such that at most `count` tokens end in (start, offset]."""
        index = bisect_right(self._ends, start) + count
        if index >= len(self._ends):
            return size
        after = self._starts[index]
        return after if after > start else max(self._ends[index] - 1, start)


def measure(texts: Sequence[str], tokenize_many: Callable[[list[str]], Sequence[Offsets]]) -> list[Offsets]:
    """The tokens of many texts, for `chunk_section`, in bounded memory.

    A tokenizer's result takes over a hundred bytes a token: texts are tokenized in batches, long ones in
    parts that end at a line end or blank, and the spans of those are packed.

    Args:
        texts: sections' texts.
        tokenize_many: the embedding model's tokenizer for a batch, as `Tokenize` for one text.

    Returns:
        The offsets of each text's tokens; its length is the text's token count.
    """
    spans: list[Offsets] = [()] * len(texts)
    batch: list[tuple[int, int, str]] = []
    waiting = 0
    for number, text in enumerate(texts):
        parts = _parts(text)
        if len(parts) > 1:
            spans[number] = TokenSpans()
        for base, part in parts:
            batch.append((number, base, part))
            waiting += len(part)
            if waiting >= _BATCH_CHARS:
                _measure(batch, tokenize_many, spans)
                batch, waiting = [], 0
    _measure(batch, tokenize_many, spans)
    return spans


def _measure(
    batch: list[tuple[int, int, str]],
    tokenize_many: Callable[[list[str]], Sequence[Offsets]],
    spans: list[Offsets],
) -> None:
    found = tokenize_many([part for _, _, part in batch]) if batch else ()
    for (number, base, _), offsets in zip(batch, found, strict=True):
        known = spans[number]
        if isinstance(known, TokenSpans):
            known.extend(base, offsets)
        else:
            spans[number] = offsets


def _parts(text: str) -> list[tuple[int, str]]:
    """A text in parts of bounded size with their offsets, cut after line ends or blanks where there are any."""
    if len(text) <= _PART_CHARS:
        return [(0, text)]
    parts: list[tuple[int, str]] = []
    start = 0
    while start < len(text):
        end = start + _PART_CHARS
        if end < len(text):
            cut = max(text.rfind(mark, start + _PART_CHARS // 2, end) for mark in "\n ")
            end = cut + 1 if cut > 0 else end
        parts.append((start, text[start:end]))
        start = end
    return parts
