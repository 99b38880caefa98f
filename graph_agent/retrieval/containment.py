"""Mode cypher: sections that contain the words as written, found by the engine's own CONTAINS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.corpus import Corpus
from graph_agent.retrieval.mirror import CorpusSource
from graph_agent.retrieval.query import clean_query, quoted_phrases
from graph_agent.retrieval.scope import Scope
from graph_agent.store.queries import search as statements
from graph_agent.text import STOP_WORDS, detect_language

if TYPE_CHECKING:
    from graph_agent.store import DocumentGraph

_MAX_WORDS = 24
_SPARE = 50
_CHUNKS_READ = 40  # of one section, to find the passage that holds most of the words


def contained_rows(
    graph: DocumentGraph,
    corpus: Corpus,
    source: CorpusSource,
    queries: Sequence[str],
    scope: Scope | None,
    limit: int,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64], str | None]:
    """Passages of sections that contain all words in title or text; when there are none, of those that contain any.

    A quoted phrase counts as one word; case does not count. The score is the share of the words contained,
    those in the title counting half as much again.

    Returns:
        Rows of the corpus, a score from 0 to 1 for each, and what was given up when no section has all words.
    """
    words = wanted_words(queries)
    if not words:
        return np.zeros(0, dtype=np.intp), np.zeros(0), None
    found = graph.read(
        statements.CONTAINING, {"hashes": _hashes(corpus, scope), "words": words, "limit": limit + _SPARE}
    ).dicts()
    whole = [row for row in found if int(row["matched"]) == len(words)]
    relaxed = None
    if found and not whole:
        best = int(found[0]["matched"])
        relaxed = f"No section contains all {len(words)} words; these contain up to {best} of them."
    rows: list[int] = []
    scores: list[float] = []
    for section in whole or found:
        score = (int(section["matched"]) + 0.5 * int(section["in_title"])) / (1.5 * len(words))
        own = _rows_of(corpus, str(section["section_id"]))
        for row, share in zip(own, _shares(corpus, source, own, words), strict=True):
            rows.append(row)
            scores.append(score * (0.98 + 0.02 * share))
    return np.asarray(rows, dtype=np.intp), np.asarray(scores, dtype=np.float64), relaxed


def _rows_of(corpus: Corpus, section_id: str) -> list[int]:
    name, _, sequence = section_id.partition("::")
    span = corpus.spans.get(name, range(0))
    own = corpus.sequences[span.start : span.stop]
    return [span.start + int(at) for at in np.flatnonzero(own == int(sequence or -1))[:_CHUNKS_READ]]


def _shares(corpus: Corpus, source: CorpusSource, rows: Sequence[int], words: Sequence[str]) -> list[float]:
    """Share of the words that each passage holds, to tell the passages of one section apart."""
    if len(rows) < 2:
        return [1.0] * len(rows)
    passages: Any = source.passages([corpus.chunk_id(row) for row in rows])
    texts = [
        passages[name].text.lower() if (name := corpus.chunk_id(row)) in passages else "" for row in rows
    ]
    return [sum(word in text for word in words) / len(words) for text in texts]


def wanted_words(queries: Sequence[str]) -> list[str]:
    """Quoted phrases and words in lower case, stop words left out unless there is nothing else."""
    text = clean_query(" ".join(queries))
    phrases = quoted_phrases(text)
    rest = text
    for phrase in phrases:
        rest = rest.replace(phrase, " ")
    stop = STOP_WORDS[detect_language(text)]
    given = [word.strip(".,;:!?()[]{}\"'“”„«»…").lower() for word in rest.split()]
    given = [word for word in given if any(char.isalnum() for char in word)]
    kept = [word for word in given if word not in stop]
    return list(dict.fromkeys([*(phrase.lower() for phrase in phrases), *(kept or given)]))[:_MAX_WORDS]


def _hashes(corpus: Corpus, scope: Scope | None) -> list[str]:
    if scope is None:
        return list(corpus.spans)
    rows = (corpus.by_hash.get(name) for name in scope.documents)
    return sorted({row.markdown_hash for row in rows if row is not None})
