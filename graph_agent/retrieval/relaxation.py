"""What is tried, and said, when nothing matches as asked."""

from __future__ import annotations

from collections.abc import Sequence

from graph_agent.retrieval.corpus import Corpus, Mask
from graph_agent.retrieval.legs import Boosts, KeywordLeg, keyword_leg
from graph_agent.retrieval.query import Query, parse_query

_MAX_WORDS = 12
_NEAR_WORDS = 5


def relax(
    corpus: Corpus, query: Query, leg: KeywordLeg, mask: Mask, depth: int, note: str | None
) -> tuple[Query, KeywordLeg, str | None]:
    """Nothing in scope holds a word of the query: try words that begin like them, or are spelt nearly so.

    Returns:
        The query and leg that found something, with what was given up; else those given.
    """
    near: dict[str, list[str]] = {}
    for surface in query.surfaces[:_MAX_WORDS]:
        live = [word for word in corpus.index.vocabulary.near(surface) if corpus.index.frequency(word)]
        if live:
            near[surface] = live[:_NEAR_WORDS]
    if not near:
        return query, leg, note
    text = " ".join(word for words in near.values() for word in words)
    other = parse_query(text, corpus.index, corpus.stemmers, language=query.language)
    found = keyword_leg(corpus, other, mask, depth)
    if not found.found:
        return query, leg, note
    told = "; ".join(f"{surface} -> {', '.join(words)}" for surface, words in near.items())
    return other, found, note or f"No passage holds the words of the query; searched for near words: {told}."


def phrase_note(ranked: Sequence[tuple[Query, Boosts]]) -> str | None:
    """Says so when a quoted phrase stands nowhere word for word."""
    for query, boosts in ranked:
        if query.phrases and boosts.best < 0.5:
            phrase = " ".join(query.phrases[0])
            return f'No passage holds "{phrase[:120]}" word for word; these hold its words or its meaning.'
    return None
