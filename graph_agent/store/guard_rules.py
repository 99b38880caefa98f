"""What a query may be: one reading statement, of bounded size, that calls only procedures known to read.

Each rule takes the structure of a query and raises QueryRefused with the offending word and its position.
No rule looks at raw text: words in strings, comments, backticks, labels, property names, map keys and
variables are told from keywords by `cypher_structure`.
"""

from __future__ import annotations

from collections.abc import Sequence

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token

_READS = {"MATCH", "OPTIONAL", "WITH", "UNWIND", "RETURN", "CALL"}
_WRITES = {
    "CREATE",
    "MERGE",
    "SET",
    "DELETE",
    "DETACH",
    "REMOVE",
    "FOREACH",
    "DROP",
    "LOAD",
    "ALTER",
    "INSERT",
    "GRANT",
}
_PREFIXES = {
    "EXPLAIN": "FalkorDB runs a query with EXPLAIN before it as if the word were not there",
    "PROFILE": "FalkorDB runs a query with PROFILE before it as if the word were not there",
    "CYPHER": "values are given in `params`, not in a CYPHER header",
}
_FOREIGN_STARTS = {
    "SHOW": "Use CALL db.indexes(), CALL db.labels(), CALL db.relationshipTypes() or CALL dbms.procedures().",
    "SELECT": "Write Cypher: MATCH (n:Label) RETURN n.property.",
    "START": "Write MATCH.",
    "USING": "Leave USING out: FalkorDB chooses its indexes itself.",
}
# Words that may follow a variable; anything else after a word like SET means that it is no variable.
_AFTER_VARIABLE = {
    "AND", "OR", "XOR", "NOT", "IN", "IS", "CONTAINS", "STARTS", "ENDS", "AS", "WHERE", "WHEN", "THEN", "ELSE", "END",
    "ORDER", "SKIP", "LIMIT", "ASC", "DESC", "ASCENDING", "DESCENDING", "UNION", "RETURN", "WITH", "UNWIND", "MATCH",
    "OPTIONAL", "CALL", "YIELD",
} | _WRITES  # fmt: skip
_AFTER_VARIABLE_SIGNS = {")", "]", "}", ",", ".", "..", ":", "|", "=", "<>", "<", ">", "<=", ">=", "=~", "+", "-", "*",
                         "/", "%", "^", "[", "{", ";", "!=", "||"}  # fmt: skip
# CALL dbms.procedures() of 4.16.3 and 4.22.1, those in mode READ.
PROCEDURES = {
    name.lower(): name
    for name in (
        "db.labels", "db.relationshipTypes", "db.propertyKeys", "db.indexes", "db.constraints", "db.meta.stats",
        "dbms.procedures", "dbms.functions", "db.idx.fulltext.queryNodes", "db.idx.fulltext.queryRelationships",
        "db.idx.vector.queryNodes", "db.idx.vector.queryRelationships", "algo.AStar", "algo.BFS",
        "algo.HarmonicCentrality", "algo.MSF", "algo.SPpaths", "algo.SSpaths", "algo.WCC", "algo.betweenness",
        "algo.labelPropagation", "algo.maxFlow", "algo.pageRank",
    )
}  # fmt: skip

TOKEN_LIMIT = 12_000
# Measured: 250,000 readings of a token take the parser about a second on a shared core.
EFFORT_LIMIT = 250_000
PATTERN_LIMIT = 100  # relationships; planning grows with their square and stands in no time limit


def check_statement(structure: Structure) -> None:
    """Refuse what is not one reading statement; see the rules below it for the reasons."""
    check_start(structure)
    check_single(structure)
    check_writes(structure)
    check_procedures(structure)
    check_brackets(structure)
    check_size(structure)


def check_split_words(tokens: Sequence[Token]) -> None:
    """No writing word with comments between its letters. The engine does not read one either."""
    position = 0
    while position < len(tokens):
        run = [tokens[position]]
        while (
            run[0].kind == "name"
            and position + 2 < len(tokens)
            and tokens[position + 1].kind == "comment"
            and tokens[position + 2].kind == "name"
        ):
            run.append(tokens[position + 2])
            position += 2
        joined = "".join(token.word for token in run)
        if len(run) > 1 and joined in _WRITES:
            raise refuse_write(Token("name", joined, run[0].start))
        position += 1


def check_start(structure: Structure) -> None:
    """The first word must begin a reading clause."""
    first = structure.token(0)
    if first is None:
        raise QueryRefused("There is no query in this text.", "Send one Cypher query that ends in RETURN.")
    word = first.word
    if word in _READS:
        return
    if word in _WRITES:
        raise refuse_write(first)
    if word in _PREFIXES:
        raise _refused(f"{word} is not accepted: {_PREFIXES[word]}", first, f"Leave {word} out.")
    if word in _FOREIGN_STARTS:
        raise _refused(f"FalkorDB has no {word} command", first, _FOREIGN_STARTS[word])
    raise _refused(
        "The text does not begin with a Cypher clause",
        first,
        "Begin with MATCH, OPTIONAL MATCH, WITH, UNWIND, RETURN or CALL.",
    )


def check_single(structure: Structure) -> None:
    """No second statement after a semicolon."""
    for index, token in enumerate(structure.tokens):
        if token.is_punct(";") and structure.token(index + 1):
            raise _refused(
                "Only one statement is run", token, "Send the statements one by one, each as its own query."
            )


def check_writes(structure: Structure) -> None:
    """No clause that changes the graph, its indexes or its constraints, or that reads files."""
    for index, token in enumerate(structure.tokens):
        if token.word in _WRITES and _is_write(structure, index):
            raise refuse_write(token, structure.token(index + 1))


def _is_write(structure: Structure, index: int) -> bool:
    role = structure.roles[index]
    if role in {"label", "property"}:
        return False
    if role == "key":
        return not structure.sign(index + 1, ":", ",", "}")
    if role != "operand" or structure.sign(index + 1, "("):
        return True  # as a function none of these words exists, so `create (` is no loss
    if structure.sign(index - 1, "$"):
        return False
    follower = structure.token(index + 1)
    if structure.keyword(index - 1) == "CASE":
        return structure.word(index + 1) != "WHEN" or _could_be_clause(structure, index)
    if follower is None:
        return False
    if follower.kind == "punct":
        return follower.text not in _AFTER_VARIABLE_SIGNS
    return follower.word not in _AFTER_VARIABLE


def _could_be_clause(structure: Structure, index: int) -> bool:
    """Whether in `case SET when ...` the words may be a variable, a clause and a variable.

    The engine's parser falls back to that where `CASE value WHEN test THEN ...` does not fit.
    """
    opener = structure.openers[index]
    if structure.sign(opener, "(", "[") and structure.kinds.get(opener) != "foreach":
        return False  # no clause begins within these
    test = structure.token(index + 2)
    if test is None:
        return True
    if structure.word(index) != "DELETE":
        return test.is_punct(".", "=", "+=", ":")
    if test.kind == "punct":
        return not test.is_punct("(")
    return test.word in _READS | _WRITES | {"UNION"}


def refuse_write(token: Token, follower: Token | None = None) -> QueryRefused:
    """The refusal of a clause that writes."""
    word = token.word
    if word == "LOAD":
        what = f"{word} CSV reads files and addresses of the server's machine, which is not allowed"
        return _refused(what, token, "Query what is in the graph.")
    if word == "DETACH" and follower is not None and follower.word == "DELETE":
        word = "DETACH DELETE"
    return _refused(f"{word} changes the graph, and only reading is allowed", token, "Use MATCH ... RETURN.")


def check_procedures(structure: Structure) -> None:
    """CALL takes a subquery, or a procedure that is known only to read."""
    for index, token in enumerate(structure.tokens):
        if token.word != "CALL" or not _is_call(structure, index):
            continue
        name = _called(structure, index + 1)
        if structure.sign(index + 1, "("):
            raise _refused(
                "FalkorDB has no CALL (variables) { }", token, "Write CALL { WITH variables ... }."
            )
        if name.lower() not in PROCEDURES:
            shown = structure.token(index + 1) or token
            raise QueryRefused(
                f"CALL {name} is not allowed: it is not among the procedures known only to read (position {shown.start}).",
                "Allowed: " + ", ".join(PROCEDURES.values()) + ".",
                word=name,
                position=shown.start,
            )


def _is_call(structure: Structure, index: int) -> bool:
    follower = structure.token(index + 1)
    if structure.roles[index] == "clause":
        return not structure.sign(index + 1, "{")
    # `call` as a variable is followed by a sign or a keyword; by another name, it may be the clause after all.
    named = (
        follower is not None and follower.kind in {"name", "quoted"} and follower.word not in _AFTER_VARIABLE
    )
    return structure.roles[index] in {"operand", "stray"} and named


def _called(structure: Structure, index: int) -> str:
    parts = []
    while (token := structure.token(index)) is not None and token.kind in {"name", "quoted"}:
        parts.append(token.name)
        if not structure.sign(index + 1, "."):
            break
        index += 2
    return ".".join(parts)


def check_brackets(structure: Structure) -> None:
    """Brackets must pair; the engine's message would point elsewhere."""
    if structure.unbalanced >= 0:
        token = structure.tokens[structure.unbalanced]
        raise _refused(f"This {token.text} has no partner", token, "Close each (, [ and { once, in order.")


def check_count(tokens: Sequence[Token]) -> None:
    """Bound the number of tokens, and so what all other rules take."""
    if len(tokens) > TOKEN_LIMIT:
        raise _refused(
            f"The query has more than {TOKEN_LIMIT:,} words and signs",
            tokens[TOKEN_LIMIT],
            "Pass long lists as `params`.",
        )


def check_size(structure: Structure) -> None:
    """Bound what stands in no time limit of the engine: parsing and planning."""
    effort = 0
    for token, times in zip(structure.tokens, structure.effort, strict=True):
        effort += times
        if effort > EFFORT_LIMIT:
            raise _refused(
                "The query is too deeply nested for its length: the engine would take seconds to parse it",
                token,
                "Nest less, or compute inner parts in a WITH before.",
            )
    relationships = [index for index in range(len(structure.tokens)) if _is_relationship(structure, index)]
    if len(relationships) > PATTERN_LIMIT:
        token = structure.tokens[relationships[PATTERN_LIMIT]]
        raise _refused(
            f"The query has more than {PATTERN_LIMIT} relationships or patterns",
            token,
            "Split it into smaller queries.",
        )


def _is_relationship(structure: Structure, index: int) -> bool:
    """Counts `--`, `-[`, and nodes that a MATCH lists after a comma."""
    if structure.sign(index, "-"):
        return structure.sign(index - 1, ")", "<") and structure.sign(index + 1, "-", "[")
    listed = structure.sign(index, "(") and structure.clauses[index] == "MATCH" and not structure.parts[index]
    return listed and structure.kinds.get(index) == "group" and not structure.sign(index - 1, "-", ">", "(")


def _refused(what: str, token: Token, fix: str) -> QueryRefused:
    return QueryRefused(
        f"{what} ({token.text[:40]!r} at position {token.start}).",
        fix,
        word=token.text[:40],
        position=token.start,
    )
