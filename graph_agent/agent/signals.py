"""How well passages fit a question: rare words shared, and closeness of meaning. Decides whether nothing matches.

Two signals, each in [0, 1]: the share of the question's idf mass that one passage holds (a word that no document
holds weighs most), and the cosine of the best statement. A question about something else fails both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graph_agent.retrieval.query import Query, parse_query
from graph_agent.text import terms

if TYPE_CHECKING:
    from graph_agent.retrieval.corpus import Corpus

_CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Words:
    """The question's words as the index knows them.

    Attributes:
        groups: index terms that stand for each word.
        idf: weight of each word; a word that no document holds has the most.
        unknown: words that no document holds.
    """

    groups: tuple[frozenset[str], ...]
    idf: tuple[float, ...]
    surfaces: tuple[str, ...]
    unknown: frozenset[int]
    languages: tuple[str, ...]

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return sum(self.idf) or 1.0

    def held(self, text: str) -> set[int]:
        """Numbers of the words that a text holds."""
        found: set[str] = set()
        for language in self.languages:
            found.update(terms(text, language))
        return {number for number, group in enumerate(self.groups) if not group.isdisjoint(found)}

    def share(self, numbers: set[int]) -> float:
        """Share of the weight that some of the words have."""
        return sum(self.idf[number] for number in numbers) / self.mass


def question_words(question: str, corpus: Corpus) -> Words:
    """The words of a question that count, weighted by how few passages hold them."""
    prose = _CODE_FENCE.sub(" ", question)
    query = parse_query(prose if prose.strip() else question, corpus.index, corpus.stemmers)
    groups: dict[int, set[str]] = {}
    for term in query.terms:
        groups.setdefault(term.group, set()).add(term.term)
    count = max(1, corpus.index.count)
    idf, unknown = [], set()
    for number in sorted(groups):
        frequency = min(count, sum(corpus.index.frequency(term) for term in groups[number]))
        idf.append(math.log(1.0 + (count - frequency + 0.5) / (frequency + 0.5)))
        if frequency == 0:
            unknown.add(len(idf) - 1)
    ordered = sorted(groups)
    return Words(
        groups=tuple(frozenset(groups[number]) for number in ordered),
        idf=tuple(idf),
        surfaces=tuple(_surface(query, number) for number in ordered),
        unknown=frozenset(unknown),
        languages=corpus.stemmers,
    )


def _surface(query: Query, number: int) -> str:
    return query.surfaces[number] if number < len(query.surfaces) else ""


def cosines(vectors: npt.NDArray[np.float32], question: npt.NDArray[np.float32]) -> list[float]:
    """Cosine of each row with the question; both of unit length."""
    return [float(value) for value in vectors @ question]


@dataclass(frozen=True)
class Fit:
    """How well the best passages fit.

    Attributes:
        held: largest share of the question's idf mass in one passage.
        cosine: largest cosine of the question and a passage or statement.
        unknown: share of the idf mass of words that no document holds.
    """

    held: float
    cosine: float
    unknown: float

    @property
    def score(self) -> float:
        """One number; see `evals/bench/extractive_quality.py --calibrate` for how the weights were found."""
        return WEIGHT_HELD * self.held + WEIGHT_COSINE * self.cosine - WEIGHT_UNKNOWN * self.unknown

    @property
    def detail(self) -> dict[str, float]:
        """The signals, for the stage's event."""
        signals = {"held": self.held, "cosine": self.cosine, "unknown": self.unknown, "fit": self.score}
        return {name: round(value, 4) for name, value in signals.items()}

    @property
    def matches(self) -> bool:
        """Whether the passages are about what is asked."""
        return self.score >= THRESHOLD


WEIGHT_HELD = 1.0
WEIGHT_COSINE = 1.0
WEIGHT_UNKNOWN = 0.5
THRESHOLD = 0.6


def fit_of(words: Words, texts: Sequence[str], best_cosine: float) -> Fit:
    """The fit of passages (each text with its breadcrumb) to a question."""
    held = max((words.share(words.held(text)) for text in texts), default=0.0)
    return Fit(held, best_cosine, words.share(set(words.unknown)))
