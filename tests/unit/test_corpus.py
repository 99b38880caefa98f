"""The corpus arrays: rows, spans and vectors stay together through every change, and old pictures stay whole."""

from __future__ import annotations

import random

import numpy as np

from graph_agent.retrieval.corpus import (
    Corpus,
    DocumentRow,
    changed_corpus,
    with_vectors,
    without_vectors,
)
from graph_agent.text.postings import ChunkText, build_postings

DIMENSION = 4


def block(name: str, count: int) -> np.ndarray:
    """Vectors that tell which chunk they are of."""
    rows = [[float(int(name, 16) + 1), float(at + 1), 0.0, 1.0] for at in range(count)]
    return np.asarray(rows, dtype=np.float32).reshape(count, DIMENSION)


def check(corpus: Corpus, texts: dict[str, int], embedded: set[str]) -> None:
    assert set(corpus.spans) == set(texts)
    assert corpus.index.count == sum(texts.values())
    for name, count in texts.items():
        span = corpus.spans[name]
        assert len(span) == count
        for at, row in enumerate(span):
            chunk_id = f"{name}::{at // 2}::{at % 2}"
            assert corpus.chunk_id(row) == chunk_id
            assert corpus.row_of(chunk_id) == row
            assert corpus.index.live[row]
            assert bool(corpus.has_vector[row]) == (name in embedded)
            if name in embedded:
                assert corpus.vectors is not None
                assert corpus.vectors[row].tolist() == block(name, count)[at].tolist()
    scores = corpus.coverage
    assert (scores.chunks, scores.with_vectors) == (
        sum(texts.values()),
        sum(texts[name] for name in embedded),
    )


def test_a_long_history_of_changes() -> None:
    draw = random.Random(9)
    corpus = Corpus()
    texts: dict[str, int] = {}
    embedded: set[str] = set()
    kept: list[tuple[Corpus, dict[str, int], set[str]]] = []
    for step in range(1, 60):
        removed = draw.sample(sorted(texts), min(len(texts), draw.randint(0, 3)))
        fresh = {f"{step * 100 + number:x}": draw.randint(0, 40) for number in range(draw.randint(0, 4))}
        if removed and draw.random() < 0.3:
            fresh[removed[0]] = draw.randint(1, 5)  # the same text, cut otherwise
        added = {
            name: build_postings(
                [ChunkText(at // 2, at % 2, f"word{at} {name}") for at in range(count)], "en"
            )
            for name, count in fresh.items()
        }
        texts = {name: count for name, count in texts.items() if name not in removed} | fresh
        embedded = (embedded - set(removed)) & set(texts)
        rows = [DocumentRow(name, name, f"{name}.md", f"{name}.md") for name in texts]
        corpus = changed_corpus(
            corpus, version=step, documents=rows, folders=(), added=added, removed=removed
        )
        chosen = {name for name in texts if draw.random() < 0.6 and texts[name]}
        corpus = with_vectors(corpus, {name: block(name, texts[name]) for name in chosen}, DIMENSION)
        embedded |= chosen
        check(corpus, texts, embedded)
        if step % 10 == 0:
            kept.append((corpus, dict(texts), set(embedded)))
    assert corpus.index.rows < 3 * corpus.index.count + 2_000
    for picture in kept:
        check(*picture)


def test_blocks_that_do_not_fit_are_left_out() -> None:
    added = {"a": build_postings([ChunkText(0, 0, "one"), ChunkText(0, 1, "two")], "en")}
    corpus = changed_corpus(
        Corpus(),
        version=1,
        documents=[DocumentRow("a", "a", "a.md", "a.md")],
        folders=(),
        added=added,
        removed=(),
    )
    assert (
        with_vectors(
            corpus, {"a": np.ones((3, DIMENSION), dtype=np.float32)}, DIMENSION
        ).coverage.with_vectors
        == 0
    )
    half = np.asarray([[1, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float32)
    assert with_vectors(corpus, {"a": half, "missing": half}, DIMENSION).coverage.with_vectors == 1
    assert without_vectors(with_vectors(corpus, {"a": half}, DIMENSION)).coverage.with_vectors == 0
    assert corpus.row_of("a::0::7") == corpus.row_of("b::0::0") == corpus.row_of("nonsense") == -1


def test_masks_of_documents_that_share_a_text() -> None:
    added = {
        "t": build_postings([ChunkText(0, 0, "one"), ChunkText(0, 1, "two")], "en"),
        "u": build_postings([ChunkText(0, 0, "three")], "de"),
    }
    rows = [
        DocumentRow("a", "t", "a.md", "a.md"),
        DocumentRow("b", "t", "b.md", "b.md"),
        DocumentRow("c", "u", "c.md", "c.md"),
    ]
    corpus = changed_corpus(Corpus(), version=1, documents=rows, folders=(), added=added, removed=())
    assert corpus.mask_of(["b"]).tolist() == [True, True, False]
    assert corpus.mask_of(["c", "unknown"]).tolist() == [False, False, True]
    assert [row.path for row in corpus.by_text["t"]] == ["a.md", "b.md"]
    assert corpus.stemmers == ("en", "de")
