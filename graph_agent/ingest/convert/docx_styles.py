"""Styles and numbering of a Word document: which paragraphs are headings, list items or code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from graph_agent.ingest.convert.ooxml import Element, attribute, child, children, value_of

_HEADING = re.compile(r"(?i)heading\s*([1-9])$")
_CODE = re.compile(r"(?i)\b(code|source|preformatted|macro|verbatim|listing)\b|sourcecode|codeblock")
_NO_CODE = re.compile(r"(?i)char$|inline|caption")


@dataclass(slots=True)
class _Style:
    name: str
    based_on: str
    outline: str | None
    numbering: tuple[str, str] | None


class Styles:
    """The paragraph styles.

    Args:
        root: root element of styles.xml, or None.
    """

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, _Style] = {}
        for item in children(root, "style"):
            properties = child(item, "pPr")
            number = value_of(properties, "numPr", "numId")
            self._styles[attribute(item, "styleId")] = _Style(
                value_of(item, "name") or attribute(item, "styleId"),
                value_of(item, "basedOn") or "",
                value_of(properties, "outlineLvl"),
                (number, value_of(properties, "numPr", "ilvl") or "0") if number else None,
            )

    def level(self, style: str, properties: Element | None) -> int:
        """Heading level 1 to 6 of a paragraph, 0 if it is none.

        Built-in styles have English names in every language; a style may inherit from one.
        """
        own = value_of(properties, "outlineLvl")
        if own is not None and own.isdigit():
            return min(int(own) + 1, 6) if int(own) < 9 else 0
        for entry in self._chain(style):
            match = _HEADING.match(entry.name)
            if match:
                return min(int(match[1]), 6)
            if entry.name.lower() == "title":
                return 1
            if entry.outline is not None and entry.outline.isdigit():
                return min(int(entry.outline) + 1, 6) if int(entry.outline) < 9 else 0
        match = _HEADING.match(style)
        return min(int(match[1]), 6) if match and style not in self._styles else 0

    def numbering(self, style: str) -> tuple[str, str] | None:
        """(numId, level) that a style brings."""
        return next((entry.numbering for entry in self._chain(style) if entry.numbering), None)

    def is_code(self, style: str) -> bool:
        """Whether a style is for program text."""
        return any(
            _CODE.search(entry.name) and not _NO_CODE.search(entry.name) for entry in self._chain(style)
        )

    def _chain(self, style: str) -> list[_Style]:
        found: list[_Style] = []
        seen: set[str] = set()
        while style in self._styles and style not in seen:
            seen.add(style)
            found.append(self._styles[style])
            style = self._styles[style].based_on
        return found


@dataclass(slots=True)
class _Level:
    format: str
    text: str
    start: int


@dataclass(slots=True)
class Numbering:
    """Numbers of list items and headings, counted as Word counts them.

    Args:
        root: root element of numbering.xml, or None.
    """

    root: Element | None
    _levels: dict[str, dict[int, _Level]] = field(default_factory=dict)
    _abstract: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for item in children(self.root, "abstractNum"):
            levels = {}
            for level in children(item, "lvl"):
                index, start = attribute(level, "ilvl"), value_of(level, "start") or "1"
                if index.isdigit():
                    levels[int(index)] = _Level(
                        value_of(level, "numFmt") or "decimal",
                        value_of(level, "lvlText") or "",
                        int(start) if start.isdigit() else 1,
                    )
            self._levels[attribute(item, "abstractNumId")] = levels
        for item in children(self.root, "num"):
            self._abstract[attribute(item, "numId")] = value_of(item, "abstractNumId") or ""

    def reset(self) -> None:
        """Start counting again."""
        self._counts.clear()

    def mark(self, properties: Element | None, of_style: tuple[str, str] | None) -> tuple[int, str] | None:
        """Count a paragraph: (depth from 0, mark such as "-", "2." or "1.3"), or None if it is not numbered."""
        number = value_of(properties, "numPr", "numId")
        depth = value_of(properties, "numPr", "ilvl")
        if number is None:
            if of_style is None:
                return None
            number, depth = of_style[0], depth or of_style[1]
        if number == "0" or number not in self._abstract:
            return None
        index = int(depth) if depth and depth.isdigit() else 0
        abstract = self._abstract[number]
        level = self._levels.get(abstract, {}).get(index)
        if level is None or level.format == "bullet":
            return index, "-"
        if level.format == "none":
            return None
        counts = self._counts.setdefault(abstract, [])
        while len(counts) <= index:
            above = self._levels.get(abstract, {}).get(len(counts))
            counts.append((above.start if above else 1) - 1)
        counts[index] += 1
        del counts[index + 1 :]
        return index, self._text(abstract, level, counts)

    def _text(self, abstract: str, level: _Level, counts: list[int]) -> str:
        def shown(match: re.Match[str]) -> str:
            position = int(match[1]) - 1
            if position >= len(counts):
                return ""
            other = self._levels.get(abstract, {}).get(position)
            return _number(max(counts[position], 1), other.format if other else "decimal")

        return re.sub(r"%(\d)", shown, level.text).strip() or f"{counts[-1]}."


def _number(value: int, style: str) -> str:
    if style in ("lowerLetter", "upperLetter"):
        letters = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letters if style == "lowerLetter" else letters.upper()
    if style in ("lowerRoman", "upperRoman"):
        roman = _roman(value)
        return roman if style == "upperRoman" else roman.lower()
    return f"{value:02d}" if style == "decimalZero" else str(value)


def _roman(value: int) -> str:
    out = ""
    for size, letters in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
        (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        while value >= size:
            out += letters
            value -= size
    return out
