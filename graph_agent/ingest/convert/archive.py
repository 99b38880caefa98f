"""Reading zip-based formats with bounds: declared and actual size, ratio, number of members, XML entities."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import MEGABYTE, Limits

MAX_MEMBERS = 20_000
_SMALL = 16 * MEGABYTE
_READ = 1 << 16
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


def open_package(data: bytes, limits: Limits, what: str) -> zipfile.ZipFile:
    """Open an office or e-book container after checking what it declares.

    Args:
        data: the file.
        limits: `unpacked_mb` bounds the sum of all members, `ratio` the packing of the whole.
        what: for messages, e.g. "Word document".

    Raises:
        UnreadableFile: damaged, or a bomb.
    """
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
        members = package.infolist()
    except _DAMAGED as error:
        raise UnreadableFile(
            f"damaged {what}: its zip container cannot be opened ({error}).", "Save the file again and retry."
        ) from None
    check_declared(members, len(data), limits, what)
    return package


def check_declared(members: list[zipfile.ZipInfo], packed: int, limits: Limits, what: str) -> None:
    """Refuse a container by what its directory says.

    Raises:
        UnreadableFile: too many members, too large, or packed more densely than documents are.
    """
    total = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS:
        raise UnreadableFile(f"{what} refused: {len(members):,} members (limit {MAX_MEMBERS:,}).")
    if total > limits.unpacked_mb * MEGABYTE:
        raise UnreadableFile(
            f"{what} refused: it would unpack to {total / MEGABYTE:,.0f} MB (limit {limits.unpacked_mb:,} MB)."
        )
    if total > _SMALL and total > packed * limits.ratio:
        raise UnreadableFile(
            f"{what} refused as a zip bomb: {total / MEGABYTE:,.0f} MB packed into {packed / MEGABYTE:.1f} MB."
        )


def read_member(package: zipfile.ZipFile, name: str | zipfile.ZipInfo, limit: int) -> bytes:
    """One member's bytes, never more than `limit` of them in memory whatever the directory declares.

    Raises:
        KeyError: no such member.
        UnreadableFile: larger than `limit`, damaged or encrypted.
    """
    info = name if isinstance(name, zipfile.ZipInfo) else package.getinfo(name)
    if info.file_size > limit:
        raise UnreadableFile(f"{info.filename!r} unpacks to {info.file_size:,} bytes (limit {limit:,}).")
    if info.flag_bits & 0x1:
        raise UnreadableFile(
            "encrypted inside the zip.", "Unpack it with its password and ingest the folder."
        )
    parts: list[bytes] = []
    size = 0
    try:
        with package.open(info) as member:
            while block := member.read(_READ):
                size += len(block)
                if size > limit:
                    raise UnreadableFile(f"{info.filename!r} unpacks to more than its declared size.")
                parts.append(block)
    except _DAMAGED as error:
        raise UnreadableFile(f"damaged inside the zip: {error}.") from None
    return b"".join(parts)


def refuse_entities(package: zipfile.ZipFile, limits: Limits, what: str) -> None:
    """Refuse a package whose XML declares a DOCTYPE or entities: no office program writes them.

    lxml (under python-docx and python-pptx) expands internal entities; this check makes "billion laughs"
    and quadratic blow-up impossible before any parser sees the file. Only the head of each part is read:
    a DOCTYPE must stand before the root element (XML 1.0, production 22).

    Raises:
        UnreadableFile: a part declares a DOCTYPE or an entity.
    """
    for info in package.infolist():
        if not info.filename.lower().endswith((".xml", ".rels", ".vml")) or info.flag_bits & 0x1:
            continue
        try:
            with package.open(info) as member:
                head = member.read(min(_READ, limits.unpacked_mb * MEGABYTE))
        except _DAMAGED:
            continue  # the converter meets it if it needs it
        prolog = head.replace(b"\x00", b"")
        if _DOCTYPE.search(prolog):
            raise UnreadableFile(f"{what} refused: {info.filename!r} declares XML entities.")
