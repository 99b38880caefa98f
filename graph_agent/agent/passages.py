"""From search results to the passages that an answer may cite: whole sections where they fit, else pieces.

A passage is always a slice of one section's text, so that its line in the document is known and a quote
opens at the right place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.agent.response import Passage, Source
from graph_agent.text import estimate_tokens

WHOLE_TOKENS = 700  # a section up to this size is given whole
MAX_PASSAGES = 18
TABLE_TOKENS = 500  # rows put back around a piece of a table, at most
SECTIONS_OF_DOCUMENT = 3  # before others had their turn
SECTIONS_OF_LEADING = 6  # of the two best documents
LEADING = 2
CERTAIN = 5  # documents that get a passage whatever their place
_HITS_OF_SECTION = 3


@dataclass(frozen=True)
class Section:
    """A section as the graph has it."""

    section_id: str
    text: str
    title: str = ""
    start_line: int = 0
    page: int | None = None
    breadcrumb: tuple[str, ...] = ()
    document_id: str = ""
    path: str = ""
    document: str = ""
    date: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Section:
        """From a row of queries.agent.SECTIONS; absent properties are left out."""
        return cls(
            section_id=str(row["section_id"]),
            text=str(row.get("text") or ""),
            title=str(row.get("title") or ""),
            start_line=int(row.get("start_line") or 0),
            page=row.get("page"),
            breadcrumb=tuple(row.get("breadcrumb") or ()),
            document_id=str(row.get("document_id") or ""),
            path=str(row.get("path") or ""),
            document=str(row.get("document") or ""),
            date=str(row["date"]) if row.get("date") else None,
        )


@dataclass(frozen=True)
class Found:
    """One search result: a piece of a section and how well it matched, in rank order."""

    section_id: str
    chunk_id: str
    text: str
    score: float = 0.0
    page: int | None = None
    source: str = ""
    display_path: str = ""
    title: str = ""
    document_id: str = ""


@dataclass
class _Pieces:
    section: Section
    first: Found
    spans: list[tuple[int, int]] = field(default_factory=list)


def found_in(artifact: Mapping[str, Any]) -> list[Found]:
    """The results of query_documents, in rank order."""
    shown = {row.get("source"): row.get("displayPath") for row in artifact.get("sources") or []}
    found = []
    for row in artifact.get("results") or []:
        section = str(row.get("parentId") or "")
        number = row.get("chunkIndex")
        chunk = row.get("chunkId") or (f"{section}::{number}" if section and number is not None else "")
        found.append(
            Found(
                section_id=section,
                chunk_id=str(chunk),
                text=str(row.get("text") or ""),
                score=float(row.get("score") or 0.0),
                page=row.get("page"),
                source=str(row.get("source") or ""),
                display_path=str(row.get("displayPath") or shown.get(row.get("source")) or ""),
                title=str(row.get("title") or ""),
                document_id=str(row.get("documentId") or row.get("source") or ""),
            )
        )
    return found


def sources_in(artifact: Mapping[str, Any], documents: Mapping[str, str]) -> list[Source]:
    """The documents of query_documents, in rank order. `documents`: content hash by absolute or display path."""
    found = []
    for row in artifact.get("sources") or []:
        path = str(row.get("source") or "")
        display = str(row.get("displayPath") or "")
        labels = row.get("labels") or {}
        found.append(
            Source(
                document_id=documents.get(path) or documents.get(display) or "",
                path=path,
                display_path=display,
                title=str(row.get("title") or ""),
                hits=int(row.get("hits") or 0),
                date=row.get("date"),
                labels={
                    str(facet): [str(value) for value in _listed(values)] for facet, values in labels.items()
                },
            )
        )
    return found


def merged_sources(known: Sequence[Source], new: Iterable[Source]) -> list[Source]:
    """Sources of several searches, deduplicated in the order of first appearance, hits added up."""
    by_key: dict[str, Source] = {source.document_id or source.path: source for source in known}
    for source in new:
        key = source.document_id or source.path
        before = by_key.get(key)
        by_key[key] = (
            source if before is None else before.model_copy(update={"hits": before.hits + source.hits})
        )
    return list(by_key.values())


def ranked_documents(found: Sequence[Found]) -> list[str]:
    """Documents of search results, best first, by their best passage and by how many good ones they have.

    Half the score is the best passage's share of the top score, half the sum of the cubes of all shares: a
    document that is about the question throughout comes before one that mentions it once.
    """
    top = max((one.score for one in found), default=0.0) or 1.0
    best: dict[str, float] = {}
    mass: dict[str, float] = {}
    for one in found:
        share = one.score / top
        best[one.document_id] = max(best.get(one.document_id, 0.0), share)
        mass[one.document_id] = mass.get(one.document_id, 0.0) + share**3
    most = max(mass.values(), default=0.0) or 1.0
    scores = {name: 0.5 * best[name] + 0.5 * mass[name] / most for name in best}
    return sorted(scores, key=lambda name: -scores[name])


def pack(
    found: Sequence[Found],
    sections: Mapping[str, Section],
    budget: int,
    *,
    first_number: int = 1,
    most: int = MAX_PASSAGES,
) -> list[Passage]:
    """Passages in rank order, at most `budget` tokens and `most` of them; of one document some at first.

    The best documents are all among them. A section that fits is taken whole; of a larger one the pieces that matched, and around a piece of a
    table its header and neighbouring rows.
    """
    documents = ranked_documents(found)
    ranked = _varied(_by_section(found, sections), set(documents[:LEADING]))
    spans: dict[int, tuple[int, int]] = {}
    left = budget
    for position in _by_need(ranked, documents[:CERTAIN]):
        if len(spans) >= most or left < 40:
            break
        whole = ranked[position].section.text
        options = [(0, len(whole))] if estimate_tokens(whole) <= WHOLE_TOKENS else []
        options.append(_window(ranked[position]))
        for start, end in options:
            tokens = estimate_tokens(whole[start:end])
            if whole[start:end].strip() and tokens <= left:
                spans[position] = start, end
                left -= tokens
                break
    return [
        _passage(ranked[position], *spans[position], first_number + number)
        for number, position in enumerate(sorted(spans))
    ]


def _by_need(ranked: Sequence[_Pieces], certain: Sequence[str]) -> list[int]:
    """Positions in the order in which they get room: the best section of each of the best documents, then by rank."""
    first: dict[str, int] = {}
    for position, pieces in enumerate(ranked):
        first.setdefault(pieces.first.document_id, position)
    needed = [first[name] for name in certain if name in first]
    return list(dict.fromkeys([*needed, *range(len(ranked))]))


def section_passage(section: Section, n: int, *, start: int = 0, end: int | None = None) -> Passage:
    """A section, or a slice of it, as a passage that was read on purpose."""
    found = Found(section.section_id, "", section.text)
    return _passage(_Pieces(section, found), start, len(section.text) if end is None else end, n)


def node_passages(rows: Iterable[Mapping[str, Any]], first_number: int = 1) -> list[Passage]:
    """Passages of a foreign graph: the nodes that vector_search gave."""
    passages: list[Passage] = []
    for row in rows:
        properties = row.get("properties") or {}
        labels = ":".join(row.get("labels") or [])
        name = next((str(properties[key]) for key in ("title", "name", "label") if properties.get(key)), "")
        passages.append(
            Passage(
                n=first_number + len(passages),
                section_id="",
                document_id=str(row.get("id", "")),
                path=f"{labels}/{name or row.get('id', '')}",
                display_path=f"{labels}/{name or row.get('id', '')}",
                title=name or f"{labels} {row.get('id', '')}",
                text=str(row.get("text") or ""),
                score=max(0.0, min(1.0, float(row.get("score") or 0.0))),
            )
        )
    return passages


def trimmed(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """The first passages that fit into `budget` tokens; the first one is cut rather than left out."""
    kept: list[Passage] = []
    left = budget
    for passage in passages:
        tokens = estimate_tokens(passage.text)
        if tokens <= left:
            kept.append(passage)
            left -= tokens
        elif not kept:
            share = max(1, int(len(passage.text) * left / max(1, tokens)))
            kept.append(passage.model_copy(update={"text": passage.text[:share]}))
            break
    return kept


def _by_section(found: Sequence[Found], sections: Mapping[str, Section]) -> list[_Pieces]:
    grouped: dict[str, _Pieces] = {}
    for one in found:
        section = sections.get(one.section_id) or _orphan(one)
        pieces = grouped.setdefault(section.section_id or one.text, _Pieces(section, one))
        if len(pieces.spans) < _HITS_OF_SECTION and (span := _span(section.text, one.text)) is not None:
            pieces.spans.append(span)
    return list(grouped.values())


def _varied(ranked: list[_Pieces], leading: set[str]) -> list[_Pieces]:
    """The order of rank, but a document's further sections wait until others had their turn."""
    counts: dict[str, int] = {}
    first: list[_Pieces] = []
    later: list[_Pieces] = []
    for pieces in ranked:
        name = pieces.first.document_id or pieces.section.document_id
        counts[name] = counts.get(name, 0) + 1
        (
            first
            if counts[name] <= (SECTIONS_OF_LEADING if name in leading else SECTIONS_OF_DOCUMENT)
            else later
        ).append(pieces)
    return first + later


def _orphan(one: Found) -> Section:
    """A chunk of an older graph, which has no section: it stands for itself."""
    return Section(
        section_id=one.section_id,
        text=one.text,
        title=one.title,
        page=one.page,
        path=one.display_path,
        document=one.title,
    )


def _span(text: str, piece: str) -> tuple[int, int] | None:
    """Where a passage stands in its section; a piece of a table has had its header rows put on top."""
    lines = piece.strip().splitlines(keepends=True)
    for skipped in (0, 2, 3):
        rest = "".join(lines[skipped:]).strip()
        start = text.find(rest) if rest else -1
        if start >= 0:
            return start, start + len(rest)
    return None


def _window(pieces: _Pieces) -> tuple[int, int]:
    """One stretch of the section: the best piece, joined with others that touch it, tables mended."""
    text = pieces.section.text
    if not pieces.spans:
        return 0, min(len(text), 4 * WHOLE_TOKENS)
    start, end = pieces.spans[0]
    for other_start, other_end in sorted(pieces.spans[1:]):
        near = other_start <= end + 200 and other_end >= start - 200
        if near and estimate_tokens(text[min(start, other_start) : max(end, other_end)]) <= WHOLE_TOKENS:
            start, end = min(start, other_start), max(end, other_end)
    return _whole_rows(text, start, end)


def _whole_rows(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch, grown to the header and the last row of a table that it cuts, within bounds."""
    first, last = _line_start(text, start), _line_end(text, end)
    if not (_is_row(text, first) or _is_row(text, _line_start(text, max(0, last - 1)))):
        return start, end
    grown = 0
    while first > 0 and grown < 4 * TABLE_TOKENS:
        before = _line_start(text, first - 1)
        if not _is_row(text, before):
            break
        grown += first - before
        first = before
    while last < len(text) and grown < 8 * TABLE_TOKENS:
        after = _line_end(text, last + 1)
        if not _is_row(text, last + 1) or after <= last:
            break
        grown += after - last
        last = after
    return first, last


def _is_row(text: str, at: int) -> bool:
    return text[at : at + 200].lstrip(" \t").startswith("|")


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _passage(pieces: _Pieces, start: int, end: int, n: int) -> Passage:
    section, first = pieces.section, pieces.first
    text = section.text[start:end]
    lead = len(text) - len(text.lstrip())
    start += lead
    line = section.start_line + section.text.count("\n", 0, start) if section.start_line else 0
    return Passage(
        n=n,
        section_id=section.section_id,
        chunk_id=first.chunk_id,
        document_id=section.document_id,
        path=first.source or section.path,
        display_path=first.display_path or section.path,
        title=section.document or first.title,
        breadcrumb=list(section.breadcrumb),
        page=first.page if first.page is not None and start else (section.page or first.page),
        line=line,
        date=section.date,
        text=text.strip(),
        score=max(0.0, min(1.0, first.score)),
    )


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]
