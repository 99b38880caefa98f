"""Conversations: kept over restarts, renamed, deleted, exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import Site, Watched, ask, open_page

from graph_agent.store import DocumentGraph

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "Who decides on a shift swap, and is silence consent?"


@pytest.fixture
def own_site(sample: DocumentGraph, serve: Callable[..., Site], tmp_path: Path) -> Site:
    """A server whose conversations are the test's own."""
    return serve(sample, settings={"data": tmp_path})


@pytest.fixture
def own_page(watched: Watched, own_site: Site) -> Page:
    return open_page(watched, own_site.url)


def test_rename_delete_and_new(own_page: Page, own_site: Site) -> None:
    ask(own_page, QUESTION)
    item = own_page.locator("#conversations li.current")
    item.hover()
    item.get_by_role("button", name="Rename").click()
    item.locator("input").fill("Shift swaps <b>2025</b>")
    item.locator("input").press("Enter")
    own_page.wait_for_selector("#conversations .title:has-text('Shift swaps <b>2025</b>')")
    own_page.get_by_role("button", name="New conversation").click()
    own_page.wait_for_selector("#welcome:visible")
    assert "c=" not in own_page.url
    ask(own_page, "What is the afternoon hole?")
    own_page.wait_for_function("document.querySelectorAll('#conversations li').length === 2")
    own_page.locator("#conversations .open", has_text="Shift swaps").click()
    own_page.wait_for_selector(".turn .words:has-text('silence')")
    item = own_page.locator("#conversations li", has_text="Shift swaps")
    item.hover()
    item.locator("[data-do=remove]").click()
    assert len(own_site.workspace.conversations.recent("")) == 2
    item.locator("[data-do=remove]").click()
    own_page.wait_for_function("document.querySelectorAll('#conversations li').length === 1")
    own_page.wait_for_selector("#welcome:visible")
    assert [one.title for one in own_site.workspace.conversations.recent("")] == [
        "What is the afternoon hole?"
    ]


def test_the_export_lists_the_sources(own_page: Page) -> None:
    ask(own_page, QUESTION)
    own_page.locator("#conversations li.current").hover()
    with own_page.expect_download() as download:
        own_page.locator("#conversations li.current a").click()
    assert download.value.suggested_filename.endswith(".md")
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith(f"# {QUESTION}\n")
    assert "\nSources\n" in text
    assert "- [1] policies/rest-and-shift-swaps.md, line" in text


def test_a_conversation_goes_on_after_a_restart(
    watched: Watched, sample: DocumentGraph, serve: Callable[..., Site], tmp_path: Path
) -> None:
    first = serve(sample, settings={"data": tmp_path})
    page = open_page(watched, first.url)
    ask(page, "What is the afternoon hole?")
    answer = page.locator(".turn .answer").inner_text()
    page.close()
    first.server.stop()
    first.workspace.close()
    second = serve(sample, settings={"data": tmp_path})
    again = open_page(watched, second.url)
    again.locator("#conversations .open").first.click()
    again.wait_for_selector(".turn[data-status=done]")
    assert again.locator(".turn .answer").inner_text() == answer
    ask(again, "When does it begin?")
    assert again.locator(".turn").count() == 2
    again.locator(".turn .answer a.cite").first.click()
    again.wait_for_selector("#evidence .evidence")


def test_a_question_that_was_cut_by_the_end_of_its_server(own_page: Page, own_site: Site) -> None:
    store = own_site.workspace.conversations
    conversation = store.start("", "Cut off")
    store.ask("", "What was never answered?", {}, conversation=conversation.id)
    own_page.reload()
    own_page.locator("#conversations .open", has_text="Cut off").click()
    own_page.wait_for_selector(".turn[data-status=stopped] .problem:has-text('stopped before')")
    own_page.get_by_role("button", name="Ask again").click()
    own_page.wait_for_selector(".turn[data-status=done]")


def test_two_conversations_in_two_tabs_do_not_mix(watched: Watched, own_site: Site) -> None:
    one, two = open_page(watched, own_site.url), open_page(watched, own_site.url)
    ask(one, "What is the afternoon hole?", wait=False)
    ask(two, QUESTION, wait=False)
    for page in (one, two):
        page.wait_for_selector(".turn:not([data-status=running])")
    assert one.locator(".turn").count() == two.locator(".turn").count() == 1
    assert "glossary" in one.locator(".turn .foot").inner_text()
    assert "rest-and-shift-swaps" in two.locator(".turn .foot").inner_text()
