"""A citation of each kind of document opens the place it names: section, page, slide, window, sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents.office import pptx, shape, xlsx
from documents.pdf import Page as PdfPage
from documents.pdf import pdf
from page_driver import Site, Watched, ask, open_page

from graph_agent.embeddings import load_embedder
from graph_agent.ingest import sync
from graph_agent.store import DocumentGraph

if TYPE_CHECKING:
    from playwright.sync_api import Page

SHEET = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>Depot</t></is></c><c r="B1" t="inlineStr"><is><t>Lanterns</t></is></c></row>'
    '<row r="2"><c r="A2" t="inlineStr"><is><t>Quillhaven</t></is></c><c r="B2"><v>412</v></c></row>'
)
OTHER_SHEET = '<row r="1"><c r="A1" t="inlineStr"><is><t>Nothing of note</t></is></c></row>'
TALK = """WEBVTT

00:00:04.000 --> 00:00:09.000
<v Ada>Welcome to the meeting about the harbour.

00:02:31.000 --> 00:02:38.000
<v Bo>The foghorn on Grebe Rock is tested every Thursday at noon.
"""
RULES = "# Boats\n\nAll boats are counted.\n\n## Dinghies\n\nDinghies are lent for two hours against a deposit of 30 euro.\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kinds") / "harbour"
    root.mkdir()
    (root / "rules.md").write_text(RULES, encoding="utf-8")
    (root / "survey.pdf").write_bytes(
        pdf(
            PdfPage().lines(72, 700, "The survey of the quay walls begins here.", "Nothing was found on the first day."),
            PdfPage().lines(72, 700, "On the second day the divers found limpet damage", "at bollard seventeen of the quay wall."),
        )
    )  # fmt: skip
    (root / "talk.pptx").write_bytes(
        pptx(
            shape("Opening", "title") + shape("Good morning", "body"),
            shape("Winches", "title") + shape("The starboard winch pulls nine tonnes", "body"),
        )
    )
    (root / "meeting.vtt").write_text(TALK, encoding="utf-8")
    (root / "stock.xlsx").write_bytes(xlsx({"Cover": OTHER_SHEET, "Stock": SHEET}))
    return root


@pytest.fixture(scope="module")
def harbour(sample: DocumentGraph, corpus: Path) -> Iterator[DocumentGraph]:
    graph = sample.select("pages-kinds")
    report = sync(graph, load_embedder(graph.settings), [corpus])
    assert not report.failed
    yield graph
    graph.drop()


@pytest.mark.parametrize(
    ("question", "path", "place", "words"),
    [
        ("Against which deposit are dinghies lent?", "rules.md", "Dinghies", "30 euro"),
        ("What did the divers find at bollard seventeen?", "survey.pdf", "Page 2", "limpet damage"),
        ("What does the starboard winch pull?", "talk.pptx", "Winches", "nine tonnes"),
        ("When is the foghorn on Grebe Rock tested?", "meeting.vtt", "2:", "Thursday at noon"),
        ("How many lanterns are in the depot Quillhaven?", "stock.xlsx", "Stock", "412"),
    ],
    ids=["section", "page", "slide", "window", "sheet"],
)
def test_the_place_opens(
    serve: Callable[..., Site],
    harbour: DocumentGraph,
    watched: Watched,
    question: str,
    path: str,
    place: str,
    words: str,
) -> None:
    page: Page = open_page(watched, serve(harbour).url)
    ask(page, question)
    page.locator(".turn .answer a.cite").first.click()
    page.wait_for_selector("#evidence mark")
    head = page.locator("#evidence header").inner_text()
    assert path in head
    assert place in head, head
    assert words in page.locator("#evidence mark").all_inner_texts().__str__()
    page.locator("#evidence footer button", has_text="Open document").click()
    page.wait_for_selector("#reader .reader h2:visible")
    assert words in page.locator("#reader").inner_text()
