"""What to write instead, for the errors FalkorDB gives for Cypher that it does not have.

The messages are those of 4.16.3 and 4.22.1, each produced on the engine before it was written down here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_reader import read_structure
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import significant, tokenize
from graph_agent.store.guard_rules import PROCEDURES

# CALL dbms.functions() of 4.22.1, those that a query can call by name.
_FUNCTIONS = [
    "abs", "acos", "all", "allShortestPaths", "any", "asin", "atan", "atan2", "avg", "ceil", "coalesce", "collect", "cos",
    "cot", "count", "date", "degrees", "distance", "duration", "e", "endNode", "exists", "exp", "floor", "hasLabels",
    "haversin", "head", "id", "indegree", "isEmpty", "keys", "labels", "last", "left", "length", "list.dedup",
    "list.insert", "list.remove", "list.sort", "localdatetime", "localtime", "log", "log10", "ltrim", "max", "min", "nodes",
    "none", "outdegree", "percentileCont", "percentileDisc", "pi", "point", "pow", "properties", "radians", "rand",
    "randomUUID", "range", "reduce", "relationships", "replace", "reverse", "right", "round", "rtrim", "shortestPath",
    "sign", "sin", "single", "size", "split", "sqrt", "startNode", "stDev", "stDevP", "string.join", "string.matchRegEx",
    "string.replaceRegEx", "substring", "sum", "tail", "tan", "timestamp", "toBoolean", "toBooleanList", "toFloat",
    "toFloatList", "toFloatOrNull", "toInteger", "toIntegerList", "toIntegerOrNull", "toJSON", "toLower", "toString",
    "toStringList", "toStringOrNull", "toUpper", "trim", "type", "typeOf", "vec.cosineDistance",
    "vec.euclideanDistance", "vecf32",
]  # fmt: skip
_INSTEAD = {
    "datetime": "Use localdatetime('2024-01-31T10:00:00') or localdatetime({year: 2024}); FalkorDB has no time zones.",
    "time": "Use localtime().",
    "valuetype": "Use typeOf(x), which gives 'Integer', 'String', 'List', ...",
    "elementid": "Use id(n); it is a number, so compare it with numbers.",
    "isnan": "Use x <> x, which is true for NaN only.",
    "nullif": "Use CASE WHEN a = b THEN NULL ELSE a END.",
    "normalize": "FalkorDB does not normalise Unicode; compare with toLower().",
    "if": "Use CASE WHEN condition THEN a ELSE b END.",
    "median": "Use percentileCont(x, 0.5).",
    "ifnull": "Use coalesce(x, default).",
    "concat": "Use a + b, or string.join([a, b], ', ').",
    "group_concat": "Use string.join(collect(x), ', ').",
    "string_agg": "Use string.join(collect(x), ', ').",
    "array_agg": "Use collect(x).",
    "len": "Use size(x).",
    "now": "Use localdatetime() or timestamp().",
    "year": "Use d.year on a date: date(n.date).year.",
    "month": "Use d.month on a date: date(n.date).month.",
    "any": "Write any(x IN list WHERE x > 1).",
    "all": "Write all(x IN list WHERE x > 1).",
    "date.truncate": "Use the parts: date({year: d.year, month: d.month, day: 1}).",
    "datetime.truncate": "Use the parts: localdatetime({year: d.year, month: d.month, day: 1}).",
    "localdatetime.truncate": "Use the parts: localdatetime({year: d.year, month: d.month, day: 1}).",
    "duration.between": "FalkorDB cannot subtract dates; compare the parts, e.g. b.year - a.year.",
    "duration.indays": "FalkorDB cannot subtract dates; compare the parts, e.g. b.year - a.year.",
    "duration.inmonths": "Compute (b.year - a.year) * 12 + b.month - a.month.",
}
_PROCEDURES_INSTEAD = {
    "schema": "Use CALL db.labels(), CALL db.relationshipTypes() and CALL db.propertyKeys().",
    "propertytypes": "Use MATCH (n:Label) WITH n LIMIT 200 UNWIND keys(n) AS k RETURN k, collect(DISTINCT typeOf(n[k])).",
    "edgetypes": "Use CALL db.relationshipTypes().",
    "components": "Use CALL dbms.procedures().",
    "index": "Use CALL db.indexes().",
    "gds": "Use the algo.* procedures, listed by CALL dbms.procedures().",
}
_IN_WITH_FIRST = (
    "FalkorDB computes patterns in brackets only in RETURN and WITH: give it a name there first, e.g. "
    "WITH n, size([(n)-[:R]->(m) | m]) AS degree WHERE degree > 1. A plain condition works in WHERE: WHERE (n)-[:R]->()."
)
# Part of the engine's message -> what to do.
_MESSAGES: tuple[tuple[str, str], ...] = (
    ("Unable to resolve filtered alias", _IN_WITH_FIRST),
    ("Unable to locate a value with alias", "Give the expression a name in a WITH before, and use the name here."),
    ("expected Null but was Pointer", "FalkorDB has no patterns in any(), all() or list comprehensions: UNWIND the list and MATCH."),
    ("only supports shortestPaths in WITH or RETURN", "Write MATCH (a ...), (b ...) WITH a, b, shortestPath((a)-[*]->(b)) AS p RETURN p."),
    ("shortestPath requires bound nodes", "MATCH both ends first: MATCH (a ...), (b ...) RETURN shortestPath((a)-[*]->(b))."),
    ("undirected shortestPath", "Give the direction: shortestPath((a)-[*]->(b)); for both, take the shorter of two of them."),
    ("LIMIT specified value of invalid type", "LIMIT and SKIP take a number or a parameter, not an expression."),
    ("operates only on non-negative integers", "Give LIMIT and SKIP a whole number in `params`."),
    ("aggregate functions inside of aggregate", "Aggregate in two steps: WITH x, count(*) AS c RETURN max(c)."),
    ("Invalid use of aggregating function", "Aggregate in a WITH and filter after it: WITH n, count(m) AS c WHERE c > 1 RETURN n."),
    ("Missing parameters", "Give every $name of the query in `params`, or write the value into the query."),
    ("does not currently support =~", "Use CONTAINS, STARTS WITH, ENDS WITH with toLower(), or size(string.matchRegEx(x, '...')) > 0."),
    ("failed to map aggregation expression", "Name the aggregate and order by the name: RETURN x, count(*) AS c ORDER BY c."),
    ("same column names", "Every part of a UNION must RETURN the same names: use AS."),
    ("projections must be aliased", "Give every expression of WITH a name: WITH n.x AS x, count(*) AS c."),
    ("Unexpected clause following RETURN", "RETURN comes last; pass values on with WITH."),
    ("Query cannot conclude with", "End the query with RETURN."),
    ("Vector dimension mismatch", "Use the vector_search tool, which embeds the text with the right model."),
    ("Invalid arguments for procedure", "Check the label, the property and the index with CALL db.indexes()."),
    ("expected Path or Null but was", "length() and nodes() take a path; use size() for lists and strings."),
    ("Query timed out", "Bound it: fewer hops (*1..3), a label on every node, LIMIT in a WITH early on."),
    ("mem consumption exceeded", "Return less: LIMIT in a WITH early on, aggregates instead of collect()."),
)  # fmt: skip


def hint_for_error(message: str, cypher: str) -> str | None:
    """What to write instead, for an error that FalkorDB gave.

    Args:
        message: the engine's message.
        cypher: the query that was sent.

    Returns:
        One or two sentences, or None when the message says it all.
    """
    if match := re.search(r"Unknown function '([^']+)'", message):
        return _for_function(match.group(1))
    if match := re.search(r"Procedure `([^`]+)` is not registered", message):
        return _for_procedure(match.group(1))
    structure = _read(cypher)
    if structure is not None and ("Invalid input" in message or "not defined" in message):
        for found in _CONSTRUCTS:
            hint = found(structure)
            if hint is not None:
                return hint
    if match := re.search(r"'([^']+)' not defined", message):
        return (
            f"After a WITH only the names it lists remain: add `{match.group(1)}` to it, or MATCH it. "
            "Strings need quotes."
        )
    if "but was Path" in message or ("but was Edge" in message and "List" in message):
        return "A variable-length relationship is a path in FalkorDB: MATCH p = (a)-[*1..3]->(b) and use relationships(p)."
    return next((hint for part, hint in _MESSAGES if part in message), None)


def _read(cypher: str) -> Structure | None:
    try:
        return read_structure(significant(tokenize(cypher)))
    except QueryRefused:
        return None


def _for_function(name: str) -> str:
    lowered = name.lower()
    if lowered in _INSTEAD:
        return _INSTEAD[lowered]
    if lowered.startswith("apoc."):
        last = {function.lower().rsplit(".", 1)[-1]: function for function in _FUNCTIONS}
        near = difflib.get_close_matches(lowered.rsplit(".", 1)[-1], list(last), 1, 0.7)
        return "FalkorDB has no APOC." + (f" Perhaps {last[near[0]]}()." if near else "")
    near = difflib.get_close_matches(lowered, [function.lower() for function in _FUNCTIONS], 3, 0.6)
    return (
        f"Near names: {', '.join(_spelt(n) + '()' for n in near)}."
        if near
        else "CALL dbms.functions() lists all functions."
    )


def _spelt(lowered: str) -> str:
    return next(function for function in _FUNCTIONS if function.lower() == lowered)


def _for_procedure(name: str) -> str:
    for part, hint in _PROCEDURES_INSTEAD.items():
        if part in name.lower():
            return hint
    near = difflib.get_close_matches(name.lower(), list(PROCEDURES), 3, 0.6)
    return (
        f"Near names: {', '.join(PROCEDURES[n] for n in near)}."
        if near
        else "CALL dbms.procedures() lists them."
    )


def _subquery_expression(structure: Structure) -> str | None:
    for index in range(len(structure.tokens)):
        word = structure.word(index)
        if (
            structure.roles[index] == "operand"
            and word in {"EXISTS", "COUNT", "COLLECT"}
            and structure.sign(index + 1, "{")
        ):
            return {
                "EXISTS": "FalkorDB has no EXISTS { }: write the pattern itself, WHERE (a)-[:R]->(:B), or OPTIONAL MATCH and "
                "WITH a, count(b) AS c WHERE c > 0.",
                "COUNT": "FalkorDB has no COUNT { }: use size((a)-[:R]->()) in RETURN or WITH, or OPTIONAL MATCH and count(b).",
                "COLLECT": "FalkorDB has no COLLECT { }: use [(a)-[:R]->(b) | b.name], or MATCH and collect().",
            }[word]
    return None


def _label_expression(structure: Structure) -> str | None:
    for index, token in enumerate(structure.tokens):
        if structure.roles[index] == "label" and token.kind == "param":
            return "A label cannot be a parameter: write it out, or MATCH (n) WHERE $label IN labels(n)."
        signed = token.is_punct("|", "&", "!") and structure.kinds.get(structure.openers[index]) == "group"
        if (
            signed
            and index
            and (structure.roles[index - 1] == "label" or structure.sign(index - 1, ":", "&"))
        ):
            return "Nodes take plain labels only: MATCH (n) WHERE n:A OR n:B; (n:A:B) means both; NOT n:A excludes one."
    return None


def _inline_where(structure: Structure) -> str | None:
    for index in range(len(structure.tokens)):
        if structure.keyword(index) == "WHERE" and structure.kinds.get(structure.openers[index]) in {
            "group",
            "rel",
        }:
            return "Move WHERE behind the pattern: MATCH (n)-[r]->(m) WHERE n.x > 1 AND r.y = 2."
    return None


def _stray_word(structure: Structure) -> str | None:
    advice = {
        "GROUP": "There is no GROUP BY: RETURN n.x, count(*) groups by n.x.",
        "HAVING": "There is no HAVING: WITH n.x AS x, count(*) AS c WHERE c > 1 RETURN x, c.",
        "NULLS": "There is no NULLS FIRST or LAST: ascending puts null last; or order by x IS NULL first.",
        "OFFSET": "Use SKIP, before LIMIT.",
        "BETWEEN": "Write x >= 1 AND x <= 10.",
        "LIKE": "Use CONTAINS, STARTS WITH or ENDS WITH.",
        "ILIKE": "Use toLower(x) CONTAINS 'text'.",
        "OVER": "There are no window functions: aggregate in a WITH, collect() and UNWIND.",
        "FROM": "Write MATCH (n:Label) RETURN n.x.",
        "FILTER": "Use WITH ... WHERE.",
        "LET": "Use WITH ... AS.",
    }
    for index, token in enumerate(structure.tokens):
        if structure.roles[index] in {"stray", "clause"} and token.word in advice and token.word:
            return advice[token.word]
    return None


def _misplaced(structure: Structure) -> str | None:
    for index in range(len(structure.tokens)):
        word, before = structure.keyword(index), structure.starts[index - 1] if index else -1
        if word == "SKIP" and structure.word(before) == "LIMIT":
            return "SKIP comes before LIMIT."
        if word == "WHERE" and structure.clauses[index] == "RETURN":
            return "RETURN takes no WHERE: WITH n, count(*) AS c WHERE c > 1 RETURN n, c."
        if word == "YIELD" and structure.sign(index + 1, "*"):
            return "YIELD * does not exist: name the outputs, or leave YIELD out."
        if word == "UNWIND" and not any(
            structure.keyword(i) == "AS" and structure.starts[i] == index
            for i in range(index, len(structure.tokens))
        ):
            return "UNWIND needs a name: UNWIND list AS x."
    return None


def _negated(structure: Structure) -> str | None:
    for index in range(len(structure.tokens)):
        if structure.keyword(index) == "NOT" and structure.word(index + 1) in {
            "IN",
            "CONTAINS",
            "STARTS",
            "ENDS",
        }:
            return "Write NOT before the value: NOT x IN list."
    return None


def _open_case(structure: Structure) -> str | None:
    cases = sum(structure.keyword(i) == "CASE" for i in range(len(structure.tokens)))
    ends = sum(structure.keyword(i) == "END" for i in range(len(structure.tokens)))
    return "Close every CASE with END." if cases > ends else None


def _typed(structure: Structure) -> str | None:
    if any(structure.sign(i, "::") for i in range(len(structure.tokens))):
        return "There are no type tests: use typeOf(x) = 'Integer'."
    return None


def _map_equals(structure: Structure) -> str | None:
    for index in range(1, len(structure.tokens)):
        if structure.sign(index, "=") and structure.roles[index - 1] == "key":
            return "Maps take a colon: {name: 'x'}."
    return None


_CONSTRUCTS: tuple[Callable[[Structure], str | None], ...] = (
    _subquery_expression, _label_expression, _inline_where, _stray_word, _misplaced, _negated, _open_case, _typed,
    _map_equals,
)  # fmt: skip


def functions() -> Iterator[str]:
    """Names of the functions that a query can call."""
    yield from _FUNCTIONS
