"""A lock that ends while its holder works: somebody else may write now, so the holder writes no more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from folder_cases import quick, texts, write

from graph_agent.embeddings import Embedder
from graph_agent.errors import SyncInProgress
from graph_agent.ingest import sync
from graph_agent.ingest.report import Silent
from graph_agent.store import DocumentGraph, locking, moving
from graph_agent.store.locking import LOCK, VECTOR_LOCK, sync_lock

OTHER = b"process 7 on elsewhere (0123abcd)"


class Losing(Silent):
    """Gives a lock to somebody else at the beginning of a stage."""

    def __init__(self, graph: DocumentGraph, lock: str, at: str) -> None:
        self.graph, self.lock, self.at = graph, lock, at

    def stage(self, name: str, total: int) -> None:
        if name == self.at:
            self.graph.keys.set(self.lock, OTHER)


@pytest.fixture
def graph(empty_graph: DocumentGraph) -> Iterator[DocumentGraph]:
    yield empty_graph
    empty_graph.keys.delete(LOCK, VECTOR_LOCK)


def vectors(graph: DocumentGraph) -> int:
    return int(
        graph.read("MATCH (c:SectionChunk) WHERE c.embedding IS NOT NULL RETURN count(c)").scalar(0) or 0
    )


def test_a_sync_that_lost_its_lock_writes_no_more_and_names_the_holder(
    graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    write(tmp_path / "root", "a.md", "# A\n\nwords\n")
    with pytest.raises(SyncInProgress, match="elsewhere"):
        sync(graph, embedder, [tmp_path / "root"], progress=Losing(graph, LOCK, "Reading documents"))
    assert texts(graph) == {}
    assert graph.keys.get(LOCK) == OTHER, "the lock is the other's to let go"
    graph.keys.delete(LOCK)
    assert quick(graph, embedder, tmp_path / "root").added == 1


def test_an_embedding_that_lost_its_lock_writes_no_more(
    graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    write(tmp_path / "root", "a.md", "# A\n\nwords\n")
    with pytest.raises(SyncInProgress, match="elsewhere"):
        sync(graph, embedder, [tmp_path / "root"], progress=Losing(graph, VECTOR_LOCK, "Embedding passages"))
    assert len(texts(graph)) == 1
    assert vectors(graph) == 0
    graph.keys.delete(VECTOR_LOCK)
    assert sync(graph, embedder, [tmp_path / "root"]).vectors == 1


def test_a_restore_that_lost_its_locks_changes_nothing(
    graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    write(tmp_path / "root", "a.md", "# A\n\nbefore\n")
    quick(graph, embedder, tmp_path / "root")
    moving.backup(graph, tmp_path / "b.zip", Silent(), files=False)
    write(tmp_path / "root", "a.md", "# A\n\nafter\n")
    quick(graph, embedder, tmp_path / "root")
    with pytest.raises(SyncInProgress, match="elsewhere"):
        moving.restore(graph, tmp_path / "b.zip", Losing(graph, LOCK, "Comparing"), replace=True, files=False)
    assert "after" in "".join(texts(graph).values())


def test_a_lock_that_ran_out_unseen_is_noticed(graph: DocumentGraph) -> None:
    with sync_lock(graph) as held:
        held.write("CREATE (:Mark)")
        graph.keys.delete(LOCK)  # as when this process stood still for longer than it lives
        with pytest.raises(SyncInProgress, match="nobody holds it now"):
            held.write("CREATE (:Mark)")
    assert graph.read("MATCH (m:Mark) RETURN count(m)").scalar() == 1


def test_a_lock_is_renewed_while_it_is_held_and_its_loss_is_told(
    graph: DocumentGraph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locking, "RENEW_EVERY_S", 0.05)
    with sync_lock(graph) as held:
        time.sleep(0.3)
        held.check()
        graph.keys.set(LOCK, OTHER)
        time.sleep(0.3)
    assert "ended while its holder worked" in caplog.text
    assert graph.keys.get(LOCK) == OTHER
