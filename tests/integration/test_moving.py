"""Backup, restore and copy: the same graph again, vectors included, while others read and write; never half."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import stat
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folder_cases import command, picture, write
from servers import Server

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, SyncInProgress
from graph_agent.ingest import sync
from graph_agent.ingest.report import Silent
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph, moving
from graph_agent.store.archive import MANIFEST, seal
from graph_agent.store.locking import LOCK, sync_lock
from graph_agent.store.schema import indexes, read_meta
from graph_agent.store.snapshots import snapshot
from graph_agent.tools import ToolContext, call_tool

# Every type that a property may have; the dates of a foreign graph are the engine's own.
EVERY_TYPE = """
CREATE (a:Thing:`Other label` {name: 'quote " \\\\ and \n line', n: 9007199254740993, f: 0.1, yes: true, list: [1, 'x', 2.5, false],
        empty: [], day: date('2024-02-29'), moment: localdatetime('2024-02-29T12:13:14'), hour: localtime('01:02:03'),
        span: duration('P1Y3M1DT2H'), where: point({latitude: 1.5, longitude: -2.5}), v: vecf32([0.1, -1e-7, 3]),
        numbers: [0.5, 0.25]})
       -[:`KNOWS OF` {since: date('2001-01-01'), weight: 0.5, tags: ['a', 'b'], e: vecf32([1, 2])}]->
       (b:Thing {name: 'second', v: vecf32([1, 2, 3, 4])})-[:SELF]->(b), (:Lonely), ({of: 'no label'})
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    write(
        root,
        "a.md",
        "---\ntitle: First\nrank: 3\nshare: 0.25\ndone: true\ntags: [red, blue]\n---\n# A\n\nrefunds [b](b.md)\n",
    )
    write(root, "b.md", "# B\n\n## Part\n\n" + "shipping of goods. " * 300)
    write(root, "sub/copy.md", (root / "a.md").read_text())
    write(
        root, "classify.toml", '[facets.kind]\nquestion = "?"\n[facets.kind.values.note]\npaths = ["a.*"]\n'
    )
    return root


@pytest.fixture
def documents(empty_graph: DocumentGraph, embedder: Embedder, corpus: Path) -> DocumentGraph:
    sync(empty_graph, embedder, [corpus])
    # As labels come from several sources, set one by hand, too.
    empty_graph.write(
        "MATCH (d:Document) WITH d LIMIT 1 CREATE (d)-[:LABELLED {source: 'rule', confidence: 0.5}]->"
        "(:Label {facet: 'kind', value: 'note', description: 'short'})"
    )
    return empty_graph


@pytest.fixture
def other(engine: DocumentGraph) -> Iterator[DocumentGraph]:
    graph = engine.select("moved")
    yield graph
    graph.drop()
    graph.keys.delete("postings", "vectors", "last-sync", "skeleton")


def vectors(graph: DocumentGraph) -> dict[str, Any]:
    rows = graph.read("MATCH (c:SectionChunk) RETURN c.chunk_id, c.embedding").rows
    return {name: np.asarray(vector, dtype=np.float32) for name, vector in rows}


def edge_properties(graph: DocumentGraph) -> list[str]:
    rows = graph.read("MATCH (a)-[e]->(b) RETURN labels(a), type(e), labels(b), properties(e)").rows
    return sorted(map(repr, rows))


def comparable(value: Any) -> Any:
    """Labels and properties in an order of their own."""
    if isinstance(value, dict):
        return {key: repr(item) for key, item in value.items()}
    return sorted(value) if isinstance(value, list) else repr(value)


def is_the_same(one: DocumentGraph, two: DocumentGraph) -> None:
    assert picture(one) - picture(two) == set()
    assert picture(two) - picture(one) == set()
    assert edge_properties(one) == edge_properties(two)
    ours, theirs = vectors(one), vectors(two)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_backup_restores_to_the_same_graph(
    documents: DocumentGraph, other: DocumentGraph, embedder: Embedder, tmp_path: Path, corpus: Path
) -> None:
    file = tmp_path / "b.zip"
    made = moving.backup(documents, file, Silent(), files=False)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    restored = moving.restore(other, file, Silent(), files=False)
    assert restored.nodes == made.nodes
    assert restored.edges == made.edges
    assert made.nodes["Document"] == 2
    assert made.edges["CONTAINS"] == 4, "three places and a folder"
    assert {"HAS_SECTION", "HAS_CHUNK", "LINKS_TO", "LABELLED"} <= made.edges.keys()
    is_the_same(documents, other)
    front = other.read("MATCH (d:Document {title: 'First'}) RETURN d.rank, d.share, d.done, d.tags").rows[0]
    assert front[:3] == [3, 0.25, True]
    assert {(row["label"], *sorted(row["types"])) for row in indexes(documents)} == {
        (row["label"], *sorted(row["types"])) for row in indexes(other)
    }
    constraints = "CALL db.constraints() YIELD label, properties RETURN label, properties"
    assert sorted(map(repr, documents.read(constraints).rows)) == sorted(
        map(repr, other.read(constraints).rows)
    )
    found = call_tool(ToolContext.open(other, other.settings), "search_sections", {"query": "refunds"})
    assert "refunds" in found.artifact["sections"][0]["text"]
    again = sync(other, embedder, [corpus])
    assert (again.added, again.changed, again.deleted, again.vectors, again.failed) == (0, 0, 0, 0, [])
    assert not [name for name in documents.connection.command("GRAPH.LIST") if b"~" in name]


def test_every_type_of_property_and_any_label_travels(
    engine: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    source = engine.select("every-type")
    source.write(EVERY_TYPE)
    moving.backup(source, tmp_path / "b.zip", Silent(), files=False)
    moving.restore(other, tmp_path / "b.zip", Silent(), files=False)
    question = (
        "MATCH (n) OPTIONAL MATCH (n)-[e]->(m) RETURN labels(n), properties(n), type(e), properties(e), m.name, "
        "[k IN keys(n) | k + ' ' + typeOf(n[k])], [k IN keys(e) | k + ' ' + typeOf(e[k])] "
        "ORDER BY n.name, n.of, size(labels(n))"
    )
    before, after = source.read(question).rows, other.read(question).rows
    assert [list(map(comparable, row)) for row in before] == [list(map(comparable, row)) for row in after]
    assert len(after) == 4
    source.drop()


def test_a_backup_is_of_one_moment_and_readers_and_writers_go_on(
    empty_graph: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    """Each write keeps `n` pairs joined and says so in one step: a copy made in between would not add up."""
    empty_graph.write("CREATE (:GraphMeta {schema_version: 2, graph_version: 0})")
    empty_graph.write("UNWIND range(1, 20000) AS i CREATE (:Filler {i: i, text: 'x' + toString(i)})")
    step = """
    MATCH (m:GraphMeta) SET m.graph_version = m.graph_version + 1
    WITH m MATCH (m) CREATE (:One {i: m.graph_version})-[:PAIR {i: m.graph_version}]->(:Two {i: m.graph_version})
    """
    stop = threading.Event()
    reads: list[float] = []

    def writer() -> None:
        while not stop.is_set():
            empty_graph.write(step)

    def reader() -> None:
        while not stop.is_set():
            began = time.perf_counter()
            empty_graph.read("MATCH (n:Filler {i: 7}) RETURN n.text")
            reads.append(time.perf_counter() - began)

    threads = [threading.Thread(target=writer), threading.Thread(target=reader)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.3)
        before = empty_graph.version()
        moving.backup(empty_graph, tmp_path / "b.zip", Silent(), files=False)
        after = empty_graph.version()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert before < after, "the writer went on"
    assert len(reads) > 50
    assert max(reads) < 5
    manifest = json.loads(zipfile.ZipFile(tmp_path / "b.zip").read(MANIFEST))
    version = manifest["graph_version"]
    assert before <= version <= after
    counts = {name: group["count"] for name, group in manifest["content"]["nodes"].items()}
    assert (counts["One"], counts["Two"], manifest["content"]["edges"]["PAIR"]["count"]) == (version,) * 3
    other.write("CREATE (:GraphMeta {schema_version: 2, graph_version: 7})")
    moving.restore(other, tmp_path / "b.zip", Silent(), files=False, replace=True)
    assert (
        other.read("MATCH (o:One)-[p:PAIR]->(t:Two) WHERE o.i = p.i AND p.i = t.i RETURN count(p)").scalar()
        == version
    )
    assert other.version() > version, "readers must see that it is another graph"


def test_readers_see_the_old_graph_or_the_new_one(
    documents: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    moving.backup(documents, tmp_path / "b.zip", Silent(), files=False)
    whole = documents.read("MATCH (n) RETURN count(n)").scalar()
    other.write("UNWIND range(1, 5) AS i CREATE (:Document {i: i})")
    with pytest.raises(ConfigurationError, match="not empty"):
        moving.restore(other, tmp_path / "b.zip", Silent(), files=False)
    stop = threading.Event()
    seen: set[int] = set()

    def reader() -> None:
        while not stop.is_set():
            seen.add(other.read("MATCH (n) RETURN count(n)").scalar())

    thread = threading.Thread(target=reader)
    thread.start()
    try:
        moving.restore(other, tmp_path / "b.zip", Silent(), files=False, replace=True)
        time.sleep(0.2)
    finally:
        stop.set()
        thread.join()
    assert seen == {5, whole}


def rewrite(
    file: Path, change: Callable[[str, bytes], bytes | None], add: dict[str, bytes] | None = None
) -> None:
    """The archive with entries changed (None: left out)."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in {**entries, **(add or {})}.items():
            if (changed := change(name, data)) is not None:
                archive.writestr(name, changed)


def damage(kind: str, file: Path) -> None:
    data = bytearray(file.read_bytes())
    if kind == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif kind == "cut at the end":
        file.write_bytes(data[:-10])
    elif kind == "bytes turned":
        for position in range(len(data) // 3, len(data) // 3 + 40):
            data[position] ^= 0xFF
        file.write_bytes(data)
    elif kind == "empty":
        file.write_bytes(b"")
    elif kind == "another zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("hello.txt", "hello")
    elif kind == "an entry edited":
        rewrite(
            file, lambda name, data: data.replace(b"refunds", b"REFUNDS") if name.endswith(".nodes") else data
        )
    elif kind == "an entry gone":
        rewrite(file, lambda name, data: None if name.endswith(".edges") else data)
    elif kind == "an entry more":
        rewrite(file, lambda _, data: data, {"graph/999999.nodes": b"{}"})
    elif kind == "the manifest edited":
        rewrite(
            file, lambda name, data: data.replace(b'"count": 2', b'"count": 3') if name == MANIFEST else data
        )


KINDS = ["cut", "cut at the end", "bytes turned", "empty", "another zip", "an entry edited", "an entry gone",
         "an entry more", "the manifest edited"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_backup_is_named_and_changes_nothing(
    kind: str, documents: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    file = tmp_path / "b.zip"
    moving.backup(documents, file, Silent(), files=False)
    damage(kind, file)
    other.write("CREATE (:Before)")
    with pytest.raises(ConfigurationError, match=r"b\.zip is not usable") as caught:
        moving.restore(other, file, Silent(), replace=True)
    assert caught.value.exit_code == 2
    assert other.read("MATCH (n) RETURN labels(n)").rows == [[["Before"]]]
    assert not [name for name in other.connection.command("GRAPH.LIST") if b"~" in name]


def test_a_newer_backup_is_refused_with_the_version_it_takes(
    documents: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    def newer(name: str, data: bytes) -> bytes:
        if name != MANIFEST:
            return data
        manifest = json.loads(data)
        del manifest["sha256"]
        manifest |= {"schema_version": 99, "schema_written_by": "9.8.7"}
        return json.dumps({**manifest, "sha256": seal(manifest)}).encode()

    moving.backup(documents, tmp_path / "b.zip", Silent(), files=False)
    rewrite(tmp_path / "b.zip", newer)
    with pytest.raises(ConfigurationError, match=r"schema version 99.*9\.8\.7"):
        moving.restore(other, tmp_path / "b.zip", Silent(), files=False)
    assert not other.exists()


def test_an_interrupted_backup_leaves_no_file(documents: DocumentGraph, tmp_path: Path) -> None:
    class Interrupting(Silent):
        def advance(self, units: int = 1, detail: str = "") -> None:
            if units > 1:
                raise KeyboardInterrupt

    (tmp_path / "folder").mkdir()
    with pytest.raises(KeyboardInterrupt):
        moving.backup(documents, tmp_path / "folder" / "b.zip", Interrupting(), files=False)
    assert list((tmp_path / "folder").iterdir()) == []
    assert not [name for name in documents.connection.command("GRAPH.LIST") if b"~" in name]


def test_a_restore_waits_for_no_sync_but_names_it(
    documents: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    moving.backup(documents, tmp_path / "b.zip", Silent(), files=False)
    with sync_lock(other, name=LOCK), pytest.raises(SyncInProgress):
        moving.restore(other, tmp_path / "b.zip", Silent(), files=False)
    moving.restore(other, tmp_path / "b.zip", Silent(), files=False)


def test_a_second_backup_names_the_first(documents: DocumentGraph, tmp_path: Path) -> None:
    with (
        snapshot(documents),
        pytest.raises(SyncInProgress, match="A backup or copy of this graph is running"),
    ):
        moving.backup(documents, tmp_path / "b.zip", Silent(), files=False)
    assert not (tmp_path / "b.zip").exists()


def test_a_backup_survives_a_kill_of_the_engine_in_its_middle(
    documents: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    """Reads are repeated on the engine that comes back, with the snapshot as it was."""
    lease = documents.connection.lease
    assert lease is not None

    class Killing(Silent):
        killed = False

        def advance(self, units: int = 1, detail: str = "") -> None:
            if units > 1 and not self.killed:
                self.killed = True
                os.kill(lease.process_id() or 0, signal.SIGKILL)

    progress = Killing()
    moving.backup(documents, tmp_path / "b.zip", progress, files=False)
    assert progress.killed
    moving.restore(other, tmp_path / "b.zip", Silent(), files=False)
    is_the_same(documents, other)


def test_a_copy_to_a_server_is_the_same(documents: DocumentGraph, tmp_path: Path) -> None:
    with (
        Server(tmp_path / "server") as server,
        DocumentGraph.open(
            load_settings(data=tmp_path / "data", falkordb_url=server.url), name="there"
        ) as target,
    ):
        moved = moving.copy(documents, target, Silent())
        assert moved.nodes["Document"] == 2
        is_the_same(documents, target)
        meta = read_meta(target)
        assert meta is not None
        assert meta.embedding_model
        with pytest.raises(ConfigurationError, match="not empty"):
            moving.copy(documents, target, Silent())
        moving.copy(documents, target, Silent(), replace=True)
        is_the_same(documents, target)
        with pytest.raises(SyncInProgress), sync_lock(target, name=LOCK):
            moving.copy(documents, target, Silent(), replace=True)
        # and back
        back = documents.select("moved-back")
        with contextlib.ExitStack() as undo:
            undo.callback(back.drop)
            moving.copy(target, back, Silent())
            is_the_same(target, back)


def test_copying_in_random_parts_loses_no_edge(engine: DocumentGraph, other: DocumentGraph) -> None:
    """More nodes than one step, with holes where some were deleted, and edges in all directions."""
    rng = random.Random(5)
    source = engine.select("holes")
    source.write("UNWIND range(0, 3499) AS i CREATE (:N {i: i})")
    source.write("CREATE INDEX FOR (n:N) ON (n.i)")
    pairs = [[rng.randrange(3_500), rng.randrange(3_500), n] for n in range(5_000)]
    source.write(
        "UNWIND $pairs AS p MATCH (a:N {i: p[0]}), (b:N {i: p[1]}) CREATE (a)-[:E {n: p[2]}]->(b)",
        {"pairs": pairs},
    )
    source.write("MATCH (n:N) WHERE n.i % 7 = 3 DELETE n")
    moving.copy(source, other, Silent())
    question = "MATCH (a)-[e:E]->(b) RETURN a.i, e.n, b.i ORDER BY e.n"
    assert source.read(question).rows == other.read(question).rows
    assert (
        source.read("MATCH (n) RETURN count(n), sum(n.i)").rows
        == other.read("MATCH (n) RETURN count(n), sum(n.i)").rows
    )
    source.drop()


# The command line


def test_the_commands_take_conversations_and_uploads_along(tmp_path: Path, corpus: Path) -> None:
    data, fresh, file = tmp_path / "data", tmp_path / "fresh", tmp_path / "b.zip"
    assert command("ingest", corpus, "--no-vectors", "--json", data=data).returncode == 0
    (data / "uploads" / "ann").mkdir(parents=True)
    (data / "uploads" / "ann" / "ünï.md").write_text("# Mine\n")
    with contextlib.closing(sqlite3.connect(data / "chats.sqlite")) as chats:
        chats.execute("PRAGMA journal_mode=WAL")
        chats.execute("CREATE TABLE t (x)")
        chats.execute("INSERT INTO t VALUES ('said')")
        chats.commit()
        made = command("backup", file, "--json", data=data)  # while the chat has its database open
    assert made.returncode == 0, made.stderr
    facts = json.loads(made.stdout)
    assert facts["nodes"]["Document"] == 2
    assert set(facts["files"]) == {"chats.sqlite", "uploads/ann/ünï.md"}
    again = command("backup", file, data=data)
    assert (again.returncode, "--overwrite" in again.stderr) == (2, True)
    restored = command("restore", file, "--json", data=fresh)
    assert restored.returncode == 0, restored.stderr
    assert json.loads(restored.stdout)["nodes"] == facts["nodes"]
    assert (fresh / "uploads" / "ann" / "ünï.md").read_text() == "# Mine\n"
    with contextlib.closing(sqlite3.connect(fresh / "chats.sqlite")) as chats:
        assert chats.execute("SELECT x FROM t").fetchall() == [("said",)]
    full = command("restore", file, data=fresh)
    assert full.returncode == 2
    assert "--replace" in full.stderr
    assert "Traceback" not in full.stderr
    (fresh / "uploads" / "ann" / "ünï.md").write_text("# Newer\n")
    assert command("restore", file, "--replace", "--no-files", data=fresh).returncode == 0
    assert (fresh / "uploads" / "ann" / "ünï.md").read_text() == "# Newer\n"
    search = command("search", "shipping", "--mode", "bm25", "--json", data=fresh)
    assert search.returncode == 0, search.stderr
    with Server(tmp_path / "server") as server:
        copied = command("copy", "--to", server.url, data=fresh)
        assert copied.returncode == 0, copied.stderr
        assert (
            command("search", "shipping", "--mode", "bm25", "--url", server.url, data=fresh).returncode == 0
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["backup", "missing-folder/b.zip"], "no graph"),
        (["restore", "nowhere.zip"], "nowhere.zip cannot be read"),
        (["copy", "--to", "http://example.org"], "not an address"),
        (["copy", "--to", "falkor://127.0.0.1:9"], "does not answer"),
    ],
)
def test_mistakes_are_named(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = command(*arguments, data=tmp_path / "data")
    assert done.returncode in (2, 3)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_answers_that_were_paid_for_are_taken_along(
    documents: DocumentGraph, other: DocumentGraph, tmp_path: Path
) -> None:
    copied = other.select("moved-copy")
    graphs = (documents, other, copied)
    documents.keys.hset("enrichments", {"a": b'{"description": "one"}', "b": b"\x00two"})
    try:
        moving.backup(documents, tmp_path / "b.zip", Silent(), files=False)
        moving.restore(other, tmp_path / "b.zip", Silent(), files=False)
        moving.copy(documents, copied, Silent())
        for graph in graphs:
            assert graph.keys.hmget("enrichments", ["a", "b"]) == [b'{"description": "one"}', b"\x00two"]
    finally:
        for graph in graphs:
            graph.keys.delete("enrichments")
        copied.drop()
