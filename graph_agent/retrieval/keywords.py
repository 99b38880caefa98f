"""BM25 over the chunks of all documents, in arrays that grow and shrink with the corpus.

Formula: BM25 as in Lucene 8 and later (no factor k1 + 1), idf = ln(1 + (N - df + 0.5) / (df + 0.5)),
k1 = 1.5, b = 0.75; see Kamphuis, de Vries, Boytsov and Lin, "Which BM25 Do You Mean?", ECIR 2020.
Statistics are exact over the live chunks at every moment.

A `KeywordIndex` is immutable: `changed` gives a new one that shares all that did not change, so searches
go on undisturbed while documents come and go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.vocabulary import Vocabulary
from graph_agent.text.postings import DocumentPostings

K1 = 1.5
B = 0.75
_MAX_SEGMENTS = 6

Int32 = npt.NDArray[np.int32]
Float32 = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Postings of several documents, by term.

    Attributes:
        term_ids: int32 [m], ascending.
        offsets: int64 [m + 1] into `rows` and `counts`.
        rows: int32 [p], chunk rows of the whole index.
        counts: uint16 [p].
    """

    term_ids: Int32
    offsets: npt.NDArray[np.int64]
    rows: Int32
    counts: npt.NDArray[np.uint16]

    def of_term(self, term_id: int) -> tuple[Int32, npt.NDArray[np.uint16]]:
        """Rows and counts of one term; empty when the segment does not hold it."""
        at = int(np.searchsorted(self.term_ids, term_id))
        if at == len(self.term_ids) or int(self.term_ids[at]) != term_id:
            return self.rows[:0], self.counts[:0]
        start, end = int(self.offsets[at]), int(self.offsets[at + 1])
        return self.rows[start:end], self.counts[start:end]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term of a query.

    Attributes:
        term: as indexed.
        group: number of the word of the query that it belongs to; a word may give several terms (an
            identifier and its parts, the stems of several languages, compounds that hold it).
        weight: of its score; 1 for what was asked, less for what was derived.
    """

    term: str
    group: int
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class KeywordIndex:
    """Exact BM25 statistics and postings of the live chunks.

    Attributes:
        vocabulary: term to number; only grows, shared by all versions.
        segments: postings; rows of removed chunks stay in them until they are compacted.
        frequencies: int32 [terms], live chunks that hold each term.
        lengths: float32 [rows], terms of each chunk.
        live: bool [rows].
    """

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    segments: tuple[Segment, ...] = ()
    frequencies: Int32 = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    lengths: Float32 = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    live: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def rows(self) -> int:
        """Rows in use, live or not."""
        return len(self.live)

    @cached_property
    def count(self) -> int:
        """Live chunks."""
        return int(np.count_nonzero(self.live))

    def changed(self, added: Sequence[DocumentPostings], removed: Iterable[range] = ()) -> KeywordIndex:
        """A new index without the removed rows and with documents appended, in order, after the last row."""
        gone = np.zeros(self.rows, dtype=np.bool_)
        for rows in removed:
            gone[rows.start : rows.stop] = True
        gone &= self.live
        index = self._without(gone) if gone.any() else self
        return index._with(added) if added else index

    def frequency(self, term: str) -> int:
        """Live chunks that hold a term."""
        number = self.vocabulary.number(term)
        return int(self.frequencies[number]) if 0 <= number < len(self.frequencies) else 0

    def idf(self, frequency: float) -> float:
        """Inverse document frequency of a term that `frequency` live chunks hold."""
        return math.log(1.0 + max(0.0, self.count - frequency + 0.5) / (frequency + 0.5))

    def scores(self, query: Sequence[QueryTerm]) -> Float32:
        """BM25 of every row for a query: float32 [rows], 0 where nothing matches; dead rows not masked.

        The idf of a term is that of its group's terms of full weight together, so that a word with one
        stem per language is not rarer for it.
        """
        scores = np.zeros(self.rows, dtype=np.float32)
        norms = self._norms
        shared = self._group_frequencies(query)
        for item in query:
            number = self.vocabulary.number(item.term)
            if not 0 <= number < len(self.frequencies) or self.frequencies[number] == 0:
                continue
            frequency = max(
                int(self.frequencies[number]), shared.get(item.group, 0) if item.weight == 1.0 else 0
            )
            factor = np.float32(item.weight * self.idf(frequency))
            for segment in self.segments:
                rows, counts = segment.of_term(number)
                if len(rows):
                    tf = counts.astype(np.float32)
                    scores[rows] += factor * tf / (tf + norms[rows])
        return scores

    def groups_matched(self, query: Sequence[QueryTerm], rows: npt.NDArray[np.intp]) -> dict[int, Mask]:
        """For each group of the query, which of a few rows hold one of its terms: bool [len(rows)]."""
        found: dict[int, Mask] = {}
        for item in query:
            mask = found.setdefault(item.group, np.zeros(len(rows), dtype=np.bool_))
            number = self.vocabulary.number(item.term)
            if not 0 <= number < len(self.frequencies):
                continue
            for segment in self.segments:
                held, _ = segment.of_term(number)
                if len(held):
                    at = np.minimum(np.searchsorted(held, rows), len(held) - 1)
                    mask |= held[at] == rows
        return found

    def group_idf(self, query: Sequence[QueryTerm]) -> dict[int, float]:
        """Inverse document frequency of each group of the query: its rarest full term's, found or not."""
        shared = self._group_frequencies(query)
        return {group: self.idf(frequency) for group, frequency in shared.items()}

    def compacted(self) -> tuple[KeywordIndex, npt.NDArray[np.int64]]:
        """The index without dead rows, and the new number of each old row (-1: gone)."""
        renumbered = np.where(self.live, np.cumsum(self.live) - 1, -1).astype(np.int64)
        segment = _merged([_kept(part, self.live) for part in self.segments])
        segment = replace(segment, rows=renumbered[segment.rows].astype(np.int32))
        index = replace(
            self,
            segments=(segment,) if len(segment.rows) else (),
            lengths=self.lengths[self.live],
            live=np.ones(self.count, dtype=np.bool_),
        )
        return index, renumbered

    def _group_frequencies(self, query: Sequence[QueryTerm]) -> dict[int, int]:
        """Chunks that hold the word as asked: for each group, its first term and that term's stems."""
        shared: dict[int, int] = {}
        for item in query:
            if item.weight == 1.0:
                shared[item.group] = min(self.count, shared.get(item.group, 0) + self.frequency(item.term))
            else:
                shared.setdefault(item.group, 0)
        return shared

    @cached_property
    def _norms(self) -> Float32:
        """BM25's length part of each row."""
        total = float(self.lengths.sum(where=self.live, dtype=np.float64))
        average = total / self.count if total else 1.0
        return cast(Float32, K1 * (1.0 - B + B * (self.lengths / np.float32(average))))

    def _without(self, gone: Mask) -> KeywordIndex:
        frequencies = self.frequencies.copy()
        for segment in self.segments:
            dead = gone[segment.rows]
            if dead.any():
                owners = np.repeat(np.arange(len(segment.term_ids)), np.diff(segment.offsets))[dead]
                lost = np.bincount(owners, minlength=len(segment.term_ids)).astype(np.int32)
                frequencies[segment.term_ids] -= lost
        return replace(self, frequencies=frequencies, live=self.live & ~gone)

    def _with(self, added: Sequence[DocumentPostings]) -> KeywordIndex:
        numbers: list[Int32] = []
        rows: list[Int32] = []
        start = self.rows
        for postings in added:
            own = self.vocabulary.add(postings.terms)
            numbers.append(np.repeat(own, np.diff(postings.offsets)))
            rows.append(postings.rows + np.int32(start))
            start += postings.chunks
        counts = np.concatenate([postings.counts for postings in added])
        segment = _segment(np.concatenate(numbers), np.concatenate(rows), counts)
        frequencies = np.zeros(len(self.vocabulary), dtype=np.int32)
        frequencies[: len(self.frequencies)] = self.frequencies
        frequencies[segment.term_ids] += np.diff(segment.offsets).astype(np.int32)
        lengths = np.concatenate([self.lengths, *(postings.lengths.astype(np.float32) for postings in added)])
        live = np.concatenate([self.live, np.ones(start - self.rows, dtype=np.bool_)])
        segments = _bounded([*self.segments, segment], live)
        return replace(self, segments=segments, frequencies=frequencies, lengths=lengths, live=live)


def _segment(numbers: Int32, rows: Int32, counts: npt.NDArray[np.uint16]) -> Segment:
    """Postings in any order, sorted by term, then row."""
    order = np.lexsort((rows, numbers))
    numbers = numbers[order]
    term_ids, starts = np.unique(numbers, return_index=True)
    offsets = np.append(starts, len(numbers)).astype(np.int64)
    return Segment(term_ids.astype(np.int32), offsets, rows[order].astype(np.int32), counts[order])


def _kept(segment: Segment, live: Mask) -> Segment:
    keep = live[segment.rows]
    if keep.all():
        return segment
    numbers = np.repeat(segment.term_ids, np.diff(segment.offsets))
    return _segment(numbers[keep], segment.rows[keep], segment.counts[keep])


def _merged(segments: Sequence[Segment]) -> Segment:
    if len(segments) == 1:
        return segments[0]
    empty = np.zeros(0, dtype=np.int32)
    numbers = [np.repeat(part.term_ids, np.diff(part.offsets)) for part in segments]
    return _segment(
        np.concatenate([empty, *numbers]),
        np.concatenate([empty, *(part.rows for part in segments)]),
        np.concatenate([np.zeros(0, dtype=np.uint16), *(part.counts for part in segments)]),
    )


def _bounded(segments: list[Segment], live: Mask) -> tuple[Segment, ...]:
    """At most a handful of segments: the small ones are merged, each posting a logarithmic number of times."""
    segments.sort(key=lambda part: -len(part.rows))
    while len(segments) > _MAX_SEGMENTS:
        tail = [segments.pop()]
        while segments and (
            len(segments) >= _MAX_SEGMENTS or len(segments[-1].rows) <= 2 * len(tail[0].rows)
        ):
            tail.append(segments.pop())
        segments.append(_merged([_kept(part, live) for part in tail]))
        segments.sort(key=lambda part: -len(part.rows))
    return tuple(segments)
