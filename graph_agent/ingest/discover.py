"""Finding the files to take: walks folders and zips, names what cannot be taken, counts what is left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from graph_agent.errors import UnreadableFile
from graph_agent.ingest import ignore
from graph_agent.ingest.archives import MAX_DEPTH, MAX_UNPACKED_MB, MEGABYTE, Archive, Member
from graph_agent.ingest.convert.detect import detect, ending, looks_like_text
from graph_agent.ingest.found import Discovery, Failure, Root, SourceFile, text_of
from graph_agent.ingest.selection import (
    IGNORE_FILES,
    NO_DOCUMENTS,
    kind_is_known,
    skipped_file,
    skipped_folder,
)

_SNIFF = 8_192

_Rules: TypeAlias = tuple[tuple[str, str, tuple[ignore.Rule, ...]], ...]
"""Ignore files in force: (folder they stand in, their name, their rules), outermost first."""


def discover(
    paths: Iterable[Path | str],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_file_mb: int = 200,
) -> Discovery:
    """Find the documents below some paths.

    Nothing is raised for a path that cannot be read: it is a `Root` with `reachable=False` and a failure.

    Args:
        paths: folders, zips or single files. One that lies inside another named folder adds nothing.
        include: globs of files to take, as in .gitignore, relative to each root; any ending is then
            allowed. Default: every kind that can be read.
        exclude: globs of files or folders to leave out.
        max_file_mb: size in MiB above which a file is refused.
    """
    found = Discovery()
    named = list(dict.fromkeys(Path(os.path.abspath(Path(path).expanduser())) for path in paths))
    for path in named:
        if any(other != path and other in path.parents and other.is_dir() for other in named):
            found.skipped["inside another named folder"] += 1
            continue
        _Walk(found, tuple(include), tuple(exclude), max_file_mb, named).root(path)
    order = {root.path: index for index, root in enumerate(found.roots)}
    found.files.sort(key=lambda file: (order[file.root], file.relative_path.split("/")))
    found.failures.sort(key=lambda failure: (order[failure.root], failure.relative_path.split("/")))
    return found


class _Walk:
    """The walk of one root."""

    def __init__(
        self,
        found: Discovery,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        max_file_mb: int,
        named: list[Path],
    ) -> None:
        self._found = found
        self._include = ignore.parse(include)
        self._exclude = ignore.parse(exclude)
        self._limit = max_file_mb * MEGABYTE
        self._named = named
        self._root = Path()
        self._root_name = ""
        self._explicit = False
        self._linked: set[str] = set()

    def root(self, path: Path) -> None:
        """Walk `path`, whatever it is."""
        try:
            status = path.stat()
        except OSError as error:
            self._unreachable(path, f"cannot be reached: {error.strerror or error}.")
            return
        self._root, self._root_name = path, text_of(path.name) or text_of(str(path))
        if stat.S_ISDIR(status.st_mode):
            self._folder_root(path)
        elif not stat.S_ISREG(status.st_mode):
            self._unreachable(path, "neither a file nor a folder.")
        elif ending(path.name) == ".zip" and self._zip_root(path, status):
            return
        else:
            self._root, self._root_name = path.parent, text_of(path.parent.name)
            name = text_of(path.name)
            self._found.roots.append(Root(path.parent, self._root_name, "file", single=name))
            self._explicit = True
            self._file(path, name, status)

    def _folder_root(self, path: Path) -> None:
        try:
            empty = not any(True for _ in os.scandir(path))
        except OSError as error:
            self._unreachable(path, f"cannot be listed: {error.strerror or error}.")
            return
        self._found.roots.append(Root(path, self._root_name, "folder", empty=empty))
        self._folder(path, "", ())

    def _zip_root(self, path: Path, status: os.stat_result) -> bool:
        """Walk a zip that was named itself; False if it is an office file by content."""
        archive = self._archive(path)
        try:
            if archive.is_document():
                return False
        except UnreadableFile as error:
            self._unreachable(path, error.message, kind="zip")
            return True
        self._found.roots.append(Root(path, self._root_name, "zip"))
        self._zip(archive, "", status.st_mtime, 1, [MAX_UNPACKED_MB * MEGABYTE])
        return True

    def _unreachable(self, path: Path, reason: str, kind: Literal["folder", "zip"] = "folder") -> None:
        self._found.roots.append(Root(path, text_of(path.name), kind, reachable=False, reason=reason))
        self._found.failures.append(Failure(text_of(str(path)), reason, path, "", is_folder=True))

    # folders ---------------------------------------------------------------------------------------

    def _folder(self, folder: Path, relative: str, rules: _Rules) -> None:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._fail(relative, f"folder cannot be listed: {error.strerror or error}.", is_folder=True)
            return
        for name in IGNORE_FILES:
            if any(entry.name == name for entry in entries):
                rules = (*rules, *self._ignore_file(folder / name, name, relative))
        for entry in entries:
            name = text_of(entry.name)
            self._entry(entry, f"{relative}/{name}" if relative else name, rules)

    def _ignore_file(self, path: Path, name: str, relative: str) -> _Rules:
        try:
            lines = path.read_text("utf-8", errors="replace").splitlines()
        except OSError as error:
            self._fail(
                f"{relative}/{name}" if relative else name,
                f"ignore file not read: {error.strerror or error}.",
            )
            return ()
        return ((relative, name, ignore.parse(lines)),)

    def _entry(
        self,
        entry: os.DirEntry[str],
        relative: str,
        rules: _Rules,
    ) -> None:
        try:
            status = entry.stat()  # follows links
        except OSError as error:
            if entry.is_symlink():
                self._found.skipped["broken link"] += 1
                return
            self._fail(relative, f"cannot be reached: {error.strerror or error}.")
            return
        folder = stat.S_ISDIR(status.st_mode)
        if self._left_out(relative, folder, rules):
            return
        if folder:
            if not (entry.is_symlink() and self._walked_elsewhere(entry.path)):
                self._folder(Path(entry.path), relative, rules)
        elif stat.S_ISREG(status.st_mode):
            self._file(Path(entry.path), relative, status)
        else:
            self._found.skipped["special file (socket, pipe, device)"] += 1

    def _walked_elsewhere(self, path: str) -> bool:
        """A linked folder is entered once, and never if its target is, or holds, a folder that is read anyway."""
        target = os.path.realpath(path)
        for root in (os.path.realpath(named) for named in self._named):
            if os.path.commonpath((root, target)) in (root, target):
                self._found.skipped["link to a folder that is read anyway"] += 1
                return True
        if any(os.path.commonpath((seen, target)) == seen for seen in self._linked):
            self._found.skipped["link to a folder that is read anyway"] += 1
            return True
        self._linked.add(target)
        return False

    def _left_out(self, relative: str, folder: bool, rules: _Rules = ()) -> bool:
        """Whether a path is skipped, which is then counted."""
        name = relative.rsplit("/", 1)[-1]
        reason = skipped_folder(name) if folder else skipped_file(name)
        if not reason and ignore.verdict(self._exclude, relative, folder=folder):
            reason = "excluded"
        if not reason:
            decided = ""
            for base, source, its_rules in rules:
                below = relative[len(base) + 1 :] if base else relative
                answer = ignore.verdict(its_rules, below, folder=folder)
                if answer is not None:
                    decided = f"ignored by {source}" if answer else ""
            reason = decided
        if reason:
            self._found.skipped[reason] += 1
        return bool(reason)

    # files -----------------------------------------------------------------------------------------

    def _file(self, path: Path, relative: str, status: os.stat_result) -> None:
        if ending(relative) == ".zip":
            archive = self._archive(path)
            try:
                document = archive.is_document()
            except UnreadableFile as error:
                self._fail(relative, error.message, is_folder=True)
                return
            if not document:
                self._zip(archive, relative, status.st_mtime, 1, [MAX_UNPACKED_MB * MEGABYTE])
                return
        if not self._wanted(relative, lambda: _head_of(path)):
            return
        if status.st_size > self._limit:
            self._fail(relative, _too_large(status.st_size, self._limit))
        elif not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            self._fail(relative, "no permission to read it.")
        else:
            self._take(relative, status.st_size, status.st_mtime, False, path.read_bytes)

    def _wanted(self, relative: str, head: Callable[[], bytes]) -> bool:
        """Whether a file's name, or its content where the name says nothing, makes it a document."""
        if self._include and not self._explicit:
            if ignore.matches(self._include, relative):
                return True
            self._found.skipped["not included"] += 1
            return False
        if self._explicit or kind_is_known(relative):
            return True
        suffix = ending(relative)
        if suffix in NO_DOCUMENTS:
            self._found.skipped[f"not a document: {suffix}"] += 1
            return False
        try:
            content = head()
        except (OSError, UnreadableFile) as error:
            reason = error.message if isinstance(error, UnreadableFile) else "no permission to read it."
            self._fail(relative, reason)
            return False
        if looks_like_text(content) or detect(content, relative) != "binary":
            return True
        self._fail(relative, f"not a document: unknown binary content ({suffix or 'no ending'}).")
        return False

    def _take(
        self, relative: str, size: int, mtime: float, inside_zip: bool, opener: Callable[[], bytes]
    ) -> None:
        self._found.files.append(
            SourceFile(self._root, self._root_name, relative, size, mtime, inside_zip, opener)
        )

    def _fail(self, relative: str, reason: str, *, is_folder: bool = False) -> None:
        shown = f"{text_of(str(self._root)).rstrip('/')}/{relative}" if relative else text_of(str(self._root))
        self._found.failures.append(Failure(shown, reason, self._root, relative, is_folder))

    # zips ------------------------------------------------------------------------------------------

    def _archive(self, source: Path | tuple[Archive, Member]) -> Archive:
        archive = Archive(source, self._limit)
        self._found.archives.append(archive)
        return archive

    def _zip(self, archive: Archive, relative: str, mtime: float, depth: int, budget: list[int]) -> None:
        """Take a zip's members; `budget` is what all zips inside the outermost may still unpack to, in bytes."""
        try:
            listing = archive.list(mtime)
        except UnreadableFile as error:
            self._fail(relative, error.message, is_folder=True)
            return
        if listing.duplicates:
            self._found.skipped["same name twice in a zip"] += listing.duplicates
        for name, reason in listing.refused:
            self._fail(f"{relative}/{name}".strip("/"), reason)
        for member in listing.members:
            budget[0] -= member.size
            if budget[0] < 0:
                self._fail(
                    relative, "zip refused as a bomb: the zips inside it unpack to too much.", is_folder=True
                )
                return
            self._member(
                archive, member, f"{relative}/{member.path}" if relative else member.path, depth, budget
            )

    def _member(self, archive: Archive, member: Member, relative: str, depth: int, budget: list[int]) -> None:
        parts = member.path.split("/")
        prefix = relative[: len(relative) - len(member.path)]
        for length in range(1, len(parts)):
            if self._left_out(prefix + "/".join(parts[:length]), folder=True):
                return
        if self._left_out(relative, folder=False):
            return
        nested = ending(relative) == ".zip"
        if not nested and not self._wanted(relative, lambda: archive.read(member)[:_SNIFF]):
            return
        refusal = archive.refusal(member)
        if refusal is not None:
            self._fail(relative, refusal.message)
        elif not nested:
            self._take(relative, member.size, member.mtime, True, lambda: archive.read(member))
        elif depth >= MAX_DEPTH:
            self._fail(relative, f"zip nested deeper than {MAX_DEPTH} levels is not opened.")
        else:
            self._zip(self._archive((archive, member)), relative, member.mtime, depth + 1, budget)


def _head_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_SNIFF)


def _too_large(size: int, limit: int) -> str:
    return (
        f"larger than the limit: {size / MEGABYTE:,.1f} MB (limit {limit // MEGABYTE:,} MB; "
        "GRAPH_AGENT_MAX_FILE_MB raises it)."
    )
