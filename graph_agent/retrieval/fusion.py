"""Keywords and vectors become one order: reciprocal rank fusion with weights decided per query.

Plain reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009; k = 60) was worse than the
better leg alone on half of the sets it was measured on, for two reasons. It forgets scores: a passage
that is far ahead counts like one that is ahead by a hair. And what one leg did not list gets nothing,
though its score there is known. So here

    fused(p) = sum over legs of  weight * 61 / (60 + rank(p)),   rank(p) = 1 + 30 * (1 - score(p) / best)

where `rank` is the place that the passage's own score is worth: 1 for the leg's best, 31 for nothing.
It is computed for every candidate of either leg, so agreement counts as far as it goes and absence from
a list is no cliff. Vector scores are taken from the scope's mean, which is what an unrelated passage has.

The weight of a leg is decided by kinds of queries, never by a particular set; every decision is told.
`evals/bench/retrieval_quality.py` measures the outcome against each leg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

K = 60
STRETCH = 30.0
_FLOOR = (K + 1) / (K + 1 + STRETCH)  # what a leg gives to a passage that it knows nothing of

# Weight of the vector leg by how much of the query's meaning the best keyword match holds (coverage):
# all of it 0.2, half 0.45, nothing 0.7.
_AT_NO_COVERAGE = 0.7
_SLOPE = 0.5
_LEAST = 0.2
_UNKNOWN_LANGUAGE = 0.2  # the model was not trained on the language of the query, or of the documents
_OTHER_LANGUAGE = 0.75  # the documents are in other languages than the query, the model knows both
_IDENTIFIER = 0.25  # a rare identifier was asked for and found
_VERBATIM = 0.2  # the query stands word for word in a passage

# Models that know one language; all others are taken to know the query's.
_ENGLISH_MODELS = (
    "all-minilm",
    "all-mpnet",
    "paraphrase-minilm",
    "msmarco",
    "bge-small-en",
    "bge-base-en",
    "bge-large-en",
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a query when the weights are decided.

    Attributes:
        coverage: share of the query's idf mass that the best keyword match holds, 0 to 1.
        identifier_share: share of that mass in rare identifiers that were found.
        verbatim: best share of the query that stands word for word in a passage, 0 to 1.
        language: of the query, or of the documents when the query's cannot be told.
        document_languages: of the documents in the corpus, the commonest first.
        model: name of the embedding model.
    """

    coverage: float
    identifier_share: float = 0.0
    verbatim: float = 0.0
    language: str = "en"
    document_languages: Sequence[str] = ("en",)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the legs, together 1, and why they are so."""

    bm25: float
    vector: float
    reasons: tuple[str, ...]


def decide_weights(evidence: Evidence) -> Weights:
    """Weights of the two legs for one query."""
    if evidence.coverage <= 0.0:
        return Weights(0.0, 1.0, ("no word of the query is in scope: by meaning alone",))
    vector = max(_LEAST, _AT_NO_COVERAGE - _SLOPE * evidence.coverage)
    reasons = [f"the best keyword match holds {evidence.coverage:.0%} of the query's weight"]
    unknown = _unknown_language(evidence)
    if unknown:
        vector = min(vector, _UNKNOWN_LANGUAGE)
        reasons.append(f"the embedding model does not know the language {unknown}")
    elif evidence.language not in {"und", *evidence.document_languages}:
        vector = max(vector, _OTHER_LANGUAGE)
        reasons.append(f"the query is in {evidence.language}, the documents are not")
    if evidence.identifier_share >= 0.3 and vector > _IDENTIFIER:
        vector = _IDENTIFIER
        reasons.append("a rare identifier was found")
    if evidence.verbatim >= 0.5 and vector > _VERBATIM:
        vector = _VERBATIM
        reasons.append("the query stands word for word in a passage")
    return Weights(round(1.0 - vector, 4), round(vector, 4), tuple(reasons))


def _unknown_language(evidence: Evidence) -> str:
    """The language, of the query or of all documents, that the model does not know; "" when it knows enough."""
    if not model_knows(evidence.model, evidence.language):
        return evidence.language
    if not any(model_knows(evidence.model, language) for language in evidence.document_languages):
        return evidence.document_languages[0] if evidence.document_languages else ""
    return ""


def model_knows(model: str, language: str) -> bool:
    """Whether an embedding model was trained on a language, as far as its name tells."""
    name = model.lower()
    return language in {"en", "und"} or not any(part in name for part in _ENGLISH_MODELS)


def fuse(bm25: Float, vector: Float, *, vector_floor: float, weights: Weights, coverage: float) -> Float:
    """Fused score of each candidate, above 0 and at most 1.

    The best possible score of a query is what speaks for it at all: the coverage of its words and the
    nearest cosine, by the legs' weights. So a query that nothing answers scores low throughout.

    Args:
        bm25: score of each candidate by keywords, 0 or more.
        vector: cosine of each candidate.
        vector_floor: cosine of an unrelated passage (the scope's mean).
        weights: of the legs.
        coverage: share of the query's weight that the best keyword match holds, 0 to 1.
    """
    by_words = _worth(bm25 / max(float(bm25.max(initial=0.0)), 1e-9))
    nearest = float(vector.max(initial=vector_floor))
    span = nearest - vector_floor
    # Below the floor counts against a passage, half as much at most as being nearest counts for it
    shares = np.clip((vector - vector_floor) / span, -1.0, 1.0) if span > 1e-9 else np.zeros_like(vector)
    fused = weights.bm25 * by_words + weights.vector * _worth(shares)
    strength = weights.bm25 * coverage + weights.vector * min(1.0, max(0.0, nearest))
    # A thousandth keeps those that nothing speaks for in order, above 0
    return np.maximum(fused, 0.0) * (0.999 * strength) + 0.001 * (fused + 0.5) / 1.5


def _worth(share: Float) -> Float:
    """61 / (60 + rank) for scores given as shares of the best, stretched so that 0 gives 0 and 1 gives 1."""
    ranks = 1.0 + STRETCH * (1.0 - share)
    return ((K + 1) / (K + ranks) - _FLOOR) / (1.0 - _FLOOR)


def combine_queries(scores: Sequence[Float]) -> Float:
    """One score per candidate from several phrasings: mostly the best of them, partly their agreement."""
    if len(scores) == 1:
        return scores[0]
    stacked = np.stack(scores)
    combined: Float = 0.75 * stacked.max(axis=0) + 0.25 * stacked.mean(axis=0)
    return combined
