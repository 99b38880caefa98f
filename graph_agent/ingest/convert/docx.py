"""Word to Markdown: headings by style and outline level, lists, tables, notes, text boxes, formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.docx_styles import Numbering, Styles
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.ooxml import (
    Element,
    Package,
    Relation,
    attribute,
    child,
    children,
    descendants,
    is_on,
    local,
    value_of,
)
from graph_agent.ingest.convert.ooxml_math import formula
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, fence, heading, one_line, plain, table
from graph_agent.ingest.document import Converted

_SKIPPED = frozenset({"del", "moveFrom", "rPr", "pPr", "instrText", "delText", "delInstrText", "fldData"})
_MAX_DEPTH = 40


@dataclass(slots=True)
class _Paragraph:
    """One paragraph read: its text, what it is, and what hangs on it."""

    text: str = ""
    level: int = 0  # of a heading; 0 for other paragraphs
    item: tuple[int, str] | None = None  # depth and mark of a list item
    code: bool = False
    bold: bool = False
    boxes: list[Element] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


class _Reader:
    """Reads the body of one document."""

    def __init__(self, package: Package, part: str) -> None:
        self.relations: dict[str, Relation] = package.relations(part)
        self.styles = Styles(
            package.optional_xml(package.related(self.relations, "styles") or "word/styles.xml")
        )
        self.numbering = Numbering(
            package.optional_xml(package.related(self.relations, "numbering") or "word/numbering.xml")
        )
        self.notes: dict[str, str] = {}
        self.used_notes: list[str] = []
        self.comments: dict[str, str] = {}
        self.writer = Writer()
        self.first_title: str | None = None
        self._load_notes(package)
        self._code: list[str] = []
        self._list: list[str] = []
        self._depth = 0

    def _load_notes(self, package: Package) -> None:
        for kind, letter in (("footnotes", ""), ("endnotes", "e")):
            part = package.related(self.relations, kind)
            root = package.optional_xml(part) if part else None
            for note in children(root, kind[:-1]):
                if attribute(note, "type") not in (
                    "separator",
                    "continuationSeparator",
                    "continuationNotice",
                ):
                    self.notes[letter + attribute(note, "id")] = self._joined(note)
        part = package.related(self.relations, "comments")
        root = package.optional_xml(part) if part else None
        for comment in children(root, "comment"):
            text, author = self._joined(comment), one_line(attribute(comment, "author"))
            if text:
                self.comments[attribute(comment, "id")] = (
                    f"Comment by {author}: {text}" if author else f"Comment: {text}"
                )

    def _joined(self, element: Element) -> str:
        return one_line(" ".join(self.paragraph(item).text for item in descendants(element, "p")))

    # blocks ----------------------------------------------------------------------------------------

    def blocks(self, element: Element, depth: int = 0) -> None:
        """Write the paragraphs and tables of a body, cell or text box."""
        if depth > _MAX_DEPTH:
            return
        for item in element:
            name = local(item.tag)
            if name == "p":
                self._write(self.paragraph(item), depth)
            elif name == "tbl":
                self.flush()
                self._table(item, depth)
            elif name in (
                "sdt",
                "sdtContent",
                "ins",
                "moveTo",
                "customXml",
                "smartTag",
                "body",
                "txbxContent",
                "oMathPara",
            ):
                if name == "oMathPara":
                    self.writer.add(f"$${formula(item)}$$")
                else:
                    self.blocks(item, depth + 1)
            elif name == "altChunk":
                self.writer.add("(An embedded document is not shown.)")

    def _write(self, paragraph: _Paragraph, depth: int) -> None:
        text = paragraph.text
        if paragraph.code and text.strip():
            self._flush_list()
            self._code.append(text)
        elif paragraph.level and text.strip():
            self.flush()
            if self.first_title is None:
                self.first_title = one_line(text)
            self.writer.add(heading(paragraph.level, text))
        elif paragraph.item is not None and text.strip():
            self._flush_code()
            level, mark = paragraph.item
            # An item may be one deeper than the one before; further in it would be a code block.
            self._depth = min(level, self._depth + 1, 8) if self._list else 0
            indent = "    " * self._depth
            self._list.append(f"{indent}{mark} {plain(text).replace(chr(10), chr(10) + indent + '    ')}")
        elif text.strip():
            self.flush()
            self.writer.add(plain(text))
        for note in paragraph.comments:
            self.flush()
            self.writer.add(f"> {plain(note)}")
        for box in paragraph.boxes:
            self.flush()
            self.blocks(box, depth + 1)

    def flush(self) -> None:
        """Write the list or code that is being collected."""
        self._flush_code()
        self._flush_list()

    def _flush_code(self) -> None:
        if self._code:
            self.writer.add(fence("\n".join(self._code)))
            self._code = []

    def _flush_list(self) -> None:
        if self._list:
            self.writer.add("\n".join(self._list))
            self._list = []

    def _table(self, element: Element, depth: int) -> None:
        rows: list[list[str]] = []
        single: Element | None = None
        for row in self._rows(element):
            cells: list[str] = []
            cells.extend([""] * _count(row, "trPr", "gridBefore"))
            for cell in self._cells(row):
                single = cell
                merged = child(cell, "tcPr", "vMerge")
                goes_on = merged is not None and attribute(merged, "val", "continue") == "continue"
                cells.append("" if goes_on else self._cell(cell, depth + 1))
                cells.extend([""] * (_count(cell, "tcPr", "gridSpan") - 1))
            rows.append(cells)
        if len(rows) == 1 and len(rows[0]) == 1 and single is not None:
            self.blocks(single, depth + 1)  # a frame, not a table
            self.flush()
            return
        self.writer.add(table(rows))

    def _rows(self, element: Element) -> Iterator[Element]:
        for item in element:
            if local(item.tag) == "tr" and child(item, "trPr", "del") is None:
                yield item
            elif local(item.tag) in ("sdt", "sdtContent", "ins", "customXml"):
                yield from self._rows(item)

    def _cells(self, row: Element) -> Iterator[Element]:
        for item in row:
            if local(item.tag) == "tc":
                yield item
            elif local(item.tag) in ("sdt", "sdtContent", "customXml"):
                yield from self._cells(item)

    def _cell(self, element: Element, depth: int) -> str:
        """A cell on one line; a table inside it is given as its cells' texts."""
        if depth > _MAX_DEPTH:
            return ""
        parts: list[str] = []
        for item in element:
            name = local(item.tag)
            if name == "p":
                paragraph = self.paragraph(item)
                mark = f"{paragraph.item[1]} " if paragraph.item and paragraph.text.strip() else ""
                parts.append(mark + paragraph.text)
                parts.extend(self._cell(box, depth + 1) for box in paragraph.boxes)
            elif name == "tbl":
                parts.extend(
                    ", ".join(filter(None, (self._cell(cell, depth + 1) for cell in self._cells(row))))
                    for row in self._rows(item)
                )
            elif name in ("sdt", "sdtContent", "ins", "customXml"):
                parts.append(self._cell(item, depth + 1))
        return one_line(" ".join(part for part in parts if part.strip()))

    # paragraphs ------------------------------------------------------------------------------------

    def paragraph(self, element: Element) -> _Paragraph:
        """Read one paragraph."""
        found = _Paragraph()
        properties = child(element, "pPr")
        style = value_of(properties, "pStyle") or ""
        found.level = self.styles.level(style, properties)
        parts: list[str] = []
        self._inline(element, parts, found, 0)
        found.text = clean("".join(parts)).strip("\n ")
        mark = self.numbering.mark(properties, self.styles.numbering(style))
        if found.level:
            if mark is not None and mark[1] != "-" and not found.text.startswith(mark[1]):
                found.text = f"{mark[1]} {found.text}" if found.text else ""
        elif mark is not None:
            found.item = (
                mark[0],
                mark[1] if mark[1] == "-" or mark[1].endswith((".", ")")) else f"{mark[1]}.",
            )
        found.code = self.styles.is_code(style)
        found.bold = self._is_bold(element) if found.text else False
        return found

    @staticmethod
    def _is_bold(element: Element) -> bool:
        runs = [
            run
            for run in descendants(element, "r")
            if any((t.text or "").strip() for t in children(run, "t"))
        ]
        return bool(runs) and all(is_on(run, "rPr", "b") for run in runs)

    def _inline(self, element: Element, parts: list[str], found: _Paragraph, depth: int) -> None:
        if depth > _MAX_DEPTH:
            return
        for item in element:
            name = local(item.tag)
            if name in _SKIPPED:
                continue
            if (text := _character(item, name)) is not None:
                parts.append(text)
            elif name == "hyperlink":
                self._link(item, parts, found, depth)
            elif name in ("oMath", "oMathPara"):
                parts.append(f"${formula(item)}$" if name == "oMath" else f"$${formula(item)}$$")
            elif name in ("footnoteReference", "endnoteReference"):
                parts.append(self._note(("e" if name.startswith("end") else "") + attribute(item, "id")))
            elif name == "commentReference":
                found.comments.extend(filter(None, [self.comments.get(attribute(item, "id"))]))
            elif name == "AlternateContent":
                self._alternative(item, parts, found, depth)
            elif name == "txbxContent":
                found.boxes.append(item)
            elif name == "docPr":
                text = one_line(attribute(item, "descr"))
                if text and not re.search(r"(?i)automatically generated|\.(png|jpe?g|gif)$", text):
                    parts.append(f"[Image: {text}]")
            else:
                self._inline(item, parts, found, depth + 1)

    def _note(self, key: str) -> str:
        """The mark of a footnote, which is then written at the end."""
        if not self.notes.get(key):
            return ""
        if key not in self.used_notes:
            self.used_notes.append(key)
        return f"[^{key}]"

    def _alternative(self, element: Element, parts: list[str], found: _Paragraph, depth: int) -> None:
        """Of a choice and its fallback, which repeat the same text, the first that holds any."""
        for option in element:
            before, boxes = len(parts), len(found.boxes)
            self._inline(option, parts, found, depth + 1)
            if len(parts) > before or len(found.boxes) > boxes:
                return

    def _link(self, element: Element, parts: list[str], found: _Paragraph, depth: int) -> None:
        inside: list[str] = []
        self._inline(element, inside, found, depth + 1)
        text = "".join(inside)
        relation = self.relations.get(attribute(element, "id"))
        target = relation.target if relation is not None and relation.external else ""
        if text.strip() and re.match(r"(?i)(https?:|mailto:|[^:]*$)", target) and target:
            shown = one_line(text).replace("[", "\\[").replace("]", "\\]")
            parts.append(
                f"[{shown}](<{target}>)" if re.search(r"[\s()<>]", target) else f"[{shown}]({target})"
            )
        else:
            parts.append(text)


def convert_docx(data: bytes, name: str, limits: Limits | None = None) -> Converted:
    """Convert a Word document (.docx, Transitional or Strict).

    Tracked deletions are left out, insertions kept; headers and footers are not part of the text.

    Args:
        data: the file.
        name: its name, for messages.
        limits: sizes.

    Raises:
        UnreadableFile: damaged, a bomb, or not a Word document.
    """
    package = Package(data, limits or Limits(), "Word document")
    part = package.main_part("word/document.xml")
    root = package.xml(part)
    body = child(root, "body")
    if body is None:
        raise UnreadableFile("damaged Word document: it has no body.")
    reader = _Reader(package, part)
    if not _has_headings(reader, body):
        _mark_bold(reader, body)
    reader.blocks(body)
    reader.flush()
    for key in reader.used_notes:
        reader.writer.add(f"[^{key}]: {reader.notes[key]}")
    metadata, title, language = package.properties()
    return reader.writer.converted(
        "docx", VERSIONS["docx"], title=title, language=language, metadata=metadata
    )


def _has_headings(reader: _Reader, body: Element) -> bool:
    return any(
        reader.styles.level(value_of(item, "pPr", "pStyle") or "", child(item, "pPr"))
        for item in descendants(body, "p")
    )


def _mark_bold(reader: _Reader, body: Element) -> None:
    """In a document without heading styles, short bold lines are its headings: give them an outline level."""
    paragraphs = list(children(body, "p"))
    texts = [reader.paragraph(item) for item in paragraphs]
    reader.numbering.reset()
    reader.used_notes.clear()
    marked = [
        item
        for item, found in zip(paragraphs, texts, strict=True)
        if found.bold
        and found.item is None
        and 2 < len(found.text) <= 100
        and not found.text.rstrip().endswith((".", ",", ";"))
    ]
    filled = sum(1 for found in texts if found.text)
    if not marked or len(marked) * 2 > filled:
        return
    for item in marked:
        properties = child(item, "pPr")
        if properties is None:
            properties = Element("pPr")
            item.insert(0, properties)
        level = Element("outlineLvl")
        level.set("val", "1")
        properties.append(level)


def _count(element: Element, *path: str) -> int:
    value = value_of(element, *path)
    return min(int(value), 200) if value and value.isdigit() else (1 if path[-1] == "gridSpan" else 0)


def _character(item: Element, name: str) -> str | None:
    """The text that an element of a run stands for, or None if it is no text."""
    if name == "t":
        return item.text or ""
    if name == "tab":
        return "\t"
    if name in ("br", "cr"):
        return "\n" if attribute(item, "type") not in ("page", "column") else " "
    if name == "noBreakHyphen":
        return "-"
    return _symbol(item) if name == "sym" else None


def _symbol(element: Element) -> str:
    """A symbol-font character: Word gives its place in the font's private area."""
    try:
        code = int(attribute(element, "char", "0"), 16)
    except ValueError:
        return ""
    return {0xF0B7: "\u2022", 0xF0E0: "\u2192", 0xF0DF: "\u2190", 0xF0FC: "\u2713", 0xF0A7: "\u25aa"}.get(
        code, "" if 0xE000 <= code <= 0xF8FF else chr(code) if code else ""
    )
