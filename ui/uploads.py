"""Uploaded files: checked by content, given safe names, and put below the data folder's `uploads`.

A name from a browser is only ever a last component: separators, controls and leading dots are taken out, and what
is left is never joined to anything but the uploads folder.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graph_agent.errors import BadArgument
from graph_agent.ui.sanitise import clean

MAX_NAME_BYTES = 180
MAX_ENDING = 20  # characters; what is longer is no kind of file but part of its name
_SEPARATORS = re.compile(r"[/\\:*?\"<>|]+")
_FOLDER = re.compile(r"[a-z0-9]+(?:[._@-][a-z0-9]+)*")
_MARKED = re.compile(r"-[0-9a-f]{16}$")
_HEAD = 1_000_000  # bytes looked at to tell what a file is; containers are looked at whole


@dataclass(frozen=True)
class Refusal:
    """A file that was not taken, and why."""

    name: str
    reason: str


@dataclass
class Received:
    """What became of an upload.

    Attributes:
        kept: the files as they lie in the uploads folder.
        refused: those that were not taken.
    """

    kept: list[Path] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def receive(files: Sequence[Path], folder: Path, staging: Path, *, max_bytes: int) -> Received:
    """Move uploaded files into the uploads folder.

    Args:
        files: where the web server has put them, their names as given by the browser.
        folder: where they are to stay; made when it is not there.
        staging: the only folder that they may come from.
        max_bytes: size above which a file is refused.
    """
    result = Received()
    taken: set[str] = set()
    inside = staging.resolve()
    for file in files:
        try:
            result.kept.append(_take(file, folder, inside, taken, max_bytes))
        except BadArgument as error:
            result.refused.append(Refusal(clean(file.name), f"{error.message} {error.fix}".strip()))
        except OSError as error:
            result.refused.append(
                Refusal(clean(file.name), f"it could not be kept: {error.strerror or error}.")
            )
    _tidy(files, inside)
    return result


def _take(file: Path, folder: Path, inside: Path, taken: set[str], max_bytes: int) -> Path:
    name = safe_name(file.name)
    problem = _problem(file, inside, max_bytes)
    if problem:
        raise BadArgument(problem)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The same name in one upload is another file; in a later upload it is a new version of the old one.
    target = folder / _unused(name, taken)
    if target.is_dir():
        raise BadArgument("a folder has this name.", "Rename the file.")
    shutil.move(file, target)
    taken.add(target.name.casefold())
    return target


def safe_name(name: str) -> str:
    """A file name that is one component, visible, and short enough for every file system.

    Raises:
        BadArgument: nothing is left of it.
    """
    last = _SEPARATORS.sub(" ", unicodedata.normalize("NFC", name.rpartition("/")[2].rpartition("\\")[2]))
    plain = " ".join(clean("".join(c for c in last if c.isprintable())).split()).lstrip(". ").rstrip(". ")
    stem, dot, ending = plain.rpartition(".")
    if not dot or len(ending) > MAX_ENDING:
        stem, dot, ending = plain, "", ""
    room = MAX_NAME_BYTES - len(ending.encode("utf-8", "replace")) - 1
    while len(stem.encode("utf-8", "replace")) > room:
        stem = stem[:-1]
    shown = f"{stem.strip()}.{ending}" if ending else stem.strip()
    if not stem.strip():
        raise BadArgument(f"The file name {clean(name)[:80]!r} is not usable.", "Rename the file.")
    return shown


def uploads_folder(uploads: Path, user: str) -> Path:
    """The folder of a user's uploads, no two users' the same on any file system; without logins that of all."""
    if not user:
        return uploads
    if _FOLDER.fullmatch(user) and not _MARKED.search(user):
        return uploads / user
    # Capitals and last dots are the same to some file systems: the hash keeps such names apart.
    mark = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    shown = re.sub(r"[^a-z0-9]+", "-", user.lower()).strip("-")[:40]
    return uploads / f"{shown or 'user'}-{mark}"


def removable(source: str, uploads: Path) -> Path | None:
    """The uploaded file of a document, None when it was not uploaded, or lies inside an uploaded zip."""
    try:
        path = Path(source).resolve()
    except (OSError, ValueError):
        return None
    return path if path.is_file() and uploads.resolve() in path.parents else None


def _problem(file: Path, inside: Path, max_bytes: int) -> str:
    from graph_agent.ingest.convert.detect import detect

    resolved = file.resolve()
    if inside not in resolved.parents or file.is_symlink() or not resolved.is_file():
        return "it did not come with this upload."
    size = resolved.stat().st_size
    if size > max_bytes:
        return f"it has {size / 1_048_576:,.0f} MB; at most {max_bytes / 1_048_576:,.0f} MB are taken."
    if size == 0:
        return "it is empty."
    with resolved.open("rb") as opened:
        head = opened.read(_HEAD)
    data = resolved.read_bytes() if head.startswith((b"PK", b"\xd0\xcf")) else head
    if detect(data, file.name) == "binary":
        return "it is no document: not text, PDF, Office, HTML, or a zip of them."
    return ""


def _unused(name: str, taken: set[str]) -> str:
    stem, dot, ending = name.rpartition(".")
    candidate, number = name, 2
    while candidate.casefold() in taken:
        candidate = f"{stem} ({number}).{ending}" if dot else f"{name} ({number})"
        number += 1
    return candidate


def _tidy(files: Iterable[Path], inside: Path) -> None:
    """Take away what was refused, and the empty folders that the web server made for each file."""
    for file in files:
        parent = file.parent.resolve()
        if parent != inside and inside in parent.parents:
            shutil.rmtree(parent, ignore_errors=True)
