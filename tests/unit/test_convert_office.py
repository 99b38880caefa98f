"""Word, PowerPoint and Excel files to Markdown."""

from __future__ import annotations

import time
import zipfile

import pytest
from documents import office as files

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.registry import convert

p, docx, pptx, xlsx, shape = files.p, files.docx, files.pptx, files.xlsx, files.shape


def body(data: bytes, name: str = "a.docx") -> str:
    return convert(data, name).markdown


# Word ----------------------------------------------------------------------------------------------


def test_headings_by_style_inheritance_and_outline_level() -> None:
    text = body(
        docx(
            p("The Title", "Titel")
            + p("Eins", "berschrift1")
            + p("Zwei", "Mine")
            + p("Drei", properties='<w:outlineLvl w:val="2"/>')
            + p("Text.", properties='<w:outlineLvl w:val="9"/>')
        )
    )
    assert text == "# The Title\n\n# Eins\n\n## Zwei\n\n### Drei\n\nText.\n"


def test_bold_lines_are_headings_only_without_heading_styles() -> None:
    bold, plain_text = "<w:b/>", p("Some longer text that follows the heading.") * 3
    assert body(docx(p("Scope", run=bold) + plain_text)).startswith("## Scope\n\nSome longer")
    assert "## Scope" not in body(docx(p("Real", "berschrift1") + p("Scope", run=bold) + plain_text))


def test_text_that_looks_like_markdown_stays_text() -> None:
    text = body(
        docx(
            p("# no heading")
            + p("- no item")
            + p("&lt;script&gt;x")
            + p("---")
            + p("&gt; no quote")
            + p("```")
        )
    )
    assert text == "\\# no heading\n\n\\- no item\n\n\\<script>x\n\n\\---\n\n\\> no quote\n\n\\```\n"


def test_lists_numbers_and_numbered_headings() -> None:
    numbering = (
        f'<w:numbering {files.W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
        '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/>'
        '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
        "</w:numbering>"
    )

    def number(num: int, level: int) -> str:
        return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num}"/></w:numPr>'

    text = body(
        docx(
            p("One", "berschrift1", number(1, 0))
            + p("Sub", "H2", number(1, 1))
            + p("Two", "berschrift1", number(1, 0))
            + p("Sub", "H2", number(1, 1))
            + p("deep first", properties=number(2, 1))
            + p("b", properties=number(2, 1))
            + p("a", properties=number(2, 0)),
            {"word/numbering.xml": numbering},
            files.relations(("s", "styles", "styles.xml"), ("n", "numbering", "numbering.xml")),
        )
    )
    assert text.startswith("# 1. One\n\n## 1.1 Sub\n\n# 2. Two\n\n## 2.1 Sub\n\n")
    assert text.endswith("\n\n- deep first\n    - b\n- a\n")  # the first item never becomes a code block


def test_tables_merges_and_pipes() -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"

    table = (
        f"<w:tbl><w:tr>{cell('a|b')}{cell('c', '<w:gridSpan w:val=' + chr(34) + '2' + chr(34) + '/>')}</w:tr>"
        f"<w:tr>{cell('top', '<w:vMerge w:val=' + chr(34) + 'restart' + chr(34) + '/>')}{cell('1')}{cell('2')}</w:tr>"
        f"<w:tr>{cell('gone', '<w:vMerge/>')}{cell('3')}</w:tr></w:tbl>"
    )
    assert body(docx(table)) == "| a\\|b | c |  |\n| --- | --- | --- |\n| top | 1 | 2 |\n|  | 3 |  |\n"


def test_deletions_links_notes_comments_boxes_and_formulas() -> None:
    inline = (
        "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new </w:t></w:r></w:ins>"
        '<w:hyperlink r:id="l"><w:r><w:t>site</w:t></w:r></w:hyperlink><w:hyperlink r:id="j"><w:r><w:t> js</w:t></w:r>'
        '</w:hyperlink><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>'
    )
    box = (
        '<w:p><w:r><mc:AlternateContent xmlns:mc="x"><mc:Choice><w:drawing><w:txbxContent>' + p("In a box")
        + "</w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent>" + p("In a box")
        + "</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )  # fmt: skip
    math = (
        '<w:p xmlns:m="y"><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den>'
        "</m:f></m:oMath></w:p>"
    )
    text = body(
        docx(
            inline + box + math + p("x = 1", "Code") + p("y = 2", "Code"),
            {
                "word/footnotes.xml": f'<w:footnotes {files.W}><w:footnote w:id="2">{p("A note.")}</w:footnote></w:footnotes>',
                "word/comments.xml": f'<w:comments {files.W}><w:comment w:id="0" w:author="Ann">{p("Why?")}</w:comment></w:comments>',
            },
            files.relations(
                ("s", "styles", "styles.xml"), ("l", "hyperlink", "https://x.org/a b"), ("f", "footnotes", "footnotes.xml"),
                ("j", "hyperlink", "javascript:alert(1)"), ("c", "comments", "comments.xml"),
            ),
        )
    )  # fmt: skip
    assert text == (
        "new [site](<https://x.org/a b>) js[^2]\n\n> Comment by Ann: Why?\n\nIn a box\n\n$\\frac{a}{b}$\n\n"
        "```\nx = 1\ny = 2\n```\n\n[^2]: A note.\n"
    )


def test_properties() -> None:
    core = (
        '<c:coreProperties xmlns:c="c" xmlns:dc="dc" xmlns:t="t"><dc:title>My report</dc:title><dc:creator>Ann</dc:creator>'
        "<t:created>2024-03-01T10:00:00Z</t:created><dc:language>de-DE</dc:language></c:coreProperties>"
    )
    found = convert(docx(p("x"), {"docProps/core.xml": core}), "a.docx")
    assert (found.title, found.language, found.metadata) == (
        "My report",
        "de-DE",
        {"author": "Ann", "created": "2024-03-01"},
    )


# safety --------------------------------------------------------------------------------------------


def test_an_entity_bomb_is_refused_at_once() -> None:
    entities = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    bomb = (
        f'<!DOCTYPE d [<!ENTITY x0 "lol">{entities}]>'
        + f"<w:document {files.W}><w:body>{p('&x11;')}</w:body></w:document>"
    )
    for data in (bomb.encode(), bomb.encode("utf-16")):
        started = time.monotonic()
        with pytest.raises(UnreadableFile, match="declares XML entities"):
            convert(docx("", {"word/document.xml": data}), "a.docx")
        assert time.monotonic() - started < 1
    with pytest.raises(UnreadableFile, match="declares XML entities"):
        convert(files.packed({**_parts(xlsx({"S": "<row/>"})), "xl/sharedStrings.xml": bomb}), "a.xlsx")


def _parts(data: bytes) -> dict[str, bytes]:
    import io

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_zip_bomb_is_refused_before_it_is_read() -> None:
    data = docx(p("x"), {"word/media/zeros.bin": bytes(60 << 20)})
    with pytest.raises(UnreadableFile, match="zip bomb"):
        convert(data, "a.docx")
    with pytest.raises(UnreadableFile, match=r"would unpack to 60 MB \(limit 8 MB\)"):
        convert(data, "a.docx", Limits(unpacked_mb=8))


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
def test_damaged_packages_are_named(name: str) -> None:
    with pytest.raises(UnreadableFile, match="damaged"):
        convert(b"PK\x03\x04" + b"x" * 50, name)


def test_nesting_without_end_ends() -> None:
    deep = "<w:sdt><w:sdtContent>" * 500 + p("deep") + "</w:sdtContent></w:sdt>" * 500
    assert body(docx(p("top") + deep)) == "top\n"


# PowerPoint ----------------------------------------------------------------------------------------


def test_slides_are_blocks_with_notes_in_the_order_of_the_show() -> None:
    found = convert(
        pptx(
            shape("Start", "ctrTitle") + shape("a\nb", "body") + shape("3", "sldNum"),
            shape("free text"),
            shape("Ende", "title"),
            notes={0: "Say hello.\nThen go on."},
        ),
        "a.pptx",
    )
    assert found.markdown == (
        "## Start\n\n- a\n- b\n\nNotes:\n\nSay hello.\n\nThen go on.\n\n## Slide 2\n\nfree text\n\n## Ende\n"
    )
    assert [(block.kind, block.title, block.page) for block in found.blocks] == [
        ("slide", "Start", 1),
        ("slide", "Slide 2", 2),
        ("slide", "Ende", 3),
    ]
    assert found.page_count == 3
    assert [number for _, number in found.pages] == [1, 2, 3]
    for block, (start, _) in zip(found.blocks, found.pages, strict=True):
        assert block.start == start
        assert found.markdown[block.start :].startswith("## ")


def test_tables_and_charts_on_slides() -> None:
    cells = "".join(
        f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>" for text in "ab"
    )
    frame = (
        "<p:graphicFrame><a:graphic><a:graphicData>"
        f"<a:tbl><a:tr>{cells}</a:tr><a:tr>{cells}</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    group = f"<p:grpSp>{frame}</p:grpSp>"
    assert "| a | b |\n| --- | --- |\n| a | b |" in convert(pptx(group), "a.pptx").markdown


# Excel ---------------------------------------------------------------------------------------------


def test_values_as_the_sheet_shows_them() -> None:
    styles = (
        f'<styleSheet {files.S}><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy\\ hh:mm"/>'
        '<numFmt numFmtId="165" formatCode="[Red]0.0&quot;day&quot;"/></numFmts><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="10"/><xf numFmtId="20"/><xf numFmtId="165"/></cellXfs></styleSheet>'
    )
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>in|line</t></is></c></row>'
        '<row r="2"><c r="A2" s="1"><v>45352</v></c><c r="B2" s="2"><v>45352.5</v></c><c r="C2" s="3"><v>0.125</v></c>'
        '<c r="D2" s="4"><v>0.75</v></c><c r="E2" s="5"><v>3</v></c></row>'
        '<row r="3"><c r="A3"><v>0.30000000000000004</v></c><c r="B3" t="b"><v>1</v></c><c r="C3"><f>SUM(A1:A2)</f></c>'
        '<c r="D3" t="e"><v>#N/A</v></c><c r="E3" t="str"><f>A1</f><v>text</v></c></row>'
    )
    found = convert(xlsx({"Data": rows}, ("shared",), styles), "a.xlsx")
    assert found.markdown == (
        "## Data\n\n| shared | in\\|line |  |  |  |\n| --- | --- | --- | --- | --- |\n"
        "| 2024-03-01 | 2024-03-01 12:00 | 12.5% | 18:00 | 3 |\n| 0.3 | TRUE | =SUM(A1:A2) | #N/A | text |\n"
    )


def test_sheets_are_blocks_and_blank_rows_part_tables() -> None:
    def row(number: int, *values: str) -> str:
        cells = "".join(
            f'<c r="{chr(65 + n)}{number}" t="inlineStr"><is><t>{value}</t></is></c>'
            for n, value in enumerate(values)
            if value
        )
        return f'<row r="{number}">{cells}</row>'

    first = (
        row(1, "Ducks by year")
        + row(2, "Year", "Count")
        + row(3, "2020", "5")
        + row(6, "x", "y")
        + row(7, "1", "2")
    )
    merged = row(1, "", "Quarter") + row(2, "Name", "Q1", "Q2") + row(3, "n", "1", "2")
    found = convert(
        xlsx(
            {"One": first, "Two": merged + '<mergeCells><mergeCell ref="B1:C1"/></mergeCells>', "Blank": ""}
        ),
        "a.xlsx",
    )
    assert found.markdown == (
        "## One\n\nDucks by year\n\n| Year | Count |\n| --- | --- |\n| 2020 | 5 |\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n\n"
        "## Two\n\nQuarter\n\n| Name | Q1 | Q2 |\n| --- | --- | --- |\n| n | 1 | 2 |\n"
    )
    assert [(block.kind, block.title) for block in found.blocks] == [
        ("sheet", "One"),
        ("sheet", "Two"),
        ("sheet", "Blank"),
    ]
    assert found.markdown[found.blocks[1].start : found.blocks[1].end].startswith("## Two")
    with pytest.raises(UnreadableFile, match="no sheet holds a value"):
        convert(xlsx({"Blank": ""}), "a.xlsx")


def test_old_formats_name_the_way_to_convert_them() -> None:
    with pytest.raises(UnreadableFile, match=r"\.rtf is read only by way of LibreOffice") as caught:
        convert(b"{\\rtf1 hello}", "a.rtf", Limits(office=False))
    assert "--convert-to docx" in caught.value.fix
