"""Markdown and text files as documents: what is kept, what is said about them."""

from __future__ import annotations

import pytest

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.text import convert_text


def test_the_file_itself_is_the_markdown() -> None:
    data = "---\r\ntitle: T\r\nlang: de\r\nauthor: {name: x}\r\n---\r\n# Prüfung\r\n\r\n{x} text\x0c\r\n".encode()
    converted = convert_text(data, "a/b.md")
    assert converted.markdown.encode() == data
    assert converted.markdown[converted.body_start :].startswith("# Prüfung")
    assert (converted.media_type, converted.language) == ("text/markdown", "de")
    assert converted.metadata == {"title": "T", "lang": "de"}
    assert converted.warnings == ("front matter: nested values are not kept (author)",)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.md", "text/markdown"), ("a.MARKDOWN", "text/markdown"), ("a.mdx", "text/mdx"), ("a.txt", "text/plain"),
        ("README", "text/plain"), ("dir.md/notes.log", "text/plain"),
    ],
)  # fmt: skip
def test_media_types(name: str, media_type: str) -> None:
    assert convert_text(b"just text\n", name).media_type == media_type


def test_what_was_guessed_or_broken_is_said() -> None:
    assert convert_text("## können\n".encode("latin-1"), "a.md").warnings == (
        "read as cp1252, because it is not UTF-8",
    )
    broken = convert_text(b"---\na: [\n---\nbody", "a.md")
    assert broken.metadata == {}
    assert "front matter is not valid YAML" in broken.warnings[0]
    assert convert_text(b"a\x00b and more text\n", "a.md").warnings == (
        "1 NUL or invalid characters were replaced",
    )


def test_binary_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="binary"):
        convert_text(b"\x00\x01\x02\x03" * 50, "a.md")
