"""The parser corpus through a whole sync: what a conversion gives is what readers find, in bounded memory."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from folder_cases import quick, texts

from graph_agent.embeddings import Embedder
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.ingest.document import Converted
from graph_agent.store import DocumentGraph

DATA = Path(__file__).parents[3] / "shared/data/parser_files"

pytestmark = [
    pytest.mark.skipif(not (DATA / "manifest.json").is_file(), reason=f"no parser corpus at {DATA}"),
    pytest.mark.timeout(600),
]


class PeakMemory:
    """Largest resident memory of this process and its conversion children together, sampled, in MB."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            self.peak = max(self.peak, _resident(os.getpid()) + sum(map(_resident, _children(os.getpid()))))


def _resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _children(parent: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        try:
            found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return [child for child in found if b"preparing_child" in _command(child)]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def converted() -> dict[str, Converted | UnreadableFile]:
    """What each file gives when it is converted by itself."""
    found: dict[str, Converted | UnreadableFile] = {}
    with ConversionWorker(Limits()) as worker:
        for path in sorted((DATA / "corpus").rglob("*")):
            if path.is_file():
                name = path.relative_to(DATA / "corpus").as_posix()
                try:
                    found[name] = worker.convert(path.read_bytes(), name)
                except UnreadableFile as error:
                    found[name] = error
    return found


def test_a_sync_gives_what_conversion_gives(
    empty_graph: DocumentGraph, embedder: Embedder, converted: dict[str, Converted | UnreadableFile]
) -> None:
    began = time.monotonic()
    with PeakMemory() as memory:
        report = quick(empty_graph, embedder, DATA / "corpus")
    seconds = time.monotonic() - began
    root = f"{DATA / 'corpus'}/"
    failed = {failure.path.removeprefix(root): failure.reason for failure in report.failed}
    expected = {name: str(result) for name, result in converted.items() if isinstance(result, UnreadableFile)}
    assert set(failed) == set(expected)
    wrong = {
        name: reason
        for name, reason in failed.items()
        if reason.split(".")[0] != expected[name].split(".")[0]
    }
    assert {name for name in wrong if name != "bin/markitdown__random.bin"} == set()
    assert all(len(reason) > 10 and "Traceback" not in reason for reason in failed.values())
    present = texts(empty_graph)
    assert set(present) == set(converted) - set(failed)
    for name, text in present.items():
        result = converted[name]
        assert isinstance(result, Converted)
        assert text.split() == result.markdown[result.body_start :].split(), name
    assert 50 < memory.peak < 1_000, f"{memory.peak:.0f} MB"
    assert seconds < 300
    again = quick(empty_graph, embedder, DATA / "corpus")
    assert (again.wrote, again.unchanged) == (False, len(present))


def test_pages_of_paged_documents_are_on_sections_and_chunks(
    empty_graph: DocumentGraph, embedder: Embedder, converted: dict[str, Converted | UnreadableFile]
) -> None:
    quick(empty_graph, embedder, DATA / "corpus" / "pdf")
    rows = empty_graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s)
        MATCH (s)-[:HAS_CHUNK]->(c)
        RETURN e.path AS path, d.page_count AS pages, s.page_start AS first, s.page_end AS last, c.page AS page
        """
    ).dicts()
    assert len(rows) > 200
    wrong: list[dict[str, Any]] = [
        row for row in rows if not 1 <= row["first"] <= row["page"] <= row["last"] <= row["pages"]
    ]
    assert wrong == []


def test_headings_of_the_markdown_files_equal_gold(empty_graph: DocumentGraph, embedder: Embedder) -> None:
    gold: dict[str, list[list[Any]]] = json.loads((DATA / "headings_gold.json").read_text("utf-8"))
    quick(empty_graph, embedder, DATA / "corpus")
    found: dict[str, list[tuple[int, int]]] = {}
    for path, level, line in empty_graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s)
        WHERE s.kind = 'heading'
        RETURN e.path, s.level, s.start_line ORDER BY e.path, s.sequence
        """
    ).rows:
        found.setdefault(path, []).append((level, line))
    compared = {
        path: [(level, line) for level, _, line in headings] for path, headings in gold.items() if headings
    }
    assert len(compared) > 30
    assert {path: found.get(path, []) for path in compared} == compared
