"""The visible documents as one moment saw them: rows about documents and folders, and arrays over chunks.

A `Corpus` never changes; the mirror makes a new one when the graph has changed, sharing what did not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.keywords import KeywordIndex
from graph_agent.text.postings import DocumentPostings

Mask = npt.NDArray[np.bool_]
Float32 = npt.NDArray[np.float32]
_COMPACT_ABOVE = 0.3  # share of dead rows at which the arrays are renumbered


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a document: its folder, its path below the root, and the file it was read from."""

    folder_id: str
    path: str
    filename: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A visible document.

    Attributes:
        content_hash: its id.
        markdown_hash: of its text; documents with equal text share it.
        path: its first place in sort order, below the root that was ingested.
        source: absolute path of that place, or "" when the graph does not tell.
        places: all its places.
        labels: values by facet.
        date: YYYY-MM-DD, YYYY-MM, YYYY or None.
    """

    content_hash: str
    markdown_hash: str
    path: str
    filename: str
    title: str = ""
    source: str = ""
    places: tuple[Place, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    date: str | None = None
    language: str = ""
    media_type: str = ""
    description: str = ""
    token_count: int = 0
    section_count: int = 0
    page_count: int | None = None


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A folder; `documents` are the content hashes of all documents in it and in its subfolders."""

    folder_id: str
    name: str
    path: str
    kind: str = ""
    parent_id: str | None = None
    documents: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a scope can be searched by meaning yet."""

    chunks: int = 0
    with_vectors: int = 0
    documents: int = 0

    @property
    def complete(self) -> bool:
        """Whether every chunk has its vector."""
        return self.with_vectors >= self.chunks


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents, folders, and the search arrays over their chunks.

    Attributes:
        version: the graph's version that this is a picture of.
        documents: by path.
        folders: by path.
        spans: rows of each text, by markdown hash; within a text rows follow (sequence, index).
        index: keywords.
        owners: int32 [rows], position in `texts` of each row's text.
        texts: markdown hashes in the order in which they came; those that left stay until compaction.
        sequences: int32 [rows], section of each chunk.
        indexes: int32 [rows], place of each chunk in its section.
        fingerprints: uint64 [rows], see postings.fingerprint.
        vectors: float32 [rows, dimension], rows without a vector are zero; None when vectors are not held here.
        has_vector: bool [rows].
        languages: whose stemmers made the terms of each text, by markdown hash.
    """

    version: int = 0
    documents: tuple[DocumentRow, ...] = ()
    folders: tuple[FolderRow, ...] = ()
    spans: Mapping[str, range] = field(default_factory=dict)
    index: KeywordIndex = field(default_factory=KeywordIndex)
    owners: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    texts: tuple[str, ...] = ()
    sequences: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    indexes: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    fingerprints: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    vectors: Float32 | None = None
    has_vector: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    languages: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_hash(self) -> dict[str, DocumentRow]:
        """Documents by content hash."""
        return {row.content_hash: row for row in self.documents}

    @cached_property
    def by_text(self) -> dict[str, tuple[DocumentRow, ...]]:
        """Documents by markdown hash, in the order of their paths."""
        found: dict[str, list[DocumentRow]] = {}
        for row in self.documents:
            found.setdefault(row.markdown_hash, []).append(row)
        return {key: tuple(rows) for key, rows in found.items()}

    @cached_property
    def text_order(self) -> npt.NDArray[np.int32]:
        """For each of `texts` the place of its first document by path: for breaking ties. int32 [texts]."""
        first: dict[str, int] = {}
        for place, row in enumerate(self.documents):
            first.setdefault(row.markdown_hash, place)
        return np.asarray([first.get(name, len(first)) for name in self.texts], dtype=np.int32)

    @cached_property
    def facets(self) -> dict[str, dict[str, int]]:
        """Documents that carry each value of each facet."""
        found: dict[str, dict[str, int]] = {}
        for row in self.documents:
            for facet, values in row.labels.items():
                counts = found.setdefault(facet, {})
                for value in values:
                    counts[value] = counts.get(value, 0) + 1
        return {facet: dict(sorted(found[facet].items())) for facet in sorted(found)}

    @cached_property
    def stemmers(self) -> tuple[str, ...]:
        """Languages of the texts, the commonest first."""
        counts: dict[str, int] = {}
        for name in self.spans:
            language = self.languages.get(name, "en")
            counts[language] = counts.get(language, 0) + len(self.spans[name])
        return tuple(sorted(counts, key=lambda language: (-counts[language], language))) or ("en",)

    @cached_property
    def coverage(self) -> Coverage:
        """Of everything visible."""
        return self.coverage_of(None, len(self.documents))

    def coverage_of(self, mask: Mask | None, documents: int) -> Coverage:
        """Of a scope given as a mask over rows; None is everything."""
        live = self.index.live if mask is None else mask
        return Coverage(int(np.count_nonzero(live)), int(np.count_nonzero(self.has_vector & live)), documents)

    def mask_of(self, documents: Iterable[str]) -> Mask:
        """Rows of the texts of documents given by content hash: bool [rows]."""
        mask = np.zeros(len(self.owners), dtype=np.bool_)
        for name in documents:
            row = self.by_hash.get(name)
            span = self.spans.get(row.markdown_hash) if row else None
            if span is not None:
                mask[span.start : span.stop] = True
        return mask

    def chunk_id(self, row: int) -> str:
        """Id of a chunk by its row."""
        return f"{self.section_id(row)}::{self.indexes[row]}"

    def section_id(self, row: int) -> str:
        """Id of a chunk's section by the chunk's row."""
        return f"{self.texts[self.owners[row]]}::{self.sequences[row]}"

    def row_of(self, chunk_id: str) -> int:
        """Row of a chunk by its id, -1 when it is not in the picture."""
        name, _, rest = chunk_id.partition("::")
        span = self.spans.get(name)
        sequence, _, index = rest.partition("::")
        if span is None or not sequence.isdigit() or not index.isdigit():
            return -1
        own = slice(span.start, span.stop)
        hits = np.flatnonzero((self.sequences[own] == int(sequence)) & (self.indexes[own] == int(index)))
        return span.start + int(hits[0]) if len(hits) else -1


def changed_corpus(
    corpus: Corpus,
    *,
    version: int,
    documents: Iterable[DocumentRow],
    folders: Iterable[FolderRow],
    added: Mapping[str, DocumentPostings],
    removed: Sequence[str],
) -> Corpus:
    """The next picture: texts taken away and put in, rows of the others kept (or renumbered now and then).

    Args:
        corpus: the picture before.
        version: of the graph.
        documents: all visible documents. folders: all folders.
        added: postings of texts that were not there, by markdown hash.
        removed: markdown hashes that are gone.
    """
    spans = dict(corpus.spans)
    languages = dict(corpus.languages)
    gone = [spans.pop(name) for name in removed if name in spans]
    for name in removed:
        languages.pop(name, None)
    start = corpus.index.rows
    texts = list(corpus.texts)
    owners = [corpus.owners]
    for name, postings in added.items():
        spans[name] = range(start, start + postings.chunks)
        languages[name] = postings.language
        owners.append(np.full(postings.chunks, len(texts), dtype=np.int32))
        texts.append(name)
        start += postings.chunks
    grown = start - corpus.index.rows
    has_vector = corpus.has_vector.copy()
    for span in gone:
        has_vector[span.start : span.stop] = False
    changed = replace(
        corpus,
        version=version,
        documents=tuple(sorted(documents, key=lambda row: (row.path, row.content_hash))),
        folders=tuple(sorted(folders, key=lambda row: (row.path, row.folder_id))),
        spans=spans,
        languages=languages,
        index=corpus.index.changed(list(added.values()), gone),
        owners=np.concatenate(owners),
        texts=tuple(texts),
        sequences=np.concatenate([corpus.sequences, *(postings.sequences for postings in added.values())]),
        indexes=np.concatenate([corpus.indexes, *(postings.indexes for postings in added.values())]),
        fingerprints=np.concatenate(
            [corpus.fingerprints, *(postings.fingerprints for postings in added.values())]
        ),
        vectors=None if corpus.vectors is None else _grown(corpus.vectors, grown),
        has_vector=np.concatenate([has_vector, np.zeros(grown, dtype=np.bool_)]),
    )
    dead = changed.index.rows - changed.index.count
    return _compacted(changed) if dead > max(1_000, _COMPACT_ABOVE * changed.index.rows) else changed


def with_vectors(corpus: Corpus, blocks: Mapping[str, Float32], dimension: int) -> Corpus:
    """The corpus with vectors put in for whole texts.

    Args:
        corpus: the picture.
        blocks: float32 [chunks, dimension] by markdown hash, rows in the order of the text's rows; all-zero
            rows count as absent.
        dimension: of the vectors.
    """
    rows = corpus.index.rows
    if corpus.vectors is None or corpus.vectors.shape[1] != dimension:
        vectors = np.zeros((rows, dimension), dtype=np.float32)
        has_vector = np.zeros(rows, dtype=np.bool_)
    else:
        vectors, has_vector = corpus.vectors, corpus.has_vector.copy()
    for name, block in blocks.items():
        span = corpus.spans.get(name)
        if span is None or block.shape != (len(span), dimension):
            continue
        # Rows that had no vector are masked in every older picture, so writing them disturbs no reader.
        vectors[span.start : span.stop] = block
        has_vector[span.start : span.stop] = np.abs(block).max(axis=1, initial=0.0) > 0
    return replace(corpus, vectors=vectors, has_vector=has_vector)


def without_vectors(corpus: Corpus) -> Corpus:
    """The corpus with no vector held: they are another model's, or too many for memory."""
    return replace(corpus, vectors=None, has_vector=np.zeros(corpus.index.rows, dtype=np.bool_))


def _grown(vectors: Float32, by: int) -> Float32:
    """Room for more rows; copied only when the buffer behind is full, and then it is made half as large again."""
    if by == 0:
        return vectors
    rows, dimension = vectors.shape
    base = vectors.base if isinstance(vectors.base, np.ndarray) and vectors.base.ndim == 2 else None
    if base is not None and len(base) >= rows + by and base.shape[1] == dimension:
        grown: Float32 = base[: rows + by]
        grown[rows:] = 0.0
        return grown
    fresh = np.zeros((rows + by + (rows + by) // 2, dimension), dtype=np.float32)
    fresh[:rows] = vectors
    view: Float32 = fresh[: rows + by]
    return view


def _compacted(corpus: Corpus) -> Corpus:
    live = corpus.index.live
    index, renumbered = corpus.index.compacted()
    spans = {
        name: range(int(renumbered[span.start]), int(renumbered[span.start]) + len(span))
        if len(span)
        else span
        for name, span in corpus.spans.items()
    }
    texts = tuple(corpus.spans)
    place = {name: at for at, name in enumerate(texts)}
    owners = np.zeros(index.rows, dtype=np.int32)
    for name, span in spans.items():
        owners[span.start : span.stop] = place[name]
    return replace(
        corpus,
        index=index,
        spans=spans,
        texts=texts,
        owners=owners,
        sequences=corpus.sequences[live],
        indexes=corpus.indexes[live],
        fingerprints=corpus.fingerprints[live],
        vectors=None if corpus.vectors is None else corpus.vectors[live],
        has_vector=corpus.has_vector[live],
    )
