"""Every view as a picture: light, dark and at phone width, under build/screenshots/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import NARROW, SCREENSHOTS, WIDE, Site, Watched, ask, open_page, turn_to
from scripted_server import Received, Reply, ScriptedServer, structured, text

from graph_agent.store import DocumentGraph

if TYPE_CHECKING:
    from playwright.sync_api import Page

THEMES = {"light": (False, WIDE), "dark": (True, WIDE), "phone": (False, NARROW)}
ANSWER = (
    "A swap needs the **roster office**: silence is not consent [1]. Both workmates apply in writing, and the rest "
    "between two shifts must stay whole [2].\n\n"
    "| What | Rule |\n|---|---|\n| Who decides | the roster office [1] |\n| No reply | counts as a refusal [1] |\n\n"
    "Exactly 4711 swaps were refused last year [3]."
)
CYPHER = "MATCH (f:Folder)-[:CONTAINS]->(d:Document)\nRETURN f.name AS folder, count(d) AS documents\nORDER BY documents DESC LIMIT 5"


@pytest.fixture(params=list(THEMES))
def view(request: pytest.FixtureRequest, watched: Watched) -> Callable[[str], Page]:
    """Opens pages in one theme and width."""
    dark, size = THEMES[request.param]

    def opened(url: str) -> Page:
        page = open_page(watched, url)
        page.set_viewport_size(size)
        page.evaluate("dark => localStorage.setItem('graph-agent-theme', dark ? 'dark' : 'light')", dark)
        page.reload()
        page.wait_for_selector("#welcome .welcome, .turn")
        page.evaluate("name => { window.theme = name }", request.param)
        return page

    return opened


def shoot(page: Page, name: str) -> None:
    """Keep a picture; it must show something."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}-{page.evaluate('window.theme')}.png"
    page.screenshot(path=path)
    assert path.stat().st_size > 8_000


@contextmanager
def tab(page: Page, name: str) -> Iterator[None]:
    """Another tab, also where the narrow page hides it in a menu."""
    if page.get_by_role("tab", name=name, exact=True).is_visible():
        turn_to(page, name)
    else:
        page.get_by_role("button", name="More tabs").click()
        page.locator(f".overflow-dropdown button:text-is('{name}')").click()
    yield


def test_chat(view: Callable[[str], Page], model_site: Site, scripted_server: ScriptedServer) -> None:
    @scripted_server.respond
    def model(request: Received) -> Reply:
        if request.schema == "Plan":
            return structured(
                {
                    "question": "Who decides on a shift swap?", "language": "en", "kind": "mixed", "cypher": True,
                    "cypher_reason": "it asks how many documents there are", "search": True,
                    "search_reason": "it asks for a rule", "phrases": ["swapping a shift", "silence is not consent"],
                }
            )  # fmt: skip
        if "Cypher" in request.system[:400]:
            return text(CYPHER)
        return text(ANSWER, chunks=8)

    page = view(model_site.url)
    shoot(page, "welcome")
    ask(page, "Who decides on a shift swap, and what does silence mean?")
    shoot(page, "answer")
    page.locator(".turn .trace > summary").click()
    page.locator(".turn .step", has_text="Queried the graph").locator("summary").click()
    page.locator("#feed").evaluate("feed => { feed.scrollTop = 0 }")
    shoot(page, "steps")
    page.locator(".turn .trace > summary").click()
    page.locator(".turn .answer a.cite").first.click()
    page.wait_for_selector("#evidence mark")
    shoot(page, "evidence")
    page.locator(".turn .answer a.cite.unverified").first.evaluate("link => link.click()")
    page.wait_for_selector("#evidence .caution")
    shoot(page, "unverified")
    page.keyboard.press("Escape")
    page.locator("#scope > button").click()
    page.wait_for_timeout(300)
    shoot(page, "scope")


def test_documents_graph_console_and_status(view: Callable[[str], Page], site: Site) -> None:
    page = view(site.url)
    with tab(page, "Documents"):
        page.wait_for_selector("#tree .document")
        shoot(page, "documents")
        page.locator("#tree .document", has_text="Quarterly report, second").locator(".open").click()
        page.wait_for_selector("#reader .text:visible")
        shoot(page, "document")
        page.locator("#reader button", has_text="Show in graph").click()
        page.wait_for_selector("#picture .js-plotly-plot .point")
        shoot(page, "neighbourhood")
        page.get_by_role("button", name="Whole graph").click()
        page.wait_for_selector("#node h2:has-text('What the graph holds')")
        shoot(page, "graph")
    with tab(page, "Console"):
        page.locator("#run").click()
        page.wait_for_selector("#result tbody tr")
        shoot(page, "console")
    with tab(page, "Status"):
        page.wait_for_selector("#status dl")
        shoot(page, "status")


def test_first_start(
    view: Callable[[str], Page], sample: DocumentGraph, serve: Callable[..., Site], tmp_path: Path
) -> None:
    site = serve(sample.select("pages-nothing"), sample=Path(__file__), settings={"data": tmp_path})
    page = view(site.url)
    shoot(page, "first-start")
    page.get_by_role("button", name="Add documents").click()
    page.wait_for_selector("#files:visible")
    shoot(page, "adding")
