"""Where sentences end, in any script: for cutting text into chunks, first sentences and extracts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

# A full stop, question or exclamation mark with what closes after it, then a blank; or a CJK one, then anything;
# or a blank line. Marks: Latin, Arabic, Devanagari, Ethiopic, Armenian, Khmer, Burmese; ideographic and full width.
_END = re.compile(
    r"(?P<mark>[.!?…\u061f\u06d4\u0964\u0965\u1362\u0589\u17d4\u104b]+)[\"'”’»)\]*_`]*(?P<blank>\s+)"
    r"|[\u3002\uff01\uff1f\uff61]+[\"'”’」』）】〉》]*\s*"
    r"|(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)\s*"
)
_WORD = re.compile(r"\w+")
_WORD_BEFORE = re.compile(r"[\w.]*\w\Z")

# After the first a full stop never ends a sentence (a name follows), after the second not before a number.
_BEFORE_NAMES = """
dr mr mrs ms prof st sr sra dra mme mlle rev hon gen vs cf ca bzw vgl bspw ggf approx viz resp z.b e.g i.e p.ex
d.h u.a o.ä al ed eds inc ltd co corp dept jr sog evtl inkl exkl dipl ing hr fr av mio mrd tsd
"""
_BEFORE_NUMBERS = """
no nos nr fig figs eq eqs vol p pp art sec ch chap abb tab str tel núm pág §
jan feb mar apr jun jul aug sept sep oct nov dec okt dez abs kap bd max min est env
"""
# What German numbers by ordinals.
_AFTER_ORDINALS = """
januar februar märz april mai juni juli august september oktober november dezember jänner jahrhundert quartal
halbjahr tag woche monat platz auflage etage stock kapitel absatz
"""


def sentence_starts(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Offsets in `text` at which a new sentence starts, after the first, in ascending order.

    A full stop after an abbreviation, an initial, or before a lower-case letter does not end a sentence;
    a blank line always does. Scripts without capital letters are split at their own marks.

    Args:
        text: any text; it is not changed, offsets are into it.
        start: where to begin.
        end: where to stop, exclusive; the end of the text when None.
    """
    end = len(text) if end is None else end
    for match in _END.finditer(text, start, end):
        if match.end() < end and (match["mark"] is None or _ends(text, match)):
            yield match.end()


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans [start, end) of the sentences of a text, surrounding blanks left out; none is empty."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for stop in [*sentence_starts(text), len(text)]:
        raw = text[begin:stop]
        stripped = raw.strip()
        if stripped:
            first = begin + raw.index(stripped[0])
            spans.append((first, first + len(stripped)))
        begin = stop
    return spans


@cache
def _after_ordinals() -> frozenset[str]:
    return frozenset(_AFTER_ORDINALS.split())


@cache
def _abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(_BEFORE_NAMES.split()), frozenset(_BEFORE_NUMBERS.split())


def _ends(text: str, match: re.Match[str]) -> bool:
    following = text[match.end()]
    if following.islower():
        return "\n\n" in match["blank"] or "\r\n\r\n" in match["blank"]
    if match["mark"] != ".":
        return True
    before = _WORD_BEFORE.search(text, max(0, match.start() - 12), match.start())
    if before is None:
        return True
    word = before[0].lower()
    names, numbers = _abbreviations()
    if word in names or (word in numbers and following.isdigit()):
        return False
    if word.isdigit() and len(word) <= 3 and _is_ordinal(text, before.start(), match.end()):
        return False
    # "J. Smith", "U. S. Army", but "plan B. Then": an initial is a lone capital that begins a name.
    return not (len(word) == 1 and before[0].isupper() and before[0].isascii() and following.isupper())


def _is_ordinal(text: str, start: int, end: int) -> bool:
    """Whether a number with its full stop is an ordinal ("am 3. Mai") or the number of an item ("1. Find it")."""
    following = _WORD.match(text, end)
    if following is not None and following[0].lower() in _after_ordinals():
        return True
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()
