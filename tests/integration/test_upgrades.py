"""Graphs and data folders of other versions, and files of the engine that are damaged: clear words, nothing lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from folder_cases import command, picture, write

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.ingest import sync
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.store.maintenance import compact
from graph_agent.store.queries.schema import SCHEMA_VERSION
from graph_agent.store.schema import drop_vector_index, has_vector_index, read_meta

# What a program of schema 1 left: no word of who wrote it, nor of what a sync still owes.
BACK_TO_SCHEMA_1 = """
MATCH (m:GraphMeta) SET m.schema_version = 1, m.written_by = NULL, m.unsettled = NULL, m.untidy = NULL
"""


def test_a_graph_of_schema_1_is_brought_forward(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "corpus"
    write(root, "a.md", "# A\n\nsee [b](b.md)\n")
    write(root, "b.md", "# B\n\ntext\n")
    sync(empty_graph, embedder, [root])
    before = {entry for entry in picture(empty_graph) if not entry.startswith("GraphMeta")}
    empty_graph.write(BACK_TO_SCHEMA_1)
    # Its sync was killed before it made links and the vector index, and it could not say so.
    drop_vector_index(empty_graph)
    empty_graph.write("MATCH ()-[l:LINKS_TO]->() DELETE l")
    report = sync(empty_graph, embedder, [root])
    assert (report.added, report.changed, report.unchanged) == (0, 0, 2)
    meta = read_meta(empty_graph)
    assert meta is not None
    assert meta.schema_version == SCHEMA_VERSION
    assert meta.written_by
    assert has_vector_index(empty_graph)
    assert {entry for entry in picture(empty_graph) if not entry.startswith("GraphMeta")} == before
    owed = empty_graph.read("MATCH (m:GraphMeta) RETURN m.unsettled, m.untidy").rows
    assert owed == [[False, False]]


def test_a_newer_graph_is_refused_with_the_version_it_takes(tmp_path: Path) -> None:
    settings = load_settings(data=tmp_path / "data", falkordb_url="", model="")
    with DocumentGraph.open(settings) as graph:
        graph.write("CREATE (:GraphMeta {schema_version: 99, written_by: '7.5.3'})")
        with pytest.raises(ConfigurationError, match=r"schema version 99.*7\.5\.3 or newer"):
            DocumentGraph.open(settings)
        DocumentGraph.open(settings, name="another").close()
    done = command("status", data=tmp_path / "data")
    assert done.returncode == 2
    assert "7.5.3" in done.stderr


def test_a_newer_data_folder_is_refused(tmp_path: Path) -> None:
    settings = load_settings(data=tmp_path / "data", falkordb_url="", model="")
    with DocumentGraph.open(settings) as graph:
        graph.write("CREATE (:N)")
    file = tmp_path / "data" / "engine" / "format.json"
    facts = json.loads(file.read_text())
    assert facts["format"] == 1
    assert "Redis" in facts["engine"]
    file.write_text(json.dumps({**facts, "format": 2, "written_by": "7.5.3"}))
    with pytest.raises(ConfigurationError, match=r"format 2.*7\.5\.3"):
        DocumentGraph.open(settings)
    file.write_text(json.dumps(facts))
    with DocumentGraph.open(settings) as graph:
        assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 1


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of an engine that was stopped: a base file and changes after it."""
    data = tmp_path_factory.mktemp("stopped") / "data"
    with DocumentGraph.open(load_settings(data=data, falkordb_url="", model="")) as graph:
        graph.write("UNWIND range(1, 50) AS i CREATE (:N {i: i, text: 'abc'})")
        compact(graph.connection)
        graph.write("UNWIND range(51, 60) AS i CREATE (:N {i: i})")
        graph.write("CREATE (:N {i: 61})")
    return data


def changed(pattern: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def run(files: Path) -> None:
        file = next(files.glob(pattern))
        file.write_bytes(change(file.read_bytes()))

    return run


def gone(pattern: str) -> Callable[[Path], None]:
    return lambda files: next(files.glob(pattern)).unlink()


def test_a_tail_that_a_crash_cut_costs_the_last_write_only(stopped: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(stopped, tmp_path / "data"))
    changed("*.incr.aof", lambda data: data[:-7])(data / "engine" / "appendonlydir")
    with DocumentGraph.open(load_settings(data=data, falkordb_url="", model="")) as graph:
        assert graph.read("MATCH (n:N) RETURN count(n), max(n.i)").rows == [[60, 60]]
        graph.write("CREATE (:N {i: 61})")
    assert "short read while loading the AOF file" in (data / "engine" / "engine.log").read_text()
    with DocumentGraph.open(load_settings(data=data, falkordb_url="", model="")) as graph:
        assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 61


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (changed("*.base.rdb", lambda data: data.replace(b"REDIS0012", b"REDIS0099")), "written by a newer engine"),
        (changed("*.base.rdb", lambda data: data[: len(data) // 2]), "damaged or cut short"),
        (gone("*.base.rdb"), "is missing"),
        (changed("*.incr.aof", lambda data: data[:60] + b"XXXXXXXX" + data[68:]), "append-only file is damaged"),
        (changed("*.manifest", lambda _: b"garbage\n"), "manifest is damaged"),
        (gone("*.manifest"), "would start empty"),
    ],
    ids=["newer", "base cut", "base gone", "changes damaged", "manifest damaged", "manifest gone"],
)  # fmt: skip
def test_files_that_the_engine_cannot_load_are_told_and_kept(
    damage: Callable[[Path], None], says: str, stopped: Path, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(stopped, tmp_path / "data"))
    files = data / "engine" / "appendonlydir"
    whole = {path.name: path.read_bytes() for path in files.iterdir()}
    damage(files)
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    settings = load_settings(data=data, falkordb_url="", model="")
    with pytest.raises(EngineUnavailable, match=says) as caught:
        DocumentGraph.open(settings)
    assert caught.value.exit_code == 3
    assert caught.value.fix
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before
    for name, content in whole.items():  # what was damaged is put right: everything is there
        (files / name).write_bytes(content)
    with DocumentGraph.open(settings) as graph:
        assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 61
