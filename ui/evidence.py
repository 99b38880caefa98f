"""The passage behind a citation, in its section: where it stands, what is around it, the words themselves marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from graph_agent.store.queries import pages as statements
from graph_agent.ui.sanitise import LinkTarget, Rendering, to_html
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.agent.response import Citation, Passage
    from graph_agent.ui.workspace import Workspace

AROUND = 12_000  # characters shown of a long section, around the passage


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document lies."""

    document_id: str
    path: str
    source: str
    title: str
    media_type: str = ""
    page_count: int | None = None
    date: str | None = None


@dataclass(frozen=True)
class Section:
    """A section as it is shown.

    Attributes:
        text: Markdown, its own without subsections.
        start_line: line of the document that the text begins on, from 1; 0 when unknown.
        places: of the documents with this text, the first names it.
        before, after: neighbours in reading order: (section id, title).
    """

    section_id: str
    markdown_hash: str
    title: str
    text: str
    kind: str
    level: int
    start_line: int
    page_start: int | None
    page_end: int | None
    breadcrumb: Sequence[str]
    places: Sequence[Place]
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    links: Mapping[str, LinkTarget] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """Page or pages, in words; "" when there are none."""
        if self.page_start is None:
            return ""
        word = "Slide" if self.kind == "slide" else "Page"
        if self.page_end is not None and self.page_end != self.page_start:
            return f"{word}s {self.page_start} to {self.page_end}"
        return f"{word} {self.page_start}"


def load_section(workspace: Workspace, section_id: str) -> Section | None:
    """A visible section with its neighbours and links, None when there is none (any more).

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    graph = workspace.graph
    rows = graph.read(statements.SECTION, {"section_id": section_id}).dicts()
    if not rows or not rows[0]["places"]:
        return None
    row = rows[0]
    around = {
        int(near["sequence"]) - int(row["sequence"]): (
            str(near["section_id"]),
            str(near["title"] or "Untitled"),
        )
        for near in graph.read(
            statements.NEIGHBOURS, {"markdown_hash": row["markdown_hash"], "sequence": row["sequence"]}
        ).dicts()
    }
    links = link_targets(graph.read(statements.LINKS, {"section_ids": [section_id]}).dicts())
    return Section(
        section_id=section_id,
        markdown_hash=str(row["markdown_hash"]),
        title=str(row["title"] or "Untitled"),
        text=str(row["text"] or ""),
        kind=str(row["kind"] or ""),
        level=int(row["level"] or 0),
        start_line=int(row["start_line"] or 0),
        page_start=row["page_start"],
        page_end=row["page_end"],
        breadcrumb=[str(part) for part in row["breadcrumb"] or []],
        places=[
            Place(
                document_id=str(place["document_id"]),
                path=str(place["path"] or ""),
                source=str(place["source"] or ""),
                title=str(place["title"] or place["filename"] or ""),
                media_type=str(place["media_type"] or ""),
                page_count=place["page_count"],
                date=place["date"],
            )
            for place in row["places"]
        ],
        before=around.get(-1),
        after=around.get(1),
        links=links,
    )


def cited_html(
    workspace: Workspace, number: int, passage: Passage | None, citation: Citation | None
) -> Markup:
    """The panel for [n].

    Args:
        workspace: the graph.
        number: n.
        passage: what was read; None: a citation of something that never was.
        citation: the check's verdict, None while the answer is still being written.
    """
    if passage is None:
        return render("no_evidence.html", number=number)
    section = load_section(workspace, passage.section_id) if passage.section_id else None
    quotes = [quote for quote in (citation.quote if citation else "", passage.text) if quote.strip()]
    if section is None:
        text = to_html(passage.text, Rendering(quotes=quotes[:1]))
        return render("lost_evidence.html", number=number, passage=passage, citation=citation, text=text)
    return section_html(
        section, quotes=quotes, number=number, verified=citation.verified if citation else None,
        page=(citation.page if citation else None) or passage.page, line=citation.line if citation else passage.line,
    )  # fmt: skip


def section_html(
    section: Section,
    *,
    quotes: Sequence[str] = (),
    number: int | None = None,
    verified: bool | None = None,
    page: int | None = None,
    line: int = 0,
) -> Markup:
    """The panel for a section, with or without a quotation in it."""
    shown, first, last = _window(section.text, quotes)
    text = to_html(shown, Rendering(quotes=quotes, resolve=resolver(section.links)))
    return render(
        "evidence.html", section=section, text=text, number=number, verified=verified, place=section.places[0],
        where=f"{'Slide' if section.kind == 'slide' else 'Page'} {page}" if page else section.where, line=line,
        cut=(first, last, section.text.count("\n") + 1) if shown != section.text else None,
    )  # fmt: skip


def _window(text: str, quotes: Sequence[str]) -> tuple[str, int, int]:
    """The part of a long section around the quotation, by whole lines, and its first and last line."""
    if len(text) <= AROUND:
        return text, 1, text.count("\n") + 1
    at = next((at for quote in quotes if (at := text.find(quote.strip("…").strip()[:80])) >= 0), 0)
    start = text.rfind("\n", 0, max(0, at - AROUND // 3)) + 1
    end = text.find("\n", min(len(text), start + AROUND))
    end = len(text) if end < 0 else end
    shown = text[start : min(end, start + 2 * AROUND)]
    first = text.count("\n", 0, start) + 1
    return shown, first, first + shown.count("\n")


def link_targets(rows: Sequence[Mapping[str, Any]]) -> dict[str, LinkTarget]:
    """What links do, by their words: open a section or a document."""
    return {
        " ".join(str(row["text"] or "").split()): (
            {"do": "section", "id": str(row["section_id"])}
            if row["section_id"]
            else {"do": "document", "id": str(row["document_id"])}
        )
        for row in rows
    }


def resolver(links: Mapping[str, LinkTarget]) -> Callable[[str, str], LinkTarget | None]:
    """Finds a link's target by its words: the graph knows links by them."""
    return lambda _address, text: links.get(" ".join(text.split()))
