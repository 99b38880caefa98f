"""First questions, made of the corpus: titles of documents and sections, in the documents' language."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph_agent.store.queries import pages as statements
from graph_agent.ui.sanitise import plain_text
from graph_agent.ui.wording import shortened

if TYPE_CHECKING:
    from graph_agent.store import DocumentGraph

SHOWN = 4
_ASKED = {
    "de": "Was steht in „{document}“ zu „{section}“?",
    "fr": "Que dit « {document} » sur « {section} » ?",
    "es": "¿Qué dice «{document}» sobre «{section}»?",
    "it": "Che cosa dice «{document}» su «{section}»?",
    "nl": "Wat zegt “{document}” over “{section}”?",
    "pt": "O que diz “{document}” sobre “{section}”?",
}
_ENGLISH = "What does “{document}” say about “{section}”?"


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the document that it is about."""

    question: str
    about: str


def examples(graph: DocumentGraph, wanted: int = SHOWN) -> list[Example]:
    """Questions whose answer is in the documents, each about another document; the same for the same corpus."""
    rows = graph.read(statements.QUESTION_SEEDS).dicts()
    # A fixed shuffle: neighbours in the graph are neighbours in a folder, and four of one folder say little.
    rows.sort(key=lambda row: hashlib.blake2s(str(row["section_id"]).encode(), digest_size=8).digest())
    found: dict[str, Example] = {}
    for row in rows:
        document = shortened(plain_text(str(row["document"] or "")), 60)
        section = shortened(plain_text(str(row["title"] or "")), 60)
        if not document or not section or row["document_id"] in found:
            continue
        if section.casefold() == document.casefold() or row["kind"] != "heading":
            continue
        asked = _ASKED.get(str(row["language"] or "en")[:2], _ENGLISH)
        found[row["document_id"]] = Example(asked.format(document=document, section=section), document)
        if len(found) == wanted:
            break
    return list(found.values())
