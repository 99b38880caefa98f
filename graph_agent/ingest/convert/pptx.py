"""PowerPoint to Markdown: one section a slide, with its tables, charts, diagrams and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.ooxml import (
    Element,
    Package,
    Relation,
    attribute,
    child,
    children,
    descendants,
    local,
)
from graph_agent.ingest.convert.ooxml_math import formula
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, heading, one_line, plain, table
from graph_agent.ingest.document import Converted

CONVERTER = VERSIONS["pptx"]

_TITLES = ("title", "ctrTitle")
_FURNITURE = ("dt", "ftr", "sldNum", "hdr", "sldImg")
_MAX_DEPTH = 30


def convert_pptx(data: bytes, name: str, limits: Limits | None = None) -> Converted:
    """Convert a presentation (.pptx); `pages` are slides in the order of the show, hidden ones included.

    Args:
        data: the file.
        name: its name, for messages.
        limits: sizes.

    Raises:
        UnreadableFile: damaged, a bomb, or without slides.
    """
    package = Package(data, limits or Limits(), "PowerPoint file")
    part = package.main_part("ppt/presentation.xml")
    root = package.xml(part)
    relations = package.relations(part)
    ids = [_relation_id(item) for item in children(child(root, "sldIdLst"), "sldId")]
    slides = [relations[key].target for key in ids if key in relations and not relations[key].external]
    if not slides:
        raise UnreadableFile("damaged PowerPoint file: it lists no slide.")
    writer = Writer()
    warnings: list[str] = []
    for number, slide in enumerate(slides, start=1):
        writer.page(number)
        try:
            slide_root = package.xml(slide)
        except UnreadableFile as error:
            slide_root = None
            warnings.append(f"slide {number}: {error.message}")
        if slide_root is None:
            writer.block("slide", f"Slide {number}", 1, number)
            continue
        _slide(writer, package, slide, slide_root, number)
    metadata, title, language = package.properties()
    return writer.converted(
        "pptx",
        CONVERTER,
        title=title,
        language=language,
        page_count=len(slides),
        metadata=metadata,
        warnings=warnings,
    )


def _relation_id(element: Element) -> str:
    """The r:id of a sldId, which has an id of its own beside it."""
    return next((value for key, value in element.attrib.items() if key.endswith("}id")), "")


def _slide(writer: Writer, package: Package, part: str, root: Element, number: int) -> None:
    relations = package.relations(part)
    shapes = list(_shapes(child(root, "cSld", "spTree"), 0))
    titles = [item for item in shapes if _placeholder(item) in _TITLES]
    title = one_line(" ".join(_text(item) for item in titles))
    hidden = " (hidden)" if attribute(root, "show") in ("0", "false") else ""
    writer.block("slide", (title or f"Slide {number}") + hidden, 1, number)
    writer.add(heading(2, (title or f"Slide {number}") + hidden))
    for shape in shapes:
        kind = _placeholder(shape)
        if kind in _TITLES or kind in _FURNITURE:
            continue
        for text in _shape(package, relations, shape, kind):
            writer.add(text)
    notes = package.related(relations, "notesSlide")
    text = _notes(package.optional_xml(notes)) if notes else ""
    if text:
        writer.add("Notes:")
        writer.add(plain(text))


def _shapes(tree: Element | None, depth: int) -> Iterator[Element]:
    """Shapes in the order in which they lie, groups opened."""
    if tree is None or depth > _MAX_DEPTH:
        return
    for item in tree:
        name = local(item.tag)
        if name in ("sp", "graphicFrame", "pic", "cxnSp"):
            yield item
        elif name == "grpSp":
            yield from _shapes(item, depth + 1)
        elif name == "AlternateContent":
            option = child(item, "Choice")
            before = list(_shapes(option, depth + 1))
            yield from before or _shapes(child(item, "Fallback"), depth + 1)


def _placeholder(shape: Element) -> str:
    """The kind of placeholder a shape is: "title", "body" ...; "" for a free shape."""
    for item in shape:
        if local(item.tag).startswith("nv"):
            found = child(item, "nvPr", "ph")
            return "" if found is None else attribute(found, "type", "body")
    return ""


def _shape(package: Package, relations: dict[str, Relation], shape: Element, kind: str) -> Iterator[str]:
    name = local(shape.tag)
    if name == "sp":
        yield _paragraphs(child(shape, "txBody"), relations, bullets=kind in ("body", "obj"))
    elif name == "pic":
        text = one_line(next((attribute(item, "descr") for item in descendants(shape, "cNvPr")), ""))
        if text and not re.search(r"(?i)automatically generated|\.(png|jpe?g|gif|emf|wmf)$", text):
            yield f"[Image: {plain(text)}]"
    elif name == "graphicFrame":
        data = child(shape, "graphic", "graphicData")
        for grid in children(data, "tbl"):
            yield table(_cells(grid))
        for chart in children(data, "chart"):
            target = relations.get(_relation_id(chart))
            root = package.optional_xml(target.target) if target else None
            if root is not None:
                yield from _chart(root)
        for diagram in children(data, "relIds"):
            key = next((value for name, value in diagram.attrib.items() if name.endswith("}dm")), "")
            target = relations.get(key)
            root = package.optional_xml(target.target) if target else None
            texts = [_text(point) for point in descendants(root, "pt")]
            yield "\n".join(f"- {plain(text)}" for text in texts if text)


def _paragraphs(body: Element | None, relations: dict[str, Relation], *, bullets: bool) -> str:
    lines: list[str] = []
    items: list[bool] = []
    depth_before = -1
    for paragraph in children(body, "p"):
        text = clean(_runs(paragraph, relations)).strip()
        if not text:
            continue
        properties = child(paragraph, "pPr")
        level = int(attribute(properties, "lvl", "0") or 0) if properties is not None else 0
        unmarked = child(properties, "buNone") is not None
        marked = any(child(properties, name) is not None for name in ("buChar", "buAutoNum"))
        if (bullets and not unmarked) or marked:
            depth_before = min(level, depth_before + 1)
            indent = "    " * depth_before
            mark = "1." if child(properties, "buAutoNum") is not None else "-"
            lines.append(f"{indent}{mark} {plain(text).replace(chr(10), ' ')}")
            items.append(True)
        else:
            depth_before = -1
            lines.append(plain(text))
            items.append(False)
    out = ""
    for index, line in enumerate(lines):
        together = index and items[index] and items[index - 1]
        out += ("\n" if together else "\n\n" if index else "") + line
    return out


def _runs(paragraph: Element, relations: dict[str, Relation]) -> str:
    parts: list[str] = []
    for item in paragraph:
        name = local(item.tag)
        if name in ("r", "fld"):
            text = "".join(found.text or "" for found in children(item, "t"))
            link = child(item, "rPr", "hlinkClick")
            relation = relations.get(_relation_id(link)) if link is not None else None
            address = relation.target if relation is not None and relation.external else ""
            if (
                text.strip()
                and re.match(r"(?i)(https?|mailto):\S+$", address)
                and not re.search(r"[()<>]", address)
            ):
                text = f"[{one_line(text)}]({address})"
            parts.append(text)
        elif name == "br":
            parts.append("\n")
        elif name in ("m", "oMath", "oMathPara", "AlternateContent"):
            parts.extend(f"${formula(found)}$" for found in list(descendants(item, "oMath"))[:1])
    return "".join(parts)


def _text(element: Element) -> str:
    """All text below an element, paragraphs parted by blanks."""
    lines = []
    for paragraph in descendants(element, "p"):
        parts = [
            (" " if local(item.tag) == "br" else item.text or "")
            for item in paragraph.iter()
            if local(item.tag) in ("t", "br")
        ]
        lines.append("".join(parts))
    return one_line(" ".join(lines))


def _cells(grid: Element) -> list[list[str]]:
    rows = []
    for row in children(grid, "tr"):
        cells = []
        for item in children(row, "tc"):
            merged = attribute(item, "hMerge") in ("1", "true") or attribute(item, "vMerge") in ("1", "true")
            cells.append("" if merged else _text(item))
        rows.append(cells)
    return rows


def _chart(root: Element) -> Iterator[str]:
    """A chart as its title and a table: categories down, series across."""
    title = next((_text(item) for item in descendants(root, "title")), "")
    if title:
        yield f"Chart: {plain(title)}"
    series = list(descendants(root, "ser"))[:50]
    names = [_points(child(item, "tx")) for item in series]
    labels = next((found for item in series if (found := _points(_first(item, "cat", "xVal")))), {})
    values = [_points(_first(item, "val", "yVal")) for item in series]
    indexes = sorted({index for found in (labels, *values) for index in found})[:1_000]
    if not indexes:
        return
    header = ["", *(name.get(0, f"Series {number}") for number, name in enumerate(names, start=1))]
    yield table([header, *([labels.get(i, ""), *(found.get(i, "") for found in values)] for i in indexes)])


def _first(element: Element, *names: str) -> Element | None:
    return next((found for name in names if (found := child(element, name)) is not None), None)


def _points(element: Element | None) -> dict[int, str]:
    found: dict[int, str] = {}
    for item in descendants(element, "pt"):
        index, value = attribute(item, "idx"), child(item, "v")
        if index.isdigit() and value is not None:
            found[int(index)] = one_line(value.text or "")
    return found


def _notes(root: Element | None) -> str:
    parts = [
        _paragraphs(child(shape, "txBody"), {}, bullets=False)
        for shape in _shapes(child(root, "cSld", "spTree"), 0)
        if _placeholder(shape) == "body"
    ]
    return "\n\n".join(part for part in parts if part)
