"""Anything may stand in a name, a zip or front matter: no crash, nothing outside, and all of it can be stored."""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
import zipfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent.embeddings import local_tokenizer
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.registry import convert
from graph_agent.ingest.discover import discover
from graph_agent.ingest.plan import Source
from graph_agent.ingest.rows import CHUNKER, Cutting, Origin, prepare
from graph_agent.ingest.wordpieces import WordPieces
from graph_agent.ingest.writing import folder_rows
from graph_agent.store.values import parameter_header

CUTTING = Cutting(64, 8, f"{CHUNKER}/64/8")
TOKENS = WordPieces(local_tokenizer())
patient = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

NAMES = st.one_of(
    st.sampled_from(
        [
            "a.md",
            "../a.md",
            "/etc/passwd.md",
            "C:\\x.md",
            "a/../../b.md",
            "./././c.md",
            "sub//d.md",
            "e.md/",
            "..",
            ".",
            "n" * 300 + ".md",
            "line\nbreak.md",
            "\u202egnp.md",
            "café.md",
            "café.md",
            "~/x.md",
            "con.md",
            "a.zip/b.md",
        ]
    ),
    st.text(min_size=1, max_size=40),
)
CONTENTS = st.one_of(st.just(b"# T\n\ntext\n"), st.binary(max_size=60))


def is_inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and not {"", ".", ".."} & set(path.split("/"))


@patient
@given(st.lists(st.tuples(NAMES, CONTENTS), max_size=8))
def test_no_member_of_a_zip_leads_outside(members: list[tuple[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "box.zip"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with zipfile.ZipFile(place, "w") as archive:
                for name, data in members:
                    try:
                        archive.writestr(zipfile.ZipInfo(name), data)
                    except (UnicodeEncodeError, ValueError):
                        continue
        check(Path(folder))
        check(place)


@patient
@given(st.binary(max_size=400), st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06"]))
def test_a_zip_of_random_bytes_is_named(data: bytes, head: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "box.zip"
        place.write_bytes(head + data)
        check(Path(folder))
        check(place)


@patient
@given(st.integers(0, 400), st.integers(0, 255))
def test_a_zip_with_one_byte_changed_is_read_or_named(position: int, value: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", "# A\n\n" + "text " * 40)
        archive.writestr("sub/b.md", "# B\n")
    data = bytearray(buffer.getvalue())
    data[position % len(data)] = value
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "box.zip"
        place.write_bytes(data)
        check(Path(folder))


def check(place: Path) -> None:
    """Discover a place, read all that was found, and make the rows of its folders."""
    found = discover([place])
    for file in found.files:
        assert is_inside(file.relative_path)
        source = Source(file, "key", "root", "0" * 16)
        parameter_header({"folders": folder_rows(source), "path": source.path, "source": file.path}, None)
        with contextlib.suppress(UnreadableFile):  # its message is required by the class itself
            assert isinstance(file.read(), bytes)
    for failure in found.failures:
        assert failure.reason
        failure.path.encode("utf-8")
    found.close()


# Without control characters but one: many of them make a file binary, which is another case.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r\x85")
YAML = st.one_of(
    st.text(CHARACTERS, max_size=80),
    st.dictionaries(
        st.text(CHARACTERS, min_size=1, max_size=12), st.text(CHARACTERS, max_size=20), max_size=5
    ).map(
        lambda pairs: "\n".join(f"{key}: {value}" for key, value in pairs.items())
    ),
    st.sampled_from(
        [
            "a: &a [*a, *a]", "a: !!python/object/apply:os.system ['true']", "a: 1e999", "a: -.inf", "a: 0x" + "f" * 40,
            "text: x\nembedding: y\nid: z", "? [a, b]\n: c", "a: {b: {c: {d: e}}}", "- list\n- only", "a: 2024-02-30",
            "date: 9999-99-99", "title: [1, 2]", "a: |\n  " + "x" * 5_000, "\t: tab", "a: 'unclosed", "a: b: c",
        ]
    ),
)  # fmt: skip


@patient
@given(YAML, st.sampled_from(["---", "+++"]), st.text(CHARACTERS, max_size=60))
def test_any_front_matter_gives_properties_that_can_be_stored(yaml: str, fence: str, body: str) -> None:
    data = f"{fence}\n{yaml}\n{fence}\n\n# Title\n\n{body}\n".encode("utf-8", "replace")
    document = prepare(convert(data, "a.md"), Origin("sub/a.md", "/root/sub/a.md", 1.7e9), CUTTING, TOKENS)
    header = parameter_header({"properties": document.properties, "sections": document.sections}, None)
    assert header
    for name in ("path", "filename", "markdown_hash"):
        assert isinstance(document.properties[name], str)
    assert document.properties["path"] == "sub/a.md"
    assert "embedding" not in document.properties
    assert "text" not in document.properties
