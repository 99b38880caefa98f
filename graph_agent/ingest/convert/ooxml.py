"""The common ground of docx, pptx and xlsx: parts, relationships, XML by local names, document properties.

Names are matched without their namespace, so that Transitional and Strict files read alike.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.archive import open_package, read_member, refuse_entities
from graph_agent.ingest.convert.limits import MEGABYTE, Limits
from graph_agent.ingest.convert.writing import one_line
from graph_agent.ingest.document import MetaValue

Element = Xml.Element


def local(name: object) -> str:
    """A tag or attribute name without its namespace; "" for comments and processing instructions."""
    return name.rsplit("}", 1)[-1] if isinstance(name, str) else ""


def attribute(element: Element, name: str, default: str = "") -> str:
    """An attribute by local name, in whatever namespace."""
    if name in element.attrib:
        return element.attrib[name]
    for key, value in element.attrib.items():
        if local(key) == name:
            return value
    return default


def child(element: Element | None, *path: str) -> Element | None:
    """The first descendant along a path of local names."""
    for name in path:
        if element is None:
            return None
        element = next((item for item in element if local(item.tag) == name), None)
    return element


def children(element: Element | None, name: str) -> Iterator[Element]:
    """Direct children of a local name."""
    return (item for item in (element if element is not None else ()) if local(item.tag) == name)


def descendants(element: Element | None, name: str) -> Iterator[Element]:
    """All descendants of a local name, in document order."""
    return (item for item in (element.iter() if element is not None else ()) if local(item.tag) == name)


def value_of(element: Element | None, *path: str) -> str | None:
    """The `val` attribute of the element at the end of a path, or None if there is no such element."""
    found = child(element, *path)
    return None if found is None else attribute(found, "val")


def is_on(element: Element | None, *path: str) -> bool:
    """Whether an on/off element is there and not switched off."""
    found = child(element, *path)
    return found is not None and attribute(found, "val", "true").lower() not in ("0", "false", "off", "none")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relationship of a part.

    Attributes:
        kind: last component of its type, e.g. "slide".
        target: name of the part, or address of an external target.
        external: whether it points outside the package.
    """

    kind: str
    target: str
    external: bool


class Package:
    """An Open Packaging container whose parts are read on demand and within bounds.

    Args:
        data: the file.
        limits: sizes.
        what: for messages, e.g. "Word document".

    Raises:
        UnreadableFile: damaged, a bomb, or one that declares XML entities.
    """

    def __init__(self, data: bytes, limits: Limits, what: str) -> None:
        self._what = what
        self._limit = limits.unpacked_mb * MEGABYTE
        self._zip = open_package(data, limits, what)
        refuse_entities(self._zip, limits, what)
        self._names = {info.filename.lstrip("/").lower(): info for info in self._zip.infolist()}

    def read(self, name: str) -> bytes | None:
        """A part's bytes, or None if there is no such part."""
        info = self._names.get(name.lstrip("/").lower())
        return None if info is None else read_member(self._zip, info, self._limit)

    def xml(self, name: str) -> Element | None:
        """A part's root element, or None if there is no such part.

        Raises:
            UnreadableFile: the part is not well-formed.
        """
        data = self.read(name)
        if data is None:
            return None
        try:
            return Xml.fromstring(data)  # noqa: S314 (see refuse_entities)
        except Xml.ParseError as error:
            raise UnreadableFile(f"damaged {self._what}: {name} is not well-formed ({error}).") from None

    def optional_xml(self, name: str) -> Element | None:
        """Like `xml`, but a damaged part counts as absent: for what the text can do without."""
        try:
            return self.xml(name)
        except UnreadableFile:
            return None

    def relations(self, part: str) -> dict[str, Relation]:
        """The relationships of a part by id; of the package itself for ""."""
        folder, name = posixpath.split(part)
        root = self.optional_xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for item in children(root, "Relationship"):
            target, external = attribute(item, "Target"), attribute(item, "TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            kind = attribute(item, "Type").rsplit("/", 1)[-1]
            found[attribute(item, "Id")] = Relation(kind, target, external)
        return found

    def main_part(self, fallback: str) -> str:
        """The name of the main document part."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument" and self._names.get(relation.target.lower()):
                return relation.target
        return fallback

    def related(self, relations: dict[str, Relation], kind: str) -> str | None:
        """The first related part of a kind."""
        return next(
            (item.target for item in relations.values() if item.kind == kind and not item.external), None
        )

    def properties(self) -> tuple[dict[str, MetaValue], str | None, str | None]:
        """Document properties, title and language."""
        names = {
            "creator": "author", "subject": "subject", "keywords": "keywords", "description": "comments",
            "category": "category", "lastModifiedBy": "modified_by", "contentStatus": "status",
        }  # fmt: skip
        root = self.optional_xml(self.related(self.relations(""), "core-properties") or "docProps/core.xml")
        values: dict[str, MetaValue] = {}
        title = language = None
        for item in root if root is not None else ():
            name, text = local(item.tag), one_line(item.text or "")
            if not text:
                continue
            if name == "title":
                title = text
            elif name == "language":
                language = text
            elif name in names:
                values[names[name]] = text
            elif name in ("created", "modified") and re.match(r"\d{4}-\d\d-\d\d", text):
                values[name] = text[:10]
        if title and re.match(r"(?i)(powerpoint presentation|untitled|document\d*|title)$", title):
            title = None
        return values, title, language
