"""From text to index terms: words and their stems, identifiers and their parts, CJK bigrams.

The same function serves documents and queries; whatever it does to one it does to the other.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graph_agent.text.folding import fold
from graph_agent.text.language import STOP_WORDS, detect_language

ANALYSER = "terms-1"
"""Name of this analysis; a cached index made under another name is not used."""

_MAX_WHOLE = 64  # characters of an identifier kept as one term; longer ones are links and hashes
_MAX_TERM = 80
_MAX_PIECES = 3  # `FY2018` is split, `568acd8b` is not: pieces of a hash mean nothing

# Scripts written without blanks between words (and Hangul, whose words carry endings): bigrams.
_UNSPACED = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
    "\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_UNSPACED_SPLIT = re.compile(f"([{_UNSPACED}]+)")
# What may stand within a word without being a letter: combining marks, vowel signs, invisible joiners.
_INNER = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0971-\u0d7f"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u00ad\u200b-\u200f\u2060\ufeff\ufe00-\ufe0f"
)
_CONNECTOR = (
    "::|->|_+|[-./@:&+'\u2019\u2010\u2011\uff0d\uff0e\uff0f\uff20\uff1a\uff3f]|,(?=[0-9]{3}(?![0-9]))"
)
_WORD = f"[^\\W_]+(?:[{_INNER}]+[^\\W_]*)*"
_TOKEN = re.compile(f"[A-Za-z](?:\\+\\+|#)(?![\\w#+])|{_WORD}(?:(?:{_CONNECTOR}){_WORD})*")
_ASCII_WORD = "[A-Za-z0-9]+"
_ASCII_TOKEN = re.compile(
    "[A-Za-z](?:\\+\\+|#)(?![\\w#+])|"
    f"{_ASCII_WORD}(?:(?:::|->|_+|[-./@:&+']|,(?=[0-9]{{3}}(?![0-9]))){_ASCII_WORD})*"
)
_PARTS = re.compile(r"[^\W_]+", re.UNICODE)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_CAMEL = re.compile(r"(?<=[a-zà-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
_DIGIT_EDGE = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[^\w]+(?=\d)")
_ELISIONS = frozenset(
    {"l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "dell", "all", "nell", "sull", "un"}
)
_STEMMERS = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "cs": "czech", "da": "danish", "nl": "dutch",
    "en": "english", "et": "estonian", "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "es": "spanish", "sv": "swedish", "ta": "tamil", "tr": "turkish", "fa": "persian",
}  # fmt: skip

_lock = threading.Lock()
_stemmers: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Token:
    """One word or identifier of a text: `text[start:end]`, and the index terms that it gives."""

    start: int
    end: int
    terms: tuple[str, ...]


def terms(text: str, language: str = "en") -> list[str]:
    """The index terms of a text in order, stop words included, repeats included.

    * Words are folded (see `folding.fold`) and stemmed by `language` (ISO 639-1; unknown: not stemmed).
    * Identifiers give the whole and its parts: `EIP-1559` -> eip1559, eip, 1559. In the whole a
      connector is dropped except between digits, so `EIP1559` and `eip_1559` give the same whole
      while `1.5` stays apart from `15`. `camelCase` and `FY2018` are split, too. Thousands commas go.
    * Chinese, Japanese, Korean, Thai and their like give character bigrams, a lone character itself.

    Never raises; lone surrogates and control characters separate words.
    """
    found: list[str] = []
    for surface in surfaces(text):
        found += terms_of(surface, language)
    return found


def surfaces(text: str) -> list[str]:
    """The words, identifiers and runs of CJK of a text as written, in order: `terms_of` each are its terms."""
    return _ASCII_TOKEN.findall(text) if text.isascii() else list(_surfaces(text))


def terms_of(surface: str, language: str) -> Sequence[str]:
    """The index terms of one of the `surfaces` of a text."""
    if not surface.isascii() and _UNSPACED_RUN.match(surface):
        return _unspaced(surface)
    return _analyse(surface, language)


def tokens(text: str, language: str = "en") -> Iterator[Token]:
    """Words and identifiers with their places in the text as given, for marking and for phrases.

    A run of CJK gives one token per bigram (overlapping), since each is a term.
    """
    for match in _UNSPACED_RUN.finditer(text):
        yield from _unspaced_tokens(match)
    for piece_start, piece in _spaced_pieces(text):
        for match in _TOKEN.finditer(piece):
            start = piece_start + match.start()
            yield Token(start, start + len(match[0]), _analyse(match[0], language))


def query_terms(text: str, language: str | None = None, *, stemmed: str = "en") -> list[str]:
    """The distinct terms of a query: stop words of its language left out, unless there is nothing else.

    Args:
        text: the query.
        language: its language; None to detect it.
        stemmed: the language whose stemmer applies: that of the documents searched.
    """
    found: list[str] = []
    stopped: list[str] = []
    stop = STOP_WORDS[language or detect_language(text)]
    for surface in _surfaces(text):
        if _UNSPACED_RUN.match(surface):
            found.extend(_unspaced(surface))
        else:
            (stopped if fold(surface) in stop else found).extend(_analyse(surface, stemmed))
    return list(dict.fromkeys(found or stopped))


def _surfaces(text: str) -> Iterator[str]:
    if text.isascii():
        yield from _ASCII_TOKEN.findall(text)
        return
    for piece in _UNSPACED_SPLIT.split(text):
        if _UNSPACED_RUN.match(piece):
            yield piece
        elif piece:
            yield from _TOKEN.findall(piece)


def _spaced_pieces(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for match in _UNSPACED_RUN.finditer(text):
        if match.start() > start:
            yield start, text[start : match.start()]
        start = match.end()
    if start < len(text):
        yield start, text[start:]


def _unspaced(run: str) -> list[str]:
    run = fold(run)
    if len(run) < 3:
        return [run] if run else []
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _unspaced_tokens(match: re.Match[str]) -> Iterator[Token]:
    run, start = match[0], match.start()
    if len(fold(run)) != len(run):  # half-width kana and old jamo join: places within the run are lost
        yield Token(start, match.end(), tuple(_unspaced(run)))
    elif len(run) < 3:
        yield Token(start, match.end(), (fold(run),))
    else:
        for at, term in enumerate(_unspaced(run)):
            yield Token(start + at, start + at + 2, (term,))


@lru_cache(maxsize=400_000)
def _analyse(surface: str, language: str) -> tuple[str, ...]:
    """Terms of one word or identifier; the whole first, then its parts, none twice."""
    if (
        surface.isascii()
        and surface.isalpha()
        and (surface.islower() or surface.isupper() or surface.istitle())
    ):
        return (_stem(surface.lower(), language),)
    text = unicodedata.normalize("NFKC", surface)
    if surface[-1] in "+#":
        return (fold(text), fold(text[0]))
    if _GROUPED.fullmatch(text):
        return (text.replace(",", ""),)
    text = _without_apostrophes(text, language)
    folded = fold(text)
    parts = _PARTS.findall(folded) if folded.isascii() else re.findall(_WORD, folded)
    found: list[str] = []
    if len(folded) <= _MAX_WHOLE:
        found.append(_whole(folded, parts, language))
    if len(parts) > 1 or len(folded) > _MAX_WHOLE or _is_mixed(text):
        for part in re.findall(_WORD, text):
            found.extend(_stem(fold(piece)[:_MAX_TERM], language) for piece in _pieces(part))
    return tuple(dict.fromkeys(term for term in found if term))


def _whole(folded: str, parts: list[str], language: str) -> str:
    if len(parts) == 1:
        return _stem(parts[0], language)
    kept = _BETWEEN_DIGITS.sub("\x01", folded)
    joined = "".join(char for char in kept if char == "\x01" or char.isalnum() or not char.isascii())
    whole = joined.replace("\x01", ".")
    return _stem(whole, language) if whole.isalpha() else whole


def _is_mixed(text: str) -> bool:
    return bool(_CAMEL.search(text) or _DIGIT_EDGE.search(text))


def _pieces(part: str) -> list[str]:
    """`FY2018` -> FY2018, FY, 2018; `getStorage` -> getStorage, get, Storage; a hash stays whole."""
    pieces = [piece for camel in _CAMEL.split(part) for piece in _DIGIT_EDGE.split(camel)]
    return [part, *pieces] if 1 < len(pieces) <= 2 * _MAX_PIECES and _splits_well(part, pieces) else [part]


def _splits_well(part: str, pieces: list[str]) -> bool:
    edges = len(_DIGIT_EDGE.findall(part))
    return edges < _MAX_PIECES and len(pieces) <= 2 * _MAX_PIECES


def _without_apostrophes(text: str, language: str) -> str:
    """`Rollo's` -> Rollo, `l'eau` -> eau, `don't` -> dont."""
    text = text.replace("\u2019", "'")
    if "'" not in text:
        return text
    if text.lower().endswith("'s"):
        text = text[:-2]
    head, _, tail = text.partition("'")
    if tail and fold(head) in _ELISIONS and language != "en":
        return tail
    return text.replace("'", "")


def _stem(word: str, language: str) -> str:
    name = _STEMMERS.get(language)
    if name is None or len(word) < 3 or not word.isalpha():
        return word[:_MAX_TERM]
    return _stemmed(word[:_MAX_TERM], name)


@lru_cache(maxsize=400_000)
def _stemmed(word: str, name: str) -> str:
    with _lock:  # the stemmers keep state while they work
        stemmer = _stemmers.get(name)
        if stemmer is None:
            import snowballstemmer

            stemmer = _stemmers[name] = snowballstemmer.stemmer(name)
        # marks go after stemming, too: some stemmers write accented endings
        return fold(str(stemmer.stemWord(word))) or word
