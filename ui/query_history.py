"""Queries of the console, kept per user, the last ones first."""

from __future__ import annotations

import datetime
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from graph_agent.errors import ConfigurationError

KEPT = 100


@dataclass(frozen=True, slots=True)
class PastQuery:
    """A query that was run; `rows` is None when it failed."""

    cypher: str
    asked: str
    rows: int | None


class QueryHistory:
    """What was asked in the console of one data folder; safe to share between threads.

    Raises:
        ConfigurationError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
            self._connection.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE IF NOT EXISTS queries"
                " (user TEXT NOT NULL, cypher TEXT NOT NULL, asked TEXT NOT NULL, rows INTEGER,"
                " PRIMARY KEY (user, cypher));"
            )
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"The history of queries cannot be kept in {path}: {error}.",
                "Name a data folder of yours with --data.",
            ) from None

    def add(self, user: str, cypher: str, rows: int | None) -> None:
        """Keep a query; one that was asked before moves to the front."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO queries VALUES (?, ?, ?, ?)", (user, cypher, now, rows)
            )
            self._connection.execute(
                "DELETE FROM queries WHERE user = ? AND cypher NOT IN"
                " (SELECT cypher FROM queries WHERE user = ? ORDER BY asked DESC LIMIT ?)",
                (user, user, KEPT),
            )

    def recent(self, user: str, limit: int = 30) -> list[PastQuery]:
        """A user's last queries."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT cypher, asked, rows FROM queries WHERE user = ? ORDER BY asked DESC LIMIT ?",
                (user, limit),
            ).fetchall()
        return [PastQuery(*row) for row in rows]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
