r"""Markdown blocks by CommonMark and GFM: headings, and where inline text stands. Inline parsing on demand.

Only blocks are parsed for a whole document (markdown-it-py with its inline rule off, four times as fast);
the inline text of headings and of paragraphs that may hold links is parsed afterwards, one by one.
Lines are those of `decoding.line_starts`: markdown-it normalises "\r\n" and "\r" before it counts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_NESTING = 200
"""Block quotes and half list levels, one inside the other, that are told apart; deeper ones are text."""

_INLINE_MARKS = frozenset("\\`*_[]<>&!~\n")
_MAX_TITLE = 2_000
_MAY_MATTER = re.compile(r"[#\[<]|[=-][ \t]*(?:[\r\n]|\Z)")  # a heading, its underline, or a link


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as CommonMark sees it.

    Attributes:
        level: 1 to 6.
        title: its text without markup, on one line.
        line: 0-based line of the parsed text on which it starts.
    """

    level: int
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Inline:
    """Inline content of one block, or the content of an HTML block.

    Attributes:
        line: 0-based line of the parsed text on which its block starts.
        content: its source, with the marks of quotes and lists taken off.
        html: whether it is an HTML block.
    """

    line: int
    content: str
    html: bool


@dataclass(frozen=True, slots=True)
class Parsed:
    """The block structure of a text.

    Attributes:
        headings: in order of the text.
        inlines: paragraphs, headings, table cells and HTML blocks that may hold a link.
        references: link reference definitions, as markdown-it keeps them.
    """

    headings: tuple[Heading, ...]
    inlines: tuple[Inline, ...]
    references: dict[str, Any]


def parse(text: str, *, mdx: bool = False) -> Parsed:
    """Parse the blocks of a Markdown text.

    Args:
        text: Markdown without front matter.
        mdx: MDX rules: no indented code, `{/* comments */}`.
    """
    if not _MAY_MATTER.search(text):
        return Parsed((), (), {})
    reader = _reader(mdx)
    env: dict[str, Any] = {}
    tokens = reader.parse(text, env)
    headings: list[Heading] = []
    inlines: list[Inline] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            content = tokens[index + 1].content
            line = token.map[0] if token.map else 0
            headings.append(Heading(int(token.tag[1:]), plain_title(content, env), line))
        elif token.type in ("inline", "html_block") and ("[" in token.content or "<" in token.content):
            inlines.append(Inline(_line(token, tokens, index), token.content, token.type == "html_block"))
    return Parsed(tuple(headings), tuple(inlines), env.get("references", {}))


def _line(token: Token, tokens: list[Token], index: int) -> int:
    """The line of a token; a table cell has none of its own and takes its row's."""
    while token.map is None and index > 0:
        index -= 1
        token = tokens[index]
    return token.map[0] if token.map else 0


def plain_title(content: str, env: dict[str, Any] | None = None) -> str:
    """A heading's text without markup.

    Args:
        content: the heading's inline source.
        env: markdown-it's environment of the document, for reference links.
    """
    if _INLINE_MARKS.isdisjoint(content):
        return content.strip()
    if len(content) > _MAX_TITLE:
        return " ".join(content.split())
    parts: list[str] = []
    _collect(parse_inline(content, env), parts)
    return " ".join("".join(parts).split("\n")).strip()


def parse_inline(content: str, env: dict[str, Any] | None = None) -> list[Token]:
    """Inline tokens of a block's content, wiki links among them (type "wiki_link")."""
    tokens: list[Token] = []
    reader = _inline_reader()
    reader.inline.parse(content, reader, env if env is not None else {}, tokens)
    return tokens


def _collect(tokens: list[Token], parts: list[str]) -> None:
    for token in tokens:
        if token.type in ("text", "text_special", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "wiki_link":
            parts.append(f"[[{token.content}]]")
        elif token.type == "image" and token.children:
            _collect(token.children, parts)


@functools.cache
def _reader(mdx: bool) -> MarkdownIt:
    """The parser: CommonMark with GFM's tables and strikethrough. Stateless between calls."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.core.ruler.enableOnly(["normalize", "block"])
    # markdown-it drops the rest of the document at its nesting limit; ours makes text of what is deeper.
    reader.options["maxNesting"] = 10 * MAX_NESTING
    quote, items = _limited(_rule("blockquote")), _limited(_rule("list_block"))
    # The second lists are markdown-it's own: which blocks each of the two may interrupt.
    reader.block.ruler.at("blockquote", quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    reader.block.ruler.at("list", items, {"alt": ["paragraph", "reference", "blockquote"]})
    if mdx:
        reader.disable("code")
        reader.block.ruler.before("fence", "mdx_comment", _mdx_comment, {"alt": ["paragraph"]})
    return reader


@functools.cache
def _inline_reader() -> MarkdownIt:
    """The parser of inline text, with the nesting limit of its preset (it recurses); knows wiki links."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("strikethrough")
    reader.inline.ruler.before("link", "wiki_link", _wiki_link)
    return reader


def _rule(name: str) -> Callable[[StateBlock, int, int, bool], bool]:
    from markdown_it import rules_block

    rule: Callable[[StateBlock, int, int, bool], bool] = getattr(rules_block, name)
    return rule


def _limited(
    rule: Callable[[StateBlock, int, int, bool], bool],
) -> Callable[[StateBlock, int, int, bool], bool]:
    def limited(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return state.level < MAX_NESTING and rule(state, start, end, silent)

    return limited


def _mdx_comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`{/* ... */}` of MDX, over as many lines as it takes."""
    if not state.src.startswith("{/*", state.bMarks[start] + state.tShift[start]):
        return False
    if silent:
        return True
    line = start
    while line < end and "*/" not in state.src[state.bMarks[line] : state.eMarks[line]]:
        line += 1
    state.line = min(line + 1, end)
    return True


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """`[[Target]]`, `[[Target|text]]`: the content between the brackets becomes one token."""
    if not state.src.startswith("[[", state.pos):
        return False
    close = state.src.find("]]", state.pos + 2, state.pos + 502)
    inner = state.src[state.pos + 2 : close]
    if close < 0 or not inner.strip() or "\n" in inner or "[" in inner or "]" in inner:
        return False
    if not silent:
        token = state.push("wiki_link", "", 0)
        token.content = inner
    state.pos = close + 2
    return True
