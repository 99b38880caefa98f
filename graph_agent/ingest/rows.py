"""A converted document as rows for the graph: its sections with their chunks, and the document itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from graph_agent.embeddings import Embedder
from graph_agent.ingest.chunks import chunk_section, fit_breadcrumb
from graph_agent.ingest.dates import document_date
from graph_agent.ingest.document import Chunk, Converted, Section
from graph_agent.ingest.frontmatter import safe_metadata
from graph_agent.ingest.links import extract_links
from graph_agent.ingest.plan import Source, hash_bytes
from graph_agent.ingest.sections import document_title, parse_converted, section_tree
from graph_agent.ingest.summary import description_of
from graph_agent.ingest.tokens import Offsets, measure
from graph_agent.text import detect_language

LANGUAGE_SAMPLE = 4_000
CHUNKER = "chunks/1"
"""Raise the version when the chunks of any text change: documents cut by an older one are made again."""


@dataclass(frozen=True)
class Prepared:
    """One document, ready to be written.

    Attributes:
        markdown_hash: xxh3-64 of the Markdown; the first part of every id below.
        properties: of the Document node, front matter included.
        sections: rows of CREATE_SECTIONS, chunks inside.
        pairs: (parent id, section id) of subsections.
        top_sections: ids of the sections right below the document.
    """

    source: Source
    markdown_hash: str
    properties: dict[str, Any]
    sections: list[dict[str, Any]]
    pairs: list[tuple[str, str]]
    top_sections: list[str]
    warnings: tuple[str, ...]

    @property
    def chunk_count(self) -> int:
        """Chunks of all sections."""
        return sum(len(section["chunks"]) for section in self.sections)

    @property
    def weight(self) -> int:
        """Characters to send: what a batch is measured by."""
        return sum(2 * len(section["text"]) + 500 for section in self.sections)


def chunker_name(embedder: Embedder, size: int, overlap: int) -> str:
    """Names how documents are cut; one that was cut otherwise is made again."""
    return f"{CHUNKER}/{min(size, embedder.max_tokens - 2)}/{overlap}"


@dataclass(frozen=True)
class Outline:
    """A converted document with its sections and their tokens: what chunks are cut from.

    Attributes:
        offsets: of the tokens of each section's text.
        links: encoded links by section sequence.
    """

    source: Source
    converted: Converted
    sections: list[Section]
    offsets: list[Offsets]
    links: dict[int, list[str]]


def outline(source: Source, converted: Converted, embedder: Embedder) -> Outline:
    """Find the sections and links of a document and tokenize it."""
    parsed = parse_converted(converted)
    sections = section_tree(converted, source.path, parsed)
    links: dict[int, list[str]] = {}
    for link in extract_links(converted, sections, parsed):
        links.setdefault(link.section, []).append(link.encode())
    offsets = measure([section.text for section in sections], embedder.token_offsets_of)
    return Outline(source, converted, sections, offsets, links)


def prepare(found: Outline, embedder: Embedder, *, size: int, overlap: int) -> Prepared:
    """Chunks, title, dates and description of one document.

    Args:
        size: tokens of a chunk with its breadcrumb, in the embedding model's own tokens; at most what its
            window holds besides its two special tokens.
        overlap: tokens that neighbouring chunks share.
    """
    source, converted, sections = found.source, found.converted, found.sections
    markdown_hash = hash_bytes(converted.markdown.encode("utf-8"))
    ids = [f"{markdown_hash}::{section.sequence}" for section in sections]
    limit = min(size, embedder.max_tokens - 2)
    rows = []
    for section, section_id, spans in zip(sections, ids, found.offsets, strict=True):
        chunks = chunk_section(
            section, embedder.token_offsets, limit, overlap, converted.pages, offsets=spans
        )
        row = _section(section, section_id, chunks)
        row["markdown_hash"] = markdown_hash
        row["parent_section_id"] = None if section.parent is None else ids[section.parent]
        row["token_count"] = len(spans)
        row["breadcrumb"] = list(fit_breadcrumb(section.breadcrumb, embedder.token_offsets, limit))
        row["links"] = found.links.get(section.sequence)
        rows.append(row)
    return Prepared(
        source=source,
        markdown_hash=markdown_hash,
        properties=_document(source, converted, sections, rows, chunker_name(embedder, size, overlap)),
        sections=rows,
        pairs=[
            (ids[section.parent], ids[section.sequence]) for section in sections if section.parent is not None
        ],
        top_sections=[ids[section.sequence] for section in sections if section.parent is None],
        warnings=converted.warnings,
    )


def _section(section: Section, section_id: str, chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "section_id": section_id,
        "sequence": section.sequence,
        "title": section.title,
        "level": section.level,
        "kind": section.kind,
        "text": section.text,
        "start_line": section.start_line,
        "page_start": section.page_start,
        "page_end": section.page_end,
        "description": description_of(section.text) or None,
        "chunks": [
            {
                "chunk_id": f"{section_id}::{chunk.index}",
                "index": chunk.index,
                "text": chunk.text,
                "token_count": chunk.token_count,
                "start_line": chunk.start_line,
                "page": chunk.page,
            }
            for chunk in chunks
        ],
    }


def _document(
    source: Source,
    converted: Converted,
    sections: Sequence[Section],
    rows: Sequence[dict[str, Any]],
    chunker: str,
) -> dict[str, Any]:
    body = converted.markdown[converted.body_start :]
    headings = [(section.level, section.title) for section in sections if section.kind == "heading"]
    date, date_source = document_date(
        converted.metadata, body, source.file.name, source.file.mtime, media_type=converted.media_type
    )
    ours = {
        "markdown_hash": hash_bytes(converted.markdown.encode("utf-8")),
        "filename": source.file.name,
        "path": source.path,
        "source": source.file.path,
        "title": document_title(converted, source.path, headings),
        "media_type": converted.media_type,
        "language": converted.language or detect_language(body[:LANGUAGE_SAMPLE]),
        "token_count": sum(row["token_count"] for row in rows),
        "section_count": len(rows),
        "page_count": converted.page_count,
        "description": description_of(body, converted.metadata) or None,
        "description_source": "text",  # `enrich` writes "model"
        "date": date,
        "date_source": date_source,
        "ingested_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "converter": converted.converter,
        "chunker": chunker,
    }
    return {
        **safe_metadata(converted.metadata),
        **{key: value for key, value in ours.items() if value is not None},
    }


def stem_of(filename: str) -> str:
    """A filename without its ending: the title of last resort."""
    return PurePosixPath(filename).stem
