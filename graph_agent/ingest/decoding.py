"""Bytes to text: byte order marks, UTF-8, UTF-16 and UTF-32 without a mark, old code pages, binary data.

Line ends stay as they are in the file, so that a section's text is a slice of the source. NUL and lone
surrogates, which FalkorDB and JSON refuse, become U+FFFD one for one: offsets do not move.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from graph_agent.errors import UnreadableFile

_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?|\n")

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Code pages by script, as far as files in them are still met. Latin ones are told apart by letters (below),
# which charset-normalizer does not do well: it reads French as Windows-1250.
_CODE_PAGES = [
    "cp1252", "cp1250", "iso8859_2", "cp1254", "cp1251", "koi8_r", "iso8859_5", "cp866", "cp1253", "cp1255",
    "cp1256", "cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
_LATIN = {"cp1252", "cp1250", "iso8859_2", "cp1254"}

# Letters beyond ASCII by language; a Latin code page is as likely as the best language it makes.
_LETTERS: dict[str, tuple[str, ...]] = {
    "cp1252": (
        "äöüß", "àâæçéèêëîïôœùûüÿ", "áéíóúüñªº", "áâãàçéêíóôõúü", "àèéìíòóùú", "åäöæøéü", "áéíóúýðþæö", "éëïöüèê",
    ),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýžäľĺôŕ", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "iso8859_2": ("ąćęłńóśźż", "áčďéěíňóřšťúůýžäľĺôŕ", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "cp1254": ("çğıöşüâîû",),
}  # fmt: skip
_PUNCTUATION = "‘’‚“”„–—…•€«»‹›°§·¿¡´²³½¼©®™±\u00a0"
_LATIN_SHARE = 0.8  # of the letters beyond ASCII
_SAMPLE = 1 << 16
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
# Words of other scripts are all high bytes; Latin words hold ASCII letters, too.
_FOREIGN_WORD = re.compile(rb"(?<![A-Za-z\x80-\xff])[\x80-\xff]{2,}(?![A-Za-z\x80-\xff])")
_ACCENTED_WORD = re.compile(rb"[A-Za-z]+[\x80-\xff]|(?<![A-Za-z\x80-\xff])[\x80-\xff]+[A-Za-z]")
_HIGH_LINE = re.compile(rb"[^\r\n]*[\x80-\xff][^\r\n]*(?:\r\n?|\n)?")
_CONTROL = re.compile(rb"[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_GB_COMMON = re.compile(rb"[\xb0-\xd7][\xa1-\xfe]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text and how it was read.

    Attributes:
        text: without byte order mark, NUL and lone surrogates; line ends as in the file.
        encoding: Python's name of the encoding, e.g. "utf-8", "utf-16-le", "cp1252".
        warning: one line if something was guessed or replaced, else "".
    """

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes) -> Decoded:
    """Read bytes as text.

    Raises:
        UnreadableFile: the bytes are not text in any encoding.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], codec)
    if 0 in data and (wide := _wide(data)):
        return _finished(data.decode(wide, "replace"), wide)
    if b"\x1b$" in data and (text := _iso_2022(data)):
        return _finished(text, "iso2022_jp")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        _refuse_binary(data, nul_share=0.0)
        return _legacy(data)
    _refuse_binary(data, nul_share=0.125)
    return _finished(text, "utf-8")


def clean_text(text: str) -> str:
    """The text with NUL and lone surrogates replaced by U+FFFD; its length does not change."""
    return _UNSAFE.sub("\ufffd", text) if _UNSAFE.search(text) else text


def line_starts(text: str) -> list[int]:
    r"""Offsets at which lines start; lines end at "\n", "\r\n" and "\r" only. The first is 0.

    A text that ends with a line end has a last, empty line.
    """
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def _finished(text: str, codec: str, warning: str = "") -> Decoded:
    replaced = text.count("\ufffd")
    clean = clean_text(text)
    if not warning and (fresh := clean.count("\ufffd") - replaced):
        warning = f"{fresh} NUL or invalid characters were replaced"
    return Decoded(clean, codec, warning)


def _marked(body: bytes, codec: str) -> Decoded:
    """Text after a byte order mark; a mark before something else is not believed."""
    try:
        text = body.decode(codec)
    except UnicodeDecodeError:
        if codec == "utf-8":
            return decode(body)
        text = body.decode(codec, "replace")
    odd = sum(1 for char in text[:_SAMPLE] if char == "\ufffd" or unicodedata.category(char) in ("Cn", "Co"))
    if odd > 0.1 * min(len(text), _SAMPLE):
        raise UnreadableFile("binary data: it begins like text but is none.")
    warning = "it ends in the middle of a character" if text.endswith("\ufffd") else ""
    return _finished(text, codec, warning)


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: mostly ASCII, so that zeros stand in fixed places of each unit."""
    head = data[:_SAMPLE]
    for codec, width, zero_lanes in (
        ("utf-32-le", 4, (1, 2, 3)),
        ("utf-32-be", 4, (0, 1, 2)),
        ("utf-16-le", 2, (1,)),
        ("utf-16-be", 2, (0,)),
    ):
        units = len(head) // width
        if not units or len(data) % width:
            continue
        zeros = [head[lane : units * width : width].count(0) / units for lane in range(width)]
        low = [zeros[lane] for lane in range(width) if lane not in zero_lanes]
        if min(zeros[lane] for lane in zero_lanes) > 0.5 and max(low) < 0.05:
            return codec
    return None


def _iso_2022(data: bytes) -> str:
    """Japanese in seven bits (old mail), or "" if it is not that."""
    try:
        return data.decode("iso2022_jp")
    except UnicodeDecodeError:
        return ""


def _refuse_binary(data: bytes, nul_share: float) -> None:
    """Text files hold next to no control characters; NUL is let pass only inside valid UTF-8.

    Raises:
        UnreadableFile: there are more than text has.
    """
    head = data[:_SAMPLE]
    if data.count(0) > nul_share * len(data) or len(_CONTROL.findall(head)) > max(1, 0.02 * len(head)):
        raise UnreadableFile("binary data: it is not text in any encoding.")


def _legacy(data: bytes) -> Decoded:
    high = len(_HIGH.findall(data))
    whole = _MULTIBYTE.findall(data)
    broken = high - sum(map(len, whole))
    if len(whole) > 3 * broken:
        return _finished(
            data.decode("utf-8", "replace"), "utf-8", f"{broken} bytes that are not UTF-8 were replaced"
        )
    codec = _code_page(data)
    text = data.decode(codec, "replace")
    if codec == "utf-8":
        return _finished(text, codec, f"{broken} bytes that are not UTF-8 were replaced")
    return _finished(text, codec, f"read as {codec}, because it is not UTF-8")


def _code_page(data: bytes) -> str:
    """The most plausible code page of bytes that are not UTF-8; "utf-8" itself if no page makes words of them."""
    sample = b"".join(_HIGH_LINE.findall(data[: 16 * _SAMPLE]))[:_SAMPLE]
    if len(_FOREIGN_WORD.findall(sample)) <= len(_ACCENTED_WORD.findall(sample)):
        latin, share = _latin_page(sample)
        if share >= _LATIN_SHARE:
            return latin
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_CODE_PAGES).best()
    codec = best.encoding if best is not None else "cp1252"
    if codec in _LATIN:
        latin, share = _latin_page(sample)
        return latin if share >= _LATIN_SHARE else "utf-8"
    if codec == "cp874" and _is_common_chinese(sample):
        return "gb18030"
    return codec


def _latin_page(sample: bytes) -> tuple[str, float]:
    """The best Latin code page, and the share of letters beyond ASCII that one language a line explains."""
    best, best_share = "cp1252", -1.0
    for codec, languages in _LETTERS.items():
        known = total = 0
        for line in sample.decode(codec, "replace").splitlines():
            letters = [char.lower() for char in line if char > "\x7f" and char not in _PUNCTUATION]
            total += len(letters)
            known += max(sum(1 for char in letters if char in language) for language in languages)
        share = known / total if total else float(codec == "cp1252")
        if share > best_share:
            best, best_share = codec, share
    return best, best_share


def _is_common_chinese(sample: bytes) -> bool:
    """Whether nearly all is GB 2312's frequent characters (rows 16 to 55); short ones also read as Thai."""
    try:
        sample.decode("gb18030")
    except UnicodeDecodeError:
        return False
    return 2 * len(_GB_COMMON.findall(sample)) > 0.88 * len(_HIGH.findall(sample))
