"""Finding files: what is taken, what is counted, what is named; zips, links, limits."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import pytest

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.discover import discover
from graph_agent.ingest.found import Discovery
from graph_agent.ingest.ignore import matches, parse, verdict


def put(root: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 10)), content, compression)
    return buffer.getvalue()


def paths(found: Discovery) -> list[str]:
    return [file.relative_path for file in found.files]


def reasons(found: Discovery) -> dict[str, str]:
    return {failure.relative_path: failure.reason for failure in found.failures}


def test_takes_documents_in_a_fixed_order_and_counts_the_rest(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "b.md": "b", "a/z.txt": "z", "a.md": "a", "a/b/c.pdf": "%PDF-1.4", "README": "hello",
            ".hidden.md": "h", ".git/x.md": "h", "~$report.docx": "lock", "node_modules/p/readme.md": "n",
            "__pycache__/x.md": "n", "photo.png": "p", "script.py": "print()", "classify.toml": "[facets]",
            "draft.md~": "old", "Makefile": "all:", "notes.wiki": "text of an unknown ending",
        },
    )  # fmt: skip
    found = discover([tmp_path])
    assert paths(found) == ["README", "a/b/c.pdf", "a/z.txt", "a.md", "b.md", "notes.wiki"]
    assert found.failures == []
    assert found.skipped == {
        "hidden": 2,
        "lock file": 1,
        "generated folder (node_modules and the like)": 2,
        "not a document: .png": 1,
        "not a document: .py": 1,
        "configuration": 1,
        "temporary or backup file": 1,
        "not a document: build file": 1,
    }
    deep = found.files[1]
    assert (deep.root, deep.root_name, deep.folders, deep.name) == (
        tmp_path,
        tmp_path.name,
        ("a", "b"),
        "c.pdf",
    )
    assert deep.path == f"{tmp_path}/a/b/c.pdf"
    assert deep.size == 8
    assert deep.mtime == pytest.approx((tmp_path / "a/b/c.pdf").stat().st_mtime)
    assert deep.read() == b"%PDF-1.4"
    assert not deep.inside_zip


def test_binary_without_a_known_ending_is_named(tmp_path: Path) -> None:
    put(tmp_path, {"data.bin": bytes(range(256)) * 4, "blob": bytes(range(256)) * 4})
    found = discover([tmp_path])
    assert paths(found) == []
    assert reasons(found) == {
        "blob": "not a document: unknown binary content (no ending).",
        "data.bin": "not a document: unknown binary content (.bin).",
    }


def test_ignore_files_and_globs(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            ".gitignore": "build/\n*.log\n!keep.log\n/top.md\n", "build/x.md": "x", "a.log": "x", "keep.log": "x",
            "top.md": "x", "sub/top.md": "x", "sub/.graphagentignore": "secret*\n# comment\n", "sub/secret.md": "x",
            "sub/open.md": "x", "other/secret.md": "x",
        },
    )  # fmt: skip
    found = discover([tmp_path])
    assert paths(found) == ["keep.log", "other/secret.md", "sub/open.md", "sub/top.md"]
    assert found.skipped["ignored by .gitignore"] == 3
    assert found.skipped["ignored by .graphagentignore"] == 1
    assert paths(discover([tmp_path], exclude=["sub", "*.log"])) == ["other/secret.md"]
    assert paths(discover([tmp_path], include=["sub/**"])) == ["sub/open.md", "sub/top.md"]
    only = discover([tmp_path], include=["*.log"])
    assert paths(only) == ["keep.log"]
    assert only.skipped["not included"] == 3


@pytest.mark.parametrize(
    ("pattern", "path", "folder", "expected"),
    [
        ("*.md", "a/b/c.md", False, True),
        ("/*.md", "a/c.md", False, None),
        ("a/*.md", "a/c.md", False, True),
        ("a/*.md", "a/b/c.md", False, None),
        ("a/**/c.md", "a/c.md", False, True),
        ("a/**/c.md", "a/x/y/c.md", False, True),
        ("**/c.md", "c.md", False, True),
        ("a/**", "a/x/y", False, True),
        ("a/**", "a", True, None),
        ("build/", "build", False, None),
        ("build/", "x/build", True, True),
        ("!x.md", "x.md", False, False),
        ("[ab].md", "a.md", False, True),
        ("[!ab].md", "a.md", False, None),
        ("[!ab].md", "c.md", False, True),
        ("[.md", "[.md", False, True),
        (r"\#x", "#x", False, True),
        (r"a\ ", "a ", False, True),
        ("a?c", "a/c", False, None),
        ("# comment", "# comment", False, None),
    ],
)  # fmt: skip
def test_patterns_mean_what_git_says(pattern: str, path: str, folder: bool, expected: bool | None) -> None:
    assert verdict(parse([pattern]), path, folder=folder) is expected


def test_a_folder_glob_means_what_is_below_it() -> None:
    assert matches(parse(["reports"]), "x/reports/2024/a.pdf")
    assert not matches(parse(["reports"]), "x/report/a.pdf")


def test_missing_and_empty_roots_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = discover([tmp_path / "gone", tmp_path / "empty"])
    gone, empty = found.roots
    assert not gone.reachable
    assert "No such file" in gone.reason
    assert empty.reachable
    assert empty.empty
    assert [(failure.path, failure.is_folder) for failure in found.failures] == [
        (str(tmp_path / "gone"), True)
    ]


def test_a_single_file_is_a_root_of_its_own_kind(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a", "b.md": "b", "odd.py": "print()"})
    found = discover([tmp_path / "a.md"])
    assert paths(found) == ["a.md"]
    assert (found.roots[0].kind, found.roots[0].path, found.roots[0].single) == ("file", tmp_path, "a.md")
    assert paths(discover([tmp_path / "odd.py"])) == ["odd.py"]  # named by hand: taken
    both = discover([tmp_path, tmp_path / "b.md"])
    assert paths(both) == ["a.md", "b.md"]
    assert both.skipped["inside another named folder"] == 1


def test_links_do_not_loop_and_are_read_once(tmp_path: Path) -> None:
    root = put(tmp_path / "root", {"a/x.md": "x"})
    outside = put(tmp_path / "outside", {"y.md": "y"})
    (root / "a/up").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    (root / "out1").symlink_to(outside)
    (root / "out2").symlink_to(outside)
    (outside / "back").symlink_to(outside)
    (root / "z.md").symlink_to(outside / "y.md")
    (root / "dangling.md").symlink_to(tmp_path / "nothing")
    found = discover([root])
    assert paths(found) == ["a/x.md", "out1/y.md", "z.md"]
    assert found.skipped["link to a folder that is read anyway"] == 3
    assert found.skipped["broken link"] == 2


def test_special_files_and_large_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    put(tmp_path, {"big.txt": b"x" * (1 << 20) + b"y"})
    found = discover([tmp_path], max_file_mb=1)
    assert paths(found) == []
    assert found.skipped == {"special file (socket, pipe, device)": 1}
    assert "larger than the limit: 1.0 MB (limit 1 MB" in reasons(found)["big.txt"]


def test_unreadable_files_and_folders_are_named() -> None:
    """As another user when this one is root, who may read everything."""
    folder = Path(tempfile.mkdtemp())
    user = os.geteuid()
    try:
        put(folder, {"a.md": "a", "locked.md": "x", "closed/b.md": "b", "locked": "x"})
        discover([folder])  # whatever is imported late is imported now
        for path in (folder / "closed", folder / "locked.md", folder / "locked"):
            path.chmod(0)
        folder.chmod(0o755)
        if user == 0:
            os.seteuid(65_534)
        try:
            found = discover([folder])
            root = discover([folder / "closed"]).roots[0]
        finally:
            os.seteuid(user)
        assert paths(found) == ["a.md"]
        assert reasons(found) == {
            "closed": "folder cannot be listed: Permission denied.",
            "locked": "no permission to read it.",
            "locked.md": "no permission to read it.",
        }
        assert [failure.relative_path for failure in found.failures if failure.is_folder] == ["closed"]
        assert not root.reachable
    finally:
        (folder / "closed").chmod(0o700)
        shutil.rmtree(folder)


def test_a_file_that_goes_away_is_an_unreadable_file(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a"})
    found = discover([tmp_path])
    (tmp_path / "a.md").unlink()
    with pytest.raises(UnreadableFile, match="No such file"):
        found.files[0].read()


def test_names_that_are_not_utf8_or_hold_anything(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))).write_text("x")
    put(tmp_path, {"two\nlines.md": "y", "n" * 252 + ".md": "z"})
    found = discover([tmp_path])
    assert paths(found) == ["café.md", "n" * 252 + ".md", "two\nlines.md"]
    assert [file.read() for file in found.files] == [b"x", b"z", b"y"]
    for file in found.files:
        file.path.encode("utf-8")


# zips ----------------------------------------------------------------------------------------------


def test_zips_are_folders_also_inside_zips(tmp_path: Path) -> None:
    level4 = zipped({"deep.md": b"4"})
    level3 = zipped({"level4.zip": level4, "c.md": b"3"})
    level2 = zipped({"level3.zip": level3, "b.md": b"2"})
    put(
        tmp_path,
        {"x/top.zip": zipped({"level2.zip": level2, "d/a.md": b"1", ".hidden.md": b"h", "p.png": b"x"})},
    )
    found = discover([tmp_path])
    assert paths(found) == [
        "x/top.zip/d/a.md",
        "x/top.zip/level2.zip/b.md",
        "x/top.zip/level2.zip/level3.zip/c.md",
    ]
    assert [file.read() for file in found.files] == [b"1", b"2", b"3"]
    assert found.files[0].inside_zip
    assert found.files[0].mtime == 1714979290.0  # 2024-05-06 07:08:10 UTC
    assert reasons(found) == {
        "x/top.zip/level2.zip/level3.zip/level4.zip": "zip nested deeper than 3 levels is not opened."
    }
    found.close()
    assert found.files[2].read() == b"3"  # opened again
    found.close()
    alone = discover([tmp_path / "x/top.zip"])
    assert alone.roots[0].kind == "zip"
    assert paths(alone)[0] == "d/a.md"


def test_zip_names_that_reach_outside_are_refused(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "z.zip": zipped(
                {
                    "../evil.md": b"x",
                    "/etc/evil.md": b"x",
                    "C:\\evil.md": b"x",
                    "a/../../b.md": b"x",
                    "ok.md": b"1",
                }
            )
        },
    )
    found = discover([tmp_path])
    assert paths(found) == ["z.zip/ok.md"]
    assert len(found.failures) == 4
    assert all("refused" in failure.reason for failure in found.failures)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_zip_names_twice_odd_and_links(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("same.md", b"old")
        archive.writestr("same.md", b"new")
        archive.writestr("new\nline.md", b"n")
        archive.writestr("m" * 252 + ".md", b"m")
        link = zipfile.ZipInfo("link.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr(zipfile.ZipInfo("\0"), b"a name of nothing")
    put(tmp_path, {"z.zip": buffer.getvalue()})
    found = discover([tmp_path])
    by_path = {file.relative_path: file.read() for file in found.files}
    assert by_path["z.zip/same.md"] == b"new"
    assert by_path["z.zip/new\nline.md"] == b"n"
    assert by_path["z.zip/" + "m" * 252 + ".md"] == b"m"
    assert found.skipped["same name twice in a zip"] == 1
    assert "link" in reasons(found)["z.zip/link.md"]


def test_cp437_names_that_are_utf8_are_read_as_utf8(tmp_path: Path) -> None:
    raw = zipped({"cafXX.md": b"c"}).replace(b"cafXX.md", "café.md".encode())
    put(tmp_path, {"z.zip": raw})
    assert paths(discover([tmp_path])) == ["z.zip/café.md"]
    raw = zipped({"cafX.md": b"c"}).replace(b"cafX.md", b"caf\x82.md")  # é in cp437
    put(tmp_path, {"z.zip": raw})
    assert paths(discover([tmp_path])) == ["z.zip/café.md"]


def test_zip_bombs_are_refused_by_declared_size(tmp_path: Path) -> None:
    put(tmp_path, {"bomb.zip": zipped({"zeros.txt": bytes(80 << 20), "a.md": b"x"})})
    found = discover([tmp_path])
    assert paths(found) == []
    assert "refused as a bomb" in reasons(found)["bomb.zip"]


def test_a_dense_member_is_refused_and_the_others_are_taken(tmp_path: Path) -> None:
    noise = os.urandom(400_000)
    put(tmp_path, {"mixed.zip": zipped({"zeros.txt": bytes(20 << 20), "a.md": b"x", "noise.txt": noise})})
    found = discover([tmp_path])
    assert "mixed.zip/a.md" in paths(found)
    assert "bomb" in reasons(found)["mixed.zip/zeros.txt"]


def test_a_member_that_lies_about_its_size_is_damaged_not_huge(tmp_path: Path) -> None:
    raw = bytearray(zipped({"a.md": b"y" * 5_000_000}))
    size = (5_000_000).to_bytes(4, "little")
    while (at := raw.find(size)) >= 0:
        raw[at : at + 4] = (100).to_bytes(4, "little")
    put(tmp_path, {"z.zip": bytes(raw)})
    found = discover([tmp_path])
    with pytest.raises(UnreadableFile, match=r"damaged|refused"):
        found.files[0].read()


def test_damaged_and_encrypted_zips_are_named(tmp_path: Path) -> None:
    raw = bytearray(zipped({"a.md": b"x" * 100}, zipfile.ZIP_STORED))
    broken = bytearray(raw)
    for at in (6, raw.find(b"PK\x01\x02") + 8):  # general purpose flag, bit 0: encrypted
        raw[at] |= 1
    broken[60] ^= 0xFF
    put(tmp_path, {"cut.zip": b"PK\x03\x04 cut off", "locked.zip": bytes(raw), "crc.zip": bytes(broken)})
    found = discover([tmp_path])
    assert "damaged zip" in reasons(found)["cut.zip"]
    assert "encrypted" in reasons(found)["locked.zip/a.md"]
    with pytest.raises(UnreadableFile, match="damaged inside the zip"):
        found.files[0].read()


def test_an_office_file_named_zip_is_a_document(tmp_path: Path) -> None:
    put(tmp_path, {"report.zip": zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"})})
    assert paths(discover([tmp_path])) == ["report.zip"]
    assert paths(discover([tmp_path / "report.zip"])) == ["report.zip"]


def test_globs_reach_into_zips(tmp_path: Path) -> None:
    put(tmp_path, {"z.zip": zipped({"a/x.md": b"1", "b/y.md": b"2", "b/z.py": b"3"})})
    assert paths(discover([tmp_path], exclude=["z.zip/a"])) == ["z.zip/b/y.md"]
    assert paths(discover([tmp_path], include=["*.py"])) == ["z.zip/b/z.py"]
