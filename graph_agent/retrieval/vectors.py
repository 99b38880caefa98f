"""Nearest passages by meaning: exactly from memory, exactly in the engine, or by the engine's index.

In memory the answer is one matrix product. Where vectors are too many for that, small scopes are scanned
exactly by the engine, and large ones go to its HNSW index, which is asked for more than wanted: on
FalkorDB 4.16 entries left behind by changes use up places, and asking for more acts as a wider search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graph_agent.errors import QueryError
from graph_agent.retrieval.corpus import Corpus, Mask
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import search as statements

Float32 = npt.NDArray[np.float32]

SCAN_LIMIT = 20_000  # chunks that the engine scans exactly in about 100 ms
MIN_ASKED = 50
# One in so many chunks is asked of the index: of 100,000 with M 16, among vectors in dense clusters, the true ten
# nearest were found to .62 when 50 were asked, .87 (300), .97 (1,000) and 1.000 (3,000, in 104 ms).
SHARE_ASKED = 33
_MAX_ASKED = 5_000
_GATHER_BELOW = 0.25  # share of rows below which the scope's rows are picked before the product
_UNRELATED = 0.05  # cosine taken for an unrelated passage when the mean cannot be computed


@dataclass(frozen=True, eq=False, slots=True)
class Similarities:
    """Cosines of the candidates.

    Attributes:
        rows: candidates, nearest first.
        cosines: float32 of each candidate.
        floor: cosine of an unrelated passage.
        way: how they were found: memory, scan or index.
    """

    rows: npt.NDArray[np.intp]
    cosines: Float32
    floor: float
    way: str
    all_cosines: Float32 | None = None

    def of_rows(self, rows: npt.NDArray[np.intp]) -> Float32:
        """Cosines of any rows; those not known count as unrelated."""
        if self.all_cosines is not None:
            return self.all_cosines[rows]
        known = dict(zip(self.rows.tolist(), self.cosines.tolist(), strict=True))
        return np.asarray([known.get(row, self.floor) for row in rows.tolist()], dtype=np.float32)


def nearest_in_memory(corpus: Corpus, query: Float32, mask: Mask, count: int) -> Similarities:
    """The `count` rows within `mask` that are closest to `query`, exactly.

    Args:
        corpus: with vectors held.
        query: float32 [dimension], unit length.
        mask: bool [rows], the scope; rows without a vector are left out.
        count: how many.
    """
    vectors = corpus.vectors
    usable = mask & corpus.has_vector
    rows = np.flatnonzero(usable)
    if vectors is None or not len(rows):
        return Similarities(rows, np.zeros(0, dtype=np.float32), 0.0, "memory")
    if len(rows) < _GATHER_BELOW * len(vectors):
        own = _products(vectors[rows], query)
        cosines = np.zeros(len(vectors), dtype=np.float32)
        cosines[rows] = own
    else:
        cosines = _products(vectors, query)
        own = cosines[rows]
    floor = float(own.mean(dtype=np.float64))
    top = top_positions(own, count)
    return Similarities(rows[top], own[top], floor, "memory", np.where(usable, cosines, np.float32(floor)))


def nearest_in_engine(
    graph: DocumentGraph, corpus: Corpus, query: Float32, mask: Mask, hashes: Sequence[str] | None, count: int
) -> Similarities:
    """The same by the engine: an exact scan of a small scope, else its vector index.

    Args:
        graph: the graph.
        corpus: to tell rows from chunk ids; what it does not hold is left out.
        query: float32 [dimension].
        mask: bool [rows], the scope.
        hashes: markdown hashes of the scope, None when it is everything.
        count: how many.
    """
    size = int(np.count_nonzero(mask))
    if size <= SCAN_LIMIT:
        names = list(hashes) if hashes is not None else list(corpus.spans)
        found = _scan(graph, query, names, count)
        return _similarities(corpus, found, mask, "scan")
    indexed = _by_index(graph, corpus, query, mask, count)
    if indexed is None:  # the index is being built, or is not there: slower, but right
        names = list(hashes) if hashes is not None else list(corpus.spans)
        return _similarities(corpus, _scan(graph, query, names, count), mask, "scan")
    return _similarities(corpus, indexed, mask, "index")


def with_cosines(
    graph: DocumentGraph, found: Similarities, corpus: Corpus, query: Float32, rows: Sequence[int]
) -> Similarities:
    """`found` with the cosines of a few more rows, asked of the engine by their ids."""
    known = set(found.rows.tolist())
    missing = [row for row in rows if row not in known]
    if not missing or found.all_cosines is not None:
        return found
    ids = [corpus.chunk_id(row) for row in missing]
    answer = graph.read(statements.COSINES_OF, {"ids": ids, "v": query.tolist()}).rows
    more = [(corpus.row_of(str(name)), 1.0 - float(distance)) for name, distance in answer]
    more = [(row, cosine) for row, cosine in more if row >= 0]
    return Similarities(
        np.concatenate([found.rows, np.asarray([row for row, _ in more], dtype=np.intp)]),
        np.concatenate([found.cosines, np.asarray([cosine for _, cosine in more], dtype=np.float32)]),
        found.floor,
        found.way,
    )


def _products(vectors: Float32, query: Float32) -> Float32:
    """`vectors @ query` on one core.

    It is bound by memory, and a library's worker threads that wait for a busy core made it 6 times slower
    (measured with 8 readers on 2 cores).
    """
    products: Float32 = np.einsum("ij,j->i", vectors, query)
    return products


def top_positions(scores: npt.NDArray[np.floating], count: int) -> npt.NDArray[np.intp]:
    """Positions of the `count` greatest scores, greatest first, equal ones in order of position."""
    if count <= 0:
        return np.zeros(0, dtype=np.intp)
    if count < len(scores):
        # partition may cut through equals: take all of the last score, then the first of them
        edge = np.partition(scores, len(scores) - count)[len(scores) - count]
        positions = np.flatnonzero(scores >= edge)
    else:
        positions = np.arange(len(scores))
    order = np.argsort(-scores[positions], kind="stable")
    return positions[order][:count]


def _scan(graph: DocumentGraph, query: Float32, hashes: Sequence[str], count: int) -> list[tuple[str, float]]:
    answer = graph.read(statements.SCAN_VECTORS, {"hashes": list(hashes), "v": query.tolist(), "k": count})
    return [(str(name), 1.0 - float(distance)) for name, distance in answer.rows]


def _by_index(
    graph: DocumentGraph, corpus: Corpus, query: Float32, mask: Mask, count: int
) -> list[tuple[str, float]] | None:
    """From the index, asking for more until `count` of the scope are among the answers; None without index."""
    asked = min(_MAX_ASKED, max(MIN_ASKED, 2 * count, corpus.index.count // SHARE_ASKED))
    vector = query.tolist()
    while True:
        try:
            answer = graph.read(statements.NEAREST, {"k": asked, "v": vector})
        except QueryError as error:
            if "Invalid arguments" in str(error) or "undefined attribute" in str(error):
                return None
            raise
        found = [(str(name), 1.0 - float(distance)) for name, distance in answer.rows]
        inside = [(name, cosine) for name, cosine in found if (row := corpus.row_of(name)) >= 0 and mask[row]]
        if len(inside) >= count:
            return inside
        if asked >= _MAX_ASKED or asked >= 2 * corpus.index.rows:
            return None if len(inside) < min(count, int(np.count_nonzero(mask))) else inside
        asked = min(asked * 4, _MAX_ASKED)


def _similarities(corpus: Corpus, found: Sequence[tuple[str, float]], mask: Mask, way: str) -> Similarities:
    rows = [(corpus.row_of(name), cosine) for name, cosine in found]
    inside = [(row, cosine) for row, cosine in rows if row >= 0 and mask[row]]
    inside.sort(key=lambda item: (-item[1], item[0]))
    return Similarities(
        np.asarray([row for row, _ in inside], dtype=np.intp),
        np.asarray([cosine for _, cosine in inside], dtype=np.float32),
        _UNRELATED,
        way,
    )
