"""Rows of a query against the rows of a right one: as multisets, in order when asked."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Sequence[Any]
_DIGITS = 9  # significant digits of a float: sums differ in the last ones by the order of adding
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
    return left == right if ordered else Counter(left) == Counter(right)


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
    wanted = [_column(left, at, ordered) for at in range(len(left[0]))]
    have = [_column(right, at, ordered) for at in range(len(right[0]))]
    places = [[at for at, column in enumerate(have) if column == want] for want in wanted]
    for ways, chosen in enumerate(_assignments(places)):
        if ways >= _MOST_WAYS:
            break
        picked = [tuple(row[at] for at in chosen) for row in right]
        if picked == left if ordered else Counter(picked) == Counter(left):
            return True
    return False


def comparable(value: Any) -> Any:
    """A hashable value that is equal for values that mean the same.

    Numbers compare by nine significant digits, moments by their instant (UTC where no zone is told), nodes and
    edges by labels or type and properties, not by their ids, lists in order, objects by keys.
    """
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, int | float):
        return ("number", float(f"{float(value):.{_DIGITS}g}"))
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


def _column(rows: Sequence[Row], at: int, ordered: bool) -> Any:
    values = [row[at] for row in rows]
    return values if ordered else Counter(values)


def _assignments(places: Sequence[Sequence[int]], used: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Every way to give each wanted column a place of its own."""
    if len(used) == len(places):
        yield used
        return
    for at in places[len(used)]:
        if at not in used:
            yield from _assignments(places, (*used, at))
