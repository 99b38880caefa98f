"""A Markdown text cut into its statements: sentences, list items, table rows, code blocks, with their places.

Where a sentence ends is told by `text.sentences`; here is what Markdown and citations add.

Serves both sides of a citation: what is quoted from a passage, and what an answer says.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from graph_agent.text.sentences import sentence_starts

Kind = Literal["sentence", "item", "row", "header", "code", "heading"]

_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*$")  # of a setext heading
_BREAK = re.compile(r"[ \t]{0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)]|\[[ xX]\])[ \t]+")
_RULE = re.compile(r"[ \t]*\|?[ \t:|-]*-{2,}[ \t:|-]*$")
# A citation behind the full stop belongs to the sentence before it.
_CITED = re.compile(r"(?:\[\^?\d[\d,;\s\u2013-]*\]|\u3010[^\u3011\n]{1,20}\u3011)\s*")


@dataclass(frozen=True, slots=True)
class Statement:
    """`text[start:end]`, without blanks around it. `kind` says what of Markdown it is."""

    start: int
    end: int
    kind: Kind

    def of(self, text: str) -> str:
        """The words."""
        return text[self.start : self.end]


def statements(text: str) -> list[Statement]:
    """All statements of a Markdown text in order; headings and table headers are marked as such."""
    return list(_blocks(text))


def on_one_line(text: str) -> str:
    """A statement with its line breaks taken out, for showing."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


def _blocks(text: str) -> Iterator[Statement]:
    lines = _lines(text)
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.text.strip() or _BREAK.match(line.text):
            at += 1
        elif fence := _FENCE.match(line.text):
            last = _fence_end(lines, at, fence[1])
            yield from _span(text, line.start, lines[last].end, "code")
            at = last + 1
        elif _HEADING.match(line.text):
            yield from _span(text, line.start, line.end, "heading")
            at += 1
        elif line.text.lstrip().startswith("|"):
            at = yield from _table(text, lines, at)
        elif item := _ITEM.match(line.text):
            last = _paragraph_end(lines, at)
            yield from _sentences(text, line.start + item.end(), lines[last].end, "item")
            at = last + 1
        else:
            last = _paragraph_end(lines, at)
            if (underlined := _underline(lines, at, last)) is not None:
                yield from _span(text, line.start, lines[underlined].end, "heading")
                last = underlined
            else:
                yield from _sentences(text, line.start, lines[last].end, "sentence")
            at = last + 1


def _table(text: str, lines: list[_Line], at: int) -> Generator[Statement, None, int]:
    first = at
    while at < len(lines) and lines[at].text.lstrip().startswith("|"):
        line = lines[at]
        if not _RULE.match(line.text):
            ruled = at + 1 < len(lines) and _RULE.match(lines[at + 1].text)
            yield from _span(text, line.start, line.end, "header" if at == first and ruled else "row")
        at += 1
    return at


def _fence_end(lines: list[_Line], at: int, mark: str) -> int:
    for number in range(at + 1, len(lines)):
        if lines[number].text.strip().startswith(mark) and not lines[number].text.strip().strip(mark[0]):
            return number
    return len(lines) - 1


def _paragraph_end(lines: list[_Line], at: int) -> int:
    number = at
    while number + 1 < len(lines):
        following = lines[number + 1].text
        if (
            not following.strip()
            or _HEADING.match(following)
            or _FENCE.match(following)
            or _ITEM.match(following)
            or following.lstrip().startswith("|")
        ):
            break
        number += 1
    return number


def _underline(lines: list[_Line], first: int, last: int) -> int | None:
    """The line that makes what stands above it a heading (setext), within one paragraph."""
    return next((at for at in range(first + 1, last + 1) if _UNDERLINE.match(lines[at].text)), None)


def _sentences(text: str, start: int, end: int, kind: Kind) -> Iterator[Statement]:
    begin = start
    for stop in sentence_starts(text, start, end):
        if stop < begin:
            continue
        while cited := _CITED.match(text, stop, end):
            stop = cited.end()
        yield from _span(text, begin, stop, kind)
        begin = stop
    yield from _span(text, begin, end, kind)


def _span(text: str, start: int, end: int, kind: Kind) -> Iterator[Statement]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        yield Statement(start, end, kind)


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        found.append(_Line(start, stop, text[start:stop]))
        start = stop + 1
    return found
