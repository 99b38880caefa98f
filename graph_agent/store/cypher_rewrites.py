"""Text changes to a query, and those that make its signs and names such as the engine can read.

Every change here leaves the meaning alone and is told to the caller. Positions in later messages are led
back to the query as it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_tokens import Token, ascii_sign, fold, is_blank, significant

_READABLE_BLANKS = {" ", "\t", "\n", "\r\n"}
_FOREIGN_SIGNS = {"!=": "<>", "||": "+", "==": "=", "&&": " AND "}
_KEYWORDS = {
    "ALL", "AND", "ANY", "AS", "ASC", "ASCENDING", "BY", "CALL", "CASE", "CONTAINS", "COUNT", "CREATE", "CSV", "CYPHER",
    "DELETE", "DESC", "DESCENDING", "DETACH", "DISTINCT", "DROP", "ELSE", "END", "ENDS", "EXISTS", "EXPLAIN", "FALSE",
    "FOREACH", "IN", "INDEX", "IS", "LIMIT", "LOAD", "MATCH", "MERGE", "NONE", "NOT", "NULL", "ON", "OPTIONAL", "OR",
    "ORDER", "PROFILE", "REMOVE", "RETURN", "SET", "SINGLE", "SKIP", "STARTS", "THEN", "TRUE", "UNION", "UNWIND", "WHEN",
    "WHERE", "WITH", "XOR", "YIELD",
}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """Replace [start, stop) of the query by `text`; `note` is told to the caller unless empty."""

    start: int
    stop: int
    text: str
    note: str = ""


@dataclass(frozen=True)
class Rewritten:
    """A changed query.

    Attributes:
        text: the query after the edits.
        notes: what was changed, one line each, with the position in the query as first given.
        origin: leads an offset in `text` back to the query as first given.
    """

    text: str
    notes: tuple[str, ...]
    origin: Callable[[int], int]


def apply_edits(text: str, edits: Sequence[Edit], earlier: Callable[[int], int] = int) -> Rewritten:
    """Carry out edits that do not overlap; of those at one place the first given stands first.

    Args:
        text: the query.
        edits: what to change.
        earlier: leads offsets in `text` back to the query as it was first given.
    """
    pieces: list[str] = []
    moves: list[tuple[int, int]] = []  # (offset in the new text, offset in the old one)
    position = length = 0

    def put(piece: str, old: int) -> None:
        nonlocal length
        moves.append((length, old))
        pieces.append(piece)
        length += len(piece)

    ordered = sorted(edits, key=lambda edit: (edit.start, edit.stop))
    for edit in ordered:
        put(text[position : edit.start], position)
        put(edit.text, edit.start)
        position = edit.stop
    put(text[position:], position)

    def origin(offset: int) -> int:
        new, old = max((move for move in moves if move[0] <= offset), default=(0, 0))
        return earlier(min(old + offset - new, len(text)))

    notes: dict[str, str] = {}
    for edit in ordered:
        if edit.note:
            notes.setdefault(edit.note, f"{edit.note} (position {earlier(edit.start)})")
    return Rewritten("".join(pieces), tuple(notes.values()), origin)


def lexical_edits(tokens: Sequence[Token]) -> list[Edit]:
    """Edits that turn what models write into signs and names that the engine reads.

    Comments are left out (one within a procedure's or function's name kills FalkorDB 4.16.3), as is the
    semicolon at the end; blanks of all kinds become plain ones; names in other scripts than Latin get
    backticks; typographic quotes and full-width signs become ASCII; `!=` becomes `<>`, `||` becomes `+`.

    Raises:
        QueryRefused: a sign that Cypher does not have and that has no certain reading.
    """
    last = _trailing_semicolons(tokens)
    ends = {edit.start for edit in last}
    return last + [edit for token in tokens if token.start not in ends and (edit := _edit(token)) is not None]


def _edit(token: Token) -> Edit | None:
    if token.kind == "comment":
        return Edit(token.start, token.end, "\n" if token.text.startswith("//") else " ")
    if token.kind == "space":
        return _blank(token)
    if token.kind == "curly":
        inner = token.text[1:-1].replace("'", "\\'")
        return _told(token, f"'{inner}'", "typographic quotes written as '...'")
    if token.kind == "name" and not token.text.isascii():
        return _name(token)
    return _sign(token) if token.kind == "punct" else None


def _blank(token: Token) -> Edit | None:
    plain = token.text.replace("\r\n", "\n").replace("\r", "\n")
    if token.text.isascii() and plain == token.text and set(token.text) <= _READABLE_BLANKS:
        return None
    if token.text.isascii() and "\r" in token.text:
        return None if "\r" not in token.text.replace("\r\n", "") else Edit(token.start, token.end, plain)
    return Edit(
        token.start, token.end, "\n" if token.text in {"\u2028", "\u2029", "\x0b", "\x0c", "\x85"} else " "
    )


def _name(token: Token) -> Edit:
    word = fold(token.text)
    if word in _KEYWORDS:
        return _told(token, word, f"`{token.text}` written as {word}")
    visible = "".join(char for char in token.text if not is_blank(char))
    if visible.isascii():
        return _told(token, visible, f"invisible characters taken out of `{visible}`")
    return _told(token, f"`{visible}`", f"`{visible}` written in backticks")


def _sign(token: Token) -> Edit | None:
    if token.text in _FOREIGN_SIGNS:
        return _told(
            token,
            _FOREIGN_SIGNS[token.text],
            f"`{token.text}` written as `{_FOREIGN_SIGNS[token.text].strip()}`",
        )
    if token.text.isascii():
        return None
    sign = ascii_sign(token.text)
    if not sign or sign in "'\"`":
        raise QueryRefused(
            f"The character {token.text!r} (position {token.start}) is no part of Cypher.",
            "Put it into a string or take it out.",
            word=token.text,
            position=token.start,
        )
    return _told(token, sign, f"`{token.text}` written as `{sign}`")


def _trailing_semicolons(tokens: Sequence[Token]) -> list[Edit]:
    edits = []
    for token in reversed(significant(tokens)):
        if not token.is_punct(";", "；"):
            break
        edits.append(Edit(token.start, token.end, ""))
    return edits


def _told(token: Token, text: str, what: str) -> Edit:
    return Edit(token.start, token.end, text, what)
