"""What is found below the paths that a user names: files, roots, and what cannot be taken."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.archives import Archive


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that may be ingested.

    Attributes:
        root: absolute path of what was named: a folder, a zip, or the folder of a single file.
        root_name: last component of `root`, shown to people.
        relative_path: POSIX path below the root; a zip on the way is a component ("a.zip/b/c.md"). Always
            valid Unicode; may hold any character but NUL.
        size: bytes; of a zip's member the unpacked ones.
        mtime: seconds since the epoch.
        inside_zip: whether it lies in a zip.
        opener: gives the bytes; use `read()`.
    """

    root: Path
    root_name: str
    relative_path: str
    size: int
    mtime: float
    inside_zip: bool
    opener: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders from below the root down to the file."""
        return tuple(self.relative_path.split("/")[:-1])

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.relative_path.rsplit("/", 1)[-1]

    @property
    def path(self) -> str:
        """Absolute path as text; inside a zip it goes on after the zip's own path."""
        return f"{os.fsencode(self.root).decode('utf-8', 'replace').rstrip('/')}/{self.relative_path}"

    def read(self) -> bytes:
        """The file's bytes.

        Raises:
            UnreadableFile: it went away, may not be read, or is damaged inside its zip.
        """
        try:
            return self.opener()
        except PermissionError:
            raise UnreadableFile("no permission to read it.", "Give this user read permission.") from None
        except OSError as error:
            raise UnreadableFile(f"cannot be read: {error.strerror or error}.") from None


class Failure(NamedTuple):
    """A file, zip or folder that cannot be taken.

    Attributes:
        path: as shown to people: absolute.
        reason: one line.
        root: the root it was met under.
        relative_path: below the root; "" for the root itself.
        is_folder: everything below it is unknown, so documents known from there must be kept.
    """

    path: str
    reason: str
    root: Path
    relative_path: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """A path that the user named.

    Attributes:
        path: absolute path of the folder or zip; for a single file its folder.
        name: its last component.
        kind: "folder", "zip", or "file": then only `single` was asked for and nothing else below `path`.
        reachable: False if it does not exist or cannot be listed: keep its documents.
        empty: it was listed and holds no entry at all, as an unmounted mount point does.
        single: relative path of the file when kind is "file".
        reason: why it is not reachable.
    """

    path: Path
    name: str
    kind: Literal["folder", "zip", "file"]
    reachable: bool = True
    empty: bool = False
    single: str | None = None
    reason: str = ""


@dataclass(slots=True)
class Discovery:
    """What was found.

    Attributes:
        files: to be taken, in the order of the roots, then by path components.
        skipped: reason -> how many files (a left-out folder counts once).
        failures: what ought to have been readable and is not.
        roots: one for each path asked for, in that order.
        archives: the zips that were opened.
    """

    files: list[SourceFile] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    archives: list[Archive] = field(default_factory=list, repr=False)

    def close(self) -> None:
        """Close the zips that were opened; files inside them can still be read (they are opened again)."""
        for archive in self.archives:
            archive.close()


def text_of(name: str) -> str:
    """A file name as valid Unicode: names that are not UTF-8 on disk are read as Latin-1."""
    raw = os.fsencode(name)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
