"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from graph_agent.retrieval.corpus import Coverage

Mode = Literal["hybrid", "vector", "bm25", "cypher"]
MODES: tuple[Mode, ...] = ("hybrid", "vector", "bm25", "cypher")

SCORE_KINDS: Mapping[str, str] = {
    "hybrid": "fused reciprocal ranks of keywords and vectors, weighted (0 to 1)",
    "vector": "cosine similarity (0 to 1)",
    "bm25": "BM25 as a share of the most that this query could score (0 to 1)",
    "cypher": "share of the words contained, those in the title counting more (0 to 1)",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found.

    Attributes:
        chunk_id: of the passage; section_id: of its section.
        markdown_hash: of the text; content_hash: of the document (the first in scope that has this text).
        score: 0 to 1, of the kind that the result's explanation names.
        ranks: place (from 1) of the passage in each leg that found it.
        text: of the passage.
        start_line: of the passage in the document's Markdown; page: where it starts, if there are pages.
        section_title, level, kind, breadcrumb: of the section.
        path, title, source, filename: of the document; source is absolute.
        snippet: at most 240 characters around the best match, matched words in bold.
        repeats: ids of sections that say nearly the same and were put behind.
    """

    chunk_id: str
    section_id: str
    markdown_hash: str
    content_hash: str
    score: float
    ranks: Mapping[str, int]
    text: str
    start_line: int | None
    page: int | None
    section_title: str
    level: int
    kind: str
    breadcrumb: tuple[str, ...]
    path: str
    title: str
    source: str
    filename: str
    snippet: str
    index: int = 0
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and what is to be known about how they were found.

    Attributes:
        hits: at most as many as asked for.
        coverage: of the scope: chunks, how many have vectors, documents.
        searched: what was searched, in words ("12 documents (folder reports)").
        degraded: why the answer came by a weaker way than asked for, or None.
        relaxed: what was given up because nothing matched, or None.
        explanation: plain JSON types: score_kind, weights and reasons per query, and more.
    """

    hits: tuple[Hit, ...]
    coverage: Coverage
    searched: str
    degraded: str | None = None
    relaxed: str | None = None
    explanation: dict[str, Any] = field(default_factory=dict)
