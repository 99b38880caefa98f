"""From scored candidates to the hits that are shown: one row per section, repeats behind, with snippets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.corpus import Corpus, DocumentRow, Place
from graph_agent.retrieval.legs import KeywordLeg
from graph_agent.retrieval.mirror import CorpusSource, Passage
from graph_agent.retrieval.phrases import Likeness, is_repeat, likeness
from graph_agent.retrieval.query import Query
from graph_agent.retrieval.results import Hit
from graph_agent.retrieval.scope import Scope
from graph_agent.retrieval.snippets import snippet
from graph_agent.retrieval.vectors import Similarities
from graph_agent.text import passage_text

Rows = npt.NDArray[np.intp]
Float = npt.NDArray[np.float64]
Ranked = tuple[Query, KeywordLeg, Similarities | None]
Reranker = Callable[[str, Sequence[str]], "tuple[list[int] | None, str]"]

_RERANKED = 40
_SPARE = 4  # units read beyond the limit, so that repeats can be put behind


class _Unit(NamedTuple):
    """A section (or a passage) among the candidates, by its best row."""

    row: int
    score: float


def present(
    corpus: Corpus,
    source: CorpusSource,
    rows: Rows,
    scores: Float,
    *,
    rankings: Sequence[Ranked],
    scope: Scope | None,
    limit: int,
    per: str,
    rerank: Reranker | None,
    explanation: dict[str, Any],
    within: Sequence[str] = (),
) -> tuple[Hit, ...]:
    """The first `limit` hits.

    Args:
        corpus: searched. source: gives the passages.
        rows: candidates. scores: of each, 0 to 1.
        rankings: each query's analysis and legs, for ranks and snippets.
        scope: decides which of several documents with equal text is named.
        limit: how many. per: section or chunk.
        rerank: puts texts in a better order, or says why it did not.
        explanation: is told about repeats and reranking.
        within: pieces of words to mark in snippets besides the queries' terms.
    """
    units = _units(corpus, rows, scores, per)
    explanation["candidates"] = len(units)
    passages = source.passages(
        [corpus.chunk_id(unit.row) for unit in units[: max(limit, _RERANKED if rerank else 0) + _SPARE]]
    )
    if rerank and rankings:
        units = _reranked(corpus, units, passages, rankings[0][0].text, rerank, explanation)
    chosen, repeats = _distinct(corpus, source, units, passages, limit)
    if repeats:
        explanation["repeats_put_behind"] = sum(map(len, repeats.values()))
    ranks = _ranks(corpus, rankings, [unit.row for unit in chosen], per)
    marks = _marks(corpus, rankings)
    hits = []
    for unit in chosen:
        passage = passages[corpus.chunk_id(unit.row)]
        language = corpus.languages.get(corpus.texts[corpus.owners[unit.row]], "en")
        shown = snippet(passage.text, marks, languages=(language,), within=within)
        hit = _hit(corpus, unit, passage, scope, ranks[unit.row], shown, repeats.get(unit.row, []))
        if hit is not None:
            hits.append(hit)
    return tuple(hits)


def _units(corpus: Corpus, rows: Rows, scores: Float, per: str) -> list[_Unit]:
    """Sections (or passages) by their best row, best first; equal scores by path, then place in the text."""
    rounded = np.round(scores, 6)
    order = np.lexsort(
        (corpus.indexes[rows], corpus.sequences[rows], corpus.text_order[corpus.owners[rows]], -rounded)
    )
    order = order[scores[order] > 0]
    if per == "section":
        order = order[_firsts(_keys(corpus, rows[order], per))]
    return [
        _Unit(row, score) for row, score in zip(rows[order].tolist(), rounded[order].tolist(), strict=True)
    ]


def _keys(corpus: Corpus, rows: Rows, per: str) -> npt.NDArray[np.int64]:
    """A number for the section (or the passage) of each row."""
    if per != "section":
        return rows.astype(np.int64)
    return corpus.owners[rows].astype(np.int64) * (1 << 32) + corpus.sequences[rows]


def _firsts(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Positions of the first of each key, in order."""
    return np.sort(np.unique(keys, return_index=True)[1])


def _document_of(corpus: Corpus, row: int, scope: Scope | None) -> DocumentRow | None:
    """The document to name for a row: the first by path among those in scope that have its text."""
    documents = corpus.by_text.get(corpus.texts[corpus.owners[row]], ())
    return next((row for row in documents if scope is None or row.content_hash in scope.documents), None)


def _place_of(document: DocumentRow, scope: Scope | None) -> Place:
    """The place to name: the one that the scope asked for, else the first."""
    if scope is not None and document.content_hash in scope.places:
        return scope.places[document.content_hash]
    return Place("", document.path, document.filename, document.source)


def _reranked(
    corpus: Corpus,
    units: list[_Unit],
    passages: dict[str, Passage],
    query: str,
    rerank: Reranker,
    explanation: dict[str, Any],
) -> list[_Unit]:
    head = [unit for unit in units[:_RERANKED] if corpus.chunk_id(unit.row) in passages]
    shown = [passages[corpus.chunk_id(unit.row)] for unit in head]
    texts = [passage_text(passage.breadcrumb, passage.text) for passage in shown]
    order, note = rerank(query, texts)
    explanation["rerank"] = note
    if order is None:
        return units
    return [head[position] for position in order] + units[_RERANKED:]


def _distinct(
    corpus: Corpus, source: CorpusSource, units: Sequence[_Unit], passages: dict[str, Passage], limit: int
) -> tuple[list[_Unit], dict[int, list[str]]]:
    """The first units that say something new; those that repeat one of them only fill what is left."""
    chosen: list[_Unit] = []
    behind: list[_Unit] = []
    repeats: dict[int, list[str]] = {}
    seen: list[tuple[_Unit, Likeness]] = []
    for unit in _with_passages(corpus, source, units, passages):
        if len(chosen) == limit:
            break
        own = likeness(passages[corpus.chunk_id(unit.row)].text)
        first = next((other for other, shown in seen if is_repeat(own, shown)), None)
        if first is None:
            seen.append((unit, own))
            chosen.append(unit)
        else:
            behind.append(unit)
            repeats.setdefault(first.row, []).append(corpus.section_id(unit.row))
    return chosen + behind[: limit - len(chosen)], repeats


def _with_passages(
    corpus: Corpus, source: CorpusSource, units: Sequence[_Unit], passages: dict[str, Passage]
) -> Iterator[_Unit]:
    """Units whose passages are there, read in batches as far as they are asked for."""
    for at, unit in enumerate(units):
        name = corpus.chunk_id(unit.row)
        if name not in passages:
            ahead = [corpus.chunk_id(other.row) for other in units[at : at + 50]]
            passages.update(source.passages([other for other in ahead if other not in passages]))
        if name in passages:
            yield unit


def _ranks(
    corpus: Corpus, rankings: Sequence[Ranked], chosen: Sequence[int], per: str
) -> dict[int, dict[str, int]]:
    """Place of each chosen row's unit in each leg, the best over the queries."""
    found: dict[int, dict[str, int]] = {row: {} for row in chosen}
    wanted = _keys(corpus, np.asarray(chosen, dtype=np.intp), per)
    for _, keywords, similar in rankings:
        for name, rows in (("bm25", keywords.rows), ("vector", None if similar is None else similar.rows)):
            if rows is None or not len(rows):
                continue
            keys = _keys(corpus, rows, per)
            units = keys[_firsts(keys)]
            for row, key in zip(chosen, wanted, strict=True):
                places = np.flatnonzero(units == key)
                if len(places):
                    rank = int(places[0]) + 1
                    found[row][name] = min(rank, found[row].get(name, rank))
    return found


def _marks(corpus: Corpus, rankings: Sequence[Ranked]) -> dict[str, tuple[int, float]]:
    """Terms to mark in snippets, with the word that each belongs to and its weight."""
    marks: dict[str, tuple[int, float]] = {}
    for number, (query, _, _) in enumerate(rankings):
        weights = corpus.index.group_idf(query.terms)
        for item in query.terms:
            marks.setdefault(item.term, (1_000 * number + item.group, item.weight * weights[item.group]))
    return marks


def _hit(
    corpus: Corpus,
    unit: _Unit,
    passage: Passage,
    scope: Scope | None,
    ranks: dict[str, int],
    shown: str,
    repeats: Sequence[str],
) -> Hit | None:
    document = _document_of(corpus, unit.row, scope)
    if document is None:
        return None
    place = _place_of(document, scope)
    return Hit(
        chunk_id=passage.chunk_id,
        section_id=passage.section_id or corpus.section_id(unit.row),
        markdown_hash=document.markdown_hash,
        content_hash=document.content_hash,
        score=round(min(1.0, max(0.0, unit.score)), 4),
        ranks=ranks,
        text=passage.text,
        start_line=passage.start_line,
        page=passage.page,
        section_title=passage.section_title,
        level=passage.level,
        kind=passage.kind,
        breadcrumb=passage.breadcrumb,
        path=place.path,
        title=document.title,
        source=place.source,
        filename=place.filename,
        snippet=shown,
        index=int(corpus.indexes[unit.row]),
        repeats=tuple(dict.fromkeys(repeats)),
    )
