"""Numbers as people write them, with every reading that the notation allows."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GROUP = "[ \u00a0\u202f'\u2019]"  # blank, no-break blanks and apostrophes part thousands
_NUMBER = re.compile(
    rf"""
    (?P<open>\()?\s?
    (?P<sign>(?<![\w.,)\]])[-+\u2212\u2013])?\s?
    (?P<money>[$€£¥₹]\s?)?
    (?P<digits>\d{{1,3}}(?:{_GROUP}\d{{3}})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)*|[.,]\d+)
    (?P<exponent>[eE][-+]?\d{{1,3}}(?![\w]))?
    (?P<after>\s?(?:%|‰|percent\b|per\s+cent\b|Prozent\b|pour\s+cent\b)|
       [\s-]?(?:thousand|million|billion|trillion|Tsd\.?|Mio\.?|Millionen|Mrd\.?|Milliarden?|Milliards?|Billionen
       |millions|billions|mn|bn|tn)\b|\s?(?:[kKMBT])\b(?![-\w])|\s?[千万萬亿億兆])?
    (?P<close>\s?\))?
    """,
    re.VERBOSE,
)
_FACTORS = {
    "%": 0.01, "percent": 0.01, "prozent": 0.01, "per cent": 0.01, "pour cent": 0.01, "‰": 0.001,
    "k": 1e3, "thousand": 1e3, "tsd": 1e3, "千": 1e3, "万": 1e4, "萬": 1e4,
    "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6, "亿": 1e8, "億": 1e8,
    "b": 1e9, "bn": 1e9, "billion": 1e9, "billions": 1e9, "mrd": 1e9, "milliard": 1e9, "milliards": 1e9,
    "milliarde": 1e9, "milliarden": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12, "billionen": 1e12, "兆": 1e12,
}  # fmt: skip
_PERCENT = frozenset({"%", "‰", "percent", "prozent", "per cent", "pour cent"})


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text.

    Attributes:
        value: the likeliest reading; 12 % is 0.12, 3 million is 3e6, (123) is -123.
        readings: every reading, the likeliest first: `1.234` is 1.234 or (German) 1234.
        text: as written, with sign, percent sign or magnitude word.
        start: offset in characters of the first character.
        end: offset after the last character.
        percent: written as a share of a hundred or a thousand.
    """

    value: float
    readings: tuple[float, ...]
    text: str
    start: int
    end: int
    percent: bool = False


def numbers(text: str) -> list[Number]:
    """All numbers of a text in order.

    Understands 1,234.5 and 1.234,5 and 1 234,5 and 1'234.5, percent and per mille, accounting
    negatives in parentheses, exponents, and magnitudes (k, million, Mio., bn, Mrd., 万, 亿). Digits
    within a word (`Q3`, `FY2018`, `0x1f`) count as numbers too: a date or a name may be quoted.
    """
    found: list[Number] = []
    for match in _NUMBER.finditer(text):
        readings = _readings(match["digits"])
        if not readings:
            continue
        factor, percent = _factor(match["after"])
        if match["exponent"]:
            factor *= 10.0 ** max(-300, min(300, int(match["exponent"][1:])))
        bracketed = bool(match["open"]) and bool(match["close"])
        if (match["sign"] and match["sign"] != "+") or bracketed:
            factor = -factor
        values = tuple(_rounded(reading * factor) for reading in readings)
        if bracketed:  # "(123)" is a negative in a balance sheet and a remark elsewhere
            values += tuple(-value for value in values)
        start = match.start() if bracketed else _first_of(match)
        end = match.end() if bracketed else match.start("close") if match["close"] else match.end()
        found.append(Number(values[0], values, text[start:end].strip(), start, end, percent))
    return found


def same_number(one: Number, other: Number) -> bool:
    """Whether two numbers may be the same: one reading of each agrees, also 12 % with a bare 12."""
    for left in _with_bare_percent(one):
        for right in _with_bare_percent(other):
            if abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right)):
                return True
    return False


def _with_bare_percent(number: Number) -> tuple[float, ...]:
    if not number.percent:
        return number.readings
    factor = 1000.0 if "‰" in number.text else 100.0
    return (*number.readings, *(_rounded(value * factor) for value in number.readings))


def _first_of(match: re.Match[str]) -> int:
    for name in ("sign", "money", "digits"):
        if match[name]:
            return match.start(name)
    return match.start()


def _factor(after: str | None) -> tuple[float, bool]:
    if not after:
        return 1.0, False
    name = " ".join(after.strip(" \t\n-.").lower().split())
    return _FACTORS.get(name, 1.0), name in _PERCENT


def _readings(digits: str) -> tuple[float, ...]:
    """The values that a run of digits, points and commas can mean, the likeliest first."""
    plain = re.sub(_GROUP, "", digits)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return (float(plain),)
    if plain[0] in ".,":
        return (float("0." + plain[1:]),) if len(marks) == 1 else ()
    kinds = set(marks)
    if len(kinds) == 2:
        return _two_marks(plain, marks)
    mark = marks[0]
    pieces = plain.split(mark)
    groups = all(len(piece) == 3 for piece in pieces[1:]) and 1 <= len(pieces[0]) <= 3 and pieces[0] != "0"
    if len(marks) > 1:
        # 1.234.567 is one number; 192.168.0.1 and 1.2.3 are names, kept as their first number
        return (float("".join(pieces)),) if groups else (float(f"{pieces[0]}.{pieces[1]}"),)
    decimal = float(f"{pieces[0]}.{pieces[1]}")
    if not groups:
        return (decimal,)
    whole = float("".join(pieces))
    return (whole, decimal) if mark == "," else (decimal, whole)


def _two_marks(plain: str, marks: list[str]) -> tuple[float, ...]:
    decimal_mark = marks[-1]
    group_mark = marks[0]
    if decimal_mark == group_mark or marks.count(decimal_mark) > 1:
        return ()
    whole, _, fraction = plain.rpartition(decimal_mark)
    return (float(f"{whole.replace(group_mark, '')}.{fraction}"),)


def _rounded(value: float) -> float:
    """Without the noise of binary fractions: 12 * 0.01 is 0.12."""
    return float(f"{value:.12g}")
