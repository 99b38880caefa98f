"""Which part of a table of contents a question asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graph_agent.text import query_terms, terms

Part = tuple[str, list[dict[str, Any]], dict[str, Any] | None]


def asked_part(toc: Mapping[str, Any], question: str, kind: str) -> Part:
    """The document's title and its top sections, or a chapter's title, its subsections, and the chapter.

    A document whose only top section is its title is told from the level below. A chapter is meant when the
    question asks for subsections, and the one whose title shares most with the question is taken.
    """
    sections: list[dict[str, Any]] = list(toc.get("sections") or [])
    title = str(toc.get("title") or toc.get("document") or toc.get("path") or "")
    if kind == "subsections":
        chapter = _named_chapter(sections, question)
        if chapter is not None:
            return str(chapter["title"]), list(chapter["sections"]), chapter
    # A heading that is the document's title, with the text before it as a section of its own at most.
    headed = [section for section in sections if section.get("sections")]
    if len(headed) == 1 and len(sections) <= 2:
        return title or str(headed[0].get("title")), list(headed[0]["sections"]), headed[0]
    return title, sections, None


def _named_chapter(sections: list[dict[str, Any]], question: str) -> dict[str, Any] | None:
    """The section with subsections whose title's words the question holds most completely."""
    wanted = set(query_terms(question, "en"))
    best: dict[str, Any] | None = None
    best_score = 0.0
    for section in _walk(sections):
        own = set(terms(str(section.get("title") or "")))
        if not section.get("sections") or not own:
            continue
        shared = len(own & wanted)
        score = shared / len(own) + 0.1 * shared + 0.01 * int(section.get("level") or 0)
        if shared and score > best_score:
            best, best_score = section, score
    return best


def _walk(sections: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for section in sections:
        yield section
        yield from _walk(list(section.get("sections") or []))
