"""How well passages fit a question: rare words shared, and closeness of meaning. Decides whether nothing matches.

Two signals, each in [0, 1]: the share of the question's idf mass that one passage holds (a word that no document
holds weighs most), and the cosine of the best statement. A question about something else fails both. A third one:
a question that names a year is not answered by passages that are about other years only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graph_agent.retrieval.query import Query, parse_query
from graph_agent.text import fold, terms, tokens

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.retrieval.corpus import Corpus

_CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?!\d|[.,]\d)")
_SHORT_YEAR = re.compile(r"(?:(?<=\d\d\d\d[/\u2013-])|(?<=['\u2019]))\d\d(?!\d)")  # 2024/25, '25
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
TELLING = 0.6  # of the rarest word's weight
# Words of asking, which no answer needs to hold.
_ASKING_WORDS = """
many much often far long last first find found compare compared tell explain describe list show give name want need know mean
say please exactly currently nowadays today happen happened difference between use used
viel viele vielen wieviel oft lange zuletzt vergleiche erklare beschreibe nenne zeige bitte genau derzeit heute unterschied
"""
_ASKING = frozenset(_ASKING_WORDS.split())


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


def years(text: str) -> set[str]:
    """Years that a text names, of the second half of the last millennium and of this one's first century."""
    return {match[0] for match in _YEAR.finditer(text)}


def missed_years(question: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The years of a question when the texts name none of them but others; none otherwise.

    Args:
        texts: the best passages with their headings, paths and dates; texts without any year tell nothing.
    """
    asked = years(_CODE_FENCE.sub(" ", question))
    if not asked:
        return ()
    found = {year for text in texts for year in years(text)}
    short = {match[0] for text in texts for match in _SHORT_YEAR.finditer(text)}
    if not found or found & asked or {year[2:] for year in asked} & short:
        return ()
    return tuple(sorted(asked))


def missing_words(question: str, words: Words, texts: Sequence[str]) -> list[str]:
    """Telling words of a question that stand in none of the texts, as they are written there.

    Left out are words of code, words that many passages hold, and scripts that are cut into pairs of characters.
    """
    held = set().union(*(words.held(text) for text in texts)) if texts else set()
    least = TELLING * max(words.idf, default=0.0)
    absent = {
        surface
        for number, surface in enumerate(words.surfaces)
        if number not in held and surface not in _ASKING and words.idf[number] >= least
    }
    prose = _CODE.sub(" ", question)
    language = words.languages[0] if words.languages else "en"
    written = (prose[token.start : token.end] for token in tokens(prose, language))
    return list(
        dict.fromkeys(word for word in written if fold(word) in absent and not _UNSPACED.search(word))
    )


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


@dataclass(frozen=True)
class Fit:
    """How well the best passages fit.

    Attributes:
        held: largest share of the question's idf mass in one passage.
        cosine: largest cosine of the question and a statement, above what the model gives unrelated texts, as
            a share of what is left to 1; None when there are no vectors.
        unknown: share of the idf mass of words that no document holds.
        missed: years that the question names while the best passages are about others only.
    """

    held: float
    cosine: float | None
    unknown: float
    missed: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """One number. The weights were fitted by `evals/bench/extractive_quality.py --calibrate`, which shows that
        the unknown words tell nothing that the others do not.
        """
        if self.cosine is None:
            return THRESHOLD + self.held - HELD_ALONE
        return self.cosine + WEIGHT_HELD * self.held

    @property
    def detail(self) -> dict[str, float]:
        """The signals, for the stage's event."""
        signals = {
            "held": self.held,
            "cosine": self.cosine or 0.0,
            "unknown": self.unknown,
            "fit": self.score,
        }
        return {name: round(value, 4) for name, value in signals.items()}

    @property
    def matches(self) -> bool:
        """Whether the passages are about what is asked."""
        return self.score >= THRESHOLD and not self.missed


WEIGHT_HELD = 0.25
THRESHOLD = 0.42
HELD_ALONE = 0.35  # share of the words that must be held when there is nothing but words

# Texts on subjects that have nothing to do with each other, to learn where a model's cosines begin.
_UNRELATED = (
    "The recipe asks for two eggs, a cup of flour and a pinch of salt.",
    "Parliament passed the amended tax bill after a long debate.",
    "Its thread pool keeps idle workers alive for sixty seconds.",
    "Migrating cranes rest in the wetlands every October.",
    "She moved the bishop and offered a draw in the endgame.",
    "The kidney filters waste products out of the blood.",
)
_floors: dict[str, float] = {}


def cosine_floor(embedder: Embedder) -> float:
    """Mean cosine that a model gives texts about different things: near 0 for some, near 0.75 for others."""
    known = _floors.get(embedder.name)
    if known is None:
        vectors = embedder.embed_passages(list(_UNRELATED))
        among = vectors @ vectors.T
        count = len(_UNRELATED)
        known = float((among.sum() - np.trace(among)) / (count * (count - 1)))
        _floors[embedder.name] = known = min(0.95, max(0.0, known))
    return known


def fit_of(
    words: Words,
    texts: Sequence[str],
    best_cosine: float | None,
    floor: float = 0.0,
    missed: tuple[str, ...] = (),
) -> Fit:
    """The fit of passages (each text with its headings) to a question.

    Args:
        best_cosine: of the question and any statement; None without vectors.
        floor: from `cosine_floor`.
        missed: from `missed_years`.
    """
    held = max((words.share(words.held(text)) for text in texts), default=0.0)
    cosine = None if best_cosine is None else max(0.0, (best_cosine - floor) / (1.0 - floor))
    return Fit(held, cosine, words.share(set(words.unknown)), missed)
