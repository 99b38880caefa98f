"""One line that says what a section or document is about, without a model: its first sentence as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape

from graph_agent.ingest.decoding import clean_text
from graph_agent.ingest.document import MetaValue
from graph_agent.text.sentences import sentences

MAX_CHARS = 160
_SHORT_SENTENCE = 20  # "Yes." says nothing: the next sentence is taken along
_MAX_PARAGRAPH = 1_200
_MAX_SCAN = 40_000
_KEYS = ("description", "summary", "abstract", "excerpt", "subtitle")

_BOILERPLATE = re.compile(r"The key ?words [\"“]MUST")  # RFC 2119: stands in specifications of every subject
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r"[ \t]*(?:[-*_][ \t]*){3,}$")
_LEAD = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
_ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+]|\d{1,9}[.)])[ \t]")
_DEFINITION = re.compile(r"[ ]{0,3}\[[^\]]+\]:")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>|<(?=https?://)|(?<=\S)>(?=\s|\Z)")
_IMAGE = re.compile(r"!\[([^\]\[]*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+[^()]*)?\)|\[[^\]]*\])")
_LINK = re.compile(r"\[([^\]\[]*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+[^()]*)?\)|\[[^\]]*\])")
_WIKI = re.compile(r"!?\[\[([^\]\[|]*)(?:\|([^\]\[]*))?\]\]")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_CODE = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
_STRONG = re.compile(r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)", re.DOTALL)  # snake_case is none
_PROTECTED = re.compile("[\ue021-\ue07e]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def description_of(markdown: str, metadata: Mapping[str, MetaValue] | None = None) -> str:
    """One line of at most 160 characters about a section or document; "" if there is nothing to say.

    The document's own description (front matter `description`, `summary`, `abstract`), else the first
    sentence of the first paragraph of prose; if there is none, of the first list item, table row or line.

    Args:
        markdown: a section's text, or a document's without front matter.
        metadata: front matter or document properties, for a document.
    """
    for key in _KEYS:
        value = (metadata or {}).get(key)
        if isinstance(value, str) and (own := plain_text(value[:_MAX_PARAGRAPH])):
            return _shortened(own)
    fallback = ""
    for paragraph, prose in _paragraphs(markdown[:_MAX_SCAN]):
        text = plain_text(paragraph[:_MAX_PARAGRAPH])
        if (
            prose
            and any(map(str.isalpha, _IMAGE.sub("", paragraph[:_MAX_PARAGRAPH])))
            and not _BOILERPLATE.match(text)
        ):
            return _first_sentence(text)
        if not fallback and any(map(str.isalnum, text)):
            fallback = _first_sentence(text)
    return fallback or _first_code_line(markdown[:_MAX_SCAN])


def plain_text(markdown: str) -> str:
    """Inline Markdown as a reader sees it, on one line: links by their text, no marks, no tags."""
    text = markdown
    if "\\" in text:
        # escaped marks are out of sight until all others are gone
        text = _ESCAPE.sub(lambda match: chr(0xE000 + ord(match[1])), text)
    if "<" in text:
        text = _TAG.sub("", _COMMENT.sub("", text))
    if "[" in text:
        text = _FOOTNOTE.sub("", text)
        text = _WIKI.sub(lambda match: match[2] or match[1], text)
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    if "`" in text:
        text = _CODE.sub(r"\2", text)
    if "*" in text or "~" in text:
        text = _STRONG.sub(r"\2", _STRONG.sub(r"\2", text))
    if "_" in text:
        text = _UNDERSCORED.sub(r"\2", text)
    if "&" in text:
        text = unescape(text)
    if "\\" in markdown:
        text = _PROTECTED.sub(lambda match: chr(ord(match[0]) - 0xE000), text)
    return clean_text(" ".join(text.split()))


def _paragraphs(markdown: str) -> Iterator[tuple[str, bool]]:
    """Runs of lines and whether they are prose; headings, code, comments and link definitions are left out."""
    lines = re.split(r"\r\n?|\n", _COMMENT.sub("", markdown) if "<!--" in markdown else markdown)
    run: list[str] = []
    prose = True
    fence = ""
    for index, line in enumerate([*lines, ""]):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        following = lines[index + 1] if index + 1 < len(lines) else ""
        stripped = line.strip()
        underlined = bool(stripped) and not run and _UNDERLINE.match(following) is not None
        if _ends_run(line, stripped, mark) or underlined or (run and _ITEM.match(line)):
            if run:
                yield " ".join(run), prose
            run = []
            if mark:
                fence = mark[1]
        if _is_text(line, stripped, mark) and not underlined:
            if not run:
                prose = not _ITEM.match(line) and not stripped.startswith("|")
            run.append(_LEAD.sub("", _cells(stripped), count=1) if not run else line.strip(" \t>"))
            if sum(map(len, run)) > _MAX_PARAGRAPH:
                yield " ".join(run), prose
                run = []


def _cells(line: str) -> str:
    """A table row's cells parted by commas; any other line as it is."""
    if not line.startswith("|"):
        return line
    return ", ".join(cell.strip() for cell in line.strip("|").split("|") if cell.strip(" :-"))


def _first_code_line(markdown: str) -> str:
    """The first line with a word inside a code block, for a section that holds nothing else."""
    fence = ""
    for line in re.split(r"\r\n?|\n", markdown):
        mark = _FENCE.match(line)
        if fence and not (mark and mark[1].startswith(fence)):
            if any(map(str.isalpha, line)):
                return clean_text(_shortened(" ".join(line.split())))
        elif mark:
            fence = "" if fence else mark[1]
    return ""


def _ends_run(line: str, stripped: str, fence: re.Match[str] | None) -> bool:
    return not stripped or fence is not None or _HEADING.match(line) is not None or stripped.startswith("|")


def _is_text(line: str, stripped: str, fence: re.Match[str] | None) -> bool:
    return (
        bool(stripped)
        and fence is None
        and not _HEADING.match(line)
        and not _RULE.match(line)
        and not _UNDERLINE.match(line)
        and not _DEFINITION.match(line)
    )


def _first_sentence(text: str) -> str:
    spans = sentences(text[:_MAX_PARAGRAPH])
    end = 0
    for _, end in spans:
        if end >= _SHORT_SENTENCE:
            break
    return _shortened(text[:end])


def _shortened(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    cut = text[: MAX_CHARS - 1]
    blank = cut.rfind(" ")
    return (cut[:blank] if blank > MAX_CHARS // 2 else cut).rstrip(" ,;:–-") + "…"
