"""The keyword index of one document: which term stands how often in which of its chunks.

Immutable and independent of every other document, so that it can be computed once, kept on the server
as a compact blob and merged into any number of indexes. The blob is plain arrays, never pickle: it
comes from a shared server.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import orjson
import xxhash

from graph_agent.text.folding import words
from graph_agent.text.language import UNDETERMINED, detect_language
from graph_agent.text.terms import ANALYSER, surfaces, terms_of

Int32 = npt.NDArray[np.int32]

FORMAT = f"postings-2/{ANALYSER}"
_MAX_TF = 65_535
_LANGUAGE_SAMPLE = 4_000
_FIELDS: tuple[tuple[str, str], ...] = (
    ("sequences", "<i4"),
    ("indexes", "<i4"),
    ("lengths", "<i4"),
    ("fingerprints", "<u8"),
    ("offsets", "<i4"),
    ("rows", "<i4"),
    ("counts", "<u2"),
)


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What is indexed of one chunk.

    Attributes:
        sequence: of its section in the document.
        index: of the chunk in its section.
        text: the chunk's text.
        breadcrumb: titles from the document down to the section's own.
    """

    sequence: int
    index: int
    text: str
    breadcrumb: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class DocumentPostings:
    """Postings of one document, by term; chunk i of the document is row i.

    Attributes:
        language: whose stemmer made the terms.
        sequences: int32 [n], section of each chunk.
        indexes: int32 [n], place of each chunk in its section.
        lengths: int32 [n], terms of each chunk, breadcrumb included (BM25's document length).
        fingerprints: uint64 [n], hash of the folded words of each chunk's text; 0 when it has none.
        terms: [m], the distinct terms.
        offsets: int32 [m + 1], where each term's postings start in `rows` and `counts`.
        rows: int32 [p], chunk of each posting, ascending within a term.
        counts: uint16 [p], how often the term stands there.
    """

    language: str
    sequences: Int32
    indexes: Int32
    lengths: Int32
    fingerprints: npt.NDArray[np.uint64]
    terms: list[str]
    offsets: Int32
    rows: Int32
    counts: npt.NDArray[np.uint16]

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.sequences)


def fingerprint(text: str) -> int:
    """64-bit hash of the folded words of a text: equal for texts that differ in marks and blanks only.

    A heading line alone counts as different from its words: who asks for "rationale" does not look for
    a heading with nothing below it.
    """
    folded = words(text)
    if not folded:
        return 0
    stripped = text.strip()
    heading = stripped.startswith("#") and "\n" not in stripped
    return xxhash.xxh3_64_intdigest((("# " if heading else "") + " ".join(folded)).encode())


def analysis_language(named: str, chunks: Sequence[ChunkText]) -> str:
    """Whose stemmer a document's terms are made with: ISO 639-1, English when nothing tells.

    Args:
        named: the document's own language, a BCP 47 tag; "" or "und" to look at its text.
        chunks: of the document.
    """
    language = named[:2].lower() if named != UNDETERMINED else ""
    if not language:
        language = detect_language("\n".join(chunk.text for chunk in chunks)[:_LANGUAGE_SAMPLE])
    return "en" if language == UNDETERMINED else language


def build_postings(chunks: Iterable[ChunkText], language: str) -> DocumentPostings:
    """Analyse the chunks of one document, in the order (sequence, index).

    A chunk's terms are those of its text and of its breadcrumb, so a passage is found by the heading
    that it stands under.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.sequence, chunk.index))
    vocabulary: dict[str, int] = {}
    known: dict[str, list[int]] = {}  # term numbers by surface: a document repeats its words
    crumbs: dict[tuple[str, ...], list[int]] = {}
    ids: list[int] = []
    lengths: list[int] = []

    def numbers(text: str) -> list[int]:
        found: list[int] = []
        for surface in surfaces(text):
            its = known.get(surface)
            if its is None:
                its = [vocabulary.setdefault(term, len(vocabulary)) for term in terms_of(surface, language)]
                known[surface] = its
            found += its
        return found

    for chunk in ordered:
        trail = crumbs.get(chunk.breadcrumb)
        if trail is None:
            trail = crumbs[chunk.breadcrumb] = numbers("\n".join(chunk.breadcrumb))
        own = numbers(chunk.text)
        ids += trail
        ids += own
        lengths.append(len(trail) + len(own))
    count = len(ordered)
    of_chunk = np.repeat(np.arange(count, dtype=np.int64), lengths)
    keys, counts = np.unique(np.asarray(ids, dtype=np.int64) * max(count, 1) + of_chunk, return_counts=True)
    term_ids, rows = np.divmod(keys, max(count, 1))
    offsets = np.searchsorted(term_ids, np.arange(len(vocabulary) + 1))
    return DocumentPostings(
        language=language,
        sequences=np.asarray([chunk.sequence for chunk in ordered], dtype=np.int32),
        indexes=np.asarray([chunk.index for chunk in ordered], dtype=np.int32),
        lengths=np.asarray(lengths, dtype=np.int32),
        fingerprints=np.asarray([fingerprint(chunk.text) for chunk in ordered], dtype=np.uint64),
        terms=list(vocabulary),
        offsets=offsets.astype(np.int32),
        rows=rows.astype(np.int32),
        counts=np.minimum(counts, _MAX_TF).astype(np.uint16),
    )


def encode_postings(postings: DocumentPostings, cut: str = "") -> bytes:
    """Postings as a compressed blob (about a quarter of the text's size); `cut` names how chunks were cut."""
    arrays = [np.asarray(getattr(postings, name), dtype=kind).tobytes() for name, kind in _FIELDS]
    names = "\n".join(postings.terms).encode()
    header = orjson.dumps(
        {
            "format": FORMAT,
            "cut": cut,
            "language": postings.language,
            "terms": len(names),
            "sizes": [len(array) for array in arrays],
        }
    )
    return zlib.compress(b"".join([len(header).to_bytes(4, "little"), header, names, *arrays]), 4)


def decode_postings(blob: bytes, cut: str = "") -> DocumentPostings | None:
    """Postings from a blob; None when it is damaged, or of another analysis or cut (then compute them anew)."""
    try:
        data = zlib.decompress(blob)
        start = 4 + int.from_bytes(data[:4], "little")
        header: dict[str, Any] = orjson.loads(data[4:start])
        if (header["format"], header["cut"]) != (FORMAT, cut):
            return None
        end = start + header["terms"]
        names = data[start:end].decode().split("\n") if end > start else []
        arrays: dict[str, npt.NDArray[Any]] = {}
        for (name, kind), size in zip(_FIELDS, header["sizes"], strict=True):
            arrays[name] = np.frombuffer(data, dtype=kind, count=size // np.dtype(kind).itemsize, offset=end)
            end += size
        postings = DocumentPostings(language=str(header["language"]), terms=names, **cast(Any, arrays))
    except (zlib.error, ValueError, KeyError, TypeError, IndexError):
        return None
    return postings if _is_sound(postings) else None


def _is_sound(postings: DocumentPostings) -> bool:
    """Whether the arrays fit one another, so that no index can point outside."""
    count, offsets, rows = postings.chunks, postings.offsets, postings.rows
    same: Sequence[int] = (len(postings.indexes), len(postings.lengths), len(postings.fingerprints))
    if any(size != count for size in same) or len(offsets) != len(postings.terms) + 1:
        return False
    if offsets[0] != 0 or offsets[-1] != len(rows) or len(rows) != len(postings.counts):
        return False
    if len(offsets) > 1 and bool((np.diff(offsets) < 0).any()):
        return False
    return len(rows) == 0 or (int(rows.min()) >= 0 and int(rows.max()) < count)
