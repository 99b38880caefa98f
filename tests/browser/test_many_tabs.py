"""Many tabs ask at the same time: each gets its own answer, and the server goes on answering others."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import TYPE_CHECKING

import pytest
from page_driver import WIDE, Site, Watched, answered, ask, open_page
from scripted_server import Received, Reply, ScriptedServer, structured, text

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TABS = 20 if os.environ.get("GRAPH_AGENT_SOAK") else 5
NAMES = ("Ada", "Bo", "Cleo", "Dag", "Eve", "Finn", "Gro", "Hal")
WORD = re.compile(r"codeword (\w+)")


def script(server: ScriptedServer, hold: threading.Event) -> None:
    """Answers that hold the code word of their question; after the first piece they wait for `hold`."""

    @server.respond
    def reply(request: Received) -> Reply:
        question = request.user.rpartition("Question: ")[2].splitlines()[0]
        if request.schema == "Plan":
            return structured(
                {
                    "question": question,
                    "language": "en",
                    "kind": "fact",
                    "cypher": False,
                    "search": True,
                    "search_reason": "a rule",
                    "read": False,
                    "phrases": ["swapping a shift"],
                }
            )
        found = WORD.findall(request.user)
        return text([f"{found[-1]} is yours, said workmate {name}. " for name in NAMES], hold=hold)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_no_tab_gets_the_answer_of_another(
    model_site: Site, browser: Browser, scripted_server: ScriptedServer
) -> None:
    hold = threading.Event()
    script(scripted_server, hold)
    # Each in a profile of its own, as twenty people have it: one browser opens six connections to a server.
    people = [Watched(browser.new_context(viewport=WIDE)) for _ in range(TABS)]
    tabs = [(open_page(each, model_site.url), f"zebra{number:02d}") for number, each in enumerate(people)]
    for page, word in tabs:
        ask(page, f"Who decides on swaps? My codeword {word}, please.", wait=False)
    for page, word in tabs:
        page.wait_for_selector(f".turn[data-status=running] .answer:has-text('{word} is yours')")
    began = time.perf_counter()
    assert people[0].context.request.get(model_site.url).ok
    assert time.perf_counter() - began < 5, "the page is served while all are being answered"
    hold.set()
    for page, word in tabs:
        answered(page)
        answer = page.locator(".turn .answer").last.inner_text()
        assert set(re.findall(r"zebra\d\d", answer)) == {word}, answer
        assert answer.count(word) == len(NAMES), "the whole answer is there"
    for each in people:
        each.context.close()
        each.check()
