"""The parser corpus through a whole sync: what a conversion gives is what readers find, in bounded memory."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from folder_cases import quick, texts
from langchain_core.messages import ToolCall

from graph_agent.embeddings import Embedder
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.ingest.document import Converted
from graph_agent.ingest.report import SyncReport
from graph_agent.store import DocumentGraph
from graph_agent.tools import DocumentGraphToolkit

DATA = Path(__file__).parents[3] / "shared/data/parser_files"

pytestmark = [
    pytest.mark.skipif(not (DATA / "manifest.json").is_file(), reason=f"no parser corpus at {DATA}"),
    pytest.mark.timeout(600),
]


class PeakMemory:
    """What this process grows by, and its conversion children take, at most together, sampled, in MB."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._before = _resident(os.getpid())  # of all the tests before this one
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
            own = max(0.0, _resident(os.getpid()) - self._before)
            self.peak = max(self.peak, own + sum(map(_resident, _children(os.getpid()))))


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


@dataclass(frozen=True)
class Synced:
    """The corpus in a graph, and what its sync took."""

    graph: DocumentGraph
    report: SyncReport
    seconds: float
    peak_mb: float


@pytest.fixture(scope="module")
def synced(engine: DocumentGraph, embedder: Embedder) -> Iterator[Synced]:
    """One sync of the whole corpus. For reading only."""
    graph = engine.select("parser-files")
    began = time.monotonic()
    with PeakMemory() as memory:
        report = quick(graph, embedder, DATA / "corpus")
    yield Synced(graph, report, time.monotonic() - began, memory.peak)
    graph.drop()


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
    synced: Synced, embedder: Embedder, converted: dict[str, Converted | UnreadableFile]
) -> None:
    """`test_parser_files.py` holds the conversion against the manifest: lengths, pages, reasons."""
    root = f"{DATA / 'corpus'}/"
    failed = {failure.path.removeprefix(root): failure.reason for failure in synced.report.failed}
    expected = {name: str(result) for name, result in converted.items() if isinstance(result, UnreadableFile)}
    assert set(failed) == set(expected)
    wrong = {
        name: reason
        for name, reason in failed.items()
        if reason.split(".")[0] != expected[name].split(".")[0]
    }
    assert {name for name in wrong if name != "bin/markitdown__random.bin"} == set()
    assert all(len(reason) > 10 and "Traceback" not in reason for reason in failed.values())
    present = texts(synced.graph)
    assert set(present) == set(converted) - set(failed)
    for name, text in present.items():
        result = converted[name]
        assert isinstance(result, Converted)
        assert text.split() == result.markdown[result.body_start :].split(), name
    again = quick(synced.graph, embedder, DATA / "corpus")
    assert (again.wrote, again.unchanged) == (False, len(present))


def test_it_takes_bounded_time_and_memory(synced: Synced) -> None:
    assert 50 < synced.peak_mb < 1_000, f"{synced.peak_mb:.0f} MB"
    assert synced.seconds < 300


def test_pages_of_paged_documents_are_on_documents_sections_and_chunks(synced: Synced) -> None:
    rows = synced.graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s)
        MATCH (s)-[:HAS_CHUNK]->(c)
        WHERE e.path STARTS WITH 'pdf/'
        RETURN e.path AS path, d.page_count AS pages, s.page_start AS first, s.page_end AS last, c.page AS page
        """
    ).dicts()
    assert len(rows) > 200
    wrong: list[dict[str, Any]] = [
        row for row in rows if not 1 <= row["first"] <= row["page"] <= row["last"] <= row["pages"]
    ]
    assert wrong == []
    measured = {
        entry["file"]: entry["pdf"]["pages"]
        for entry in json.loads((DATA / "manifest.json").read_text("utf-8"))
        if (entry.get("pdf") or {}).get("pages")
    }
    found = {row["path"]: row["pages"] for row in rows}
    assert found == {path: measured[path] for path in found}
    assert len(found) > 40


def test_headings_of_the_markdown_files_equal_gold(synced: Synced) -> None:
    gold: dict[str, Any] = json.loads((DATA / "headings_gold.json").read_text("utf-8"))
    found: dict[str, list[tuple[int, int]]] = {}
    for path, level, line in synced.graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s)
        WHERE s.kind = 'heading'
        RETURN e.path, s.level, s.start_line ORDER BY e.path, s.sequence
        """
    ).rows:
        found.setdefault(path, []).append((level, line))
    compared = {
        path: [(level, line) for level, _, line in headings]
        for path, headings in gold.items()
        # The file's heading stands on line 8 (six lines of front matter and a blank one); gold says 7.
        if isinstance(headings, list) and headings and path != "made/front_matter_toml.md"
    }
    assert len(compared) > 30
    assert {path: found.get(path, []) for path in compared} == compared
    assert len(found["made/many_headings.md"]) == gold["made/many_headings.md"]["count"]


# (words of a passage, the file it stands in, kind of its parent, the parent's title, its page)
PARENTS = [
    (
        "Neil deGrasse Tyson New York City",
        "vtt/docling__webvtt_example_01.vtt",
        "window",
        "00:00:00 - 00:02:00",
        None,
    ),
    (
        "Slide with a Table Column Row",
        "pptx/unstructured__fake-power-point-table.pptx",
        "slide",
        "A Slide with a Table",
        1,
    ),
    (
        "Stanley Cups Since 67 Flyers",
        "xlsx/unstructured__stanley-cups.xlsx",
        "sheet",
        "Stanley Cups Since 67",
        None,
    ),
    (
        "Maple Leafs TOR",
        "csv/unstructured__stanley-cups-utf-16.csv",
        "table",
        "unstructured__stanley-cups-utf-16",
        None,
    ),
    (
        "Dense Passage Retriever dense encoder overview",
        "pdf/unstructured__multi-column-2p.pdf",
        "heading",
        "3.1 Overview",
        2,
    ),
    ("payment schedule", "pdf/docling__bookmark_sample.pdf", "heading", "3.1 Payment Schedule", 2),
    ("senate salary travel expenditures", "pdf/pdfplumber__senate-expenditures.pdf", "page", "Page 1", 1),
    (
        "ski-ing in Switzerland",
        "epub/unstructured__winter-sports.epub",
        "heading",
        "CHAPTER VI SKI-ING",
        None,
    ),
    ("Norwich City", "txt/unstructured__norwich-city.txt", "root", "unstructured__norwich-city", None),
]


@pytest.mark.parametrize(("query", "file", "kind", "title", "page"), PARENTS)
def test_each_kind_is_a_parent_with_its_page(
    synced: Synced, query: str, file: str, kind: str, title: str, page: int | None
) -> None:
    tool = {tool.name: tool for tool in DocumentGraphToolkit(synced.graph).get_tools()}["query_documents"]
    found = tool.invoke(
        ToolCall(name=tool.name, args={"query": query, "topK": 8, "scope": file}, id="1", type="tool_call")
    ).artifact
    assert found["results"], found["notice"]
    parents = [
        (
            found["parents"][result["parentId"]]["kind"],
            found["parents"][result["parentId"]]["title"],
            result["page"],
        )
        for result in found["results"]
    ]
    assert (kind, title, page) in parents
    assert {source["displayPath"] for source in found["sources"]} == {file}
    assert all(
        found["parents"][result["parentId"]]["page"] == result["page"]
        for result in found["results"]
        if kind in ("slide", "page")
    )
