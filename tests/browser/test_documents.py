"""Documents in the browser: first start, uploads, syncs, the tree, reading, removal."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import Site, Watched, ask, open_page, turn_to

from graph_agent.store import DocumentGraph

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "evals" / "sets" / "sample" / "corpus"
NOTE = "# Kettle rules\n\nThe kettle in the lamp room is descaled on the first Monday of each month.\n"


@pytest.fixture
def empty_site(
    sample: DocumentGraph, serve: Callable[..., Site], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Site]:
    """A server over a graph of the test's own with nothing in it, and the sample at hand."""
    graph = sample.select(f"pages-{request.node.name}")
    yield serve(graph, sample=SAMPLE / "notices", settings={"data": tmp_path / "data"})
    graph.drop()
    graph.keys.delete("skeleton", "postings", "vectors", "last-sync", "sync-lock")


@pytest.fixture
def first_page(watched: Watched, empty_site: Site) -> Page:
    return open_page(watched, empty_site.url)


def job_done(page: Page, words: str) -> None:
    """Wait for the end of a sync, and close its message."""
    page.wait_for_selector(f"#job .job:has-text('{words}')")
    page.locator("#job [data-do=dismiss]").click()
    page.wait_for_selector("#job .job", state="detached")


def test_the_first_start_invites_and_loads_the_sample(first_page: Page) -> None:
    assert "Start with your documents" in first_page.locator("#welcome").inner_text()
    first_page.get_by_role("button", name="Load the sample").click()
    job_done(first_page, "2 added")
    first_page.wait_for_selector("#welcome:has-text('What would you like to know?')")
    assert "2 documents" in first_page.locator("#used").inner_text()
    ask(first_page, "To how much is MF Reiher charged?")
    assert first_page.locator(".turn .answer a.cite").count() > 0


def test_files_are_dropped_read_and_found(first_page: Page, empty_site: Site, tmp_path: Path) -> None:
    note = tmp_path / "kettle rules.md"
    note.write_text(NOTE, encoding="utf-8")
    archive = tmp_path / "more.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("inner/lamps.md", "# Lamps\n\nLamp 12 flickers when the ferry docks.\n")
        made.writestr("../escape.md", "# Escape\n\nThis must not leave its folder.\n")
    picture = tmp_path / "picture.md"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    first_page.get_by_role("button", name="Add documents").click()
    first_page.wait_for_selector("#files:visible")
    first_page.locator("#files input[type=file]").set_input_files([note, archive, picture])
    first_page.wait_for_selector(".toast-body:has-text('picture.md was not taken')")
    job_done(first_page, "2 added")
    uploads = empty_site.workspace.uploads
    assert sorted(path.name for path in uploads.iterdir()) == ["kettle rules.md", "more.zip"]
    assert not any(path.name == "escape.md" for path in tmp_path.rglob("*"))
    first_page.wait_for_selector("#tree .document:has-text('Kettle rules')")
    assert first_page.locator("#tree .document").count() == 2
    turn_to(first_page, "Chat")
    ask(first_page, "When is the kettle in the lamp room descaled?")
    assert "first Monday" in first_page.locator(".turn .answer").inner_text()


def test_an_uploaded_document_is_removed_with_its_file(
    first_page: Page, empty_site: Site, tmp_path: Path
) -> None:
    note = tmp_path / "kettle.md"
    note.write_text(NOTE, encoding="utf-8")
    turn_to(first_page, "Documents")
    first_page.locator("#add > button").click()
    first_page.locator("#files input[type=file]").set_input_files([note])
    job_done(first_page, "1 added")
    first_page.locator("#tree .document .open").click()
    first_page.wait_for_selector("#reader h2:has-text('Kettle rules')")
    remove = first_page.locator("#reader [data-do=remove]")
    remove.click()
    assert "Really?" in remove.inner_text()
    assert (empty_site.workspace.uploads / "kettle.md").exists()
    remove.click()
    job_done(first_page, "1 deleted")
    first_page.wait_for_selector("#tree:has-text('There are no documents yet')")
    assert not (empty_site.workspace.uploads / "kettle.md").exists()
    assert note.exists()


def test_a_folder_is_named_and_synced_again(first_page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "kettle.md").write_text(NOTE, encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of use")
    turn_to(first_page, "Documents")
    first_page.locator("#add > button").click()
    first_page.get_by_label("Or a folder of this machine").fill(str(tmp_path / "nowhere"))
    first_page.locator("#path .submit-button").click()
    first_page.wait_for_selector(".toast-body:has-text('There is no')")
    first_page.get_by_label("Or a folder of this machine").fill(str(folder))
    first_page.locator("#path .submit-button").click()
    job_done(first_page, "1 added, 1 failed")
    report = first_page.locator("#report")
    assert "broken.pdf" in report.inner_text()
    (folder / "lamps.md").write_text("# Lamps\n\nLamp 12 flickers.\n", encoding="utf-8")
    (folder / "kettle.md").write_text(NOTE.replace("first Monday", "second Friday"), encoding="utf-8")
    first_page.get_by_role("button", name="Sync now").click()
    job_done(first_page, "1 added, 1 changed")
    first_page.locator("#tree .document", has_text="Kettle rules").locator(".open").click()
    first_page.wait_for_selector("#reader .text:has-text('second Friday')")
    assert "first Monday" not in first_page.locator("#reader").inner_text()


def test_the_tree_is_narrowed_by_words_labels_and_dates(page: Page) -> None:
    turn_to(page, "Documents")
    page.wait_for_selector("#tree .document")
    assert "34 documents" in page.locator("#tree .hint").first.inner_text()
    page.locator("#words").locator("input, textarea").fill("refund")
    page.wait_for_function("document.querySelectorAll('#tree .document').length === 2")
    page.locator("#words").locator("input, textarea").fill("")
    page.wait_for_function("document.querySelectorAll('#tree .document').length === 34")
    page.locator("#narrow > button").click()
    page.locator("#narrow").get_by_label("Labels").click()
    page.locator("[role=option]", has_text="kind: report").first.click()
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelectorAll('#tree .document').length < 34")
    narrowed = page.locator("#tree .document").count()
    page.locator("#narrow").get_by_label("From").fill("2025-07-01")
    page.wait_for_function("n => document.querySelectorAll('#tree .document').length < n", arg=narrowed)


def test_a_document_is_read_by_its_outline_and_its_links(page: Page) -> None:
    turn_to(page, "Documents")
    page.locator("#tree .document", has_text="Glossary").locator(".open").click()
    page.wait_for_selector("#reader h2:has-text('Glossary')")
    assert page.locator("#reader .chip").count() >= 2
    page.locator("#reader .outline button", has_text="Swallow zone").click()
    page.wait_for_selector("#reader section.current:has-text('Swallow zone')")
    page.locator("#reader .pages button", has_text="Earlier text").click()
    page.wait_for_selector("#reader .text a:has-text('reiher-shore-charging')")
    page.locator("#reader .text a", has_text="reiher-shore-charging").click()
    page.wait_for_selector("#reader h2:has-text('MF Reiher, shore charging')")


def test_a_question_about_one_document(page: Page) -> None:
    turn_to(page, "Documents")
    page.locator("#tree .document", has_text="Glossary").locator(".open").click()
    page.locator("#reader button", has_text="Ask about this document").click()
    page.wait_for_selector("#scope-chips .chip:has-text('Glossary')")
    ask(page, "What is the afternoon hole?")
    assert "Glossary" in page.locator(".turn .bubble .scope").inner_text()
    paths = set(page.locator(".turn .sources .path").all_inner_texts())
    assert paths == {"company/glossary.md"}


def test_a_document_is_shown_in_the_graph(page: Page) -> None:
    turn_to(page, "Documents")
    page.locator("#tree .document", has_text="Glossary").locator(".open").click()
    page.locator("#reader button", has_text="Show in graph").click()
    page.wait_for_selector("#node h2:has-text('Around Glossary')")
    page.wait_for_selector("#picture .js-plotly-plot .point")
    assert (
        page.locator("#node li", has_text="reiher").count()
        + page.locator("#node li", has_text="Reiher").count()
        > 0
    )
