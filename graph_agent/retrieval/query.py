"""A query as search sees it: quoted phrases, words, and the index terms that stand for each word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graph_agent.retrieval.keywords import KeywordIndex, QueryTerm
from graph_agent.text import STOP_WORDS, detect_language, fold, tokens, words

MAX_QUERY_CHARS = 60_000
_MAX_WORDS = 1_500  # distinct words of a query that are looked up; a chunk's own text has about 150
_QUOTED = re.compile(
    r'(?<!\w)"([^"\n]{2,2000})"(?!\w)|“([^”“\n]{2,2000})”|„([^“”„\n]{2,2000})[“”]|«([^»«\n]{2,2000})»|「([^」\n]{2,2000})」'
)
_HYPHENATED = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "ko", "th"})
COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "fi", "hu"})
_PART_WEIGHT = 0.6  # of the parts that a compound of the query is split into
_COMPOUND_WEIGHT = 0.35  # of the compounds that hold a word of the query
_MAX_COMPOUNDS = 12
_SHORTEST_IN_COMPOUND = 4


@dataclass(frozen=True, slots=True)
class Query:
    """A query, analysed for one corpus.

    Attributes:
        text: as given, without control characters and lone surrogates.
        language: ISO 639-1 code, `und` when nothing speaks for one.
        phrases: folded words of each quoted phrase.
        words: folded words of the whole query, in order.
        terms: what is looked up; `QueryTerm.group` counts the query's distinct words.
        surfaces: the folded word of each group.
        identifiers: groups that are identifiers: with digits, in camelCase, or joined by _ . / :: and such.
    """

    text: str
    language: str
    phrases: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    terms: tuple[QueryTerm, ...]
    surfaces: tuple[str, ...]
    identifiers: frozenset[int]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could be looked up by keyword."""
        return not self.terms


def clean_query(text: str) -> str:
    """A query that every part can take: no control characters, no lone surrogates, bounded."""
    text = _SURROGATES.sub(" ", text[:MAX_QUERY_CHARS])
    return unicodedata.normalize("NFC", _CONTROL.sub(" ", text)).strip()


def quoted_phrases(text: str) -> list[str]:
    """What stands in double quotation marks of any country, two words or more (or one CJK run)."""
    found = (next(group for group in match.groups() if group) for match in _QUOTED.finditer(text))
    return [phrase for phrase in found if len(words(phrase)) > 1 or (words(phrase) and not phrase.isascii())]


def parse_query(text: str, index: KeywordIndex, languages: Sequence[str], *, language: str = "") -> Query:
    """Analyse a query for an index whose documents were stemmed by `languages`.

    Each word gives one term per stemmer, all of one group. Stop words of the query's language are left
    out unless there is nothing else. For documents in a compounding language a word also finds, with
    less weight, compounds that begin or end with it, and a compound that no document holds is split
    into words that documents hold.

    Args:
        text: the query.
        index: whose vocabulary decides about compounds.
        languages: of the documents; at least one.
        language: of the query; detected when empty.
    """
    text = clean_query(text)
    language = language or detect_language(text)
    groups = _groups(text, languages, STOP_WORDS[language])
    found: list[QueryTerm] = []
    identifiers: set[int] = set()
    for number, (surface, lists) in enumerate(groups.items()):
        terms = list(dict.fromkeys(term for terms in lists for term in terms))
        found += [QueryTerm(term, number) for term in terms]
        if any(map(str.isdigit, surface)) or (len(lists[0]) > 1 and not _HYPHENATED.fullmatch(surface)):
            identifiers.add(number)
        elif not COMPOUNDING.isdisjoint(languages):
            found += _compounds(number, surface, terms, index)
        if len(surface) == 1 and not surface.isascii():
            found += _bigrams_with(number, surface, index)
    return Query(
        text=text,
        language=language,
        phrases=tuple(tuple(words(phrase)) for phrase in quoted_phrases(text)),
        words=tuple(words(text)),
        terms=tuple(found),
        surfaces=tuple(groups),
        identifiers=frozenset(identifiers),
    )


def _groups(text: str, languages: Sequence[str], stop: frozenset[str]) -> dict[str, list[tuple[str, ...]]]:
    """For each distinct word of the query its terms, one tuple per stemmer."""
    kept: dict[str, list[tuple[str, ...]]] = {}
    stopped: dict[str, list[tuple[str, ...]]] = {}
    for position, language in enumerate(languages or ("en",)):
        for token in tokens(text, language):
            surface = fold(text[token.start : token.end])
            into = stopped if surface in stop else kept
            if position == 0 and len(kept) + len(stopped) >= _MAX_WORDS:
                break
            if position == 0 and surface not in into:
                into[surface] = [token.terms]
            elif position and surface in into and len(into[surface]) == position:
                into[surface].append(token.terms)
    return kept or stopped


def _compounds(group: int, surface: str, terms: Iterable[str], index: KeywordIndex) -> list[QueryTerm]:
    """Compounds that hold a word, and for a word that no document holds, the known words in it."""
    if len(surface) < _SHORTEST_IN_COMPOUND or not surface.isalpha():
        return []
    known = {term: index.frequency(term) for term in (*terms, surface)}
    found: dict[str, int] = {}
    for term in known:
        if len(term) < _SHORTEST_IN_COMPOUND:
            continue
        longer = [
            *index.vocabulary.starting_with(term, longer_by=_SHORTEST_IN_COMPOUND),
            *index.vocabulary.ending_with(term, longer_by=3),
        ]
        found |= {word: index.frequency(word) for word in longer if word.isalpha() and word not in known}
    best = sorted((word for word, count in found.items() if count), key=lambda word: (-found[word], word))
    longer_terms = [QueryTerm(word, group, _COMPOUND_WEIGHT) for word in best[:_MAX_COMPOUNDS]]
    if any(known.values()):
        return longer_terms
    parts = next((parts for term in known if (parts := index.vocabulary.split(term))), [])
    return [QueryTerm(part, group, _PART_WEIGHT) for part in parts if index.frequency(part)] + longer_terms


def _bigrams_with(group: int, char: str, index: KeywordIndex) -> list[QueryTerm]:
    """A lone CJK character is found within longer runs by the bigrams that begin with it, or end."""
    found = {
        term for term in index.vocabulary.starting_with(char) if len(term) == 2 and index.frequency(term)
    }
    best = sorted(found, key=lambda term: (-index.frequency(term), term))[:_MAX_COMPOUNDS]
    return [QueryTerm(term, group, 1.0) for term in best]
