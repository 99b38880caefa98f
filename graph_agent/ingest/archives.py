"""Zips opened as folders: names made safe, bombs refused before memory grows, members read on demand."""

from __future__ import annotations

import io
import stat
import tempfile
import threading
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from graph_agent.errors import UnreadableFile

MEGABYTE = 1 << 20
MAX_MEMBERS = 100_000
MAX_UNPACKED_MB = 8_192
MAX_RATIO = 200
MAX_DEPTH = 3

_DENSE_BELOW = 16 * MEGABYTE  # small members may be packed as densely as they like
_READ = 1 << 18
_SPOOL = 16 * MEGABYTE
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside a zip that may be read.

    Attributes:
        path: its safe POSIX path inside the zip.
        size: unpacked size in bytes, as declared (reading stops there).
        mtime: seconds since the epoch; a zip has no time zone, so UTC is taken.
        info: the directory entry.
    """

    path: str
    size: int
    mtime: float
    info: zipfile.ZipInfo


@dataclass(frozen=True, slots=True)
class Listing:
    """What a zip's directory holds: files, and names that are refused with their reasons."""

    members: tuple[Member, ...]
    refused: tuple[tuple[str, str], ...]
    duplicates: int


class Archive:
    """One zip, on disk or inside another; opened when first needed, thread-safe.

    Args:
        source: path on disk, or the zip around this one with the member that this one is.
        member_limit: bytes that one member may unpack to.
    """

    def __init__(self, source: Path | tuple[Archive, Member], member_limit: int) -> None:
        self._source = source
        self._member_limit = member_limit
        self._lock = threading.Lock()
        self._zip: zipfile.ZipFile | None = None
        self._stream: IO[bytes] | None = None

    def list(self, fallback_mtime: float) -> Listing:
        """Read the directory.

        Raises:
            UnreadableFile: not a zip, damaged, or a bomb by its declared sizes.
        """
        with self._lock:
            package = self._opened()
            infos = package.infolist()
            packed = self._packed
        if len(infos) > MAX_MEMBERS:
            raise UnreadableFile(f"zip refused: {len(infos):,} members (limit {MAX_MEMBERS:,}).")
        total = sum(info.file_size for info in infos)
        if total > MAX_UNPACKED_MB * MEGABYTE or (total > 4 * _DENSE_BELOW and total > packed * MAX_RATIO):
            raise UnreadableFile(
                f"zip refused as a bomb: {packed / MEGABYTE:,.1f} MB would unpack to {total / MEGABYTE:,.0f} MB.",
                "If it is genuine, unpack it yourself and ingest the folder.",
            )
        return _listing(infos, fallback_mtime)

    def is_document(self) -> bool:
        """Whether this is an office file or e-book rather than a folder."""
        with self._lock:
            names = self._opened().namelist()
        return (
            "[Content_Types].xml" in names or "META-INF/container.xml" in names or names[:1] == ["mimetype"]
        )

    def read(self, member: Member) -> bytes:
        """A member's bytes.

        Raises:
            UnreadableFile: too large, too dense, encrypted or damaged.
        """
        stream = io.BytesIO()
        self.copy(member, stream)
        return stream.getvalue()

    def refusal(self, member: Member) -> UnreadableFile | None:
        """Why a member will not be read, by what the directory says of it; None if nothing speaks against it."""
        info = member.info
        limit = self._member_limit
        if info.flag_bits & 0x1:
            return UnreadableFile(
                "encrypted inside the zip.", "Unpack it with its password and ingest the folder."
            )
        if info.file_size > limit:
            return UnreadableFile(
                f"larger than the limit: {info.file_size / MEGABYTE:,.1f} MB (limit {limit // MEGABYTE:,} MB).",
                "Raise GRAPH_AGENT_MAX_FILE_MB.",
            )
        if info.file_size > _DENSE_BELOW and info.file_size > max(1, info.compress_size) * MAX_RATIO:
            return UnreadableFile(
                f"refused as a zip bomb: {info.compress_size:,} bytes would unpack to {info.file_size:,}."
            )
        return None

    def copy(self, member: Member, target: IO[bytes]) -> None:
        """Write a member's bytes to `target`, counting them against the limits as they come."""
        refusal = self.refusal(member)
        if refusal is not None:
            raise refusal
        info = member.info
        size = 0
        try:
            with self._lock:
                package = self._opened()
            with package.open(info) as stream:
                while block := stream.read(_READ):
                    size += len(block)
                    if size > info.file_size:
                        raise UnreadableFile("unpacks to more than the zip declares: refused as a zip bomb.")
                    target.write(block)
        except DAMAGED as error:
            raise UnreadableFile(f"damaged inside the zip: {error}.", "Make the zip again.") from None

    def close(self) -> None:
        """Close files; a later read opens them again."""
        with self._lock:
            if self._zip is not None:
                self._zip.close()
                self._zip = None
            if self._stream is not None:
                self._stream.close()
                self._stream = None

    @property
    def _packed(self) -> int:
        if isinstance(self._source, Path):
            return self._source.stat().st_size
        return self._source[1].size

    def _opened(self) -> zipfile.ZipFile:
        if self._zip is not None:
            return self._zip
        try:
            if isinstance(self._source, Path):
                self._zip = zipfile.ZipFile(self._source)
            else:
                outer, member = self._source
                # Kept by self and closed in close(): above 16 MB it lies on disk, not in memory.
                self._stream = tempfile.SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115
                outer.copy(member, self._stream)
                self._stream.seek(0)
                self._zip = zipfile.ZipFile(self._stream)
        except PermissionError:
            raise UnreadableFile("no permission to read it.") from None
        except DAMAGED as error:
            raise UnreadableFile(f"damaged zip: {error}.", "Make the zip again.") from None
        return self._zip


def _listing(infos: list[zipfile.ZipInfo], fallback_mtime: float) -> Listing:
    members: dict[str, Member] = {}
    refused: list[tuple[str, str]] = []
    duplicates = 0
    for info in infos:
        if info.filename.endswith("/"):  # a folder; info.is_dir() fails on a name that is empty
            continue
        name = _name(info)
        mode = info.external_attr >> 16
        if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            refused.append((name, "a link or special file inside a zip is not followed."))
            continue
        fault = _fault(name)
        if fault:
            refused.append((name, fault))
            continue
        path = "/".join(part for part in name.split("/") if part not in ("", "."))
        if path in members:
            duplicates += 1  # the last one counts, as it does for every unpacker
        members[path] = Member(path, info.file_size, _mtime(info, fallback_mtime), info)
    return Listing(tuple(members[path] for path in sorted(members)), tuple(refused), duplicates)


def _name(info: zipfile.ZipInfo) -> str:
    """The member's name: zipfile reads names without the UTF-8 flag as cp437, many programs write UTF-8 so."""
    name = info.filename
    if not info.flag_bits & 0x800:
        try:
            name = name.encode("cp437").decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            name = info.filename
    return name.replace("\\", "/").encode("utf-8", "replace").decode()


def _fault(name: str) -> str:
    parts = name.split("/")
    if name.startswith("/") or (len(name) > 1 and name[1] == ":" and name[0].isalpha()):
        return "absolute name inside a zip refused."
    if ".." in parts:
        return "name with '..' inside a zip refused."
    if not any(part not in ("", ".") for part in parts):
        return "blank name inside a zip refused."
    return ""


def _mtime(info: zipfile.ZipInfo, fallback: float) -> float:
    try:
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return fallback
