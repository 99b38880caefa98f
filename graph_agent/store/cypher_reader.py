"""What each token of a query is for: keyword of a clause, operator, operand, label, property, map key.

FalkorDB's grammar reserves no word: `MATCH (set) RETURN set.create AS delete` is a read. What a word is
follows from its place: where a value is due, any word is a variable; where a value has just ended, a
word can only be an operator or begin a clause. This one-pass reader keeps that state, with a stack of
brackets, and is the base of every rule in `guard`. It was held against the engine's grammar, including
its odd corners: `CASE` falls back to a variable (`WITH n, case SET n.x = 1` writes), a dash may follow
YIELD, `[:A|B]` holds labels where `[x IN l | B]` holds a variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_structure import LOOP_FUNCTIONS, FrameKind, Role, Structure
from graph_agent.store.cypher_tokens import CLOSING, OPENING, Token

Due = Literal["clause", "operand", "operator"]

# The word after each clause keyword: a value, an operator or another keyword, or a whole clause.
_VALUE_NEXT = {
    "MATCH", "RETURN", "WITH", "UNWIND", "WHERE", "BY", "SKIP", "LIMIT", "YIELD", "CALL", "START", "FROM",
    "CREATE", "MERGE", "SET", "DELETE", "REMOVE",
}  # fmt: skip
_KEYWORD_NEXT = {
    "OPTIONAL", "ORDER", "DETACH", "LOAD", "CSV", "DROP", "USING", "FOREACH", "ON", "INDEX", "SCAN", "JOIN",
}  # fmt: skip
MAIN_CLAUSES = {
    "MATCH", "RETURN", "WITH", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE", "REMOVE", "FOREACH", "LOAD",
    "DROP", "DETACH", "OPTIONAL", "UNION", "START", "USING",
}  # fmt: skip
_PARTS = {"WHERE", "ORDER", "SKIP", "LIMIT", "YIELD"}  # of a main clause
_CLAUSE_WORDS = _VALUE_NEXT | _KEYWORD_NEXT | {"UNION", "ASC", "DESC", "ASCENDING", "DESCENDING"}
_INFIX_WORDS = {"AND", "OR", "XOR", "IN", "CONTAINS", "NOT", "AS", "WHEN", "THEN", "ELSE"}
NESTING_LIMIT = 10
_SUBQUERY_WORDS = {"CALL", "EXISTS", "COUNT", "COLLECT"}


@dataclass
class Frame:
    """An open bracket, or a CASE or prefix operator whose operand is not complete."""

    kind: FrameKind
    opener: int
    keys: bool = False  # a map in which a key is due
    loop: bool = False  # a list comprehension, reduce() or quantifier whose source list is being read
    clause: str = ""
    part: str = ""
    start: int = -1


def read_structure(tokens: Sequence[Token]) -> Structure:
    """Find out what each of the significant `tokens` of a query is for.

    Raises:
        QueryRefused: brackets, CASEs and prefix operators are nested more than 10 deep. The engine's parser
            doubles its work with each, in no time limit: 20 levels hang it.
    """
    return _Reader(list(tokens)).read()


def too_deep(token: Token) -> QueryRefused:
    """The refusal of nesting that the engine's parser would choke on."""
    return QueryRefused(
        f"Nested more than {NESTING_LIMIT} deep at position {token.start} (brackets, CASE, NOT and signs count).",
        "Compute the inner part in a WITH before and use its name.",
        word=token.text[:20],
        position=token.start,
    )


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.out = Structure(tokens)
        self.stack = [Frame("query", -1)]
        self.due: Due = "clause"
        self.pending: Role | None = None  # a label or a property must follow
        self.index = 0

    def read(self) -> Structure:
        for index, token in enumerate(self.tokens):
            self.index = index
            self.out.mates.append(-1)
            role = self._sign(token) if token.kind == "punct" else self._item(token)
            self._record(role)
        for frame in self.stack[1:]:
            if frame.kind not in {"case", "prefix"} and self.out.unbalanced < 0:
                self.out.unbalanced = frame.opener
        return self.out

    def _record(self, role: Role) -> None:
        out, frames = self.out, self.stack
        closing = role == "sign" and self.tokens[self.index].text in CLOSING
        mate = out.mates[self.index]
        out.roles.append(role)
        brackets = [
            frame for frame in frames if frame.kind not in {"case", "prefix"} and frame.opener != self.index
        ]
        out.openers.append(brackets[-1].opener)
        scope = next(frame for frame in reversed(brackets) if frame.kind in {"query", "block", "foreach"})
        out.clauses.append(scope.clause)
        out.parts.append(scope.part)
        out.starts.append(scope.start)
        out.cased.append(any(frame.kind == "case" for frame in frames[frames.index(brackets[-1]) :]))
        out.nesting.append(out.nesting[mate] if closing and mate >= 0 else len(frames) - 1)
        if out.nesting[-1] > NESTING_LIMIT:
            raise too_deep(self.tokens[self.index])
        effort = 1
        for frame in frames[1:]:
            effort *= _EFFORT[frame.kind] * (3 if frame.loop else 1)
        out.effort.append(effort)

    # Signs

    def _sign(self, token: Token) -> Role:
        text = token.text
        if text in OPENING:
            self._open(text)
        elif text in CLOSING:
            self._close(text)
        elif text == ",":
            self._drop_unfinished()
            self.stack[-1].keys = self.stack[-1].kind == "map"
            self.due, self.pending = "operand", None
        elif text == ".":
            self.pending = "property"
            self.stack[-1].keys = False
        elif text in {":", "::"}:
            self._colon()
        elif text == "|":
            self._bar()
        elif text == ";":
            self.stack = [Frame("query", -1)]
            self.due, self.pending = "clause", None
        elif text == "*" and (self.pending == "property" or self.due == "operand"):
            self._ended()  # `.*`, RETURN *, count(*), [*1..3]
        elif text in {"!", "&"} and (self.pending == "label" or self._previous_role() == "label"):
            self.pending = "label"
        elif text == "$":
            pass
        else:
            self._operator_sign(text)
        return "sign"

    def _operator_sign(self, text: str) -> None:
        if text == "-" and self._keyword_before() == "YIELD":
            self._ended()  # the engine takes `YIELD -` for "nothing"
            return
        arrow = self._before_is("-", "<") and self._before_is(")", "]", back=2)
        if text in {"-", "+"} and self.due == "operand" and not arrow:
            self._push("prefix")
        self.due, self.pending = "operand", None

    def _colon(self) -> None:
        if self._previous_role() == "key":
            self.due, self.pending = "operand", None
        else:
            self.pending = "label"

    def _bar(self) -> None:
        frame = self._bracket()
        self._drop_unfinished()
        frame.loop = False
        if frame.kind == "foreach":
            self.due = "clause"
        elif frame.kind in {"rel", "group"} and self._previous_role() == "label":
            self.pending = "label"
        else:
            self.due = "operand"

    def _open(self, text: str) -> None:
        kind = self._kind_of(text)
        self.out.kinds[self.index] = kind
        frame = self._push(kind)
        frame.keys = kind == "map"
        if self._is_loop(kind):
            frame.loop = True
            self.out.loops.add(self.index)
        self.pending = None
        self.due = "clause" if kind == "block" and not self._next_is("(") else "operand"

    def _kind_of(self, text: str) -> FrameKind:
        if text == "(":
            if self._keyword_before() == "FOREACH":
                return "foreach"
            called = self._previous_role() in {"operand", "property"} and self.tokens[self.index - 1].name
            return "call" if self.due == "operator" and called else "group"
        if text == "[":
            if self._before_is("-") and self._is_relationship():
                return "rel"
            return "subscript" if self.due == "operator" else "list"
        return "block" if self._opens_block() else "map"

    def _is_relationship(self) -> bool:
        position = self.index + 1
        if position < len(self.tokens) and self.tokens[position].kind in {"name", "quoted"}:
            position += 1
        token = self.tokens[position] if position < len(self.tokens) else None
        return (
            token is None
            or token.is_punct(":", "]", "*", "{", "$")
            or token.kind == "param"
            or token.word == "WHERE"
        )

    def _opens_block(self) -> bool:
        """Whether `{` begins a subquery rather than a map.

        Where the parser reads `call {` is not certain everywhere (a CASE before may fall back to a variable),
        so what follows decides: a key, a dot or the closing brace begin a map and no clause.
        """
        before = self.index - 1
        if before < 0 or self._holds_map():
            return False
        if self._before_is(")"):
            opener = self.out.mates[before]
            return opener > 0 and self.out.word(opener - 1) == "CALL"
        return self.tokens[before].word in _SUBQUERY_WORDS and self._previous_role() in {
            "clause",
            "operand",
            "stray",
        }

    def _holds_map(self) -> bool:
        first = self.tokens[self.index + 1] if self.index + 1 < len(self.tokens) else None
        second = self.tokens[self.index + 2] if self.index + 2 < len(self.tokens) else None
        if first is None or first.is_punct(".", "}"):
            return True
        return bool(first.name) and (second is None or second.is_punct(":", ",", "}"))

    def _is_loop(self, kind: FrameKind) -> bool:
        if kind == "call":
            return self.tokens[self.index - 1].word in LOOP_FUNCTIONS
        if kind != "list" or self.index + 2 >= len(self.tokens):
            return False
        return (
            self.tokens[self.index + 1].kind in {"name", "quoted"}
            and self.tokens[self.index + 2].word == "IN"
        )

    def _close(self, text: str) -> None:
        self._drop_unfinished()
        frame = self.stack[-1]
        if frame.opener >= 0 and OPENING[self.tokens[frame.opener].text] == text:
            self.out.mates[frame.opener], self.out.mates[self.index] = self.index, frame.opener
            self.stack.pop()
        elif self.out.unbalanced < 0:
            self.out.unbalanced = self.index
        self._ended()

    # Names and values

    def _item(self, token: Token) -> Role:
        if self.pending is not None:
            role, self.pending = self.pending, None
            self._ended()
            return role
        if self._before_is("$"):
            self._ended()
            return "operand"
        if self.stack[-1].keys:
            self.stack[-1].keys = False
            self.due = "operator"
            return "key"
        if not token.word:
            role = "operand" if self.due == "operand" else "stray"
            self._ended()
            return role
        if self.due == "clause":
            return self._clause(token.word)
        return self._operand(token.word) if self.due == "operand" else self._keyword(token.word)

    def _operand(self, word: str) -> Role:
        if self._keyword_before() == "AS":  # an alias, whatever it is called
            self._ended()
            return "operand"
        if word == "NOT" and self._operand_follows():
            self._push("prefix")
            return "operator"
        if word == "CASE" and self._operand_follows() and not self._is_named_case():
            self._push("case")
            return "operator"
        if word == "WHEN" and self._keyword_before() == "CASE":
            return "operator"
        if word == "DISTINCT" and self._may_be_distinct():
            return "operator"
        self._ended()
        return "operand"

    def _keyword(self, word: str) -> Role:
        before = self._keyword_before()
        if word == "IS" or (word in {"NOT", "NULL"} and before in {"IS", "NOT"} and self._after_is()):
            return "operator"
        if word in {"STARTS", "ENDS"}:
            return "operator"
        if word == "WITH" and before in {"STARTS", "ENDS"}:
            self.due = "operand"
            return "operator"
        if word == "END":
            while self.stack[-1].kind == "prefix":
                self.stack.pop()
            if self.stack[-1].kind == "case":
                self.stack.pop()
            self._ended()
            return "operator"
        if word in _INFIX_WORDS:
            self.due = "operand"
            return "operator"
        return self._clause(word) if word in _CLAUSE_WORDS else "stray"

    def _clause(self, word: str) -> Role:
        if word == "ALL" and self._keyword_before() == "UNION":
            return "clause"
        scope = self._bracket()
        self._drop_unfinished()
        if word == "WHERE":
            scope.loop = False
        if word in MAIN_CLAUSES and scope.kind in {"query", "block", "foreach"}:
            scope.clause, scope.part = ("" if word == "UNION" else word), ""
            scope.start = self.index
        elif word in _PARTS and scope.kind in {"query", "block", "foreach"}:
            scope.part, scope.start = word, self.index
        if word == "UNION":
            self.due = "clause"
        else:
            self.due = "operand" if word in _VALUE_NEXT else "operator"
        return "clause" if word in _CLAUSE_WORDS else "stray"

    # Context

    def _after_is(self) -> bool:
        back = 1 if self.tokens[self.index - 1].word == "IS" else 2
        return self.index >= back and self.tokens[self.index - back].word == "IS"

    def _ended(self) -> None:
        """A value is complete: prefix operators before it are, too."""
        self.pending = None
        while self.stack[-1].kind == "prefix":
            self.stack.pop()
        self.due = "operator"

    def _drop_unfinished(self) -> None:
        while self.stack[-1].kind in {"case", "prefix"}:
            self.stack.pop()

    def _push(self, kind: FrameKind) -> Frame:
        self.stack.append(Frame(kind, self.index))
        return self.stack[-1]

    def _bracket(self) -> Frame:
        return next(frame for frame in reversed(self.stack) if frame.kind not in {"case", "prefix"})

    def _previous_role(self) -> Role | None:
        return self.out.roles[self.index - 1] if self.index else None

    def _keyword_before(self) -> str:
        return self.out.keyword(self.index - 1) if self.index else ""

    def _before_is(self, *texts: str, back: int = 1) -> bool:
        return self.index >= back and self.tokens[self.index - back].is_punct(*texts)

    def _next_is(self, *texts: str) -> bool:
        return self.index + 1 < len(self.tokens) and self.tokens[self.index + 1].is_punct(*texts)

    def _is_named_case(self) -> bool:
        """Whether this `case` is a variable for certain: in `case THEN x` no value `then` can stand before x."""
        after = self.tokens[self.index + 2] if self.index + 2 < len(self.tokens) else None
        return (
            self.tokens[self.index + 1].word in {"THEN", "ELSE", "AS"}
            and after is not None
            and after.kind != "punct"
            and after.word not in {"WHEN", "IS", "STARTS", "ENDS", *_INFIX_WORDS}
        )

    def _may_be_distinct(self) -> bool:
        """Only RETURN, WITH and the bracket of a call may be followed by the keyword; elsewhere it is a variable."""
        if self._before_is("("):
            place = self.out.kinds[self.index - 1] == "call"
        else:
            place = self._previous_role() == "clause" and self._keyword_before() in {"RETURN", "WITH"}
        return place and (self._operand_follows() or self._next_is("*"))

    def _operand_follows(self) -> bool:
        token = self.tokens[self.index + 1] if self.index + 1 < len(self.tokens) else None
        return token is not None and (token.kind != "punct" or token.text in {"(", "[", "{", "-", "+", "$"})


# Alternatives that the parser reads again at each nesting, measured on both engine versions.
_EFFORT: dict[FrameKind, int] = {
    "query": 1, "group": 2, "call": 2, "foreach": 2, "list": 2, "rel": 2, "subscript": 2, "map": 3, "block": 1,
    "case": 4, "prefix": 2,
}  # fmt: skip
