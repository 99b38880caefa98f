"""axe-core finds nothing serious in any view, light or dark; what it cannot see is tested beside it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from page_driver import NARROW, WIDE, Site, Watched, ask, open_page, turn_to

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "Who decides on a shift swap, and is silence consent?"


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so there is no axe-core")
    folder = tmp_path_factory.mktemp("axe")
    command = [
        npm,
        "install",
        "--prefix",
        str(folder),
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "axe-core@4",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    source = folder / "node_modules" / "axe-core" / "axe.min.js"
    if ran.returncode or not source.is_file():
        pytest.skip(f"npm could not bring axe-core: {ran.stderr.strip()[-200:]}")
    return source.read_text(encoding="utf-8")


def check(page: Page, axe: str, view: str, found: list[str]) -> None:
    """Add the serious and critical findings of a view, one line each."""
    page.evaluate(axe)
    result: dict[str, Any] = page.evaluate(
        "() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],"
        " resultTypes: ['violations']})"
    )
    found += [
        f"{view}: {one['id']}: {node['target']} {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in result["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_view_has_a_serious_finding(watched: Watched, site: Site, axe: str, dark: bool) -> None:
    found: list[str] = []
    page = open_page(watched, site.url)
    if dark:
        page.get_by_role("button", name="Light or dark").click()
    check(page, axe, "welcome", found)
    ask(page, QUESTION)
    page.locator(".turn .trace > summary").click()
    page.locator(".turn .step > summary").nth(1).click()
    page.locator(".turn .answer a.cite").first.click()
    page.wait_for_selector("#evidence .text")
    page.locator("#scope > button").click()
    page.wait_for_timeout(300)
    check(page, axe, "chat", found)
    turn_to(page, "Documents")
    page.locator("#tree .document .open").first.click()
    page.wait_for_selector("#reader .text")
    page.locator("#add > button").click()
    page.wait_for_selector("#files:visible")
    check(page, axe, "documents", found)
    turn_to(page, "Graph")
    page.wait_for_selector("#picture .js-plotly-plot .point")
    check(page, axe, "graph", found)
    turn_to(page, "Console")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector("#result tbody tr")
    check(page, axe, "console", found)
    for name, shown in (("Evaluations", "#runs .runs"), ("Status", "#status dl")):
        turn_to(page, name)
        page.wait_for_selector(shown)
        check(page, axe, name, found)
    assert not found, "\n".join(found)


def test_everything_in_the_chat_can_be_reached_by_the_tab_key(watched: Watched, site: Site) -> None:
    page = open_page(watched, site.url)
    ask(page, QUESTION)
    page.locator("#header h1").click()
    seen: set[str] = set()
    outlines: set[str] = set()
    # The conversations of earlier tests stand in the list, with three stops each.
    for _ in range(60 + 3 * page.locator("#conversations li").count()):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [e.dataset?.do || e.getAttribute('role') || e.tagName, s.outlineStyle + ' ' + s.outlineWidth + ' ' + s.boxShadow] }"
        )
        seen.add(found[0])
        outlines.add(found[1])
    assert {"fresh", "open", "cite", "copy", "retry", "judge", "edit", "TEXTAREA", "tab"} <= seen
    assert not {outline for outline in outlines if outline.startswith("none") and outline.endswith("none")} - {
        "none 3px none", "none 0px none"}  # fmt: skip


def test_a_phone_shows_everything_without_sideways_scrolling(watched: Watched, site: Site) -> None:
    page = open_page(watched, site.url)
    page.set_viewport_size(NARROW)
    ask(page, QUESTION)

    def fits() -> None:
        wide = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
        assert wide[0] <= wide[1], wide

    fits()
    page.locator(".turn .answer a.cite").first.click()
    page.wait_for_selector("#evidence .text:visible")
    box = page.locator("#evidence-column").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW["width"]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Conversations").click()
    page.wait_for_selector("#conversations .open:visible")
    page.keyboard.press("Escape")
    for name in ("Documents", "Graph", "Console", "Evaluations", "Status"):
        if not page.get_by_role("tab", name=name, exact=True).is_visible():
            page.get_by_role("button", name="More tabs").click()
        page.locator(f"button:visible:text-is('{name}')").last.click()
        page.wait_for_timeout(700)
        fits()


def test_a_page_that_was_narrow_shows_all_tabs_again_when_it_is_wide(watched: Watched, site: Site) -> None:
    page = open_page(watched, site.url)
    tabs = page.locator("#pages [role=tab]:visible")
    page.set_viewport_size(NARROW)
    page.get_by_role("button", name="More tabs").wait_for()
    assert 0 < tabs.count() < 6
    page.set_viewport_size(WIDE)
    page.get_by_role("tab", name="Status", exact=True).wait_for()
    assert tabs.count() == 6
