"""Loops of Cypher: list comprehensions, any(), all(), none(), single() and reduce(), and the variables they bind."""

from __future__ import annotations

from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token


def bound_by_loop(structure: Structure, index: int, name: str) -> bool:
    """Whether a loop around a token has a variable of that name."""
    opener = structure.openers[index]
    while opener >= 0:
        if opener in structure.loops:
            variable = loop_variable(structure, opener)
            if variable is not None and variable.name == name and not in_source(structure, opener, index):
                return True
        opener = structure.openers[opener]
    return False


def in_source(structure: Structure, opener: int, index: int) -> bool:
    """Whether a token stands in the list a loop runs over (where its variable is not yet bound)."""
    start = _variable_index(structure, opener)
    if index <= start:
        return index < start
    for position in range(start, index):
        if structure.openers[position] == opener and (
            structure.sign(position, "|") or structure.keyword(position) == "WHERE"
        ):
            return False
    return True


def is_reduce(structure: Structure, opener: int) -> bool:
    """Whether a bracket is that of a reduce()."""
    return structure.word(opener - 1) == "REDUCE" and structure.sign(opener, "(")


def _variable_index(structure: Structure, opener: int) -> int:
    if not is_reduce(structure, opener):
        return opener + 1
    inside = structure.inside(opener)
    pieces = list(structure.split(inside.start, inside.stop, ","))
    return pieces[1][0] if len(pieces) > 1 else opener + 1


def loop_variable(structure: Structure, opener: int) -> Token | None:
    """The variable of a list comprehension, quantifier or reduce, given the index of its bracket."""
    index = _variable_index(structure, opener)
    token = structure.token(index)
    return token if token is not None and token.name and structure.word(index + 1) == "IN" else None
