"""Tables of characters, notebooks, mail and data files to Markdown: csv, tsv, json, ipynb, eml."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, fence, heading, one_line, plain, table
from graph_agent.ingest.decoding import decode
from graph_agent.ingest.document import Converted, MetaValue

MAX_ROWS = 200_000
"""Rows of a csv file that are read; more are said in a warning."""

_MAX_FIELD = 1 << 20
_MAX_DEPTH = 60
_DELIMITERS = ",;\t|"


def convert_csv(data: bytes, name: str, limits: Limits) -> Converted:
    """A csv or tsv file as one table; the delimiter is found by counting, ragged rows are filled.

    Raises:
        UnreadableFile: not text.
    """
    kind = "tsv" if name.lower().endswith((".tsv", ".tab")) else "csv"
    decoded = decode(data)
    text = clean(decoded.text)
    warnings = [decoded.warning] if decoded.warning else []
    rows: list[list[str]] = []
    csv.field_size_limit(_MAX_FIELD)
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, kind)):
            if any(value.strip() for value in row):
                rows.append(row)
            if len(rows) > MAX_ROWS:
                warnings.append(f"only the first {MAX_ROWS:,} rows were read")
                rows.pop()
                break
    except csv.Error:  # an unclosed quote over a megabyte: take lines as they are
        delimiter = _delimiter(text, kind)
        rows = [line.split(delimiter) for line in text.split("\n")[:MAX_ROWS] if line.strip()]
    writer = Writer()
    if rows:
        writer.block("table", PurePosixPath(name.replace("\\", "/")).stem or name)
    writer.add(table(rows))
    metadata: dict[str, MetaValue] = {
        "rows": max(0, len(rows) - 1),
        "columns": max((len(row) for row in rows), default=0),
    }
    return writer.converted(kind, VERSIONS[kind], metadata=metadata if rows else {}, warnings=warnings)


def _delimiter(text: str, kind: str) -> str:
    """The delimiter that splits the first lines most evenly into the most fields."""
    if kind == "tsv":
        return "\t"
    lines = [line for line in text[:20_000].split("\n") if line.strip()][:20]
    best, score = ",", 0.0
    for delimiter in _DELIMITERS:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        if counts and max(counts) > 1:
            common = max(set(counts), key=counts.count)
            agreement = counts.count(common) / len(counts)
            if common > 1 and agreement * common**0.5 > score:
                best, score = delimiter, agreement * common**0.5
    return best


def convert_json(data: bytes, name: str, limits: Limits) -> Converted:
    """JSON or JSON lines: lists of flat records become tables, other keys headings and lines.

    What is not valid JSON is kept as a code block with a warning.

    Raises:
        UnreadableFile: not text.
    """
    decoded = decode(data)
    text = clean(decoded.text)
    writer = Writer()
    warnings = [decoded.warning] if decoded.warning else []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _json_lines(text)
        if value is None:
            warnings.append("not valid JSON: kept as text")
            writer.add(fence(text, "json"))
            return writer.converted("json", VERSIONS["json"], warnings=warnings)
    for block in _json_blocks(value, 1):
        writer.add(block)
    title = value.get("title") or value.get("name") if isinstance(value, dict) else None
    return writer.converted(
        "json", VERSIONS["json"], title=title if isinstance(title, str) else None, warnings=warnings
    )


def _json_lines(text: str) -> list[Any] | None:
    values = []
    for line in text.split("\n"):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                return None
    return values or None


def _json_blocks(value: Any, level: int) -> Iterator[str]:
    if level > _MAX_DEPTH:
        yield fence(json.dumps(value, ensure_ascii=False)[:10_000], "json")
    elif isinstance(value, list):
        yield from _json_list(value, level)
    elif isinstance(value, dict):
        flat = {
            key: item for key, item in value.items() if not isinstance(item, (dict, list)) or _is_short(item)
        }
        if flat:
            yield "\n".join(
                f"- {one_line(str(key))}: {one_line(_scalar(item))}" for key, item in flat.items()
            )
        for key, item in value.items():
            if key not in flat and item:
                yield heading(level, str(key)) if level <= 6 else f"**{one_line(str(key))}**"
                yield from _json_blocks(item, level + 1)
    else:
        yield plain(_scalar(value))


def _json_list(value: list[Any], level: int) -> Iterator[str]:
    if value and all(
        isinstance(item, dict) and all(not isinstance(x, (dict, list)) or _is_short(x) for x in item.values())
        for item in value
    ):
        keys = list(dict.fromkeys(key for item in value for key in item))
        if len(keys) <= 50:
            yield table(
                [[str(key) for key in keys], *([_scalar(item.get(key)) for key in keys] for item in value)]
            )
            return
    if all(not isinstance(item, (dict, list)) for item in value):
        yield "\n".join(f"- {plain(one_line(_scalar(item)))}" for item in value)
        return
    for number, item in enumerate(value, start=1):
        name = item.get("title") or item.get("name") or item.get("id") if isinstance(item, dict) else None
        if level <= 6:
            yield heading(level, str(name) if isinstance(name, (str, int)) else f"Item {number}")
        yield from _json_blocks(item, level + 1)


def _is_short(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= 10
        and all(not isinstance(item, (dict, list)) and len(str(item)) <= 80 for item in value)
    )


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(_scalar(item) for item in value) if isinstance(value, list) else str(value)


def convert_ipynb(data: bytes, name: str, limits: Limits) -> Converted:
    """A Jupyter notebook: Markdown cells as they are, code in fences, text outputs below them.

    Raises:
        UnreadableFile: not a notebook.
    """
    try:
        book = json.loads(decode(data).text)
        cells = book.get("cells") or [
            cell for sheet in book.get("worksheets", []) for cell in sheet.get("cells", [])
        ]
    except (ValueError, AttributeError, RecursionError) as error:
        raise UnreadableFile(f"damaged notebook: {str(error)[:120]}.") from None
    settings = book.get("metadata") or {}
    language = str(
        (settings.get("kernelspec") or {}).get("language")
        or (settings.get("language_info") or {}).get("name")
        or "python"
    )
    writer = Writer()
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = _joined(cell.get("source", cell.get("input", "")))
        kind = cell.get("cell_type")
        if kind == "markdown":
            writer.add(clean(source))
        elif kind == "heading":
            writer.add(heading(int(cell.get("level", 1)), source))
        elif kind == "code" and source.strip():
            writer.add(fence(source, language))
            for output in cell.get("outputs") or ():
                text = _output(output) if isinstance(output, dict) else ""
                if text.strip():
                    writer.add(fence(text))
        elif source.strip():
            writer.add(plain(source))
    title = settings.get("title")
    return writer.converted(
        "ipynb",
        VERSIONS["ipynb"],
        title=title if isinstance(title, str) else None,
        metadata={"programming_language": language},
    )


def _joined(value: Any) -> str:
    return "".join(str(item) for item in value) if isinstance(value, list) else str(value or "")


def _output(output: dict[str, Any]) -> str:
    """The text of a cell's output, without terminal colours; pictures and HTML are left out."""
    text = _joined(output.get("text", "")) or _joined((output.get("data") or {}).get("text/plain", ""))
    if output.get("output_type") in ("error", "pyerr"):
        text = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    return text if len(text) <= 20_000 else text[:20_000] + "\n... (cut)"


def convert_eml(data: bytes, name: str, limits: Limits) -> Converted:
    """An e-mail: its subject as heading, sender and date below, then the text; attachments are named.

    Raises:
        UnreadableFile: nothing in it can be read.
    """
    from email import policy
    from email.parser import BytesParser

    message = BytesParser(policy=policy.default).parsebytes(data)
    writer = Writer()
    metadata: dict[str, MetaValue] = {}

    def header(key: str) -> str:
        try:
            return one_line(str(message.get(key, "")))
        except Exception:  # noqa: BLE001 (headers in the wild break the parser in many ways)
            return ""

    subject = header("Subject")
    writer.add(heading(1, subject))
    shown = []
    for key, ours in (("From", "author"), ("To", "to"), ("Cc", "cc"), ("Date", "sent")):
        value = header(key)
        if value:
            shown.append(f"{key}: {value}")
            metadata[ours] = _iso(value) if key == "Date" else value
    writer.add("  \n".join(shown))
    for block in _mail_body(message):
        writer.add(block)
    if not writer.position:
        writer.add(plain(decode(data).text))  # no header at all: the file is the text
    names = (
        [one_line(str(part.get_filename() or "unnamed")) for part in message.iter_attachments()]
        if message.is_multipart()
        else []
    )
    if names:
        writer.add("Attachments: " + ", ".join(names))
    return writer.converted("eml", VERSIONS["eml"], title=subject or None, metadata=metadata)


def _iso(value: str) -> str:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(value).date().isoformat()
    except (ValueError, TypeError):
        return value


def _mail_body(message: Any) -> list[str]:
    try:
        part = message.get_body(preferencelist=("plain", "html"))
    except Exception:  # noqa: BLE001 (see above)
        part = None
    if part is None:
        payload = message.get_payload(decode=True) if not message.is_multipart() else None
        return [plain(decode(payload).text)] if payload else []
    try:
        text = part.get_content()
    except Exception:  # noqa: BLE001 (unknown charsets)
        payload = part.get_payload(decode=True) or b""
        text = decode(payload).text if payload else ""
    if part.get_content_subtype() == "html":
        from graph_agent.ingest.convert.html import parse_html
        from graph_agent.ingest.convert.html_blocks import blocks_of

        return blocks_of(parse_html(text).body)
    return [plain(block) for block in re.split(r"\n[ \t]*\n", clean(str(text)))]


def _lazily(module: str, function: str) -> Callable[[bytes, str, Limits], Converted]:
    def convert(data: bytes, name: str, limits: Limits) -> Converted:
        from importlib import import_module

        found = getattr(import_module(f"graph_agent.ingest.convert.{module}"), function)
        return found(data, name, limits)  # type: ignore[no-any-return]

    return convert


CONVERTERS: dict[str, Callable[[bytes, str, Limits], Converted]] = {
    "csv": convert_csv,
    "tsv": convert_csv,
    "json": convert_json,
    "ipynb": convert_ipynb,
    "eml": convert_eml,
    "epub": _lazily("epub", "convert_epub"),
    "rst": _lazily("markup", "convert_rst"),
    "org": _lazily("markup", "convert_org"),
    "asciidoc": _lazily("markup", "convert_asciidoc"),
}
"""Kind to converter."""
