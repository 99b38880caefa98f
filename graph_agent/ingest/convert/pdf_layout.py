"""From words on a page to text blocks in reading order: rows, columns, paragraphs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from graph_agent.ingest.convert.pdf_glyphs import Word

_SEGMENT_GAP = 0.85
"""A gap of this many type sizes ends a segment: wider than any justified word space, narrower than a gutter."""

_MARKER = re.compile(
    "[\u2022\u2023\u25aa\u25ab\u25a0\u25cf\u25cb\u25e6\u2043\u2219\u27a2\uf0b7\uf0a7\uf0d8\u2013\u00b7]|\\(?[0-9a-zA-Z]{1,3}[.)]"
)
"""What stands before a list item; the item begins at a tab stop, up to _MARKER_GAP type sizes away."""

_MARKER_GAP = 4.0


@dataclass(slots=True)
class Segment:
    """Words of one baseline without a wide gap; `cells` of a row, or one line of a column."""

    words: list[Word]
    x0: float
    x1: float
    base: float
    size: float

    @property
    def text(self) -> str:
        """The words with single blanks, in logical order."""
        return words_text(self.words)


@dataclass(slots=True)
class Row:
    """Segments on one baseline, left to right."""

    segments: list[Segment]
    base: float
    size: float

    @property
    def x0(self) -> float:
        """Left edge."""
        return self.segments[0].x0

    @property
    def x1(self) -> float:
        """Right edge."""
        return max(segment.x1 for segment in self.segments)


@dataclass(slots=True)
class Line:
    """One line of text in reading order.

    Attributes:
        text: on one line; for a table its whole Markdown.
        x0: left edge, points.
        x1: right edge.
        base: baseline.
        size: type size.
        bold: whether all of it is heavy.
        page: 1-based.
        table: whether `text` is a Markdown table.
        mono: whether all of it is of fixed pitch.
        column: left and right edge of the column it stands in.
        pieces: parts with wide gaps between them.
        scanned: whether it was recognised in a picture: its size is then that of its letters, and shows no heading.
    """

    text: str
    x0: float
    x1: float
    base: float
    size: float
    bold: bool
    page: int
    table: bool = False
    mono: bool = False
    column: tuple[float, float] = field(default=(0.0, 0.0))
    pieces: int = 1
    scanned: bool = False


def words_text(words: Sequence[Word]) -> str:
    """Words of one line as text; in a right-to-left line, runs of left-to-right words keep their order."""
    if sum(len(word.text) for word in words if word.rtl) * 2 <= sum(len(word.text) for word in words):
        return " ".join(word.text for word in words)
    out: list[str] = []
    run: list[str] = []
    for word in reversed(words):
        if word.rtl or not any(char.isalnum() for char in word.text):
            out.extend(reversed(run))
            run = []
            out.append(word.text)
        else:
            run.append(word.text)
    return " ".join([*out, *reversed(run)])


def rows_of(words: Sequence[Word]) -> list[Row]:
    """Group words into rows by baseline, and each row into segments by wide gaps."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda item: (item.base, item.x0)):
        for row in reversed(rows[-4:]):
            if _same_row(row, word):
                row.append(word)
                break
        else:
            rows.append([word])
    result = []
    for row in rows:
        row.sort(key=lambda item: item.x0)
        segments = _segments(row)
        size = max(segment.size for segment in segments)
        result.append(Row(segments, median(word.base for word in row), size))
    result.sort(key=lambda row: row.base)
    return result


def _same_row(row: list[Word], word: Word) -> bool:
    """Sub- and superscripts belong to the row of the larger type beside them."""
    anchor = max(row, key=lambda item: item.size)
    return (
        abs(anchor.base - word.base) < 0.35 * max(anchor.size, word.size)
        if abs(anchor.size - word.size) < 0.2 * anchor.size
        else abs(anchor.base - word.base) < 0.5 * max(anchor.size, word.size)
    )


def _segments(row: list[Word]) -> list[Segment]:
    segments: list[Segment] = []
    for word in row:
        if segments:
            last = segments[-1]
            marker = len(last.words) == 1 and _MARKER.fullmatch(last.words[0].text)
            if word.x0 - last.x1 < (_MARKER_GAP if marker else _SEGMENT_GAP) * max(last.size, word.size):
                last.words.append(word)
                last.x1 = max(last.x1, word.x1)
                last.size = max(last.size, word.size)
                continue
        segments.append(Segment([word], word.x0, word.x1, word.base, word.size))
    return segments


def reading_order(rows: list[Row], depth: int = 0) -> list[list[Row]]:
    """Rows split into groups that are read one after the other: full-width bands, then columns left to right."""
    gutter = _gutter(rows) if depth < 3 else None
    if gutter is None:
        return [rows] if rows else []
    groups: list[list[Row]] = []
    full: list[Row] = []
    band: list[Row] = []
    for row in rows:
        if any(segment.x0 < gutter < segment.x1 for segment in row.segments):
            groups.extend(_columns(band, gutter, depth))
            band = []
            full.append(row)
        else:
            if full:
                groups.append(full)
                full = []
            band.append(row)
    if full:
        groups.append(full)
    groups.extend(_columns(band, gutter, depth))
    return groups


def _columns(band: list[Row], gutter: float, depth: int) -> list[list[Row]]:
    left = [part for row in band if (part := _part(row, lambda segment: segment.x1 <= gutter)) is not None]
    right = [part for row in band if (part := _part(row, lambda segment: segment.x0 >= gutter)) is not None]
    return [*reading_order(left, depth + 1), *reading_order(right, depth + 1)]


def _part(row: Row, wanted: Callable[[Segment], bool]) -> Row | None:
    segments = [segment for segment in row.segments if wanted(segment)]
    if not segments:
        return None
    return Row(
        segments, median(segment.base for segment in segments), max(segment.size for segment in segments)
    )


def _gutter(rows: list[Row]) -> float | None:
    """The x of a white gap between two columns of prose, or None.

    A gutter has lines of prose at both sides, side by side over most of the height, and few lines across.
    """
    segments = [segment for row in rows for segment in row.segments]
    if len(segments) < 8:
        return None
    start, stop = min(segment.x0 for segment in segments), max(segment.x1 for segment in segments)
    width = stop - start
    best: tuple[int, float] | None = None
    for low, high, crossing in _gaps(segments, start + 0.15 * width, stop - 0.15 * width):
        middle = (low + high) / 2
        left = [segment for segment in segments if segment.x1 <= middle]
        right = [segment for segment in segments if segment.x0 >= middle]
        if crossing > len(left) + len(right) or not (_is_prose(left) and _is_prose(right)):
            continue
        if _side_by_side(left, right) and (best is None or crossing < best[0]):
            best = (crossing, middle)
    return None if best is None else best[1]


def _gaps(segments: list[Segment], start: float, stop: float) -> list[tuple[float, float, int]]:
    """Stretches of x that the fewest segments cross: (from, to, how many cross), fewest and widest first."""
    step = 2.0
    count = int((stop - start) / step) + 1
    if count < 2:
        return []
    changes = [0] * (count + 1)
    for segment in segments:
        first = max(0, math.ceil((segment.x0 - start) / step))
        last = min(count, math.floor((segment.x1 - start) / step) + 1)
        if first < last:
            changes[first] += 1
            changes[last] -= 1
    stretches: list[tuple[float, float, int]] = []
    crossing = 0
    for index in range(count):
        crossing += changes[index]
        x = start + index * step
        if stretches and stretches[-1][2] == crossing and index:
            stretches[-1] = (stretches[-1][0], x, crossing)
        else:
            stretches.append((x, x, crossing))
    stretches.sort(key=lambda gap: (gap[2], gap[0] - gap[1]))
    return stretches[:6]


def _is_prose(segments: list[Segment]) -> bool:
    """Whether segments look like the lines of a column: many, long, and mostly as wide as the column."""
    if len(segments) < 4:
        return False
    widths = [segment.x1 - segment.x0 for segment in segments]
    column = max(segment.x1 for segment in segments) - min(segment.x0 for segment in segments)
    ems = median(widths) / max(1.0, median(segment.size for segment in segments))
    return ems > 8 and median(widths) > 0.5 * column


def _side_by_side(left: list[Segment], right: list[Segment]) -> bool:
    top = max(min(segment.base for segment in left), min(segment.base for segment in right))
    bottom = min(max(segment.base for segment in left), max(segment.base for segment in right))
    shorter = min(
        max(segment.base for segment in side) - min(segment.base for segment in side)
        for side in (left, right)
    )
    return bottom - top > 0.5 * shorter and bottom > top


def lines_of(group: list[Row], page: int) -> list[Line]:
    """The rows of one group as lines of text, without looking for tables."""
    if not group:
        return []
    column = (min(row.x0 for row in group), max(row.x1 for row in group))
    return [line_of(row, page, column) for row in group]


def line_of(row: Row, page: int, column: tuple[float, float]) -> Line:
    """One row as a line."""
    words = [word for segment in row.segments for word in segment.words]
    letters = sum(len(word.text) for word in words)
    bold = sum(len(word.text) for word in words if word.bold) > 0.9 * letters
    sizes: dict[float, int] = {}
    for word in words:
        key = round(word.size * 2) / 2
        sizes[key] = sizes.get(key, 0) + len(word.text)
    size = max(sorted(sizes), key=lambda key: sizes[key])
    return Line(
        words_text(words),
        row.x0,
        row.x1,
        row.base,
        size,
        bold,
        page,
        mono=all(word.mono for word in words),
        column=column,
        pieces=len(row.segments),
    )
