"""Files of the data folder that no sync can make again: conversations and uploaded documents.

Logins are left out on purpose: an old backup must not bring back a user who was removed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graph_agent.errors import ConfigurationError
from graph_agent.store.archive import ArchiveReader, ArchiveWriter

DATABASES = ("conversations.sqlite", "chats.sqlite")
FOLDERS = ("uploads",)
PREFIX = "files/"
BUSY_S = 30.0


def add_files(archive: ArchiveWriter, data: Path) -> list[str]:
    """Put the data folder's files into a backup, databases as they are at one moment; returns their names."""
    added = []
    for name in DATABASES:
        if (data / name).is_file():
            with _copied_database(data / name) as copy:
                archive.add_file(PREFIX + name, copy)
            added.append(name)
    for path in _uploaded(data):
        name = path.relative_to(data).as_posix()
        archive.add_file(PREFIX + name, path)
        added.append(name)
    return added


def restore_files(archive: ArchiveReader, data: Path, *, replace: bool) -> tuple[list[str], list[str]]:
    """Put a backup's files into the data folder.

    Args:
        replace: also where there is another file of that name; without, that one is kept.

    Returns:
        Names that were written, and names that were kept.

    Raises:
        ConfigurationError: the data folder cannot be written, or an entry is no file of a data folder.
    """
    written, kept = [], []
    for entry in archive.names(PREFIX):
        name = entry.removeprefix(PREFIX)
        if name not in DATABASES and name.split("/")[0] not in FOLDERS:
            raise ConfigurationError(
                f"The backup {archive.path} is not usable: {name[:80]!r} is no file of a data folder.",
                "Take another copy of it.",
            )
        target = data / name
        if target.exists() and not replace:
            kept.append(name)
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not target.parent.resolve().is_relative_to(data.resolve()):
                raise OSError(0, "a link leads out of the data folder")
            _put(archive, entry, target, database=name in DATABASES)
        except OSError as error:
            raise ConfigurationError(
                f"{target} cannot be written ({error.strerror or error}).",
                "Free space, or give yourself write permission, and restore again.",
            ) from None
        written.append(name)
    return written, kept


def _put(archive: ArchiveReader, entry: str, target: Path, *, database: bool) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".restore-") as folder:
        fresh = Path(folder) / "file"
        archive.extract(entry, fresh)
        if database:
            _overwrite_database(fresh, target)
        else:
            fresh.replace(target)


@contextlib.contextmanager
def _copied_database(path: Path) -> Iterator[Path]:
    """A copy by SQLite itself: whole, also while others write."""
    with tempfile.TemporaryDirectory(prefix="graph-agent-") as folder:
        copy = Path(folder) / path.name
        try:
            _copy(path, copy)
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"{path} cannot be read ({error}).", "Repair it or move it away; --no-files leaves it out."
            ) from None
        yield copy


def _overwrite_database(source: Path, target: Path) -> None:
    """Replace a database's content in one transaction: a program that has it open sees old or new."""
    try:
        with contextlib.closing(sqlite3.connect(source)) as checked:
            if checked.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("damaged")
        os.close(os.open(target, os.O_RDWR | os.O_CREAT, 0o600))
        _copy(source, target)
    except sqlite3.Error as error:
        raise ConfigurationError(
            f"{target} cannot be restored ({error}).", "Stop the programs that use it, and restore again."
        ) from None


def _copy(source: Path, target: Path) -> None:
    with (
        contextlib.closing(sqlite3.connect(source, timeout=BUSY_S)) as read,
        contextlib.closing(sqlite3.connect(target, timeout=BUSY_S)) as written,
    ):
        read.backup(written)


def _uploaded(data: Path) -> Iterator[Path]:
    for name in FOLDERS:
        for path in sorted((data / name).rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path
