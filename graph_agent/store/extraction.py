"""The query in a model's reply: out of fences, prose, JSON, thinking, escapes and entities.

The rule is that a query is found and run, or sent back once; prose is never run. One query is taken, in this
order: a JSON object's `cypher` (or `query`); code fences, of which those that hold a query must agree; a
single code span; the text itself, or the part of it that reads as Cypher. "Reads as Cypher" is decided on
tokens: the text begins with a clause, and where a value has ended no stray word follows.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterator

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_reader import read_structure
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token, significant, tokenize

REPLY_LIMIT = 200_000
_JSON_KEYS = ("cypher", "query", "cypher_query", "statement", "Cypher", "Query")
_CYPHER_TAGS = {"cypher", "opencypher", "cql", "neo4j", "falkordb"}
_STARTS = {
    "MATCH", "OPTIONAL", "WITH", "UNWIND", "RETURN", "CALL", "CREATE", "MERGE", "DELETE", "DETACH", "DROP", "FOREACH",
    "LOAD", "SET", "REMOVE", "EXPLAIN", "PROFILE", "CYPHER", "SHOW", "START", "USING",
}  # fmt: skip
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+-]*)[^\n`]*$", re.MULTILINE)
_ONE_LINE_FENCE = re.compile(
    r"```(?:[ \t]*(?:cypher|opencypher|cql|neo4j)\b)?[ \t]*([^`\n][^\n]*?)[ \t]*```", re.IGNORECASE
)
_SPECIAL = re.compile(r"<\|[a-zA-Z_]{2,30}\|>|</s>|<end_of_turn>|<eos>")
_LABEL_LINE = re.compile(
    r"^[ \t]*[*_#> ]*(?:(?:the |your |final |generated |here is the |here's the )*(?:open)?cypher(?: query| statement| code)?"
    r"|query|answer|statement)[*_]*[ \t]*[:：][*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_PROMPT = re.compile(r"^[ \t]*(?:neo4j|cypher|falkordb)?(?:@[\w-]+)?[>$#][ \t]+", re.IGNORECASE)
_ENTITIES = {"lt", "gt", "amp", "quot", "apos", "nbsp"}
_MARKDOWN_ESCAPED = set("_*[](){}<>#+-.!|&=:,;\"'`$")


def extract_query(text: str) -> str:
    r"""The single Cypher query in a model's reply.

    Args:
        text: a reply: a bare query; prose with a query in a code fence; a JSON object; with or without
            thinking, special tokens, Markdown escapes (`ACTED\_IN`) and HTML entities (`&gt;`).

    Returns:
        The query as it stands in the reply, unescaped, without surrounding text.

    Raises:
        QueryRefused: there is no query in the text, or there are several that differ.
    """
    if len(text) > REPLY_LIMIT:
        raise QueryRefused(
            f"The text has {len(text):,} characters, more than {REPLY_LIMIT:,}.", "Send the query alone."
        )
    spoken = _without_thinking(text)
    found = _from_json(spoken)
    if found is not None:
        spoken = found
    candidates = list(dict.fromkeys(_tidied(body) for body in _blocks(spoken)))
    if len(candidates) > 1:
        raise QueryRefused(
            f"The text holds {len(candidates)} different queries.",
            "Send the one query to run, alone or in one code block.",
        )
    if candidates:
        return candidates[0]
    query = _bare(spoken)
    if query is None:
        raise QueryRefused(
            "There is no Cypher query in this text.",
            "Send one query that begins with MATCH, OPTIONAL MATCH, WITH, UNWIND, RETURN or CALL.",
            word=text.strip()[:40],
            position=len(text) - len(text.lstrip()),
        )
    return query


def _without_thinking(text: str) -> str:
    text = text.lstrip("\ufeff")
    lowered = text.lower()
    for tag in ("think", "thinking", "reasoning", "scratchpad"):
        end = lowered.rfind(f"</{tag}>")
        if end >= 0:
            text = text[end + len(tag) + 3 :]
            lowered = text.lower()
        elif lowered.lstrip().startswith(f"<{tag}>"):
            text = lowered = ""
    match = _SPECIAL.search(text)
    while match is not None and not text[: match.start()].strip():  # leading ones, <|im_start|>assistant
        text = text[match.end() :].removeprefix("assistant")
        match = _SPECIAL.search(text)
    return text[: match.start()] if match else text


def _from_json(text: str) -> str | None:
    """The query in a JSON object or string, also a fenced one."""
    stripped = text.strip()
    fenced = re.fullmatch(r"(?:```|~~~)(?:json)?\s*(.*?)\s*(?:```|~~~)", stripped, re.DOTALL | re.IGNORECASE)
    if fenced:
        stripped = fenced.group(1)
    if not stripped.startswith(("{", '"')):
        return None
    try:
        value = json.loads(stripped, strict=False)
    except ValueError:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = value.get("arguments", value.get("parameters"))
        for place in (value, inner if isinstance(inner, dict) else {}):
            for key in _JSON_KEYS:
                if isinstance(place.get(key), str):
                    return str(place[key])
    return None


def _blocks(text: str) -> Iterator[str]:
    """Bodies of the code fences, else of the code spans, that hold a query."""
    bodies = list(_fenced(text))
    tagged = [body for tag, body in bodies if tag in _CYPHER_TAGS]
    found = [body for body in tagged or [body for tag, body in bodies if tag in {"", "sql"}] if body.strip()]
    queries = [body for body in found if _reads_as_query(_unescaped(_unlabelled(body)))]
    yield from queries
    if not bodies:
        for match in _ONE_LINE_FENCE.finditer(text):
            if _reads_as_query(_unescaped(match.group(1))):
                yield match.group(1)


def _fenced(text: str) -> Iterator[tuple[str, str]]:
    """(tag, body) of each fence; one that is not closed goes on to the end."""
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif match.group(1)[0] == opened.group(1)[0] and not match.group(2):
            yield opened.group(2).lower(), text[opened.end() : match.start()]
            opened = None
    if opened is not None:
        body = text[opened.end() :]
        yield opened.group(2).lower(), body.rsplit("```", 1)[0]


def _bare(text: str) -> str | None:
    """A query that stands in the text itself, perhaps after prose, in a code span or before an explanation."""
    whole = _tidied(text)
    if _reads_as_query(whole):
        return _without_epilogue(whole)
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        if _reads_as_query(_unescaped(span)) and (" " in span.strip()):
            return _tidied(span)
    return _after_prose(text)


def _after_prose(text: str) -> str | None:
    """From the first line that begins a query on."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        labelled = _LABEL_LINE.match(line)
        start = line[labelled.end() :] if labelled else line
        if _first_word(start) in _STARTS:
            query = _tidied("\n".join([start, *lines[number + 1 :]]))
            if _reads_as_query(query):
                return _without_epilogue(query)
        after_colon = re.split(r"[:：]\s+", line, maxsplit=1)
        if len(after_colon) == 2 and _first_word(after_colon[1]) in _STARTS:
            query = _tidied("\n".join([after_colon[1], *lines[number + 1 :]]))
            if _reads_as_query(query):
                return _without_epilogue(query)
    return None


def _first_word(line: str) -> str:
    match = re.match(r"\s*([^\W\d_]+)", line)
    return match.group(1).upper() if match else ""


def _tidied(body: str) -> str:
    return _unescaped(_unlabelled(body)).strip()


def _unlabelled(body: str) -> str:
    """Without `Cypher:`, a lone line `cypher`, or a prompt sign before the query."""
    stripped = body.strip()
    first, _, rest = stripped.partition("\n")
    if first.strip().lower() in _CYPHER_TAGS and rest.strip():
        stripped = rest
    stripped = _LABEL_LINE.sub("", stripped, count=1) if _LABEL_LINE.match(stripped) else stripped
    return _PROMPT.sub("", stripped, count=1)


def _unescaped(query: str) -> str:
    """Without HTML entities and Markdown's backslashes, if they stand where Cypher has none."""
    tokens = _tokens(query)
    if tokens is None:
        unescaped = html.unescape(query)
        return unescaped if unescaped != query and _tokens(unescaped) is not None else query
    if _has_entity(tokens):
        query = html.unescape(query)
        tokens = _tokens(query) or []
    escaped = [
        token
        for token, after in itertools.pairwise(tokens)
        if token.is_punct("\\") and (after.text[:1] in _MARKDOWN_ESCAPED)
    ]
    if not escaped:
        return query
    starts = {token.start for token in escaped}
    plain = "".join(char for position, char in enumerate(query) if position not in starts)
    # Who escapes names escapes the words in strings as well.
    return "".join(_plain_string(token) for token in _tokens(plain) or [Token("punct", plain, 0)])


def _plain_string(token: Token) -> str:
    return re.sub(r"\\([_*])", r"\1", token.text) if token.kind in {"string", "quoted"} else token.text


def _has_entity(tokens: list[Token]) -> bool:
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if first.is_punct("&"):
            if second.text.lower() in _ENTITIES and third.is_punct(";"):
                return True
            if second.is_punct("#"):
                return True
    return False


def _tokens(query: str) -> list[Token] | None:
    try:
        return tokenize(query)
    except QueryRefused:
        return None


def _structure(query: str) -> Structure | None:
    try:
        return read_structure(significant(tokenize(query)))
    except QueryRefused:
        return None


def _reads_as_query(query: str) -> bool:
    """Whether a text is Cypher rather than a sentence that begins with one of its words."""
    first = query.split(maxsplit=1)[:1]
    if not first or _first_word(query) not in _STARTS:
        return _starts_folded(query)
    if first[0].isupper():
        return len(query.split()) > 1  # sentences are not written in capitals
    tokens = _tokens(query)
    if tokens is None:
        # A string is not closed or the like: the guard says so if it looks like Cypher.
        return bool(re.search(r"[({\[]", query))
    words = significant(tokens)
    if len(words) < 2:
        return False
    if words[1].is_punct("(", "[", "{"):
        return True
    if words[0].word in {"EXPLAIN", "PROFILE"}:
        return _reads_as_query(query[words[1].start :])
    if words[0].word == "CYPHER":
        return len(words) > 2 and words[2].is_punct("=")
    structure = _structure(query)
    if structure is None:
        return True
    return not _is_sentence(structure)


def _starts_folded(query: str) -> bool:
    """Whether the first word is a clause in other than plain letters, or behind a comment."""
    words = significant(_tokens(query) or [])
    plain = query[:1].isascii() and query[:1].isalpha()
    return len(words) > 1 and words[0].word in _STARTS and not plain


def _is_sentence(structure: Structure) -> bool:
    """Whether a text that begins with a clause's word goes on in plain words only.

    No query does: at its beginning no variable exists yet, so a bracket, a value or a dotted name comes soon.
    """
    if structure.word(0) == "OPTIONAL":
        return structure.word(1) != "MATCH"
    for index, token in enumerate(structure.tokens[:12]):
        if structure.roles[index] == "stray":
            return True
        if token.is_punct("(", "[", "{", "=", "$") or structure.roles[index] in {"property", "label"}:
            return False
        if token.kind in {"param", "number", "string", "quoted", "curly"}:
            return False
    return True


def _without_epilogue(query: str) -> str:
    """Cut off a sentence that stands on a line of its own behind a complete query."""
    structure = _structure(query)
    if structure is None:
        return query
    line_starts = {match.end() for match in re.finditer(r"\n[ \t]*", query)}
    returned = False
    for index, token in enumerate(structure.tokens):
        returned = returned or structure.word(index) == "RETURN"
        at_margin = structure.roles[index] in {"stray", "operand"} and token.start in line_starts
        if returned and at_margin and token.word and _is_prose_line(query, token.start):
            return query[: token.start].rstrip()
        after_blank = (
            query[: token.start].rstrip(" \t").endswith("\n\n")
            or "\n\n" in query[max(0, token.start - 3) : token.start]
        )
        if returned and after_blank and structure.roles[index] == "stray":
            return query[: token.start].rstrip()
    return query


def _is_prose_line(query: str, position: int) -> bool:
    line = query[position:].split("\n", 1)[0]
    words = re.findall(r"[^\W\d_]+", line)
    return (
        len(words) >= 3
        and words[0][0].isupper()
        and not words[0].isupper()
        and not re.search(r"[(=\[]", words[0])
    )
