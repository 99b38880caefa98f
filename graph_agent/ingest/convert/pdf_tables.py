"""Tables on a PDF page: by their ruled lines, else by the alignment of their cells."""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from graph_agent.ingest.convert.pdf_glyphs import PageText, Word, upright
from graph_agent.ingest.convert.pdf_layout import Line, Row, Segment, line_of, rows_of, words_text
from graph_agent.ingest.convert.writing import table

_TOUCH = 3.0
"""Lines nearer than this many points meet."""

_LEAST_RECORDS = 4
"""Lines of figures that make a band of cells several rows."""

_MAX_RULES = 4_000
"""A page with more path segments is a drawing."""

Rule = tuple[float, float, float, float]
"""A ruled line on the upright page: x0, y0, x1, y1 with x0 <= x1 and y0 <= y1."""


def page_rules(page: Any, text: PageText, objects: Sequence[Any]) -> tuple[list[Rule], list[Rule]]:
    """Horizontal and vertical lines drawn on a page, thin boxes and box outlines included.

    Args:
        page: a pypdfium2 PdfPage.
        text: its words, whose box and direction turn the lines upright.
        objects: the page's path objects.
    """
    flat: list[Rule] = []
    steep: list[Rule] = []
    for item in objects:
        for x0, y0, x1, y1 in _strokes(item):
            ax, ay = upright(x0, y0, text.box, text.quarter)
            bx, by = upright(x1, y1, text.box, text.quarter)
            rule = (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
            width, height = rule[2] - rule[0], rule[3] - rule[1]
            if height <= 1.5 and width > 8:
                flat.append(rule)
            elif width <= 1.5 and height > 6:
                steep.append(rule)
        if len(flat) + len(steep) > _MAX_RULES:
            return [], []
    return flat, steep


def _strokes(item: Any) -> list[Rule]:
    """The sides of one path object in page space."""
    from pypdfium2 import raw

    left, bottom, right, top = item.get_bounds()
    if right - left <= 2 or top - bottom <= 2:
        middle_x, middle_y = (left + right) / 2, (bottom + top) / 2
        if right - left > top - bottom:
            return [(left, middle_y, right, middle_y)]
        return [(middle_x, bottom, middle_x, top)]
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(item.raw, fill, stroke)
    count = raw.FPDFPath_CountSegments(item.raw)
    if not stroke.value and not fill.value:
        return []
    if count <= 6:  # a box, drawn or filled: its outline is an edge of cells
        return [
            (left, bottom, right, bottom), (left, top, right, top), (left, bottom, left, top), (right, bottom, right, top)
        ]  # fmt: skip
    return _segments(item, count) if stroke.value else []


def _segments(item: Any, count: int) -> list[Rule]:
    from pypdfium2 import raw

    matrix = item.get_matrix()
    x, y = ctypes.c_float(), ctypes.c_float()
    out: list[Rule] = []
    before: tuple[float, float] | None = None
    for index in range(min(count, _MAX_RULES)):
        segment = raw.FPDFPath_GetPathSegment(item.raw, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        if raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_LINETO and before is not None:
            out.append((*before, *point))
        before = point
    return out


def ruled_tables(
    words: list[Word], flat: list[Rule], steep: list[Rule], page: int
) -> tuple[list[Line], list[Word]]:
    """Tables inside grids of lines.

    Returns:
        The tables as lines of reading order, and the words that are in none of them.
    """
    tables: list[Line] = []
    rest = words
    for xs, ys in _grids(flat, steep):
        inside: list[Word] = []
        outside: list[Word] = []
        for word in rest:
            x, y = (word.x0 + word.x1) / 2, word.base - 0.3 * word.size
            (inside if xs[0] - 1 <= x <= xs[-1] + 1 and ys[0] - 1 <= y <= ys[-1] + 1 else outside).append(
                word
            )
        cells = _cells(inside, xs, ys)
        if not _is_table(cells) or _runs_across(inside, xs):
            continue
        text = table(cells)
        size = sorted(word.size for word in inside)[len(inside) // 2]
        tables.append(
            Line(text, xs[0], xs[-1], ys[0] + size, size, False, page, table=True, column=(xs[0], xs[-1]))
        )
        rest = outside
    return tables, rest


def _grids(flat: list[Rule], steep: list[Rule]) -> list[tuple[list[float], list[float]]]:
    """Edges (x of columns, y of rows) of each group of lines that touch one another."""
    rules = [*flat, *steep]
    if len(flat) < 2 or len(steep) < 2:
        return []
    parent = list(range(len(rules)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    order = sorted(range(len(rules)), key=lambda index: rules[index][0])
    active: list[int] = []
    for index in order:
        x0, y0, _, y1 = rules[index]
        active = [other for other in active if rules[other][2] >= x0 - _TOUCH]
        for other in active:
            if rules[other][1] - _TOUCH <= y1 and rules[other][3] + _TOUCH >= y0:
                parent[root(index)] = root(other)
        active.append(index)
    groups: dict[int, list[int]] = {}
    for index in range(len(rules)):
        groups.setdefault(root(index), []).append(index)
    grids = []
    for members in groups.values():
        xs = _distinct(x for index in members if index >= len(flat) for x in (rules[index][0],))
        ys = _distinct(y for index in members if index < len(flat) for y in (rules[index][1],))
        if len(xs) >= 3 and len(ys) >= 3:
            grids.append((xs, ys))
    grids.sort(key=lambda grid: (grid[1][0], grid[0][0]))
    return grids


def _distinct(values: Any) -> list[float]:
    out: list[float] = []
    for value in sorted(values):
        if not out or value - out[-1] > _TOUCH:
            out.append(value)
    return out


def _cells(words: list[Word], xs: list[float], ys: list[float]) -> list[list[str]]:
    grid: list[list[list[Word]]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    for word in words:
        x, y = (word.x0 + word.x1) / 2, word.base - 0.3 * word.size
        # A word over an edge belongs to the cell it begins in: merged cells are kept in their first column.
        column = _slot(word.x0 + 1 if word.x1 - word.x0 > 3 else x, xs)
        grid[_slot(y, ys)][column].append(word)
    rows = []
    for cells in grid:
        rows += [texts for texts in _records([rows_of(cell) for cell in cells]) if any(texts)]
    used = [index for index in range(len(xs) - 1) if any(row[index] for row in rows)]
    return [[row[index] for index in used] for row in rows]


def _records(cells: list[list[Row]]) -> list[list[str]]:
    """The rows of a band of cells: one, unless columns of figures, one to a line, say that there are many."""
    starts: list[float] = []
    if sum(len(rows) >= _LEAST_RECORDS for rows in cells) >= 2:
        # Wrapped prose never holds a column of numbers or dates.
        columns = [(rows, [row for row in rows if _is_figure(row)]) for rows in cells]
        starts = _distinct(
            row.base
            for rows, figures in columns
            if len(figures) >= max(_LEAST_RECORDS, 0.8 * len(rows))
            for row in figures
        )
    records: list[list[list[str]]] = [[[] for _ in cells] for _ in range(len(starts) + 1)]
    for column, rows in enumerate(cells):
        for row in rows:
            text = words_text([word for segment in row.segments for word in segment.words])
            records[bisect_right(starts, row.base + _TOUCH)][column].append(text)
    return [[" ".join(texts) for texts in record] for record in records]


def _is_figure(row: Row) -> bool:
    """Whether a line is a number, a date or the like."""
    text = "".join(segment.text for segment in row.segments)
    return len(text) <= 24 and 2 * sum(map(str.isdigit, text)) >= sum(map(str.isalnum, text)) > 0


def _slot(value: float, edges: list[float]) -> int:
    for index in range(len(edges) - 2, 0, -1):
        if value >= edges[index]:
            return index
    return 0


def _runs_across(words: list[Word], xs: list[float]) -> bool:
    """Whether prose runs over the inner edges, so that the lines are decoration or a drawing."""
    rows = rows_of(words)
    crossed = sum(
        1
        for row in rows
        if any(s.x0 + 2 < x < s.x1 - 2 for s in row.segments for x in xs[1:-1] if len(s.words) > 3)
    )
    return crossed > 0.5 * len(rows)


def _is_table(cells: list[list[str]]) -> bool:
    """Two columns and two rows at least, and cells rather than a framed paragraph."""
    if len(cells) < 2 or len(cells[0]) < 2:
        return False
    filled = sum(1 for row in cells for value in row if value)
    return (
        filled >= 0.3 * len(cells) * len(cells[0]) and sum(1 for row in cells if sum(map(bool, row)) > 1) >= 2
    )


def aligned_tables(group: list[Row], page: int) -> list[Line]:
    """The rows of one column as lines; runs of rows whose segments align become tables."""
    if not group:
        return []
    column = (min(row.x0 for row in group), max(row.x1 for row in group))
    lines: list[Line] = []
    index = 0
    while index < len(group):
        stop = _run(group, index)
        edges = _columns(group[index:stop]) if stop - index >= 3 else []
        cells = [_row_cells(row, edges) for row in group[index:stop]] if edges else []
        if edges and _is_aligned(cells):
            first = group[index]
            text = table(cells)
            lines.append(
                Line(
                    text, column[0], column[1], first.base, first.size, False, page, table=True, column=column
                )
            )
            index = stop
            continue
        lines.extend(line_of(row, page, column) for row in group[index : max(stop, index + 1)])
        index = max(stop, index + 1)
    return lines


def _run(group: list[Row], start: int) -> int:
    """End of the run of rows with several segments from `start`; one row of one segment may stand between."""
    stop = index = start
    pitch = 0.0
    while index < len(group):
        row = group[index]
        gap = row.base - group[index - 1].base if index > start else 0.0
        if pitch and gap > 3.2 * max(pitch, row.size):
            break
        if len(row.segments) > 1:
            if index > start:
                pitch = gap if not pitch else min(pitch, gap)
            stop = index + 1
        elif index > stop or index == start or gap > 1.6 * row.size or row.size > 1.1 * group[start].size:
            break  # only the second line of a cell may stand alone
        index += 1
    return stop


def _columns(rows: list[Row]) -> list[float]:
    """The x between columns: gaps that no segment of a run crosses, but for rare wide ones (a title row)."""
    segments = [segment for row in rows if len(row.segments) > 1 for segment in row.segments]
    if not segments:
        return []
    spans: list[list[float]] = []
    for segment in sorted(segments, key=lambda item: item.x0):
        if spans and segment.x0 <= spans[-1][1] + 1:
            spans[-1][1] = max(spans[-1][1], segment.x1)
        else:
            spans.append([segment.x0, segment.x1])
    corridor = 0.9 * max(row.size for row in rows)  # narrower ones are wide word spaces of justified prose
    return [
        (before[1] + after[0]) / 2
        for before, after in itertools.pairwise(spans)
        if after[0] - before[1] >= corridor
    ]


def _row_cells(row: Row, edges: list[float]) -> list[str]:
    cells: list[list[Segment]] = [[] for _ in range(len(edges) + 1)]
    for segment in row.segments:
        cells[sum(1 for edge in edges if segment.x0 >= edge)].append(segment)
    return [" ".join(segment.text for segment in cell) for cell in cells]


def _is_aligned(cells: list[list[str]]) -> bool:
    """Short cells, most of them filled: prose that happens to have wide blanks is not a table."""
    filled = [value for row in cells for value in row if value]
    if len(cells) < 3 or len(filled) < 0.5 * len(cells) * len(cells[0]):
        return False
    longest = sorted(len(value) for value in filled)
    return longest[len(longest) // 2] <= 40 and longest[int(len(longest) * 0.9)] <= 90
