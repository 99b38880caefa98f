"""Processes and engines killed at random moments of a sync: nothing half visible, nothing lost, vectors whole."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from folder_cases import edit_at_random, not_found_by_index, picture, quick, texts, write, wrong_vectors

from graph_agent.embeddings import Embedder
from graph_agent.errors import EngineUnavailable
from graph_agent.ingest import sync
from graph_agent.ingest.writing import Writer
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.store.schema import wait_for_indexes

ROUNDS = 200 if os.environ.get("GRAPH_AGENT_SOAK") else 12
SIXTH = "".join(f"# H{i}\n\ntext {i}\n\n" for i in range(20))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    for number in range(6):
        write(root, f"doc{number}.md", SIXTH.replace("text", f"text {number}"))
    return root


def every_text(root: Path) -> set[str]:
    return {path.read_text() for path in root.glob("*.md")}


def is_what_a_clean_run_makes(graph: DocumentGraph, embedder: Embedder, root: Path) -> None:
    clean = graph.select("clean")
    quick(clean, embedder, root)
    assert picture(graph) == picture(clean)
    clean.drop()
    assert wrong_vectors(graph, embedder) == []
    wait_for_indexes(graph)
    assert not_found_by_index(graph, embedder) == []


@pytest.mark.soak
@pytest.mark.timeout(6_000)
def test_the_syncing_process_killed_at_any_moment(embedder: Embedder, tmp_path: Path, corpus: Path) -> None:
    rng = random.Random(20)
    data = tmp_path / "data"
    program = textwrap.dedent(f"""
        from graph_agent.settings import load_settings
        from graph_agent.store import DocumentGraph
        from graph_agent.embeddings import load_embedder
        from graph_agent.ingest import sync, SyncOptions
        settings = load_settings(data={str(data)!r})
        with DocumentGraph.open(settings) as graph:
            print("ready", flush=True)
            sync(graph, load_embedder(settings), [{str(corpus)!r}], SyncOptions(wait_s=60))
    """)
    with DocumentGraph.open(load_settings(data=data)) as graph:
        ever = every_text(corpus)
        for number in range(ROUNDS):
            edit_at_random(corpus, rng)
            ever |= every_text(corpus)
            victim = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
            assert victim.stdout is not None
            victim.stdout.readline()
            deadline = time.monotonic() + rng.choice([0.1, 0.5, 2.0]) * rng.random()
            while time.monotonic() < deadline:
                for name, text in texts(graph).items():
                    assert text in ever, f"round {number}: {name} is half there"
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            for name, text in texts(graph).items():
                assert text in ever, f"round {number}: {name} is half there"
        print(f"{ROUNDS} syncing processes killed")
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        is_what_a_clean_run_makes(graph, embedder, corpus)


@pytest.mark.soak
@pytest.mark.timeout(6_000)
def test_the_engine_killed_at_any_moment(
    embedder: Embedder, tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(21)
    acknowledged: set[tuple[str, str]] = set()

    def noting(self: Writer, documents: Any) -> Any:
        result = whole(self, documents)
        acknowledged.update((source.path, source.content_hash) for source, _ in documents)
        return result

    whole = Writer.write
    monkeypatch.setattr(Writer, "write", noting)
    hits, usual = 0, 0.5  # seconds that a sync takes, as the last whole one told
    with DocumentGraph.open(load_settings(data=tmp_path / "data")) as graph:
        lease = graph.connection.lease
        assert lease is not None
        ever = every_text(corpus)
        for number in range(ROUNDS):
            for _ in range(3):
                edit_at_random(corpus, rng)
            ever |= every_text(corpus)
            acknowledged.clear()
            process = lease.process_id() or 0
            assert process > 0
            killer = threading.Timer(usual * rng.random(), _kill, (process,))
            killer.start()
            began = time.monotonic()
            with contextlib.suppress(EngineUnavailable):
                sync(graph, embedder, [corpus])
                if killer.is_alive():
                    usual = time.monotonic() - began
            hits += not killer.is_alive()
            killer.cancel()
            killer.join()
            _wait_for_engine(graph)
            present = {
                tuple(row)
                for row in graph.read(
                    "MATCH (:Folder)-[e:CONTAINS]->(d:Document) RETURN e.path, d.content_hash"
                ).rows
            }
            assert acknowledged <= present, f"round {number}: an acknowledged document is lost"
            for name, text in texts(graph).items():
                assert text in ever, f"round {number}: {name} is half there"
        sync(graph, embedder, [corpus])
        print(f"{hits} of {ROUNDS} kills hit a sync at work")
        assert hits >= ROUNDS // 3, "the engine was seldom hit during a sync"
        is_what_a_clean_run_makes(graph, embedder, corpus)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _wait_for_engine(graph: DocumentGraph) -> None:
    """More than five kills a minute and its watchdog gives up; the next call starts another."""
    deadline = time.monotonic() + 60
    while True:
        try:
            graph.version()
            return
        except EngineUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.2)
