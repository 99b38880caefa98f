"""The retriever: queries in, ranked passages out, with an account of how they were ranked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from graph_agent.errors import BadArgument, EmbeddingMismatch, ModelUnavailable
from graph_agent.retrieval.containment import contained_rows, wanted_words
from graph_agent.retrieval.corpus import Corpus, Coverage, Mask
from graph_agent.retrieval.documents import near_names
from graph_agent.retrieval.fusion import combine_queries
from graph_agent.retrieval.legs import find_verbatim, keyword_leg, verbatim_rows
from graph_agent.retrieval.mirror import CorpusSource, Mirror
from graph_agent.retrieval.presentation import present
from graph_agent.retrieval.query import clean_query, parse_query
from graph_agent.retrieval.ranking import Ranking, candidates, score_candidates
from graph_agent.retrieval.relaxation import phrase_note, relax
from graph_agent.retrieval.rerank import load_reranker
from graph_agent.retrieval.results import MODES, SCORE_KINDS, Hit, Mode, SearchResult
from graph_agent.retrieval.scope import LabelFilter, Scope, build_scope
from graph_agent.retrieval.vectors import (
    Similarities,
    nearest_in_engine,
    nearest_in_memory,
    with_cosines,
)

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.settings import Settings
    from graph_agent.store import DocumentGraph

MAX_LIMIT = 1_000
_DEPTH = 150  # candidates of each leg

Rows = npt.NDArray[np.intp]
Float = npt.NDArray[np.float64]


class Retriever:
    """Searches the visible documents of a graph. Safe between threads."""

    def __init__(
        self,
        graph: DocumentGraph | None,
        embedder: Embedder | None,
        settings: Settings,
        *,
        source: CorpusSource | None = None,
    ) -> None:
        """A retriever; it reads nothing until it is first asked.

        Args:
            graph: the graph; None only with a `source` of its own, and then without mode cypher.
            embedder: turns queries into vectors; None searches by keywords alone.
            settings: mirror_limit, rerank and its time limit.
            source: where corpus and passages come from; default a mirror of the graph.

        Raises:
            ConfigurationError: the setting `rerank` names nothing usable.
        """
        if source is None:
            if graph is None:
                raise BadArgument("Retriever has neither a graph nor a source.", "Give one of them.")
            source = Mirror(graph, vector_limit=settings.mirror_limit)
        self._graph = graph
        self._embedder = embedder
        self._source = source
        self._rerank = load_reranker(settings)

    def corpus(self) -> Corpus:
        """The visible documents now: documents, folders, facets, coverage.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        return self._source.current()

    def scope(
        self,
        folder: str | None = None,
        document: str | None = None,
        paths: str | Sequence[str] | None = None,
        labels: LabelFilter | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
    ) -> Scope:
        """See `scope.build_scope`; of the documents that are visible now."""
        return build_scope(
            self.corpus(),
            folder=folder,
            document=document,
            paths=paths,
            labels=labels,
            date_from=date_from,
            date_to=date_to,
        )

    def search(
        self,
        queries: str | Sequence[str],
        *,
        mode: Mode = "hybrid",
        limit: int = 20,
        scope: Scope | None = None,
        per: Literal["section", "chunk"] = "section",
    ) -> SearchResult:
        """Ranked passages for one query, or for several phrasings of one question.

        Args:
            queries: what is looked for. Quoted phrases come first where they stand word for word.
            mode: hybrid, vector, bm25, or cypher (containment of words).
            limit: how many, 1 to 1000.
            scope: from `scope()`; None is everything. An empty scope gives no hits.
            per: one hit per section (its best passage), or every passage by itself.

        Raises:
            BadArgument: an unknown mode, a limit that is not positive, or no query text.
            EmbeddingMismatch: mode vector, and this embedding model is not the graph's.
            ModelUnavailable: mode vector, and the embedding model does not answer.
            EngineUnavailable: the engine does not answer.
        """
        began = time.perf_counter()
        texts = _checked(queries, mode, limit, per)
        corpus = self._source.current()
        mask = corpus.index.live if scope is None else corpus.mask_of(scope.documents) & corpus.index.live
        documents = len(corpus.documents) if scope is None else len(scope.documents)
        coverage = corpus.coverage_of(mask, documents)
        searched = _searched(scope, documents)
        explanation: dict[str, Any] = {"mode": mode, "score_kind": SCORE_KINDS[mode], "queries": []}
        if not coverage.chunks:
            explanation["problem"] = (scope.problem if scope else "") or "there is no text to search"
            return SearchResult((), coverage, searched, explanation=explanation)
        degraded: str | None = None
        if mode == "cypher":
            hits, relaxed = self._contained(corpus, texts, scope, limit, per, explanation)
        else:
            hits, degraded, relaxed = self._rank(
                corpus, texts, mode, scope, mask, limit, per, coverage, explanation
            )
        explanation["seconds"] = round(time.perf_counter() - began, 4)
        return SearchResult(hits, coverage, searched, degraded, relaxed, explanation)

    def _rank(
        self,
        corpus: Corpus,
        texts: Sequence[str],
        mode: Mode,
        scope: Scope | None,
        mask: Mask,
        limit: int,
        per: str,
        coverage: Coverage,
        explanation: dict[str, Any],
    ) -> tuple[tuple[Hit, ...], str | None, str | None]:
        depth = max(_DEPTH, 5 * limit)
        vectors, degraded = self._vectors(corpus, texts, mode, coverage)
        queries = [parse_query(text, corpus.index, corpus.stemmers) for text in texts]
        relaxed: str | None = None
        rankings: list[Ranking] = []
        for query, vector in zip(queries, vectors, strict=True):
            leg = keyword_leg(corpus, query, mask, depth if mode != "vector" else 0)
            if mode != "vector" and not leg.found:
                query, leg, relaxed = relax(corpus, query, leg, mask, depth, relaxed)
            similar = None if vector is None else self._nearest(corpus, vector, mask, scope, depth)
            rankings.append(Ranking(query, leg, similar))
        rows = candidates(rankings, mode)
        if not len(rows):
            return (), degraded, relaxed
        if mode != "vector":
            self._read_verbatim(corpus, rankings)
            relaxed = relaxed or phrase_note([(each.query, each.boosts) for each in rankings])
        model = self._embedder.name if self._embedder else ""
        scores = []
        for ranking, vector in zip(rankings, vectors, strict=True):
            if ranking.similar is not None and vector is not None and self._graph is not None:
                ranking.similar = with_cosines(self._graph, ranking.similar, corpus, vector, rows.tolist())
            scores.append(score_candidates(corpus, ranking, rows, mode, model, explanation))
        combined = combine_queries(scores)
        hits = present(
            corpus, self._source, rows, combined, rankings=[(r.query, r.keywords, r.similar) for r in rankings],
            scope=scope, limit=limit, per=per, rerank=self._rerank, explanation=explanation,
        )  # fmt: skip
        return hits, degraded, relaxed

    def _vectors(
        self, corpus: Corpus, texts: Sequence[str], mode: Mode, coverage: Coverage
    ) -> tuple[list[npt.NDArray[np.float32] | None], str | None]:
        """The queries' vectors, or None for each and the reason why words alone must do."""
        nothing: list[npt.NDArray[np.float32] | None] = [None] * len(texts)
        if mode == "bm25":
            return nothing, None
        if self._embedder is None:
            return self._degrade(nothing, mode, "no embedding model is set")
        in_engine = corpus.vectors is None and self._graph is not None and self._is_large(corpus)
        if not coverage.with_vectors and not in_engine:
            return self._degrade(nothing, mode, "no passage in scope has a vector yet")
        mismatch = self._mismatch(corpus)
        if mismatch:
            if mode == "vector":
                raise EmbeddingMismatch(mismatch, "Use the graph's model, or run: graph-agent reembed")
            return nothing, f"keywords only: {mismatch}"
        try:
            return [self._embedder.embed_query(clean_query(text)) for text in texts], None
        except ModelUnavailable as error:
            if mode == "vector":
                raise
            return nothing, f"keywords only: {error.message}"

    def _degrade(
        self, nothing: list[npt.NDArray[np.float32] | None], mode: Mode, reason: str
    ) -> tuple[list[npt.NDArray[np.float32] | None], str]:
        kind = "no search by meaning" if mode == "vector" else "keywords only"
        return nothing, f"{kind}: {reason}"

    def _is_large(self, corpus: Corpus) -> bool:
        source = self._source
        return isinstance(source, Mirror) and source.model[1] > 0 and corpus.index.count > 0

    def _mismatch(self, corpus: Corpus) -> str:
        embedder = cast("Embedder", self._embedder)
        name, dimension = self._source.model if isinstance(self._source, Mirror) else ("", 0)
        if corpus.vectors is not None:
            dimension = corpus.vectors.shape[1]
        if dimension and embedder.dimension != dimension:
            return f"the graph's vectors have {dimension} numbers, those of {embedder.name} have {embedder.dimension}"
        if name and name != embedder.name:
            return f"the graph's vectors are of the model {name}, this process uses {embedder.name}"
        return ""

    def _nearest(
        self, corpus: Corpus, vector: npt.NDArray[np.float32], mask: Mask, scope: Scope | None, depth: int
    ) -> Similarities:
        if corpus.vectors is not None:
            return nearest_in_memory(corpus, vector, mask, depth)
        graph = cast("DocumentGraph", self._graph)
        hashes = None
        if scope is not None:
            rows = (corpus.by_hash.get(name) for name in scope.documents)
            hashes = sorted({row.markdown_hash for row in rows if row is not None})
        return nearest_in_engine(graph, corpus, vector, mask, hashes, depth)

    def _read_verbatim(self, corpus: Corpus, rankings: Sequence[Ranking]) -> None:
        """Find passages that hold the query, or its quoted phrases, word for word."""
        wanted = [verbatim_rows(corpus, ranking.query, ranking.keywords) for ranking in rankings]
        ids = dict.fromkeys(corpus.chunk_id(row) for rows in wanted for row in rows)
        passages = self._source.passages(list(ids))
        for ranking, rows in zip(rankings, wanted, strict=True):
            ranking.boosts = find_verbatim(ranking.query, ranking.keywords, corpus, rows, passages)

    def _contained(
        self,
        corpus: Corpus,
        texts: Sequence[str],
        scope: Scope | None,
        limit: int,
        per: str,
        explanation: dict[str, Any],
    ) -> tuple[tuple[Hit, ...], str | None]:
        if self._graph is None:
            raise BadArgument("Mode cypher needs a graph.", "Use hybrid, vector or bm25.")
        rows, scores, relaxed = contained_rows(self._graph, corpus, self._source, texts, scope, limit)
        query = parse_query(" ".join(texts), corpus.index, corpus.stemmers)
        leg = keyword_leg(corpus, query, corpus.index.live, 0)
        hits = present(
            corpus, self._source, rows, scores, rankings=[(query, leg, None)], scope=scope, limit=limit, per=per,
            rerank=None, explanation=explanation, within=wanted_words(texts),
        )  # fmt: skip
        return hits, relaxed


def _checked(queries: str | Sequence[str], mode: str, limit: int, per: str) -> list[str]:
    if mode not in MODES:
        near = near_names(str(mode), MODES, count=1)
        hint = f"Nearest: {near[0]}. " if near else ""
        raise BadArgument(f"mode {mode!r} is unknown.", f"{hint}Modes: {', '.join(MODES)}.")
    if per not in {"section", "chunk"}:
        raise BadArgument(f"per {per!r} is unknown.", "Use section or chunk.")
    if limit < 1:
        raise BadArgument(f"limit {limit} is not positive.", f"Give a number from 1 to {MAX_LIMIT}.")
    if limit > MAX_LIMIT:
        raise BadArgument(f"limit {limit} is too large.", f"Give a number from 1 to {MAX_LIMIT}.")
    given = [queries] if isinstance(queries, str) else list(queries)
    texts = [text for text in dict.fromkeys(given) if clean_query(text)]
    if not texts:
        raise BadArgument("query is empty.", "Say what to look for.")
    return texts


def _searched(scope: Scope | None, documents: int) -> str:
    count = f"{documents} document{'' if documents == 1 else 's'}"
    return count if scope is None else f"{count} ({scope.description})"
