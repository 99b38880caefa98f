"""Excel to Markdown: one section a sheet, its filled regions as tables, values as the sheet shows them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from xml.etree import ElementTree as Xml

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.ooxml import Element, Package, attribute, child, children, local
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, heading, one_line, plain, table
from graph_agent.ingest.document import Converted

CONVERTER = VERSIONS["xlsx"]

MAX_CELLS = 2_000_000
"""Cells of one workbook that are read; more are counted in a warning."""

_DATE_FORMATS = {*range(14, 18), 22, *range(27, 37), *range(50, 59)}
_TIME_FORMATS = {18, 19, 20, 21, 45, 46, 47}
_PERCENT_FORMATS = {9, 10}
_QUOTED = re.compile(r"\"[^\"]*\"|\\.|\[[^\]]*\]|_.|\*.")

Row = dict[int, str]


class _Formats:
    """Which cell styles show a number as a date, a time or a percentage."""

    def __init__(self, root: Element | None) -> None:
        codes = {
            attribute(item, "numFmtId"): attribute(item, "formatCode")
            for item in children(child(root, "numFmts"), "numFmt")
        }
        self._kinds = [
            self._kind(attribute(item, "numFmtId", "0"), codes)
            for item in children(child(root, "cellXfs"), "xf")
        ]

    @staticmethod
    def _kind(number: str, codes: dict[str, str]) -> str:
        if number in codes:
            code = _QUOTED.sub("", codes[number].split(";")[0]).lower()
            if re.search(r"[yd]|mmm", code):
                return "date"
            if re.search(r"h|ss|am/pm", code) or "[h" in codes[number].lower():
                return "time"
            return "percent" if "%" in code else ""
        value = int(number) if number.isdigit() else 0
        if value in _DATE_FORMATS:
            return "date"
        return "time" if value in _TIME_FORMATS else "percent" if value in _PERCENT_FORMATS else ""

    def kind(self, style: str) -> str:
        """What a style shows: "date", "time", "percent" or "" (the number)."""
        index = int(style) if style.isdigit() else 0
        return self._kinds[index] if index < len(self._kinds) else ""


def convert_xlsx(data: bytes, name: str, limits: Limits | None = None) -> Converted:
    """Convert a workbook (.xlsx, .xlsm): stored values, or the formula where no value is stored.

    Args:
        data: the file.
        name: its name, for messages.
        limits: sizes.

    Raises:
        UnreadableFile: damaged, a bomb, or without sheets.
    """
    package = Package(data, limits or Limits(), "Excel workbook")
    part = package.main_part("xl/workbook.xml")
    root = package.xml(part)
    relations = package.relations(part)
    sheets = [
        (attribute(item, "name"), relations[key].target, attribute(item, "state"))
        for item in children(child(root, "sheets"), "sheet")
        if (key := next((value for name, value in item.attrib.items() if name.endswith("}id")), ""))
        in relations
    ]
    if not sheets:
        raise UnreadableFile("damaged Excel workbook: it lists no sheet.")
    strings = _strings(
        package.optional_xml(package.related(relations, "sharedStrings") or "xl/sharedStrings.xml")
    )
    formats = _Formats(package.optional_xml(package.related(relations, "styles") or "xl/styles.xml"))
    base_1904 = attribute(child(root, "workbookPr") or Element("x"), "date1904") in ("1", "true")
    writer = Writer()
    warnings: list[str] = []
    budget = MAX_CELLS
    filled = False
    for title, target, state in sheets:
        sheet = package.read(target)
        if sheet is None:
            warnings.append(f"sheet {title!r} is missing from the file")
            continue
        rows, cells = _rows(sheet, strings, formats, base_1904, budget)
        budget -= cells
        if budget <= 0:
            warnings.append(f"only the first {MAX_CELLS:,} cells were read")
        shown = f"{title} (hidden)" if state in ("hidden", "veryHidden") else title
        writer.block("sheet", shown)
        if rows:
            filled = True
            writer.add(heading(2, shown))
            for text in _regions(rows):
                writer.add(text)
        if budget <= 0:
            break
    if not filled:
        raise UnreadableFile("blank: no sheet holds a value.")
    metadata, document_title, language = package.properties()
    return writer.converted(
        "xlsx", CONVERTER, title=document_title, language=language, metadata=metadata, warnings=warnings
    )


def _strings(root: Element | None) -> list[str]:
    return [_string(item) for item in children(root, "si")]


def _string(element: Element) -> str:
    """A rich or plain string without its phonetic readings."""
    parts = []
    for item in element:
        if local(item.tag) == "t":
            parts.append(item.text or "")
        elif local(item.tag) == "r":
            parts.extend(found.text or "" for found in children(item, "t"))
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), "".join(parts))


def _rows(
    data: bytes, strings: list[str], formats: _Formats, base_1904: bool, budget: int
) -> tuple[dict[int, Row], int]:
    """Filled rows by number (from 1), each with its cells by column (from 0), and how many cells there are."""
    rows: dict[int, Row] = {}
    merged: list[str] = []
    number = count = 0
    try:
        for _, element in Xml.iterparse(io.BytesIO(data), events=("end",)):  # noqa: S314 (see refuse_entities)
            name = local(element.tag)
            if name == "row":
                stated = attribute(element, "r")
                number = int(stated) if stated.isdigit() else number + 1
                row = _row(element, strings, formats, base_1904)
                if row:
                    rows[number] = row
                count += len(row)
                element.clear()
                if count >= budget:
                    break
            elif name == "mergeCell":
                merged.append(attribute(element, "ref"))
    except Xml.ParseError as error:
        if not rows:
            raise UnreadableFile(f"damaged Excel workbook: a sheet is not well-formed ({error}).") from None
    _fill_headers(rows, merged)
    return rows, count


def _row(element: Element, strings: list[str], formats: _Formats, base_1904: bool) -> Row:
    row: Row = {}
    column = -1
    for cell in children(element, "c"):
        reference = attribute(cell, "r")
        column = _column(reference) if reference else column + 1
        text = _value(cell, strings, formats, base_1904)
        if text:
            row[column] = text
    return row


def _value(cell: Element, strings: list[str], formats: _Formats, base_1904: bool) -> str:
    kind = attribute(cell, "t", "n")
    if kind == "inlineStr":
        inside = child(cell, "is")
        return one_line(_string(inside)) if inside is not None else ""
    found = child(cell, "v")
    value = (found.text or "").strip() if found is not None else ""
    if not value:
        formula = child(cell, "f")
        return one_line(f"={formula.text}") if formula is not None and formula.text else ""
    if kind == "s":
        return one_line(strings[int(value)]) if value.isdigit() and int(value) < len(strings) else ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind in ("str", "e", "d"):
        return one_line(value)
    return _number(value, formats.kind(attribute(cell, "s", "0")), base_1904)


def _number(value: str, kind: str, base_1904: bool) -> str:
    try:
        number = float(value)
    except ValueError:
        return one_line(value)
    if kind == "date" and 0 <= number < 2_958_466:
        return _date(number, base_1904)
    if kind == "time" and 0 <= number < 1:
        return _clock(number)
    if kind == "percent":
        return f"{number * 100:.10g}%"
    return f"{number:.15g}" if abs(number) < 1e15 else value


def _date(number: float, base_1904: bool) -> str:
    """Serial days since 1899-12-30 (or 1904-01-01); below 61 Excel counts a 29 February 1900 that never was."""
    if number < 1 and not base_1904:
        return _clock(number)
    start = datetime(1904, 1, 1) if base_1904 else datetime(1899, 12, 31 if number < 61 else 30)  # noqa: DTZ001
    moment = start + timedelta(seconds=round(number * 86_400))
    return moment.strftime("%Y-%m-%d" if number == int(number) else "%Y-%m-%d %H:%M")


def _clock(number: float) -> str:
    seconds = round(number * 86_400)
    shown = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    return f"{shown}:{seconds % 60:02d}" if seconds % 60 else shown


def _column(reference: str) -> int:
    value = 0
    for char in reference.upper():
        if not "A" <= char <= "Z":
            break
        value = value * 26 + ord(char) - 64
    return value - 1


def _fill_headers(rows: dict[int, Row], merged: list[str]) -> None:
    """Repeat a merged heading over the columns it spans, so that each column keeps its full name."""
    for reference in merged[:5_000]:
        first, _, last = reference.partition(":")
        top = re.sub(r"\D", "", first)
        if not top or not last or top != re.sub(r"\D", "", last):
            continue
        row = rows.get(int(top), {})
        start, stop = _column(first), _column(last)
        if len(row) > 1 and start in row and stop - start < 100 and _has_below(rows, int(top), start, stop):
            for column in range(start + 1, stop + 1):
                row.setdefault(column, row[start])


def _has_below(rows: dict[int, Row], number: int, start: int, stop: int) -> bool:
    below = rows.get(number + 1, {})
    return sum(1 for column in range(start, stop + 1) if column in below) > 1


def _regions(rows: dict[int, Row]) -> Iterator[str]:
    """Runs of filled rows, as tables; a run's leading rows with one value each are its titles."""
    run: list[Row] = []
    before = 0
    for number in sorted(rows):
        if run and number > before + 1:
            yield from _region(run)
            run = []
        run.append(rows[number])
        before = number
    yield from _region(run)


def _region(run: list[Row]) -> Iterator[str]:
    while run and len(run[0]) == 1 and (len(run) == 1 or any(len(row) > 1 for row in run)):
        yield plain(next(iter(run[0].values())))
        run = run[1:]
    if run:
        columns = sorted({column for row in run for column in row})
        yield table([row.get(column, "") for column in columns] for row in run)
