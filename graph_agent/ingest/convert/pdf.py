"""PDF to Markdown: pdfium reads glyphs and lines, pdfminer.six the few pages that pdfium reads badly."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import OCR_TIMES, Limits
from graph_agent.ingest.convert.ocr import OutOfTime, program, read_scan
from graph_agent.ingest.convert.pdf_glyphs import upright
from graph_agent.ingest.convert.pdf_layout import Line
from graph_agent.ingest.convert.pdf_pages import read_page, read_plain_page
from graph_agent.ingest.convert.pdf_structure import (
    Entry,
    Heading,
    outline_headings,
    typographic_headings,
    without_running_heads,
)
from graph_agent.ingest.convert.versions import UNREAD, VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, fence, heading, missing, one_line, plain
from graph_agent.ingest.document import Converted, MetaValue

_LAYOUT_SHARE = 0.6
"""Part of the time limit after which pages are read as plain text, so that a long book is taken, not refused."""

_OCR_SHARE = 0.9
"""Part of the time that a scanned document may take after which no further page is read."""

_MAX_BOOKMARKS = 5_000
_BULLET = re.compile(r"^[\u2022\u2023\u25aa\u25cf\u25e6\u2043\u2219\uf0b7\uf0a7\u2013\u00b7]\s+(?=\S)")
_ITEM = re.compile(r"^(?:\(?[a-z0-9]{1,3}[.)]|\[\d+\])\s+\S", re.IGNORECASE)
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_ENDS = (".", "!", "?", ":", "\u3002", "\u061f")


def convert_pdf(data: bytes, name: str, limits: Limits | None = None) -> Converted:
    """Convert a PDF.

    Sections come from the outline if its titles are in the text, else from type size and numbering, else
    each page is one. `pages` gives each page's offset; page numbers are positions, not printed labels.

    Args:
        data: the file.
        name: its name, for messages.
        limits: passwords to try.

    Raises:
        UnreadableFile: damaged, encrypted, or without a text layer.
    """
    limits = limits or Limits()
    document = _open(data, limits)
    try:
        return _convert(document, data, limits)
    finally:
        document.close()


def _open(data: bytes, limits: Limits) -> Any:
    try:
        import pypdfium2
    except ImportError:
        raise missing("pypdfium2", "PDF") from None
    for password in (None, *limits.passwords):
        try:
            document = pypdfium2.PdfDocument(data, password=password)
            len(document)
        except pypdfium2.PdfiumError as error:
            if "assword" in str(error):
                continue
            raise UnreadableFile(
                "damaged PDF: its structure cannot be read.", "Open it in a PDF program and save it again."
            ) from None
        if len(document) == 0:
            document.close()
            raise UnreadableFile("damaged PDF: it holds no page.")
        return document
    tried = f" ({len(limits.passwords)} tried)" if limits.passwords else ""
    raise UnreadableFile(f"encrypted PDF: it needs a password{tried}.", "Give it in GRAPH_AGENT_PASSWORDS.")


def _convert(document: Any, data: bytes, limits: Limits) -> Converted:
    pages: list[list[Line]] = []
    heights: list[float] = []
    geometry: list[tuple[tuple[float, ...], int]] = []
    pictured: list[int] = []
    hurried = 0
    ocr = _Ocr(document, limits)
    soon = time.monotonic() + _LAYOUT_SHARE * limits.timeout_s
    for index in range(len(document)):
        if time.monotonic() > soon:
            hurried = hurried or index + 1
            lines, height, place, has_image = read_plain_page(document, index)
        else:
            lines, height, place, has_image = read_page(document, index, data, limits)
        if not lines and has_image:
            began = time.monotonic()
            lines = ocr.lines(index)
            soon += time.monotonic() - began
            if not lines:
                pictured.append(index + 1)
        pages.append(lines)
        heights.append(height)
        geometry.append(place)
    if not any(pages):
        _no_text(len(pages), pictured, ocr)
    entries = _outline(document, geometry)
    pages = without_running_heads(pages, heights)
    lines = [line for page in pages for line in page]
    headings = _headings(entries, lines)
    writer = Writer()
    _write(writer, lines, headings, len(pages))
    metadata, title = _metadata(document)
    warnings = [f"no text on {_ranges(pictured)} (scanned?)"] if pictured else []
    warnings += ocr.warnings
    if hurried:
        warnings.append(
            f"from page {hurried} on read as plain text, without columns and tables, to keep the time limit; "
            "GRAPH_AGENT_FILE_TIMEOUT_S raises it"
        )
    return writer.converted(
        "pdf",
        UNREAD if pictured and not ocr.works else VERSIONS["pdf"],
        title=title,
        language=_language(document),
        page_count=len(pages),
        metadata=metadata,
        warnings=warnings,
    )


class _Ocr:
    """Reads the scanned pages of one document, as long as it is wanted, possible and in time."""

    def __init__(self, document: Any, limits: Limits) -> None:
        self._document = document
        self._languages = limits.ocr
        self._until = time.monotonic() + _OCR_SHARE * limits.timeout_s * OCR_TIMES
        self._read: list[int] = []
        self._late: list[int] = []
        self.wanted = bool(limits.ocr)
        self.works = self.wanted and program() is not None

    def lines(self, index: int) -> list[Line]:
        """A page's lines; none when it is not to be read, or cannot be."""
        if not self.works:
            return []
        left = self._until - time.monotonic()
        try:
            if left <= 0:
                raise OutOfTime
            found = read_scan(self._document, index, self._languages, left)
        except OutOfTime:
            self._late.append(index + 1)
            return []
        if found:
            self._read.append(index + 1)
        return found

    @property
    def warnings(self) -> list[str]:
        """What a reader of the text should know."""
        said = (
            [f"the text of {_ranges(self._read)} was recognised (OCR) and may hold faults"]
            if self._read
            else []
        )
        if self._late:
            said.append(f"OCR ran out of time at {_ranges(self._late)}; GRAPH_AGENT_FILE_TIMEOUT_S raises it")
        return said


def _no_text(count: int, pictured: list[int], ocr: _Ocr) -> None:
    if not pictured:
        raise UnreadableFile(
            f"no text: {'its page is' if count == 1 else f'all {count} pages are'} blank or drawn."
        )
    scanned = f"no text layer: scanned ({count} {'page' if count == 1 else 'pages'})"
    if not ocr.wanted:
        raise UnreadableFile(
            f"{scanned}; OCR is off.",
            "Set GRAPH_AGENT_OCR=true (it needs tesseract), or add a text layer, for example with ocrmypdf.",
        )
    if not ocr.works:
        raise UnreadableFile(
            f"{scanned}; OCR is on, but tesseract is not installed.",
            "Install it, on Debian with: apt-get install tesseract-ocr",
        )
    raise UnreadableFile(f"{scanned}; OCR found no text in it. {' '.join(ocr.warnings)}".rstrip())


# structure -----------------------------------------------------------------------------------------


def _outline(document: Any, geometry: Sequence[tuple[tuple[float, ...], int]]) -> list[Entry]:
    entries: list[Entry] = []
    for bookmark in document.get_toc(max_depth=12):
        if len(entries) >= _MAX_BOOKMARKS:
            break
        title = one_line(bookmark.get_title() or "")
        destination = bookmark.get_dest()
        index = destination.get_index() if destination is not None else None
        if not title or index is None or not 0 <= index < len(geometry):
            continue
        box, quarter = geometry[index]
        _, place = destination.get_view()
        y = None
        if len(place) >= 2 and place[1]:
            y = upright(place[0] or 0.0, place[1], box, quarter)[1]
        elif len(place) == 1 and place[0]:
            y = upright(0.0, place[0], box, quarter)[1]
        entries.append(Entry(bookmark.level + 1, title, index + 1, y))
    return entries


def _headings(entries: list[Entry], lines: list[Line]) -> list[Heading]:
    """The outline's headings when it describes the text, else those that the type shows; empty for pages."""
    by_type = typographic_headings(lines)
    if not entries:
        return by_type
    headings, found = outline_headings(entries, lines)
    thin = len(entries) <= 2 and len(entries) < len(by_type)
    if (found * 2 < len(entries) and by_type) or thin:
        return by_type  # an outline of other titles, or of the document's name only
    return headings


def _write(writer: Writer, lines: list[Line], headings: list[Heading], page_count: int) -> None:
    starts: dict[int, list[Heading]] = {}
    for item in headings:
        starts.setdefault(item.first, []).append(item)
    current = 0
    index = 0
    pending: list[Line] = []

    def flush() -> None:
        for text in _paragraphs(pending):
            writer.add(text)
        pending.clear()

    def turn_to(page: int) -> None:
        nonlocal current
        if page > current:
            flush()
        while current < page:
            current += 1
            writer.page(current)
            if not headings:
                writer.block("page", f"Page {current}", 1, current)

    while index < len(lines):
        turn_to(lines[index].page)
        after = index
        for item in starts.get(index, ()):
            flush()
            writer.block("heading", item.title, item.level, lines[index].page)
            if item.last > index:
                shown = " ".join(line.text for line in lines[index : item.last])
                writer.add(heading(item.level, shown))
                after = item.last
        if after == index:
            pending.append(lines[index])
            after = index + 1
        index = after
    flush()
    turn_to(page_count)
    for item in starts.get(len(lines), ()):
        writer.block("heading", item.title, item.level, page_count)


def _paragraphs(lines: list[Line]) -> Iterator[str]:
    """Lines put together as paragraphs, list items, tables and code."""
    index = 0
    while index < len(lines):
        line = lines[index]
        stop = index + 1
        if line.table:
            yield line.text
        elif line.mono and stop < len(lines) and lines[stop].mono:
            while stop < len(lines) and lines[stop].mono:
                stop += 1
            yield _code(lines[index:stop])
        else:
            while stop < len(lines) and _goes_on(lines[stop - 1], lines[stop]):
                stop += 1
            yield _paragraph(lines[index:stop])
        index = stop


def _goes_on(above: Line, line: Line) -> bool:
    """Whether a line continues the paragraph of the line above it."""
    if line.table or line.mono != above.mono or abs(line.size - above.size) > 0.15 * above.size:
        return False
    if _BULLET.match(line.text) or (
        _ITEM.match(line.text) and (above.text.endswith(_ENDS) or _ITEM.match(above.text))
    ):
        return False
    gap = line.base - above.base
    if gap < -0.5 * line.size:  # the top of the next column
        return not above.text.endswith(_ENDS)
    if gap > 1.75 * line.size or line.bold != above.bold:
        return False
    short = above.x1 < above.column[1] - 0.25 * (above.column[1] - above.column[0])
    return not (short and (above.text.endswith(_ENDS) or line.x0 > above.x0 + line.size))


def _paragraph(lines: list[Line]) -> str:
    text = lines[0].text
    for line in lines[1:]:
        if len(text) > 2 and text[-1] == "-" and text[-2].isalpha() and line.text[:1].islower():
            compound = "-" in text.rsplit(None, 1)[-1][:-1]
            text = (text if compound else text[:-1]) + line.text
        elif _CJK.match(text[-1:]) and _CJK.match(line.text[:1]):
            text += line.text
        else:
            text = f"{text} {line.text}"
    bullet = _BULLET.match(text)
    return f"- {plain(text[bullet.end() :])}" if bullet else plain(text)


def _code(lines: list[Line]) -> str:
    left = min(line.x0 for line in lines)
    rows = []
    for line in lines:
        width = max(0.1, (line.x1 - line.x0) / max(1, len(line.text)))
        rows.append(" " * min(40, round((line.x0 - left) / width)) + line.text)
    return fence("\n".join(rows))


# properties ----------------------------------------------------------------------------------------


def _metadata(document: Any) -> tuple[dict[str, MetaValue], str | None]:
    raw = {key: one_line(clean(value)) for key, value in document.get_metadata_dict(skip_empty=True).items()}
    title = raw.get("Title")
    if title and re.match(
        r"(?i)(untitled|microsoft (word|powerpoint) - |.*\.(docx?|tex|dvi|indd|pptx?)$)", title
    ):
        title = None
    values: dict[str, MetaValue] = {}
    for key, ours in (
        ("Author", "author"),
        ("Subject", "subject"),
        ("Keywords", "keywords"),
        ("Creator", "creator"),
    ):
        if raw.get(key):
            values[ours] = raw[key]
    for key, ours in (("CreationDate", "created"), ("ModDate", "modified")):
        match = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", raw.get(key, ""))
        if match and match[2] and match[3]:
            values[ours] = f"{match[1]}-{match[2]}-{match[3]}"
    return values, title


def _language(document: Any) -> str | None:
    import ctypes

    from pypdfium2 import raw

    reader = getattr(raw, "FPDFCatalog_GetLanguage", None)
    if reader is None:
        return None
    buffer = ctypes.create_string_buffer(128)
    size = reader(document.raw, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), 128)
    tag = buffer.raw[: max(0, min(size, 128) - 2)].decode("utf-16-le", "ignore") if size else ""
    return tag if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", tag) else None


def _ranges(numbers: list[int]) -> str:
    """Page numbers as people write them: "page 3", "pages 1-4, 7"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
    return f"{'page' if len(numbers) == 1 else 'pages'} {shown}"
