"""Which document a question names by words of its title or path."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from graph_agent.text import STOP_WORDS, words

LEAST_SHARE = 0.6  # of the weight of the question's words that name documents at all
LEAST_WORDS = 0.6  # of the question's words: one that says more is about something in documents
AHEAD = 1.25  # times the score of the next document
MOST_DOCUMENTS = 20_000
_FORM_WORDS = """
outline table contents content toc structure main chapter section subsection heading level top list show give
document file paper report what which how many author date status title kind type language version folder md pdf
gliederung inhaltsverzeichnis aufbau kapitel abschnitt unterabschnitt dokument datei datum titel autor
"""
_ABOUT_FORM = frozenset(_FORM_WORDS.split())


class Named(Protocol):
    """What is needed of a document."""

    @property
    def content_hash(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def path(self) -> str: ...


def named_document(question: str, documents: Sequence[Named]) -> str:
    """Content hash of the one document that a question names; "" for none or several.

    A word counts the more the fewer documents have it in their names. The document must hold most of that weight and
    of the question's words, two words at least or one that no other has, and be clearly ahead of the next.
    """
    if not documents or len(documents) > MOST_DOCUMENTS:
        return ""
    asked = _parts([question]) - _ABOUT_FORM
    names = [(one.content_hash, asked & _parts([one.title, one.path])) for one in documents]
    holders = Counter(word for _, held in names for word in held)
    if not holders:
        return ""
    weight = {word: math.log(1.0 + len(documents) / count) for word, count in holders.items()}
    ranked = sorted(
        ((sum(weight[word] for word in held), identity) for identity, held in names), reverse=True
    )
    best, identity = ranked[0]
    held = dict(names)[identity]
    plain = len(held) > 1 or any(holders[word] == 1 for word in held)
    clear = len(ranked) == 1 or best >= AHEAD * ranked[1][0]
    most = best >= LEAST_SHARE * sum(weight.values()) and len(held) >= LEAST_WORDS * len(asked)
    return identity if plain and clear and most else ""


def _parts(texts: Iterable[str]) -> set[str]:
    """Folded words without stop words and plural endings."""
    stop = STOP_WORDS["en"] | STOP_WORDS["de"]
    found = (word for text in texts for word in words(text.replace("_", " ")))
    return {word.removesuffix("s") if len(word) > 3 else word for word in found if word not in stop}
