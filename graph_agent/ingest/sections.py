"""Markdown to a section tree: every section is a slice of the text, and together they are all of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from graph_agent.ingest.decoding import line_starts
from graph_agent.ingest.document import Converted, Section, SectionKind
from graph_agent.ingest.markdown import Parsed, parse

_NON_BLANK = re.compile(r"\S")
_MDX = "text/mdx"


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a section starts, and what it is."""

    start: int
    level: int
    kind: SectionKind
    title: str
    page: int | None = None


def parse_converted(converted: Converted) -> Parsed:
    """The block structure of a document's text, for `section_tree` and `links.extract_links`.

    Line numbers in it count from `converted.body_start`. Plain text has no structure.
    """
    if converted.media_type == "text/plain":
        return Parsed((), (), {})
    return parse(converted.markdown[converted.body_start :], mdx=converted.media_type == _MDX)


def section_tree(converted: Converted, filename: str, parsed: Parsed | None = None) -> list[Section]:
    """The sections of a document in order of the text.

    Sections come from the converter's blocks, else from Markdown headings (CommonMark with GFM tables,
    also inside quotes and lists). A section's text reaches from its heading line to the next heading of
    any level. Text before the first one, or all of it, is a section of kind "root", level 0. Blank text
    gives no section. A section's parent is the last one before it with a smaller level, however much
    smaller; the root section is nobody's parent.

    Args:
        converted: the document.
        filename: its name or path; the stem is the title of last resort.
        parsed: `parse_converted(converted)`, if it is at hand.
    """
    text = converted.markdown
    lines = line_starts(text)
    if converted.blocks:
        cuts = _block_cuts(converted)
    else:
        cuts = _heading_cuts(converted, parsed or parse_converted(converted), lines)
    document = document_title(
        converted, filename, [(cut.level, cut.title) for cut in cuts if cut.kind == "heading"]
    )
    first = cuts[0].start if cuts else len(text)
    if opening := _NON_BLANK.search(text, converted.body_start, first):
        start = max(lines[bisect_right(lines, opening.start()) - 1], converted.body_start)
        cuts.insert(0, _Cut(start, 0, "root", document))
    return _sections(converted, cuts, lines, document)


def document_title(converted: Converted, filename: str, headings: Sequence[tuple[int, str]] = ()) -> str:
    """What a document is called: its front matter, its properties, its first top heading, its filename.

    Args:
        converted: the document.
        filename: name or path.
        headings: (level, title) of its headings in order. The first counts if no other stands above it.
    """
    named = converted.metadata.get("title")
    for candidate in (named if not isinstance(named, list) else None, converted.title):
        if candidate is not None and (title := " ".join(str(candidate).split())):
            return title
    if headings and headings[0][1] and headings[0][0] == min(level for level, _ in headings):
        return headings[0][1]
    return PurePosixPath(filename.replace("\\", "/")).stem or filename


def _heading_cuts(converted: Converted, parsed: Parsed, lines: list[int]) -> list[_Cut]:
    base = bisect_right(lines, converted.body_start) - 1
    return [
        _Cut(max(lines[base + heading.line], converted.body_start), heading.level, "heading", heading.title)
        for heading in parsed.headings
    ]


def _block_cuts(converted: Converted) -> list[_Cut]:
    size = len(converted.markdown)
    return [
        _Cut(
            min(max(block.start, converted.body_start), size),
            max(block.level, 1),
            block.kind,
            " ".join(block.title.split()),
            block.page,
        )
        for block in sorted(converted.blocks, key=lambda block: block.start)
    ]


def _sections(converted: Converted, cuts: list[_Cut], lines: list[int], document: str) -> list[Section]:
    text = converted.markdown
    page_starts = [start for start, _ in converted.pages]
    open_sections: list[Section] = []
    sections: list[Section] = []
    for sequence, cut in enumerate(cuts):
        end = cuts[sequence + 1].start if sequence + 1 < len(cuts) else len(text)
        while open_sections and (open_sections[-1].level >= cut.level or open_sections[-1].kind == "root"):
            open_sections.pop()
        parent = open_sections[-1] if open_sections else None
        page_start, page_end = _pages(converted, page_starts, cut, end)
        section = Section(
            sequence=sequence,
            title=cut.title,
            level=cut.level,
            kind=cut.kind,
            text=text[cut.start : end],
            start=cut.start,
            end=end,
            start_line=bisect_right(lines, cut.start),
            parent=parent.sequence if parent else None,
            page_start=page_start,
            page_end=page_end,
            breadcrumb=_trail(parent.breadcrumb if parent else (document,), cut.title),
        )
        sections.append(section)
        open_sections.append(section)
    return sections


def _trail(above: tuple[str, ...], title: str) -> tuple[str, ...]:
    if not title or (above and above[-1].casefold() == title.casefold()):
        return above
    return (*above, title)


def _pages(converted: Converted, starts: list[int], cut: _Cut, end: int) -> tuple[int | None, int | None]:
    """Pages of a section's first and last character that is not blank."""
    if not starts:
        return cut.page, cut.page
    last = cut.start + len(converted.markdown[cut.start : end].rstrip())
    first_page = page_at(converted.pages, cut.start, starts)
    last_page = page_at(converted.pages, max(last - 1, cut.start), starts)
    return (cut.page if cut.page is not None else first_page), last_page


def page_at(pages: Sequence[tuple[int, int]], offset: int, starts: Sequence[int] | None = None) -> int | None:
    """The page on which a character stands; None if there are no pages or it stands before the first.

    Args:
        pages: (offset, page number), ascending, as in `Converted.pages`.
        offset: offset of the character in the Markdown.
        starts: the offsets of `pages`, if they are at hand.
    """
    index = bisect_right(starts if starts is not None else [start for start, _ in pages], offset) - 1
    return pages[index][1] if index >= 0 else None
