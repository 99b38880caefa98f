"""Vectors that were computed before, by model and text, in one SQLite file."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

Vectors = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


class VectorCache:
    """Vectors of passages by model and text, in one SQLite file; a broken file is set aside, never fatal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()

    def get_many(self, model: str, texts: Sequence[str]) -> dict[str, Vectors]:
        """Known vectors by text: float32 [dimension] each."""
        keys = {_cache_key(model, text): text for text in texts}
        found: dict[str, Vectors] = {}
        names = list(keys)
        try:
            database = self._open()
            for start in range(0, len(names), 500):
                part = names[start : start + 500]
                marks = ",".join("?" * len(part))
                rows = database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608
                for key, blob in rows:
                    found[keys[key]] = np.frombuffer(blob, dtype=np.float32)
        except (sqlite3.Error, OSError, ValueError) as error:
            log.debug("the vector cache cannot be read: %s", error)
        return found

    def put_many(self, model: str, vectors: dict[str, Vectors]) -> None:
        """Keep vectors; a full or read-only disk only costs the next run its time."""
        rows = [
            (_cache_key(model, text), vector.astype(np.float32).tobytes()) for text, vector in vectors.items()
        ]
        try:
            database = self._open()
            with database:
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            log.debug("the vector cache cannot be written: %s", error)

    def _open(self) -> sqlite3.Connection:
        database: sqlite3.Connection | None = getattr(self._local, "database", None)
        if database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                database = self._connect()
            except sqlite3.OperationalError:
                raise  # locked, full, read-only: the file itself may be sound
            except sqlite3.DatabaseError:
                self._path.replace(self._path.with_name(self._path.name + ".broken"))
                database = self._connect()
            self._local.database = database
        return database

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=10)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
            )
        except BaseException:
            database.close()
            raise
        return database


def _cache_key(model: str, text: str) -> bytes:
    return xxhash.xxh3_128_digest(f"{model}\x00{text}".encode("utf-8", "surrogatepass"))
