"""Disks that fill up, folders that become read-only, interruptions, and several at work at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from folder_cases import command, give_up_rights, picture, quick, texts, write, wrong_vectors

from graph_agent.embeddings import Embedder, load_embedder
from graph_agent.errors import EngineUnavailable, SyncInProgress
from graph_agent.ingest import SyncOptions, SyncReport, remove, sync, watch_folders
from graph_agent.ingest.report import Silent
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.store.locking import sync_lock


def large_corpus(root: Path, files: int, words: int = 3_000) -> Path:
    for number in range(files):
        body = " ".join(f"w{number}x{word}" for word in range(words))
        write(root, f"doc{number:03}.md", f"# Document {number}\n\n{body}\n")
    return root


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("mounting a small disk takes root on Linux")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


def test_a_full_disk_is_told_and_nothing_is_lost(
    small_disk: Path, tmp_path: Path, embedder: Embedder
) -> None:
    root = tmp_path / "corpus"  # of few tokens to the byte, some 12 MB in the engine's file
    for number in range(24):
        write(root, f"{number}.md", f"# Document {number}\n\n" + "documentation of administration " * 7_000)
    with DocumentGraph.open(load_settings(data=small_disk / "data")) as graph:
        with pytest.raises(EngineUnavailable, match=r"(?i)space") as caught:
            quick(graph, embedder, root)
        assert "disk" in caught.value.fix.lower()
        present = texts(graph)
        assert all(text == (root / path).read_text() for path, text in present.items()), (
            "nothing is half there"
        )
        assert len(present) < 24
        subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
        deadline = time.monotonic() + 30
        while True:  # the engine tries the disk again once a second
            try:
                report = quick(graph, embedder, root)
                break
            except EngineUnavailable:
                assert time.monotonic() < deadline
                time.sleep(0.5)
        assert report.failed == []
        clean = graph.select("clean")
        quick(clean, embedder, root)
        assert picture(graph) == picture(clean)


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits")
def test_a_data_folder_that_becomes_read_only_in_mid_run(tmp_path: Path) -> None:
    """What is open stays open, so the sync ends well; the next start gives the engine its folder back."""
    root = large_corpus(tmp_path / "corpus", 3, words=200)
    data = tmp_path / "data"
    program = f"""
import os, sys
from pathlib import Path
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.embeddings import load_embedder
from graph_agent.ingest import sync
settings = load_settings(data={str(data)!r})
with DocumentGraph.open(settings) as graph:
    (settings.data / "cache").mkdir()
    for folder in ("engine", "cache", "."):
        (settings.data / folder).chmod(0o500)
    report = sync(graph, load_embedder(settings), [{str(root)!r}])
    print(report.added, report.vectors, report.vectors_pending, len(report.failed))
"""
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            preexec_fn=give_up_rights,
        )
        assert done.returncode == 0, done.stderr
        added, vectors, pending, failed = map(int, done.stdout.split())
        assert (added, pending, failed) == (3, 0, 0)
        assert vectors > 0
        again = command("ingest", root, "--json", data=data)
        assert json.loads(again.stdout)["unchanged"] == 3, again.stderr
    finally:
        for folder in (".", "engine", "cache"):
            (data / folder).chmod(0o700)


def test_a_disk_that_cannot_be_written_is_told(small_disk: Path, tmp_path: Path) -> None:
    root = large_corpus(tmp_path / "corpus", 2, words=20)
    data = small_disk / "data"
    assert command("ingest", root, "--no-vectors", data=data).returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused = command("ingest", root, data=data)
    assert refused.returncode == 2
    assert f"{data} cannot be written" in refused.stderr
    assert "Traceback" not in refused.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    again = command("ingest", root, "--no-vectors", "--json", data=data)
    assert json.loads(again.stdout)["unchanged"] == 2, again.stderr


def test_a_removal_waits_for_no_sync_but_names_it(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = large_corpus(tmp_path / "root", 2, words=20)
    quick(empty_graph, embedder, root)
    with sync_lock(empty_graph), pytest.raises(SyncInProgress, match=f"process {os.getpid()}"):
        remove(empty_graph, [root])
    assert len(texts(empty_graph)) == 2
    remove(empty_graph, [root])
    assert texts(empty_graph) == {}
    assert empty_graph.read("MATCH (n) WHERE NOT n:GraphMeta RETURN count(n)").scalar() == 0


def test_a_second_sync_can_wait_for_the_first(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = large_corpus(tmp_path / "root", 2, words=20)
    with sync_lock(empty_graph):
        waiting = threading.Timer(0.1, lambda: done.append(quick(empty_graph, embedder, root, wait_s=20.0)))
        done: list[SyncReport] = []
        waiting.start()
        time.sleep(0.6)
        assert done == []
    waiting.join()
    assert done[0].added == 2


def test_readers_go_on_and_see_whole_documents_while_a_sync_writes(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = large_corpus(tmp_path / "root", 40, words=1_500)
    ever = {path.read_text() for path in root.glob("*.md")}
    stop = threading.Event()
    slowest, wrong = [0.0], []

    def read() -> None:
        while not stop.is_set():
            began = time.perf_counter()
            wrong.extend(path for path, text in texts(empty_graph).items() if text not in ever)
            slowest[0] = max(slowest[0], time.perf_counter() - began)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        quick(empty_graph, embedder, root)
        for path in list(root.glob("*.md"))[:10]:
            path.write_text(path.read_text() + "\nAnd more.\n")
            ever.add(path.read_text())
        quick(empty_graph, embedder, root)
    finally:
        stop.set()
        reader.join()
    assert wrong == []
    assert slowest[0] < 10


def test_two_graphs_of_one_engine_are_synced_at_once(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    other = empty_graph.select(empty_graph.name + "-other")
    one, two = large_corpus(tmp_path / "one", 12, words=300), large_corpus(tmp_path / "two", 9, words=300)
    reports: dict[str, SyncReport] = {}
    threads = [
        threading.Thread(target=lambda g=g, r=r: reports.update({r.name: quick(g, embedder, r)}))
        for g, r in ((empty_graph, one), (other, two))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (reports["one"].added, reports["two"].added) == (12, 9)
    assert (len(texts(empty_graph)), len(texts(other))) == (12, 9)
    other.drop()


def test_a_document_cut_anew_while_it_is_embedded_gets_no_vector_of_its_old_text(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of another size have the same ids: a vector under way must not land on them."""
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\n" + " ".join(f"Sentence {n} stands here." for n in range(200)))
    smaller = DocumentGraph(
        empty_graph.connection,
        empty_graph.settings.model_copy(update={"chunk_tokens": 64}),
        empty_graph.name,
        owns=False,
    )
    mine = load_embedder(empty_graph.settings)
    embed = mine.embed_new_passages

    def interrupted(passages: list[str]) -> object:
        monkeypatch.setattr(mine, "embed_new_passages", embed)
        quick(smaller, embedder, root)  # another process, in the middle of ours
        return embed(passages)

    monkeypatch.setattr(mine, "embed_new_passages", interrupted)
    sync(empty_graph, mine, [root])
    sync(smaller, embedder, [root])
    assert wrong_vectors(smaller, embedder) == []


# Interruption and progress


class Noting(Silent):
    """Remembers stages, and how much of each was done."""

    def __init__(self) -> None:
        self.stages: list[list[object]] = []

    def stage(self, name: str, total: int) -> None:
        self.stages.append([name, total, 0])

    def advance(self, units: int = 1, detail: str = "") -> None:
        self.stages[-1][2] = int(str(self.stages[-1][2])) + units


def test_every_stage_ends_where_it_said_it_would(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = large_corpus(tmp_path / "root", 7, words=200)
    (root / "bad.pdf").write_bytes(b"%PDF-1.7\nno pdf")
    progress = Noting()
    sync(empty_graph, embedder, [root], progress=progress)
    assert [stage[0] for stage in progress.stages] == [
        "Comparing files",
        "Reading documents",
        "Embedding passages",
    ]
    assert all(total == done for _, total, done in progress.stages), progress.stages


def test_a_stop_in_the_middle_of_reading_leaves_the_rest_to_the_next_run(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = large_corpus(tmp_path / "root", 250, words=400)
    stop = threading.Event()

    class Stopping(Noting):
        def advance(self, units: int = 1, detail: str = "") -> None:
            super().advance(units)
            if self.stages[-1][0] == "Reading documents" and self.stages[-1][2] == 120:
                stop.set()

    report = sync(empty_graph, embedder, [root], progress=Stopping(), stop=stop)
    assert report.added + report.left == 250
    assert 100 <= report.added < 250
    assert len(texts(empty_graph)) == report.added
    rest = quick(empty_graph, embedder, root)
    assert (rest.added, rest.unchanged, rest.left) == (report.left, report.added, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_what_is_whole(tmp_path: Path, embedder: Embedder) -> None:
    root = large_corpus(tmp_path / "root", 900, words=600)
    data = tmp_path / "data"
    with DocumentGraph.open(load_settings(data=data)) as graph:
        arguments = ["ingest", str(root), "--data", str(data), "--no-vectors"]
        child = subprocess.Popen(
            [sys.executable, "-c", "from graph_agent.cli import main; main()", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            # A shell starts background jobs with SIGINT ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + 60
        while graph.read("MATCH (:Folder)-[:CONTAINS]->(d:Document) RETURN count(d)").scalar(0) == 0:
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 130, errors
        assert errors.strip() == "Interrupted; what was finished is kept."
        found = texts(graph)
        assert 0 < len(found) < 900
        assert all(text == (root / path).read_text() for path, text in found.items())
        rest = quick(graph, embedder, root)
        assert rest.added == 900 - len(found)
        assert rest.failed == []


# Watching


def test_watching_follows_bursts_of_changes(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\nfirst\n")
    options = SyncOptions(vectors=False)
    stop = threading.Event()
    reports: list[SyncReport] = []
    watcher = threading.Thread(
        target=watch_folders,
        args=(empty_graph, embedder, [root], options, Silent(), reports.append),
        kwargs={"stop": stop},
    )
    watcher.start()
    try:
        _wait(lambda: len(reports) == 1)
        assert reports[0].added == 1
        for number in range(30):
            write(root, f"new{number}.md", f"# New {number}\n\ntext\n")
        _wait(lambda: len(texts(empty_graph)) == 31)
        assert len(reports) <= 3, "a burst is one sync, not thirty"
        (root / "a.md").unlink()
        write(root, "new0.md", "# New 0\n\nedited\n")
        _wait(lambda: "a.md" not in texts(empty_graph) and "edited" in texts(empty_graph)["new0.md"])
        write(root, ".hidden.md", "# Hidden\n")
        (root / "bad.pdf").write_bytes(b"%PDF-1.7\nno pdf")
        _wait(lambda: any(report.failed for report in reports))
        assert len(texts(empty_graph)) == 30
    finally:
        stop.set()
        watcher.join(20)
    assert not watcher.is_alive()


def _wait(condition: object, seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def test_watching_survives_a_root_that_goes_away_and_a_sync_of_another(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\nfirst\n")
    options = SyncOptions(vectors=False)
    stop = threading.Event()
    reports: list[SyncReport] = []
    watcher = threading.Thread(
        target=watch_folders,
        args=(empty_graph, embedder, [root], options, Silent(), reports.append),
        kwargs={"stop": stop},
    )
    watcher.start()
    try:
        _wait(lambda: len(reports) == 1)
        with sync_lock(empty_graph):
            write(root, "b.md", "# B\n\nsecond\n")
            time.sleep(2.5)
        _wait(lambda: "b.md" in texts(empty_graph))
        root.rename(tmp_path / "elsewhere")
        time.sleep(2.5)
        assert len(texts(empty_graph)) == 2, "a root that is gone keeps its documents"
    finally:
        stop.set()
        watcher.join(20)
    assert not watcher.is_alive()
