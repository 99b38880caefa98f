"""The file of a backup: a zip of JSON lines, raw float32 and copied files, with a manifest that names them all.

    manifest.json      format, versions, counts and digests, and of every other entry its size and SHA-256
    graph/000000.nodes, graph/000000.vectors, graph/000007.edges, ...   blocks, in the order of writing
    keys/<name>        plain keys beside the graph
    files/<path>       files of the data folder

Nothing in it is executed or unpickled. The file gets its name when it is whole and on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Any, Self

import orjson

from graph_agent.errors import ConfigurationError

FORMAT, FORMAT_VERSION = "graph-agent backup", 1
MANIFEST = "manifest.json"
MAX_BLOCK = 1 << 30
MAX_MANIFEST = 64 << 20
_PIECE = 1 << 20


class ArchiveWriter:
    """Writes a backup; `finish` puts it in its place, leaving without it removes what was written.

    Raises:
        ConfigurationError: the folder cannot be written, or the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, dict[str, Any]] = {}
        with _told(path, "written"):
            self._file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed in __exit__; mode 600
                dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part", delete=False
            )
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)

    def add(self, name: str, data: bytes, *, compress: bool = True) -> None:
        """Add an entry."""
        info = _info(name, compress=compress)
        with _told(self.path, "written"):
            self._zip.writestr(info, data)
        self._entries[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def add_file(self, name: str, source: Path) -> None:
        """Add a copy of a file."""
        hashed, size = hashlib.sha256(), 0
        with (
            _told(self.path, "written"),
            source.open("rb") as read,
            self._zip.open(_info(name), "w", force_zip64=True) as out,
        ):
            while piece := read.read(_PIECE):
                hashed.update(piece)
                size += len(piece)
                out.write(piece)
        self._entries[name] = {"bytes": size, "sha256": hashed.hexdigest()}

    def finish(self, facts: Mapping[str, Any]) -> int:
        """Write the manifest, bring everything to the disk, give the file its name; returns its size in bytes."""
        manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, **facts, "entries": self._entries}
        manifest["sha256"] = seal(manifest)
        with _told(self.path, "written"):
            self._zip.writestr(_info(MANIFEST), orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            size = self._file.tell()
            self._file.close()
            Path(self._file.name).replace(self.path)
        return size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._zip.fp = None  # nothing more is written to a file that is given up
            self._file.close()
        Path(self._file.name).unlink(missing_ok=True)


class ArchiveReader:
    """A backup that was looked at: its manifest is whole and of a format that is known.

    Raises:
        ConfigurationError: names what is wrong with the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError):
            raise self._damaged("it is cut short, or no backup") from None
        except OSError as error:
            raise ConfigurationError(
                f"The backup {path} cannot be read ({error.strerror or error}).", "Name an existing backup."
            ) from None
        try:
            self.manifest = self._read_manifest()
        except BaseException:
            self._zip.close()
            raise

    def read(self, name: str) -> bytes:
        """An entry, checked against the manifest."""
        told = self.manifest["entries"].get(name)
        if told is None or told["bytes"] > MAX_BLOCK:
            raise self._damaged(f"the entry {name} is not known")
        data = self._bytes(name, told["bytes"])
        if len(data) != told["bytes"] or hashlib.sha256(data).hexdigest() != told["sha256"]:
            raise self._damaged(f"the entry {name} was altered")
        return data

    def extract(self, name: str, target: Path) -> None:
        """Write an entry to a new file that only its owner may read; checked as it is written."""
        told = self.manifest["entries"][name]
        hashed, size = hashlib.sha256(), 0
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out, self._open(name) as source:
            while piece := self._piece(source, name):
                size += len(piece)
                if size > told["bytes"]:
                    break
                hashed.update(piece)
                out.write(piece)
        if size != told["bytes"] or hashed.hexdigest() != told["sha256"]:
            raise self._damaged(f"the entry {name} was altered")

    def names(self, folder: str) -> list[str]:
        """Entries below a folder (`graph/`), in order of name."""
        return sorted(name for name in self.manifest["entries"] if name.startswith(folder))

    def check(self) -> None:
        """Read every entry and compare it with the manifest, before anything is done."""
        present = set(self._zip.namelist()) - {MANIFEST}
        if odd := sorted(present ^ set(self.manifest["entries"])):
            raise self._damaged(f"the entry {odd[0][:80]} is missing or was added")
        for name, told in self.manifest["entries"].items():
            hashed, size = hashlib.sha256(), 0
            with self._open(name) as source:
                while size <= told["bytes"] and (piece := self._piece(source, name)):
                    hashed.update(piece)
                    size += len(piece)
            if size != told["bytes"] or hashed.hexdigest() != told["sha256"]:
                raise self._damaged(f"the entry {name} was altered")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = orjson.loads(self._bytes(MANIFEST, MAX_MANIFEST))
            if manifest["format"] != FORMAT:
                raise ValueError
            version = int(manifest["format_version"])
        except (KeyError, ValueError, TypeError):
            raise self._damaged("it is no backup of graph-agent") from None
        if version > FORMAT_VERSION:
            raise ConfigurationError(
                f"The backup {self.path} has format {version}; this graph-agent reads up to {FORMAT_VERSION}.",
                f"It takes graph-agent {manifest.get('written_by', '')} or newer: pip install --upgrade graph-agent",
            )
        sealed = manifest.pop("sha256", None)
        if sealed != seal(manifest) or not isinstance(manifest.get("entries"), dict):
            raise self._damaged("its manifest was altered")
        for name in manifest["entries"]:
            if name != str(PurePosixPath(name)) or name.startswith("/") or ".." in PurePosixPath(name).parts:
                raise self._damaged(f"the entry {name[:80]} has a name that leads elsewhere")
        return dict(manifest)

    def _bytes(self, name: str, limit: int) -> bytes:
        with self._open(name) as source:
            try:
                return source.read(limit + 1)
            except (zipfile.BadZipFile, EOFError, OSError, ValueError, zlib.error) as error:
                raise self._damaged(f"the entry {name}: {error}") from None

    def _piece(self, source: IO[bytes], name: str) -> bytes:
        try:
            return source.read(_PIECE)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, zlib.error) as error:
            raise self._damaged(f"the entry {name}: {error}") from None

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(name)
        except (KeyError, zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError):
            raise self._damaged(f"the entry {name} is missing or damaged") from None

    def _damaged(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"The backup {self.path} is not usable: {reason}.",
            "Take another copy of it; nothing was changed.",
        )


@contextlib.contextmanager
def _told(path: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"The backup {path} cannot be {doing} ({error.strerror or error}).",
            "Name a file in a folder that exists, that you may write to, on a disk with room.",
        ) from None


def _info(name: str, *, compress: bool = True) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    info._compresslevel = 1  # type: ignore[attr-defined]
    info.external_attr = 0o600 << 16
    return info


def seal(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of a manifest without its seal; tells damage, not forgery."""
    return hashlib.sha256(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)).hexdigest()
