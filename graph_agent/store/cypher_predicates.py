"""Rewrites of expressions that Cypher has and FalkorDB lacks, or reads otherwise, where that is certain.

Checked on FalkorDB 4.16.3 and 4.22.1. The widest of them: IN, CONTAINS, STARTS WITH, ENDS WITH and IS NULL
bind tighter than + - * / in FalkorDB, so that `n.x IN a + b` reads `(n.x IN a) + b`; openCypher has it the
other way round, and brackets say it to both.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_agent.store.cypher_patterns import Pattern, find_patterns
from graph_agent.store.cypher_rewrites import Edit
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token

_ARITHMETIC = {"+", "-", "*", "/", "%", "^"}
_COMPARISONS = {"=", "<>", "<", ">", "<=", ">=", "=~", "!="}
_LOGIC = {"AND", "OR", "XOR", "NOT"}
_ENDS_OPERAND = _LOGIC | {
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
            or structure.sign(start - 1, *_COMPARISONS)
            or structure.keyword(start - 1) in _PREDICATES
        ):
            continue  # NOT is a prefix already, or it is not certain what is negated
        stop = operand_end(structure, index + (3 if follower in {"STARTS", "ENDS"} else 2))
        if structure.sign(stop, *_COMPARISONS):
            continue
        note = f"`x NOT {follower}` written as `NOT x {follower}`"
        yield Edit(structure.tokens[start].start, structure.tokens[start].start, "NOT ", note)
        yield Edit(token.start, structure.tokens[index + 1].start, "")


def expression_edits(structure: Structure, engine_version: int | None) -> Iterator[Edit]:
    """Every other certain rewrite of one pass."""
    yield from _renames(structure)
    yield from _sql_habits(structure)
    yield from _brackets(structure)
    yield from _patterns(structure)
    yield from _scoped_calls(structure)
    yield from _quantified(structure)
    if engine_version is None or engine_version < 42201:
        yield from _counted_rows(structure)


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
    return sign in {",", "|", ";", "..", "+="} | _COMPARISONS


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
        structure.sign(index - 1, *_COMPARISONS) and before is not None and before.kind in {"string", "param"}
    )
    right = (
        structure.sign(after, *_COMPARISONS)
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
        if _has_arithmetic(structure, start, index):
            yield Edit(structure.tokens[start].start, structure.tokens[start].start, "(", note)
            yield Edit(structure.tokens[index - 1].end, structure.tokens[index - 1].end, ")")
        if word == "IS":
            continue
        begin = index + (2 if word in {"STARTS", "ENDS"} else 1)
        stop = operand_end(structure, begin)
        if _has_arithmetic(structure, begin, stop):
            yield Edit(structure.tokens[begin].start, structure.tokens[begin].start, "(", note)
            yield Edit(structure.tokens[stop - 1].end, structure.tokens[stop - 1].end, ")")


def _is_loop_in(structure: Structure, index: int) -> bool:
    """Whether an IN belongs to a loop: `[x IN l | ..]`, `any(x IN l ..)`, `reduce(s = 0, x IN l | ..)`."""
    opener = structure.openers[index]
    first = index - 2 == opener or (structure.sign(index - 2, ",") and structure.word(opener - 1) == "REDUCE")
    return structure.word(index) == "IN" and opener in structure.loops and first


def _has_arithmetic(structure: Structure, start: int, stop: int) -> bool:
    index = start
    while index < stop:
        if structure.mates[index] > index:
            index = structure.mates[index]
        elif structure.sign(index, *_ARITHMETIC):
            return True
        index += 1
    return False


def _patterns(structure: Structure) -> Iterator[Edit]:
    """`exists((a)-->())` and, in CASE and beside AND, OR, NOT of a projection, `(a)-->()`."""
    for pattern in find_patterns(structure):
        first = structure.tokens[pattern.start]
        if pattern.kind == "tested":
            call = structure.tokens[pattern.opener - 1]
            note = "exists(pattern) written so that FalkorDB tests it"
            if in_condition(structure, pattern.opener - 1, pattern.stop + 1):
                yield Edit(call.start, call.end, "", note)
            elif structure.parts[pattern.start] != "WHERE":
                last = structure.tokens[pattern.stop]
                yield Edit(call.start, call.end, "(size", note)
                yield Edit(
                    last.end, last.end, " > 0)" + _alias(structure, pattern.opener - 1, pattern.stop + 1)
                )
        elif pattern.kind == "condition" and _is_bare_test(structure, pattern):
            note = "the pattern tested with size(...) > 0, as FalkorDB needs here"
            last = structure.tokens[pattern.stop - 1]
            yield Edit(first.start, first.start, "(size(", note)
            yield Edit(last.end, last.end, ") > 0)")


def in_condition(structure: Structure, start: int, stop: int) -> bool:
    """Whether [start, stop) is a condition of a WHERE by itself or under AND, OR, NOT and brackets."""
    if structure.parts[start] != "WHERE" or structure.cased[start]:
        return False
    opener = structure.openers[start]
    before, after = structure.keyword(start - 1), structure.keyword(stop)
    whole_before = before in _LOGIC | {"WHERE"} or start - 1 == opener
    whole_after = (
        after in _LOGIC
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


def regex_edits(structure: Structure) -> Iterator[Edit]:
    """`x =~ 'pattern'` by string.matchRegEx(), which finds matches anywhere: so the pattern is anchored."""
    for index, token in enumerate(structure.tokens):
        literal = structure.token(index + 1)
        if not token.is_punct("=~") or literal is None or literal.kind != "string":
            continue
        start, stop = operand_start(structure, index), operand_end(structure, index + 1)
        before_ok = (
            not structure.sign(start - 1, *_COMPARISONS) and structure.keyword(start - 1) not in _PREDICATES
        )
        after_ok = not structure.sign(stop, *_COMPARISONS) and structure.keyword(stop) not in _PREDICATES | {
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
    return f"({text})" if _has_arithmetic(structure, start, stop) else text


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
        if names:
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


def _told(token: Token, text: str, what: str) -> Edit:
    return Edit(token.start, token.end, text, f"{what}")
