"""What is known of each token of a query once `cypher_reader` has read it; the rules ask it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from graph_agent.store.cypher_tokens import Token

Role = Literal["clause", "operator", "operand", "label", "property", "key", "sign", "stray"]
FrameKind = Literal[
    "query", "group", "call", "foreach", "list", "rel", "subscript", "map", "block", "case", "prefix"
]

LOOP_FUNCTIONS = {"REDUCE", "ALL", "ANY", "NONE", "SINGLE", "FILTER", "EXTRACT"}


@dataclass
class Structure:
    """The significant tokens of a query with what each is for; all lists run in step with `tokens`.

    Attributes:
        roles: what each token is for.
        mates: index of the other bracket of a pair, or -1.
        openers: index of the innermost bracket that a token stands in, or -1.
        kinds: kind of bracket, for opening brackets.
        loops: opening brackets of list comprehensions, reduce() and any(), all(), none(), single().
        clauses: main clause a token belongs to ("MATCH", "RETURN" ...), "" before the first.
        parts: part of that clause ("WHERE", "ORDER" ...), or "".
        starts: index of the keyword that begins the clause, or the part of a clause, around a token; or -1.
        cased: whether a token stands in a CASE of its bracket.
        nesting: brackets, CASEs and prefix operators around a token.
        effort: how often the engine's parser may read a token (it tries alternatives at each nesting).
        unbalanced: index of a bracket without its partner, or -1.
    """

    tokens: list[Token]
    roles: list[Role] = field(default_factory=list)
    mates: list[int] = field(default_factory=list)
    openers: list[int] = field(default_factory=list)
    kinds: dict[int, FrameKind] = field(default_factory=dict)
    loops: set[int] = field(default_factory=set)
    clauses: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    cased: list[bool] = field(default_factory=list)
    nesting: list[int] = field(default_factory=list)
    effort: list[int] = field(default_factory=list)
    unbalanced: int = -1

    def token(self, index: int) -> Token | None:
        """The token at an index, None outside."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    def sign(self, index: int, *texts: str) -> bool:
        """Whether there is one of these signs at an index."""
        token = self.token(index)
        return token is not None and token.is_punct(*texts)

    def word(self, index: int) -> str:
        """Upper-case word at an index, whatever its role; "" when there is no unquoted name."""
        token = self.token(index)
        return token.word if token else ""

    def keyword(self, index: int) -> str:
        """Upper-case word at an index when it is a keyword there, else ""."""
        return self.word(index) if self.token(index) and self.roles[index] in {"clause", "operator"} else ""

    def calls(self, index: int) -> str:
        """Upper-case name of the function whose name is this single word and `(` follows, else ""."""
        free = self.roles[index] == "operand" and self.word(index) and not self.sign(index - 1, ".")
        return self.word(index) if free and self.sign(index + 1, "(") else ""

    def inside(self, opener: int) -> range:
        """Indices between a bracket and its partner (to the end when it has none)."""
        mate = self.mates[opener]
        return range(opener + 1, mate if mate >= 0 else len(self.tokens))

    def split(self, start: int, stop: int, *texts: str) -> Iterator[tuple[int, int]]:
        """Cut [start, stop) at these signs, those within brackets left alone; (start, stop) of each piece."""
        begin = index = start
        while index < stop:
            if self.mates[index] > index:
                index = self.mates[index]
            elif self.sign(index, *texts):
                yield begin, index
                begin = index + 1
            index += 1
        yield begin, stop
