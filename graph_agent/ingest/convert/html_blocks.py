"""The content of an HTML element as Markdown blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from graph_agent.ingest.convert.writing import fence, heading, one_line, plain, table

_DROPPED = frozenset(
    {
        "script", "style", "noscript", "template", "nav", "iframe", "object", "embed", "svg", "canvas", "audio",
        "video", "map", "head", "link", "meta", "base", "button", "select", "input", "textarea", "option",
        "datalist", "dialog", "frameset", "noframes", "param", "source", "track", "applet", "math-renderer",
    }
)  # fmt: skip
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
        "hgroup", "hr", "html", "legend", "li", "main", "menu", "ol", "p", "pre", "section", "summary", "table",
        "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "caption", "listing", "xmp",
    }
)  # fmt: skip
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FURNITURE = re.compile(
    r"(^|\s)(mw-editsection|mw-jump-link|noprint|sr-only|visually-hidden|skip-link|headerlink|vector-dropdown|navbox|catlinks"
    r"|breadcrumbs?|interlanguage-link|mw-portlet|cookie-(?:banner|consent)|share-buttons|social-share)(\s|$)"
)
_ADDRESS = re.compile(r"(?i)(https?|mailto|ftp):|[^:/?#]*(?:[/?#].*)?$")
_MAX_DEPTH = 150
_BREAK = "\x01"  # a <br> while text is collected; clean() takes \x01 out of the source itself


def blocks_of(node: Any, depth: int = 0) -> list[str]:
    """The Markdown blocks of an element's content, in order.

    Args:
        node: a selectolax element, or None.
        depth: of nesting; beyond a bound only text is taken.
    """
    if node is None:
        return []
    if depth > _MAX_DEPTH:
        return [plain(one_line(node.text(separator=" ")))]
    out: list[str] = []
    inline: list[str] = []

    def flush() -> None:
        text = _finished("".join(inline))
        inline.clear()
        if text:
            out.append(plain(text))

    for item in _children(node):
        if item.is_text_node:
            inline.append(_SPACE.sub(" ", item.text_content or ""))
        elif item.tag in _BLOCKS or (depth < _MAX_DEPTH and _holds_block(item)):
            flush()
            out.extend(_block(item, depth + 1))
        else:
            inline.append(_inline(item, depth + 1))
    flush()
    return out


def _children(node: Any) -> Iterator[Any]:
    item = node.child
    while item is not None:
        if item.is_text_node or (item.is_element_node and not _is_dropped(item)):
            yield item
        item = item.next


def _is_dropped(item: Any) -> bool:
    if item.tag in _DROPPED:
        return True
    attributes = item.attributes
    if not attributes:
        return False
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if (
        attributes.get("role") in ("navigation", "search", "menu", "menubar")
        or attributes.get("aria-hidden") == "true"
    ):
        return item.tag not in ("body", "main", "article", "html")
    return bool(
        _HIDDEN.search(attributes.get("style") or "") or _FURNITURE.search(attributes.get("class") or "")
    )


def _holds_block(item: Any) -> bool:
    """Whether an inline element wraps blocks, as <a><div> or <font><p> do."""
    if item.tag not in (
        "a",
        "span",
        "font",
        "b",
        "strong",
        "em",
        "i",
        "ins",
        "label",
        "bdo",
        "big",
        "small",
        "u",
        "tt",
    ):
        return not _is_known_inline(item.tag)
    return any(
        found.tag in _BLOCKS for found in item.traverse(include_text=False) if found.mem_id != item.mem_id
    )


def _is_known_inline(tag: str) -> bool:
    return tag in {
        "abbr", "acronym", "bdi", "br", "cite", "code", "data", "del", "dfn", "img", "kbd", "mark", "math", "meter",
        "nobr", "output", "picture", "progress", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "strike", "sub",
        "sup", "time", "var", "wbr", "area",
    } or tag.startswith("m")  # MathML  # fmt: skip


def _block(item: Any, depth: int) -> list[str]:
    tag = item.tag
    if tag in _HEADINGS:
        text = heading(_HEADINGS[tag], one_line(_inline_children(item, depth).replace(_BREAK, " ")))
        return [text] if text else []
    if tag in ("pre", "listing", "xmp"):
        return _code(item)
    if tag in ("ul", "ol", "menu"):
        return _list(item, depth)
    if tag == "dl":
        return _definitions(item, depth)
    if tag == "blockquote":
        inside = "\n\n".join(blocks_of(item, depth))
        return ["\n".join(f"> {line}".rstrip() for line in inside.split("\n"))] if inside else []
    if tag == "table":
        return _table(item, depth)
    return [] if tag == "hr" else blocks_of(item, depth)


def _finished(text: str) -> str:
    """Collected inline text with blanks made single and <br> as line ends."""
    lines = (_SPACE.sub(" ", line).strip() for line in text.split(_BREAK))
    return "\n".join(lines).strip("\n")


def _inline_children(node: Any, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return str(one_line(node.text(separator=" ")))
    parts = []
    for item in _children(node):
        if item.is_text_node:
            parts.append(_SPACE.sub(" ", item.text_content or ""))
        else:
            around = " " if item.tag in _BLOCKS else ""
            parts.append(around + _inline(item, depth + 1) + around)
    return "".join(parts)


def _inline(item: Any, depth: int) -> str:
    tag = item.tag
    if tag == "br":
        return _BREAK
    if tag == "img":
        text = one_line(item.attributes.get("alt") or "")
        return f"[Image: {text}]" if len(text) > 2 else ""
    if tag in ("code", "kbd", "samp", "tt"):
        text = one_line(item.text(separator=""))
        if not text:
            return ""
        bar = "``" if "`" in text else "`"
        return f"{bar} {text} {bar}" if len(bar) > 1 else f"`{text}`"
    if tag in ("rp", "wbr"):
        return ""
    text = _inline_children(item, depth)
    if tag == "a":
        return _link(item, text)
    if tag == "q":
        return f"\u201c{text.strip()}\u201d"
    if tag == "sup" and re.fullmatch(r"\s*[\w+-]{1,3}\s*", text):
        return f"^{text.strip()}" if text.strip().isdigit() else text
    return text


def _link(item: Any, text: str) -> str:
    target = (item.attributes.get("href") or "").strip()
    label = one_line(text.replace(_BREAK, " "))
    if not label or "\n" in target or len(target) > 2_000 or target.startswith("#") or not target:
        return text
    if not _ADDRESS.match(target) or label.startswith("[Image:"):
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    label = label.replace("[", "\\[").replace("]", "\\]")
    shown = f"<{target}>" if re.search(r"[\s()]", target) and not re.search("[<>]", target) else target
    return f"{before}[{label}]({shown}){after}"


def _code(item: Any) -> list[str]:
    text = item.text(separator="").strip("\n")
    if not text.strip():
        return []
    inner = item.css_first("code")
    classes = " ".join(
        filter(None, (item.attributes.get("class"), inner.attributes.get("class") if inner else ""))
    )
    language = re.search(r"(?:language|lang|highlight-source|brush:)[-:\s]([A-Za-z0-9+#.-]+)", classes)
    return [fence(text, language[1] if language else "")]


def _list(item: Any, depth: int) -> list[str]:
    lines: list[str] = []
    start = item.attributes.get("start") or "1"
    number = int(start) if start.lstrip("-").isdigit() else 1
    for entry in _children(item):
        if entry.is_text_node:
            continue
        inside = (
            "\n\n".join(blocks_of(entry, depth + 1))
            if entry.tag == "li"
            else "\n\n".join(_block(entry, depth + 1))
        )
        if not inside.strip():
            continue
        if entry.tag != "li":
            lines.append(
                "\n".join(f"    {line}".rstrip() for line in inside.split("\n")) if lines else inside
            )
            continue
        mark = f"{number}." if item.tag == "ol" else "-"
        number += 1
        pad = " " * (len(mark) + 1)
        tight = re.sub(r"\n\n(?=\s*(?:[-*]|\d+\.) )", "\n", inside)
        lines.append(f"{mark} {tight.replace(chr(10), chr(10) + pad)}")
    return ["\n".join(line.rstrip() for line in "\n".join(lines).split("\n"))] if lines else []


def _definitions(item: Any, depth: int) -> list[str]:
    out: list[str] = []
    for entry in _children(item):
        if entry.is_text_node:
            continue
        text = "\n\n".join(blocks_of(entry, depth + 1))
        if text:
            out.append(f"- {text.replace(chr(10), chr(10) + '  ')}" if entry.tag == "dd" else text)
    return out


# tables --------------------------------------------------------------------------------------------


def _table(item: Any, depth: int) -> list[str]:
    caption = next((entry for entry in _children(item) if entry.tag == "caption"), None)
    rows = [(row, [cell for cell in _children(row) if cell.tag in ("td", "th")]) for row in _rows(item)]
    out = blocks_of(caption, depth + 1) if caption is not None else []
    if _is_layout(item, [cells for _, cells in rows]):
        for _, cells in rows:
            for cell in cells:
                out.extend(blocks_of(cell, depth + 1))
        return out
    grid = _grid(rows, depth)
    width = max((len(row) for row in grid), default=0)
    used = [index for index in range(width) if any(index < len(row) and row[index].strip() for row in grid)]
    lines = [[row[index] if index < len(row) else "" for index in used] for row in grid]
    text = table(line for line in lines if any(value.strip() for value in line))
    return [*out, text] if text else out


def _rows(item: Any) -> Iterator[Any]:
    for entry in _children(item):
        if entry.tag == "tr":
            yield entry
        elif entry.tag in ("thead", "tbody", "tfoot"):
            yield from _rows(entry)


def _is_layout(item: Any, rows: list[list[Any]]) -> bool:
    """Whether a table only places things: tables or headings inside it, or one column."""
    if item.attributes.get("role") in ("presentation", "none"):
        return True
    if max((len(cells) for cells in rows), default=0) <= 1:
        return True
    if len(rows) < 3 and any(
        cell.css_matches(":has(h1, h2, h3, h4, h5, h6)") for cells in rows for cell in cells
    ):
        return True
    nested = sum(
        len(cell.text())
        for cells in rows
        for cell in cells
        if any(found.mem_id != item.mem_id for found in cell.css("table"))
    )
    return nested > 0.5 * len(item.text())


def _grid(rows: list[tuple[Any, list[Any]]], depth: int) -> list[list[str]]:
    """Cells by row and column; what spans rows stands in each of them, what spans columns in the first."""
    carried: dict[int, tuple[int, str]] = {}
    grid: list[list[str]] = []
    for _, cells in rows:
        line: list[str] = []

        def carry(line: list[str] = line) -> None:
            while len(line) in carried:
                left, text = carried[len(line)]
                if left > 1:
                    carried[len(line)] = (left - 1, text)
                else:
                    del carried[len(line)]
                line.append(text)

        for cell in cells:
            carry()
            text = one_line(_inline_children(cell, depth + 1).replace(_BREAK, " "))
            down, across = _span(cell, "rowspan"), _span(cell, "colspan")
            for index in range(across):
                if down > 1:
                    carried[len(line)] = (down - 1, text if index == 0 else "")
                line.append(text if index == 0 else "")
        carry()
        grid.append(line)
    return grid


def _span(cell: Any, name: str) -> int:
    value = (cell.attributes.get(name) or "1").strip()
    return min(max(int(value), 1), 100) if value.isdigit() and len(value) < 6 else 1
