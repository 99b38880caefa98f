"""Reading the mirror's parts: rows about documents, postings and vectors, from shared caches or the graph."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_agent.errors import EngineUnavailable
from graph_agent.retrieval.corpus import DocumentRow, FolderRow, Place
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import search as statements
from graph_agent.text.postings import (
    ChunkText,
    DocumentPostings,
    analysis_language,
    build_postings,
    decode_postings,
    encode_postings,
)
from graph_agent.vector_blocks import decode_block, encode_block

POSTINGS = "postings"
VECTORS = "vectors"
_BATCH = 64  # texts read from the graph at once
_VECTOR_CHUNKS = 4_000  # numbers as text: about 20 MB an answer

Float32 = npt.NDArray[np.float32]
log = logging.getLogger(__name__)


def load_documents(graph: DocumentGraph) -> tuple[list[DocumentRow], dict[str, str]]:
    """All visible documents, and by markdown hash how each text was cut into chunks."""
    labels = _labels(graph)
    grouped: dict[str, list[dict[str, Any]]] = {}
    cuts: dict[str, str] = {}
    for row in graph.read(statements.PLACES).dicts():
        if row["content_hash"]:
            grouped.setdefault(str(row["content_hash"]), []).append(row)
            cuts[_text_of(row)] = str(row["chunker"] or "")
    documents = [_document(name, rows, labels.get(name, {})) for name, rows in grouped.items()]
    return documents, cuts


def load_folders(graph: DocumentGraph, documents: Sequence[DocumentRow]) -> list[FolderRow]:
    """All folders with the documents in and below them."""
    rows = graph.read(statements.FOLDERS).dicts()
    parents = {str(row["folder_id"]): row["parent_id"] for row in rows if row["folder_id"]}
    held: dict[str, set[str]] = {name: set() for name in parents}
    for document in documents:
        for place in document.places:
            folder: str | None = place.folder_id
            seen: set[str] = set()
            while folder in held and folder not in seen:
                seen.add(folder)
                held[folder].add(document.content_hash)
                folder = parents.get(folder)
    return [
        FolderRow(
            folder_id=str(row["folder_id"]),
            name=str(row["name"] or ""),
            path=str(row["path"] or ""),
            kind=str(row["kind"] or ""),
            parent_id=row["parent_id"],
            documents=frozenset(held[str(row["folder_id"])]),
        )
        for row in {str(row["folder_id"]): row for row in rows if row["folder_id"]}.values()
    ]


def load_postings(
    graph: DocumentGraph, texts: Mapping[str, str], languages: Mapping[str, str]
) -> Iterator[tuple[str, DocumentPostings]]:
    """Postings of texts, from the server's cache where it has them, else computed and put there.

    Args:
        graph: the graph.
        texts: how each was cut, by markdown hash.
        languages: of the documents, by markdown hash; "" to detect.
    """
    names = list(texts)
    for batch in _batches(names, 256):
        blobs = cached(graph, POSTINGS, batch)
        missing = []
        for name, blob in zip(batch, blobs, strict=True):
            postings = decode_postings(blob, texts[name]) if blob else None
            if postings is None:
                missing.append(name)
            else:
                yield name, postings
        for part in _batches(missing, _BATCH):
            fresh = _computed(graph, part, languages)
            keep(
                graph, POSTINGS, {name: encode_postings(found, texts[name]) for name, found in fresh.items()}
            )
            yield from fresh.items()


def load_vectors(
    graph: DocumentGraph, texts: Mapping[str, tuple[str, Sequence[str]]], *, model: str, dimension: int
) -> Iterator[tuple[str, Float32]]:
    """Vectors of texts all of whose chunks have one, from the server's cache, else from the graph.

    Args:
        graph: the graph.
        texts: by markdown hash, how the text was cut and the ids of its chunks in order.
        model: that the graph's vectors are of. dimension: theirs.
    """
    names = [name for name, (_, ids) in texts.items() if ids]
    missing: list[str] = []
    for batch in _batches(names, 128):
        for name, blob in zip(batch, cached(graph, VECTORS, batch), strict=True):
            cut, ids = texts[name]
            block = decode_block(blob, model=model, cut=cut, chunks=len(ids)) if blob else None
            if block is None or block.shape[1] != dimension:
                missing.append(name)
            else:
                yield name, block
    for name in _whole(graph, missing, {name: len(texts[name][1]) for name in missing}):
        cut, ids = texts[name]
        read = _read_vectors(graph, name, ids, dimension)
        if read is not None:
            keep(graph, VECTORS, {name: encode_block(read, model=model, cut=cut)})
            yield name, read


def cached(graph: DocumentGraph, key: str, names: Sequence[str]) -> list[bytes | None]:
    """Blobs of a shared cache; nothing when the server forbids plain keys."""
    try:
        return graph.keys.hmget(key, names)
    except EngineUnavailable as error:
        log.debug("the shared cache %s cannot be read: %s", key, error)
        return [None] * len(names)


def keep(graph: DocumentGraph, key: str, blobs: Mapping[str, bytes]) -> None:
    """Put blobs into a shared cache; not being allowed to costs the next process its time only."""
    try:
        graph.keys.hset(key, blobs)
    except EngineUnavailable as error:
        log.debug("the shared cache %s cannot be written: %s", key, error)


def _labels(graph: DocumentGraph) -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, set[str]]] = {}
    for name, facet, value in graph.read(statements.LABELS).rows:
        if name and facet and value is not None:
            found.setdefault(str(name), {}).setdefault(str(facet), set()).add(str(value))
    return {
        name: {facet: tuple(sorted(values)) for facet, values in sorted(facets.items())}
        for name, facets in found.items()
    }


def _text_of(row: Mapping[str, Any]) -> str:
    return str(row["markdown_hash"] or row["content_hash"])


def _document(
    name: str, rows: Sequence[dict[str, Any]], labels: Mapping[str, tuple[str, ...]]
) -> DocumentRow:
    places = sorted((_place(row) for row in rows), key=lambda place: (place.path, place.source))
    first, row = places[0], rows[0]
    return DocumentRow(
        content_hash=name,
        markdown_hash=_text_of(row),
        path=first.path,
        filename=first.filename,
        title=str(row["title"] or first.filename),
        source=first.source,
        places=tuple(places),
        labels=MappingProxyType(dict(labels)),
        date=str(row["date"]) if row["date"] else None,
        language=str(row["language"] or ""),
        media_type=str(row["media_type"] or ""),
        description=str(row["description"] or ""),
        token_count=int(row["token_count"] or 0),
        section_count=int(row["section_count"] or 0),
        page_count=int(row["page_count"]) if row["page_count"] else None,
    )


def _place(row: Mapping[str, Any]) -> Place:
    path = str(
        row["path"] or row["first_path"] or row["filename"] or row["first_filename"] or row["content_hash"]
    )
    filename = str(row["filename"] or row["first_filename"] or path.rsplit("/", 1)[-1])
    return Place(str(row["folder_id"] or ""), path, filename, str(row["source"] or ""))


def _computed(
    graph: DocumentGraph, names: Sequence[str], languages: Mapping[str, str]
) -> dict[str, DocumentPostings]:
    chunks: dict[str, list[ChunkText]] = {name: [] for name in names}
    for row in graph.read(statements.CHUNK_TEXTS, {"hashes": list(names)}).dicts():
        sequence, index = chunk_place(str(row["chunk_id"]))
        trail = tuple(row["breadcrumb"] or ([row["title"]] if row["title"] else []))
        chunks[str(row["hash"])].append(ChunkText(sequence, index, str(row["text"] or ""), trail))
    return {
        name: build_postings(chunks[name], analysis_language(languages.get(name, ""), chunks[name]))
        for name in names
    }


def chunk_place(chunk_id: str) -> tuple[int, int]:
    """Section and place in it of a chunk id `hash::section::index`; (0, 0) for anything else."""
    parts = chunk_id.split("::")
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return int(parts[1]), int(parts[2])
    return 0, 0


def _whole(graph: DocumentGraph, names: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    """Texts all of whose chunks have a vector in the graph."""
    whole: list[str] = []
    for batch in _batches(list(names), 1_000):
        counts = dict(graph.read(statements.VECTOR_COUNTS, {"hashes": list(batch)}).rows)
        whole += [name for name in batch if int(counts.get(name, 0)) == sizes[name]]
    return whole


def _read_vectors(graph: DocumentGraph, name: str, ids: Sequence[str], dimension: int) -> Float32 | None:
    """Vectors of one text from the graph, None when some are unusable in number or size."""
    found: dict[str, Any] = {}
    for start in range(0, len(ids), _VECTOR_CHUNKS):
        part = list(ids[start : start + _VECTOR_CHUNKS])
        found.update(dict(graph.read(statements.VECTORS, {"ids": part}).rows))
    if len(found) < len(ids) or any(len(vector) != dimension for vector in found.values()):
        log.debug("the vectors of %s are not whole or not of dimension %d", name, dimension)
        return None
    block = np.asarray([found[name] for name in ids], dtype=np.float32)
    return block if bool(np.isfinite(block).all()) else None


def _batches(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]


def languages_of(documents: Iterable[DocumentRow]) -> dict[str, str]:
    """Language of each text by markdown hash, as its first document says (two letters)."""
    return {
        row.markdown_hash: row.language[:2].lower() for row in documents if row.language not in {"", "und"}
    }
