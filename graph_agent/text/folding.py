"""Unicode folding: what counts as the same letter, and simple measures of a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Marks of Latin, Greek, Cyrillic (combining blocks), Hebrew and Arabic carry no meaning for a search;
# Indic vowel signs and Japanese voicing marks do, and lie outside these ranges.
_MARKS = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]+"
)
# Invisible: soft hyphen, zero-width characters, directional marks, byte order mark, variation selectors.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufe00-\ufe0f]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHORT_I = "\u0438\u0306"  # Cyrillic short i is a letter of its own, not an accented one
_LETTERS = str.maketrans(
    {
        "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h",
        "ŧ": "t", "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ک": "ك", "ی": "ي",
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2212": "-", "\u2018": "'", "\u2019": "'", "\u02bc": "'",
        "\x00": " ",
    }
)  # fmt: skip

_WORD = re.compile(
    r"[^\W_]+(?:[\u0900-\u0963\u0971-\u0d7f\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0fbc\u102b-\u109f]+[^\W_]*)*"
)
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_NON_ASCII = re.compile(r"[^\x00-\x7f]")

BREADCRUMB_SEPARATOR = " > "
_CRUMB_CHARS = 80
_TRAIL_CHARS = 240


def fold(text: str) -> str:
    """Text with case, width, accents and invisible characters taken away.

    NFKC, case folding, and removal of the marks of Latin, Greek, Cyrillic, Arabic and Hebrew letters;
    the vowel signs of Indic scripts stay. Lone surrogates and NUL become blanks, so that the result
    can always be encoded. Folding twice changes nothing.
    """
    if text.isascii():
        return text.lower().replace("\x00", " ")
    text = _SURROGATES.sub(" ", text)
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    text = unicodedata.normalize("NFD", text).replace(_SHORT_I, "\ue000")
    text = _MARKS.sub("", text).replace("\ue000", _SHORT_I)
    return unicodedata.normalize("NFC", text).translate(_LETTERS)


def words(text: str) -> list[str]:
    """The folded words of a text in order: runs of letters and digits, no stemming, nothing left out.

    A run of Chinese or Japanese is one word; compare such text character by character.
    """
    return _WORD.findall(fold(text))


def estimate_tokens(text: str) -> int:
    """Roughly how many tokens a chat model counts: four characters each, CJK one, other scripts two.

    Meant for budgets, with a margin; never less than 1 for text that is not empty.
    """
    if not text:
        return 0
    if text.isascii():
        return max(1, (len(text) + 3) // 4)
    wide = len(_WIDE.findall(text))
    other = len(_NON_ASCII.findall(text)) - wide
    return max(1, wide + (other + 1) // 2 + (len(text) - wide - other + 3) // 4)


def shorten_breadcrumb(breadcrumb: Sequence[str]) -> list[str]:
    """A breadcrumb that fits on a line: blanks collapsed, repeats dropped, the middle left out first.

    The document's title (first) and the section's own title (last) always stay, cut at 80 characters.
    """
    parts: list[str] = []
    for crumb in breadcrumb:
        part = " ".join(crumb.split())
        if len(part) > _CRUMB_CHARS:
            part = part[: _CRUMB_CHARS - 1].rstrip() + "…"
        if part and (not parts or parts[-1].casefold() != part.casefold()):
            parts.append(part)
    while len(parts) > 2 and sum(map(len, parts)) > _TRAIL_CHARS:
        del parts[1]
    return parts


def passage_text(breadcrumb: Sequence[str], text: str) -> str:
    """What is embedded for a chunk: its breadcrumb on one line, then the chunk's text.

    The breadcrumb tells the model what the passage is about when its own words do not ("Copyright",
    a table, "Parameters").
    """
    trail = BREADCRUMB_SEPARATOR.join(shorten_breadcrumb(breadcrumb))
    return f"{trail}\n{text}" if trail else text
