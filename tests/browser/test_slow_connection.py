"""Clicks that come faster than they are answered: none that changes something is lost, and the last one is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from page_driver import Site, ask, turn_to, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

LATENCY_MS = 400
QUESTION = "Who decides on a shift swap, and is silence consent?"
OTHER = "What does the lost property policy say about animals?"


def slow_down(page: Page) -> None:
    """Let each answer of the server come late, as from a far one."""
    page.context.new_cdp_session(page).send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1},
    )


def judged(site: Site, turn: str | None) -> tuple[int | None, str]:
    found = site.workspace.conversations.turn("", str(turn))
    return found.feedback, found.reason


def test_a_reason_that_follows_the_thumb_at_once_is_kept_and_said_to_be_saved_only_then(
    page: Page, site: Site
) -> None:
    ask(page, QUESTION)
    turn = page.locator(".turn").last
    name = turn.get_attribute("data-turn")
    slow_down(page)
    turn.get_by_role("button", name="Bad answer").click()
    turn.locator("form.reason input").fill("It misses the second half")
    turn.locator("form.reason button").click()
    assert turn.locator(".saved").inner_text() == ""
    turn.locator(".saved", has_text="Saved").wait_for()
    assert judged(site, name) == (-1, "It misses the second half")


def test_judgements_of_two_answers_are_both_kept(page: Page, site: Site) -> None:
    ask(page, QUESTION)
    ask(page, OTHER)
    names = [turn.get_attribute("data-turn") for turn in page.locator(".turn").all()]
    slow_down(page)
    for turn in page.locator(".turn").all():
        turn.get_by_role("button", name="Good answer").click()
    wait_until(page, lambda: [judged(site, name)[0] for name in names] == [1, 1])


def test_of_two_citations_the_last_one_is_shown(page: Page) -> None:
    ask(page, QUESTION)
    cites = page.locator(".turn .answer a.cite").all()
    other = next(cite for cite in cites if cite.inner_text() != cites[0].inner_text())
    number = other.inner_text().strip("[]")
    slow_down(page)
    cites[0].click()
    other.click()
    page.wait_for_selector(f"#evidence header .cite:text-is('{number}')")
    page.wait_for_timeout(3 * LATENCY_MS)
    assert page.locator("#evidence header .cite").inner_text() == number


@pytest.mark.parametrize("last", [0, 1])
def test_of_two_documents_the_last_one_is_shown(page: Page, last: int) -> None:
    turn_to(page, "Documents")
    page.wait_for_selector("#tree [data-do=document]")
    documents = page.locator("#tree [data-do=document]:visible").all()[:2]
    slow_down(page)
    documents[1 - last].click()
    documents[last].click()
    wanted = documents[last].get_attribute("data-id")
    page.wait_for_selector(f"#reader [data-do=scope][data-document='{wanted}']")


def test_two_conversations_are_both_removed(page: Page, site: Site) -> None:
    ask(page, QUESTION)
    first = page.url.partition("c=")[2]
    page.get_by_role("button", name="New conversation").click()
    page.wait_for_selector("#welcome .welcome")
    ask(page, OTHER)
    second = page.url.partition("c=")[2]
    slow_down(page)
    for name in (first, second):
        button = page.locator(f"#conversations li [data-do=remove][data-id='{name}']")
        button.evaluate("one => { one.click(); one.click() }")
    kept = site.workspace.conversations
    wait_until(page, lambda: not {first, second} & {one.id for one in kept.recent("")})
