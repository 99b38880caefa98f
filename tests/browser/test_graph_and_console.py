"""The picture of the graph, and the console."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from page_driver import Site, turn_to

from graph_agent.ui.figure import DARK

if TYPE_CHECKING:
    from playwright.sync_api import Page


def run(page: Page, cypher: str) -> None:
    page.fill("#cypher textarea", cypher)
    page.press("#cypher textarea", "Control+Enter")


def test_the_skeleton_is_a_picture_whose_circles_can_be_clicked(page: Page) -> None:
    turn_to(page, "Graph")
    page.wait_for_selector("#picture .js-plotly-plot .point")
    names = page.locator("#picture .annotation-text").all_text_contents()
    assert {"Document", "MarkdownSection", "Folder"} <= set(names)
    assert any("HAS_SECTION 4" in name for name in names)
    page.wait_for_selector("#picture .js-plotly-plot[data-bound=yes]")
    box = page.locator("#picture .point").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#node h3:has-text('Properties')")


def test_the_neighbourhood_of_a_section_and_a_label(page: Page) -> None:
    turn_to(page, "Console")
    run(page, "MATCH (s:MarkdownSection {title: 'Swapping a shift'}) RETURN s")
    page.locator("#result td button").first.click()
    page.wait_for_selector("#reader section.current:has-text('Swapping a shift')")
    page.locator("#reader button", has_text="Show in graph").click()
    page.wait_for_selector("#node h2:has-text('Around Rest periods')")
    page.locator("#node button", has_text="Swapping a shift").click()
    page.wait_for_selector("#node .evidence:has-text('Silence is not consent')")
    page.get_by_role("button", name="Show around it").click()
    page.wait_for_selector("#node h2:has-text('Around Swapping a shift')")
    page.get_by_role("button", name="Whole graph").click()
    page.wait_for_selector("#node h2:has-text('What the graph holds')")


def test_rows_files_and_history(page: Page, tmp_path: Path) -> None:
    turn_to(page, "Console")
    run(page, "MATCH (d:Document) RETURN d.filename AS file, d.section_count AS sections ORDER BY file")
    page.wait_for_selector("#result tbody tr:nth-child(34)")
    assert "34 rows" in page.locator("#result .facts").inner_text()
    with page.expect_download() as download:
        page.locator("#result a", has_text="CSV").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert rows[0] == ["file", "sections"]
    assert len(rows) == 35
    with page.expect_download() as download:
        page.locator("#result a", has_text="JSON").click()
    assert len(json.loads(download.value.path().read_text(encoding="utf-8"))["rows"]) == 34
    page.reload()
    turn_to(page, "Console")
    page.locator("#schema .history button").first.click()
    page.wait_for_function("document.querySelector('#cypher textarea').value.includes('section_count')")


def test_refusals_and_errors_come_with_what_to_do(page: Page) -> None:
    turn_to(page, "Console")
    run(page, "MATCH (d:Document) DELETE d")
    page.wait_for_selector("#result .problem:has-text('DELETE')")
    run(page, "MATCH (d:Document) RETURN d.fullName AS name LIMIT 3")
    page.wait_for_selector("#result .caution")
    run(page, "MATCH (d:Document RETURN d")
    page.wait_for_selector("#result .problem")
    run(page, "MATCH (c:SectionChunk) RETURN c.text AS text")
    page.wait_for_selector("#result .facts:has-text('200 rows of 324')")


def test_the_schema_writes_queries(page: Page) -> None:
    turn_to(page, "Console")
    page.locator("#schema summary", has_text="Folder").click()
    assert page.locator("#schema .properties", has_text="folder_id").is_visible()
    page.locator("#schema li", has_text="Folder").get_by_role("button", name="Show some").first.click()
    page.wait_for_function("document.querySelector('#cypher textarea').value.startsWith('MATCH (n:Folder)')")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector("#result tbody tr")


def test_the_picture_has_the_colours_of_the_theme(page: Page, site: Site) -> None:
    page.evaluate("() => localStorage.setItem('graph-agent-theme', 'dark')")
    page.goto(site.url)
    turn_to(page, "Graph")
    first = "() => document.querySelector('#picture .js-plotly-plot')?.layout?.font?.color"
    page.wait_for_function(f"({first})() === '{DARK.text}'")
    turn_to(page, "Documents")
    page.locator("#tree .document", has_text="Glossary").locator(".open").click()
    page.locator("#reader button", has_text="Show in graph").click()
    page.wait_for_selector("#node h2:has-text('Around Glossary')")
    page.wait_for_function(f"({first})() === '{DARK.text}'")
    page.evaluate("() => localStorage.removeItem('graph-agent-theme')")
