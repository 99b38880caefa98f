"""What the lines of a PDF are: running heads, headings by outline or by type, paragraphs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from graph_agent.ingest.convert.pdf_layout import Line

_EDGE = 0.18
"""Running heads and feet stand in this part of the page's height, at either end."""

_PAGE_NUMBER = re.compile(r"(?:page|seite|p\.)\s*\d+(?:\s*(?:of|von|/)\s*\d+)?", re.IGNORECASE)
_NUMBERED = re.compile(
    r"^(?:(?:chapter|section|part|appendix|kapitel|abschnitt)\s+)?(\d{1,2}(?:\.\d{1,3}){0,5})\.?\s+\S",
    re.IGNORECASE,
)
_PAGE_NUMBER = re.compile(
    r"^\W*(?:page|seite|p\.|pg\.?)?\s*(\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/|von|de)\s*\d{1,4})?\W*$",
    re.IGNORECASE,
)
_SAME_LINE = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One bookmark of a PDF's outline.

    Attributes:
        level: 1 for the top.
        title: as in the outline.
        page: 1-based page it points to.
        y: distance from the page's upper edge in points, or None if it names the page only.
    """

    level: int
    title: str
    page: int
    y: float | None


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a section starts.

    Attributes:
        first: index of the first line of the section.
        last: index after the last line of the heading itself; equal to `first` if its text is not in the page.
        level: 1 for the top.
        title: one line.
    """

    first: int
    last: int
    level: int
    title: str


def without_running_heads(pages: Sequence[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """Pages without the headers, footers and page numbers that repeat.

    A line is one if it stands at a page's edge, apart from the body, and the same text stands at that
    height on at least three pages and a third of all. Digits may differ in lines of body size or smaller
    (a larger "Section 3" is a heading). On two pages only consecutive page numbers are taken out.
    """
    count = len(pages)
    if count < 2:
        return list(pages)
    edges = [_edge_lines(lines, height) for lines, height in zip(pages, heights, strict=True)]
    body = _body_size([line for page in pages for line in page]) or 0.0
    places: defaultdict[tuple[str, bool], list[float]] = defaultdict(list)
    for found in edges:
        for line, upper in found:
            places[(_signature(line, body), upper)].append(line.base)
    needed = max(3, -(-count // 3))
    repeated = {key for key, bases in places.items() if _at_one_height(bases) >= needed}
    numbered = _page_numbers(edges)
    out = []
    for lines, found in zip(pages, edges, strict=True):
        running = {
            id(line)
            for line, upper in found
            if (_signature(line, body), upper) in repeated or (numbered and _PAGE_NUMBER.match(line.text))
        }
        kept = [line for line in lines if id(line) not in running]
        out.append(kept or list(lines))
    return out


def _at_one_height(bases: list[float]) -> int:
    """How many baselines lie within 3 points of their median: a head keeps its place, repeated prose does not."""
    middle = sorted(bases)[len(bases) // 2]
    return sum(1 for base in bases if abs(base - middle) <= 3)


def _edge_lines(lines: list[Line], height: float) -> list[tuple[Line, bool]]:
    """Lines in the margin zones, each with whether it is the upper one: those that a gap parts from the body."""
    ordered = sorted((line for line in lines if not line.table), key=lambda line: line.base)
    upper = _before_gap([line for line in ordered if line.base < _EDGE * height], ordered, 1)
    lower = _before_gap(
        [line for line in reversed(ordered) if line.base > (1 - _EDGE) * height], ordered[::-1], -1
    )
    return [*((line, True) for line in upper), *((line, False) for line in lower if line not in upper)]


def _before_gap(zone: list[Line], ordered: list[Line], sign: int) -> list[Line]:
    """The lines from the page's edge to the first gap, at most four; none if the text begins without a gap."""
    for count in range(1, min(len(zone), 4) + 1):
        last = zone[count - 1]
        if count == len(ordered):
            return zone[:count]
        gap = sign * (ordered[count].base - last.base)
        if gap > 1.7 * max(last.size, ordered[count].size):
            return zone[:count]
    return []


def _signature(line: Line, body: float) -> str:
    text = " ".join(line.text.casefold().split())
    return text if line.size > 1.08 * body or line.bold else re.sub(r"\d+", "#", text)


def _page_numbers(edges: Sequence[list[tuple[Line, bool]]]) -> bool:
    """Whether numbers alone on an edge line count up with the pages."""
    offsets: Counter[int] = Counter()
    for index, found in enumerate(edges):
        for line, _ in found:
            match = _PAGE_NUMBER.match(line.text)
            if match and match[1].isdigit():
                offsets[int(match[1]) - index] += 1
    return bool(offsets) and offsets.most_common(1)[0][1] >= max(2, len(edges) // 2)


def outline_headings(entries: Sequence[Entry], lines: Sequence[Line]) -> tuple[list[Heading], int]:
    """Where the entries of an outline start.

    Returns:
        The headings in the order of the text, and how many titles were found in it. An entry whose title
        is not in the text starts at the place that it points to.
    """
    by_page: defaultdict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        by_page[line.page].append(index)
    found = 0
    headings: list[Heading] = []
    for entry in entries:
        match = _find_title(entry, lines, by_page)
        if match is not None:
            found += 1
            headings.append(Heading(match[0], match[1], entry.level, entry.title))
        else:
            start = _place(entry, lines, by_page)
            headings.append(Heading(start, start, entry.level, entry.title))
    headings.sort(key=lambda heading: heading.first)  # stable: the outline's order at one place
    return _apart(headings), found


def _apart(headings: list[Heading]) -> list[Heading]:
    """No line belongs to two headings: of those found at the same line the first keeps it."""
    out: list[Heading] = []
    end = -1
    for heading in headings:
        if heading.first < end:
            if heading.last > heading.first:
                continue
            heading = Heading(end, end, heading.level, heading.title)
        out.append(heading)
        end = max(end, heading.last)
    return out


def _letters(text: str) -> str:
    return _SAME_LINE.sub("", text.casefold())


def _find_title(
    entry: Entry, lines: Sequence[Line], by_page: defaultdict[int, list[int]]
) -> tuple[int, int] | None:
    """The lines (first, after last) that are an entry's title, nearest to where it points."""
    wanted = _letters(entry.title)
    if not wanted:
        return None
    best: tuple[float, tuple[int, int]] | None = None
    for page in (entry.page, entry.page + 1, entry.page - 1):
        for index in by_page.get(page, ()):
            if lines[index].table:
                continue
            stop = _title_end(wanted, lines, index)
            if stop is None:
                continue
            distance = 0.0 if entry.y is None else abs(lines[index].base - entry.y)
            distance += 5_000.0 * (page != entry.page) - lines[index].size - 5.0 * lines[index].bold
            if best is None or distance < best[0]:
                best = (distance, (index, stop))
        if best is not None:
            return best[1]
    return None


def _title_end(wanted: str, lines: Sequence[Line], index: int) -> int | None:
    """The index after the title's lines if they start at `index`: up to three, with or without a number."""
    text = ""
    for stop in range(index + 1, min(index + 4, len(lines) + 1)):
        line = lines[stop - 1]
        if line.table or line.page != lines[index].page:
            return None
        text += _letters(line.text)
        if text == wanted or (text.endswith(wanted) and _is_number(text[: -len(wanted)])):
            return stop
        if wanted.endswith(text) and _is_number(wanted[: -len(text)]):
            return stop
        if len(text) > len(wanted) + 12:
            return None
    return None


def _is_number(text: str) -> bool:
    """Whether what stands before a title is its number ("21", "iv", "a3", "chapter2")."""
    return bool(
        re.fullmatch(r"(?:chapter|section|part|appendix|kapitel)?(?:[a-z]?\d{0,6}|[ivxlc]{1,6})", text)
    )


def _place(entry: Entry, lines: Sequence[Line], by_page: defaultdict[int, list[int]]) -> int:
    """The first line at or below the point of an entry."""
    indexes = by_page.get(entry.page, [])
    if entry.y is not None:
        for index in indexes:
            if lines[index].base >= entry.y - 2:
                return index
    if indexes:
        return indexes[0]
    later = [page for page in by_page if page > entry.page]
    return by_page[min(later)][0] if later else len(lines)


def typographic_headings(lines: Sequence[Line]) -> list[Heading]:
    """Headings by type: larger than the body, or bold lines that stand alone; levels by size and numbering."""
    body = _body_size(lines)
    if body is None:
        return []
    marks = [_rank(line, index, lines, body) for index, line in enumerate(lines)]
    groups = _joined(lines, marks)
    total = sum(len(line.text) for line in lines)
    if not groups or sum(len(title) for _, _, title, _ in groups) > 0.4 * total:
        return []
    sizes = sorted({round(size) for _, _, _, size in groups}, reverse=True)
    rank = {size: position + 1 for position, size in enumerate(sizes)}
    numbers = {
        first: match[1].count(".") + 1 for first, _, title, _ in groups if (match := _NUMBERED.match(title))
    }
    top = min((rank[round(size)] for first, _, _, size in groups if numbers.get(first) == 1), default=1)
    headings = []
    for first, last, title, size in groups:
        level = rank[round(size)]
        if len(numbers) >= 3 and first in numbers:
            level = top + numbers[first] - 1
        headings.append(Heading(first, last, min(level, 6), title))
    return headings


def _body_size(lines: Sequence[Line]) -> float | None:
    sizes: Counter[float] = Counter()
    for line in lines:
        if not line.table and not line.scanned:
            sizes[line.size] += len(line.text)
    return max(sorted(sizes), key=lambda size: sizes[size]) if sizes else None


def _rank(line: Line, index: int, lines: Sequence[Line], body: float) -> float:
    """The size as which a line counts as a heading, or 0 if it is none; bold body-size lines count a bit more."""
    text = line.text
    if line.table or line.mono or line.scanned or len(text) > 160 or sum(char.isalpha() for char in text) < 2:
        return 0.0
    numbered = bool(_NUMBERED.match(text))
    if _PAGE_NUMBER.fullmatch(text):
        return 0.0
    if text.endswith((",", ";", "-")) or (text.endswith(".") and not numbered and len(text) > 60):
        return 0.0
    if line.size >= 1.12 * body:
        return line.size
    if (
        not line.bold
        or line.pieces > 1 + numbered
        or line.size < 0.95 * body
        or len(text) > 90
        or text.endswith((".", ":"))
    ):
        return 0.0
    before = lines[index - 1] if index else None
    apart = (
        before is None
        or before.page != line.page
        or before.table
        or line.base - before.base > 1.4 * line.size
    )
    after = lines[index + 1] if index + 1 < len(lines) else None
    followed = after is not None and (not after.bold or after.page != line.page)
    return body + 0.6 if followed and (numbered or apart) else 0.0


def _joined(lines: Sequence[Line], marks: Sequence[float]) -> list[tuple[int, int, str, float]]:
    """Headings over up to three lines put together: (first, after last, title, size)."""
    groups: list[tuple[int, int, str, float]] = []
    for index, size in enumerate(marks):
        if not size:
            continue
        line = lines[index]
        if groups:
            first, last, title, before = groups[-1]
            above = lines[index - 1]
            near = line.page == above.page and 0 < line.base - above.base < 1.7 * line.size
            if (
                last == index
                and abs(before - size) < 0.6
                and near
                and last - first < 3
                and not _NUMBERED.match(line.text)
            ):
                groups[-1] = (first, index + 1, f"{title} {line.text}", before)
                continue
        groups.append((index, index + 1, line.text, size))
    return groups
