"""One page of a PDF as lines in reading order: by pdfium, by pdfminer.six where pdfium reads badly."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.pdf_glyphs import Word, page_text
from graph_agent.ingest.convert.pdf_layout import Line, reading_order, rows_of
from graph_agent.ingest.convert.pdf_tables import aligned_tables, page_rules, ruled_tables
from graph_agent.ingest.convert.writing import one_line

_MAX_FORM_DEPTH = 6
_MAX_OBJECTS = 20_000


def read_page(
    document: Any, index: int, data: bytes, limits: Limits
) -> tuple[list[Line], float, tuple[tuple[float, ...], int], bool]:
    """A page's lines in reading order, its upright height, its box and direction, and whether it holds an image."""
    number = index + 1
    page = document[index]
    text_page = page.get_textpage()
    try:
        text = page_text(page, text_page)
        paths, images, depth = _objects(page)
        place = (text.box, text.quarter)
        if (text.vertical or depth > _MAX_FORM_DEPTH) and text.words:
            lines = _by_pdfminer(data, index, limits)
            if lines:
                return lines, text.height, place, images
        flat, steep = page_rules(page, text, paths)
        main = [word for word in text.words if word.turn == 0]
        tables, rest = ruled_tables(main, flat, steep, number)
        lines = [line for group in reading_order(rows_of(rest)) for line in aligned_tables(group, number)]
        for table in tables:
            _insert(lines, table)
        lines.extend(_turned(text.words, number, text.height))
        return lines, text.height, place, images
    finally:
        text_page.close()
        page.close()


def read_plain_page(
    document: Any, index: int
) -> tuple[list[Line], float, tuple[tuple[float, ...], int], bool]:
    """A page as pdfium's own plain text: ten times as fast, for the rest of a book when time runs out."""
    page = document[index]
    text_page = page.get_textpage()
    try:
        texts = [one_line(text) for text in text_page.get_text_range().splitlines()]
        box = tuple(float(value) for value in page.get_bbox())
        lines = [
            Line(text.replace("\ufffe", "-"), 0.0, 0.0, 12.0 * number, 10.0, False, index + 1)
            for number, text in enumerate(texts)
            if text
        ]
        return lines, max(page.get_height(), 14.0 * len(texts)), (box, page.get_rotation() // 90), False
    finally:
        text_page.close()
        page.close()


def _objects(page: Any) -> tuple[list[Any], bool, int]:
    """A page's paths, whether it holds an image, and how deep its forms are nested."""
    from pypdfium2 import raw

    paths: list[Any] = []
    images = False
    depth = 0
    for seen, item in enumerate(page.get_objects(max_depth=_MAX_FORM_DEPTH + 2)):
        if seen > _MAX_OBJECTS:
            break
        depth = max(depth, item.level)
        if item.type == raw.FPDF_PAGEOBJ_PATH:
            if item.level == 0:  # inside a form the bounds are in the form's own space
                paths.append(item)
        elif item.type == raw.FPDF_PAGEOBJ_IMAGE:
            images = True
    return paths, images, depth


def _insert(lines: list[Line], table: Line) -> None:
    """Put a table where it stands: before the first line below its top in its column."""
    for index, line in enumerate(lines):
        if line.base > table.base and line.x0 < table.x1 and line.x1 > table.x0:
            lines.insert(index, table)
            return
    lines.append(table)


def _turned(words: list[Word], page: int, height: float) -> list[Line]:
    """Words that stand sideways or upside down, after the page's text: one line for each direction."""
    out = []
    for turn in (1, 2, 3):
        some = [word for word in words if word.turn == turn]
        if some:
            text = " ".join(word.text for word in some)
            first = some[0]
            # A size of nothing: never a heading, never joined to its neighbours.
            out.append(Line(text, first.x0, first.x1, height * 0.5, 0.1, False, page))
    return out


def _by_pdfminer(data: bytes, index: int, limits: Limits) -> list[Line]:
    """A page read by pdfminer.six: vertical writing, and forms that contain themselves."""
    try:
        from pdfminer.high_level import extract_pages
        from pdfminer.layout import LAParams, LTChar, LTTextLine, LTTextLineVertical
    except ImportError:
        return []
    for password in ("", *limits.passwords):
        try:
            layout = next(
                iter(
                    extract_pages(
                        io.BytesIO(data),
                        password,
                        page_numbers=[index],
                        laparams=LAParams(detect_vertical=True, all_texts=True),
                    )
                )
            )
        except Exception:  # noqa: BLE001, S112 (whatever it meets, pdfium's reading is still there)
            continue
        found = [line for line in _walk(layout) if isinstance(line, LTTextLine)]
        if sum(isinstance(line, LTTextLineVertical) for line in found) > len(found) / 2:
            found.sort(key=lambda line: -line.x0)
        lines = []
        for line in found:
            text = one_line(line.get_text())
            size = next((char.size for char in line if isinstance(char, LTChar)), 10.0)
            if text:
                lines.append(Line(text, line.x0, line.x1, layout.height - line.y0, size, False, index + 1))
        return lines
    return []


def _walk(item: Any) -> Iterator[Any]:
    from pdfminer.layout import LTTextLine

    if isinstance(item, LTTextLine):
        yield item
    elif hasattr(item, "__iter__"):
        for child in item:
            yield from _walk(child)
