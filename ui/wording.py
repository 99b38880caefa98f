"""Numbers, times and names as people read them; the filters of the templates."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from graph_agent.ui.sanitise import clean


def count(number: int | float, one: str, many: str = "") -> str:
    """`1 document`, `1,204 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def seconds(value: float) -> str:
    """`40 ms`, `2.3 s`, `3 min 20 s`."""
    if value < 0.9995:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def ago(iso: str, now: datetime.datetime | None = None) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `yesterday`, or the date."""
    try:
        then = datetime.datetime.fromisoformat(iso)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.replace(tzinfo=datetime.UTC)
    now = now or datetime.datetime.now(datetime.UTC)
    passed = (now - then).total_seconds()
    if passed < 60:
        return "just now"
    if passed < 3_600:
        return f"{int(passed // 60)} min ago"
    if passed < 86_400:
        return f"{int(passed // 3_600)} h ago"
    if passed < 2 * 86_400:
        return "yesterday"
    return then.date().isoformat()


def file_name(path: str) -> str:
    """The last component of a path, fit to be shown."""
    return clean(PurePosixPath(path).name or path)


def folder_name(path: str) -> str:
    """Everything before the last component of a path, "" when there is nothing."""
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else clean(parent)


def shortened(text: str, limit: int = 80) -> str:
    """Text on one line, at most `limit` characters."""
    words = " ".join(clean(text).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


FILTERS: dict[str, Callable[..., Any]] = {
    "count": count,
    "seconds": seconds,
    "ago": ago,
    "file_name": file_name,
    "folder_name": folder_name,
    "shortened": shortened,
    "clean": clean,
}
