"""HTML to Markdown by an HTML5 parser; scripts, styles and navigation are left out, nothing is fetched."""

from __future__ import annotations

import re
from typing import Any

from graph_agent.ingest.convert.html_blocks import blocks_of
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, missing, one_line
from graph_agent.ingest.decoding import decode
from graph_agent.ingest.document import Converted, MetaValue

CONVERTER = VERSIONS["html"]

_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)


def convert_html(data: bytes, name: str) -> Converted:
    """Convert an HTML page.

    Args:
        data: the file; its encoding is found by byte order mark, <meta charset>, then by the bytes.
        name: its name, for messages.

    Raises:
        UnreadableFile: not text, or the parser is not installed.
    """
    text, warning = decode_html(data)
    tree = parse_html(text)
    writer = Writer()
    for block in blocks_of(_content(tree)):
        writer.add(block)
    metadata, title, language = _properties(tree)
    return writer.converted(
        "html",
        CONVERTER,
        title=title,
        language=language,
        metadata=metadata,
        warnings=[warning] if warning else [],
    )


def decode_html(data: bytes) -> tuple[str, str]:
    """The text of an HTML file, and a warning if bytes had to be replaced."""
    declared = _CHARSET.search(data[:4_096])
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        codec = declared[1].decode("ascii").lower()
        # The HTML standard reads these labels as windows-1252 and gbk.
        codec = {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "gb2312": "gb18030"}.get(
            codec, codec
        )
        if not codec.startswith("utf-16"):
            try:
                return data.decode(codec), ""
            except (LookupError, UnicodeDecodeError):
                pass
    decoded = decode(data)
    return decoded.text, decoded.warning


def parse_html(text: str) -> Any:
    """The HTML5 tree of a text.

    Raises:
        UnreadableFile: selectolax is not installed.
    """
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise missing("selectolax", "HTML") from None
    return LexborHTMLParser(clean(text) or " ")


def _content(tree: Any) -> Any:
    """The part of the page that is its text: <main> when there is one that holds most of it, else <body>."""
    mains = tree.css("main, [role=main]")
    if len(mains) == 1 and len(mains[0].text(separator=" ").strip()) > 200:
        return mains[0]
    return tree.body if tree.body is not None else tree.root


def _properties(tree: Any) -> tuple[dict[str, MetaValue], str | None, str | None]:
    values: dict[str, MetaValue] = {}
    names = {
        "author": "author", "description": "summary_of_page", "keywords": "keywords", "article:published_time": "published",
        "article:modified_time": "modified", "dc.date": "published", "dcterms.created": "created", "date": "date",
        "dc.creator": "author",
    }  # fmt: skip
    og_title = ""
    for item in tree.css("meta"):
        key = (item.attributes.get("name") or item.attributes.get("property") or "").lower()
        content = one_line(item.attributes.get("content") or "")
        if key == "og:title":
            og_title = content
        elif key in names and content and names[key] not in values:
            text = content[:10] if re.match(r"\d{4}-\d\d-\d\dT", content) else content[:1_000]
            values[names[key]] = text
    found = tree.css_first("head > title") or tree.css_first("title")
    title = one_line(found.text()) if found is not None else ""
    root = tree.css_first("html")
    language = (root.attributes.get("lang") or "") if root is not None else ""
    valid = re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", language)
    return values, title or og_title or None, language if valid else None
