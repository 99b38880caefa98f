"""Rewrites of expressions that Cypher has and FalkorDB lacks, or reads otherwise, where that is certain.

Checked on FalkorDB 4.16.3 and 4.22.1. The widest of them: IN, CONTAINS, STARTS WITH, ENDS WITH and IS NULL
bind tighter than + - * / in FalkorDB, so that `n.x IN a + b` reads `(n.x IN a) + b`; openCypher has it the
other way round, and brackets say it to both.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_agent.store.cypher_operands import COMPARISONS, has_arithmetic, operand_end, operand_start
from graph_agent.store.cypher_rewrites import Edit
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token

_PREDICATES = {"IN", "CONTAINS", "STARTS", "ENDS"}
_RENAMED = {
    "LOWER": "toLower", "UPPER": "toUpper", "LCASE": "toLower", "UCASE": "toUpper", "ELEMENTID": "id",
    "CHAR_LENGTH": "size", "CHARACTER_LENGTH": "size",
}  # fmt: skip


def negation_edits(structure: Structure) -> Iterator[Edit]:
    """`x NOT IN l` to `NOT x IN l`, and the same for CONTAINS, STARTS WITH and ENDS WITH."""
    for index, token in enumerate(structure.tokens):
        follower = structure.word(index + 1)
        if token.word != "NOT" or structure.roles[index] != "operator" or follower not in _PREDICATES:
            continue
        if follower in {"STARTS", "ENDS"} and structure.word(index + 2) != "WITH":
            continue
        start = operand_start(structure, index)
        if (
            start == index
            or structure.sign(start - 1, *COMPARISONS)
            or structure.keyword(start - 1) in _PREDICATES
        ):
            continue  # NOT is a prefix already, or it is not certain what is negated
        stop = operand_end(structure, index + (3 if follower in {"STARTS", "ENDS"} else 2))
        if structure.sign(stop, *COMPARISONS):
            continue
        note = f"`x NOT {follower}` written as `NOT x {follower}`"
        yield Edit(structure.tokens[start].start, structure.tokens[start].start, "NOT ", note)
        yield Edit(token.start, structure.tokens[index + 1].start, "")


def expression_edits(structure: Structure) -> Iterator[Edit]:
    """Functions and operators by FalkorDB's names, and brackets where its precedence is another."""
    yield from _renames(structure)
    yield from _sql_habits(structure)
    yield from _brackets(structure)


def _renames(structure: Structure) -> Iterator[Edit]:
    for index, token in enumerate(structure.tokens):
        called = structure.calls(index)
        if called in _RENAMED:
            if called == "ELEMENTID" and _compared_with_text(structure, index):
                continue  # FalkorDB's ids are numbers; the hint to the engine's error says so
            yield _told(token, _RENAMED[called], f"{token.text}() written as {_RENAMED[called]}()")
        elif called == "DATETIME" and _plain_moment(structure, index):
            yield _told(token, "localdatetime", f"{token.text}() written as localdatetime()")
        elif called == "LENGTH" and structure.token(index + 2) and _is_text_or_list(structure, index + 2):
            yield _told(token, "size", f"{token.text}() of a string or list written as size()")
        elif (
            token.word == "POINT"
            and structure.roles[index] == "operand"
            and _is_point_distance(structure, index)
        ):
            after = structure.tokens[index + 2].end
            yield Edit(token.start, after, "distance", "point.distance() written as distance()")


def _is_point_distance(structure: Structure, index: int) -> bool:
    dotted = structure.sign(index + 1, ".") and structure.word(index + 2) == "DISTANCE"
    return dotted and structure.sign(index + 3, "(")


def _sql_habits(structure: Structure) -> Iterator[Edit]:
    """`AS 'two words'` with backticks, `IN (1, 2)` with square brackets."""
    for index, token in enumerate(structure.tokens):
        follower = structure.token(index + 1)
        if structure.keyword(index) == "AS" and follower is not None and follower.kind == "string":
            name = follower.text[1:-1]
            if name and not set(name) & set("`\\\n"):
                yield _told(follower, f"`{name}`", f"the alias {follower.text} written in backticks")
        elif structure.keyword(index) == "IN" and structure.sign(index + 1, "("):
            inside = structure.inside(index + 1)
            if (
                structure.mates[index + 1] > 0
                and len(list(structure.split(inside.start, inside.stop, ","))) > 1
            ):
                closer = structure.tokens[structure.mates[index + 1]]
                yield _told(structure.tokens[index + 1], "[", f"the list after {token.text} written in [ ]")
                yield Edit(closer.start, closer.end, "]")


def _compared_with_text(structure: Structure, index: int) -> bool:
    after = structure.mates[index + 1] + 1
    if structure.word(after) == "IN":
        return True
    following, before = structure.token(after + 1), structure.token(index - 2)
    left = (
        structure.sign(index - 1, *COMPARISONS) and before is not None and before.kind in {"string", "param"}
    )
    right = (
        structure.sign(after, *COMPARISONS)
        and following is not None
        and following.kind in {"string", "param"}
    )
    return left or right


def _plain_moment(structure: Structure, index: int) -> bool:
    """No argument, or one text without an offset from UTC, or a map without a time zone."""
    inside = [structure.tokens[position] for position in structure.inside(index + 1)]
    if not inside:
        return True
    if len(inside) == 1 and inside[0].kind == "string":
        time_of_day = inside[0].text[1:-1].partition("T")[2]
        return not set(time_of_day) & set("+-[")
    return inside[0].is_punct("{") and all(
        token.word not in {"TIMEZONE", "EPOCHSECONDS", "EPOCHMILLIS"} for token in inside
    )


def _is_text_or_list(structure: Structure, index: int) -> bool:
    token = structure.tokens[index]
    closes = structure.mates[index - 1]
    return (token.kind == "string" and closes == index + 1) or (
        structure.kinds.get(index) == "list" and structure.mates[index] + 1 == closes
    )


def _brackets(structure: Structure) -> Iterator[Edit]:
    for index in range(len(structure.tokens)):
        word = structure.keyword(index)
        if (
            word not in _PREDICATES | {"IS"}
            or structure.roles[index] == "clause"
            or _is_loop_in(structure, index)
        ):
            continue
        note = f"arithmetic beside {word} put in brackets, which FalkorDB needs"
        start = operand_start(structure, index)
        if has_arithmetic(structure, start, index):
            yield Edit(structure.tokens[start].start, structure.tokens[start].start, "(", note)
            yield Edit(structure.tokens[index - 1].end, structure.tokens[index - 1].end, ")")
        if word == "IS":
            continue
        begin = index + (2 if word in {"STARTS", "ENDS"} else 1)
        stop = operand_end(structure, begin)
        if has_arithmetic(structure, begin, stop):
            yield Edit(structure.tokens[begin].start, structure.tokens[begin].start, "(", note)
            yield Edit(structure.tokens[stop - 1].end, structure.tokens[stop - 1].end, ")")


def _is_loop_in(structure: Structure, index: int) -> bool:
    """Whether an IN belongs to a loop: `[x IN l | ..]`, `any(x IN l ..)`, `reduce(s = 0, x IN l | ..)`."""
    opener = structure.openers[index]
    first = index - 2 == opener or (structure.sign(index - 2, ",") and structure.word(opener - 1) == "REDUCE")
    return structure.word(index) == "IN" and opener in structure.loops and first


def regex_edits(structure: Structure) -> Iterator[Edit]:
    """`x =~ 'pattern'` by string.matchRegEx(), which finds matches anywhere: so the pattern is anchored."""
    for index, token in enumerate(structure.tokens):
        literal = structure.token(index + 1)
        if not token.is_punct("=~") or literal is None or literal.kind != "string":
            continue
        start, stop = operand_start(structure, index), operand_end(structure, index + 1)
        before_ok = (
            not structure.sign(start - 1, *COMPARISONS) and structure.keyword(start - 1) not in _PREDICATES
        )
        after_ok = not structure.sign(stop, *COMPARISONS) and structure.keyword(stop) not in _PREDICATES | {
            "IS"
        }
        if start == index or stop != index + 2 or not before_ok or not after_ok:
            continue
        subject = _source(structure, start, index)
        quote, pattern = literal.text[0], literal.text[1:-1]
        # null stays null, so that NOT and AND treat it as they do with =~
        text = (
            f"CASE WHEN {subject} IS NULL THEN NULL "
            f"ELSE size(string.matchRegEx({subject}, {quote}\\\\A(?:{pattern})\\\\z{quote})) > 0 END"
        )
        note = "`=~` written with string.matchRegEx()"
        yield Edit(structure.tokens[start].start, literal.end, text, note)


def _source(structure: Structure, start: int, stop: int) -> str:
    pieces: list[str] = []
    for index in range(start, stop):
        token = structure.tokens[index]
        gap = index > start and structure.tokens[index - 1].end < token.start
        pieces.append((" " if gap else "") + token.text)
    text = "".join(pieces)
    return f"({text})" if has_arithmetic(structure, start, stop) else text


def _told(token: Token, text: str, what: str) -> Edit:
    return Edit(token.start, token.end, text, f"{what}")
