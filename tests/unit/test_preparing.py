"""Files to documents in processes that can be killed: the same result as here, and no file stops the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_agent.embeddings import local_tokenizer
from graph_agent.errors import UnreadableFile
from graph_agent.ingest import preparing
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.found import SourceFile
from graph_agent.ingest.identity import hash_bytes
from graph_agent.ingest.plan import Source
from graph_agent.ingest.preparing import Preparer, children_for
from graph_agent.ingest.reading import read_documents
from graph_agent.ingest.rows import CHUNKER, Cutting, Origin, Prepared
from graph_agent.ingest.wordpieces import WordPieces

CUTTING = Cutting(64, 8, f"{CHUNKER}/64/8")
TEXT = (
    "---\ntitle: Caf\u00e9\n---\n\n# One\n\n"
    + "Words of a paragraph stand here. " * 60
    + "\n\n## Two\n\n|a|b|\n|-|-|\n|1|2|\n"
).encode()


def preparer(children: int, timeout_s: float = 20.0) -> Preparer:
    return Preparer(Limits(timeout_s=timeout_s), CUTTING, WordPieces(local_tokenizer()), children=children)


def origin(name: str = "sub/a.md") -> Origin:
    return Origin(name, f"/root/{name}", 1_700_000_000.0)


@pytest.fixture(scope="module")
def shared() -> Iterator[Preparer]:
    with preparer(1) as one:
        yield one


def comparable(document: Prepared) -> Prepared:
    document.properties.pop("ingested_at")
    return document


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", TEXT),
        ("b.txt", "Zeilen\r\nund \u4e2d\u6587 \x0c Text".encode()),
        ("c.csv", b"a,b\n1,2\n"),
        ("d.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hi\n"),
    ],
)
def test_a_child_makes_what_this_process_would(shared: Preparer, name: str, data: bytes) -> None:
    with preparer(0) as here:
        assert comparable(shared.prepare(data, origin(name))) == comparable(here.prepare(data, origin(name)))


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.md", b"", "empty file"),
        ("a.md", b" \n", "blank"),
        ("a.docx", b"PK\x03\x04 no", "damaged Word document"),
    ],
)
@pytest.mark.parametrize("children", [0, 1])
def test_reasons_come_back(shared: Preparer, children: int, name: str, data: bytes, reason: str) -> None:
    with preparer(0) as here, pytest.raises(UnreadableFile, match=reason):
        (shared if children else here).prepare(data, origin(name))


def child_of(one: Preparer) -> int:
    child = one._free.get()
    one._free.put(child)
    assert child is not None
    return child.pid


def test_a_late_file_is_named_and_the_next_is_read() -> None:
    with preparer(1, timeout_s=1.0) as one:
        one.prepare(TEXT, origin())
        first = child_of(one)
        os.kill(first, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(UnreadableFile, match="longer than 1 s"):
            one.prepare(TEXT, origin())
        assert time.monotonic() - began < 6
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        assert one.prepare(TEXT, origin()).chunk_count
        last = child_of(one)
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)


def test_a_crash_is_a_fact_about_the_file() -> None:
    with preparer(1) as one:
        one.prepare(TEXT, origin())
        killer = threading.Timer(0.2, os.kill, (child_of(one), signal.SIGSEGV))
        killer.start()
        with pytest.raises(UnreadableFile, match=r"crashed on it \(signal 11\)"):
            one.prepare(TEXT * 3_000, origin())
        killer.join()
        assert one.prepare(TEXT, origin()).chunk_count


def test_stopping_ends_the_work_at_once() -> None:
    with preparer(1) as one:
        one.prepare(TEXT, origin())
        threading.Timer(0.3, one.stop).start()
        began = time.monotonic()
        with pytest.raises(UnreadableFile):
            one.prepare(TEXT * 20_000, origin())
        assert time.monotonic() - began < 8
        with pytest.raises(UnreadableFile, match="stopped"):
            one.prepare(TEXT, origin())


def test_a_child_that_cannot_start_blames_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "CHILD", "graph_agent.no_such_module")
    with preparer(1) as one, pytest.raises(UnreadableFile, match="does not start"):
        one.prepare(TEXT, origin())


def test_few_and_small_files_are_read_here() -> None:
    assert children_for([]) == 0
    assert children_for([1_000] * 50) == 0
    assert children_for([50_000_000]) == 1
    assert 1 <= children_for([10_000] * 1_000) <= preparing.MOST_CHILDREN


def source(path: Path, planned: bytes) -> Source:
    status = path.stat()
    file = SourceFile(
        path.parent, path.parent.name, path.name, status.st_size, status.st_mtime, False, path.read_bytes
    )
    return Source(file, "key", "root", hash_bytes(planned))


def test_documents_come_in_order_with_the_hash_of_what_was_read(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number:02}.md" for number in range(20)]
    for number, path in enumerate(paths):
        path.write_text(f"# {number}\n" + "x " * (3_000 if number % 7 == 0 else 3))
    sources = [source(path, path.read_bytes()) for path in paths]
    paths[3].write_text("# changed since it was planned\n")
    paths[5].unlink()
    with preparer(2) as two:
        found = list(read_documents(sources, two))
    assert [one.file.name for one, _ in found] == [path.name for path in paths]
    assert isinstance(found[5][1], UnreadableFile)
    changed, document = found[3]
    assert isinstance(document, Prepared)
    assert changed.content_hash == hash_bytes(b"# changed since it was planned\n") != sources[3].content_hash
    assert document.properties["title"] == "changed since it was planned"


def test_leaving_early_leaves_nothing_running(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.md" for number in range(40)]
    for path in paths:
        path.write_text("# T\n" + "words of it " * 2_000)
    with preparer(2) as two:
        for number, _ in enumerate(read_documents([source(path, b"") for path in paths], two)):
            if number == 3:
                break


def test_memory_is_counted_without_the_parents() -> None:
    """A process started by a large one is not large itself."""
    program = (
        "import subprocess, sys; held = bytearray(400 << 20); held[::4096] = b'x' * len(held[::4096]); "
        "print(subprocess.run([sys.executable, '-c', "
        "'from graph_agent.ingest.child_process import peak_mb; print(peak_mb())'], "
        "capture_output=True, text=True, check=True).stdout)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 5 < float(found.stdout) < 200
