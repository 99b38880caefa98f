"""Where the operands of a predicate begin and end, by openCypher's precedence."""

from __future__ import annotations

from graph_agent.store.cypher_structure import Structure

_ARITHMETIC = {"+", "-", "*", "/", "%", "^"}
COMPARISONS = {"=", "<>", "<", ">", "<=", ">=", "=~", "!="}
LOGIC = {"AND", "OR", "XOR", "NOT"}
_ENDS_OPERAND = LOGIC | {
    "CASE",
    "IN",
    "CONTAINS",
    "STARTS",
    "ENDS",
    "IS",
    "WHEN",
    "THEN",
    "ELSE",
    "AS",
    "DISTINCT",
    "NULL",
}


def operand_start(structure: Structure, index: int) -> int:
    """Where the operand that ends before `index` begins: back to a weaker operator or the bracket's start."""
    start = index
    while start > 0:
        before = start - 1
        mate = structure.mates[before]
        if 0 <= mate < before:
            start = mate
        elif structure.keyword(before) == "END":
            start = _case_of(structure, before)
        elif mate > before or _separates(structure, before):
            break
        else:
            start = before
    return start


def operand_end(structure: Structure, index: int) -> int:
    """Index behind the operand that begins at `index`."""
    stop = index
    while stop < len(structure.tokens):
        mate = structure.mates[stop]
        if mate > stop:
            stop = mate + 1
        elif structure.word(stop) == "CASE" and structure.roles[stop] == "operator":
            stop = _end_of(structure, stop) + 1
        elif 0 <= mate < stop or _separates(structure, stop):
            break
        else:
            stop += 1
    return stop


def _separates(structure: Structure, index: int) -> bool:
    """Whether a token ends an operand of a predicate."""
    if structure.roles[index] == "clause":
        return True
    if structure.roles[index] in {"operator", "stray"}:
        return structure.word(index) in _ENDS_OPERAND | {"WITH"}
    sign = structure.tokens[index].text if structure.roles[index] == "sign" else ""
    if sign == ":":
        return structure.roles[index - 1] == "key" if index else False
    return sign in {",", "|", ";", "..", "+="} | COMPARISONS


def _case_of(structure: Structure, end: int) -> int:
    depth = 0
    for index in range(end, -1, -1):
        depth += (structure.keyword(index) == "END") - (structure.keyword(index) == "CASE")
        if depth == 0:
            return index
    return end


def _end_of(structure: Structure, case: int) -> int:
    depth = 0
    for index in range(case, len(structure.tokens)):
        depth += (structure.keyword(index) == "CASE") - (structure.keyword(index) == "END")
        if depth == 0:
            return index
    return case


def has_arithmetic(structure: Structure, start: int, stop: int) -> bool:
    """Whether + - * / % or ^ stands in [start, stop), brackets left aside."""
    index = start
    while index < stop:
        if structure.mates[index] > index:
            index = structure.mates[index]
        elif structure.sign(index, *_ARITHMETIC):
            return True
        index += 1
    return False
