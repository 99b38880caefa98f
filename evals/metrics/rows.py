"""Rows of a query against the rows of a right one: as multisets, in order when asked."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Sequence[Any]
_DIGITS = 12  # significant digits of a number: sums differ in the last ones by the order of adding
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_MOST_WAYS = 2_000


def same_rows(gold: Sequence[Row], found: Sequence[Row], *, ordered: bool = False) -> bool:
    """Whether two results are equal: the same rows as often, columns in the same order.

    Args:
        gold, found: rows of JSON types; nodes are {"labels": [...], properties} or {"labels", "properties", "id"}.
        ordered: the order of rows counts.
    """
    left = [tuple(map(comparable, row)) for row in gold]
    right = [tuple(map(comparable, row)) for row in found]
    return _equal(left, right, ordered)


def rows_hold(gold: Sequence[Row], found: Sequence[Row], *, ordered: bool = False) -> bool:
    """Whether the gold's columns are among the found ones, in any place: further columns do no harm."""
    if len(gold) != len(found):
        return False
    if not gold:
        return True
    left = [tuple(map(comparable, row)) for row in gold]
    right = [tuple(map(comparable, row)) for row in found]
    if len({len(row) for row in left}) > 1 or len({len(row) for row in right}) > 1:
        return False
    wanted = [[row[at] for row in left] for at in range(len(left[0]))]
    have = [[row[at] for row in right] for at in range(len(right[0]))]
    places = [[at for at, column in enumerate(have) if _equal(want, column, ordered)] for want in wanted]
    for ways, chosen in enumerate(_assignments(places)):
        if ways >= _MOST_WAYS:
            break
        picked = [tuple(row[at] for at in chosen) for row in right]
        if _equal(left, picked, ordered):
            return True
    return False


def comparable(value: Any) -> Any:
    """A hashable value that is equal for values that mean the same.

    Numbers keep twelve significant digits, moments by their instant (UTC where no zone is told), nodes and
    edges by labels or type and properties, not by their ids, lists in order, objects by keys.
    """
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, int):
        return ("number", value)
    if isinstance(value, float):
        return ("number", float(f"{value:.{_DIGITS}g}"))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return ("object", tuple(sorted((str(key), comparable(item)) for key, item in _flat(value).items())))
    if isinstance(value, list | tuple):
        return ("list", tuple(map(comparable, value)))
    return ("text", str(value))


def _flat(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node or an edge with its properties beside its labels or type; anything else as it is."""
    properties = value.get("properties")
    if isinstance(properties, Mapping) and isinstance(value.get("labels"), list):
        return {**properties, "labels": sorted(value["labels"])}
    if isinstance(properties, Mapping) and isinstance(value.get("type"), str):
        return {**properties, "type": value["type"]}
    if isinstance(value.get("labels"), list):
        return {**value, "labels": sorted(map(str, value["labels"]))}
    return value


def _text(value: str) -> tuple[str, Any]:
    if _MOMENT.fullmatch(value):
        try:
            moment = datetime.datetime.fromisoformat(value)
        except ValueError:
            return ("text", value)
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        return ("moment", moment.isoformat())
    return ("text", value)


def _equal(left: Sequence[Any], right: Sequence[Any], ordered: bool) -> bool:
    """Whether two lists of comparable values are the same, fractions within the rounding of the gold."""
    if len(left) != len(right):
        return False
    if ordered:
        return all(map(_near, left, right))
    rest = list((Counter(right) - Counter(left)).elements())
    for value in (Counter(left) - Counter(right)).elements():
        match = next((at for at, other in enumerate(rest) if _near(value, other)), None)
        if match is None:
            return False
        rest.pop(match)
    return True


def _near(one: Any, other: Any) -> bool:
    """Equal, or fractions that differ by no more than rounding to six places does."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_near, one, other))
    if _is_number(one) and _is_number(other) and not (float(one).is_integer() and float(other).is_integer()):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _assignments(places: Sequence[Sequence[int]], used: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Every way to give each wanted column a place of its own."""
    if len(used) == len(places):
        yield used
        return
    for at in places[len(used)]:
        if at not in used:
            yield from _assignments(places, (*used, at))
