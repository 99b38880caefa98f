"""Documents as people have them, through a whole sync: equal texts, bad files, odd structure, front matter, zips."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from documents.locked_pdf import locked_pdf
from documents.office import docx, p
from folder_cases import command, failures, picture, quick, texts, write
from pydantic import SecretStr

from graph_agent.embeddings import Embedder
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph


def titles(graph: DocumentGraph) -> dict[str, Any]:
    return dict(graph.read("MATCH (d:Document) RETURN d.path, d.title").rows)


def everything(graph: DocumentGraph) -> str:
    return "\n".join(row[0] for row in graph.read("MATCH (c:SectionChunk) RETURN c.text").rows)


# Case 22


@pytest.mark.parametrize("first", ["note.md", "note.docx"])
def test_equal_text_in_markdown_and_word_and_either_may_go(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, first: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "note.docx").write_bytes(docx(p("Salt", "berschrift1") + p("Cover the fish in coarse salt.")))
    assert quick(empty_graph, embedder, root).added == 1
    write(root, "note.md", texts(empty_graph)["note.docx"])
    quick(empty_graph, embedder, root)
    assert empty_graph.read("MATCH (d:Document) RETURN count(d)").scalar() == 2
    assert empty_graph.read("MATCH (s:MarkdownSection) RETURN count(s)").scalar() == 1, "shared, not doubled"
    whole = texts(empty_graph)["note.md"]
    (root / first).unlink()
    quick(empty_graph, embedder, root)
    (other,) = {"note.md", "note.docx"} - {first}
    assert texts(empty_graph) == {other: whole}
    (root / other).unlink()
    write(root, "last.md", "# Last\n\nsomething else\n")
    quick(empty_graph, embedder, root)
    assert "coarse salt" not in everything(empty_graph)
    assert empty_graph.keys.hkeys("postings") == [
        row[0] for row in empty_graph.read("MATCH (d:Document) RETURN d.markdown_hash").rows
    ]


def test_a_moved_file_takes_its_name_and_date_along(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "2023-04-05 minutes.txt", "Nobody came.\n")
    write(root, "dated 2021-01-02.md", "# Heading\n\nbody\n")
    quick(empty_graph, embedder, root)
    (root / "2023-04-05 minutes.txt").rename(root / "report 2024-06-07.txt")
    (root / "dated 2021-01-02.md").rename(root / "undated.md")
    report = quick(empty_graph, embedder, root)
    assert (report.moved, report.added, report.deleted) == (2, 0, 0)
    clean = empty_graph.select(empty_graph.name + "-clean")
    quick(clean, embedder, root)
    assert picture(empty_graph) == picture(clean), "titles, breadcrumbs and dates are those of a clean run"
    clean.drop()
    rows = empty_graph.read("MATCH (d:Document) RETURN d.title, d.date, d.date_source ORDER BY d.title").rows
    assert rows[1] == ["report 2024-06-07", "2024-06-07", "filename"]
    assert (rows[0][0], rows[0][2]) == ("Heading", "file_time")
    crumbs = empty_graph.read("MATCH (s:MarkdownSection) RETURN s.breadcrumb").rows
    assert [["report 2024-06-07"]] in crumbs


def test_a_copy_that_stays_takes_over_the_name(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "a 2020-01-01.txt", "One text in two places.\n")
    shutil.copy(root / "a 2020-01-01.txt", root / "b 2020-02-02.txt")
    quick(empty_graph, embedder, root)
    (root / "a 2020-01-01.txt").unlink()
    quick(empty_graph, embedder, root)
    assert empty_graph.read("MATCH (d:Document) RETURN d.filename, d.title, d.date, d.path").rows == [
        ["b 2020-02-02.txt", "b 2020-02-02", "2020-02-02", "b 2020-02-02.txt"]
    ]


def test_a_touched_file_is_not_read_as_changed(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    path = write(root, "a.md", "# A\n\ntext\n")
    quick(empty_graph, embedder, root)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    report = quick(empty_graph, embedder, root)
    assert (report.changed, report.unchanged) == (0, 1)
    assert empty_graph.read("MATCH (d:Document) RETURN d.date, d.date_source").rows == [
        ["2001-09-09", "file_time"]
    ]
    version = empty_graph.version()
    quick(empty_graph, embedder, root)
    assert empty_graph.version() == version


def test_an_old_file_is_believed_by_size_and_time_and_read_when_either_changes(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_agent.ingest.found import SourceFile

    root = tmp_path / "root"
    path = write(root, "a.md", "# A\n\nold text\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    quick(empty_graph, embedder, root)
    opened: list[str] = []
    read = SourceFile.read
    monkeypatch.setattr(SourceFile, "read", lambda self: (opened.append(self.name), read(self))[1])
    assert quick(empty_graph, embedder, root).unchanged == 1
    assert opened == []
    path.write_text("# A\n\nnew text\n")  # of equal size, at another time
    assert quick(empty_graph, embedder, root).changed == 1
    assert "new text" in everything(empty_graph)
    # Changed just before it was read: the next change may have the same time, so it is read again.
    path.write_text("# A\n\nany text\n")
    quick(empty_graph, embedder, root)
    opened.clear()
    quick(empty_graph, embedder, root)
    assert opened == ["a.md"]


def test_a_new_converter_version_makes_its_documents_anew_and_says_so(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_agent.ingest.convert import versions

    root = tmp_path / "root"
    write(root, "table.csv", "a,b\n1,2\n")
    write(root, "text.md", "# Text\n\nuntouched\n")
    monkeypatch.setitem(versions.VERSIONS, "csv", "csv/0")
    quick(empty_graph, embedder, root)
    empty_graph.write("MATCH (d:Document {filename: 'table.csv'}) SET d.converter = 'csv/0', d.stale = 'x'")
    before = empty_graph.read("MATCH (d:Document {filename: 'text.md'}) RETURN d.ingested_at").scalar()
    monkeypatch.undo()
    report = quick(empty_graph, embedder, root)
    assert report.redone == {f"converted by csv/0, now {versions.VERSIONS['csv']}": 1}
    assert (report.changed, report.unchanged) == (1, 1)
    assert empty_graph.read(
        "MATCH (d:Document {filename: 'table.csv'}) RETURN d.converter, d.stale"
    ).rows == [[versions.VERSIONS["csv"], None]]
    assert (
        empty_graph.read("MATCH (d:Document {filename: 'text.md'}) RETURN d.ingested_at").scalar() == before
    )
    assert quick(empty_graph, embedder, root).redone == {}


def test_a_document_that_can_no_longer_be_made_keeps_what_it_has(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    write(root, "a.csv", "a,b\n1,2\n")
    quick(empty_graph, embedder, root)
    whole = texts(empty_graph)
    empty_graph.write("MATCH (d:Document) SET d.converter = 'csv/0'")
    (root / "a.csv").write_bytes((root / "a.csv").read_bytes())
    monkeypatch.setattr("graph_agent.ingest.preparing.CHILD", "graph_agent.no_such_module")
    report = quick(empty_graph, embedder, root)
    assert "does not start" in failures(report)["a.csv"]
    assert (report.changed, texts(empty_graph)) == (0, whole)


# Case 23


def test_bad_files_are_named_and_the_rest_is_in(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "good.md", "# Good\n\ntext\n")
    write(root, "also.txt", "Also good.\n")
    write(root, "blank.md", "  \n\n")
    (root / "empty.md").write_bytes(b"")
    (root / "corrupt.pdf").write_bytes(b"%PDF-1.7\nno pdf at all")
    write(root, "locked.md", "# Locked\n").chmod(0)
    write(root, "closed/inside.md", "# Inside\n").parent.chmod(0)
    (root / "secret.pdf").write_bytes(locked_pdf("The vault opens at noon", "sesame"))
    try:
        done = command("ingest", root, "--no-vectors", "--json", data=tmp_path / "data")
    finally:
        (root / "closed").chmod(0o700)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    reasons = {Path(failure["path"]).name: failure["reason"] for failure in report["failed"]}
    assert report["added"] == 2
    assert set(reasons) == {"blank.md", "empty.md", "corrupt.pdf", "locked.md", "closed", "secret.pdf"}
    assert "permission" in reasons["locked.md"]
    assert "ermission" in reasons["closed"]
    assert "0 bytes" in reasons["empty.md"]
    assert "blank" in reasons["blank.md"]
    assert "damaged" in reasons["corrupt.pdf"]
    assert "encrypted" in reasons["secret.pdf"]
    assert "GRAPH_AGENT_PASSWORDS" in reasons["secret.pdf"]


def test_a_password_in_the_settings_opens_what_asked_for_it(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "secret.pdf").write_bytes(locked_pdf("The vault opens at noon", "sesame"))
    for passwords, added in (((), 0), (("wrong",), 0), (("wrong", "sesame"), 1)):
        settings: Settings = empty_graph.settings.model_copy(
            update={"passwords": tuple(SecretStr(word) for word in passwords)}
        )
        graph = DocumentGraph(empty_graph.connection, settings, empty_graph.name, owns=False)
        report = quick(graph, embedder, root)
        assert report.added == added, failures(report)
        assert not any(word in str(report.as_json()) for word in passwords)
    assert "The vault opens at noon" in texts(empty_graph)["secret.pdf"]


def test_what_cannot_be_read_any_more_is_kept(tmp_path: Path) -> None:
    root = tmp_path / "root"
    locked = write(root, "a.md", "# A\n\nkept words\n")
    write(root, "sub/b.md", "# B\n\nkept too\n")
    data = tmp_path / "data"
    assert command("ingest", root, "--no-vectors", data=data).returncode == 0
    locked.chmod(0)
    (root / "sub").chmod(0)
    try:
        done = command("ingest", root, "--no-vectors", "--json", data=data)
    finally:
        (root / "sub").chmod(0o700)
    report = json.loads(done.stdout)
    assert (done.returncode, report["deleted"], report["documents"]) == (1, 0, 2)


# Case 24


def test_three_thousand_headings_keep_every_byte(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    levels = [1, 4, 2, 6, 1, 3]
    body = "".join(f"{'#' * levels[n % 6]} Same title\n\nText {n}.\n\n" for n in range(3_000))
    write(tmp_path / "root", "many.md", body)
    report = quick(empty_graph, embedder, tmp_path / "root")
    assert (report.sections, report.failed) == (3_000, [])
    assert texts(empty_graph) == {"many.md": body}


def test_one_section_of_five_megabytes(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    body = "# Huge\n\n" + "".join(f"Sentence number {n} of the one huge section. " for n in range(115_000))
    assert len(body) > 5_000_000
    write(tmp_path / "root", "huge.md", body)
    report = quick(empty_graph, embedder, tmp_path / "root")
    assert report.failed == []
    assert texts(empty_graph) == {"huge.md": body}
    rows = empty_graph.read(
        "MATCH (s:MarkdownSection)-[:HAS_CHUNK]->(c) RETURN count(c), count(DISTINCT c.index), max(c.token_count)"
    ).rows
    assert rows[0][0] == rows[0][1] == report.chunks
    assert rows[0][2] <= 220
    assert quick(empty_graph, embedder, tmp_path / "root").unchanged == 1


def test_odd_line_ends_and_encodings(empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    sources = {
        "crlf.md": b"# One\r\n\r\ntext\r\n\r\n## Two\r\n\r\nmore\r\n",
        "bom.md": "\ufeff# Mark\n\ntext\n".encode(),
        "utf16.md": "# Sixteen\n\ntext\n".encode("utf-16"),
        "latin.md": "# Latin\n\nCaf\u00e9 und \u00dcbel, sehr gew\u00f6hnlich.\n".encode("latin-1"),
        "feed.md": "# Feed\n\na\x0cb\u2028c\n\n## Next\n\nd\n".encode(),
        "setext.md": b"Title\n=====\n\ntext\n\nPart\n----\n\nmore\n",
        "fence.md": b"# Real\n\n```\n# not one\n```\n\n<!--\n# nor this\n-->\n",
        "none.md": b"Only text, no heading at all.\n",
    }
    for name, data in sources.items():
        (root / name).write_bytes(data)
    assert quick(empty_graph, embedder, root).failed == []
    found = texts(empty_graph)
    assert found["crlf.md"] == sources["crlf.md"].decode()
    assert found["feed.md"] == sources["feed.md"].decode()
    assert "Caf\u00e9" in found["latin.md"]
    assert found["utf16.md"] == "# Sixteen\n\ntext\n"
    headings: dict[str, list[str]] = {}
    for path, title in empty_graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s)
        WHERE s.kind = 'heading' RETURN e.path, s.title ORDER BY e.path, s.sequence
        """
    ).rows:
        headings.setdefault(path, []).append(title)
    assert headings == {
        "crlf.md": ["One", "Two"],
        "bom.md": ["Mark"],
        "utf16.md": ["Sixteen"],
        "latin.md": ["Latin"],
        "feed.md": ["Feed", "Next"],
        "setext.md": ["Title", "Part"],
        "fence.md": ["Real"],
    }


# Case 25


def test_front_matter_becomes_properties_and_overwrites_none_of_ours(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    ours = (
        "text: mine\nembedding: [1, 2]\ncontent_hash: x\ntoken_count: -1\npath: /etc/passwd\nenriched: no\n"
    )
    write(
        root,
        "yaml.md",
        f"---\nowner: Ines\nyear: 2024\n{ours}brace: '{{0}} {{name}} %s $x'\n---\n\n# Yaml {{0}}\n\n{{text}}\n",
    )
    write(root, "toml.md", "+++\nowner = 'Otto'\nratio = 0.5\ndraft = true\n+++\n\n# Toml\n\ntext\n")
    write(root, "broken.md", "---\nowner: [never closed\n---\n\n# Broken\n\ntext\n")
    write(
        root,
        "big.md",
        "---\nhuge: 99999999999999999999999999\ndate: 2024-01-02\nwhen: 2023-03-04\nnan: .nan\n---\n\n# Big\n",
    )
    report = quick(empty_graph, embedder, root)
    assert report.failed == []
    found = {
        row[0]: row[1].properties for row in empty_graph.read("MATCH (d:Document) RETURN d.filename, d").rows
    }
    yaml = found["yaml.md"]
    assert (yaml["owner"], yaml["year"], yaml["brace"]) == ("Ines", 2024, "{0} {name} %s $x")
    assert (yaml["path"], yaml["fm_path"], yaml["fm_text"]) == ("yaml.md", "/etc/passwd", "mine")
    assert yaml["token_count"] > 0
    assert "embedding" not in yaml
    assert "enriched" not in yaml
    assert len(yaml["content_hash"]) == 16
    assert (found["toml.md"]["owner"], found["toml.md"]["ratio"], found["toml.md"]["draft"]) == (
        "Otto",
        0.5,
        True,
    )
    assert found["broken.md"]["title"] == "Broken"
    assert (found["big.md"]["date"], found["big.md"]["when"]) == ("2024-01-02", "2023-03-04")


def test_a_property_that_the_author_took_out_is_gone(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    path = write(tmp_path / "root", "a.md", "---\nowner: Ines\n---\n\n# A\n")
    quick(empty_graph, embedder, tmp_path / "root")
    path.write_text("---\nyear: 2024\n---\n\n# A\n")
    quick(empty_graph, embedder, tmp_path / "root")
    assert empty_graph.read("MATCH (d:Document) RETURN d.owner, d.year").rows == [[None, 2024]]


# Case 26


def test_links_loops_odd_names_and_zips(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "a.md", "# A\n\ntext a\n")
    write(root, "sub/line\nbreak.md", "# Line break\n\ntext b\n")
    long = "n" * 252 + ".md"
    write(root, f"sub/{long}", "# Long name\n\ntext c\n")
    (root / "sub/loop").symlink_to(root)
    (root / "again.md").symlink_to(root / "a.md")
    (root / "broken.md").symlink_to(root / "nowhere.md")
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep/in.md", "# In a zip in a zip\n\ntext d\n")
    with zipfile.ZipFile(root / "box.zip", "w") as archive:
        archive.writestr("in.md", "# In a zip\n\ntext e\n")
        archive.writestr("../escape.md", "# Escaped\n")
        archive.writestr("/abs.md", "# Absolute\n")
        archive.writestr("inner.zip", inner.getvalue())
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("in.md", "# In a zip, the second of the name\n\ntext f\n")
    report = quick(empty_graph, embedder, root)
    found = texts(empty_graph)
    assert {
        "a.md",
        "sub/line\nbreak.md",
        f"sub/{long}",
        "box.zip/in.md",
        "box.zip/inner.zip/deep/in.md",
    } <= set(found)
    assert all("escape" not in path.replace("box.zip/", "", 1) or "/../" not in path for path in found)
    assert not (tmp_path / "escape.md").exists()
    assert any("escape" in name or "abs" in name for name in failures(report)) or any(
        "abs.md" in path for path in found
    )
    assert report.skipped["broken link"] == 1
    kinds = dict(empty_graph.read("MATCH (f:Folder) RETURN f.name, f.kind").rows)
    assert (kinds["box.zip"], kinds["inner.zip"], kinds["deep"]) == ("zip", "zip", "folder")
    assert quick(empty_graph, embedder, root).wrote is False
    (root / "box.zip").unlink()
    report = quick(empty_graph, embedder, root)
    assert report.deleted == len([path for path in found if path.startswith("box.zip/")])
    assert not any(path.startswith("box.zip") for path in texts(empty_graph))


def test_a_zip_bomb_is_named_and_the_folder_goes_on(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, "good.md", "# Good\n\ntext\n")
    with zipfile.ZipFile(root / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        block = bytes(50_000_000)
        for number in range(4):
            archive.writestr(f"{number}.txt", block)
    began = time.monotonic()
    report = quick(empty_graph, embedder, root)
    assert time.monotonic() - began < 20
    assert "bomb" in failures(report)["bomb.zip"]
    assert list(texts(empty_graph)) == ["good.md"]


# Roots


def test_a_root_by_any_spelling_is_one_root(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    write(root, "sub/a.md", "# A\n\ntext\n")
    monkeypatch.chdir(root / "sub")
    assert quick(empty_graph, embedder, root, f"{root}/", "..", "../../root/.", root / "sub").added == 1
    for spelling in (f"{root}/", "..", tmp_path / "x" / ".." / "root"):
        report = quick(empty_graph, embedder, spelling)
        assert (report.added, report.unchanged) == (0, 1)
    assert empty_graph.read("MATCH (f:Folder {kind: 'root'}) RETURN count(f)").scalar() == 1
    assert empty_graph.read("MATCH (d:Document) RETURN d.source").scalar() == str(root / "sub/a.md")


def test_one_name_for_two_roots(empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path) -> None:
    write(tmp_path / "x", "a.md", "# One\n\none\n")
    write(tmp_path / "y", "a.md", "# Two\n\ntwo\n")
    quick(empty_graph, embedder, tmp_path / "x", name="Shelf")
    quick(empty_graph, embedder, tmp_path / "y", name="Shelf")
    for _ in range(2):
        assert not quick(empty_graph, embedder, tmp_path / "x", tmp_path / "y", name="Shelf").wrote
    assert empty_graph.read("MATCH (f:Folder {kind: 'root'}) RETURN f.name, f.path ORDER BY f.path").rows == [
        ["Shelf", str(tmp_path / "x")],
        ["Shelf", str(tmp_path / "y")],
    ]
    found = empty_graph.read("MATCH (d:Document) RETURN d.title, d.path, d.source ORDER BY d.title").rows
    assert found == [
        [title, "a.md", str(tmp_path / root / "a.md")] for title, root in (("One", "x"), ("Two", "y"))
    ]


def test_many_roots(empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path) -> None:
    roots = [
        write(tmp_path / f"r{number}" / "docs", "a.md", f"# T{number}\n\n{number}\n").parent
        for number in range(40)
    ]
    assert quick(empty_graph, embedder, *roots).added == 40
    assert quick(empty_graph, embedder, *roots).unchanged == 40
    assert empty_graph.read("MATCH (f:Folder {kind: 'root'}) RETURN count(f)").scalar() == 40


@pytest.mark.skipif(sys.platform == "win32", reason="names of bytes")
def test_a_name_that_is_not_utf8(empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = os.fsencode(root) + b"/caf\xe9.md"
    with open(path, "wb") as stream:
        stream.write(b"# Coffee\n\ntext\n")
    assert quick(empty_graph, embedder, root).failed == []
    assert titles(empty_graph) == {"caf\u00e9.md": "Coffee"}
    assert quick(empty_graph, embedder, root).unchanged == 1
