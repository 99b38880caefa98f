"""Scores of all candidates for one query, from both legs, with an account of how they came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.corpus import Corpus
from graph_agent.retrieval.fusion import Evidence, Weights, decide_weights, fuse
from graph_agent.retrieval.legs import Boosts, KeywordLeg, coverage_of, identifier_share
from graph_agent.retrieval.query import Query
from graph_agent.retrieval.results import SCORE_KINDS, Mode
from graph_agent.retrieval.vectors import Similarities

Rows = npt.NDArray[np.intp]
Float = npt.NDArray[np.float64]


@dataclass
class Ranking:
    """One query's legs while candidates are ranked."""

    query: Query
    keywords: KeywordLeg
    similar: Similarities | None
    boosts: Boosts = field(default_factory=Boosts)


def candidates(rankings: Sequence[Ranking], mode: Mode) -> Rows:
    """All rows that any leg of any query found, ascending."""
    found: list[Rows] = []
    for ranking in rankings:
        found.append(ranking.keywords.exact)
        if mode != "vector":
            found += [ranking.keywords.rows, ranking.keywords.phrased]
        if ranking.similar is not None:
            found.append(ranking.similar.rows)
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.intp)


def score_candidates(
    corpus: Corpus, ranking: Ranking, rows: Rows, mode: Mode, model: str, explanation: dict[str, Any]
) -> Float:
    """Score of every candidate for one query, above 0 and at most 1.

    Args:
        corpus: searched.
        ranking: the query with its legs.
        rows: candidates of all queries.
        mode: hybrid, vector or bm25; hybrid without vectors is bm25.
        model: name of the embedding model.
        explanation: gets one more entry in "queries".
    """
    query, leg, similar = ranking.query, ranking.keywords, ranking.similar
    account: dict[str, Any] = {"query": query.text[:500], "language": query.language}
    explanation["queries"].append(account)
    if ranking.boosts.best:
        account["verbatim"] = round(ranking.boosts.best, 3)
    if similar is not None:
        account["vectors"] = similar.way
    if mode == "vector":
        return np.zeros(len(rows)) if similar is None else _above_zero(_cosines(similar, leg, rows))
    words = leg.scores[rows].astype(np.float64)
    boosted = words + ranking.boosts.of_rows(rows) * (float(words.max(initial=0.0)) or 1.0)
    if mode == "bm25" or similar is None:
        explanation["score_kind"] = SCORE_KINDS["bm25"]
        most: Float = boosted / max(leg.most, float(boosted.max(initial=0.0)), 1e-9)
        return most
    weights, coverage = _weights(corpus, ranking, rows, boosted, model, account)
    cosines = _cosines(similar, leg, rows)
    return fuse(boosted, cosines, vector_floor=similar.floor, weights=weights, coverage=coverage)


def _cosines(similar: Similarities, leg: KeywordLeg, rows: Rows) -> Float:
    """Cosine of each candidate; 1 for a text that is the query itself.

    A passage is embedded with its breadcrumb, so the cosine of its bare text with it is below 1, and among
    passages that differ in a number only it need not be the nearest.
    """
    cosines = similar.of_rows(rows).astype(np.float64)
    cosines[np.isin(rows, leg.exact)] = 1.0
    return cosines


def _weights(
    corpus: Corpus, ranking: Ranking, rows: Rows, boosted: Float, model: str, account: dict[str, Any]
) -> tuple[Weights, float]:
    query = ranking.query
    coverage, lacking = 0.0, list(query.surfaces)
    if boosted.max(initial=0.0) > 0:
        coverage, lacking = coverage_of(corpus, query, int(rows[int(boosted.argmax())]))
    share, rare = identifier_share(corpus, query)
    weights = decide_weights(
        Evidence(
            coverage=coverage,
            identifier_share=share,
            verbatim=ranking.boosts.best,
            language=query.language if query.language != "und" else corpus.stemmers[0],
            document_languages=corpus.stemmers,
            model=model,
        )
    )
    account["weights"] = {"bm25": weights.bm25, "vector": weights.vector}
    account["reasons"] = list(weights.reasons)
    account["words_missing_in_best"] = lacking[:20]
    if rare:
        account["rare_identifiers"] = rare[:10]
    return weights, coverage


def _above_zero(cosines: Float) -> Float:
    """Cosines as scores in (0, 1]; those below 0 keep their order just above it."""
    return np.where(cosines > 1e-3, np.minimum(cosines, 1.0), 1e-4 * (2.0 + np.minimum(cosines, 1e-3)))
