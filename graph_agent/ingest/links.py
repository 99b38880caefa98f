"""Links between documents: found in Markdown, wiki and HTML form, resolved to documents and sections.

Links are kept as written, so that they can be resolved again whenever documents come and go. Addresses
with a scheme (https:, mailto:) leave the corpus and are not kept; nothing inside code is a link.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from urllib.parse import unquote

from graph_agent.ingest.decoding import clean_text, line_starts
from graph_agent.ingest.document import Converted, Section
from graph_agent.ingest.markdown import Inline, Parsed, parse_inline
from graph_agent.ingest.sections import parse_converted

if TYPE_CHECKING:
    from markdown_it.token import Token

LinkKind: TypeAlias = Literal["markdown", "wiki", "html"]

_EXTERNAL = re.compile(r"\s*(?:[a-zA-Z][a-zA-Z0-9+.-]+:|//)")
_MAY_LINK = re.compile(r"\]\((?!\s*<?(?:https?:|mailto:))|\[\[|<[aA]\s")
_HIDDEN_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(pre|script|style|code)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_ANCHOR = re.compile(
    r"""<a\s[^>]{0,2000}?(?<![\w-])href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))[^>]{0,2000}>""",
    re.IGNORECASE,
)
_ANCHOR_END = re.compile(r"</a\s*>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_MAX_TARGET = 1_000
_MAX_TEXT = 200

_ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".html", ".htm", ".rst", ".pdf", ".docx")
_INDEX_FILES = ("README.md", "index.md", "_index.md", "readme.md", "index.html", "index.mdx", "README.txt")
_SITE_ENDINGS = (".html", ".htm")
_SLUG_DROPPED = re.compile(r"[^\w\- ]")
_HEADING_ID = re.compile(r"\s*\{#([^}\s]+)[^}]*\}\s*\Z")
_SPACERS = re.compile(r"[-_\s]+")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it stands in a document.

    Attributes:
        section: sequence of the section that it stands in.
        target: as written: a path, a name, a fragment, percent-encoded or not.
        text: what the reader sees; may be "".
        kind: its notation.
    """

    section: int
    target: str
    text: str
    kind: LinkKind

    def encode(self) -> str:
        """The link without its section on one line, to be kept on the section in the graph."""
        return "\t".join((self.kind, self.target, self.text))

    @classmethod
    def decode(cls, section: int, encoded: str) -> Link:
        """The link of `encode`."""
        kind, target, text = ([*encoded.split("\t", 2), "", ""])[:3]
        return cls(section, target, text, cast(LinkKind, kind))


def extract_links(
    converted: Converted, sections: Sequence[Section], parsed: Parsed | None = None
) -> list[Link]:
    """The links of a document that may lead to other documents or to its own sections.

    The same target is kept once per section.

    Args:
        converted: the document.
        sections: its section tree.
        parsed: `parse_converted(converted)`, if it is at hand.
    """
    if not sections or not any(
        mark in converted.markdown for mark in ("](", "[[", "]:", "<a ", "<A ", "<a\n")
    ):
        return []
    parsed = parsed or parse_converted(converted)
    references = any(not _EXTERNAL.match(str(entry.get("href", ""))) for entry in parsed.references.values())
    base = bisect_right(line_starts(converted.markdown[: converted.body_start]), converted.body_start)
    starts = [section.start_line for section in sections]
    links: dict[tuple[int, str], Link] = {}
    for inline in parsed.inlines:
        if not references and not _MAY_LINK.search(inline.content):
            continue
        section = sections[max(bisect_right(starts, base + inline.line) - 1, 0)].sequence
        for target, text, kind in _links_of(inline, parsed):
            if target and not _EXTERNAL.match(target) and len(target) <= _MAX_TARGET:
                links.setdefault((section, target), Link(section, target, text, kind))
    return list(links.values())


def _links_of(inline: Inline, parsed: Parsed) -> Iterator[tuple[str, str, LinkKind]]:
    if inline.html:
        for target, text in _html_links(inline.content):
            yield _line(target), _line(text)[:_MAX_TEXT], "html"
        return
    tokens = parse_inline(inline.content, {"references": parsed.references})
    for index, token in enumerate(tokens):
        if token.type == "link_open":
            text = _text_until(tokens, index, "link_close")
            yield _line(str(token.attrGet("href") or "")), text, "markdown"
        elif token.type == "wiki_link":
            target, _, shown = token.content.partition("|")
            yield _line(target), _line(shown or target)[:_MAX_TEXT], "wiki"
        elif token.type == "html_inline" and (anchor := _ANCHOR.match(token.content)):
            yield _line(_href(anchor)), _text_until(tokens, index, "html_inline"), "html"


def _text_until(tokens: Sequence[Token], index: int, end: str) -> str:
    parts: list[str] = []
    for token in tokens[index + 1 : index + 200]:
        if token.type == end and (end != "html_inline" or _ANCHOR_END.match(token.content)):
            break
        if token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif token.type != "html_inline":
            parts.append(token.content)
    return _line("".join(parts))[:_MAX_TEXT]


def _html_links(content: str) -> Iterator[tuple[str, str]]:
    visible = _HIDDEN_HTML.sub(" ", content)
    for anchor in _ANCHOR.finditer(visible):
        end = _ANCHOR_END.search(visible, anchor.end(), anchor.end() + 2_000)
        text = _TAG.sub("", visible[anchor.end() : end.start()]) if end else ""
        yield _href(anchor), text


def _href(anchor: re.Match[str]) -> str:
    from html import unescape

    return unescape(anchor[1] or anchor[2] or anchor[3] or "")


def _line(text: str) -> str:
    return clean_text(" ".join(text.split()))


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a link leads to.

    Attributes:
        document: identifier of the document, as given to the index.
        fragment: the part after "#", decoded, or "": see `section_of_fragment`.
    """

    document: str
    fragment: str


class LinkIndex:
    """Where links can lead: the paths, names and titles of all documents of one root."""

    def __init__(self, documents: Iterable[tuple[str, str, str]]) -> None:
        """Build the index.

        Args:
            documents: (path, identifier, title) of each place of each document; paths with "/" and relative
                to the root. The title may be "".
        """
        self._paths: dict[str, str] = {}
        self._folded: dict[str, set[str]] = {}
        self._names: dict[str, list[str]] = {}
        self._titles: dict[str, list[str]] = {}
        for path, identifier, title in documents:
            known = unicodedata.normalize("NFC", path)
            self._paths[known] = identifier
            self._folded.setdefault(known.casefold(), set()).add(known)
            name = posixpath.basename(known)
            for key in {_name_key(name), _name_key(posixpath.splitext(name)[0])}:
                self._names.setdefault(key, []).append(known)
            if title:
                self._titles.setdefault(_name_key(title), []).append(known)

    def at_path(self, path: str) -> str | None:
        """The identifier of the document at a path; in another case only if that is unambiguous."""
        path = unicodedata.normalize("NFC", path)
        if path in self._paths:
            return self._paths[path]
        similar = {self._paths[known] for known in self._folded.get(path.casefold(), ())}
        return similar.pop() if len(similar) == 1 else None

    def by_name(self, name: str, from_path: str) -> str | None:
        """The identifier of the document of a filename, with or without ending, or of a title.

        Among several the nearest counts: the same folder, then the shortest path; among equal titles only
        the same folder or a single one does.
        """
        key = _name_key(name)
        folder = posixpath.dirname(from_path)
        if paths := self._names.get(key):
            best = min(paths, key=lambda path: (posixpath.dirname(path) != folder, path.count("/"), path))
            return self._paths[best]
        paths = self._titles.get(key, [])
        near = [path for path in paths if posixpath.dirname(path) == folder] or paths
        found = {self._paths[path] for path in near}
        return found.pop() if len(found) == 1 else None


def resolve(link: Link, from_path: str, index: LinkIndex) -> Resolved | None:
    """The document that a link leads to, or None.

    Paths are taken relative to the linking document, or to the root when they begin with "/". An ending
    may be missing or be that of a rendered site (.html for .md); a folder means its README or index.

    Args:
        link: the link.
        from_path: path of the document that it stands in, as in the index.
        index: the documents of the same root.
    """
    path, _, fragment = link.target.partition("#")
    path = unquote(path.partition("?")[0]).replace("\\", "/").strip()
    fragment = unquote(fragment.partition(":~:")[0]).strip()
    if not path:
        document = index.at_path(from_path)
    elif link.kind == "wiki":
        document = _wiki(path, from_path, index)
    else:
        document = _at_candidates(path, from_path, index)
    return Resolved(document, fragment) if document is not None else None


def _wiki(name: str, from_path: str, index: LinkIndex) -> str | None:
    if "/" in name:
        found = _at_candidates("/" + name.lstrip("/"), from_path, index) or _at_candidates(
            name, from_path, index
        )
        if found is not None:
            return found
        name = posixpath.basename(name.rstrip("/"))
    return index.by_name(name, from_path)


def _at_candidates(path: str, from_path: str, index: LinkIndex) -> str | None:
    bases = [posixpath.normpath(posixpath.join(posixpath.dirname(from_path), path))]
    if path.startswith("/"):
        # A site's absolute path may begin above the root that was ingested: drop folders from the left.
        parts = [part for part in posixpath.normpath(path).split("/") if part]
        bases = ["/".join(parts[drop:]) for drop in range(min(max(len(parts), 1), 4))]
    for base in bases:
        if base == ".." or base.startswith("../"):
            continue
        for candidate in _spellings(base, folder=path.endswith("/")):
            if (found := index.at_path(candidate)) is not None:
                return found
    return None


def _spellings(base: str, *, folder: bool) -> Iterator[str]:
    base = "" if base == "." else base
    if base and not folder:
        yield base
        stem, ending = posixpath.splitext(base)
        if ending.lower() in _SITE_ENDINGS:
            yield from (stem + other for other in _ENDINGS if other != ending)
            if posixpath.basename(stem) == "index":
                yield from _spellings(posixpath.dirname(base), folder=True)
        else:
            yield from (base + other for other in _ENDINGS)
    prefix = base + "/" if base else ""
    yield from (prefix + name for name in _INDEX_FILES)
    if folder and base:
        yield from (base + other for other in _ENDINGS)


def section_of_fragment(fragment: str, titles: Sequence[str]) -> int | None:
    """The position of the heading that a fragment names, or None.

    Args:
        fragment: without "#", decoded: a slug as GitHub makes it, an explicit {#id}, or the title itself.
        titles: titles of the document's sections in order ("" for sections that are no heading).
    """
    wanted = fragment.removeprefix("user-content-").rpartition("#")[2].strip().lower()
    if not wanted:
        return None
    slugs: dict[str, int] = {}
    counts: dict[str, int] = {}
    for position, title in enumerate(titles):
        explicit = _HEADING_ID.search(title)
        if explicit and explicit[1].lower() == wanted:
            return position
        slug = heading_slug(title[: explicit.start()] if explicit else title)
        number = counts.get(slug, 0)
        counts[slug] = number + 1
        slugs.setdefault(f"{slug}-{number}" if number else slug, position)
    if wanted in slugs:
        return slugs[wanted]
    key = _name_key(wanted)
    return next(
        (position for position, title in enumerate(titles) if title and _name_key(title) == key), None
    )


def heading_slug(title: str) -> str:
    """The fragment that GitHub gives a heading, before duplicates are numbered."""
    return _SLUG_DROPPED.sub("", title.strip().lower()).replace(" ", "-")


def _name_key(name: str) -> str:
    """Names that a person takes for the same: case, and blanks, hyphens and underscores, do not count."""
    return _SPACERS.sub(" ", unicodedata.normalize("NFC", name).casefold()).strip()
