"""Patterns that kill an engine: labels and variables that its planner puts together wrongly.

All were found by running generated patterns on FalkorDB 4.16.3 and 4.22.1, and each refusal's remedy was run as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_patterns import Pattern, relationship_end
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token

_SAFE_FROM = 42201
_HOPS_SAFE_BELOW = 42200


def check_labels_of_long_relationships(
    structure: Structure, patterns: Sequence[Pattern], engine_version: int | None
) -> None:
    """`*` beside a node of two labels: from a node to itself, with a condition on it, or `*2` in a named path."""
    labels = _labels(structure, patterns)
    expressions = any(pattern.kind != "clause" for pattern in patterns)
    loops_are_safe = engine_version is not None and engine_version >= _SAFE_FROM
    for pattern in patterns:
        for left, relationship, right in _steps(structure, pattern):
            if not any(structure.sign(at, "*") for at in _top(structure, relationship)):
                continue
            ends = [_node(structure, left), _node(structure, right)]
            if all(len(own | labels.get(name, set())) < 2 for name, own in ends):
                continue
            loop = bool(ends[0][0]) and ends[0][0] == ends[1][0]
            fixed = _is_fixed_in_a_path(structure, pattern, relationship, expressions=expressions)
            if (loop and not loops_are_safe) or fixed or _has_condition(structure, pattern, relationship):
                token = structure.tokens[relationship]
                why = (
                    "from a node to itself"
                    if loop
                    else "in a path that is kept"
                    if fixed
                    else "with a condition on it"
                )
                raise _kills(
                    f"A relationship of variable length {why} beside a node of two labels", token,
                    "Leave one label in the pattern and test the other: "
                    "MATCH (a:One)-[:R*1..3 {k: 1}]->(b) WHERE a:Two RETURN ...",
                )  # fmt: skip


def check_tests_on_two_labels(
    structure: Structure, patterns: Sequence[Pattern], engine_version: int | None
) -> None:
    """`MATCH (a:One:Two) WHERE (a)-->()`: a pattern tested on a node that MATCH gave two labels kills 4.16.3."""
    if engine_version is not None and engine_version >= _SAFE_FROM:
        return
    labels = _labels(structure, [])
    for pattern in patterns:
        if pattern.kind not in {"condition", "tested"} or structure.parts[pattern.start] != "WHERE":
            continue
        for index in range(pattern.start, pattern.stop):
            if structure.kinds.get(index) != "group":
                continue
            name, own = _node(structure, index)
            if not name or len(own | labels.get(name, set())) < 2:
                continue
            raise _kills(
                f"A pattern in WHERE with `{name}`, which has two labels,", structure.tokens[index],
                f"Leave one label in MATCH and test the other: MATCH ({name}:One) WHERE {name}:Two AND ({name})-->().",
            )  # fmt: skip


def check_untyped_hops(structure: Structure, patterns: Sequence[Pattern], engine_version: int | None) -> None:
    """`-[*2]->`, a number of hops without a type: beside labels it kills 4.22.1."""
    if engine_version is not None and engine_version < _HOPS_SAFE_BELOW:
        return
    for pattern in patterns:
        for _, relationship, _ in _steps(structure, pattern):
            typed = any(structure.roles[at] == "label" for at in _top(structure, relationship))
            if not typed and _is_fixed(structure, relationship):
                raise _kills(
                    "A fixed number of hops without a type", structure.tokens[relationship],
                    "Name the types, -[:KNOWS*2]->, or write the hops out: (a)-->()-->(b).",
                )  # fmt: skip


def check_labels_added_by_optional(structure: Structure) -> None:
    """OPTIONAL MATCH, or a MATCH behind CALL, that gives a bound variable of one label another one: kills 4.16.3."""
    bound: dict[str, set[str]] = {}
    called = False
    for index in range(len(structure.tokens)):
        if structure.roles[index] == "clause" and structure.word(index) in {"WITH", "UNION"}:
            bound.clear()
            called = False
        called = called or (structure.roles[index] == "clause" and structure.word(index) == "CALL")
        if structure.kinds.get(index) != "group" or not _matched(structure, index):
            continue
        name, labels = _node(structure, index)
        if not name:
            continue
        optional = structure.keyword(structure.starts[index] - 1) == "OPTIONAL"
        if (optional or called) and bound.get(name) and not labels <= bound[name]:
            raise _kills(
                f"A later MATCH that gives `{name}` another label", structure.tokens[index],
                f"Test the label instead: MATCH ({name})-->(x) WHERE {name}:Label, or write WITH {name} before.",
            )  # fmt: skip
        if not optional:
            bound.setdefault(name, set()).update(labels)


def check_repeated_relationships(structure: Structure, patterns: Sequence[Pattern]) -> None:
    """The same variable for two relationships of a pattern in an expression; in MATCH the engine says so itself."""
    matched: set[str] = set()
    for pattern in patterns:
        seen: set[str] = set()
        for _, relationship, _ in _steps(structure, pattern):
            name = _variable(structure, relationship)
            long = any(structure.sign(at, "*") for at in _top(structure, relationship))
            if pattern.kind != "clause" and (name in seen or (long and name in matched)):
                raise _kills(
                    f"The variable `{name}` for two relationships",
                    structure.tokens[relationship],
                    "Give each relationship a variable of its own, or none.",
                )
            seen |= {name} - {""}
        if pattern.kind == "clause":
            matched |= seen


def _steps(structure: Structure, pattern: Pattern) -> Iterator[tuple[int, int, int]]:
    """Opening brackets of node, relationship (only those with brackets) and node, from left to right."""
    left = pattern.start
    while (after := structure.mates[left] + 1) < pattern.stop:
        right = relationship_end(structure, after)
        if right is None:
            return
        between = [at for at in range(after, right) if structure.sign(at, "[")]
        if between:
            yield left, between[0], right
        left = right


def _top(structure: Structure, opener: int) -> Iterator[int]:
    """Indices right inside a bracket, not in brackets within it."""
    return (at for at in structure.inside(opener) if structure.openers[at] == opener)


def _variable(structure: Structure, opener: int) -> str:
    token = structure.token(opener + 1)
    named = (
        token is not None and token.kind in {"name", "quoted"} and structure.roles[opener + 1] == "operand"
    )
    return token.name if token is not None and named else ""


def _node(structure: Structure, opener: int) -> tuple[str, set[str]]:
    """Variable and labels as written at one place."""
    labels = {structure.tokens[at].name for at in _top(structure, opener) if structure.roles[at] == "label"}
    return _variable(structure, opener), labels


def _matched(structure: Structure, index: int) -> bool:
    return structure.clauses[index] == "MATCH" and not structure.parts[index]


def _labels(structure: Structure, patterns: Sequence[Pattern]) -> dict[str, set[str]]:
    """Labels that the patterns of a query give its variables."""
    found: dict[str, set[str]] = {}
    for index in range(len(structure.tokens)):
        inside = any(pattern.start <= index < pattern.stop for pattern in patterns)
        if structure.kinds.get(index) == "group" and (inside or _matched(structure, index)):
            name, labels = _node(structure, index)
            if name:
                found.setdefault(name, set()).update(labels)
    return found


def _is_fixed_in_a_path(
    structure: Structure, pattern: Pattern, relationship: int, *, expressions: bool
) -> bool:
    """`p = ()-[*2]->()`: one length only, and the path has a name or it stands in an expression, or its relationship has one beside `expressions`."""
    named = pattern.kind == "clause" and structure.sign(pattern.start - 1, "=")
    named = named or (expressions and bool(_variable(structure, relationship)))
    return (named or pattern.kind != "clause") and _is_fixed(structure, relationship)


def _is_fixed(structure: Structure, relationship: int) -> bool:
    """`*2` or `*2..2`."""
    star = next((at for at in _top(structure, relationship) if structure.sign(at, "*")), -2)
    first, last = structure.token(star + 1), structure.token(star + 3)
    if star < 0 or first is None or first.kind != "number":
        return False
    return not structure.sign(star + 2, "..") or (last is not None and last.text == first.text)


def _has_condition(structure: Structure, pattern: Pattern, relationship: int) -> bool:
    """Properties on a relationship, or its variable or that of its path in the WHERE of a MATCH or a comprehension."""
    if any(
        structure.sign(at, "{", "$") or structure.tokens[at].kind == "param"
        for at in _top(structure, relationship)
    ):
        return True
    names = {_variable(structure, relationship)}
    if structure.sign(pattern.start - 1, "="):
        names.add(structure.tokens[pattern.start - 2].name)
    names.discard("")
    return any(
        token.name in names
        and structure.roles[at] == "operand"
        and at >= pattern.stop
        and (structure.parts[at] == "WHERE" or pattern.kind != "clause")
        for at, token in enumerate(structure.tokens)
    )


def _kills(what: str, token: Token, fix: str) -> QueryRefused:
    return QueryRefused(
        f"{what} (position {token.start}) kills this FalkorDB.", fix, word=token.text, position=token.start
    )
