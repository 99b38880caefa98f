"""PDF to Markdown: reading order, structure, tables, pages, and files that cannot be read."""

from __future__ import annotations

import pytest
from documents.pdf import Page, pdf

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.pdf import convert_pdf
from graph_agent.ingest.document import Converted

LEFT = (
    "The left column begins with this line of text",
    "and it goes on with a second line of the words",
    "that belong together, then a third one follows",
    "which is as wide as the others in this column",
    "and here the left column comes to its own end.",
)
RIGHT = (
    "The right column has its own sentences to read",
    "after the left one, never mixed into its lines",
    "whatever the baselines of both the columns are",
    "because a reader reads down before going over",
    "and so the right column ends at the very last.",
)
BODY = "Ordinary text of a body paragraph that is long enough to be the most common size of the page."


def convert(*pages: Page, **more: object) -> Converted:
    return convert_pdf(pdf(*pages, **more), "a.pdf")  # type: ignore[arg-type]


def filler(page: Page, y: float = 600, count: int = 6) -> Page:
    return page.lines(72, y, *[BODY] * count)


@pytest.mark.parametrize("shift", [0, 5])
def test_two_columns_are_read_one_after_the_other(shift: float) -> None:
    page = Page().text(72, 720, "A heading across both of the columns of this page here, wide", 16)
    page.lines(72, 680, *LEFT).lines(320, 680 - shift, *RIGHT)
    page.text(
        72,
        560,
        "A closing line below both columns that runs over the whole width of the page, as captions do.",
    )
    text = convert(page).markdown
    order = [text.index(part) for part in ("A heading", LEFT[0], LEFT[4], RIGHT[0], RIGHT[4], "A closing")]
    assert order == sorted(order)
    assert " ".join(LEFT) in text


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_rotated_pages_read_as_upright_ones(rotate: int) -> None:
    page = Page(rotate=rotate).lines(72, 700, "First line of a page,", "second line of it.")
    assert convert(page).markdown == "First line of a page, second line of it.\n"


def test_text_drawn_sideways_is_turned() -> None:
    page = Page()
    for number, text in enumerate(("Sideways first line", "and the second one")):
        page.content.append(f"BT /F1 10 Tf 0 1 -1 0 {100 + 12 * number} 100 Tm ({text}) Tj ET")
    assert convert(page).markdown == "Sideways first line and the second one\n"


def test_headings_by_size_and_numbering() -> None:
    page = Page().text(72, 740, "Annual Report", 22).text(72, 700, "1 Introduction", 14, "F2")
    page.lines(72, 680, *[BODY] * 3).text(72, 630, "1.1 Scope", 12, "F2").lines(72, 610, *[BODY] * 3)
    page.text(72, 560, "2 Results", 14, "F2").lines(72, 540, *[BODY] * 3)
    found = convert(page)
    assert [(block.level, block.title, block.kind) for block in found.blocks] == [
        (1, "Annual Report", "heading"),
        (2, "1 Introduction", "heading"),
        (3, "1.1 Scope", "heading"),
        (2, "2 Results", "heading"),
    ]
    for block in found.blocks:
        assert found.markdown[block.start :].startswith("#" * block.level + " " + block.title)
        assert block.page == 1


def test_the_outline_decides_where_its_titles_are_in_the_text() -> None:
    pages = [filler(Page().text(72, 700, "Alpha"), 680), filler(Page().text(72, 700, "2. Beta part"), 680)]
    outline = [(1, "Alpha", 0, 712.0), (2, "Beta part", 1, 712.0), (1, "Not in the text", 1, 640.0)]
    found = convert(*pages, outline=outline)
    assert [(block.level, block.title, block.page) for block in found.blocks] == [
        (1, "Alpha", 1),
        (2, "Beta part", 2),
        (1, "Not in the text", 2),
    ]
    assert found.markdown.startswith("# Alpha\n")
    assert "\n## 2. Beta part\n" in found.markdown
    assert found.blocks[2].start > found.blocks[1].start


def test_an_outline_of_other_titles_gives_way_to_the_type() -> None:
    page = filler(Page().text(72, 720, "Real Heading", 18), 690)
    filler(page.text(72, 600, "Another Real One", 18), 580)
    wrong = [(1, "Chapter A", 0, 700.0), (1, "Chapter B", 0, 500.0), (1, "Chapter C", 0, 300.0)]
    assert [block.title for block in convert(page, outline=wrong).blocks] == [
        "Real Heading",
        "Another Real One",
    ]


def test_an_outline_of_the_title_alone_gives_way_to_the_headings() -> None:
    page = Page().text(72, 740, "The Title of the Paper", 18).text(72, 700, "1 Introduction", 14, "F2")
    found = convert(filler(page), outline=[(1, "The Title of the Paper", 0, 760)])
    assert [block.title for block in found.blocks] == ["The Title of the Paper", "1 Introduction"]


def test_a_page_number_is_no_heading() -> None:
    page = Page().text(72, 740, "A Report", 18).text(450, 60, "Page 1 of 1", 14)
    assert [block.title for block in convert(filler(page)).blocks] == ["A Report"]


def test_without_headings_each_page_is_a_section() -> None:
    found = convert(
        *(Page().lines(72, 700, f"Text of page number {word}.") for word in ("one", "two", "three"))
    )
    assert [(block.kind, block.title, block.page) for block in found.blocks] == [
        ("page", "Page 1", 1),
        ("page", "Page 2", 2),
        ("page", "Page 3", 3),
    ]
    assert found.pages == tuple((block.start, block.page) for block in found.blocks)
    assert found.page_count == 3
    assert found.markdown[found.pages[1][0] :].startswith("Text of page number two.")


def test_running_heads_and_page_numbers_go_repeated_prose_stays() -> None:
    pages = []
    for number in range(4):
        page = (
            Page().text(72, 770, "ACME Corporation - Confidential").text(300, 30, f"Page {number + 1} of 4")
        )
        pages.append(filler(page.text(72, 720, f"Section {number}", 16), 690))
    text = convert(*pages).markdown
    assert "Confidential" not in text
    assert "of 4" not in text
    assert text.count(BODY) == 24
    assert "# Section 3" in text  # at the edge and numbered, but a heading by its size


def test_ruled_tables_become_markdown() -> None:
    page = filler(Page(), 740, 2).grid([72, 200, 300, 400], [700, 680, 660, 640])
    for row, y in enumerate((686, 666, 646)):
        for column, x in enumerate((76, 204, 304)):
            page.text(x, y, ("Name", "Size", "a|b")[column] if row == 0 else f"r{row}c{column}")
    filler(page, 600, 2)
    text = convert(page).markdown
    assert (
        "| Name | Size | a\\|b |\n| --- | --- | --- |\n| r1c0 | r1c1 | r1c2 |\n| r2c0 | r2c1 | r2c2 |" in text
    )
    assert text.index(BODY) < text.index("| Name") < text.rindex(BODY)


def test_columns_of_figures_without_lines_between_them_are_rows() -> None:
    page = Page().grid([72, 252, 372, 472], [700, 680, 560])
    page.text(80, 685, "Name").text(260, 685, "Remark").text(380, 685, "Amount")
    page.lines(80, 665, "Anna Berg", "Otto Klein", "Ines Roth", "", "Paul Sommer", pitch=20)
    page.lines(260, 665, "paid", "late", "paid in two", "parts", "open", pitch=20)
    page.lines(380, 665, "1,200.50", "80.00", "17.25", "", "9.99", pitch=20)
    rows = [line for line in convert(filler(page, 500)).markdown.splitlines() if line.startswith("|")]
    assert rows == [
        "| Name | Remark | Amount |",
        "| --- | --- | --- |",
        "| Anna Berg | paid | 1,200.50 |",
        "| Otto Klein | late | 80.00 |",
        "| Ines Roth | paid in two parts | 17.25 |",
        "| Paul Sommer | open | 9.99 |",
    ]


def test_wrapped_cells_stay_one_row() -> None:
    page = Page().grid([72, 272, 472], [700, 680, 560])
    page.text(80, 685, "Requirement").text(280, 685, "Reason")
    page.lines(80, 665, "The pump must be", "stopped before the", "valve 12 is opened", "by hand", pitch=14)
    page.lines(280, 665, "A pressure above", "20 bar broke the", "seal of the valve", "in 2019", pitch=14)
    assert (
        "| The pump must be stopped before the valve 12 is opened by hand "
        "| A pressure above 20 bar broke the seal of the valve in 2019 |"
    ) in convert(filler(page, 500)).markdown


def test_aligned_columns_without_lines_become_a_table() -> None:
    page = filler(Page(), 740, 2)
    for row, values in enumerate(
        (("City", "People", "Area"), ("Bern", "134,000", "51.6"), ("Thun", "43,000", "21.6"))
    ):
        for value, x in zip(values, (72, 250, 400), strict=True):
            page.text(x, 680 - 14 * row, value)
    text = convert(filler(page, 600, 2)).markdown
    assert (
        "| City | People | Area |\n| --- | --- | --- |\n| Bern | 134,000 | 51.6 |\n| Thun | 43,000 | 21.6 |"
        in text
    )


def test_false_bold_is_read_once_and_double_letters_stay() -> None:
    page = (
        Page()
        .text(72, 700, "Hello balloon")
        .text(72.3, 700, "Hello balloon")
        .text(72, 650, "illness off toffee")
    )
    assert convert(page).markdown == "Hello balloon\n\nillness off toffee\n"


def test_text_beyond_the_page_is_not_there() -> None:
    assert (
        convert(Page().text(72, 700, "seen").text(900, 700, "unseen").text(72, -50, "below")).markdown
        == "seen\n"
    )


def test_paragraphs_hyphens_bullets_and_code() -> None:
    page = Page().lines(
        72, 720, "A paragraph with a hyphen-", "ated word in it, which goes", "on to the end."
    )
    page.lines(72, 660, "\u2022 first point", "\u2022 second point").lines(
        72, 600, "def f(x):", "    return x", font="F3"
    )
    assert convert(page).markdown == (
        "A paragraph with a hyphenated word in it, which goes on to the end.\n\n- first point\n\n- second point\n\n"
        "```\ndef f(x):\n    return x\n```\n"
    )


def test_text_that_looks_like_markdown_stays_text() -> None:
    text = convert(
        Page().text(72, 700, "# 5 is a number").text(72, 600, "<script>alert(1)</script>")
    ).markdown
    assert text == "\\# 5 is a number\n\n\\<script>alert(1)</script>\n"


def test_properties() -> None:
    found = convert(
        Page().text(72, 700, "x"),
        info="/Title (My Title) /Author (Ann) /CreationDate (D:20240301120000Z)",
        catalog="/Lang (en-GB)",
    )
    assert (found.title, found.language) == ("My Title", "en-GB")
    assert found.metadata == {"author": "Ann", "created": "2024-03-01"}
    assert convert(Page().text(72, 700, "x"), info="/Title (Microsoft Word - a.doc)").title is None


def test_scans_are_named_as_such_and_single_blank_pages_too() -> None:
    with pytest.raises(UnreadableFile, match=r"no text layer: scanned \(2 pages\); OCR is off") as caught:
        convert(Page(image=True), Page(image=True))
    assert "ocrmypdf" in caught.value.fix
    with pytest.raises(UnreadableFile, match="its page is blank"):
        convert(Page())
    found = convert(
        Page().text(72, 700, "text"), Page(image=True), Page(), Page(image=True), Page(image=True)
    )
    assert found.warnings == ("no text on pages 2, 4-5 (scanned?)",)
    assert found.page_count == 5


def test_a_long_book_is_taken_as_plain_text_when_time_runs_out() -> None:
    pages = [Page().lines(72, 700, f"Words of page {number}", "go on here.") for number in range(5)]
    found = convert_pdf(pdf(*pages), "a.pdf", Limits(timeout_s=1e-9))
    assert [found.markdown[start:].split("\n")[0] for start, _ in found.pages] == [
        f"Words of page {number} go on here." for number in range(5)
    ]
    assert "from page 1 on read as plain text" in found.warnings[0]


def test_damaged_files_are_named_and_a_broken_xref_is_mended() -> None:
    whole = pdf(Page().text(72, 700, "still here"))
    with pytest.raises(UnreadableFile, match="damaged PDF"):
        convert_pdf(whole[:200], "a.pdf")
    broken = whole.replace(b"startxref\n", b"startxref\n9")
    assert convert_pdf(broken, "a.pdf").markdown == "still here\n"
