"""A section to chunks that fit the embedding model's window, measured in the model's own tokens.

What is embedded for a chunk is `text.passage_text(breadcrumb, chunk.text)`; the size counts all of it, so
that nothing is cut silently. Cuts are made, in this order of preference, before a heading, between
paragraphs, list items, lines, sentences, words, and only then inside a word, never inside a character.
Tables and code blocks stay whole when they fit; a table that does not is cut between rows, with its header
repeated. Neighbours overlap by whole sentences, only where a paragraph was cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from graph_agent.ingest.boundaries import Layout, Rank, Region, is_grapheme_break, scan
from graph_agent.ingest.decoding import line_starts
from graph_agent.ingest.document import Chunk, Section
from graph_agent.ingest.sections import page_at
from graph_agent.ingest.tokens import Offsets, Tokenize, TokenSpans, measure
from graph_agent.text.folding import passage_text, shorten_breadcrumb
from graph_agent.text.sentences import sentence_starts

MIN_SIZE = 16
"""The least that a chunk may be asked to hold, in tokens."""

_CHARS_PER_TOKEN = 12  # at most so many on average: to a tokenizer, a word of 20,000 letters is one token
_TRAIL_SHARE = 3  # the breadcrumb takes at most a third of the window
_LEADING_BLANK = re.compile(r"(?:[ \t\f\v]*(?:\r\n?|\n))*")
_SOFT_BREAK = re.compile(r"[,;:、，；：)\]}>|/&=.\u2014_-](?=[^\s,;:)\]}])")
_BLANKS = " \t\n\r\u00a0\u3000"
_PARAGRAPH = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")


def chunk_section(
    section: Section,
    tokenize: Tokenize,
    size: int,
    overlap: int = 0,
    pages: Sequence[tuple[int, int]] = (),
    *,
    offsets: Offsets | None = None,
) -> list[Chunk]:
    """Cut a section into chunks; a section whose text is blank has none.

    Every word of the section is in some chunk, and no chunk is blank. What counts as embedded is
    `passage_text(fit_breadcrumb(section.breadcrumb, tokenize, size), chunk.text)`.

    Args:
        section: with its text and breadcrumb.
        tokenize: the embedding model's tokenizer.
        size: tokens of the embedded text (breadcrumb, line end, chunk), special tokens not counted;
            at least 16.
        overlap: tokens of whole sentences repeated after a cut inside a paragraph; at most a quarter of `size`.
        pages: `Converted.pages`, for the chunks' pages.
        offsets: the tokens of the section's text, if they are at hand (from `tokens.measure`).
    """
    if not section.text.strip():
        return []
    size = max(size, MIN_SIZE)
    breadcrumb, trail = _fitted(section.breadcrumb, tokenize, size)
    cutter = _Cutter(section.text, tokenize, breadcrumb, trail, size, overlap, offsets)
    lines = line_starts(section.text)
    page_starts = [start for start, _ in pages]
    return [
        Chunk(
            index=index,
            text=piece.text,
            start=section.start + piece.start,
            start_line=section.start_line + bisect_right(lines, piece.start) - 1,
            page=page_at(pages, section.start + piece.start, page_starts) or section.page_start,
            token_count=piece.tokens,
        )
        for index, piece in enumerate(cutter.pieces())
    ]


def fit_breadcrumb(breadcrumb: Sequence[str], tokenize: Tokenize, size: int) -> tuple[str, ...]:
    """The breadcrumb to embed a section's chunks with: unchanged, unless it takes over a third of the window.

    Then titles in the middle are left out first, then the document's, and at last the section's is cut.

    Args:
        breadcrumb: `Section.breadcrumb`.
        tokenize: the embedding model's tokenizer.
        size: as for `chunk_section`.
    """
    return _fitted(breadcrumb, tokenize, max(size, MIN_SIZE))[0]


def _fitted(breadcrumb: Sequence[str], tokenize: Tokenize, size: int) -> tuple[tuple[str, ...], int]:
    """The breadcrumb that fits, and the tokens of its line."""
    limit = size // _TRAIL_SHARE
    count = _trail_tokens(breadcrumb, tokenize)
    if count <= limit:
        return tuple(breadcrumb), count
    crumbs = shorten_breadcrumb(breadcrumb)
    while len(crumbs) > 1 and (count := _trail_tokens(crumbs, tokenize)) > limit:
        del crumbs[1 if len(crumbs) > 2 else 0]
    while crumbs[0] and (count := _trail_tokens(crumbs, tokenize)) > limit:
        spans = tokenize(crumbs[0])
        crumbs[0] = crumbs[0][: spans[min(limit, len(spans) - 1)][0] if spans else 0].rstrip()
    return (tuple(crumbs), count) if crumbs[0] else ((), 0)


def _trail_tokens(breadcrumb: Sequence[str], tokenize: Tokenize) -> int:
    trail = passage_text(breadcrumb, "")
    return len(tokenize(trail)) if trail else 0


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    text: str
    tokens: int


def _blank_lines(text: str, start: int, end: int) -> int:
    """The offset after the blank lines at `start`."""
    blank = _LEADING_BLANK.match(text, start, end)
    return blank.end() if blank else start


class _Cutter:
    """Cuts one section's text from front to back."""

    def __init__(
        self,
        text: str,
        tokenize: Tokenize,
        breadcrumb: tuple[str, ...],
        trail: int,
        size: int,
        overlap: int,
        offsets: Offsets | None,
    ) -> None:
        self._text = text
        self._tokenize = tokenize
        self._breadcrumb = breadcrumb
        self._trail = trail
        self._size = size
        self._overlap = min(overlap, size // 4)
        self._max_chars = size * _CHARS_PER_TOKEN
        self._offsets = (
            offsets if offsets is not None else measure([text], lambda batch: [*map(tokenize, batch)])[0]
        )
        self._tokens = TokenSpans()
        self._layout = Layout()

    def pieces(self) -> list[_Piece]:
        """All chunks' texts; at least one if the text is not blank."""
        if self._trail + len(self._offsets) <= self._size:
            first = _blank_lines(self._text, 0, len(self._text))
            whole = self._text[first:].rstrip()
            if len(whole) <= self._max_chars:
                return [_Piece(first, whole, self._trail + len(self._offsets))]
        packed = isinstance(self._offsets, TokenSpans)
        self._tokens = self._offsets if packed else TokenSpans(self._offsets)  # type: ignore[assignment]
        self._layout = scan(self._text)
        pieces: list[_Piece] = []
        wordless: list[_Piece] = []
        start = floor = 0
        while floor < len(self._text):
            piece, end = self._next(start, floor)
            if piece is not None and piece.tokens > self._size and start < floor:
                piece, end = self._next(floor, floor)  # better no overlap than too long
            if piece is not None:
                (pieces if any(map(str.isalnum, piece.text)) else wordless).append(piece)
            start, floor = self._overlapped(start, end), end
        return pieces or wordless[:1]

    def _next(self, start: int, floor: int) -> tuple[_Piece | None, int]:
        """The chunk that starts at `start` and reaches beyond `floor`, and where it ends."""
        header = self._header(start)
        budget = max(self._size - self._trail - self._tokens.between(*header), 1)
        chars = self._max_chars - (header[1] - header[0])
        while True:
            end = self._whole_character(floor, self._cut(start, floor, budget, chars))
            piece = self._piece(start, end, header)
            if piece is None or piece.tokens <= self._size or chars <= 1:
                return piece, end
            # Part of a word can take more tokens than all of it (an unknown word is one): fewer characters, too.
            budget = max(1, budget - (piece.tokens - self._size))
            chars = min(end - start - 1, (end - start) * self._size // piece.tokens)

    def _piece(self, start: int, end: int, header: tuple[int, int] = (0, 0)) -> _Piece | None:
        """The chunk of a span with blanks trimmed, None if nothing is left; its tokens counted exactly."""
        text = self._text
        first = _blank_lines(text, start, end)
        body = text[first:end].rstrip()
        if not body.strip():
            return None
        last = first + len(body)
        prefix = text[slice(*header)]
        if self._is_clean(first) and self._is_clean(last + 1):
            count = self._trail + self._tokens.between(*header) + self._tokens.between(first, last)
        else:
            count = len(self._tokenize(passage_text(self._breadcrumb, prefix + body)))
        return _Piece(first, prefix + body, count)

    def _reach(self, start: int, count: int) -> int:
        return self._tokens.reach(start, count, len(self._text))

    def _is_clean(self, offset: int) -> bool:
        """Whether a blank stands before `offset`: there tokens add up, elsewhere they are counted anew."""
        return offset == 0 or offset > len(self._text) or self._text[offset - 1] in _BLANKS

    def _header(self, start: int) -> tuple[int, int]:
        """The span of the header rows to repeat on a chunk that starts inside a table; else an empty one."""
        region = self._layout.region_at(start)
        if region is None or region.kind != "table" or start < region.header_end:
            return 0, 0
        room = (self._size - self._trail) // 2
        span = (region.start, region.header_end)
        too_long = self._tokens.between(*span) > room or span[1] - span[0] > self._max_chars // 2
        return (0, 0) if too_long else span

    def _cut(self, start: int, floor: int, budget: int, chars: int) -> int:
        """Where the chunk from `start` ends: after `floor`, within the budget whenever that is possible."""
        size = len(self._text)
        left = self._tokens.between(start, size)
        limit = min(self._reach(start, budget), start + max(chars, 1))
        if limit >= size:
            return size
        # Two chunks to go: make them about equal rather than one full and one crumb.
        target = budget if left > 2 * budget else max(1, (left * 3 + 4) // 5)
        high = max(min(limit, self._reach(start, target)), floor + 1)
        low = max(floor + 1, self._reach(start, target // 2))
        region = self._layout.region_at(high)
        if region is not None:
            return self._cut_at_region(region, start, floor, limit, budget)
        if limit <= floor:
            return self._hard(floor, floor + 1)
        return self._soft(start, floor, low, high, limit)

    def _cut_at_region(self, region: Region, start: int, floor: int, limit: int, budget: int) -> int:
        """A cut near a table or code block: before it, after it, and between its rows or lines if it must be."""
        before = region.start > floor and bool(self._text[start : region.start].strip())
        full = self._tokens.between(start, region.start) >= 0.35 * budget
        if before and full:
            third = self._reach(start, budget // 3)
            return self._layout.best(max(third, floor + 1), region.start, Rank.PARAGRAPH) or region.start
        if region.end <= limit:
            return region.end
        fits = self._tokens.between(region.start, region.end) <= budget
        if before and fits:
            return region.start
        index = bisect_right(region.inner, limit) - 1
        if index >= 0 and region.inner[index] > floor:
            return region.inner[index]
        if before:
            return region.start
        high = max(limit, floor + 1)
        return self._soft(start, floor, floor + 1, high, high)

    def _soft(self, start: int, floor: int, low: int, high: int, limit: int) -> int:
        """The best place in (floor, limit]: between `low` and `high` if there is a good one."""
        layout = self._layout
        for begin, end in ((low, high), (high, limit)):
            for worst in (Rank.PARAGRAPH, Rank.ITEM, Rank.SUBITEM):
                if (found := layout.best(begin, end, worst)) is not None:
                    return found
        sentence = self._last_sentence(max(start, low - self._max_chars), low, high)
        line = layout.best(low, high, Rank.LINE)
        if (found := sentence if sentence is not None else line) is not None:
            return found
        early = layout.best(floor + 1, low, Rank.SUBITEM) or self._last_sentence(start, floor + 1, low)
        if early is None:
            early = layout.best(floor + 1, low, Rank.LINE)
        word = self._last_word(floor + 1, high)
        if early is not None and self._tokens.between(start, early) * 4 >= self._tokens.between(start, high):
            return early
        return word or early or self._hard(floor, high)

    def _last_sentence(self, begin: int, low: int, high: int) -> int | None:
        found: int | None = None
        for position in sentence_starts(self._text, begin, min(high + 1, len(self._text))):
            if position > high:
                break
            if position >= low:
                found = position
        return found

    def _last_word(self, low: int, high: int) -> int | None:
        """The start of the last word in [low, high], unless that word is itself too long for a chunk."""
        text = self._text
        if high >= len(text) or text[high - 1].isspace() or text[high].isspace():
            return high
        found = max(text.rfind(mark, low - 1, high) for mark in " \n\r\t\u3000") + 1
        if found < low:
            return None
        room = self._size - self._trail
        after = min((p for p in (text.find(mark, high) for mark in " \n") if p >= 0), default=len(text))
        too_long = self._tokens.between(found, after) > room or after - found > self._max_chars
        return None if too_long else found

    def _hard(self, floor: int, high: int) -> int:
        """A cut inside a word: after punctuation in the last quarter, else between two characters."""
        text = self._text
        soft = [
            match.end() for match in _SOFT_BREAK.finditer(text, max(floor, high - (high - floor) // 4), high)
        ]
        for position in reversed(soft):
            if position > floor and is_grapheme_break(text, position):
                return position
        position = high
        while position > floor and not is_grapheme_break(text, position):
            position -= 1
        return position if position > floor else high

    def _overlapped(self, begin: int, end: int) -> int:
        """Where the next chunk starts: at `end`, or some sentences earlier if a paragraph was cut there."""
        if not self._overlap or end >= len(self._text):
            return end
        layout = self._layout
        index = bisect_right(layout.positions, end) - 1
        at_block = index >= 0 and layout.positions[index] == end and layout.ranks[index] <= Rank.SUBITEM
        if at_block or layout.touches_region(end):
            return end
        low = max(self._reach(begin, max(self._tokens.between(begin, end) - self._overlap, 0)), begin + 1)
        low = max(low, end - self._max_chars // 4)
        for position in sentence_starts(self._text, begin, end):
            if position < low or self._tokens.between(position, end) > self._overlap:
                continue
            apart = layout.region_at(position) is None and is_grapheme_break(self._text, position)
            if apart and not _PARAGRAPH.search(self._text, position, end):
                return position
        return end

    def _whole_character(self, floor: int, end: int) -> int:
        while end > floor + 1 and not is_grapheme_break(self._text, end):
            end -= 1
        return end
