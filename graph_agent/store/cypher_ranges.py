"""How long a list range() can make, worked out before the engine is asked.

The engine builds the whole list inside one expression, where its time limit does not reach: `range(1, 3e8)`
takes a worker for many seconds and blocks writers. So every range must be bounded by what can be read
off the query: numbers and arithmetic on them, parameters whose values are known, size() and length() and
degrees (their lists exist already, so a range over one at most doubles it), and names that were given to
such values by AS, UNWIND or a list comprehension. Stored properties are not a bound: a graph may hold
timestamps in milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token

RANGE_LIMIT = 100_000
_DATA_SIZED = {"SIZE", "LENGTH", "INDEGREE", "OUTDEGREE"}
_CHAIN_LIMIT = 30
_ADD = {"+", "-"}
_MULTIPLY = {"*", "/", "%"}


@dataclass(frozen=True)
class Bound:
    """What a number can be: between low and high, give or take sizes of data that exists (`data`)."""

    low: float
    high: float
    data: bool = False

    def join(self, other: Bound) -> Bound:
        """Either of two."""
        return Bound(min(self.low, other.low), max(self.high, other.high), self.data or other.data)


def check_ranges(structure: Structure, params: Mapping[str, Any] | None) -> float:
    """Refuse ranges over 100,000 elements or of unknown length.

    Args:
        structure: the query.
        params: values of its parameters, when they are known.

    Returns:
        Elements of the longest range(), 0 without one.

    Raises:
        QueryRefused: with the range and what to write instead.
    """
    reader = _Ranges(structure, params)
    calls = [index for index in range(len(structure.tokens)) if structure.calls(index) == "RANGE"]
    return max((_checked(reader.span(index), structure.tokens[index]) for index in calls), default=0.0)


def _checked(span: float | None, token: Token) -> float:
    if span is None:
        raise QueryRefused(
            f"The length of this range() cannot be known before it runs (position {token.start}).",
            "Give numbers, params, size() or length() as its bounds, and filter after: "
            "UNWIND range(0, 1000) AS i WITH i WHERE i <= n.count.",
            word=token.text,
            position=token.start,
        )
    if span > RANGE_LIMIT:
        raise QueryRefused(
            f"This range() has {span:,.0f} elements, more than {RANGE_LIMIT:,} (position {token.start}).",
            f"Use at most {RANGE_LIMIT:,} elements.",
            word=token.text,
            position=token.start,
        )
    return span


class _Ranges:
    def __init__(self, structure: Structure, params: Mapping[str, Any] | None) -> None:
        self.structure = structure
        self.params = params or {}
        self.names: dict[str, Bound | None] = {}
        self.busy: set[str] = set()

    def span(self, call: int) -> float | None:
        """Elements of the range() whose name is at an index; None when unknown."""
        arguments = [self.bound(start, stop) for start, stop in self._arguments(call)]
        if len(arguments) not in {2, 3} or any(argument is None for argument in arguments):
            # The engine refuses another number of arguments by itself.
            return 0.0 if len(arguments) not in {2, 3} else None
        first, last, *steps = [argument for argument in arguments if argument is not None]
        step = 1.0
        if steps:
            if steps[0].low <= 0 <= steps[0].high:
                return 0.0 if steps[0].low == steps[0].high else None  # a step of 0 is an error of the engine
            step = min(abs(steps[0].low), abs(steps[0].high))
        widest = max(abs(last.high - first.low), abs(first.high - last.low))
        return math.floor(widest / step) + 1 if math.isfinite(widest) else math.inf

    def _arguments(self, call: int) -> list[tuple[int, int]]:
        inside = self.structure.inside(call + 1)
        return list(self.structure.split(inside.start, inside.stop, ","))

    def bound(self, start: int, stop: int) -> Bound | None:
        """The bound of the expression in [start, stop), None when unknown."""
        value, index = self._sum(start, stop)
        return value if index == stop else None

    def _sum(self, index: int, stop: int) -> tuple[Bound | None, int]:
        left, index = self._product(index, stop)
        while left is not None and index < stop and self.structure.sign(index, *_ADD):
            negative = self.structure.sign(index, "-")
            right, index = self._product(index + 1, stop)
            if right is None:
                return None, index
            low, high = (-right.high, -right.low) if negative else (right.low, right.high)
            left = Bound(left.low + low, left.high + high, left.data or right.data)
        return left, index

    def _product(self, index: int, stop: int) -> tuple[Bound | None, int]:
        left, index = self._power(index, stop)
        while left is not None and index < stop and self.structure.sign(index, *_MULTIPLY):
            sign = self.structure.tokens[index].text
            right, index = self._power(index + 1, stop)
            left = _times(left, sign, right) if right is not None else None
        return left, index

    def _power(self, index: int, stop: int) -> tuple[Bound | None, int]:
        left, index = self._atom(index, stop)
        if left is not None and index < stop and self.structure.sign(index, "^"):
            right, index = self._power(index + 1, stop)
            left = _power(left, right) if right is not None else None
        return left, index

    def _atom(self, index: int, stop: int) -> tuple[Bound | None, int]:
        structure = self.structure
        token = structure.token(index) if index < stop else None
        if token is None:
            return None, index
        if token.is_punct("-", "+"):
            value, after = self._atom(index + 1, stop)
            if value is None or token.text == "+":
                return value, after
            return Bound(-value.high, -value.low, value.data), after
        if token.is_punct("(") and structure.mates[index] >= 0:
            return self.bound(index + 1, structure.mates[index]), structure.mates[index] + 1
        if structure.sign(index + 1, "(") and structure.mates[index + 1] >= 0:
            return self._function(index), structure.mates[index + 1] + 1
        if structure.sign(index + 1, ".", "["):
            return None, index
        return self._leaf(token), index + 1

    def _leaf(self, token: Token) -> Bound | None:
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "param":
            value = self.params.get(token.name)
            known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            return Bound(float(value), float(value)) if known and value is not None else None
        return self._name(token.name) if token.kind in {"name", "quoted"} else None

    def _function(self, index: int) -> Bound | None:
        name = self.structure.calls(index)
        if name in _DATA_SIZED:
            return Bound(0, 0, data=True)
        if name in {"TOINTEGER", "FLOOR", "CEIL", "ROUND", "ABS"}:
            inside = self.structure.inside(index + 1)
            value = self.bound(inside.start, inside.stop)
            if value is None:
                return None
            return Bound(
                min(0.0, value.low - 1),
                max(abs(value.low), abs(value.high)) + (name != "TOINTEGER"),
                value.data,
            )
        return None

    def _name(self, name: str) -> Bound | None:
        """What every binding of a name in the query allows."""
        if name not in self.names:
            if name in self.busy or len(self.busy) > _CHAIN_LIMIT:
                return None  # defined by itself, or through too many names
            self.busy.add(name)
            self.names[name] = self._bindings(name)
            self.busy.discard(name)
        return self.names[name]

    def _bindings(self, name: str) -> Bound | None:
        found: list[Bound | None] = []
        for index, token in enumerate(self.structure.tokens):
            if token.name != name or self.structure.roles[index] != "operand" or token.kind == "param":
                continue
            if self.structure.keyword(index - 1) == "AS":
                found.append(self._aliased(index - 1))
            elif self._binds_otherwise(index):
                found.append(self._looped(index))
        bounds = [bound for bound in found if bound is not None]
        if not bounds or len(bounds) < len(found):
            return None
        joined = bounds[0]
        for bound in bounds[1:]:
            joined = joined.join(bound)
        return joined

    def _aliased(self, keyword: int) -> Bound | None:
        """The value before an AS."""
        start = keyword
        while start > 0 and not self._begins_item(start - 1):
            mate = self.structure.mates[start - 1]
            start = mate if 0 <= mate < start else start - 1
        if self.structure.keyword(start - 1) == "UNWIND":
            return self._elements(start, keyword)
        value = self.bound(start, keyword)
        if (
            keyword - start == 1
            and self.structure.tokens[start].name == self.structure.tokens[keyword + 1].name
        ):
            return Bound(math.inf, -math.inf)  # `n AS n` says nothing new
        return value

    def _begins_item(self, index: int) -> bool:
        return self.structure.sign(index, ",", "(", "[", "{") or self.structure.keyword(index) in {
            "WITH", "RETURN", "UNWIND", "DISTINCT", "YIELD",
        }  # fmt: skip

    def _binds_otherwise(self, index: int) -> bool:
        """Whether a name is bound here by a loop or a pattern."""
        structure = self.structure
        opener = structure.openers[index]
        if opener in structure.loops:
            return index == opener + 1 or (
                structure.sign(index - 1, ",") and structure.word(index + 1) == "IN"
            )
        in_pattern = structure.kinds.get(opener) in {"group", "rel"} and index == opener + 1
        named_path = (
            structure.sign(index + 1, "=")
            and structure.clauses[index] == "MATCH"
            and not structure.parts[index]
        )
        yielded = structure.parts[index] == "YIELD"
        return (
            named_path
            or yielded
            or (in_pattern and structure.clauses[index] == "MATCH" and not structure.parts[index])
        )

    def _looped(self, index: int) -> Bound | None:
        if self.structure.word(index + 1) != "IN":
            return None
        inside = self.structure.inside(self.structure.openers[index])
        start = stop = index + 2
        while stop < inside.stop and not (
            self.structure.sign(stop, "|") or self.structure.keyword(stop) == "WHERE"
        ):
            stop = max(self.structure.mates[stop], stop) + 1
        return self._elements(start, min(stop, inside.stop))

    def _elements(self, start: int, stop: int) -> Bound | None:
        """What the elements of a list can be: a range() or a literal list of bounded values."""
        structure = self.structure
        if structure.calls(start) == "RANGE" and structure.mates[start + 1] == stop - 1:
            bounds = [self.bound(begin, end) for begin, end in self._arguments(start)]
            first, last = [*bounds, None, None][:2]
            return first.join(last) if first is not None and last is not None else None
        if structure.sign(start, "[") and structure.mates[start] == stop - 1 and start not in structure.loops:
            items = [self.bound(begin, end) for begin, end in structure.split(start + 1, stop - 1, ",")]
            joined = items[0] if items else None
            for item in items[1:]:
                joined = joined.join(item) if joined is not None and item is not None else None
            return joined
        return None


def _number(text: str) -> Bound | None:
    try:
        lowered = text.lower()
        if lowered.startswith(("0x", "0o")):
            value = float(int(lowered, 16 if lowered.startswith("0x") else 8))
        elif len(text) > 1 and text.startswith("0") and text.isdigit():
            value = float(max(int(text), int(text, 8) if not set(text) & set("89") else 0))
        else:
            value = float(text)
    except (ValueError, OverflowError):
        return None
    return Bound(value, value) if math.isfinite(value) else Bound(math.inf, math.inf)


def _times(left: Bound, sign: str, right: Bound) -> Bound | None:
    if sign == "*":
        if left.data and right.data:
            return None
        factor = max(abs(left.low), abs(left.high)) if right.data else max(abs(right.low), abs(right.high))
        if (left.data or right.data) and factor > 2:
            return None
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        return _finite(Bound(min(corners), max(corners), left.data or right.data))
    if right.data or right.low <= 0 <= right.high:
        return None
    if sign == "%":
        edge = max(abs(right.low), abs(right.high))
        return Bound(-edge, edge)
    if left.data and min(abs(right.low), abs(right.high)) < 1:
        return None
    corners = [a / b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _finite(Bound(min(corners), max(corners), left.data))


def _power(left: Bound, right: Bound) -> Bound | None:
    if left.data or right.data or left.low < 0:
        return None
    try:
        corners = [a**b for a in (left.low, left.high) for b in (right.low, right.high)]
    except (OverflowError, ZeroDivisionError):
        return None
    return _finite(Bound(min(corners), max(corners)))


def _finite(bound: Bound) -> Bound | None:
    return bound if math.isfinite(bound.low) and math.isfinite(bound.high) else None
