"""Rewrites of patterns, subqueries and counts that FalkorDB lacks or answers wrongly, where that is certain."""

from __future__ import annotations

from collections.abc import Iterator

from graph_agent.store.cypher_operands import LOGIC
from graph_agent.store.cypher_patterns import Pattern, find_patterns, pattern_end
from graph_agent.store.cypher_rewrites import Edit
from graph_agent.store.cypher_structure import Structure

# 4.22.1 counts the rows of count(*) right; 4.16.3 does not; versions between are taken to be as 4.16.3.
_COUNTS_RIGHT_FROM = 42201
_LISTED_LIMIT = 200  # names put into count([...]) in one query


def pattern_edits(structure: Structure, engine_version: int | None) -> Iterator[Edit]:
    """Every rewrite of this module, for one version of the engine (41603 for 4.16.3; None when unknown)."""
    yield from _patterns(structure)
    yield from _subqueries(structure)
    yield from _scoped_calls(structure)
    yield from _quantified(structure)
    if engine_version is None or engine_version < _COUNTS_RIGHT_FROM:
        yield from _counted_rows(structure)


def _patterns(structure: Structure) -> Iterator[Edit]:
    """`exists((a)-->())`, bare patterns tested in projections, and counts of patterns compared with 0 in WHERE."""
    for pattern in find_patterns(structure):
        first, last = structure.tokens[pattern.start], structure.tokens[pattern.stop - 1]
        if pattern.kind == "tested":
            call, closer = structure.tokens[pattern.opener - 1], structure.tokens[pattern.stop]
            note = "exists(pattern) written so that FalkorDB tests it"
            if in_condition(structure, pattern.opener - 1, pattern.stop + 1):
                yield Edit(call.start, call.end, "", note)
            elif structure.parts[pattern.start] != "WHERE":
                yield Edit(call.start, call.end, "(size", note)
                yield Edit(
                    closer.end, closer.end, " > 0)" + _alias(structure, pattern.opener - 1, pattern.stop + 1)
                )
        elif pattern.kind == "counted" and structure.calls(pattern.opener - 1) == "SIZE":
            yield from _compared_count(structure, pattern.opener - 1, pattern.stop)
        elif pattern.kind == "condition" and _is_bare_test(structure, pattern):
            note = "the pattern tested with size(...) > 0, as FalkorDB needs here"
            yield Edit(first.start, first.start, "(size(", note)
            yield Edit(last.end, last.end, ") > 0)")


def _compared_count(structure: Structure, call: int, closer: int) -> Iterator[Edit]:
    """`size((a)-->()) > 0` in a WHERE, which FalkorDB cannot compute there, as the pattern itself."""
    negated = _zero_test(structure, closer + 1)
    if negated is None or not in_condition(structure, call, closer + 3):
        return
    name, number = structure.tokens[call], structure.tokens[closer + 2]
    note = f"{name.text}(pattern) compared with {number.text} written as the pattern itself"
    yield Edit(name.start, name.end, "NOT " if negated else "", note)
    yield Edit(structure.tokens[closer].end, number.end, "")


def _zero_test(structure: Structure, index: int) -> bool | None:
    """Whether the comparison at an index asks for none (True) or for some (False); None when for neither."""
    number = structure.token(index + 1)
    asked = (structure.tokens[index].text if structure.token(index) else "", number.text if number else "")
    if asked in {(">", "0"), (">=", "1"), ("<>", "0")}:
        return False
    return True if asked in {("=", "0"), ("<", "1"), ("<=", "0")} else None


def _subqueries(structure: Structure) -> Iterator[Edit]:
    """`EXISTS { (a)-->() }` and `COUNT { (a)-->() }` of one pattern, which FalkorDB lacks."""
    for index, token in enumerate(structure.tokens):
        if token.word not in {"EXISTS", "COUNT"} or structure.kinds.get(index + 1) != "block":
            continue
        closer = structure.mates[index + 1]
        start = index + 2 + (structure.word(index + 2) == "MATCH")
        stop = pattern_end(structure, start)
        if closer < 0 or stop is None or structure.roles[index] != "operand":
            continue
        filtered = structure.keyword(stop) == "WHERE" and not any(
            structure.roles[inner] == "clause"
            for inner in range(stop + 1, closer)
            if structure.openers[inner] == index + 1
        )
        if stop != closer and not filtered:
            continue
        yield from _subquery(structure, index, start, stop, closer)


def _subquery(structure: Structure, index: int, start: int, stop: int, closer: int) -> Iterator[Edit]:
    token, brace = structure.tokens[index], structure.tokens[closer]
    inner = structure.tokens[closer - 1].end
    note = f"{token.word} {{ }} written as a pattern"
    before, after = structure.tokens[index].start, structure.tokens[start].start
    in_where = structure.parts[index] == "WHERE"
    negated = _zero_test(structure, closer + 1) if token.word == "COUNT" else False
    if in_where:
        end = closer + (3 if token.word == "COUNT" else 1)
        if stop != closer or negated is None or not in_condition(structure, index, end):
            return
        yield Edit(before, after, "NOT (" if negated else "(", note)
        yield Edit(inner, structure.tokens[end - 1].end, ")")
        yield from _local_names_left_out(structure, index, start, stop, closer)
        return
    test = token.word == "EXISTS"
    alias = _alias(structure, index, closer + 1)
    if stop == closer:
        yield Edit(before, after, "(size(" if test else "size(", note)
        yield Edit(inner, brace.end, (") > 0)" if test else ")") + alias)
        yield from _local_names_left_out(structure, index, start, stop, closer)
    else:
        yield Edit(before, after, "(size([" if test else "size([", note)
        yield Edit(inner, brace.end, (" | 1]) > 0)" if test else " | 1])") + alias)


def _local_names_left_out(
    structure: Structure, index: int, start: int, stop: int, closer: int
) -> Iterator[Edit]:
    """FalkorDB's patterns in expressions bring no new variables."""
    outside = {
        token.name
        for position, token in enumerate(structure.tokens)
        if structure.roles[position] == "operand" and not index < position < closer
    }
    for position in range(start, stop):
        token, opener = structure.tokens[position], structure.openers[position]
        first = opener == position - 1 and structure.kinds.get(opener) in {"group", "rel"}
        if first and structure.roles[position] == "operand" and token.name and token.name not in outside:
            yield Edit(token.start, token.end, "")


def in_condition(structure: Structure, start: int, stop: int) -> bool:
    """Whether [start, stop) is a condition of a WHERE by itself or under AND, OR, NOT and brackets."""
    if structure.parts[start] != "WHERE" or structure.cased[start]:
        return False
    opener = structure.openers[start]
    before, after = structure.keyword(start - 1), structure.keyword(stop)
    whole_before = before in LOGIC | {"WHERE"} or start - 1 == opener
    whole_after = (
        after in LOGIC
        or structure.token(stop) is None
        or structure.mates[stop] == opener
        or (structure.roles[stop] == "clause")
    )
    if not (whole_before and whole_after):
        return False
    kind = structure.kinds.get(opener)
    return kind in {None, "block"} or (
        kind == "group" and in_condition(structure, opener, structure.mates[opener] + 1)
    )


def _is_bare_test(structure: Structure, pattern: Pattern) -> bool:
    if structure.parts[pattern.start] == "WHERE" or structure.clauses[pattern.start] not in {
        "RETURN",
        "WITH",
    }:
        return False
    before, after = structure.keyword(pattern.start - 1), structure.keyword(pattern.stop)
    return before in {"WHEN", "AND", "OR", "NOT"} or after in {"AND", "OR", "THEN"}


def _alias(structure: Structure, start: int, stop: int) -> str:
    """` AS ...` that keeps a column's name when [start, stop) is a whole item of a RETURN without an alias."""
    whole = structure.clauses[start] == "RETURN" and not structure.parts[start]
    first = structure.keyword(start - 1) in {"RETURN", "DISTINCT"} or structure.sign(start - 1, ",")
    following = structure.token(stop)
    last = following is None or following.is_punct(",") or structure.roles[stop] == "clause"
    level = structure.kinds.get(structure.openers[start]) in {None, "block"}
    if not (whole and first and last and level):
        return ""
    text = "".join(token.text for token in structure.tokens[start:stop])
    return "" if "`" in text else f" AS `{text}`"


def _scoped_calls(structure: Structure) -> Iterator[Edit]:
    """`CALL (a, b) { ... }` to `CALL { WITH a, b ... }`."""
    for index in range(len(structure.tokens)):
        if structure.keyword(index) != "CALL" or not structure.sign(index + 1, "("):
            continue
        closer = structure.mates[index + 1]
        if closer < 0 or structure.kinds.get(closer + 1) != "block":
            continue
        inner = [structure.tokens[position] for position in structure.inside(index + 1)]
        block = structure.inside(closer + 1)
        unions = any(structure.keyword(p) == "UNION" and structure.openers[p] == closer + 1 for p in block)
        names = all(item.name or item.is_punct(",") for item in inner)
        if not names or (unions and inner):
            continue
        note = "CALL (variables) { } written as CALL { WITH variables }"
        brace = structure.tokens[closer + 1]
        scope = " WITH " + "".join(item.text for item in inner).replace(",", ", ") if inner else ""
        yield Edit(structure.tokens[index + 1].start, brace.end, "{" + scope, note)


def _quantified(structure: Structure) -> Iterator[Edit]:
    """`-[:R]->{1,3}`, `-[:R]->+` and `-[:R]->*` to `-[:R*1..3]->` and so on."""
    for opener, kind in structure.kinds.items():
        closer = structure.mates[opener]
        if kind != "rel" or closer < 0 or not structure.sign(closer + 1, "-"):
            continue
        inner = [structure.tokens[position] for position in structure.inside(opener)]
        if (inner and not inner[0].is_punct(":")) or any(item.is_punct("*", "{") for item in inner):
            continue  # a variable there would be a path in FalkorDB, a list elsewhere
        after = closer + (3 if structure.sign(closer + 2, ">") else 2)
        found = _quantifier(structure, after)
        if found is None:
            continue
        length, last = found
        where = structure.tokens[closer].start
        note = f"the repetition written as [{length}]"
        yield Edit(where, where, length, note)
        yield Edit(structure.tokens[after].start, structure.tokens[last].end, "")


def _quantifier(structure: Structure, index: int) -> tuple[str, int] | None:
    """The `*m..n` that a repetition at an index stands for, and the index of its last token."""
    if structure.sign(index, "+", "*"):
        plus = structure.sign(index, "+")
        return ("*1.." if plus else "*0..", index) if structure.sign(index + 1, "(") else None
    if (
        not structure.sign(index, "{")
        or structure.mates[index] < 0
        or not structure.sign(structure.mates[index] + 1, "(")
    ):
        return None
    closer = structure.mates[index]
    parts = [
        "".join(structure.tokens[p].text for p in range(a, b))
        for a, b in structure.split(index + 1, closer, ",")
    ]
    if len(parts) > 2 or not all(part.isdigit() or part == "" for part in parts) or not any(parts):
        return None
    return (f"*{parts[0]}" if len(parts) == 1 else f"*{parts[0] or 0}..{parts[1]}"), closer


def _counted_rows(structure: Structure) -> Iterator[Edit]:
    """count(*) that names the query's matched variables, without which 4.16.3 counts pairs of end nodes.

    `MATCH (a)-->(m)<--(b) RETURN b, count(*)` gives 1 for every b there, as `m` is used nowhere; 4.22.1 counts
    right. `count([m])` counts the same rows as count(*), because a list is never null.
    """
    calls = [index for index in range(len(structure.tokens)) if _is_count_all(structure, index)]
    unused = _unused_matched(structure) if calls else {}
    for index in calls:
        token = structure.tokens[index]
        names = unused.get(_projection_of(structure, index), [])
        if names and len(names) * len(calls) <= _LISTED_LIMIT:
            listed = ", ".join(names)
            text = f"{token.text}([{listed}])" + _alias(structure, index, index + 4)
            note = f"count(*) written as count([{listed}]), or this FalkorDB would count pairs of end nodes"
            yield Edit(token.start, structure.tokens[index + 3].end, text, note)


def _is_count_all(structure: Structure, index: int) -> bool:
    called = structure.calls(index) == "COUNT" and structure.sign(index + 2, "*")
    projected = structure.clauses[index] in {"RETURN", "WITH"} and structure.parts[index] in {"", "ORDER"}
    return called and projected and structure.mates[index + 1] == index + 3


def _projection_of(structure: Structure, index: int) -> int:
    """Index of the RETURN or WITH that a token belongs to, also from its ORDER BY."""
    start = structure.starts[index]
    while start > 0 and structure.word(start) not in {"RETURN", "WITH"}:
        start -= 1
    return start


def _unused_matched(structure: Structure) -> dict[int, list[str]]:
    """By projection: variables matched just before it that no expression of the query uses and that matter.

    Those are relationships, and nodes between others; end nodes are always told apart.
    """
    used: set[str] = set()
    matched: dict[int, list[str]] = {}
    seen: set[str] = set()
    current: list[str] = []
    for index, token in enumerate(structure.tokens):
        word = structure.word(index) if structure.roles[index] == "clause" else ""
        if word in {"RETURN", "WITH"}:
            matched[index] = current
        if word in {"RETURN", "WITH", "UNION", "CALL"}:
            current, seen = [], set()
        if structure.roles[index] != "operand" or not token.name or token.kind == "param":
            continue
        if not _is_matched(structure, index):
            used.add(token.name)
        elif token.text not in current and (
            token.name in seen or _is_between(structure, structure.openers[index])
        ):
            current.append(token.text)
        seen.add(token.name)
    return {
        start: [name for name in names if name.strip("`") not in used] for start, names in matched.items()
    }


def _is_matched(structure: Structure, index: int) -> bool:
    """Whether a variable stands for a node or relationship in a pattern of a MATCH."""
    opener = structure.openers[index]
    within = structure.clauses[index] == "MATCH" and not structure.parts[index] and opener == index - 1
    return within and structure.kinds.get(opener) in {"group", "rel"}


def _is_between(structure: Structure, opener: int) -> bool:
    """Whether this is a relationship of fixed length, or a node with relationships on both sides."""
    if structure.kinds.get(opener) == "rel":
        return not any(structure.sign(position, "*") for position in structure.inside(opener))
    after = structure.mates[opener] + 1
    return structure.sign(opener - 1, "-", ">") and structure.sign(after, "-", "<")
