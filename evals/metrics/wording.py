"""Texts made comparable: tokens of answers, containment, overlap, spans, dates in other notations."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Sequence

from graph_agent.text import detect_language, fold, query_terms, words

_ARTICLES = frozenset({"a", "an", "the"})
_WIDE = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_ISO_DATE = re.compile(r"\s*(\d{4})-(\d{2})-(\d{2})\s*")
_SHINGLE = 5
_MONTHS = {
    "en": "January February March April May June July August September October November December".split(),  # noqa: SIM905
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),  # noqa: SIM905
}


def tokens(text: str) -> list[str]:
    """Folded words without English articles and punctuation; Chinese, Japanese and Korean by characters.

    The normalisation of SQuAD's evaluation (Rajpurkar et al. 2016), for more scripts.
    """
    found = [
        piece for word in words(text) for piece in (_WIDE.findall(word) if not word.isascii() else (word,))
    ]
    return [word for word in found if word not in _ARTICLES] or found


def exact(answer: str, gold: str) -> float:
    """1 when the tokens are the same."""
    return float(tokens(answer) == tokens(gold))


def token_f1(answer: str, gold: str) -> float:
    """Harmonic mean of the precision and recall of tokens."""
    left, right = tokens(answer), tokens(gold)
    shared = sum((Counter(left) & Counter(right)).values())
    if not shared:
        return float(left == right)
    precision, recall = shared / len(left), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def contains(text: str, phrase: str) -> bool:
    """Whether the phrase's tokens stand in the text, side by side; dates also in other notations."""
    have = tokens(text)
    return any(_find(have, tokens(form)) >= 0 for form in (phrase, *date_forms(phrase)))


def position(text: str, phrase: str) -> int:
    """Where in the text's tokens a phrase begins, -1 when it does not stand there."""
    have = tokens(text)
    places = [place for form in (phrase, *date_forms(phrase)) if (place := _find(have, tokens(form))) >= 0]
    return min(places, default=-1)


def content_recall(text: str, gold: str) -> float:
    """Share of the gold's content words, stemmed, that stand in the text; stop words do not count."""
    language = detect_language(gold)
    stemmed = "en" if language == "und" else language
    wanted = set(query_terms(gold, language, stemmed=stemmed))
    if not wanted:
        return 0.0
    return len(wanted & set(query_terms(text, language, stemmed=stemmed))) / len(wanted)


def span_coverage(text: str, quote: str) -> float:
    """Share of a quote that stands in a text, by runs of five tokens; line breaks and markup do not count."""
    wanted, have = tokens(quote), tokens(text)
    if not wanted:
        return 0.0
    size = min(_SHINGLE, len(wanted))
    runs = {tuple(wanted[at : at + size]) for at in range(len(wanted) - size + 1)}
    there = {tuple(have[at : at + size]) for at in range(len(have) - size + 1)}
    return len(runs & there) / len(runs)


def title_key(title: str) -> str:
    """A heading by which it can be looked up."""
    return " ".join(fold(re.sub(r"[`*_\\]+", "", title)).split())


def date_forms(text: str) -> list[str]:
    """Other notations of an ISO date: 2019-02-25 is 25 February 2019, February 25 2019, 25. Februar 2019."""
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        return []
    try:
        day = datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return []
    english, german = _MONTHS["en"][day.month - 1], _MONTHS["de"][day.month - 1]
    return [
        f"{day.day} {english} {day.year}",
        f"{english} {day.day} {day.year}",
        f"{english[:3]} {day.day} {day.year}",
        f"{day.day} {english[:3]} {day.year}",
        f"{day.day} {german} {day.year}",
        f"{day.day:02}.{day.month:02}.{day.year}",
        f"{day.day}.{day.month}.{day.year}",
        f"{day.year}/{day.month:02}/{day.day:02}",
    ]


def _find(have: Sequence[str], wanted: Sequence[str]) -> int:
    if not wanted:
        return -1
    for at in range(len(have) - len(wanted) + 1):
        if have[at] == wanted[0] and have[at : at + len(wanted)] == list(wanted):
            return at
    return -1
