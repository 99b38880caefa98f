"""What a sync would do: the files that are there against the documents that are known."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.registry import converter_versions
from graph_agent.ingest.found import Discovery, Failure, Root, SourceFile
from graph_agent.ingest.identity import folder_id, hash_bytes
from graph_agent.ingest.report import FileFailure, Progress
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

MARGIN_S = 2.5
"""A file that was changed less than this before it was read may be changed again with the same time (FAT: 2 s)."""


@dataclass(frozen=True)
class Place:
    """Where a document is known to stand, and how it was read.

    Attributes:
        modified_at: the file's time when it was read; `size` its bytes, -1 when that is not known.
        read_at: when its bytes were read, in seconds since the epoch.
    """

    folder_id: str
    path: str
    content_hash: str
    markdown_hash: str = ""
    modified_at: float = 0.0
    size: int = -1
    converter: str = ""
    chunker: str = ""
    date_source: str = ""
    read_at: float = 0.0


@dataclass(frozen=True)
class Source:
    """A file to bring in, with the identity of the folder it stands in.

    Attributes:
        file: the file found.
        root_key: what makes its root's ids its own.
        content_hash: of its bytes.
        replaces: the place whose document it replaces: its own path when it changed, its old one when it moved.
        read_at: when its bytes were read, in seconds since the epoch.
    """

    file: SourceFile
    root_key: str
    root_name: str
    content_hash: str
    replaces: Place | None = None
    read_at: float = 0.0

    @property
    def path(self) -> str:
        """Path below the root: what people see."""
        return self.file.relative_path

    @property
    def folder_id(self) -> str:
        """Id of the folder that holds it."""
        return folder_id(self.root_key, "/".join(self.file.folders))

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from every other file: its root's key and its path."""
        return self.root_key, self.path


@dataclass
class Plan:
    """What is to be done, file by file.

    Attributes:
        write: files whose text must be converted and written: new or changed ones.
        show: files whose content is already in the graph: only their place is new.
        moves: those files that are a known document's new name.
        hide: places that are gone.
        redo: files whose text in the graph is not what they would give now: made by an older converter, cut
            otherwise, or moved when their name is their title.
        redone: why, with the number of files.
        touched: unchanged files with another modification time or size unknown.
        relabelled: paths of known documents whose labels change; for a preview.
    """

    write: list[Source] = field(default_factory=list)
    show: list[Source] = field(default_factory=list)
    moves: set[tuple[str, str]] = field(default_factory=set)
    hide: list[Place] = field(default_factory=list)
    redo: list[Source] = field(default_factory=list)
    redone: Counter[str] = field(default_factory=Counter)
    touched: list[Source] = field(default_factory=list)
    relabelled: list[str] = field(default_factory=list)
    failed: list[FileFailure] = field(default_factory=list)
    unchanged: int = 0
    added: int = 0
    changed: int = 0

    @property
    def is_empty(self) -> bool:
        """Nothing to write, show or hide."""
        return not (self.write or self.show or self.hide or self.redo)

    def lines(self) -> list[str]:
        """One line per change, for `--dry-run`."""
        rows = [
            self._line(source, word)
            for word, sources in (("new", self.write), ("redone", self.redo), ("copy", self.show))
            for source in sources
        ]
        rows += [f"{'deleted':<10} {place.path}" for place in self.hide]
        rows += [f"{'relabelled':<10} {path}" for path in self.relabelled]
        rows += [f"{'unreadable':<10} {failure.path}: {failure.reason}" for failure in self.failed]
        return rows

    def _line(self, source: Source, word: str) -> str:
        if source.replaces is not None and source.place in self.moves:
            return f"{'moved':<10} {source.replaces.path} -> {source.path}"
        if source.replaces is not None and word != "redone":
            word = "changed"
        return f"{word:<10} {source.path}"


def root_keys(graph: DocumentGraph, roots: Iterable[Root], name: str | None = None) -> dict[Path, str]:
    """What makes the ids of each root's folders: its name, or its absolute path where the name is taken."""
    known = {row["path"]: row for row in graph.read(statements.KNOWN_ROOTS).dicts()}
    taken = {row["folder_id"]: row["path"] for row in known.values()}
    keys: dict[Path, str] = {}
    for root in roots:
        path = str(root.path)
        shown = name or root.name
        by_path = folder_id(path, "")
        if by_path in taken:
            keys[root.path] = path
            continue
        by_name = folder_id(shown, "")
        if taken.get(by_name, path) == path:
            keys[root.path] = shown
            taken[by_name] = path
        else:
            keys[root.path] = path
            taken[by_path] = path
    return keys


def make_plan(
    graph: DocumentGraph,
    discovery: Discovery,
    keys: Mapping[Path, str],
    *,
    name: str | None,
    chunker: str,
    progress: Progress,
) -> Plan:
    """Compare files with places, root by root.

    Args:
        discovery: what is on disk.
        keys: root path to root key.
        name: shown for the roots instead of their own names.
        chunker: name of the chunking in force; documents cut otherwise are made again.
        progress: told one unit per file.
    """
    plan = Plan()
    converters = converter_versions(ocr=graph.settings.ocr)
    by_root: dict[Path, list[SourceFile]] = defaultdict(list)
    for file in discovery.files:
        by_root[file.root].append(file)
    gone: list[Place] = []
    arrived: list[Source] = []
    progress.stage("Comparing files", len(discovery.files))
    for root in discovery.roots:
        places = known_places(graph, folder_id(keys[root.path], ""))
        files = by_root.pop(root.path, [])
        seen: set[str] = set()
        for file in files:
            seen.add(file.relative_path)
            progress.advance(1)
            _file(
                plan,
                arrived,
                file,
                keys[root.path],
                name or root.name,
                places.get(file.relative_path),
                chunker,
                converters,
            )
        gone += _gone(plan, root, discovery.failures, places, seen)
    _follow_moves(graph, plan, arrived, gone, chunker)
    return plan


def known_places(graph: DocumentGraph, root_id: str) -> dict[str, Place]:
    """Places below a root, by path."""
    rows = graph.read(statements.KNOWN_PLACES, {"root_id": root_id}).dicts()
    return {
        row["path"]: Place(
            folder_id=row["folder_id"],
            path=row["path"],
            content_hash=row["content_hash"],
            markdown_hash=row["markdown_hash"] or "",
            modified_at=float(row["modified_at"] or 0.0),
            size=-1 if row["size"] is None else int(row["size"]),
            converter=row["converter"] or "",
            chunker=row["chunker"] or "",
            date_source=row["date_source"] or "",
            read_at=float(row["read_at"] or 0.0),
        )
        for row in rows
    }


def _file(
    plan: Plan,
    arrived: list[Source],
    file: SourceFile,
    key: str,
    root_name: str,
    place: Place | None,
    chunker: str,
    converters: Mapping[str, str],
) -> None:
    if place is not None and _is_untouched(file, place):
        digest, now = place.content_hash, place.read_at
    else:
        now = time.time()
        try:
            digest = hash_bytes(file.read())
        except UnreadableFile as error:
            # Its document, if there is one, stays: nothing says that the file is gone or changed.
            plan.failed.append(FileFailure(file.path, str(error)))
            return
    source = Source(file, key, root_name, digest, place, now)
    if place is None:
        arrived.append(source)
    elif place.content_hash != digest:
        plan.changed += 1
        arrived.append(source)
    elif reason := _outdated(place, chunker, converters):
        plan.redo.append(source)
        plan.redone[reason] += 1
    else:
        plan.unchanged += 1
        if not _looks_the_same(file, place):
            plan.touched.append(source)


def _is_untouched(file: SourceFile, place: Place) -> bool:
    """Whether size and time say that a file is as it was read; not when it was young then (see MARGIN_S)."""
    return _looks_the_same(file, place) and not file.inside_zip and file.mtime + MARGIN_S < place.read_at


def _looks_the_same(file: SourceFile, place: Place) -> bool:
    # The engine gives back 15 digits of a number: a tenth of a millisecond.
    return place.size == file.size and abs(place.modified_at - file.mtime) < 0.001


def _gone(
    plan: Plan, root: Root, failures: Sequence[Failure], places: Mapping[str, Place], seen: set[str]
) -> list[Place]:
    """Places whose file is surely gone: of a root that was listed, and not below anything unreadable."""
    if not root.reachable:
        return []
    if root.empty and places:
        plan.failed.append(
            FileFailure(
                str(root.path),
                "The folder is empty; its documents are kept, for it may not be mounted. "
                f"To remove them: graph-agent remove {root.path}",
            )
        )
        return []
    kept_files = {
        failure.relative_path for failure in failures if failure.root == root.path and not failure.is_folder
    }
    kept_folders = tuple(
        f"{failure.relative_path}/" for failure in failures if failure.root == root.path and failure.is_folder
    )
    return [
        place
        for path, place in places.items()
        if path not in seen
        and (root.single is None or path == root.single)
        and path not in kept_files
        and not path.startswith(kept_folders)
    ]


def _follow_moves(
    graph: DocumentGraph, plan: Plan, arrived: list[Source], gone: list[Place], chunker: str
) -> None:
    """Sort arrivals into content to write and known content to show; pair new names with vanished ones."""
    hashes = sorted({source.content_hash for source in arrived})
    present = {
        row["content_hash"]: row
        for row in graph.read(statements.PRESENT_DOCUMENTS, {"hashes": hashes}).dicts()
        if row["chunker"] == chunker
    }
    left: dict[str, list[Place]] = defaultdict(list)
    for place in gone:
        left[place.content_hash].append(place)
    for source in arrived:
        known = present.get(source.content_hash)
        if known is None:
            plan.added += source.replaces is None
            plan.write.append(source)
        elif source.replaces is None and left[source.content_hash]:
            old = left[source.content_hash].pop(0)
            gone.remove(old)
            moved = replace(source, replaces=old)
            plan.moves.add(moved.place)
            if known["places"] == 1 and _is_named_after_file(known, moved.file.name):
                plan.redo.append(moved)
            else:
                plan.show.append(moved)
        else:
            plan.added += source.replaces is None
            plan.show.append(source)
    plan.hide += gone


def _is_named_after_file(known: Mapping[str, Any], filename: str) -> bool:
    """Whether a document's title is its file's old name, and so part of its breadcrumbs, and the name is new."""
    old = PurePosixPath(known["filename"] or "").stem
    return bool(known["title"] == old != PurePosixPath(filename).stem)


def _outdated(place: Place, chunker: str, converters: Mapping[str, str]) -> str:
    """Why a document of an unchanged file must be made again; "" when it need not."""
    if place.chunker != chunker:
        return f"cut as {place.chunker or 'unknown'}, now {chunker}"
    now = converters.get(place.converter.partition("/")[0], place.converter)
    return f"converted by {place.converter}, now {now}" if now != place.converter else ""


def as_rows(places: Iterable[Place]) -> list[dict[str, Any]]:
    """Places as parameters of a statement."""
    return [{"folder_id": place.folder_id, "path": place.path} for place in places]
