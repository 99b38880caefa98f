"""Query results kept for download, a few per user, in memory."""

from __future__ import annotations

import csv
import io
import json
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from graph_agent.ui.cells import exported

KEPT = 200


@dataclass(frozen=True)
class QueryResult:
    """Rows of one query; values are JSON types."""

    query: str
    columns: list[str]
    rows: list[dict[str, Any]]

    def as_csv(self) -> bytes:
        """UTF-8 with a mark, which spreadsheets need to recognise it."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow([exported(name) for name in self.columns])
        writer.writerows([[exported(row.get(name)) for name in self.columns] for row in self.rows])
        return text.getvalue().encode("utf-8-sig")

    def as_json(self) -> bytes:
        """An object with query, columns and rows."""
        found = {"query": self.query, "columns": self.columns, "rows": self.rows}
        return json.dumps(found, ensure_ascii=False, indent=1, default=str).encode()


class Results:
    """The last results, by user and id; an old one gives way to a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], QueryResult] = OrderedDict()

    def keep(self, user: str, result: QueryResult) -> str:
        """Keep a result and return its id, which nobody can guess."""
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._kept[user, name] = result
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return name

    def get(self, user: str, name: str) -> QueryResult | None:
        """A kept result of this user."""
        with self._lock:
            return self._kept.get((user, name))
