"""What kind of document some bytes are: by content first, by the name's ending where content cannot tell."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath

ENDINGS: dict[str, str] = {
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".mdown": "markdown", ".mkd": "markdown",
    ".txt": "text", ".text": "text", ".log": "text",
    ".pdf": "pdf",
    ".docx": "docx", ".docm": "docx", ".dotx": "docx",
    ".pptx": "pptx", ".pptm": "pptx", ".ppsx": "pptx",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".vtt": "vtt", ".srt": "srt",
    ".epub": "epub", ".rst": "rst", ".ipynb": "ipynb", ".eml": "eml", ".json": "json", ".jsonl": "json",
    ".ndjson": "json", ".org": "org", ".adoc": "asciidoc", ".asciidoc": "asciidoc",
    ".doc": "doc", ".dot": "doc", ".xls": "xls", ".xlsb": "xlsb", ".ppt": "ppt", ".pps": "ppt", ".rtf": "rtf",
    ".odt": "odt", ".ods": "ods", ".odp": "odp", ".msg": "msg", ".pages": "pages", ".numbers": "numbers",
    ".key": "key", ".wpd": "wpd",
    ".zip": "zip",
}  # fmt: skip
"""Ending (lower case, with the dot) to kind."""

MEDIA_TYPES: dict[str, str] = {
    "markdown": "text/markdown",
    "text": "text/plain",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "vtt": "text/vtt",
    "srt": "application/x-subrip",
    "epub": "application/epub+zip",
    "rst": "text/x-rst",
    "ipynb": "application/x-ipynb+json",
    "eml": "message/rfc822",
    "json": "application/json",
    "org": "text/org",
    "asciidoc": "text/asciidoc",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
    "ppt": "application/vnd.ms-powerpoint",
    "rtf": "application/rtf",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "msg": "application/vnd.ms-outlook",
    "zip": "application/zip",
}

TEXT_KINDS = frozenset(
    {"markdown", "text", "csv", "tsv", "vtt", "srt", "rst", "ipynb", "eml", "json", "org", "asciidoc", "html"}
)
"""Kinds whose files are characters, not binary records."""

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_BINARY_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x7fELF", b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"ID3", b"OggS",
    b"fLaC", b"\x00\x00\x01\x00", b"SQLite format 3\x00", b"\xca\xfe\xba\xbe", b"BZh", b"\xfd7zXZ", b"MZ\x90",
)  # fmt: skip
_HTML = re.compile(
    r"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_SRT = re.compile(r"\s*\d+[ \t]*\r?\n\d{1,2}:\d\d:\d\d[,.]\d{1,3}[ \t]+-->")
_MAIL_HEADER = re.compile(
    r"(from|to|subject|date|received|return-path|message-id|mime-version)[ \t]*:", re.IGNORECASE
)
_MARKDOWN_LINE = re.compile(r"^(#{1,6}[ \t]+\S|```|~~~|\|.*\|[ \t]*$|[-*][ \t]+\S)", re.MULTILINE)
_SNIFF = 4_096


def ending(name: str) -> str:
    """The lower-case ending of a file name with its dot, or "" ("A/B.TXT" -> ".txt")."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def kind_by_ending(name: str) -> str | None:
    """The kind that the name promises, or None if the ending says nothing."""
    return ENDINGS.get(ending(name))


def detect(data: bytes, name: str = "") -> str:
    """The kind of a document: a key of MEDIA_TYPES, "encrypted-office", "binary" or another value of ENDINGS.

    Content wins: an HTML page named .docx is "html", text named .pdf is "text" or "markdown". The ending
    decides between kinds whose content looks alike (Markdown, csv, plain text) and for damaged containers.

    Args:
        data: the whole file, or at least its beginning (container formats need all of it).
        name: file name or path; only its ending is looked at.
    """
    promised = kind_by_ending(name)
    if b"%PDF-" in data[:1_024] and not (promised in TEXT_KINDS and not data.startswith(b"%PDF-")):
        return "pdf"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_kind(data, promised)
    if data.startswith(_OLE):
        return _ole_kind(data, promised)
    if data.lstrip()[:5] == b"{\\rtf":
        return "rtf"
    if data.startswith(_BINARY_MAGIC):
        return "binary"
    if not looks_like_text(data):
        if promised is not None and promised not in TEXT_KINDS:
            return promised  # its converter says what is wrong with it
        return "binary"
    return _text_kind(_head(data), promised)


_CONTROLS = bytes({*range(32), 0x7F} - {0, 9, 10, 12, 13, 27})


def looks_like_text(data: bytes) -> bool:
    """Whether bytes are characters in some encoding (UTF-16 and UTF-32 without a mark included)."""
    head = data[: 4 * _SNIFF]
    if not head or head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > max(1, len(head) * 0.02):  # as decoding.py judges
        return False
    zeros = head.count(0)
    if zeros <= max(1, len(head) // 8) and _decodes_mostly(head):
        return True
    return _wide(head) is not None


def _decodes_mostly(head: bytes) -> bool:
    """Random bytes break UTF-8 everywhere and hold C1 controls in Latin-1; old code pages do not."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4:  # cut in the middle of a character
            return True
        letters = sum(1 for byte in head if 32 <= byte < 127 or byte in (9, 10, 13))
        return letters > len(head) * 0.3 or _is_multibyte(head)
    return True


def _is_multibyte(head: bytes) -> bool:
    for codec in ("shift_jis", "gb18030", "euc_jp", "euc_kr", "big5", "cp1251", "koi8_r"):
        try:
            text = head[: len(head) & ~1].decode(codec)
        except UnicodeDecodeError:
            continue
        if sum(1 for char in text if char.isalpha()) > len(text) * 0.6:
            return True
    return False


def _wide(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark: zeros stand in one residue class of the positions."""
    for codec, width, lanes in (
        ("utf-32-le", 4, (2, 3)), ("utf-32-be", 4, (0, 1)), ("utf-16-le", 2, (1,)), ("utf-16-be", 2, (0,)),
    ):  # fmt: skip
        sample = head[: len(head) - len(head) % width]
        share = [sample[lane::width].count(0) * width / max(1, len(sample)) for lane in range(width)]
        others = [share[lane] for lane in range(width) if lane not in lanes]
        if min(share[lane] for lane in lanes) > 0.6 and min(others) < 0.2:
            return codec
    return None


def _head(data: bytes) -> str:
    for mark, codec in ((b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"),
                        (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):  # fmt: skip
        if data.startswith(mark):
            return data[: 4 * _SNIFF].decode(codec, errors="replace")
    head = data[: 4 * _SNIFF]
    wide = _wide(head) if 0 in head else None
    return head.decode(wide or "utf-8", errors="replace")


def _text_kind(head: str, promised: str | None) -> str:
    if head.startswith("WEBVTT"):
        return "vtt"
    if promised in ("text", None) or promised not in TEXT_KINDS:
        if _SRT.match(head):
            return "srt"
        if _HTML.match(head):
            return "html"
    if promised is not None and promised in TEXT_KINDS:
        return promised
    if head.lstrip()[:1] == "{" and '"nbformat"' in head:
        return "ipynb"
    lines = head.splitlines()[:12]
    if sum(1 for line in lines if _MAIL_HEADER.match(line)) >= 3:
        return "eml"
    return "markdown" if _MARKDOWN_LINE.search(head) else "text"


def _zip_kind(data: bytes, promised: str | None) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            mimetype = b""
            if "mimetype" in names[:5]:
                with archive.open("mimetype") as member:
                    mimetype = member.read(100)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError, KeyError):
        return promised if promised and promised not in TEXT_KINDS else "zip"
    by_mimetype = {
        b"application/epub+zip": "epub",
        b"application/vnd.oasis.opendocument.text": "odt",
        b"application/vnd.oasis.opendocument.spreadsheet": "ods",
        b"application/vnd.oasis.opendocument.presentation": "odp",
    }
    if mimetype.strip() in by_mimetype:
        return by_mimetype[mimetype.strip()]
    if "[Content_Types].xml" in names or any(name.startswith("_rels/") for name in names):
        for folder, kind in (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx")):
            if any(name.startswith(folder) for name in names):
                return "xlsb" if kind == "xlsx" and "xl/workbook.bin" in names else kind
    if "META-INF/container.xml" in names:
        return "epub"
    return promised if promised in ("pages", "numbers", "key") else "zip"


def _ole_kind(data: bytes, promised: str | None) -> str:
    """Directory entries of an OLE2 container are UTF-16LE names; each kind has a stream of its own."""
    for stream, kind in (
        ("EncryptedPackage", "encrypted-office"), ("WordDocument", "doc"), ("PowerPoint Document", "ppt"),
        ("__substg1.0_", "msg"), ("__properties_version1.0", "msg"), ("Workbook", "xls"), ("Book", "xls"),
    ):  # fmt: skip
        if stream.encode("utf-16-le") in data:
            return kind
    return promised if promised in ("doc", "xls", "ppt", "msg") else "binary"
