"""A tokenizer of Cypher that reads text as FalkorDB's own parser does.

Its lexical rules were read off libcypher-parser's grammar and checked on FalkorDB 4.16.3 and 4.22.1:
a backslash and the character after it never end a string; a backticked name ends at the next backtick
(there is no doubled one); block comments do not nest; a line comment ends at a line feed only, so that
a lone carriage return stays inside it; `$` may stand within a name; `1CREATE` is one (bad) number.

Names are wider here than in the engine, which takes ASCII only: letters of every script form a name,
so that keywords in full-width letters are seen for what they are and other scripts can be backticked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from graph_agent.errors import QueryRefused

Kind = Literal["name", "quoted", "string", "curly", "number", "param", "punct", "space", "comment"]

_NAME_START = r"A-Za-z_"
_NAME_PART = r"A-Za-z0-9_$"
_SCANNER = re.compile(
    rf"""
      (?P<space>[ \t\r\n]+)
    | (?P<name>[{_NAME_START}][{_NAME_PART}]*+(?![^\x00-\x7f]))
    | (?P<comment>//[^\n]*|/\*(?s:.)*?\*/)
    | (?P<string>'(?:\\(?s:.)|[^'\\])*'|"(?:\\(?s:.)|[^"\\])*")
    | (?P<quoted>`[^`]*`)
    | (?P<param>\$(?:[{_NAME_START}][{_NAME_PART}]*|`[^`]*`))
    | (?P<punct>\.\.|<>|<=|>=|=~|==|!=|\+=|\|\||&&|::)
    | (?P<number>[0-9]+\.?[0-9]*[eE][-+]?[0-9][{_NAME_PART}]*|[0-9]*\.[0-9][{_NAME_PART}]*|[0-9][{_NAME_PART}]*)
    """,
    re.VERBOSE,
)
_CURLY_PAIRS = {"‘": "’‘", "’": "’", "‚": "‘’", "‛": "’", "“": "”“", "”": "”", "„": "“”", "‟": "”", "«": "»"}
_CURLY_REACH = 500  # characters of the longest string in typographic quotes; bounds the search for its end
# Signs that only look like ASCII ones, beside those that NFKC folds (full-width forms).
_LOOKALIKES = {
    "≠": "<>", "≤": "<=", "≥": ">=", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "、": ",", "。": ".",
    "【": "[", "】": "]", "→": "->", "←": "<-", "×": "*", "÷": "/", "∣": "|",
}  # fmt: skip
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Token:
    """One token.

    Attributes:
        kind: name, quoted (a backticked name), string, curly (a string in typographic quotes), number,
            param (with its `$`), punct, space or comment.
        text: as written.
        start: offset in characters in the query.
    """

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.start + len(self.text)

    @cached_property
    def word(self) -> str:
        """Upper-case ASCII reading of an unquoted name, "" for every other token."""
        return fold(self.text) if self.kind == "name" else ""

    @cached_property
    def name(self) -> str:
        """What a name, a backticked name or a parameter is called, without marks; "" for other tokens."""
        if self.kind == "name":
            return self.text
        if self.kind == "quoted":
            return self.text[1:-1]
        if self.kind == "param":
            return self.text[1:].strip("`")
        return ""

    def is_punct(self, *texts: str) -> bool:
        """Whether this is one of these signs."""
        return self.kind == "punct" and self.text in texts


def fold(name: str) -> str:
    """The keyword that a name reads as: compatibility forms folded, invisibles dropped, upper case."""
    if name.isascii():
        return name.upper()
    folded = unicodedata.normalize("NFKC", name)
    return "".join(c for c in folded if unicodedata.category(c) != "Cf").upper()


def ascii_sign(char: str) -> str:
    """The ASCII sign that a typographic or full-width sign stands for, or "" when there is none."""
    if char in _LOOKALIKES:
        return _LOOKALIKES[char]
    folded = unicodedata.normalize("NFKC", char)
    return folded if folded != char and folded.isascii() and not folded.isalnum() and folded.strip() else ""


def is_blank(char: str) -> bool:
    """Whether a character shows nothing: Unicode spaces, byte-order marks, zero-width characters."""
    return char.isspace() or unicodedata.category(char) in {"Cf", "Zs", "Zl", "Zp"}


def tokenize(text: str) -> list[Token]:
    """All tokens of a query; their texts joined give the query back.

    Raises:
        QueryRefused: a string, a backticked name or a block comment is not closed.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        token = _next_token(text, position)
        tokens.append(token)
        position = token.end
    return tokens


def significant(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without blanks and comments."""
    return [token for token in tokens if token.kind not in {"space", "comment"}]


def _next_token(text: str, position: int) -> Token:
    match = _SCANNER.match(text, position)
    if match and match.lastgroup:
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # the groups are named after the kinds
        return Token(kind, match.group(), position)
    char = text[position]
    if char in "'\"`" or text.startswith("/*", position):
        raise _unclosed(text, position)
    if char in _CURLY_PAIRS and (end := _curly_end(text, position)) is not None:
        return Token("curly", text[position:end], position)
    if _starts_name(char):
        return Token("name", text[position : _name_end(text, position)], position)
    if is_blank(char):
        return Token("space", char, position)
    return Token("punct", char, position)


def _starts_name(char: str) -> bool:
    return (char.isascii() and (char.isalpha() or char == "_")) or (not char.isascii() and _is_letter(char))


def _is_letter(char: str) -> bool:
    # Symbols such as emoji count: models use them as names, and backticks make them work.
    return unicodedata.category(char)[0] in "LMN" or unicodedata.category(char) in {"So", "Sk"}


def _name_end(text: str, position: int) -> int:
    end = position + 1
    while end < len(text):
        char = text[end]
        if char.isascii():
            if not (char.isalnum() or char in "_$"):
                break
        elif not _is_letter(char) and not (unicodedata.category(char) == "Cf" and _letter_follows(text, end)):
            break
        end += 1
    return end


def _letter_follows(text: str, position: int) -> bool:
    """Whether the invisible characters from here on stand inside a word."""
    while position < len(text) and unicodedata.category(text[position]) == "Cf":
        position += 1
    return position < len(text) and (text[position].isalnum() or text[position] == "_")


def _curly_end(text: str, position: int) -> int | None:
    """Where a string in typographic quotes ends; an apostrophe between two letters does not end it."""
    closers = re.compile(f"[{_CURLY_PAIRS[text[position]]}]")
    for match in closers.finditer(text, position + 1, position + _CURLY_REACH):
        index = match.start()
        apostrophe = (
            match.group() == "’" and text[index - 1].isalpha() and text[index + 1 : index + 2].isalpha()
        )
        if not apostrophe:
            return index + 1
    return None


def _unclosed(text: str, position: int) -> QueryRefused:
    what, closer = {
        "'": ("string", "'"),
        '"': ("string", '"'),
        "`": ("backticked name", "`"),
        "/": ("comment", "*/"),
    }[text[position]]
    return QueryRefused(
        f"The {what} that opens at position {position} is not closed.",
        f"Close it with {closer}" + ("; within a string write \\' or \\\"." if what == "string" else "."),
        word=text[position : position + 20],
        position=position,
    )
