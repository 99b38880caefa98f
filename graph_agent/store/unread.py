"""Files that could not be read, by the root they were found in: what answers must own up to.

Kept over several syncs: that one folder was read whole says nothing of another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graph_agent.store.keys import LAST_SYNC, UNREAD, KeySpace

_ALWAYS = (
    ""  # a field that stays: a hash without fields would be none, and none means "from an older program"
)


def keep_unread(keys: KeySpace, roots: Sequence[str], failed: Iterable[Mapping[str, Any]]) -> None:
    """Note what a sync of some roots could not read, in place of all that was noted below them.

    Args:
        roots: absolute paths.
        failed: {path, reason} of each file.

    Raises:
        EngineUnavailable: the engine does not answer, or forbids plain keys.
    """
    found: dict[str, list[Mapping[str, Any]]] = {root: [] for root in roots}
    for one in failed:
        home = max((root for root in roots if _below(str(one["path"]), root)), key=len, default=None)
        found.setdefault(home or str(one["path"]), []).append(one)
    forget_unread(keys, roots)
    kept = {root: json.dumps(rows).encode() for root, rows in found.items() if rows}
    keys.hset(UNREAD, {_ALWAYS: b"[]", **kept})


def forget_unread(keys: KeySpace, paths: Sequence[str]) -> None:
    """Forget what was noted at or below some absolute paths.

    Raises:
        EngineUnavailable: the engine does not answer, or forbids plain keys.
    """
    for root, rows in _rows(keys).items():
        left = [row for row in rows if not any(_below(str(row["path"]), path) for path in paths)]
        if any(_below(root, path) for path in paths) or not left:
            keys.hdel(UNREAD, root)
        elif len(left) < len(rows):
            keys.hset(UNREAD, {root: json.dumps(left).encode()})
    keys.hset(UNREAD, {_ALWAYS: b"[]"})


def unread(keys: KeySpace) -> list[dict[str, Any]]:
    """{path, reason} of every file that the last sync of its root could not read.

    Raises:
        EngineUnavailable: the engine does not answer, or forbids plain keys.
    """
    if keys.hmget(UNREAD, [_ALWAYS]) != [None]:
        return [row for rows in _rows(keys).values() for row in rows]
    try:
        report = json.loads(keys.get(LAST_SYNC) or b"{}")
    except ValueError:
        return []
    return _usable(report.get("failed") if isinstance(report, dict) else None)


def _rows(keys: KeySpace) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for root, blob in keys.hget_all(UNREAD).items():
        if root:
            try:
                found[root.decode()] = _usable(json.loads(blob))
            except ValueError:
                continue
    return found


def _usable(rows: Any) -> list[dict[str, Any]]:
    if not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("path"), str)]


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
