"""What a Cypher query names and how it ends, read from its tokens: for hints and for capping its rows.

This understands the common forms and passes over the others: it never decides whether a query may run
(guard.py does), only what can be said about its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.store.cypher_tokens import CLOSING, OPENING, Token, significant, tokenize

_CLAUSES = {
    "MATCH",
    "WHERE",
    "RETURN",
    "WITH",
    "UNWIND",
    "CALL",
    "YIELD",
    "UNION",
    "ORDER",
    "SKIP",
    "LIMIT",
    "OPTIONAL",
}


@dataclass(frozen=True)
class Comparison:
    """A text that a query looks for: `owner.name = 'value'`, an inline map, CONTAINS, STARTS WITH, ENDS WITH."""

    owner: str
    name: str
    value: str
    operator: str = "="


@dataclass(frozen=True)
class Step:
    """A relationship pattern with the variables or labels at its ends, as the arrow points."""

    source: str
    types: tuple[str, ...]
    target: str


@dataclass
class QueryNames:
    """Names in a query.

    Attributes:
        labels, types: of nodes and relationships, in order.
        owners: labels or types by variable; a pattern without variable has a name of its own ("#3").
        edges: the variables of `owners` that are relationships.
        properties: (variable, name); the variable is "" when it is not known.
        comparisons: texts looked for.
        steps: directed relationship patterns.
    """

    labels: dict[str, None] = field(default_factory=dict)
    types: dict[str, None] = field(default_factory=dict)
    owners: dict[str, dict[str, None]] = field(default_factory=dict)
    edges: set[str] = field(default_factory=set)
    properties: dict[tuple[str, str], None] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def names_in(cypher: str, params: Mapping[str, Any] | None = None) -> QueryNames:
    """Labels, types, properties and texts that a query names.

    Args:
        cypher: a query that the guard has let pass.
        params: values of its parameters, for the texts it looks for.
    """
    return _Reader(significant(tokenize(cypher)), params or {}).read()


def capped(cypher: str, rows: int, params: Mapping[str, Any] | None = None) -> str:
    """The query with a LIMIT of at most `rows` where one can be put without changing its meaning.

    A UNION, or a query that does not end in RETURN, is given back as it is.
    """
    tokens = significant(tokenize(cypher))
    top = _top_level(tokens)
    if any(tokens[at].word == "UNION" for at in top):
        return cypher
    returns = [at for at in top if tokens[at].word == "RETURN"]
    if not returns:
        return cypher
    limit = next((at for at in top if at > returns[-1] and tokens[at].word == "LIMIT"), None)
    if limit is None:
        return f"{cypher}\nLIMIT {rows}"
    if limit + 1 >= len(tokens):
        return cypher
    value = tokens[limit + 1]
    wanted = (params or {}).get(value.name) if value.kind == "param" else _integer(value)
    if not isinstance(wanted, int) or wanted <= rows or limit + 2 < len(tokens):
        return cypher
    return f"{cypher[: value.start]}{rows}{cypher[value.end :]}"


def _top_level(tokens: Sequence[Token]) -> list[int]:
    depth = 0
    found = []
    for at, token in enumerate(tokens):
        if token.is_punct(*OPENING):
            depth += 1
        elif token.is_punct(*CLOSING):
            depth -= 1
        elif depth == 0:
            found.append(at)
    return found


def _integer(token: Token) -> int | None:
    return int(token.text) if token.kind == "number" and token.text.isdigit() else None


class _Reader:
    """One pass over the tokens."""

    def __init__(self, tokens: Sequence[Token], params: Mapping[str, Any]) -> None:
        self._tokens = tokens
        self._params = params
        self._names = QueryNames()
        self._maps: list[bool] = []  # for each open bracket, whether it is a map
        self._ends: dict[int, str] = {}  # owner of the node pattern that closes or opens at a token
        self._rels: list[tuple[int, int, tuple[str, ...]]] = []  # opening, closing, types

    def read(self) -> QueryNames:
        at = 0
        while at < len(self._tokens):
            at = self._step(at)
        self._connect()
        return self._names

    def _step(self, at: int) -> int:
        token = self._tokens[at]
        if token.is_punct("("):
            if (end := self._node(at)) is not None:
                return end
            self._maps.append(False)
        elif token.is_punct("["):
            if (end := self._relationship(at)) is not None:
                return end
            self._maps.append(False)
        elif token.is_punct("{"):
            self._maps.append(True)
        elif token.is_punct(*CLOSING) and self._maps:
            self._maps.pop()
        elif token.kind in {"name", "quoted"}:
            return self._name(at)
        return at + 1

    def _name(self, at: int) -> int:
        token = self._tokens[at]
        following = self._at(at + 1)
        if token.word == "AS" and self._alias(at):
            return at + 2
        if following.is_punct(".") and self._is_name(at + 2) and not self._at(at - 1).is_punct("."):
            if not self._at(at + 3).is_punct("("):
                self._property(token.name, at + 2)
            return at + 3
        is_key = self._maps and self._maps[-1] and self._at(at - 1).is_punct("{", ",")
        if following.is_punct(":") and self._is_name(at + 2) and not is_key and token.word not in _CLAUSES:
            labels, end = self._label_list(at + 1)
            for label in labels:
                self._names.labels[label] = None
            self._own(token.name, labels)
            return end
        return at + 1

    def _alias(self, at: int) -> bool:
        """`n AS m`: m stands for what n stands for."""
        before, after = self._at(at - 1), self._at(at + 1)
        plain = self._at(at - 2).is_punct(",") or self._at(at - 2).word in {"WITH", "RETURN", "DISTINCT"}
        if before.name in self._names.owners and after.name and plain:
            self._own(after.name, self._names.owners[before.name])
            if before.name in self._names.edges:
                self._names.edges.add(after.name)
            return True
        return False

    def _property(self, owner: str, at: int) -> None:
        name = self._at(at).name
        self._names.properties[owner if owner in self._names.owners else "", name] = None
        sign, value = self._at(at + 1), self._at(at + 2)
        if sign.word in {"STARTS", "ENDS"}:
            self._compare(owner, name, self._at(at + 3), f"{sign.word} WITH")
        elif sign.word == "CONTAINS":
            self._compare(owner, name, value, "CONTAINS")
        elif sign.is_punct("="):
            self._compare(owner, name, value)
        elif self._at(at - 3).is_punct("="):
            self._compare(owner, name, self._at(at - 4))

    def _compare(self, owner: str, name: str, value: Token, operator: str = "=") -> None:
        text = _text(value, self._params)
        if text and owner in self._names.owners:
            self._names.comparisons.append(Comparison(owner, name, text, operator))

    def _node(self, at: int) -> int | None:
        """`(n:Label {key: value})`, `(n)`, `(:Label)`, `()`; None for any other parenthesis."""
        before = self._at(at - 1)
        if before.kind in {"name", "quoted"} and before.word not in _CLAUSES | {
            "NOT",
            "AND",
            "OR",
            "XOR",
            "IN",
            "CREATE",
        }:
            return None  # a function's argument list
        cursor = at + 1
        variable = ""
        if self._is_name(cursor):
            variable = self._at(cursor).name
            cursor += 1
        labels: list[str] = []
        if self._at(cursor).is_punct(":"):
            labels, cursor = self._label_list(cursor)
        owner = variable or f"#{at}"
        if self._at(cursor).is_punct("{"):
            cursor = self._inline(owner, cursor, labels)
        if not self._at(cursor).is_punct(")"):
            return None
        for label in labels:
            self._names.labels[label] = None
        self._own(owner, labels)
        self._ends[at] = self._ends[cursor] = owner
        return cursor + 1

    def _relationship(self, at: int) -> int | None:
        """`[r:TYPE|OTHER*1..3 {key: value}]` after a dash; None for a list."""
        if not self._at(at - 1).is_punct("-"):
            return None
        cursor = at + 1
        variable = ""
        if self._is_name(cursor):
            variable = self._at(cursor).name
            cursor += 1
        types: list[str] = []
        while self._at(cursor).is_punct(":", "|") or (types and self._at(cursor).is_punct("||")):
            cursor += 1
            if self._is_name(cursor):
                types.append(self._at(cursor).name)
                cursor += 1
        owner = variable or f"#{at}"
        for kind in types:
            self._names.types[kind] = None
        self._own(owner, types)
        self._names.edges.add(owner)
        while cursor < len(self._tokens) and not self._at(cursor).is_punct("]"):
            cursor = self._inline(owner, cursor, types) if self._at(cursor).is_punct("{") else cursor + 1
        self._rels.append((at, cursor, tuple(types)))
        return cursor + 1

    def _inline(self, owner: str, at: int, owners: Sequence[str]) -> int:
        """An inline map of properties; gives the place behind it."""
        self._own(owner, owners)
        cursor, depth = at + 1, 1
        while cursor < len(self._tokens) and depth:
            token = self._at(cursor)
            if token.is_punct(*OPENING):
                depth += 1
            elif token.is_punct(*CLOSING):
                depth -= 1
            elif depth == 1 and self._is_name(cursor) and self._at(cursor + 1).is_punct(":"):
                self._names.properties[owner, token.name] = None
                self._compare(owner, token.name, self._at(cursor + 2))
                cursor += 1
            cursor += 1
        return cursor

    def _label_list(self, at: int) -> tuple[list[str], int]:
        labels = []
        while self._at(at).is_punct(":") and self._is_name(at + 1):
            labels.append(self._at(at + 1).name)
            at += 2
        return labels, at

    def _connect(self) -> None:
        """Relationship patterns with an arrow and a node pattern at both ends."""
        for opening, closing, types in self._rels:
            left_arrow = self._at(opening - 2).is_punct("<")
            right_arrow = self._at(closing + 2).is_punct(">")
            left = self._ends.get(opening - (3 if left_arrow else 2))
            right = self._ends.get(closing + (3 if right_arrow else 2))
            if left is not None and right is not None and types and left_arrow != right_arrow:
                self._names.steps.append(
                    Step(left, types, right) if right_arrow else Step(right, types, left)
                )

    def _own(self, owner: str, names: Sequence[str] | Mapping[str, None]) -> None:
        known = self._names.owners.setdefault(owner, {})
        for name in names:
            known[name] = None

    def _is_name(self, at: int) -> bool:
        token = self._at(at)
        return token.kind in {"name", "quoted"}

    def _at(self, at: int) -> Token:
        return self._tokens[at] if 0 <= at < len(self._tokens) else _NOTHING


_NOTHING = Token("space", "", 0)


def _text(token: Token, params: Mapping[str, Any]) -> str:
    if token.kind == "param":
        value = params.get(token.name)
        return value if isinstance(value, str) else ""
    if token.kind not in {"string", "curly"}:
        return ""
    inner = token.text[1:-1]
    return inner.replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\")
