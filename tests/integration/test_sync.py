"""Sync: the graph follows the folders, whatever happens to files, processes and locks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_agent.embeddings import Embedder, load_embedder
from graph_agent.errors import ConfigurationError, SyncInProgress
from graph_agent.ingest import SyncOptions, SyncReport, preview, reembed, remove, sync
from graph_agent.ingest.report import Silent
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.store.locking import sync_lock


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentGraph]:
    with DocumentGraph.open(load_settings(data=tmp_path_factory.mktemp("sync"))) as graph:
        yield graph


@pytest.fixture
def graph(engine: DocumentGraph, request: pytest.FixtureRequest) -> Iterator[DocumentGraph]:
    chosen = engine.select(request.node.name[:100])
    yield chosen
    chosen.drop()


@pytest.fixture(scope="module")
def embedder(engine: DocumentGraph) -> Embedder:
    return load_embedder(engine.settings)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    write(root, "a.md", "# Anchovies\n\nSmall silver fish.\n\n## Salting\n\nCover them in coarse salt.\n")
    write(
        root, "sub/b.md", "---\ntitle: Bread\nowner: Ines\nyear: 2024\n---\n\n# Bread\n\nFlour and water.\n"
    )
    write(root, "sub/deep/c.txt", "Cider is made of apples.\n")
    return root


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def quick(graph: DocumentGraph, embedder: Embedder, *paths: Path) -> SyncReport:
    return sync(graph, embedder, list(paths), SyncOptions(vectors=False))


def texts(graph: DocumentGraph) -> dict[str, str]:
    """What a reader can reach: place -> all its text, joined in order."""
    rows = graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)
        OPTIONAL MATCH (d)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection)
        WITH e.path AS path, s ORDER BY path, s.sequence
        RETURN path, collect(s.text)
        """
    ).rows
    return {path: "".join(parts) for path, parts in rows}


def picture(graph: DocumentGraph) -> dict[str, Any]:
    """The whole graph in comparable form, times and versions left out."""
    nodes = graph.read("MATCH (n) RETURN labels(n)[0], n").rows
    kept = []
    for label, node in nodes:
        facts = {
            key: value
            for key, value in node.properties.items()
            if key not in {"ingested_at", "graph_version", "embedding", "source"}
            and not (label == "Folder" and key == "path")
        }
        kept.append((label, sorted((key, repr(value)) for key, value in facts.items())))
    edges = graph.read(
        """
        MATCH (a)-[r]->(b)
        RETURN type(r), coalesce(a.folder_id, a.content_hash, a.section_id), r.path,
               coalesce(b.folder_id, b.content_hash, b.section_id, b.chunk_id)
        """
    ).rows
    return {"nodes": sorted(kept), "edges": sorted(map(repr, edges))}


def test_documents_come_in_with_their_structure(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    report = quick(graph, embedder, corpus)
    assert (report.added, report.failed, report.documents) == (3, [], 3)
    assert texts(graph) == {
        "a.md": (corpus / "a.md").read_text(),
        "sub/b.md": "# Bread\n\nFlour and water.\n",
        "sub/deep/c.txt": "Cider is made of apples.\n",
    }
    bread = graph.read("MATCH (d:Document {filename: 'b.md'}) RETURN d").scalar().properties
    assert (bread["title"], bread["owner"], bread["year"], bread["path"]) == (
        "Bread",
        "Ines",
        2024,
        "sub/b.md",
    )
    assert bread["source"] == str(corpus / "sub/b.md")
    sections = graph.read(
        "MATCH (s:MarkdownSection) RETURN s.title, s.level, s.start_line, s.breadcrumb ORDER BY s.title"
    ).rows
    assert ["Salting", 2, 5, ["Anchovies", "Salting"]] in sections
    assert ["Bread", 1, 7, ["Bread"]] in sections, "lines count from the file's first line"
    names = graph.read("MATCH (f:Folder) RETURN f.name, f.kind ORDER BY f.name").rows
    assert names == [["corpus", "root"], ["deep", "folder"], ["sub", "folder"]]


def test_three_syncs_make_one_graph_and_the_later_ones_write_nothing(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    quick(graph, embedder, corpus)
    first, version = picture(graph), graph.version()
    for _ in range(2):
        report = quick(graph, embedder, corpus)
        assert (report.added, report.changed, report.unchanged) == (0, 0, 3)
    assert picture(graph) == first
    assert graph.version() == version


def test_an_edited_paragraph_replaces_the_old_text(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    quick(graph, embedder, corpus)
    untouched = graph.read("MATCH (d:Document {filename: 'b.md'}) RETURN d.ingested_at, id(d)").rows
    write(corpus, "a.md", (corpus / "a.md").read_text().replace("coarse salt", "fine sugar"))
    report = quick(graph, embedder, corpus)
    assert (report.changed, report.unchanged) == (1, 2)
    everything = "".join(row[0] for row in graph.read("MATCH (c:SectionChunk) RETURN c.text").rows)
    assert "fine sugar" in everything
    assert "coarse salt" not in everything
    assert graph.read("MATCH (d:Document {filename: 'b.md'}) RETURN d.ingested_at, id(d)").rows == untouched


def test_deleted_renamed_and_moved_files_are_followed(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    quick(graph, embedder, corpus)
    (corpus / "sub/deep/c.txt").unlink()
    (corpus / "a.md").rename(corpus / "sub/anchovies.md")
    report = quick(graph, embedder, corpus)
    assert (report.deleted, report.moved, report.added) == (1, 1, 0)
    assert sorted(texts(graph)) == ["sub/anchovies.md", "sub/b.md"]
    moved = graph.read("MATCH (d:Document {filename: 'anchovies.md'}) RETURN d.path, d.source").rows
    assert moved == [["sub/anchovies.md", str(corpus / "sub/anchovies.md")]]
    assert graph.read("MATCH (f:Folder {name: 'deep'}) RETURN count(f)").scalar() == 0
    clean = graph.select(graph.name + "-clean")
    quick(clean, embedder, corpus)
    assert picture(graph) == picture(clean)
    clean.drop()


def test_two_files_that_swap_their_contents(graph: DocumentGraph, embedder: Embedder, corpus: Path) -> None:
    quick(graph, embedder, corpus)
    a, b = corpus / "a.md", corpus / "sub/b.md"
    one, other = a.read_text(), b.read_text()
    a.write_text(other)
    b.write_text(one)
    quick(graph, embedder, corpus)
    assert texts(graph)["sub/b.md"] == one
    assert texts(graph)["a.md"] == "# Bread\n\nFlour and water.\n"
    assert len(graph.read("MATCH (:Folder)-[e:CONTAINS]->(:Document) RETURN e").rows) == 3


def test_equal_bytes_in_two_places_are_one_document(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    shutil.copy(corpus / "a.md", corpus / "sub/z.md")
    assert quick(graph, embedder, corpus).added == 4
    assert graph.read("MATCH (d:Document) RETURN count(d)").scalar() == 3
    assert texts(graph)["a.md"] == texts(graph)["sub/z.md"]
    (corpus / "a.md").unlink()
    quick(graph, embedder, corpus)
    assert graph.read("MATCH (d:Document {title: 'Anchovies'}) RETURN d.path, d.filename").rows == [
        ["sub/z.md", "z.md"]
    ]
    assert texts(graph)["sub/z.md"].startswith("# Anchovies")


def test_equal_markdown_from_two_files_shares_sections_and_either_may_go(
    graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "one.md", "# Same\n\nThe same text.\n")
    # Other bytes, equal text once decoded.
    (root / "two.md").write_bytes("# Same\n\nThe same text.\n".encode("utf-16"))
    quick(graph, embedder, root)
    assert graph.read("MATCH (d:Document) RETURN count(d)").scalar() == 2
    assert graph.read("MATCH (s:MarkdownSection) RETURN count(s)").scalar() == 1
    (root / "one.md").unlink()
    quick(graph, embedder, root)
    assert texts(graph) == {"two.md": "# Same\n\nThe same text.\n"}


def test_a_file_that_became_unreadable_loses_its_old_text_and_is_named(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    quick(graph, embedder, corpus)
    (corpus / "a.md").write_bytes(b"\x00\x01\x02\xff" * 400)
    report = quick(graph, embedder, corpus)
    assert [Path(failure.path).name for failure in report.failed] == ["a.md"]
    assert sorted(texts(graph)) == ["sub/b.md", "sub/deep/c.txt"]


def test_one_bad_file_in_a_folder_stops_nothing(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    (corpus / "empty.md").write_bytes(b"")
    write(corpus, "blank.md", "  \n\n")
    (corpus / "corrupt.pdf").write_bytes(b"%PDF-1.7\nno pdf at all")
    report = quick(graph, embedder, corpus)
    assert report.added == 3
    assert sorted(Path(failure.path).name for failure in report.failed) == [
        "blank.md",
        "corrupt.pdf",
        "empty.md",
    ]
    assert all(failure.reason for failure in report.failed)


def test_an_empty_root_keeps_its_documents(graph: DocumentGraph, embedder: Embedder, corpus: Path) -> None:
    """An unmounted disk looks like an empty folder."""
    quick(graph, embedder, corpus)
    kept = corpus.rename(corpus.with_name("elsewhere"))
    corpus.mkdir()
    report = quick(graph, embedder, corpus)
    assert report.deleted == 0
    assert "remove" in report.failed[0].reason
    assert len(texts(graph)) == 3
    corpus.rmdir()
    report = quick(graph, embedder, corpus)
    assert report.deleted == 0
    assert len(texts(graph)) == 3
    kept.rename(corpus)
    assert quick(graph, embedder, corpus).unchanged == 3


def test_roots_of_one_name_are_told_apart(graph: DocumentGraph, embedder: Embedder, tmp_path: Path) -> None:
    write(tmp_path / "x/docs", "a.md", "# One\n\none\n")
    write(tmp_path / "y/docs", "a.md", "# Two\n\ntwo\n")
    quick(graph, embedder, tmp_path / "x/docs")
    quick(graph, embedder, tmp_path / "y/docs")
    assert graph.read("MATCH (f:Folder {kind: 'root'}) RETURN count(f)").scalar() == 2
    (tmp_path / "x/docs/a.md").unlink()
    write(tmp_path / "x/docs", "b.md", "# Three\n\nthree\n")
    quick(graph, embedder, tmp_path / "x/docs")
    assert graph.read("MATCH (d:Document) RETURN d.title ORDER BY d.title").rows == [["Three"], ["Two"]]


def test_removal_takes_a_folder_out_and_leaves_the_rest(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    quick(graph, embedder, corpus)
    assert remove(graph, [corpus / "sub"]).deleted == 2
    assert list(texts(graph)) == ["a.md"]
    with pytest.raises(ConfigurationError, match="No documents are known"):
        remove(graph, [corpus / "sub"])


def test_a_missing_and_an_empty_folder_are_named(
    graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="no-such"):
        quick(graph, embedder, tmp_path / "no-such")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="no documents"):
        quick(graph, embedder, tmp_path / "empty")


def test_another_chunk_size_cuts_everything_again(
    graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "long.md", "# Long\n\n" + " ".join(f"Sentence number {i} stands here." for i in range(200)))
    before = quick(graph, embedder, root).chunks
    smaller = DocumentGraph(
        graph.connection, graph.settings.model_copy(update={"chunk_tokens": 64}), graph.name, owns=False
    )
    report = sync(smaller, embedder, [root], SyncOptions(vectors=False))
    assert report.changed == 1
    assert graph.read("MATCH (c:SectionChunk) RETURN count(c), max(c.token_count)").rows[0][0] > before
    assert graph.read("MATCH (c:SectionChunk) RETURN max(c.token_count)").scalar() <= 64


def test_vectors_are_set_once_and_a_second_run_goes_on(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    quick(graph, embedder, corpus)
    report = sync(graph, embedder, [corpus])
    assert report.vectors == graph.read("MATCH (c:SectionChunk) RETURN count(c)").scalar()
    assert sync(graph, embedder, [corpus]).vectors == 0
    found = graph.read(
        "CALL db.idx.vector.queryNodes('SectionChunk', 'embedding', 1, vecf32($v)) YIELD node RETURN node.text",
        {"v": [float(x) for x in embedder.embed_query("apple drink")]},
    ).scalar()
    assert found == "Cider is made of apples.\n" or "Cider" in found


def test_embedding_again_resumes(graph: DocumentGraph, embedder: Embedder, corpus: Path) -> None:
    sync(graph, embedder, [corpus])
    assert reembed(graph, embedder).vectors == 0, "the same model: nothing to do"
    graph.write("MATCH (m:GraphMeta) SET m.embedding_model = 'another'")
    with pytest.raises(ConfigurationError, match="reembed"):
        quick(graph, embedder, corpus)
    assert reembed(graph, embedder).vectors > 0
    assert quick(graph, embedder, corpus).unchanged == 3


def test_a_preview_writes_nothing(graph: DocumentGraph, embedder: Embedder, corpus: Path) -> None:
    (corpus / "blank.bin").write_bytes(bytes(range(256)))
    plan = preview(graph, embedder, [corpus], SyncOptions(), Silent())
    assert [line.split() for line in plan.lines()] == [
        ["new", "a.md"],
        ["new", "sub/b.md"],
        ["new", "sub/deep/c.txt"],
        [
            "unreadable",
            str(corpus / "blank.bin") + ":",
            *["not", "a", "document:", "unknown", "binary", "content", "(.bin)."],
        ],
    ]
    assert not graph.exists()


def test_two_syncs_at_once_the_second_names_the_first(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    with sync_lock(graph), pytest.raises(SyncInProgress, match=f"process {os.getpid()}"):
        quick(graph, embedder, corpus)
    assert quick(graph, embedder, corpus).added == 3


def test_a_foreign_graph_is_not_written_into(graph: DocumentGraph, embedder: Embedder, corpus: Path) -> None:
    graph.write("CREATE (:Movie {title: 'Heat'})")
    with pytest.raises(ConfigurationError, match="Movie"):
        quick(graph, embedder, corpus)
    assert graph.read("MATCH (n) RETURN count(n)").scalar() == 1


def links(graph: DocumentGraph) -> list[list[str]]:
    return graph.read(
        """
        MATCH (s:MarkdownSection)-[l:LINKS_TO]->(t)
        RETURN s.title, l.text, labels(t)[0], t.title ORDER BY s.title, l.text
        """
    ).rows


def test_links_follow_their_targets(graph: DocumentGraph, embedder: Embedder, corpus: Path) -> None:
    write(
        corpus,
        "index.md",
        "# Index\n\n[salting](a.md#salting), [bread](sub/b.md), [[Cellar]], `[code](a.md)`\n",
    )
    quick(graph, embedder, corpus)
    found = [["Index", "bread", "Document", "Bread"], ["Index", "salting", "MarkdownSection", "Salting"]]
    assert links(graph) == found
    write(corpus, "cellar.md", "# Cellar\n\ndark\n")
    quick(graph, embedder, corpus)
    assert links(graph) == [["Index", "Cellar", "Document", "Cellar"], *found]
    (corpus / "sub/b.md").unlink()
    quick(graph, embedder, corpus)
    assert [row[1] for row in links(graph)] == ["Cellar", "salting"]
    (corpus / "a.md").write_text((corpus / "a.md").read_text().replace("## Salting", "## Brining"))
    quick(graph, embedder, corpus)
    assert links(graph)[1] == ["Index", "salting", "Document", "Anchovies"], (
        "the heading is gone, the document is not"
    )


def labels(graph: DocumentGraph) -> list[list[str]]:
    return graph.read(
        "MATCH (d:Document)-[r:LABELLED]->(l:Label) RETURN d.filename, l.facet, l.value, r.source ORDER BY d.filename"
    ).rows


CLASSIFY = """
[facets.food]
question = "What is it?"
default = "drink"
[facets.food.values.fish]
description = "From the sea."
paths = ["a.*"]
[facets.food.values.bakery]
match = { title = "Bread" }
[facets.food.values.drink]
"""


def test_labels_follow_the_classification_without_embedding_again(
    graph: DocumentGraph, embedder: Embedder, corpus: Path
) -> None:
    sync(graph, embedder, [corpus])
    write(corpus, "classify.toml", CLASSIFY)
    plan = preview(graph, embedder, [corpus], SyncOptions(), Silent())
    assert plan.lines() == ["relabelled a.md", "relabelled sub/b.md", "relabelled sub/deep/c.txt"]
    report = sync(graph, embedder, [corpus])
    assert (report.relabelled, report.changed, report.vectors) == (3, 0, 0)
    expected = [
        ["a.md", "food", "fish", "path"], ["b.md", "food", "bakery", "front_matter"], ["c.txt", "food", "drink", "default"]
    ]  # fmt: skip
    assert labels(graph) == expected
    assert graph.read("MATCH (l:Label {value: 'fish'}) RETURN l.description, l.question").rows == [
        ["From the sea.", "What is it?"]
    ]
    version = graph.version()
    assert sync(graph, embedder, [corpus]).relabelled == 0
    assert graph.version() == version
    write(corpus, "classify.toml", CLASSIFY.replace("default", "defualt"))
    report = sync(graph, embedder, [corpus])
    assert "classify.toml:4" in report.failed[0].reason
    assert labels(graph) == expected, "a fault in the file leaves the old labels"
    write(corpus, "classify.toml", CLASSIFY.replace('paths = ["a.*"]', 'paths = ["sub/**"]'))
    assert sync(graph, embedder, [corpus]).relabelled == 3
    assert [row[2] for row in labels(graph)] == ["drink", "fish", "fish"]
    (corpus / "classify.toml").unlink()
    sync(graph, embedder, [corpus])
    assert labels(graph) == []
    assert graph.read("MATCH (l:Label) RETURN count(l)").scalar() == 0
