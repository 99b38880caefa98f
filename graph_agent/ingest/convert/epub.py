"""EPUB to Markdown: the chapters in reading order."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote
from xml.etree import ElementTree as Xml

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.archive import open_package, read_member
from graph_agent.ingest.convert.html import decode_html, parse_html
from graph_agent.ingest.convert.html_blocks import blocks_of
from graph_agent.ingest.convert.limits import MEGABYTE, Limits
from graph_agent.ingest.convert.ooxml import Element, attribute, descendants, local
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, one_line
from graph_agent.ingest.document import Converted, MetaValue


def convert_epub(data: bytes, name: str, limits: Limits) -> Converted:
    """Convert an e-book (EPUB 2 or 3).

    Raises:
        UnreadableFile: damaged, a bomb, protected, or without chapters.
    """
    package = open_package(data, limits, "EPUB")
    names = {info.filename: info for info in package.infolist()}
    limit = limits.unpacked_mb * MEGABYTE

    def part(path: str) -> bytes | None:
        info = names.get(path) or names.get(unquote(path))
        return None if info is None else read_member(package, info, limit)

    container = _xml(part("META-INF/container.xml"), "META-INF/container.xml")
    root_path = next((attribute(item, "full-path") for item in descendants(container, "rootfile")), "")
    book = _xml(part(root_path), root_path or "the package file")
    folder = posixpath.dirname(root_path)
    manifest = {attribute(item, "id"): item for item in descendants(book, "item")}
    writer = Writer()
    warnings: list[str] = []
    for reference in descendants(book, "itemref"):
        item = manifest.get(attribute(reference, "idref"))
        if item is None or attribute(item, "properties") == "nav":
            continue
        path = posixpath.normpath(posixpath.join(folder, attribute(item, "href").partition("#")[0]))
        chapter = part(path)
        if chapter is None:
            warnings.append(f"chapter {path!r} is missing from the file")
            continue
        for block in blocks_of(parse_html(decode_html(chapter)[0]).body):
            writer.add(block)
    if "META-INF/encryption.xml" in names and not writer.position:
        raise UnreadableFile("the e-book is protected (DRM).")
    metadata, title, language = _properties(book)
    return writer.converted(
        "epub", VERSIONS["epub"], title=title, language=language, metadata=metadata, warnings=warnings
    )


def _xml(data: bytes | None, name: str) -> Element:
    if data is None:
        raise UnreadableFile(f"damaged EPUB: {name} is missing.")
    if b"<!ENTITY" in data.replace(b"\x00", b""):
        raise UnreadableFile(f"EPUB refused: {name!r} declares XML entities.")
    try:
        return Xml.fromstring(data)  # noqa: S314 (no entity can be declared)
    except Xml.ParseError as error:
        raise UnreadableFile(f"damaged EPUB: {name} is not well-formed ({error}).") from None


def _properties(book: Element) -> tuple[dict[str, MetaValue], str | None, str | None]:
    values: dict[str, MetaValue] = {}
    title = language = None
    names = {"creator": "author", "publisher": "publisher", "date": "published", "subject": "subject"}
    for section in descendants(book, "metadata"):
        for item in section.iter():
            text, tag = one_line(item.text or ""), local(item.tag)
            if not text:
                continue
            if tag == "title" and title is None:
                title = text
            elif tag == "language" and language is None:
                language = text
            elif tag in names:
                values.setdefault(names[tag], text[:10] if tag == "date" else text)
    return values, title, language
