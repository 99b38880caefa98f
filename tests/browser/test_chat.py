"""The chat over the sample documents: steps, answers, evidence, judgement, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from page_driver import Site, Watched, ask, open_page, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "Who decides on a shift swap, and is silence consent?"


def test_a_question_shows_its_steps_and_cites_the_passage_that_opens(page: Page) -> None:
    ask(page, QUESTION)
    turn = page.locator(".turn").last
    names = turn.locator(".step .name").all_text_contents()
    assert names[0] == "Looked at the graph"
    assert "Searched passages" in names
    assert all(time.strip() for time in turn.locator(".step .time").all_text_contents())
    cite = turn.locator(".answer a.cite").first
    cite.click()
    page.wait_for_selector("#evidence mark")
    assert page.locator("#evidence .path").first.inner_text() == "policies/rest-and-shift-swaps.md"
    assert page.locator("#evidence .breadcrumb").inner_text().strip()


def test_the_steps_can_be_opened_and_tell_what_was_found(page: Page) -> None:
    ask(page, QUESTION)
    turn = page.locator(".turn").last
    turn.locator(".trace > summary").click()
    step = turn.locator(".step", has_text="Searched passages")
    step.locator("summary").click()
    assert step.locator(".chip").first.is_visible()
    assert "passage" in step.locator(".found").inner_text()


def test_neighbouring_sections_and_the_document_open_from_the_evidence(page: Page) -> None:
    ask(page, QUESTION)
    page.locator(".turn").last.locator(".answer a.cite").first.click()
    page.wait_for_selector("#evidence footer")
    before = page.locator("#evidence .breadcrumb").inner_text()
    page.locator("#evidence footer button", has_text="Next").click()
    page.wait_for_function("t => document.querySelector('#evidence .breadcrumb').innerText !== t", arg=before)
    page.locator("#evidence footer button", has_text="Open document").click()
    page.wait_for_selector("#reader .reader h2:visible")
    assert "Rest periods and shift swaps" in page.locator("#reader h2").inner_text()
    assert page.locator("#reader .outline button").count() > 3


def test_the_line_below_says_what_is_used(page: Page) -> None:
    used = page.locator("#used").inner_text()
    assert "no chat model" in used
    assert "nothing leaves this machine" in used
    assert "34 documents" in used
    ask(page, QUESTION)
    facts = page.locator(".turn .actions .facts").last.inner_text()
    assert "Extracts" in facts
    assert "34 documents" in facts


def test_examples_come_from_the_documents_and_are_answered(page: Page) -> None:
    examples = page.locator(".examples button")
    assert examples.count() == 4
    question = examples.first.locator("span").inner_text()
    examples.first.click()
    page.wait_for_selector(".turn:not([data-status=running])")
    assert page.locator(".turn .words").inner_text() == question
    assert page.locator(".turn .answer a.cite").count() > 0


def test_a_judgement_with_a_reason_is_kept_with_the_response(page: Page, site: Site) -> None:
    ask(page, QUESTION)
    turn = page.locator(".turn").last
    name = turn.get_attribute("data-turn")
    turn.get_by_role("button", name="Bad answer").click()
    turn.locator("form.reason input").fill("It misses the second half")
    turn.locator("form.reason button").click()
    turn.locator(".saved", has_text="Saved").wait_for()

    def kept() -> tuple[int | None, str]:
        found = site.workspace.conversations.turn("", str(name))
        assert found.response is not None
        return found.feedback, found.reason

    wait_until(page, lambda: kept() == (-1, "It misses the second half"))
    turn.get_by_role("button", name="Good answer").click()
    wait_until(page, lambda: kept()[0] == 1)


def test_copy_retry_and_edit(page: Page, site: Site) -> None:
    ask(page, QUESTION)
    turn = page.locator(".turn").last
    turn.get_by_role("button", name="Copy the answer").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "[1]" in copied
    assert "policies/rest-and-shift-swaps.md" in copied
    first = turn.get_attribute("data-turn")
    turn.get_by_role("button", name="Ask again").click()
    page.wait_for_function("id => !document.querySelector(`[data-turn='${id}']`)", arg=first)
    page.wait_for_selector(".turn:not([data-status=running])")
    assert page.locator(".turn").count() == 1
    page.locator(".question").hover()
    page.get_by_role("button", name="Edit the question").click()
    page.locator("form.rewrite textarea").fill("What does the lost property policy say about animals?")
    page.locator("form.rewrite button", has_text="Ask").click()
    page.wait_for_selector(".turn:not([data-status=running]) .words:has-text('animals')")
    assert page.locator(".turn").count() == 1
    conversation = page.url.partition("c=")[2]
    assert [one.question for one in site.workspace.conversations.turns("", conversation)] == [
        "What does the lost property policy say about animals?"
    ]


def test_keys_focus_send_and_close(page: Page) -> None:
    page.locator("#header h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.closest('#question') !== null")
    page.keyboard.type("a/b")
    assert page.input_value("#question textarea") == "a/b"
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second line")
    assert page.input_value("#question textarea") == "a/b\nsecond line"
    assert page.locator(".turn").count() == 0
    page.fill("#question textarea", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn:not([data-status=running])")
    page.locator(".turn .answer a.cite").first.press("Enter")
    page.wait_for_selector("#evidence .evidence")
    page.keyboard.press("Escape")
    page.wait_for_selector("body:not(.has-evidence)")


def test_a_follow_up_goes_on_with_the_conversation(page: Page) -> None:
    ask(page, "What does the lost property policy say about animals?")
    ask(page, "And about umbrellas?")
    assert page.locator(".turn").count() == 2
    assert page.locator("#conversations li.current").count() == 1


def test_the_scope_restricts_the_question_and_is_shown(page: Page) -> None:
    page.locator("#scope > button").click()
    page.get_by_label("Labels", exact=True).click()
    page.locator("[role=option]", has_text="department: railway").first.click()
    page.keyboard.press("Escape")
    page.wait_for_selector("#scope-chips .chip:has-text('railway')")
    ask(page, "What was decided?")
    assert "railway" in page.locator(".turn .bubble .scope").inner_text()
    page.locator("#scope-chips .chip button").first.click()
    page.wait_for_selector("#scope-chips .chip", state="detached")


def test_a_scope_that_cannot_be_used_is_said(page: Page) -> None:
    page.locator("#scope > button").click()
    page.get_by_label("From", exact=True).first.fill("last week")
    page.wait_for_selector("#scope-chips .problem")
    ask(page, "What was decided?")
    assert "not a date" in page.locator(".turn .problem").inner_text()


def test_a_reload_comes_back_to_the_conversation(page: Page) -> None:
    ask(page, QUESTION)
    page.reload()
    page.wait_for_selector(".turn:not([data-status=running])")
    assert page.locator(".turn .words").inner_text() == QUESTION
    page.locator(".turn .answer a.cite").first.click()
    page.wait_for_selector("#evidence mark")


def test_the_page_is_told_apart_for_screen_readers(watched: Watched, site: Site) -> None:
    page = open_page(watched, site.url)
    ask(page, QUESTION)
    assert page.locator("#announcer").inner_text() == "The answer is ready."
    assert page.get_by_role("textbox", name="Question").count() == 1


def test_a_query_with_values_runs_in_the_console_as_it_is(page: Page) -> None:
    ask(page, 'Which documents have a section titled "Swapping a shift"?')
    turn = page.locator(".turn").last
    assert "1 document" in turn.locator(".answer").inner_text()
    turn.locator(".trace > summary").click()
    step = turn.locator(".step", has_text="Queried the graph")
    step.locator("summary").click()
    assert "$title: swapping a shift" in step.locator(".argument").first.inner_text()
    step.get_by_role("button", name="Open in console").click()
    page.wait_for_function(
        "document.querySelector('#cypher textarea')?.value.includes(\"'swapping a shift'\")"
    )
    page.press("#cypher textarea", "Control+Enter")
    page.wait_for_selector("#result tbody tr:has-text('rest-and-shift-swaps.md')")
