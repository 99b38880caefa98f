"""What Cypher written by a model or a user may do: read, within bounds, and say what it means.

`approve` is the first of two layers; the second is the engine's own GRAPH.RO_QUERY. It takes the query out
of a model's text (`extraction`), rewrites what FalkorDB reads otherwise when that is certain
(`cypher_rewrites`, `cypher_predicates`, `cypher_pattern_rewrites`), and refuses everything that writes, reads files, could hang or kill
the engine, or would be answered wrongly without an error (`guard_rules`, `cypher_ranges`,
`cypher_growth`, `guard_deviations`). All rules see tokens and their roles, never raw text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_growth import check_growth
from graph_agent.store.cypher_pattern_rewrites import pattern_edits
from graph_agent.store.cypher_predicates import expression_edits, negation_edits, regex_edits
from graph_agent.store.cypher_ranges import check_ranges
from graph_agent.store.cypher_reader import read_structure
from graph_agent.store.cypher_rewrites import Rewritten, apply_edits, lexical_edits
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token, fold, significant, tokenize
from graph_agent.store.extraction import extract_query
from graph_agent.store.guard_deviations import check_deviations
from graph_agent.store.guard_hints import hint_for_error
from graph_agent.store.guard_rules import (
    check_count,
    check_size,
    check_split_words,
    check_start,
    check_statement,
)

__all__ = ["LENGTH_LIMIT", "Approved", "approve", "extract_query", "hint_for_error"]

LENGTH_LIMIT = 20_000


@dataclass(frozen=True)
class Approved:
    """A query that may be run.

    Attributes:
        cypher: what to send to the engine; no comments, no semicolon at the end.
        rewrites: what was changed and where, for the model and the user, one line each.
    """

    cypher: str
    rewrites: tuple[str, ...]


def approve(
    text: str,
    *,
    engine_version: int | None = None,
    extract: bool = True,
    params: Mapping[str, Any] | None = None,
) -> Approved:
    """Let a reading query pass, rewritten where that is certain, and refuse everything else.

    Args:
        text: a query, or with `extract` a model's whole reply with one query in it.
        engine_version: FalkorDB's module version as a number, 41603 for 4.16.3. Unknown: the refusals for
            every version hold.
        extract: whether to look for the query in surrounding text, code fences and the like.
        params: values of the query's parameters, if known; only needed for range() with parameters.

    Returns:
        The query to run and what was changed. Positions are offsets in characters in the query as it stood
        in `text`.

    Raises:
        QueryRefused: with the reason, the offending word and its position, and what to do instead.
    """
    query = extract_query(text) if extract else text
    _check_text(query)
    tokens = tokenize(query)
    check_count(significant(tokens))
    check_split_words(tokens)
    written, structure = _rewrite(query, tokens, engine_version)
    try:
        check_statement(structure)
        check_growth(structure, check_ranges(structure, params))
        check_deviations(structure, engine_version)
    except QueryRefused as error:
        raise _led_back(error, written, tokens) from None
    return Approved(written.text.strip(), written.notes)


def _check_text(query: str) -> None:
    if len(query) > LENGTH_LIMIT:
        raise QueryRefused(
            f"The query has {len(query):,} characters, more than {LENGTH_LIMIT:,}.",
            "Pass long lists as `params`, or split the query.",
            position=LENGTH_LIMIT,
        )
    for position, char in enumerate(query):
        if char == "\0" or "\ud800" <= char <= "\udfff":
            kind = "NUL character" if char == "\0" else "lone surrogate, which is no character,"
            raise QueryRefused(f"A {kind} stands at position {position}.", "Take it out.", position=position)


def _structure(text: str) -> Structure:
    return read_structure(significant(tokenize(text)))


def _rewrite(query: str, tokens: Sequence[Token], engine_version: int | None) -> tuple[Rewritten, Structure]:
    """In passes, as the structure that a later one reads depends on the earlier."""
    current = apply_edits(query, lexical_edits(tokens))
    notes = list(current.notes)
    try:
        structure = _structure(current.text)
        check_start(structure)  # prose and the like: say so before anything else
        check_size(structure)
        for edits in (
            negation_edits,
            regex_edits,
            expression_edits,
            lambda read: pattern_edits(read, engine_version),
        ):
            changes = list(edits(structure))
            if changes:
                current = apply_edits(current.text, changes, current.origin)
                notes.extend(current.notes)
                structure = _structure(current.text)
    except QueryRefused as error:
        raise _led_back(error, current, tokens) from None
    return Rewritten(current.text, tuple(notes), current.origin), structure


def _led_back(error: QueryRefused, written: Rewritten, tokens: Sequence[Token]) -> QueryRefused:
    """The same refusal with its position and word in the query as it was given."""
    if error.position < 0:
        return error
    position = written.origin(error.position)
    message = error.message.replace(f"position {error.position}", f"position {position}")
    word = error.word
    given = next((token.text for token in tokens if token.start == position), word)
    if fold(given) == fold(word):
        message, word = message.replace(repr(word), repr(given)), given
    return QueryRefused(message, error.fix, word=word, position=position)
