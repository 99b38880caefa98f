"""One document to read: what it is, its outline, its text section by section."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from graph_agent.store.queries import pages as statements
from graph_agent.ui.evidence import link_targets, resolver
from graph_agent.ui.library import labels_of
from graph_agent.ui.sanitise import Rendering, to_html
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.retrieval import DocumentRow
    from graph_agent.ui.workspace import Workspace

OUTLINE_LIMIT = 3_000  # headings
SECTIONS_A_PAGE = 40
CHARACTERS_A_PAGE = 30_000

KINDS = {
    "text/markdown": "Markdown",
    "text/plain": "Text",
    "application/pdf": "PDF",
    "text/html": "Web page",
    "text/csv": "Table",
    "text/tab-separated-values": "Table",
    "text/vtt": "Transcript",
    "application/x-subrip": "Transcript",
    "message/rfc822": "E-mail",
    "application/epub+zip": "Book",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word document",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "Slides",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Spreadsheet",
}


@dataclass
class Heading:
    """An entry of the outline."""

    section_id: str
    sequence: int
    title: str
    page: int | None
    children: list[Heading] = field(default_factory=list)


@dataclass(frozen=True)
class Reading:
    """A part of the text.

    Attributes:
        first: sequence of its first section; before: that of the part before, None at the beginning.
        after: that of the part after, None at the end.
    """

    sections: list[dict[str, Any]]
    first: int
    before: int | None
    after: int | None


def document_html(
    workspace: Workspace, document_id: str, *, section_id: str = "", first: int | None = None
) -> Markup:
    """The page of a document.

    Args:
        workspace: the graph.
        document_id: content hash.
        section_id: begin the text there, and mark it as the current one.
        first: begin the text at the section of this sequence.
    """
    row = workspace.corpus().by_hash.get(document_id)
    if row is None:
        return render("no_document.html")
    graph = workspace.graph
    rows = graph.read(
        statements.OUTLINE, {"markdown_hash": row.markdown_hash, "limit": OUTLINE_LIMIT}
    ).dicts()
    if first is None:
        first = next((int(one["sequence"]) for one in rows if one["section_id"] == section_id), 0)
    reading = _reading(workspace, row, rows, first)
    return render(
        "document.html",
        row=row,
        kind=KINDS.get(row.media_type, row.media_type),
        labels=labels_of(row),
        outline=_outline(rows),
        headings=len(rows),
        cut=len(rows) >= OUTLINE_LIMIT,
        reading=reading,
        current=section_id,
        path=_Paths(row),
    )


@dataclass(frozen=True)
class _Paths:
    """Where a document lies."""

    row: DocumentRow

    @property
    def others(self) -> list[str]:
        """Its other places."""
        return [place.path for place in self.row.places if place.path != self.row.path]


def _reading(workspace: Workspace, row: DocumentRow, outline: list[dict[str, Any]], first: int) -> Reading:
    found = workspace.graph.read(
        statements.SECTION_TEXTS,
        {"markdown_hash": row.markdown_hash, "first": first, "count": SECTIONS_A_PAGE},
    ).dicts()
    ids = [str(one["section_id"]) for one in found]
    links = resolver(link_targets(workspace.graph.read(statements.LINKS, {"section_ids": ids}).dicts()))
    sections: list[dict[str, Any]] = []
    characters = 0
    for one in found:
        text = str(one["text"] or "")
        if sections and characters + len(text) > CHARACTERS_A_PAGE:
            break
        characters += len(text)
        shown = to_html(text, Rendering(resolve=links))
        sections.append({**one, "html": shown, "page": one["page_start"]})
    last = int(sections[-1]["sequence"]) if sections else first
    end = int(outline[-1]["sequence"]) if outline else 0
    before = _page_before(outline, first)
    return Reading(sections, first, before, last + 1 if last < end else None)


def _page_before(outline: list[dict[str, Any]], first: int) -> int | None:
    """Where to begin so that a part ends before `first`; None at the beginning."""
    earlier = [one for one in outline if int(one["sequence"]) < first]
    if not earlier:
        return None
    characters = 0
    begin = int(earlier[-1]["sequence"])
    for one in reversed(earlier[-SECTIONS_A_PAGE:]):
        characters += int(one["characters"] or 0)
        if characters > CHARACTERS_A_PAGE and int(one["sequence"]) != begin:
            break
        begin = int(one["sequence"])
    return begin


def _outline(rows: list[dict[str, Any]]) -> list[Heading]:
    headings = {
        row["section_id"]: Heading(
            row["section_id"], int(row["sequence"]), str(row["title"] or "Untitled"), row["page"]
        )
        for row in rows
    }
    top: list[Heading] = []
    for row in rows:
        parent = headings.get(row["parent_id"] or "")
        (parent.children if parent is not None else top).append(headings[row["section_id"]])
    return top
