"""The cache of vectors: what it keeps, and that it never stands in the way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from graph_agent.embeddings import Embedder
from graph_agent.vector_cache import VectorCache


class Counting:
    """A model that remembers what it was asked for: each text's vector is made of its length."""

    name = "counting"
    max_tokens = 256
    dimension: int | None = 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query(self, text: str) -> Sequence[float]:
        return [1.0, 0.0, 0.0]

    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.asked += texts
        return [[float(len(text)), 1.0, 0.0] for text in texts]


def test_equal_texts_are_asked_for_once_over_all_calls(tmp_path: Path) -> None:
    model = Counting()
    embedder = Embedder(model, cache=VectorCache(tmp_path / "c" / "v.sqlite"))
    first, fresh = embedder.embed_new_passages(["a", "bb", "a"])
    assert (fresh, model.asked) == (frozenset({"a", "bb"}), ["a", "bb"])
    again = Embedder(model, cache=VectorCache(tmp_path / "c" / "v.sqlite"))
    second, fresh = again.embed_new_passages(["bb", "ccc"])
    assert (fresh, model.asked) == (frozenset({"ccc"}), ["a", "bb", "ccc"])
    assert np.array_equal(first[1], second[0])
    assert np.allclose(np.linalg.norm(second, axis=1), 1.0)


def test_a_broken_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(b"this is no database at all, and longer than a header of one" * 20)
    cache = VectorCache(path)
    cache.put_many("m", {"a": np.ones(3, dtype=np.float32)})
    assert list(cache.get_many("m", ["a", "b"])) == ["a"]
    assert (tmp_path / "v.sqlite.broken").exists()


def vectors_without_a_cache(path: Path) -> npt.NDArray[np.float32]:
    return Embedder(Counting(), cache=VectorCache(path)).embed_passages(["a", "b"])


def test_a_place_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    assert vectors_without_a_cache(tmp_path / "file" / "v.sqlite").shape == (2, 3)
    (tmp_path / "folder.sqlite").mkdir()
    assert vectors_without_a_cache(tmp_path / "folder.sqlite").shape == (2, 3)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_only_costs_time(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert vectors_without_a_cache(tmp_path / "v.sqlite").shape == (2, 3)
    finally:
        tmp_path.chmod(0o700)


def test_vectors_of_another_size_are_not_used(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.sqlite")
    cache.put_many("counting", {"a": np.ones(7, dtype=np.float32)})
    assert Embedder(Counting(), cache=cache).embed_passages(["a"]).shape == (1, 3)
