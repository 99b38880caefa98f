r"""What a document is between the file and the graph: plain immutable data, no behaviour of its own.

A converter turns a file into one `Converted`: Markdown text plus what is known about its structure. From
there on everything is positions in that text. All offsets are in characters (Python string indices) of
`Converted.markdown`; `end` is exclusive. Lines are counted from 1 and end at "\n", "\r\n" or "\r" only,
never at a form feed or U+2028, so that a line number means the same here and in an editor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Scalar: TypeAlias = str | int | float | bool
"""What FalkorDB takes as one property value: NUL-free text, 64-bit integer, finite float, truth value."""

MetaValue: TypeAlias = Scalar | list[str]
"""A property of a document: a scalar, or a list of strings."""

BlockKind: TypeAlias = Literal["heading", "page", "slide", "window", "sheet", "table"]
SectionKind: TypeAlias = Literal["root", "heading", "page", "slide", "window", "sheet", "table"]

RESERVED_PROPERTIES = frozenset(
    {
        # our properties of a Document
        "content_hash", "markdown_hash", "filename", "path", "source", "title", "media_type", "language",
        "token_count", "section_count", "page_count", "description", "description_source", "summary",
        "keywords", "date", "date_source", "ingested_at", "converter", "chunker", "warnings", "enriched",
        # what a person or a model who reads `n.text` takes for ours
        "text", "embedding", "section_id", "chunk_id", "folder_id", "document_id", "sequence",
        "parent_section_id",
    }
)  # fmt: skip
"""Names that front matter may not set: such a key becomes `fm_<key>` (see `frontmatter.safe_metadata`)."""


@dataclass(frozen=True, slots=True)
class Block:
    """A section by the source's own structure: a PDF outline entry, a page, a slide, a sheet, a time window.

    Blocks stand in ascending order of `start`. Give the span of the block's own text, or of the text with
    its sub-blocks: both work, because a section's own text always ends where the next block starts. Text
    before the first block becomes the root section. A block without text is allowed (an empty slide).

    Attributes:
        start: offset in the Markdown where the block starts (its heading line, if it has one).
        end: offset where it ends, exclusive.
        kind: what it is in the source.
        title: shown in tables of contents and breadcrumbs; one line of plain text.
        level: 1 for the top; a block is the child of the last block before it with a smaller level.
        page: 1-based page or slide number where it starts, if the source has pages.
    """

    start: int
    end: int
    kind: BlockKind
    title: str
    level: int = 1
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as Markdown, with what the file says about itself.

    Attributes:
        markdown: the text, free of NUL and lone surrogates (pass it through `decoding.clean_text`). For a
            Markdown or text file it is the file itself, line ends and front matter included.
        media_type: of the file, e.g. "application/pdf".
        converter: name and version, e.g. "pdf/1"; raise the version when the Markdown it makes changes.
        title: from the document's properties, if it has one; else it is found from headings or the filename.
        language: BCP 47 tag if the document names one.
        page_count: pages or slides, if the format has them.
        metadata: front matter or document properties, raw; stored only by way of `safe_metadata`.
        blocks: the sections, when they do not come from Markdown headings; empty means headings decide.
        pages: (offset where the page starts, 1-based page number), ascending; empty without pages.
        body_start: offset where the text starts, after front matter; what is before is in no section.
        warnings: one line each, shown beside the file's name ("page 3 has no text (scanned?)").
    """

    markdown: str
    media_type: str
    converter: str
    title: str | None = None
    language: str | None = None
    page_count: int | None = None
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    body_start: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One node of a document's section tree.

    Attributes:
        sequence: position in the document, from 0.
        title: plain text of the heading; the document's title for the root section; may be "".
        level: heading level 1 to 6, 0 for the root section, a block's level otherwise.
        kind: where the section comes from.
        text: its own text without subsections, heading line included: exactly `markdown[start:end]`.
        start: offset of the text.
        end: offset after the text.
        start_line: 1-based line of `start` in the Markdown, front matter counted.
        parent: sequence of the parent section, None for a top section.
        page_start: page on which the section starts, if there are pages.
        page_end: page on which its own text ends.
        breadcrumb: titles from the document down to this section, without repetition of equal neighbours.
    """

    sequence: int
    title: str
    level: int
    kind: SectionKind
    text: str
    start: int
    end: int
    start_line: int
    parent: int | None = None
    page_start: int | None = None
    page_end: int | None = None
    breadcrumb: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a section that is embedded on its own.

    Attributes:
        index: position in the section, from 0.
        text: what is stored and searched; a slice of the section, but for a table's header rows, which are
            repeated on top of each later piece of the table.
        start: offset in the document's Markdown of the first character that is not a repeated header.
        start_line: 1-based line of `start`.
        page: page of `start`, if there are pages.
        token_count: tokens of what is embedded, `embedded_text(section, chunk)`, without special tokens.
    """

    index: int
    text: str
    start: int
    start_line: int
    page: int | None
    token_count: int
