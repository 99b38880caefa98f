"""How much work and memory one expression can take, where no limit of the engine reaches.

FalkorDB looks at its time limit between rows, not within an expression, and at its memory limit too late
for lists and strings that double: `reduce(s = 'aa', q IN range(1, 32) | s + s)` asks for 8 GB and hangs the
engine, as do loops over long lists within loops. So the longest list that the query's own text makes is
taken to the power of the nesting of loops, and names that are joined to themselves are counted. Lists that
come from the graph are as long as the data: nothing is assumed of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_loops import loop_variable
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token
from graph_agent.store.guard_deviations import AGGREGATES

STEP_LIMIT = 2_000_000  # about a second of either engine
GROWTH_LIMIT = 100_000
_LONG = 1_000
_SHORT_LOOP = 10
# Functions whose result is no longer than a number or a truth value, whatever they are given.
_SCALAR = (AGGREGATES - {"COLLECT"}) | {
    "SIZE", "LENGTH", "HEAD", "LAST", "ANY", "ALL", "NONE", "SINGLE", "TOINTEGER", "TOFLOAT", "ABS", "EXISTS", "ISEMPTY",
    "SIGN", "ROUND", "FLOOR", "CEIL", "SQRT", "LOG", "TYPEOF", "ID",
}  # fmt: skip
_JOINING = {
    "LIST.INSERT",
    "LIST.INSERTLISTELEMENTS",
    "STRING.JOIN",
    "REPLACE",
    "STRING.REPLACEREGEX",
    "TOJSON",
}
_TRUTH_WORDS = {"IN", "CONTAINS", "STARTS", "ENDS", "IS"}
_NUMERIC_SIGNS = {"*", "/", "%", "^", "-", "=", "<>", "<", ">", "<=", ">="}


def check_growth(structure: Structure, longest_range: float) -> None:
    """Refuse loops in loops over long lists, and lists and strings that multiply.

    Args:
        structure: the query.
        longest_range: elements of its longest range().

    Raises:
        QueryRefused: with the place and what to write instead.
    """
    length = max(longest_range, _longest_literal(structure))
    for opener in sorted(structure.loops):
        _check_doubling(structure, opener, length)
    long_names = _long_names(structure) if length >= _LONG else set()
    if length > 1:
        _check_loops(structure, length, long_names)
    _check_rows(structure, length, long_names)
    _check_joins(structure, length)


def _longest_literal(structure: Structure) -> float:
    longest = 0
    splits = any(structure.calls(index) == "SPLIT" for index in range(len(structure.tokens)))
    for opener, kind in structure.kinds.items():
        if kind == "list":
            longest = max(
                longest, sum(1 for _ in structure.split(opener + 1, structure.inside(opener).stop, ","))
            )
    for token in structure.tokens if splits else ():
        longest = max(longest, len(token.text) if token.kind == "string" else 0)
    return float(longest)


# Loops


def _check_loops(structure: Structure, length: float, long_names: set[str]) -> None:
    for opener in sorted(structure.loops):
        depth, outer = 1, structure.openers[opener]
        while outer >= 0:
            depth += outer in structure.loops
            outer = structure.openers[outer]
        heavy = length >= _LONG and (
            _holds_long_list(structure, opener, long_names) or _collects(structure, opener)
        )
        depth += heavy
        if depth > 1 and length**depth > STEP_LIMIT:
            raise _refused(
                f"Loops {depth} deep over lists of up to {length:,.0f} elements are {length**depth:.0e} steps in one "
                "expression, which no time limit stops",
                structure.tokens[opener - 1] if structure.sign(opener, "(") else structure.tokens[opener],
                "Use UNWIND instead of the outer loop, or shorter lists.",
            )


def _holds_long_list(structure: Structure, opener: int, long_names: set[str]) -> bool:
    """Whether a loop's body makes or copies a long list at each step."""
    for index in _body(structure, opener):
        if structure.calls(index) == "RANGE" or (
            _is_whole_name(structure, index) and structure.tokens[index].name in long_names
        ):
            return True
    return False


def _collects(structure: Structure, opener: int) -> bool:
    """Whether a reduce() adds to a list or string, which is copied at each step."""
    if structure.word(opener - 1) != "REDUCE" or not structure.sign(opener, "("):
        return False
    start = structure.token(opener + 3)
    text_or_list = start is not None and (start.kind == "string" or structure.kinds.get(opener + 3) == "list")
    return text_or_list and any(structure.sign(index, "+") for index in _body(structure, opener))


def _body(structure: Structure, opener: int) -> range:
    """What a loop does at each step: behind its list."""
    inside = structure.inside(opener)
    for index in inside:
        if structure.openers[index] == opener and (
            structure.sign(index, "|") or structure.keyword(index) == "WHERE"
        ):
            return range(index + 1, inside.stop)
    return range(inside.stop, inside.stop)


def _long_names(structure: Structure) -> set[str]:
    """Names given to lists that range(), collect() or a long literal made."""
    names: set[str] = set()
    for _ in range(3):  # a name of a name of a name; more are as long, but rare
        before = len(names)
        for start, stop, name in _aliases(structure):
            scalar = structure.calls(start) in _SCALAR and structure.mates[start + 1] == stop - 1
            made = any(
                structure.calls(index) in {"RANGE", "COLLECT", "SPLIT"}
                or structure.kinds.get(index) == "list"
                or (_is_whole_name(structure, index) and structure.tokens[index].name in names)
                for index in range(start, stop)
            )
            if made and not scalar:
                names.add(name)
        if len(names) == before:
            break
    return names


def _aliases(structure: Structure) -> Iterator[tuple[int, int, str]]:
    """(start, stop, name) of each `expression AS name` of WITH and RETURN."""
    for clause, start, stop in projections(structure):
        if structure.word(clause) == "UNWIND":
            continue
        for begin, end in structure.split(start, stop, ","):
            if end - begin > 2 and structure.keyword(end - 2) == "AS":
                yield begin, end - 2, structure.tokens[end - 1].name


def projections(structure: Structure) -> Iterator[tuple[int, int, int]]:
    """(index of the keyword, start, stop) of each RETURN, WITH and UNWIND, without its ORDER BY and the like."""
    stops: dict[int, int] = {}
    for index, start in enumerate(structure.starts):
        stops[start] = index + 1
    for index in range(len(structure.tokens)):
        if structure.roles[index] == "clause" and structure.word(index) in {"RETURN", "WITH", "UNWIND"}:
            start = index + 1 + (structure.keyword(index + 1) == "DISTINCT")
            stop = start
            while stop < stops.get(index, start) and structure.starts[stop] == index:
                stop += 1
            yield index, start, stop


def _check_rows(structure: Structure, length: float, long_names: set[str]) -> None:
    """A long list returned in each of many rows: sending it takes longer than any limit allows."""
    rows = 1.0
    for clause, start, stop in projections(structure):
        if structure.word(clause) == "UNWIND":
            rows *= length
        elif structure.word(clause) == "RETURN" and length >= _LONG:
            rows = max(rows, _LONG) if any(structure.keyword(i) == "MATCH" for i in range(clause)) else rows
            for begin, end in structure.split(start, stop, ","):
                listed = structure.calls(begin) == "RANGE" or structure.tokens[begin].name in long_names
                alone = (
                    end - begin == 1
                    or structure.keyword(begin + 1) == "AS"
                    or structure.calls(begin) == "RANGE"
                )
                if begin < end and listed and alone and rows * length > STEP_LIMIT * 5:
                    raise _refused(
                        f"A list of up to {length:,.0f} elements would be returned in each of many rows",
                        structure.tokens[begin],
                        "Return its size() or a slice such as list[0..10].",
                    )


# Joins of a name to itself


def _check_doubling(structure: Structure, opener: int, length: float) -> None:
    """A reduce() that joins its accumulator to itself doubles it at each step."""
    if structure.word(opener - 1) != "REDUCE" or not structure.sign(opener, "("):
        return
    accumulator, body = structure.token(opener + 1), _body(structure, opener)
    if accumulator is None or not accumulator.name or _is_short(structure, opener):
        return
    grown = max(
        (_joined(structure, begin, end, {accumulator.name}) for begin, end in _branches(structure, body)),
        default=0,
    )
    replaced = any(_widens(structure, index) for index in body)
    if grown > 1 or replaced:
        raise _refused(
            f"This reduce() makes `{accumulator.name}` longer by a factor at each step; no limit stops that",
            structure.tokens[opener - 1],
            f"Use `{accumulator.name}` once in the expression, or reduce over at most {_SHORT_LOOP} elements.",
        )


def _is_short(structure: Structure, opener: int) -> bool:
    """Whether a reduce() runs over a list written out, of ten elements at most."""
    variable = loop_variable(structure, opener)
    inside = structure.inside(opener)
    for index in inside:
        if structure.tokens[index] is variable and structure.kinds.get(index + 2) == "list":
            items = structure.inside(index + 2)
            alone = structure.sign(structure.mates[index + 2] + 1, "|") and index + 2 not in structure.loops
            return alone and sum(1 for _ in structure.split(items.start, items.stop, ",")) <= _SHORT_LOOP
    return False


def _branches(structure: Structure, body: range) -> Iterator[tuple[int, int]]:
    """The body, or when it is one CASE, what each of its branches gives."""
    if not body:
        return
    whole = structure.keyword(body.start) == "CASE" and structure.keyword(body.stop - 1) == "END"
    depth, begin = 0, -1
    if not whole or sum(structure.keyword(index) == "CASE" for index in body) > 1:
        yield body.start, body.stop
        return
    for index in body:
        word = structure.keyword(index)
        depth += (word == "CASE") - (word == "END")
        if begin >= 0 and word in {"WHEN", "ELSE", "END"}:
            yield begin, index
            begin = -1
        if word in {"THEN", "ELSE"} and depth == 1:
            begin = index + 1


def _check_joins(structure: Structure, length: float) -> None:
    """`WITH s + s AS s` over and over, `replace()` by longer texts, and one list joined to itself many times."""
    growth = 1.0
    for clause, start, stop in projections(structure):
        most = 1.0
        for begin, end in structure.split(start, stop, ","):
            most = max(most, _joined(structure, begin, end, None))
            for index in range(begin, end):
                most *= _widening(structure, index)
        growth *= most
        copied = most * most * length if length >= _LONG and most > 1 else 0
        if growth > GROWTH_LIMIT or copied > STEP_LIMIT * 10:
            raise _refused(
                "Names are joined to each other or replaced so often that lists or strings could grow without bound",
                structure.tokens[clause],
                "Join fewer values, or in fewer steps.",
            )


def _joined(structure: Structure, start: int, stop: int, names: set[str] | None) -> int:
    """How many whole names (of these, or any) an expression puts together into a longer list or text."""
    count = 0
    for index in range(start, stop):
        whole = _is_whole_name(structure, index) and not _in_truth_or_number(structure, index, start)
        if whole and (names is None or structure.tokens[index].name in names):
            count += names is not None or _is_joined(structure, index)
        elif names is None and structure.calls(index) == "RANGE" and structure.sign(index - 1, "+"):
            count += 1
    return count


def _is_whole_name(structure: Structure, index: int) -> bool:
    """A variable used as it is, without a property, an index or a call."""
    token = structure.tokens[index]
    plain = token.kind in {"name", "quoted"} and structure.roles[index] == "operand"
    return (
        plain
        and not structure.sign(index + 1, ".", "[", "(", "{", ":")
        and structure.keyword(index - 1) != "AS"
    )


def _is_joined(structure: Structure, index: int) -> bool:
    if structure.sign(index - 1, "+") or structure.sign(index + 1, "+"):
        return True
    return _function_around(structure, index) in _JOINING


def _in_truth_or_number(structure: Structure, index: int, start: int) -> bool:
    """Whether a name only takes part in a comparison, a calculation or a function that gives a scalar."""
    if structure.keyword(index - 1) in _TRUTH_WORDS | {"WITH"} and index - 1 >= start:
        return True
    if structure.keyword(index + 1) in _TRUTH_WORDS:
        return True
    if structure.sign(index - 1, *_NUMERIC_SIGNS) or structure.sign(index + 1, *_NUMERIC_SIGNS):
        return True
    alone = structure.sign(index - 1, "(") and structure.sign(index + 1, ")")
    return alone and _function_around(structure, index) in _SCALAR


def _function_around(structure: Structure, index: int) -> str:
    """Upper-case name, dots included, of the function whose argument a token is."""
    opener = structure.openers[index]
    if structure.kinds.get(opener) != "call":
        return ""
    name, position = structure.word(opener - 1), opener - 2
    while structure.sign(position, "."):
        name = f"{structure.word(position - 1)}.{name}"
        position -= 2
    return name


def _widens(structure: Structure, index: int) -> bool:
    return _widening(structure, index) > 1


def _widening(structure: Structure, index: int) -> float:
    """By what factor a replace() can make a text longer."""
    name = structure.calls(index)
    regex = structure.word(index) == "REPLACEREGEX" and structure.sign(index - 1, ".")
    if name != "REPLACE" and not regex:
        return 1.0
    inside = structure.inside(index + 1)
    arguments = list(structure.split(inside.start, inside.stop, ","))
    texts = [structure.tokens[begin] for begin, end in arguments if end - begin == 1]
    if len(arguments) != 3 or len(texts) < 2 or texts[-1].kind != "string":
        return 100.0
    sought = len(texts[-2].text) - 2 if texts[-2].kind == "string" and not regex else 1
    given = len(texts[-1].text) - 2
    if given <= 1 and sought > 0:
        return 1.0
    return max(1.0, (given + (sought == 0)) / max(sought, 1) + (sought == 0))


def _refused(what: str, token: Token, fix: str) -> QueryRefused:
    return QueryRefused(f"{what} (position {token.start}).", fix, word=token.text[:40], position=token.start)
