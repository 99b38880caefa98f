"""The two legs of a search over one query: scores of candidates by keywords and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.corpus import Corpus, Mask
from graph_agent.retrieval.keywords import QueryTerm
from graph_agent.retrieval.mirror import Passage
from graph_agent.retrieval.phrases import MIN_RUN, verbatim_share
from graph_agent.retrieval.query import Query
from graph_agent.retrieval.vectors import top_positions
from graph_agent.text import terms
from graph_agent.text.postings import fingerprint

Rows = npt.NDArray[np.intp]
Float = npt.NDArray[np.float64]

_EXACT = 2.0  # a passage whose own words are the query's stands before any that merely holds them
_SAME = 2.1  # and before it one that has the query's marks, too: "None." is not "None"
_PHRASE_ROWS = 200
_READ_FOR_VERBATIM = 30
_LEAST_HELD = 0.4
_RARE = 0.01  # share of chunks below which a term is rare


@dataclass(frozen=True, eq=False, slots=True)
class KeywordLeg:
    """Keyword scores of one query.

    Attributes:
        scores: float32 [rows] by BM25, 0 outside the scope.
        rows: the best rows, best first.
        most: the greatest score that the query could reach: the idf of its words together.
        exact: rows whose text is the query itself.
        phrased: rows that hold all words of a quoted phrase.
    """

    scores: npt.NDArray[np.float32]
    rows: Rows
    most: float
    exact: Rows
    phrased: Rows

    @property
    def found(self) -> bool:
        """Whether any passage holds a word of the query."""
        return len(self.rows) > 0


@dataclass
class Boosts:
    """Verbatim matches among the candidates whose text was read: share of the query by row."""

    shares: dict[int, float] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """The greatest share, at most 1."""
        return min(1.0, max(self.shares.values(), default=0.0))

    def of_rows(self, rows: Rows) -> Float:
        """Share of each row."""
        return np.asarray([self.shares.get(int(row), 0.0) for row in rows], dtype=np.float64)


def keyword_leg(corpus: Corpus, query: Query, mask: Mask, count: int) -> KeywordLeg:
    """The best `count` rows of a scope by BM25, with rows whose text or phrases match exactly."""
    none: Rows = np.zeros(0, dtype=np.intp)
    exact = _exact(corpus, query, mask)
    if query.is_empty or count <= 0:
        return KeywordLeg(np.zeros(len(mask), dtype=np.float32), none, 0.0, exact, none)
    scores = corpus.index.scores(query.terms)
    scores[~mask] = 0.0
    positive = np.flatnonzero(scores > 0)
    rows = positive[top_positions(scores[positive], count)]
    phrased = _phrased(corpus, query, mask, scores) if query.phrases else none
    most = sum(corpus.index.group_idf(query.terms).values())
    return KeywordLeg(scores, rows, most, exact, phrased)


def _exact(corpus: Corpus, query: Query, mask: Mask) -> Rows:
    """Rows whose text is the query."""
    own = fingerprint(query.text)
    if not own:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero((corpus.fingerprints == np.uint64(own)) & mask)


def coverage_of(corpus: Corpus, query: Query, row: int) -> tuple[float, list[str]]:
    """Share of the query's idf mass whose words a row holds, and the words that it lacks."""
    weights = corpus.index.group_idf(query.terms)
    held = corpus.index.groups_matched(query.terms, np.asarray([row], dtype=np.intp))
    total = sum(weights.values())
    lacking = [query.surfaces[group] for group, mask in held.items() if not mask[0]]
    found = sum(weights[group] for group, mask in held.items() if mask[0])
    return (found / total if total else 0.0), lacking


def identifier_share(corpus: Corpus, query: Query) -> tuple[float, list[str]]:
    """Share of the query's idf mass in rare identifiers that the corpus holds, and those identifiers."""
    weights = corpus.index.group_idf(query.terms)
    total = sum(weights.values())
    bound = max(3.0, _RARE * corpus.index.count)
    first: dict[int, QueryTerm] = {}
    for item in query.terms:
        first.setdefault(item.group, item)
    rare = [
        group for group in sorted(query.identifiers) if 0 < corpus.index.frequency(first[group].term) <= bound
    ]
    share = sum(weights[group] for group in rare) / total if total else 0.0
    return share, [query.surfaces[group] for group in rare]


def verbatim_rows(corpus: Corpus, query: Query, leg: KeywordLeg) -> list[int]:
    """Rows whose text is worth comparing with the query word for word: few, since texts must be read."""
    rows = leg.rows[:_READ_FOR_VERBATIM]
    if not query.phrases and len(query.words) < MIN_RUN and query.text.isascii():
        rows = rows[:0]
    elif len(rows):
        # A run of half the query's words holds a good part of its distinct words
        held = corpus.index.groups_matched(query.terms, rows)
        rows = rows[np.sum(list(held.values()), axis=0) >= _LEAST_HELD * len(held)]
    return list(dict.fromkeys([*leg.exact.tolist(), *leg.phrased.tolist(), *rows.tolist()]))


def find_verbatim(
    query: Query, leg: KeywordLeg, corpus: Corpus, rows: Sequence[int], passages: Mapping[str, Passage]
) -> Boosts:
    """Verbatim shares of rows whose passages were read; a text that is the query itself counts double."""
    own = query.text.split()
    boosts = Boosts()
    for row in leg.exact.tolist():
        passage = passages.get(corpus.chunk_id(row))
        boosts.shares[row] = _SAME if passage is not None and passage.text.split() == own else _EXACT
    if len(query.words) < 2 and not query.phrases and query.text.isascii():
        return boosts
    for row in rows:
        passage = passages.get(corpus.chunk_id(row))
        if passage is None or row in boosts.shares:
            continue
        share = verbatim_share(query.words, query.phrases, passage.text)
        if share > 0:
            boosts.shares[row] = share
    return boosts


def _phrased(corpus: Corpus, query: Query, mask: Mask, scores: npt.NDArray[np.float32]) -> Rows:
    """Rows that hold every word of a quoted phrase, the best by BM25 first; their text decides later."""
    found: list[Rows] = []
    for phrase in query.phrases:
        wanted = [
            QueryTerm(term, number)
            for language in corpus.stemmers[:1]
            for number, term in enumerate(dict.fromkeys(terms(" ".join(phrase), language)))
        ]
        rows = np.flatnonzero(mask)
        for item in sorted(wanted, key=lambda item: corpus.index.frequency(item.term)):
            if not len(rows):
                break
            rows = rows[corpus.index.groups_matched([item], rows)[item.group]]
        found.append(rows)
    rows = np.unique(np.concatenate(found))
    return rows[top_positions(scores[rows], _PHRASE_ROWS)]
