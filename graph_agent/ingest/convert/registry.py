"""From bytes to a `Converted`, by kind; the one place that knows which module reads what."""

from __future__ import annotations

from dataclasses import replace

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.detect import MEDIA_TYPES, detect, ending
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.document import Converted

IN_PROCESS = frozenset({"markdown", "text"})
"""Kinds read in the calling process: pure Python, linear, no parser of foreign binary formats."""

BY_LIBREOFFICE: dict[str, str] = {
    "doc": "docx", "rtf": "docx", "odt": "docx", "wpd": "docx", "pages": "docx",
    "xls": "xlsx", "xlsb": "xlsx", "ods": "xlsx", "numbers": "xlsx",
    "ppt": "pptx", "odp": "pptx", "key": "pptx",
}  # fmt: skip
"""Kinds that LibreOffice, when installed, turns into one of ours."""


def converter_versions(*, ocr: bool = False) -> dict[str, str]:
    """Converter name to its name with version, as in `Converted.converter` ("pdf" to "pdf/1").

    Args:
        ocr: whether scanned pages are wanted; those that were left out before are read if that is possible.
    """
    from graph_agent.ingest.convert.ocr import program
    from graph_agent.ingest.convert.text import CONVERTER
    from graph_agent.ingest.convert.versions import UNREAD, VERSIONS

    unread = VERSIONS["pdf"] if ocr and program() is not None else UNREAD
    return {**VERSIONS, CONVERTER.partition("/")[0]: CONVERTER, UNREAD.partition("/")[0]: unread}


def convert(data: bytes, name: str, limits: Limits | None = None) -> Converted:
    """Convert one document to Markdown.

    Args:
        data: the file's bytes.
        name: its name or path; the ending helps to tell the kind, the stem may become the title.
        limits: bounds and passwords; defaults when None.

    Raises:
        UnreadableFile: empty, blank, damaged, encrypted, scanned, a bomb, not a document, or a package is
            missing; the message is the reason, `fix` the way out.
    """
    limits = limits or Limits()
    if not data:
        raise UnreadableFile("empty file (0 bytes).")
    kind = detect(data, name)
    result = _dispatch(kind, data, name, limits)
    if not result.markdown[result.body_start :].strip("\ufeff \t\r\n\f\v\u00a0") and not result.metadata:
        raise UnreadableFile("blank: it holds no text.")
    return result


def _dispatch(kind: str, data: bytes, name: str, limits: Limits) -> Converted:
    if kind in ("markdown", "text"):
        from graph_agent.ingest.convert.text import convert_text

        return convert_text(data, _named(name, kind))
    if kind == "pdf":
        from graph_agent.ingest.convert.pdf import convert_pdf

        return convert_pdf(data, name, limits)
    if kind == "docx":
        from graph_agent.ingest.convert.docx import convert_docx

        return convert_docx(data, name, limits)
    if kind == "pptx":
        from graph_agent.ingest.convert.pptx import convert_pptx

        return convert_pptx(data, name, limits)
    if kind == "xlsx":
        from graph_agent.ingest.convert.xlsx import convert_xlsx

        return convert_xlsx(data, name, limits)
    if kind == "html":
        from graph_agent.ingest.convert.html import convert_html

        return convert_html(data, name)
    if kind in ("vtt", "srt"):
        from graph_agent.ingest.convert.media import convert_transcript

        return convert_transcript(data, name, kind)
    if kind in ("csv", "tsv", "json", "ipynb", "eml", "rst", "org", "asciidoc", "epub"):
        from graph_agent.ingest.convert import others

        return others.CONVERTERS[kind](data, name, limits)
    if kind in BY_LIBREOFFICE:
        from graph_agent.ingest.convert.libreoffice import via_libreoffice

        target = BY_LIBREOFFICE[kind]
        result = _dispatch(target, via_libreoffice(data, name, kind, target, limits), name, limits)
        return replace(result, media_type=MEDIA_TYPES.get(kind, result.media_type))
    raise _refusal(kind, name)


def _named(name: str, kind: str) -> str:
    """A name whose ending says what the content is, for a converter that goes by endings."""
    from graph_agent.ingest.convert.detect import kind_by_ending

    if kind_by_ending(name) == kind:
        return name
    return name + (".md" if kind == "markdown" else ".txt")


def _refusal(kind: str, name: str) -> UnreadableFile:
    if kind == "encrypted-office":
        return UnreadableFile(
            "encrypted: an Office file with a password.",
            "Open it in its program, remove the password (File > Info > Protect) and save it.",
        )
    if kind == "msg":
        return UnreadableFile(
            "Outlook message (.msg) is not read.",
            "Save it as .eml, .html or .txt in Outlook and ingest that.",
        )
    if kind == "zip":
        return UnreadableFile(
            "a zip inside a place where documents are expected.", "Unpack it or ingest it as a folder."
        )
    return UnreadableFile(f"not a document: unknown binary content ({ending(name) or 'no ending'}).")
