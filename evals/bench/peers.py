"""The same passages and vectors in other people's search: LanceDB hybrid, Chroma, bm25s."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graph_agent.embeddings import Embedder
from graph_agent.evals.bench.synthetic import Synthetic

Timed = Callable[[Callable[[str], object], Sequence[str]], dict[str, float]]


def measure(
    corpus: Synthetic, embedder: Embedder, questions: Sequence[str], folder: Path, timed: Timed, limit: int
) -> dict[str, Any]:
    """Each installed peer's times; those that are not installed are named."""
    found: dict[str, Any] = {}
    for name, run in (
        ("lancedb hybrid", lancedb_hybrid),
        ("chroma vectors", chroma_vectors),
        ("bm25s", bm25s_words),
    ):
        try:
            began = time.perf_counter()
            search = run(corpus, embedder, folder, limit)
            seconds = round(time.perf_counter() - began, 1)
            search("warm up")
            embedder._queries.clear()
            found[name] = {"build_s": seconds, **timed(search, questions)}
        except ImportError as error:
            found[name] = f"not installed ({error.name})"
    return found


def lancedb_hybrid(
    corpus: Synthetic, embedder: Embedder, folder: Path, limit: int
) -> Callable[[str], object]:
    """A table with a full-text index; its own hybrid query with its reciprocal rank reranker."""
    import lancedb
    from lancedb.rerankers import RRFReranker

    table = lancedb.connect(str(folder / "lance")).create_table(
        "passages",
        [
            {"id": passage.chunk_id, "text": passage.text, "vector": vector}
            for passage, vector in zip(corpus.passages, corpus.vectors, strict=True)
        ],
    )
    table.create_fts_index("text")
    reranker = RRFReranker()

    def search(text: str) -> object:
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        words = "".join(char if char.isalnum() else " " for char in text)
        return query.vector(embedder.embed_query(text)).text(words).rerank(reranker).limit(limit).to_list()

    return search


def chroma_vectors(
    corpus: Synthetic, embedder: Embedder, folder: Path, limit: int
) -> Callable[[str], object]:
    """A persistent collection; vectors only, as LangChain uses it."""
    import chromadb

    client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("passages", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(corpus.passages), 2_000):
        part = corpus.passages[start : start + 2_000]
        collection.add(
            ids=[passage.chunk_id for passage in part],
            documents=[passage.text for passage in part],
            embeddings=corpus.vectors[start : start + 2_000],
        )
    return lambda text: collection.query(
        query_embeddings=[embedder.embed_query(text).tolist()], n_results=limit
    )


def bm25s_words(corpus: Synthetic, embedder: Embedder, folder: Path, limit: int) -> Callable[[str], object]:
    """Keywords alone, in memory, no embedding."""
    import bm25s

    index = bm25s.BM25(method="lucene")
    index.index(
        bm25s.tokenize([passage.text for passage in corpus.passages], show_progress=False),
        show_progress=False,
    )

    def search(text: str) -> object:
        return index.retrieve(bm25s.tokenize(text, show_progress=False), k=limit, show_progress=False)

    return search
