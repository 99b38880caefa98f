"""Uploaded files: names are never paths, content decides, sizes are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_agent.errors import BadArgument
from graph_agent.ui.uploads import MAX_NAME_BYTES, receive, removable, safe_name, uploads_folder

MEGABYTE = 1_048_576


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    """Where the web server puts files, each in a folder of its own."""
    folder = tmp_path / "staging"
    folder.mkdir()
    return folder


def staged(staging: Path, name: str, data: bytes) -> Path:
    folder = staging / f"{len(list(staging.iterdir()))}"
    folder.mkdir()
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("report.md", "report.md"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\win.ini", "win.ini"),
        ("/etc/cron.d/x.md", "x.md"),
        ("a:b*c?.md", "a b c.md"),
        (".htaccess", "htaccess"),
        ("name\nwith\tcontrols\x00.md", "namewithcontrols.md"),
        ("invoice\u202egpj.md", "invoicegpj.md"),
        ("  spaces  .md ", "spaces.md"),
        ("Käse.md", "Käse.md"),
        ("ends with dots...", "ends with dots"),
        ("a." + "x" * 40, "a." + "x" * 40),
        ("Minutes of 3.4. and what came of them.md", "Minutes of 3.4. and what came of them.md"),
        ("Version 2.final as sent to the board", "Version 2.final as sent to the board"),
    ],
)
def test_names(given: str, safe: str) -> None:
    assert safe_name(given) == safe


def test_long_names_keep_their_ending() -> None:
    name = safe_name("ä" * 300 + ".md")
    assert name.endswith("ä.md")
    assert len(name.encode()) <= MAX_NAME_BYTES


@pytest.mark.parametrize("name", ["", "...", "/", "\x00", ".."])
def test_names_of_which_nothing_is_left(name: str) -> None:
    with pytest.raises(BadArgument, match="not usable"):
        safe_name(name)


def test_documents_are_kept_and_others_refused_by_content(staging: Path, tmp_path: Path) -> None:
    files = [
        staged(staging, "good.md", b"# Good\n\nText.\n"),
        staged(staging, "picture.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8),
        staged(staging, "program.pdf", b"\x7fELF" + bytes(2_000)),
        staged(staging, "empty.txt", b""),
        staged(staging, "paper.bin", b"%PDF-1.7\n" + b"x" * 2_000),
        staged(staging, "large.md", b"x" * 3_000),
    ]
    result = receive(files, tmp_path / "uploads", staging, max_bytes=2_500)
    assert [path.name for path in result.kept] == ["good.md", "paper.bin"]
    assert {refusal.name: refusal.reason.split()[0] for refusal in result.refused} == {
        "picture.md": "it", "program.pdf": "it", "empty.txt": "it", "large.md": "it"}  # fmt: skip
    assert list(staging.iterdir()) == []
    assert (tmp_path / "uploads").stat().st_mode & 0o077 == 0


def test_equal_names_in_one_upload_are_two_files_and_later_ones_replace(
    staging: Path, tmp_path: Path
) -> None:
    uploads = tmp_path / "uploads"
    receive(
        [staged(staging, "a.md", b"one"), staged(staging, "A.md", b"two")],
        uploads,
        staging,
        max_bytes=MEGABYTE,
    )
    assert {path.name: path.read_bytes() for path in uploads.iterdir()} == {
        "a.md": b"one",
        "A (2).md": b"two",
    }
    receive([staged(staging, "a.md", b"new")], uploads, staging, max_bytes=MEGABYTE)
    assert (uploads / "a.md").read_bytes() == b"new"


def test_nothing_is_taken_from_elsewhere(staging: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("secret", encoding="utf-8")
    folder = staging / "x"
    folder.mkdir()
    link = folder / "link.md"
    link.symlink_to(outside)
    result = receive([outside, link, staging / "gone.md"], tmp_path / "uploads", staging, max_bytes=MEGABYTE)
    assert result.kept == []
    assert len(result.refused) == 3
    assert outside.exists()


def test_only_uploaded_files_are_deleted(tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    own = uploads / "a.md"
    own.write_text("x", encoding="utf-8")
    other = tmp_path / "b.md"
    other.write_text("x", encoding="utf-8")
    assert removable(str(own), uploads) == own
    for source in (
        str(other),
        str(uploads / ".." / "b.md"),
        str(uploads),
        str(uploads / "z.zip" / "in.md"),
        "",
        "\x00",
    ):
        assert removable(source, uploads) is None


def test_each_user_has_a_folder(tmp_path: Path) -> None:
    assert uploads_folder(tmp_path, "") == tmp_path
    assert uploads_folder(tmp_path, "ada") == tmp_path / "ada"


def test_users_never_share_a_folder(tmp_path: Path) -> None:
    users = [
        "bob",
        "bob.",
        "Bob",
        "bob-",
        "BOB",
        "anna.von-hohenlohe-langenburg",
        "a@b.c",
        "..",
        "a/b",
        "con",
    ]
    folders = [uploads_folder(tmp_path, user) for user in users]
    users.append(folders[1].name)
    folders.append(uploads_folder(tmp_path, users[-1]))
    assert all(folder.parent == tmp_path and folder.name not in {"", ".", ".."} for folder in folders)
    assert len({folder.name.casefold().rstrip(". ") for folder in folders}) == len(users)
    assert uploads_folder(tmp_path, "anna.von-hohenlohe-langenburg").name == "anna.von-hohenlohe-langenburg"


def test_one_bad_name_does_not_lose_the_others(staging: Path, tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    (uploads / "folder.md").mkdir(parents=True)
    files = [
        staged(staging, "first.md", b"one"),
        staged(staging, "...", b"two"),
        staged(staging, "folder.md", b"three"),
        staged(staging, "last.md", b"four"),
    ]
    result = receive(files, uploads, staging, max_bytes=MEGABYTE)
    assert [path.name for path in result.kept] == ["first.md", "last.md"]
    assert ["not usable" in one.reason for one in result.refused] == [True, False]
    assert list((uploads / "folder.md").iterdir()) == []
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    failed = receive([staged(staging, "a.md", b"x")], blocked / "below", staging, max_bytes=MEGABYTE)
    assert "could not be kept" in failed.refused[0].reason
