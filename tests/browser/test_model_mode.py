"""The chat with a scripted model: queries, streamed answers, stops, citations that do not hold, failures."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from page_driver import Site, Watched, answered, ask, open_page
from scripted_server import Received, Reply, ScriptedServer, status, structured, text

if TYPE_CHECKING:
    from playwright.sync_api import Page

CYPHER = "MATCH (d:Document) RETURN d.title AS title ORDER BY title LIMIT 3"
ANSWER = (
    "The roster office decides on every swap [1].\n\n"
    "| Step | Who |\n|---|---|\n| Apply | both workmates [1] |\n\n"
    "Exactly 4711 swaps were refused last year [2]. Nobody ever read this [77]."
)


def model(server: ScriptedServer, answer: Reply, *, cypher: str = "") -> None:
    """Plan, query, then this answer, whatever is asked."""

    @server.respond
    def reply(request: Received) -> Reply:
        if request.schema == "Plan":
            plan = {
                "question": request.user.rpartition("Question: ")[2].splitlines()[0],
                "language": "en",
                "kind": "mixed" if cypher else "fact",
                "cypher": bool(cypher),
                "cypher_reason": "it asks for titles" if cypher else "",
                "search": True,
                "search_reason": "it asks for a rule",
                "read": False,
                "phrases": ["swapping a shift", "silence is not consent"],
            }
            return structured(plan)
        if request.schema or "Cypher" in request.system[:400]:
            return text(cypher)
        return answer


@pytest.fixture
def model_page(watched: Watched, model_site: Site) -> Page:
    return open_page(watched, model_site.url)


def test_a_query_of_the_model_is_shown_and_opens_in_the_console(
    model_page: Page, scripted_server: ScriptedServer
) -> None:
    model(scripted_server, text(ANSWER, chunks=12), cypher=CYPHER)
    ask(model_page, "Which documents are there, and who decides on swaps?")
    turn = model_page.locator(".turn").last
    assert turn.locator(".step .name").all_text_contents() == [
        "Looked at the graph",
        "Planned",
        "Looked at properties",
        "Queried the graph",
        "Searched passages",
        "Wrote the answer",
        "Checked citations",
        *turn.locator(".step .name").all_text_contents()[7:],
    ]
    turn.locator(".trace > summary").click()
    step = turn.locator(".step", has_text="Queried the graph")
    assert "3 rows" in step.locator(".found").inner_text()
    step.locator("summary").click()
    assert step.locator("pre code").first.inner_text() == CYPHER
    assert step.locator("table tbody tr").count() == 3
    step.get_by_role("button", name="Open in console").click()
    model_page.wait_for_function(
        "q => document.querySelector('#cypher textarea')?.value === q && document.querySelector('#cypher').offsetParent",
        arg=CYPHER,
    )


def test_citations_that_do_not_hold_look_different(model_page: Page, scripted_server: ScriptedServer) -> None:
    model(scripted_server, text(ANSWER, chunks=12))
    ask(model_page, "Who decides on swaps?")
    turn = model_page.locator(".turn").last
    assert turn.locator(".answer a.cite:not(.unverified)").count() >= 1
    assert turn.locator(".answer table").count() == 1
    unsure = turn.locator(".answer a.cite.unverified").first
    assert "not verified" in str(unsure.get_attribute("aria-label"))
    unsure.click()
    model_page.wait_for_selector("#evidence .caution")
    assert turn.locator(".answer .cite.missing", has_text="77").count() == 1
    assert "not verified" in turn.locator(".actions .facts").inner_text()


def test_the_line_below_names_the_host_that_receives_passages(
    model_page: Page, scripted_server: ScriptedServer
) -> None:
    used = model_page.locator("#used").inner_text()
    assert "scripted-model" in used
    assert "on this machine" in used
    model(scripted_server, text("Yes [1].", usage=(1_234, 56)))
    ask(model_page, "Who decides on swaps?")
    facts = model_page.locator(".turn .actions .facts").inner_text()
    assert "Written by a model" in facts
    assert "model call" in facts
    assert "tokens" in facts


def test_the_answer_streams(model_page: Page, scripted_server: ScriptedServer) -> None:
    hold = threading.Event()
    model(scripted_server, text(["The roster office ", "decides [1]. ", "It answers by noon."], hold=hold))
    ask(model_page, "Who decides on swaps?", wait=False)
    # The first piece is there while the rest is held back.
    model_page.wait_for_selector(".turn[data-status=running] .answer:has-text('The roster office')")
    assert model_page.locator(".turn .step", has_text="Writing the answer").count() == 1
    assert model_page.locator("#question .stop-button").count() == 1
    assert "noon" not in model_page.locator(".turn .answer").inner_text()
    hold.set()
    answered(model_page)
    assert "by noon" in model_page.locator(".turn .answer").inner_text()
    assert model_page.locator("#question .submit-button").count() == 1


def test_stop_stops_the_work(model_page: Page, model_site: Site, scripted_server: ScriptedServer) -> None:
    model(scripted_server, text("word " * 400, chunks=400, delay=0.05))
    ask(model_page, "Tell me everything about swaps.", wait=False)
    model_page.wait_for_selector(".turn .answer:has-text('word word')")
    model_page.keyboard.press("Escape")
    answered(model_page)
    turn = model_page.locator(".turn").last
    assert turn.get_attribute("data-status") == "stopped"
    assert turn.locator(".foot", has_text="Stopped").count() == 1
    assert model_page.locator("#question .submit-button").count() == 1
    # The work itself has ended: nothing is active, and the model's stream was cut off.
    assert scripted_server.chats[-1].settled() == "client left"
    assert not model_site.workspace.active
    words = turn.locator(".answer").inner_text()
    time.sleep(0.5)
    assert turn.locator(".answer").inner_text() == words
    # What was there is kept, and the conversation goes on.
    model(scripted_server, text("The roster office [1]."))
    ask(model_page, "Who decides on swaps?")
    assert model_page.locator(".turn").count() == 2
    model_page.reload()
    model_page.wait_for_selector(".turn[data-status=stopped]")
    assert "word" in model_page.locator(".turn").first.locator(".answer").inner_text()


def test_a_model_that_fails_leaves_extracts_and_says_so(
    model_page: Page, scripted_server: ScriptedServer
) -> None:
    scripted_server.respond(lambda request: status(401))
    ask(model_page, "Who decides on swaps?")
    turn = model_page.locator(".turn").last
    turn.locator(".notes summary").click()
    assert "key" in turn.locator(".notes").inner_text()
    assert "Extracts" in turn.locator(".actions .facts").inner_text()


def test_a_closed_page_ends_its_question(
    watched: Watched, model_site: Site, scripted_server: ScriptedServer
) -> None:
    page = open_page(watched, model_site.url)
    model(scripted_server, text("word " * 400, chunks=400, delay=0.05))
    ask(page, "Tell me everything about swaps.", wait=False)
    page.wait_for_selector(".turn .answer:has-text('word word')")
    address = page.url
    page.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and model_site.workspace.active:
        time.sleep(0.1)
    assert not model_site.workspace.active
    again = open_page(watched, address)
    again.wait_for_selector(".turn[data-status=stopped]")
    assert "word" in again.locator(".turn .answer").inner_text()
