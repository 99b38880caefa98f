"""Loops in a WHERE behind a WITH that look at what stands around them: 4.16.3 finds nothing there, without an error.

`any(w IN $words WHERE s.text CONTAINS w)` is right in the WHERE of a first MATCH and in RETURN. In the WHERE of a WITH,
or of a MATCH behind one whose variables are new, every row is dropped, as far as the loop (any, all, none, single, a
list comprehension, reduce) uses a variable that is not its own outside of the list it runs over. Seen by running the
forms on 4.16.3; 4.22.1 answers all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_loops import bound_by_loop, in_source, is_reduce
from graph_agent.store.cypher_structure import Structure

_SAFE_FROM = 42200


def check_loops_behind_with(structure: Structure, engine_version: int | None) -> None:
    """Refuse a loop in a WHERE behind a WITH that uses a variable from around it.

    Raises:
        QueryRefused: with the variable, its position and the form that works.
    """
    if engine_version is not None and engine_version >= _SAFE_FROM:
        return
    for opener in sorted(structure.loops):
        for index in _free_names(structure, opener):
            name = structure.tokens[index].name
            if _is_lost(structure, opener, name):
                token = structure.tokens[index]
                raise QueryRefused(
                    f"`{name}` at position {token.start} is used within a loop in a WHERE behind WITH; this FalkorDB "
                    "finds nothing there, without an error.",
                    f"Compute it first: WITH {name}, any(w IN ['x'] WHERE {name}.title CONTAINS w) AS ok WHERE ok ...",
                    word=name,
                    position=token.start,
                )


def _free_names(structure: Structure, opener: int) -> Iterator[int]:
    """Places in a loop, outside its list, of variables that it does not bind."""
    sums = {structure.tokens[at + 1].name for at in structure.loops if is_reduce(structure, at)}
    for index in structure.inside(opener):
        token = structure.tokens[index]
        if structure.roles[index] != "operand" or token.kind == "param" or not token.name:
            continue
        if structure.sign(index + 1, "(") or token.name in sums:
            continue
        if not in_source(structure, opener, index) and not bound_by_loop(structure, index, token.name):
            yield index


def _is_lost(structure: Structure, opener: int, name: str) -> bool:
    """Whether the loop stands in the WHERE of a WITH, or of a MATCH that brings `name` in behind a WITH."""
    if structure.parts[opener] != "WHERE":
        return False
    if structure.clauses[opener] == "WITH":
        return True
    clauses = _clauses_before(structure, opener)
    if structure.clauses[opener] != "MATCH" or structure.keyword(clauses[-1] - 1) == "OPTIONAL":
        return False
    behind = [at for at in clauses if structure.word(at) == "WITH"]
    return bool(behind) and name not in _projected(structure, behind[-1])


def _clauses_before(structure: Structure, index: int) -> list[int]:
    """The keywords of the clauses of the query, or subquery, around a token and before it, since its last UNION."""
    found: list[int] = []
    frame = _frame(structure, index)
    for at in range(index):
        if structure.roles[at] == "clause" and _frame(structure, at) == frame:
            found = [] if structure.word(at) == "UNION" else [*found, at]
    return [at for at in found if structure.word(at) not in {"WHERE", "ORDER", "SKIP", "LIMIT", "OPTIONAL"}]


def _frame(structure: Structure, index: int) -> int:
    """Opening bracket of the innermost subquery around a token, -1 for the query itself."""
    opener = structure.openers[index]
    while opener >= 0 and structure.kinds.get(opener) != "block":
        opener = structure.openers[opener]
    return opener


def _projected(structure: Structure, clause: int) -> set[str]:
    """The names that a WITH hands on; with `*` those that are mentioned before it, too."""
    stop = next(
        (
            at
            for at in range(clause + 1, len(structure.tokens))
            if structure.roles[at] == "clause" and _frame(structure, at) == _frame(structure, clause)
        ),
        len(structure.tokens),
    )
    names: set[str] = set()
    for start, end in structure.split(clause + 1, stop, ","):
        if structure.sign(end - 1, "*"):
            names |= {token.name for token in structure.tokens[:clause] if token.name}
        elif end - start == 1 or structure.keyword(end - 2) in {"AS", "DISTINCT"}:
            names.add(structure.tokens[end - 1].name)
    return names
