"""Writing Markdown while counting where pages and sections start: shared by every converter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.detect import MEDIA_TYPES
from graph_agent.ingest.document import Block, BlockKind, Converted, MetaValue

_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_CONTROLS = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f]")
_SPACES = re.compile(r"[ \t\n\r\v\f\u0085\u00a0\u2007\u2028\u2029\u202f]+")
_MARKS_BLOCK = re.compile(
    r"^([ ]{0,3})(#{1,6}(?=[ \t]|$)|>|<(?=[A-Za-z/!?])|```|~~~|[-+*](?=[ \t])|(?:={2,}|-{2,})[ \t]*$)"
)


def clean(text: str) -> str:
    """Text without NUL, lone surrogates and control characters; line ends become a newline.

    Vertical tabs, form feeds and U+2028/2029 inside converted documents are soft line ends of the source.
    """
    text = _UNSAFE.sub("\ufffd", text) if _UNSAFE.search(text) else text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub("[\x0b\x0c\u2028\u2029\u0085]", "\n", text)
    return _CONTROLS.sub("", text)


def one_line(text: str) -> str:
    """Text on one line, runs of blanks made one: for titles, headings and cells."""
    return _SPACES.sub(" ", clean(text)).strip()


def heading(level: int, text: str) -> str:
    """An ATX heading line; "" if the text is blank. Levels outside 1 to 6 are clamped."""
    title = one_line(text)
    if not title:
        return ""
    if title.endswith("#"):
        title = f"{title.rstrip('#')}{chr(92)}#" if set(title) != {"#"} else f"\\{title}"
    return f"{'#' * min(max(level, 1), 6)} {title}"


def plain(text: str) -> str:
    """Lines of plain text written so that none becomes a heading, fence, quote, list item or rule."""
    return "\n".join(_plain_line(line) for line in clean(text).split("\n"))


def _plain_line(line: str) -> str:
    line = line.rstrip() if not line.strip() else line
    if line.startswith(("    ", "\t")):
        line = line.lstrip()  # four blanks would be a code block
    return _MARKS_BLOCK.sub(r"\1\\\2", line)


def cell(text: str) -> str:
    """A table cell: one line, pipes escaped, blanks trimmed."""
    return one_line(text).replace("|", "\\|")


def table(rows: Iterable[Sequence[str]], *, header: bool = True) -> str:
    """A GFM table; short rows are filled, cells that are not text stay blank.

    Args:
        rows: cells as plain text (not yet escaped).
        header: whether the first row is the header; without one the header row is blank.

    Returns:
        The table's lines, or "" if no cell holds anything.
    """
    cells = [[cell(value) for value in row] for row in rows]
    if not any(any(row) for row in cells):
        return ""
    width = max(len(row) for row in cells)
    for row in cells:
        row.extend([""] * (width - len(row)))
    if not header:
        cells.insert(0, [""] * width)
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def fence(code: str, language: str = "") -> str:
    """A fenced code block whose fence is longer than any run of backticks inside."""
    code = clean(code).strip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    bar = "`" * (longest + 1)
    return f"{bar}{re.sub(r'[^A-Za-z0-9+#._-]', '', language)}\n{code}\n{bar}"


class Writer:
    """Markdown in the making: paragraphs are added, offsets of pages and blocks are kept.

    Everything added must be clean already, so that an offset taken now is one in the finished text.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.pages: list[tuple[int, int]] = []
        self._open: list[tuple[int, BlockKind, str, int, int | None]] = []

    @property
    def position(self) -> int:
        """Offset where the next paragraph starts."""
        return self._length + (2 if self._parts else 0)

    def add(self, text: str) -> None:
        """Append a block of Markdown, parted from the one before by a blank line; "" adds nothing."""
        text = text.strip("\n")
        if not text.strip():
            return
        if self._parts:
            self._parts.append("\n\n")
            self._length += 2
        self._parts.append(text)
        self._length += len(text)

    def page(self, number: int) -> None:
        """The next paragraph is the first of page `number`."""
        self.pages.append((self.position, number))

    def block(self, kind: BlockKind, title: str, level: int = 1, page: int | None = None) -> None:
        """The next paragraph is the first of a section of its own."""
        self._open.append((self.position, kind, one_line(title)[:300], level, page))

    def converted(
        self,
        kind: str,
        converter: str,
        *,
        title: str | None = None,
        language: str | None = None,
        page_count: int | None = None,
        metadata: Mapping[str, MetaValue] | None = None,
        warnings: Sequence[str] = (),
    ) -> Converted:
        """The finished document.

        Args:
            kind: a key of MEDIA_TYPES.
            converter: name and version, as in `Converted.converter`.
            title: of the document's properties.
            language: BCP 47 tag.
            page_count: pages or slides.
            metadata: document properties; blank values are dropped.
            warnings: one line each.
        """
        markdown = "".join(self._parts) + ("\n" if self._parts else "")
        size = len(markdown)
        blocks = []
        for index, (start, block_kind, name, level, page) in enumerate(self._open):
            end = self._open[index + 1][0] if index + 1 < len(self._open) else size
            blocks.append(Block(min(start, size), min(max(start, end), size), block_kind, name, level, page))
        return Converted(
            markdown=markdown,
            media_type=MEDIA_TYPES.get(kind, "application/octet-stream"),
            converter=converter,
            title=one_line(title)[:500] or None if title else None,
            language=language or None,
            page_count=page_count,
            metadata={key: value for key, value in (metadata or {}).items() if value not in ("", [])},
            blocks=tuple(blocks),
            pages=tuple((min(start, size), number) for start, number in self.pages),
            warnings=tuple(warnings),
        )


def missing(package: str, what: str) -> UnreadableFile:
    """The error for an optional package that is not installed."""
    return UnreadableFile(
        f"{what} needs the package {package}, which is not installed.", "pip install 'graph-agent[office]'"
    )
