"""Where the tables of a section are: for outlines, and for headers repeated when a reading starts inside one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Table:
    """A GFM table; line numbers are 0-based within the section, `end` is the line after its last row.

    Attributes:
        start: its header line; the delimiter row follows it.
        header: texts of the header's cells.
    """

    start: int
    end: int
    header: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Rows without header and delimiter."""
        return self.end - self.start - 2


def find_tables(lines: Sequence[str]) -> list[Table]:
    """Tables with pipes, as GFM defines them, outside of fenced code."""
    tables: list[Table] = []
    fence = ""
    at = 0
    while at < len(lines):
        mark = _FENCE.match(lines[at])
        if mark and (not fence or (mark[1].startswith(fence) and not lines[at].strip().strip(fence[0]))):
            fence = "" if fence else mark[1]
        elif not fence and _is_header(lines, at):
            end = at + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            tables.append(Table(at, end, tuple(cells(lines[at]))))
            at = end
            continue
        at += 1
    return tables


def cells(line: str) -> list[str]:
    """Texts of a row's cells."""
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [part.strip().replace("\\|", "|") for part in _CELL.split(inner)]


def _is_header(lines: Sequence[str], at: int) -> bool:
    if "|" not in lines[at] or at + 1 >= len(lines) or not _DELIMITER.match(lines[at + 1]):
        return False
    return len(cells(lines[at])) == len(cells(lines[at + 1]))
