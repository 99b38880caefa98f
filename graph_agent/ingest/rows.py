"""A converted document as rows for the graph: its sections with their chunks, and the document itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol, Self

from graph_agent.ingest.chunks import chunk_section, fit_breadcrumb
from graph_agent.ingest.dates import document_date
from graph_agent.ingest.document import Chunk, Converted, Section
from graph_agent.ingest.frontmatter import safe_metadata
from graph_agent.ingest.identity import hash_bytes
from graph_agent.ingest.links import extract_links
from graph_agent.ingest.sections import document_title, parse_converted, section_tree
from graph_agent.ingest.summary import description_of
from graph_agent.ingest.tokens import Offsets, measure
from graph_agent.text import detect_language, passage_text
from graph_agent.text.postings import ChunkText, analysis_language, build_postings, encode_postings

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder

LANGUAGE_SAMPLE = 4_000
CHUNKER = "chunks/1"
"""Raise the version when the chunks of any text change: documents cut by an older one are made again."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a document knows of its file.

    Attributes:
        path: below the root, with "/".
        source: absolute, as text.
        modified: seconds since the epoch.
    """

    path: str
    source: str
    modified: float

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Cutting:
    """How documents are cut.

    Attributes:
        limit: tokens of a chunk with its breadcrumb.
        overlap: tokens that neighbouring chunks share.
        name: of all of this; documents that were cut otherwise are made again.
    """

    limit: int
    overlap: int
    name: str

    @classmethod
    def of(cls, embedder: Embedder, size: int, overlap: int) -> Self:
        """Chunks of `size` tokens, or of what the model's window holds besides its two special tokens."""
        limit = min(size, embedder.max_tokens - 2)
        return cls(limit, overlap, f"{CHUNKER}/{limit}/{overlap}")


class Tokenizer(Protocol):
    """Where the embedding model's tokens stand: an `Embedder`."""

    def token_offsets(self, text: str) -> Offsets:
        """[start, end) in characters of each token, special tokens left out."""

    def token_offsets_of(self, texts: Sequence[str]) -> Sequence[Offsets]:
        """The same of many texts."""


@dataclass(frozen=True)
class Prepared:
    """One document, ready to be written; JSON types but for the postings.

    Attributes:
        markdown_hash: xxh3-64 of the Markdown; the first part of every id below.
        properties: of the Document node, front matter included.
        sections: rows of CREATE_SECTIONS, chunks inside.
        pairs: [parent id, section id] of subsections.
        top_sections: ids of the sections right below the document.
        warnings: things taken but not whole.
        postings: its keyword index, as search reads it.
    """

    markdown_hash: str
    properties: dict[str, Any]
    sections: list[dict[str, Any]]
    pairs: list[list[str]]
    top_sections: list[str]
    warnings: list[str]
    postings: bytes

    @property
    def chunk_count(self) -> int:
        """Chunks of all sections."""
        return sum(len(section["chunks"]) for section in self.sections)

    @property
    def weight(self) -> int:
        """Characters to send: what a batch is measured by."""
        return sum(2 * len(section["text"]) + 500 for section in self.sections)


def prepare(converted: Converted, origin: Origin, cutting: Cutting, tokenizer: Tokenizer) -> Prepared:
    """Sections, chunks, links, title, dates, description and postings of one document."""
    parsed = parse_converted(converted)
    sections = section_tree(converted, origin.path, parsed)
    links: dict[int, list[str]] = {}
    for link in extract_links(converted, sections, parsed):
        links.setdefault(link.section, []).append(link.encode())
    trails = list({passage_text(section.breadcrumb, ""): None for section in sections})
    measured = measure([*(section.text for section in sections), *trails], tokenizer.token_offsets_of)
    offsets, of_trails = measured[: len(sections)], dict(zip(trails, measured[len(sections) :], strict=True))

    def tokenize(text: str) -> Offsets:
        known = of_trails.get(text)
        return tokenizer.token_offsets(text) if known is None else known

    markdown_hash = hash_bytes(converted.markdown.encode("utf-8"))
    ids = [f"{markdown_hash}::{section.sequence}" for section in sections]
    rows = []
    for section, section_id, spans in zip(sections, ids, offsets, strict=True):
        chunks = chunk_section(
            section, tokenize, cutting.limit, cutting.overlap, converted.pages, offsets=spans
        )
        row = _section(section, section_id, chunks)
        row["markdown_hash"] = markdown_hash
        row["parent_section_id"] = None if section.parent is None else ids[section.parent]
        row["token_count"] = len(spans)
        row["breadcrumb"] = list(fit_breadcrumb(section.breadcrumb, tokenize, cutting.limit))
        row["links"] = links.get(section.sequence)
        rows.append(row)
    properties = _document(origin, converted, sections, rows)
    properties["chunker"] = cutting.name
    return Prepared(
        markdown_hash=markdown_hash,
        properties=properties,
        sections=rows,
        pairs=[
            [ids[section.parent], ids[section.sequence]] for section in sections if section.parent is not None
        ],
        top_sections=[ids[section.sequence] for section in sections if section.parent is None],
        warnings=list(converted.warnings),
        postings=_postings(rows, properties),
    )


def _postings(rows: Sequence[dict[str, Any]], properties: dict[str, Any]) -> bytes:
    chunks = [
        ChunkText(row["sequence"], chunk["index"], chunk["text"], tuple(row["breadcrumb"]))
        for row in rows
        for chunk in row["chunks"]
    ]
    language = analysis_language(properties.get("language", ""), chunks)
    return encode_postings(build_postings(chunks, language), properties["chunker"])


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
        "description": (description := description_of(section.text) or None),
        "description_source": description and "text",
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
    origin: Origin, converted: Converted, sections: Sequence[Section], rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    body = converted.markdown[converted.body_start :]
    headings = [(section.level, section.title) for section in sections if section.kind == "heading"]
    date, date_source = document_date(
        converted.metadata, body, origin.name, origin.modified, media_type=converted.media_type
    )
    ours = {
        "markdown_hash": hash_bytes(converted.markdown.encode("utf-8")),
        "filename": origin.name,
        "path": origin.path,
        "source": origin.source,
        "title": document_title(converted, origin.path, headings),
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
    }
    return {
        **safe_metadata(converted.metadata),
        **{key: value for key, value in ours.items() if value is not None},
    }


def stem_of(filename: str) -> str:
    """A filename without its ending: the title of last resort."""
    return PurePosixPath(filename).stem
