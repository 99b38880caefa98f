"""Where patterns stand in a query, and what each is: part of a MATCH, a condition, a comprehension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from graph_agent.store.cypher_structure import Structure

PatternKind = Literal["clause", "path", "comprehension", "condition", "counted", "tested"]


@dataclass(frozen=True)
class Pattern:
    """A pattern with at least one relationship.

    Attributes:
        kind: clause (of MATCH), path (in shortestPath() or allShortestPaths()), comprehension
            (`[(a)-->(b) | ...]`), counted (`size((a)-->())`), tested (`exists((a)-->())`), condition (bare).
        start: index of its first `(`.
        stop: index behind its last `)`.
        opener: index of the bracket that belongs to it (of the comprehension, of the call), or -1.
    """

    kind: PatternKind
    start: int
    stop: int
    opener: int = -1


def find_patterns(structure: Structure) -> list[Pattern]:
    """All patterns of a query with a relationship, in order."""
    patterns: list[Pattern] = []
    taken: dict[int, int] = {}  # by bracket: index behind the last pattern in it
    for index in range(len(structure.tokens)):
        stop = pattern_end(structure, index)
        opener = structure.openers[index]
        if stop is not None and taken.get(opener, -1) <= index:
            taken[opener] = stop
            patterns.append(_pattern(structure, index, stop))
    return patterns


def pattern_end(structure: Structure, index: int) -> int | None:
    """Index behind the pattern whose first node opens at `index`; None when there is none with a relationship."""
    stop = None
    while structure.kinds.get(index) == "group" and structure.mates[index] > index:
        after = structure.mates[index] + 1
        if stop is not None:
            stop = after
        follower = relationship_end(structure, after)
        if follower is None or structure.kinds.get(follower) != "group":
            return stop
        stop = after
        index = follower
    return None


def relationship_end(structure: Structure, index: int) -> int | None:
    """Index of what follows `-[..]->`, `<--` and the like, None when no relationship begins here."""
    if structure.sign(index, "<"):
        index += 1
    if not structure.sign(index, "-"):
        return None
    index += 1
    if structure.kinds.get(index) in {"rel", "list"}:
        index = structure.mates[index] + 1
        if index <= 0:
            return None
    if not structure.sign(index, "-"):
        return None
    index += 1
    return index + 1 if structure.sign(index, ">") else index


def _pattern(structure: Structure, start: int, stop: int) -> Pattern:
    opener = structure.openers[start]
    kind = structure.kinds.get(opener)
    called = structure.calls(opener - 1) if kind == "call" else ""
    if called in {"SHORTESTPATH", "ALLSHORTESTPATHS"}:
        return Pattern("path", start, stop, opener)
    if (
        structure.clauses[start] == "MATCH"
        and not structure.parts[start]
        and kind in {None, "block", "query"}
    ):
        return Pattern("clause", start, stop)
    if kind == "list" and (structure.sign(stop, "|") or structure.keyword(stop) == "WHERE"):
        return Pattern("comprehension", start, stop, opener)
    alone = kind == "call" and structure.mates[opener] == stop and start == opener + 1
    if alone and called == "EXISTS":
        return Pattern("tested", start, stop, opener)
    if kind == "call" and start == opener + 1:
        return Pattern("counted", start, stop, opener)
    return Pattern("condition", start, stop)
