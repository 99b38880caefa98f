"""Where a section may be cut: headings, paragraphs, list items, lines; tables and code that stay whole."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_FENCE = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_ITEM = re.compile(r"([ \t]*)(?:>[ \t]*)*(?:[-*+]|\d{1,9}[.)])[ \t]")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")
_DELIMITER = frozenset("|:- \t>")

# Characters that continue the one before: UAX 29's Extend and SpacingMark by general category, and joiners.
_JOINER = "\u200d"
_MODIFIERS = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_FLAGS = range(0x1F1E6, 0x1F200)
_EXTENDERS = "\u200d\u200c\u0e33\u0eb3"
_PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"
_JAMO = (
    ("L", 0x1100, 0x115F), ("V", 0x1160, 0x11A7), ("T", 0x11A8, 0x11FF), ("L", 0xA960, 0xA97C),
    ("V", 0xD7B0, 0xD7C6), ("T", 0xD7CB, 0xD7FB),
)  # fmt: skip
_SYLLABLE = frozenset(
    {
        ("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"), ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"),
        ("LVT", "T"), ("T", "T"),
    }
)  # fmt: skip


class Rank(IntEnum):
    """How good a place is to cut; smaller is better."""

    HEADING = 0
    PARAGRAPH = 1
    ITEM = 2
    SUBITEM = 3
    LINE = 4


@dataclass(frozen=True, slots=True)
class Region:
    """A table or a fenced code block.

    Attributes:
        start: offset where it starts.
        end: offset after it.
        kind: which of the two.
        header_end: offset after a table's header and delimiter rows; `start` for code.
        inner: offsets at which it may be cut when it does not fit: row starts, code lines.
    """

    start: int
    end: int
    kind: Literal["table", "code"]
    header_end: int
    inner: tuple[int, ...]


@dataclass(slots=True)
class Layout:
    """The places of a text where it may be cut, outside tables and code, and the tables and code blocks.

    Attributes:
        positions: offsets of line starts, ascending. A line that belongs to the one before it (the first
            after a heading) is not among them.
        ranks: the rank of each position.
        regions: tables and code blocks, ascending.
    """

    positions: list[int] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    def best(self, low: int, high: int, worst: Rank) -> int | None:
        """The last position in [low, high] of rank `worst` or better, the better ones first in doubt."""
        found: int | None = None
        for index in range(bisect_right(self.positions, high) - 1, -1, -1):
            if self.positions[index] < low:
                break
            if self.ranks[index] <= worst:
                found = self.positions[index]
                break
        return found

    def region_at(self, offset: int) -> Region | None:
        """The table or code block that `offset` is inside of: after its start and before its end."""
        index = bisect_left(self.regions, offset, key=lambda region: region.start) - 1
        if index >= 0 and self.regions[index].end > offset:
            return self.regions[index]
        return None

    def touches_region(self, offset: int) -> bool:
        """Whether `offset` is inside of a table or code block, or at its start or end."""
        index = bisect_right(self.regions, offset, key=lambda region: region.start) - 1
        return index >= 0 and self.regions[index].end >= offset


def scan(text: str) -> Layout:
    """Find the places where a text may be cut, in one pass over its lines."""
    lines = [match.span() for match in _LINE.finditer(text) if match.end() > match.start()]
    layout = Layout()
    index = 0
    blank = glued = in_list = False
    while index < len(lines):
        start, end = lines[index]
        line = text[start:end].rstrip("\r\n")
        if not line.strip():
            blank = True
            index += 1
            continue
        item = _ITEM.match(line)
        region_end = _code_end(text, lines, index) or _table_end(text, lines, index)
        heading = region_end is None and _HEADING.match(line) is not None
        in_list = item is not None or (in_list and (not blank or line[0] in " \t"))
        if index and (not glued or heading):
            layout.positions.append(start)
            layout.ranks.append(
                _rank(line, item, heading=heading, blank=blank, in_list=in_list, after=layout)
            )
        if region_end is not None:
            layout.regions.append(_region(text, lines, index, region_end))
            index = region_end
        else:
            index += 1
        glued, blank = heading, False
    return layout


def _rank(
    line: str, item: re.Match[str] | None, *, heading: bool, blank: bool, in_list: bool, after: Layout
) -> Rank:
    if heading:
        return Rank.HEADING
    if item is not None:
        return Rank.ITEM if len(item[1].expandtabs(4)) < 2 else Rank.SUBITEM
    if blank:
        return Rank.SUBITEM if in_list and line[0] in " \t" else Rank.PARAGRAPH
    if after.regions and after.regions[-1].end == after.positions[-1]:
        return Rank.PARAGRAPH
    return Rank.LINE


def _code_end(text: str, lines: list[tuple[int, int]], index: int) -> int | None:
    """Index of the line after a fenced block that opens at `index`; the end of the text closes any fence."""
    opening = _FENCE.match(text[slice(*lines[index])].rstrip("\r\n"))
    if opening is None:
        return None
    fence = opening[1]
    for number in range(index + 1, len(lines)):
        mark = text[slice(*lines[number])].strip(" \t>\r\n")
        if len(mark) >= len(fence) and not mark.strip(fence[0]):
            return number + 1
    return len(lines)


def _table_end(text: str, lines: list[tuple[int, int]], index: int) -> int | None:
    """Index of the line after a GFM table whose header row is at `index`."""
    if index + 1 >= len(lines) or "|" not in text[slice(*lines[index])]:
        return None
    delimiter = text[slice(*lines[index + 1])].rstrip("\r\n")
    if "-" not in delimiter or "|" not in delimiter or not _DELIMITER.issuperset(delimiter):
        return None
    for number in range(index + 2, len(lines)):
        if "|" not in text[slice(*lines[number])]:
            return number
    return len(lines)


def _region(text: str, lines: list[tuple[int, int]], first: int, after: int) -> Region:
    start, end = lines[first][0], lines[after - 1][1]
    if _FENCE.match(text[slice(*lines[first])].rstrip("\r\n")):
        inner = tuple(lines[number][0] for number in range(first + 2, after - 1))
        return Region(start, end, "code", start, inner)
    inner = tuple(lines[number][0] for number in range(first + 3, after))
    return Region(start, end, "table", lines[first + 1][1], inner)


def is_grapheme_break(text: str, offset: int) -> bool:
    """Whether a text may be cut before `offset` without parting what is seen as one character.

    After UAX 29: combining marks, joiners, variation selectors, emoji modifiers, flags, Hangul jamo, Indic
    conjuncts and CR LF stay together. Where the standard leaves a doubt, there is no break.
    """
    if offset <= 0 or offset >= len(text):
        return True
    before, after = text[offset - 1], text[offset]
    if before < " " or before in "\u2028\u2029\x85":
        return not (before == "\r" and after == "\n")
    if before == _JOINER or before in _PREPENDED:
        return False
    if after < "\u0300":
        return True
    code = ord(after)
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or after in _EXTENDERS:
        return False
    if code in _MODIFIERS or code in _TAGS or unicodedata.combining(before) == 9:
        return False
    if code in _FLAGS and ord(before) in _FLAGS:
        run = 1
        while offset - 1 - run >= 0 and ord(text[offset - 1 - run]) in _FLAGS:
            run += 1
        return run % 2 == 0
    return (_hangul(before), _hangul(after)) not in _SYLLABLE


def _hangul(char: str) -> str:
    """The place of a Hangul character in a syllable: L, V, T, LV or LVT; "" for others."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:
        return "LVT" if (code - 0xAC00) % 28 else "LV"
    for name, first, last in _JAMO:
        if first <= code <= last:
            return name
    return ""
