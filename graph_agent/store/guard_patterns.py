"""Patterns that kill an engine: labels and variables that its planner puts together wrongly.

All were found by running generated patterns, and each refusal's remedy was run as well. FalkorDB 4.16.3 dies of all
three kinds, 4.22.1 of the second (with a condition) and the third.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_patterns import Pattern, relationship_end
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token

_LOOPS_SAFE_FROM = 42201


def check_labels_of_long_relationships(
    structure: Structure, patterns: Sequence[Pattern], engine_version: int | None
) -> None:
    """`*` beside a node of two labels, from a node to itself or with a condition on the relationship."""
    labels = _labels(structure, patterns)
    loops_are_safe = engine_version is not None and engine_version >= _LOOPS_SAFE_FROM
    for pattern in patterns:
        for left, relationship, right in _steps(structure, pattern):
            if not any(structure.sign(at, "*") for at in _top(structure, relationship)):
                continue
            ends = [_node(structure, left), _node(structure, right)]
            if all(len(own | labels.get(name, set())) < 2 for name, own in ends):
                continue
            loop = bool(ends[0][0]) and ends[0][0] == ends[1][0]
            if (loop and not loops_are_safe) or _has_condition(structure, pattern, relationship):
                token = structure.tokens[relationship]
                why = "from a node to itself" if loop else "with a condition on it"
                raise _kills(
                    f"A relationship of variable length {why} beside a node of two labels", token,
                    "Leave one label in the pattern and test the other: "
                    "MATCH (a:One)-[:R*1..3 {k: 1}]->(b) WHERE a:Two RETURN ...",
                )  # fmt: skip


def check_labels_added_by_optional(structure: Structure) -> None:
    """OPTIONAL MATCH that gives a bound variable of one label another one."""
    bound: dict[str, set[str]] = {}
    for index in range(len(structure.tokens)):
        if structure.roles[index] == "clause" and structure.word(index) in {"WITH", "UNION"}:
            bound.clear()
        if structure.kinds.get(index) != "group" or not _matched(structure, index):
            continue
        name, labels = _node(structure, index)
        if not name:
            continue
        optional = structure.keyword(structure.starts[index] - 1) == "OPTIONAL"
        if optional and bound.get(name) and not labels <= bound[name]:
            raise _kills(
                f"OPTIONAL MATCH that gives `{name}` another label", structure.tokens[index],
                f"Test the label instead: OPTIONAL MATCH ({name})-->(x) WHERE {name}:Label, or write WITH {name} before.",
            )  # fmt: skip
        if not optional:
            bound.setdefault(name, set()).update(labels)


def check_repeated_relationships(structure: Structure, patterns: Sequence[Pattern]) -> None:
    """The same variable for two relationships of a pattern in an expression; in MATCH the engine says so itself."""
    for pattern in patterns:
        seen: set[str] = set()
        for _, relationship, _ in _steps(structure, pattern):
            name = _variable(structure, relationship)
            if name in seen and pattern.kind != "clause":
                raise _kills(
                    f"The variable `{name}` for two relationships of one pattern",
                    structure.tokens[relationship],
                    "Give each relationship a variable of its own, or none.",
                )
            seen |= {name} - {""}


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
