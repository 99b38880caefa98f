"""What `--watch` must not miss, and what must not end it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from folder_cases import command, texts, write

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, EngineUnavailable, GraphAgentError, ModelUnavailable
from graph_agent.ingest import SyncOptions, SyncReport, watch_folders, watching
from graph_agent.ingest.report import Silent
from graph_agent.store import DocumentGraph
from graph_agent.store.locking import sync_lock


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


@contextmanager
def watched(
    graph: DocumentGraph, embedder: Embedder, *paths: Path, progress: Silent | None = None
) -> Iterator[list[SyncReport]]:
    """The reports of a watch that runs in a thread."""
    stop = threading.Event()
    reports: list[SyncReport] = []
    options = SyncOptions(vectors=False)
    watcher = threading.Thread(
        target=watch_folders,
        args=(graph, embedder, paths, options, progress or Silent(), reports.append),
        kwargs={"stop": stop},
    )
    watcher.start()
    try:
        yield reports
        assert watcher.is_alive()
    finally:
        stop.set()
        watcher.join(20)
    assert not watcher.is_alive()


def test_what_changes_during_the_first_sync_is_followed(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\nfirst\n")

    class Editing(Silent):
        def stage(self, name: str, total: int) -> None:
            if name == "Reading documents" and not (root / "b.md").exists():
                write(root, "b.md", "# B\n\nwritten when the folder had been looked through\n")

    with watched(empty_graph, embedder, root, progress=Editing()) as reports:
        wait_for(lambda: "b.md" in texts(empty_graph))
        assert reports[0].added == 1


@pytest.mark.parametrize(
    "error",
    [EngineUnavailable("The engine does not answer."), ModelUnavailable("The model does not answer.")],
)
def test_what_does_not_answer_ends_no_watch(
    empty_graph: DocumentGraph,
    embedder: Embedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: GraphAgentError,
) -> None:
    monkeypatch.setattr(watching, "RETRY_S", 0.2)
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\nfirst\n")

    class Failing(Silent):
        left = 2

        def stage(self, name: str, total: int) -> None:
            if name == "Reading documents" and self.left:
                self.left -= 1
                raise error

    with watched(empty_graph, embedder, root, progress=Failing()) as reports:
        wait_for(lambda: "a.md" in texts(empty_graph))
        wait_for(lambda: len(reports) == 1)
    assert caplog.text.count("does not answer") == 2


def test_a_sync_left_to_another_is_made_up_for(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "RETRY_S", 0.2)
    monkeypatch.setattr(watching, "WAIT_FOR_OTHERS_S", 0.1)
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\nfirst\n")
    with watched(empty_graph, embedder, root) as reports:
        wait_for(lambda: len(reports) == 1)
        with sync_lock(empty_graph):
            write(root, "b.md", "# B\n\nsecond\n")
            time.sleep(2.5)
        wait_for(lambda: "b.md" in texts(empty_graph))


def test_paths_that_come_later_or_come_again_are_followed(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root, later = tmp_path / "root", tmp_path / "later"
    write(root, "a.md", "# A\n\nfirst\n")
    with watched(empty_graph, embedder, root, later):
        wait_for(lambda: "a.md" in texts(empty_graph))
        write(later, "late.md", "# Late\n\nwords\n")
        wait_for(lambda: "late.md" in texts(empty_graph))
        root.rename(tmp_path / "old")
        write(root, "new.md", "# New\n\nin another folder of this name\n")
        wait_for(lambda: "new.md" in texts(empty_graph))
        write(root, "newer.md", "# Newer\n\nwords\n")
        wait_for(lambda: "newer.md" in texts(empty_graph))


def test_a_first_sync_that_cannot_be_is_told(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        watch_folders(
            empty_graph, embedder, [tmp_path / "nowhere"], SyncOptions(vectors=False), Silent(), print
        )


@pytest.mark.parametrize("other", ["--json", "--dry-run"])
def test_watching_goes_with_no_single_result(tmp_path: Path, other: str) -> None:
    write(tmp_path / "root", "a.md", "# A\n\nfirst\n")
    refused = command("ingest", tmp_path / "root", "--watch", other, data=tmp_path / "data")
    assert refused.returncode == 2
    assert f"--watch and {other} do not go together" in refused.stderr
    assert refused.stdout == ""
