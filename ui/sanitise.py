"""Markdown of documents and models becomes HTML that cannot do anything; the only way text reaches the page.

What comes in is data. The HTML is built from a list of allowed elements, so whatever is not on it is shown as
text: raw HTML is printed, images are named but never fetched, links lead to http, https, mailto or to a place
inside this application, and nothing carries a style, an id or a handler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from graph_agent.ui.highlight import mark_quotes

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_CHARACTERS = 60_000  # beyond, text is shown as it is: no parser has to be trusted with a megabyte

LinkTarget = Mapping[str, str]
"""What a link inside the application does, as the data attributes of its element (without `data-`)."""

_BLOCKS = {
    "paragraph": "p",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
}
_INLINE = {"strong": "strong", "em": "em", "s": "del"}
_PAIRED_HTML = re.compile(r"<(/?)(sub|sup|kbd)\s*>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CITATION = re.compile(r"\[(\d{1,3})(\?)?\]")  # the check of the answer writes [9?] for what was never read
_WIKI = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#-]{1,30}")
_ALIGN = re.compile(r"text-align:(left|right|center)")


@dataclass(frozen=True, slots=True)
class CitationMark:
    """How one [n] is shown.

    Attributes:
        label: what a screen reader says, such as "Source 2: reports/q3.md, page 4".
        verified: False: the passage does not bear the sentence, or was never read.
        known: False: there is no such passage, so there is nothing to open.
    """

    label: str
    verified: bool = True
    known: bool = True


@dataclass(frozen=True)
class Rendering:
    """How a piece of Markdown is to be shown.

    Attributes:
        citations: the [n] that become links, by number; None: [n] is plain text, as in documents.
        turn: id of the answer that the citations belong to.
        quotes: words to be highlighted, the most exact first; the first one that is found is used.
        resolve: told a relative link's address and text, says where it leads in the application, or None.
        heading_shift: added to the level of every heading.
    """

    citations: Mapping[int, CitationMark] | None = None
    turn: str = ""
    quotes: Sequence[str] = ()
    resolve: Callable[[str, str], LinkTarget | None] | None = None
    heading_shift: int = 2


@dataclass
class _Writer:
    """One rendering under way."""

    how: Rendering
    out: list[str] = field(default_factory=list)
    closers: list[str] = field(default_factory=list)

    def raw(self, html: str) -> None:
        self.out.append(html)

    def text(self, text: str) -> None:
        self.out.append(str(escape(text)))


def clean(text: str) -> str:
    """Text without control characters and direction overrides, which could disguise a name."""
    return _CONTROLS.sub("", text)


def to_html(markdown: str, how: Rendering | None = None) -> Markup:
    """Safe HTML of a piece of Markdown.

    Args:
        markdown: from a document or a model; nothing in it is trusted.
        how: citations, highlights and links; default none of them.
    """
    how = how or Rendering()
    source = clean(markdown)
    if len(source) > MAX_CHARACTERS:
        return Markup('<pre class="plain">{}</pre>').format(source)
    tokens = _parser(answer=how.citations is not None).parse(source)
    if how.quotes:
        mark_quotes(tokens, how.quotes, _parser(answer=False).parse)
    writer = _Writer(how)
    _blocks(tokens, writer)
    return Markup("".join(writer.out))  # noqa: S704 - built from the allowed elements only


def plain_text(markdown: str) -> str:
    """The words of a piece of Markdown on one line, for titles and labels."""
    tokens = _parser(answer=False).parse(clean(markdown)[:MAX_CHARACTERS])
    words = [
        child.content
        for token in tokens
        for child in (token.children or [token])
        if child.type in {"text", "code_inline", "fence", "code_block"}
    ]
    return " ".join(" ".join(words).split())


@lru_cache(maxsize=2)
def _parser(*, answer: bool) -> MarkdownIt:
    """CommonMark with tables. In an answer `[1]: ...` defines no link, or a model could redirect a citation."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # judged by _link
    return parser.disable("reference") if answer else parser


def _blocks(tokens: Iterable[Token], writer: _Writer) -> None:
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        if token.type == "inline":
            _inline(token.children or [], writer)
        elif token.type in {"fence", "code_block"}:
            _code_block(token, writer)
        elif token.type == "hr":
            writer.raw("<hr>")
        elif token.type == "html_block":
            _html_block(token, writer)
        elif name == "heading":
            level = min(6, int(token.tag[1:]) + writer.how.heading_shift)
            writer.raw(f"<h{level}>" if side == "open" else f"</h{level}>")
        elif name in {"th", "td"}:
            _cell(token, name, side, writer)
        elif name == "table":
            # A wide table scrolls by itself; with a tab stop, because a keyboard must reach it, too.
            writer.raw(
                '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
                if side == "open"
                else "</table></div>"
            )
        elif name in _BLOCKS and not (name == "paragraph" and token.hidden):
            writer.raw(_block_tag(token, name, side))


def _block_tag(token: Token, name: str, side: str) -> str:
    tag = _BLOCKS[name]
    if side == "close":
        return f"</{tag}>"
    start = str(token.attrs.get("start", "")) if name == "ordered_list" else ""
    return f'<{tag} start="{int(start)}">' if start.isdigit() else f"<{tag}>"


def _cell(token: Token, name: str, side: str, writer: _Writer) -> None:
    if side == "close":
        writer.raw(f"</{name}>")
        return
    align = _ALIGN.fullmatch(str(token.attrs.get("style", "")))
    writer.raw(f'<{name} class="{align[1]}">' if align else f"<{name}>")


def _code_block(token: Token, writer: _Writer) -> None:
    language = _LANGUAGE.match(token.info.strip()) if token.type == "fence" else None
    writer.raw(
        f'<pre tabindex="0"><code data-language="{language[0]}">' if language else '<pre tabindex="0"><code>'
    )
    _marked(token, writer)
    writer.raw("</code></pre>")


def _html_block(token: Token, writer: _Writer) -> None:
    shown = _COMMENT.sub("", token.content).strip()
    if shown:
        writer.raw('<pre class="plain">')
        writer.text(shown)
        writer.raw("</pre>")


def _inline(children: Sequence[Token], writer: _Writer) -> None:
    html = _usable_html(children)
    closing: list[str] = []
    at = 0
    while at < len(children):
        child = children[at]
        name, _, side = child.type.rpartition("_")
        if child.type == "text":
            _text(child, writer)
        elif child.type == "code_inline":
            writer.raw("<code>")
            _marked(child, writer)
            writer.raw("</code>")
        elif child.type == "softbreak":
            writer.raw("\n")
        elif child.type == "hardbreak":
            writer.raw("<br>")
        elif child.type == "image":
            _image(child, writer)
        elif child.type == "html_inline":
            writer.raw(html[at]) if at in html else writer.text(_COMMENT.sub("", child.content))
        elif child.type == "link_open":
            closing.append(_link_open(child, children[at + 1 :], writer))
        elif child.type == "link_close":
            writer.raw(closing.pop() if closing else "")
        elif name in _INLINE:
            writer.raw(f"<{'/' if side == 'close' else ''}{_INLINE[name]}>")
        at += 1


def _usable_html(children: Sequence[Token]) -> dict[int, str]:
    """Which inline HTML may stay: line breaks, and sub, sup and kbd where opening and closing pair up."""
    usable: dict[int, str] = {}
    opened: list[tuple[int, str]] = []
    for at, child in enumerate(children):
        if child.type != "html_inline":
            continue
        if _BREAK.fullmatch(child.content):
            usable[at] = "<br>"
        elif (match := _PAIRED_HTML.fullmatch(child.content)) is not None:
            name = match[2].lower()
            if not match[1]:
                opened.append((at, name))
            elif opened and opened[-1][1] == name:
                usable[opened.pop()[0]] = f"<{name}>"
                usable[at] = f"</{name}>"
    return usable


def _text(token: Token, writer: _Writer) -> None:
    citations = writer.how.citations
    if citations is None:
        _wiki(token, writer)
        return
    at = 0
    for match in _CITATION.finditer(token.content):
        writer.text(token.content[at : match.start()])
        mark = None if match[2] else citations.get(int(match[1]))
        writer.raw(str(citation_link(int(match[1]), mark, writer.how.turn)))
        at = match.end()
    writer.text(token.content[at:])


def _wiki(token: Token, writer: _Writer) -> None:
    """Text of a document; `[[name]]` and `[[name|words]]` that lead somewhere become links."""
    resolve = writer.how.resolve
    at = 0
    for match in _WIKI.finditer(token.content) if resolve is not None else ():
        words = (match[2] or match[1]).strip()
        target = resolve(match[1].strip(), words) if resolve is not None else None
        if target is None:
            continue
        _marked(token, writer, at, match.start())
        writer.raw(f'<a href="#" {attributes(target)}>')
        writer.text(words)
        writer.raw("</a>")
        at = match.end()
    _marked(token, writer, at)


def citation_link(number: int, mark: CitationMark | None, turn: str) -> Markup:
    """The link of one [n]; one that leads nowhere is shown, but cannot be followed."""
    mark = mark or CitationMark(f"Source {number} was never read", verified=False, known=False)
    if not mark.known:
        return Markup('<span class="cite missing" title="{}">{}<span class="sr"> ({})</span></span>').format(
            mark.label, number, mark.label
        )
    state = "" if mark.verified else " unverified"
    label = mark.label if mark.verified else f"{mark.label}, not verified"
    return Markup(
        '<a class="cite{}" href="#source-{}" data-do="cite" data-n="{}" data-turn="{}" title="{}" aria-label="{}">{}</a>'
    ).format(state, number, number, turn, label, label, number)


def _marked(token: Token, writer: _Writer, start: int = 0, end: int | None = None) -> None:
    """The token's text, or a part of it, with what is highlighted inside <mark>."""
    end = len(token.content) if end is None else end
    at = start
    for first, last in token.meta.get("marks", ()):
        first, last = max(first, at), min(last, end)
        if first >= last:
            continue
        writer.text(token.content[at:first])
        writer.raw("<mark>")
        writer.text(token.content[first:last])
        writer.raw("</mark>")
        at = last
    writer.text(token.content[at:end])


def _image(token: Token, writer: _Writer) -> None:
    """An image is named, never fetched: its address could tell somebody that the document was opened."""
    name = clean(token.content).strip() or "without a description"
    writer.raw('<span class="image">')
    writer.text(f"Image: {name}")
    writer.raw("</span>")


def _link_open(token: Token, rest: Sequence[Token], writer: _Writer) -> str:
    """Write a link's beginning, and return its end."""
    address = str(token.attrs.get("href", "")).strip()
    text = _link_text(rest)
    citations = writer.how.citations
    if citations is not None and text.isdigit() and len(text) <= 3:
        writer.raw(str(citation_link(int(text), citations.get(int(text)), writer.how.turn)))
        writer.raw('<span class="sr">')  # the number itself follows, and is already shown
        return "</span>"
    host = external_host(address)
    if host:
        writer.raw(
            str(Markup('<a href="{}" target="_blank" rel="noopener noreferrer nofollow">').format(address))
        )
        shown = host.casefold() in text.casefold()
        return "</a>" if shown else str(Markup('</a> <span class="host">({})</span>').format(host))
    target = writer.how.resolve(address, text) if writer.how.resolve else None
    if target:
        writer.raw(f'<a href="#" {attributes(target)}>')
        return "</a>"
    writer.raw(str(Markup('<span class="unlinked" title="{}">').format(clean(address)[:200])))
    return "</span>"


def _link_text(rest: Sequence[Token]) -> str:
    words: list[str] = []
    for token in rest:
        if token.type == "link_close":
            break
        words.append(token.content)
    return "".join(words).strip()


def external_host(address: str) -> str:
    """The host of an address that may be followed (http, https, mailto); "" for any other address."""
    if re.search(r"[\x00-\x20\\\x7f]", address):
        return ""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme.lower() in {"http", "https"}:
        return host
    if parts.scheme.lower() == "mailto":
        return parts.path.rpartition("@")[2]
    return ""


def attributes(data: Mapping[str, Any]) -> Markup:
    """`data-` attributes of an element, safely quoted; the names are ours."""
    return Markup(" ").join(Markup('data-{}="{}"').format(name, value) for name, value in data.items())
