"""Other plain-text markups to Markdown: reStructuredText, Org, AsciiDoc. Line by line, nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Callable

from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, fence, heading, one_line, plain
from graph_agent.ingest.decoding import decode
from graph_agent.ingest.document import Converted, MetaValue

_ADORNMENT = re.compile(r"^([!-/:-@\[-`{-~])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"^\s*\.\. +([\w:-]+)::\s*(.*)$")
_RST_LINK = re.compile(r"`([^`<]{1,500}?)\s{0,9}<([^`>\s]{1,2000})>`__?")
_RST_ROLE = re.compile(r":[\w:+-]{1,60}:`([^`<]{1,500}?)(?:\s{0,9}<[^`>]{0,500}>)?`")
_RST_LITERAL = re.compile(r"``([^`]+)``")
_ORG_HEADING = re.compile(r"^(\*+)\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(.*?)(?:\s+:[\w@:]+:)?\s*$")
_ORG_LINK = re.compile(r"\[\[([^\[\]]{1,2000})\](?:\[([^\[\]]{1,2000})\])?\]")
_ADOC_HEADING = re.compile(r"^(={1,6})\s+(\S.*?)(?:\s+=+)?\s*$")
_ADOC_LINK = re.compile(r"(?<![^\s(,;])(?:link:)?([^\s\[\]<>|]{1,2000})\[([^\[\]]{1,2000})\]")


def _lines(data: bytes) -> tuple[list[str], list[str]]:
    decoded = decode(data)
    return clean(decoded.text).expandtabs(4).split("\n"), [decoded.warning] if decoded.warning else []


def convert_rst(data: bytes, name: str, limits: Limits) -> Converted:
    """reStructuredText: titles by their adornment in the order in which styles appear, code blocks, links."""
    lines, warnings = _lines(data)
    writer = Writer()
    styles: list[str] = []
    paragraph: list[str] = []
    metadata: dict[str, MetaValue] = {}
    index = 0

    def flush() -> None:
        if paragraph:
            writer.add(_rst_block(paragraph))
            paragraph.clear()

    while index < len(lines):
        line = lines[index]
        title, style, used = _rst_title(lines, index)
        if used:
            flush()
            if style not in styles:
                styles.append(style)
            writer.add(heading(styles.index(style) + 1, _rst_inline(title)))
            index += used
            continue
        if not line.strip():
            flush()
            index += 1
            continue
        directive = _DIRECTIVE.match(line)
        field = re.match(r"^:([\w -]{1,40}):\s+(\S.*)$", line)
        if directive or line.strip() == ".." or re.match(r"^\.\. ", line):
            flush()
            index = _rst_directive(lines, index, directive, writer)
        elif field and not writer.position and not paragraph:
            metadata[field[1].strip().lower().replace(" ", "_")] = one_line(field[2])
            index += 1
        elif paragraph and paragraph[-1].rstrip().endswith("::"):
            index += 1
            paragraph.append(line)
        else:
            paragraph.append(line)
            index += 1
            if line.rstrip().endswith("::") and (index >= len(lines) or not lines[index].strip()):
                paragraph[-1] = re.sub(r"\s*::\s*$", ":" if line.strip() != "::" else "", line)
                flush()
                index = _literal(lines, index, writer, "")
    flush()
    return writer.converted("rst", VERSIONS["rst"], metadata=metadata, warnings=warnings)


def _rst_title(lines: list[str], index: int) -> tuple[str, str, int]:
    """(title, style, lines used) of a section title at `index`; 0 lines if there is none."""
    line = lines[index]
    over = _ADORNMENT.match(line)
    if over and index + 2 < len(lines):
        title, under = lines[index + 1], lines[index + 2]
        if title.strip() and under.strip() == line.strip() and len(line.strip()) >= len(title.strip()):
            return title.strip(), over[1] * 2, 3
    if line.strip() and not line.startswith(" ") and not over and index + 1 < len(lines):
        under_match = _ADORNMENT.match(lines[index + 1])
        if (
            under_match
            and len(lines[index + 1].strip()) >= len(line.strip()) - 1
            and not (index and lines[index - 1].strip())
        ):
            return line.strip(), under_match[1], 2
    return "", "", 0


def _rst_directive(lines: list[str], index: int, directive: re.Match[str] | None, writer: Writer) -> int:
    name = directive[1] if directive else ""
    argument = directive[2].strip() if directive else ""
    if name in ("code", "code-block", "sourcecode", "parsed-literal", "highlight"):
        return _literal(lines, index + 1, writer, argument)
    stop = index + 1
    body: list[str] = []
    while stop < len(lines) and (not lines[stop].strip() or lines[stop].startswith(" ")):
        if not re.match(r"^\s+:[\w-]+:", lines[stop]):
            body.append(lines[stop].strip())
        stop += 1
    if name in (
        "image",
        "figure",
        "include",
        "toctree",
        "raw",
        "contents",
        "role",
        "default-role",
        "meta",
        "",
    ) or name.startswith("auto"):
        if name == "figure" and any(body):
            writer.add(_rst_block(body))
        return stop
    label = (
        name.capitalize()
        if name in ("note", "warning", "tip", "important", "caution", "danger", "hint")
        else ""
    )
    text = [f"{label}: {argument}".strip(": ") if label else argument, *body]
    for block in "\n".join(text).split("\n\n"):
        writer.add(_rst_block(block.split("\n")))
    return stop


def _literal(lines: list[str], index: int, writer: Writer, language: str) -> int:
    """Write the indented block that follows as code; the index after it."""
    code: list[str] = []
    while index < len(lines) and (not lines[index].strip() or lines[index].startswith(" ")):
        if not (not code and re.match(r"^\s+:[\w-]+:", lines[index])):
            code.append(lines[index])
        index += 1
    indent = min((len(line) - len(line.lstrip()) for line in code if line.strip()), default=0)
    text = "\n".join(line[indent:] for line in code).strip("\n")
    if text.strip():
        writer.add(fence(text, language))
    return index


def _rst_block(lines: list[str]) -> str:
    text = "\n".join(_rst_inline(line) for line in lines)
    if any(re.match(r"^\s*(?:[-*+\u2022]|\d+[.)]|#\.)\s+\S", line) for line in lines[:1]):
        return re.sub(r"(?m)^(\s*)(?:[*+\u2022]|#\.)\s+", r"\1- ", text)
    if re.match(r"^\s*[+=][-=+ ]{3,}", lines[0]) or lines[0].lstrip().startswith("|"):
        return fence("\n".join(lines))
    return plain(text)


def _rst_inline(text: str) -> str:
    text = _RST_LITERAL.sub(lambda match: f"`{match[1]}`", text)
    text = _RST_LINK.sub(lambda match: f"[{match[1].strip()}]({match[2]})", text)
    return _RST_ROLE.sub(lambda match: match[1], text)


def convert_org(data: bytes, name: str, limits: Limits) -> Converted:
    """Org: headlines, source blocks, links, keywords."""
    return _by_lines(data, "org", _org_heading, _org_inline, re.compile(r"(?i)^\s*#\+begin_(?:src|example)\s*(\S*)"),
                     re.compile(r"(?i)^\s*#\+end_"), re.compile(r"^#\+(\w+):\s*(.*)$|^\s*#(?:\s|$)|^\s*:\w+:"))  # fmt: skip


def convert_asciidoc(data: bytes, name: str, limits: Limits) -> Converted:
    """AsciiDoc: section titles, listing blocks, links, attributes."""
    return _by_lines(data, "asciidoc", _adoc_heading, _adoc_inline, re.compile(r"^(?:-{4,}|\.{4,}|`{3,})(\w*)\s*$"),
                     re.compile(r"^(?:-{4,}|\.{4,}|`{3,})\s*$"), re.compile(r"^:([\w-]+):\s*(.*)$|^//|^\[[^\]]*\]\s*$|^(?:\*{4,}|={4,}|_{4,})\s*$"))  # fmt: skip


def _org_heading(line: str) -> tuple[int, str] | None:
    match = _ORG_HEADING.match(line)
    return (len(match[1]), _org_inline(match[2])) if match else None


def _adoc_heading(line: str) -> tuple[int, str] | None:
    match = _ADOC_HEADING.match(line)
    return (len(match[1]), _adoc_inline(match[2])) if match else None


def _org_inline(text: str) -> str:
    text = re.sub(
        r"(?<!\S)[~=](\S(?:[^~=\n]{0,500}\S)?)[~=](?=[\s.,;:!?)]|$)", lambda match: f"`{match[1]}`", text
    )
    return _ORG_LINK.sub(lambda match: f"[{match[2] or match[1]}]({match[1].removeprefix('file:')})", text)


def _adoc_inline(text: str) -> str:
    text = re.sub(
        r"image::?[^\s\[\]]{1,1000}\[([^\],]{0,500})[^\]]{0,500}\]",
        lambda match: f"[Image: {match[1]}]" if match[1] else "",
        text,
    )
    return _ADOC_LINK.sub(
        lambda match: f"[{match[2]}]({match[1]})" if "." in match[1] or ":" in match[1] else match[0], text
    )


def _by_lines(
    data: bytes,
    kind: str,
    title_of: Callable[[str], tuple[int, str] | None],
    inline: Callable[[str], str],
    opening: re.Pattern[str],
    closing: re.Pattern[str],
    keyword: re.Pattern[str],
) -> Converted:
    lines, warnings = _lines(data)
    writer = Writer()
    paragraph: list[str] = []
    metadata: dict[str, MetaValue] = {}
    title = None
    index = 0

    def flush() -> None:
        if paragraph:
            text = "\n".join(paragraph)
            is_list = re.match(r"^\s*(?:[-+*]+|\.+|\d+[.)])\s+\S", paragraph[0])
            writer.add(
                re.sub(r"(?m)^(\s*)(?:[+*]+|\.+)\s+", r"\1- ", text) if is_list else _plain_or_table(text)
            )
            paragraph.clear()

    while index < len(lines):
        line = lines[index]
        index += 1
        block = opening.match(line)
        found = title_of(line)
        word = keyword.match(line)
        if block:
            flush()
            code: list[str] = []
            while index < len(lines) and not closing.match(lines[index]):
                code.append(lines[index])
                index += 1
            index += 1
            writer.add(fence("\n".join(code), block[1]) if any(code) else "")
        elif found:
            flush()
            writer.add(heading(*found))
        elif word:
            flush()
            if word[1] and word[2]:
                if word[1].lower() == "title":
                    title = one_line(word[2])
                else:
                    metadata[word[1].lower()] = one_line(word[2])
        elif not line.strip():
            flush()
        else:
            paragraph.append(inline(line))
    flush()
    return writer.converted(kind, VERSIONS[kind], title=title, metadata=metadata, warnings=warnings)


def _plain_or_table(text: str) -> str:
    return fence(text) if text.lstrip().startswith("|") else plain(text)
