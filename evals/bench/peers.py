"""The same passages and vectors in other people's search: LanceDB hybrid, Chroma, bm25s."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from graph_agent.embeddings import Embedder
from graph_agent.retrieval.corpus import Corpus
from graph_agent.retrieval.keywords import K1, B, KeywordIndex
from graph_agent.retrieval.mirror import Passage
from graph_agent.retrieval.query import parse_query
from graph_agent.text import passage_text

SAME_TERMS = "bm25s, our terms"

Search = Callable[[str], list[str]]
"""A question to chunk ids, best first."""


class Indexed(Protocol):
    """Passages with a vector each: float32 [passages, dimension]."""

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages."""

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Their vectors."""


class Analysed(Indexed, Protocol):
    """Passages with the arrays of search over them."""

    @property
    def corpus(self) -> Corpus:
        """The same passages as search holds them, in the same order."""


def build_all(
    corpus: Indexed, embedder: Embedder, folder: Path, limit: int
) -> tuple[dict[str, Search], dict[str, float | str]]:
    """The searches of installed peers, and the seconds that each took to build (or that it is not installed)."""
    searches: dict[str, Search] = {}
    told: dict[str, float | str] = {}
    for name, build in PEERS.items():
        began = time.perf_counter()
        try:
            searches[name] = build(corpus, embedder, folder, limit)
        except ImportError as error:
            told[name] = f"not installed ({error.name})"
            continue
        told[name] = round(time.perf_counter() - began, 1)
    return searches, told


def lancedb_hybrid(corpus: Indexed, embedder: Embedder, folder: Path, limit: int) -> Search:
    """A table with a full-text index; its own hybrid query with its reciprocal rank reranker."""
    import lancedb
    from lancedb.rerankers import RRFReranker

    rows = [
        {"id": passage.chunk_id, "text": passage_text(passage.breadcrumb, passage.text), "vector": vector}
        for passage, vector in zip(corpus.passages, corpus.vectors, strict=True)
    ]
    table = lancedb.connect(str(folder / "lance")).create_table("passages", rows, mode="overwrite")
    table.create_fts_index("text")
    reranker = RRFReranker()

    def search(text: str) -> list[str]:
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        words = "".join(char if char.isalnum() else " " for char in text)
        found = query.vector(embedder.embed_query(text)).text(words).rerank(reranker).limit(limit).to_list()
        return [row["id"] for row in found]

    return search


def chroma_vectors(corpus: Indexed, embedder: Embedder, folder: Path, limit: int) -> Search:
    """A persistent collection; vectors only, as LangChain's Chroma store searches."""
    import chromadb

    client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
    collection = client.get_or_create_collection(f"c{time.time_ns()}", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(corpus.passages), 2_000):
        part = corpus.passages[start : start + 2_000]
        collection.add(
            ids=[passage.chunk_id for passage in part],
            documents=[passage.text for passage in part],
            embeddings=corpus.vectors[start : start + 2_000],
        )

    def search(text: str) -> list[str]:
        found = collection.query(query_embeddings=[embedder.embed_query(text).tolist()], n_results=limit)
        return list(found["ids"][0])

    return search


def bm25s_words(corpus: Indexed, embedder: Embedder, folder: Path, limit: int) -> Search:
    """Keywords alone, in memory, with its own tokenizer and English stop words; no embedding."""
    import bm25s

    index = bm25s.BM25(method="lucene")
    texts = [passage_text(passage.breadcrumb, passage.text) for passage in corpus.passages]
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def search(text: str) -> list[str]:
        asked = bm25s.tokenize(text, stopwords="en", show_progress=False)
        found, _ = index.retrieve(asked, k=min(limit, len(texts)), show_progress=False)
        return [corpus.passages[int(at)].chunk_id for at in found[0]]

    return search


def bm25s_same_terms(corpus: Analysed, embedder: Embedder, folder: Path, limit: int) -> Search:
    """bm25s given our terms, our k1 and b: what the keyword leg must not differ from, but for what it adds."""
    import bm25s

    held = corpus.corpus
    lists: list[list[str]] = [[] for _ in corpus.passages]
    for number, row, count in _postings(held.index):
        lists[row].extend([str(number)] * count)
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index(lists, show_progress=False)

    def search(text: str) -> list[str]:
        query = parse_query(text, held.index, held.stemmers)
        asked = [
            str(number) for each in query.terms if (number := held.index.vocabulary.number(each.term)) >= 0
        ]
        if not asked:
            return []
        found, scores = index.retrieve([asked], k=min(limit, len(lists)), show_progress=False)
        return [
            corpus.passages[int(at)].chunk_id
            for at, score in zip(found[0], scores[0], strict=True)
            if score > 0
        ]

    return search


def _postings(index: KeywordIndex) -> Iterator[tuple[int, int, int]]:
    """Each posting of an index: number of the term, row, count."""
    for segment in index.segments:
        for number in segment.term_ids.tolist():
            rows, counts = segment.of_term(number)
            yield from ((number, int(row), int(count)) for row, count in zip(rows, counts, strict=True))


PEERS: dict[str, Callable[[Indexed, Embedder, Path, int], Search]] = {
    "lancedb hybrid": lancedb_hybrid,
    "chroma vectors": chroma_vectors,
    "bm25s": bm25s_words,
}
