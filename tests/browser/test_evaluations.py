"""Evaluations in the browser: runs of real questions, one run, two compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import SCREENSHOTS, Site, Watched, open_page, turn_to

from graph_agent.evals.runner import run_set
from graph_agent.store import DocumentGraph

if TYPE_CHECKING:
    from playwright.sync_api import Page

IDS = ("span-01", "span-02", "span-03", "span-04", "span-05")


@pytest.fixture
def evaluated(watched: Watched, sample: DocumentGraph, serve: Callable[..., Site], tmp_path: Path) -> Page:
    """Two retrieval runs over five questions of the sample set."""
    site = serve(sample, settings={"data": tmp_path})
    settings = site.workspace.settings
    for mode in ("hybrid", "bm25"):
        run_set(
            "sample", settings, mode="retrieval", ids=IDS, search=mode_of(mode), base=sample, ingest=False
        )
    page = open_page(watched, site.url)
    turn_to(page, "Evaluations")
    page.wait_for_selector("#runs li:nth-child(2)")
    return page


def mode_of(mode: str) -> object:
    from graph_agent.evals.options import SearchOptions

    return SearchOptions(mode=mode)


def test_one_run_with_its_questions_and_evidence(evaluated: Page) -> None:
    evaluated.locator("#runs li button").first.click()
    evaluated.wait_for_selector("#evaluation .metrics dd")
    assert evaluated.locator("#evaluation .asked").count() == len(IDS)
    asked = evaluated.locator("#evaluation .asked", has_text="walkie-talkie")
    asked.locator("summary").click()
    assert "stop" in asked.locator(".given").inner_text()
    assert "hochwarte-funicular" in asked.inner_text()
    evaluated.screenshot(path=_picture("evaluation"))
    asked.locator("button.link").first.click()
    evaluated.wait_for_selector("#reader section.current")


def test_only_what_went_wrong(evaluated: Page) -> None:
    evaluated.locator("#runs li button").first.click()
    evaluated.locator("#evaluation button", has_text="Only what went wrong").click()
    evaluated.wait_for_selector("#evaluation button:has-text('All questions')")
    assert evaluated.locator("#evaluation .asked.right").count() == 0


def test_two_runs_compared(evaluated: Page) -> None:
    compare = evaluated.locator("#runs button[type=submit]")
    assert compare.is_disabled()
    for box in evaluated.locator("#runs input[name=pick]").all():
        box.check()
    compare.click()
    evaluated.wait_for_selector("#evaluation h2:has-text('Two runs')")
    assert "bm25" in evaluated.locator("#evaluation .facts-list").first.inner_text()
    rows = evaluated.locator("#evaluation .table tbody tr")
    assert rows.count() > 3
    evaluated.screenshot(path=_picture("compared"))


def _picture(name: str) -> Path:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return SCREENSHOTS / f"{name}-light.png"
