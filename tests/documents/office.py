"""Office files from a few lines of XML."""

from __future__ import annotations

import io
import zipfile

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'

STYLES = f"""<w:styles {W}>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="My Head"/><w:basedOn w:val="H2"/></w:style>
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Code"><w:name w:val="Source Code"/></w:style>
</w:styles>"""


def packed(parts: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def relations(*entries: tuple[str, str, str]) -> str:
    """Relationships (id, kind, target); an address is external."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{TYPES}/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if ':' in target else ''}/>"
        for key, kind, target in entries
    )
    return f"<Relationships {RELS}>{rows}</Relationships>"


def docx(body: str, extra: dict[str, str | bytes] | None = None, rels: str = "") -> bytes:
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("a", "officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {W} {R}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": STYLES,
        "word/_rels/document.xml.rels": rels or relations(("s", "styles", "styles.xml")),
    }
    return packed({**parts, **(extra or {})})


def p(text: str, style: str = "", properties: str = "", run: str = "") -> str:
    """A paragraph of one run."""
    head = f'<w:pStyle w:val="{style}"/>' if style else ""
    return (
        f"<w:p><w:pPr>{head}{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr>"
        f'<w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def pptx(*slides: str, notes: dict[int, str] | None = None) -> bytes:
    """A presentation; each slide is given as the shapes of its tree."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("a", "officeDocument", "ppt/presentation.xml")),
    }
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(len(slides)))
    parts["ppt/presentation.xml"] = f"<p:presentation {P} {R}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    # Files are numbered backwards: the order of the show is the list's, not the names'.
    targets = [(f"rId{n}", "slide", f"slides/slide{len(slides) - n}.xml") for n in range(len(slides))]
    parts["ppt/_rels/presentation.xml.rels"] = relations(*targets)
    for n, shapes in enumerate(slides):
        name = f"slide{len(slides) - n}.xml"
        parts[f"ppt/slides/{name}"] = (
            f"<p:sld {P} {A} {R}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
        if notes and n in notes:
            parts[f"ppt/slides/_rels/{name}.rels"] = relations(("n", "notesSlide", f"../notes/n{n}.xml"))
            parts[f"ppt/notes/n{n}.xml"] = (
                f"<p:notes {P} {A}><p:cSld><p:spTree>{shape(notes[n], 'body')}{shape('7', 'sldNum')}"
                "</p:spTree></p:cSld></p:notes>"
            )
    return packed(parts)


def shape(text: str, kind: str = "", level: int = 0) -> str:
    """A text shape; `kind` is the placeholder's type, "" for a free text box, "body" for a body."""
    place = f'<p:ph type="{kind}"/>' if kind and kind != "body" else "<p:ph/>" if kind else ""
    paragraphs = "".join(
        f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{line}</a:t></a:r></a:p>' for line in text.split("\n")
    )
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:cNvSpPr/><p:nvPr>{place}</p:nvPr></p:nvSpPr>'
        f"<p:txBody>{paragraphs}</p:txBody></p:sp>"
    )


def xlsx(sheets: dict[str, str], strings: tuple[str, ...] = (), styles: str = "") -> bytes:
    """A workbook; each sheet is given as its rows, its merged cells after them."""
    names = list(sheets)
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names))
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("a", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"<workbook {S} {R}><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            *((f"r{n}", "worksheet", f"worksheets/s{n}.xml") for n in range(len(names))),
            ("st", "sharedStrings", "sharedStrings.xml"),
            ("sy", "styles", "styles.xml"),
        ),
        "xl/sharedStrings.xml": f"<sst {S}>{''.join(f'<si><t>{text}</t></si>' for text in strings)}</sst>",
        "xl/styles.xml": styles or f"<styleSheet {S}/>",
    }
    for n, name in enumerate(names):
        rows, _, merged = sheets[name].partition("<mergeCells")
        tail = f"<mergeCells{merged}" if merged else ""
        parts[f"xl/worksheets/s{n}.xml"] = f"<worksheet {S}><sheetData>{rows}</sheetData>{tail}</worksheet>"
    return packed(parts)
