"""Words of a PDF page with their places, as pdfium sees the glyphs; turned so that the text stands upright."""

from __future__ import annotations

import ctypes
import math
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypeAlias

_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
_HYPHENS = ("\ufffe", "\x02", "\xad")
"""What pdfium writes for a hyphen at the end of a line."""

_QUARTER = math.pi / 2

_CELL = 8.0
"""Side in points of the squares in which earlier glyphs are looked up."""

_Places: TypeAlias = list[tuple[float, float]]
_Styles: TypeAlias = dict[tuple[bytes, int, int], tuple[bool, bool]]

_SPACE_OF_SIZE = 0.17
"""A gap of this part of the type size parts words; ordinary word spaces are 0.2 to 0.35 em."""


@dataclass(slots=True)
class Word:
    """A word, in points of the upright page, y growing downwards.

    Attributes:
        text: its characters in logical order.
        x0: left edge.
        x1: right edge.
        base: baseline.
        size: type size.
        bold: heavy weight, by the font's own flags or name.
        mono: fixed pitch, by the font's flags or name.
        turn: quarter turns of its text against the page's main direction.
        rtl: whether it is Arabic, Hebrew or the like.
    """

    text: str
    x0: float
    x1: float
    base: float
    size: float
    bold: bool
    mono: bool
    turn: int
    rtl: bool

    @property
    def top(self) -> float:
        """Upper edge, by the type size."""
        return self.base - 0.8 * self.size

    @property
    def bottom(self) -> float:
        """Lower edge, by the type size."""
        return self.base + 0.22 * self.size


@dataclass(slots=True)
class PageText:
    """A page's words and size.

    Attributes:
        words: in the order of the page's content stream.
        width: of the upright page, points.
        height: of the upright page, points.
        quarter: quarter turns (counter-clockwise in page space) of the main text direction.
        box: the page box in page space (x0, y0, x1, y1).
        vertical: whether the text runs in vertical lines, which pdfium reads badly.
    """

    words: list[Word]
    width: float
    height: float
    quarter: int
    box: tuple[float, float, float, float]
    vertical: bool


@dataclass(slots=True)
class _Glyph:
    char: str
    x0: float
    x1: float
    y: float
    size: float
    quarter: int
    index: int
    space: bool


def page_text(page: Any, text_page: Any) -> PageText:
    """The words of a page.

    Args:
        page: a pypdfium2 PdfPage.
        text_page: its PdfTextPage.
    """
    box = tuple(float(value) for value in page.get_bbox())
    glyphs = _glyphs(text_page, box)
    weights: dict[int, int] = defaultdict(int)
    for glyph in glyphs:
        if not glyph.space:
            weights[glyph.quarter] += 1
    main = max(sorted(weights), key=lambda quarter: weights[quarter]) if weights else 0
    width, height = box[2] - box[0], box[3] - box[1]
    if main % 2:
        width, height = height, width
    words = _words(text_page, glyphs, box, main)
    return PageText(words, width, height, main, (box[0], box[1], box[2], box[3]), _is_vertical(glyphs))


def upright(x: float, y: float, box: tuple[float, ...], quarter: int) -> tuple[float, float]:
    """A point of page space on the upright page, y downwards, for text turned by quarters counter-clockwise."""
    if quarter == 0:
        return x - box[0], box[3] - y
    if quarter == 1:
        return y - box[1], x - box[0]
    if quarter == 2:
        return box[2] - x, y - box[1]
    return box[3] - y, box[2] - x


def _glyphs(text_page: Any, box: tuple[float, ...]) -> list[_Glyph]:
    """Every glyph on the page, once. The innermost loop of a PDF's conversion: some 4,000 turns a page."""
    from pypdfium2 import raw

    handle = text_page.raw
    unicode_of, origin_of, box_of = (
        raw.FPDFText_GetUnicode,
        raw.FPDFText_GetCharOrigin,
        raw.FPDFText_GetLooseCharBox,
    )
    size_of, angle_of = raw.FPDFText_GetFontSize, raw.FPDFText_GetCharAngle
    c_x, c_y, rectangle = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
    at_x, at_y, at_box = ctypes.byref(c_x), ctypes.byref(c_y), ctypes.byref(rectangle)
    left, bottom, right, top = box
    glyphs: list[_Glyph] = []
    seen: dict[tuple[int, int, int], _Places] = {}
    before = (0.0, 0.0)
    for index in range(raw.FPDFText_CountChars(handle)):
        code = unicode_of(handle, index)
        if code == 0:
            continue
        char = chr(code) if not 0xD800 <= code < 0xE000 else _surrogate(raw, handle, index)
        space = char.isspace()
        if space and raw.FPDFText_IsGenerated(handle, index) == 1:
            continue  # pdfium's guess; gaps are measured here
        origin_of(handle, index, at_x, at_y)
        if not box_of(handle, index, at_box):
            continue
        x, y = c_x.value, c_y.value
        size = size_of(handle, index)
        angle = angle_of(handle, index)
        quarter = -round(angle / _QUARTER) % 4 if angle else 0  # pdfium counts clockwise
        if quarter % 2 == 0:
            near, far, height, across = rectangle.left, rectangle.right, rectangle.top - rectangle.bottom, y
        else:
            near, far, height, across = rectangle.bottom, rectangle.top, rectangle.right - rectangle.left, x
        if far < near:
            near, far = far, near
        height = abs(height)
        if not 0.3 * size < height < 3 * size:
            size = height or size  # the size is in text space; a matrix scaled the glyph
        # Text beyond the crop box is not seen by any reader.
        if not (left - size <= x <= right + 1 and bottom - size <= y <= top + size * 0.3):
            continue
        if not space:
            # The same origin to the last digit, one glyph after the other, is a ligature's second letter ("ff").
            ligature = before == (x, y)
            before = (x, y)
            if not ligature and _drawn_before(code, x, y, min(0.12 * size, 0.4 * (far - near)) or 0.01, seen):
                continue
        glyphs.append(_Glyph(char, near, far, across, max(0.1, size), quarter, index, space))
    return glyphs


def _surrogate(raw: Any, handle: Any, index: int) -> str:
    """Pdfium gives characters beyond the BMP as two UTF-16 units in two places."""
    code = raw.FPDFText_GetUnicode(handle, index)
    if 0xD800 <= code < 0xDC00:
        low = raw.FPDFText_GetUnicode(handle, index + 1)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
    return "\u200b" if 0xDC00 <= code < 0xE000 else "\ufffd"


def _drawn_before(
    code: int, x: float, y: float, reach: float, seen: dict[tuple[int, int, int], _Places]
) -> bool:
    """Whether the same glyph was drawn at nearly the same place: false bold, shadows, repeated layers."""
    columns = {int((x - reach) / _CELL), int((x + reach) / _CELL)}
    rows = {int((y - reach) / _CELL), int((y + reach) / _CELL)}
    for column in columns:
        for row in rows:
            for other_x, other_y in seen.get((code, column, row), ()):
                if abs(other_x - x) < reach and abs(other_y - y) < reach:
                    return True
    seen.setdefault((code, int(x / _CELL), int(y / _CELL)), []).append((x, y))
    return False


def _words(text_page: Any, glyphs: list[_Glyph], box: tuple[float, ...], main: int) -> list[Word]:
    words: list[Word] = []
    styles: _Styles = {}
    run: list[_Glyph] = []
    for glyph in glyphs:
        if glyph.space:
            _finish(text_page, run, box, main, words, styles)
            run = []
            continue
        if run and _breaks(run, glyph):
            _finish(text_page, run, box, main, words, styles)
            run = []
        run.append(glyph)
    _finish(text_page, run, box, main, words, styles)
    return words


def _breaks(run: list[_Glyph], glyph: _Glyph) -> bool:
    last = run[-1]
    small, large = (glyph.size, last.size) if glyph.size < last.size else (last.size, glyph.size)
    if glyph.quarter != last.quarter or abs(glyph.y - last.y) > 0.5 * large:
        return True
    limit = _SPACE_OF_SIZE * small
    if glyph.x0 - last.x1 > limit or last.x0 - glyph.x1 > limit:
        return True
    if last.quarter in (2, 3):
        backwards = glyph.x1 > last.x1 + 0.5 * small and glyph.x0 > last.x0
    else:
        backwards = glyph.x0 < last.x0 - 0.5 * small and glyph.x1 < last.x1
    return backwards and not _is_rtl(glyph.char) and not _is_rtl(last.char)


def _finish(
    text_page: Any, run: list[_Glyph], box: tuple[float, ...], main: int, words: list[Word], styles: _Styles
) -> None:
    if not run:
        return
    text = "".join([glyph.char for glyph in run])
    rtl = False
    if not text.isascii() or "\x02" in text:
        rtl = any(_is_rtl(char) for char in text)
        if rtl:
            text = "".join([glyph.char for glyph in _logical(run)])
        for mark in _HYPHENS:
            text = text.replace(mark, "-" if text.endswith(mark) else "")
        text = unicodedata.normalize("NFC", text.translate(_LIGATURES).replace("\u200b", ""))
    if not text:
        return
    first = run[0]
    near, far = min(glyph.x0 for glyph in run), max(glyph.x1 for glyph in run)
    quarter = first.quarter
    if quarter % 2 == 0:
        a, b = upright(near, first.y, box, quarter), upright(far, first.y, box, quarter)
    else:
        a, b = upright(first.y, near, box, quarter), upright(first.y, far, box, quarter)
    words.append(
        Word(
            text, min(a[0], b[0]), max(a[0], b[0]), a[1], first.size, *_style(text_page, first.index, styles),
            (quarter - main) % 4, rtl,
        )
    )  # fmt: skip


def _logical(run: list[_Glyph]) -> list[_Glyph]:
    """A right-to-left ligature is one glyph with several characters, which pdfium gives in visual order."""
    out: list[_Glyph] = []
    index = 0
    while index < len(run):
        stop = index + 1
        while (
            stop < len(run)
            and abs(run[stop].x0 - run[index].x0) < 0.01
            and abs(run[stop].x1 - run[index].x1) < 0.01
        ):
            stop += 1
        out.extend(reversed(run[index:stop]))
        index = stop
    return out


def _is_rtl(char: str) -> bool:
    return char > "\u0590" and unicodedata.bidirectional(char) in ("R", "AL")


def _style(text_page: Any, index: int, styles: _Styles) -> tuple[bool, bool]:
    """Whether a glyph's font is heavy, and whether it is of fixed pitch."""
    from pypdfium2 import raw

    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(96)
    raw.FPDFText_GetFontInfo(text_page.raw, index, buffer, 96, ctypes.byref(flags))
    weight = raw.FPDFText_GetFontWeight(text_page.raw, index)
    key = (buffer.value, flags.value, weight)
    if key not in styles:
        name = buffer.value.decode("utf-8", "replace").lower()
        heavy = any(part in name for part in ("bold", "black", "heavy")) or name.endswith(
            ("-bd", "cmbx10", "cmbx12")
        )
        mono = bool(flags.value & 1) or any(part in name for part in ("mono", "courier", "cmtt", "consolas"))
        styles[key] = (heavy or weight >= 600, mono)
    return styles[key]


def _is_vertical(glyphs: list[_Glyph]) -> bool:
    """Whether most glyphs stand below the one before instead of beside it."""
    below = beside = 0
    previous: _Glyph | None = None
    for glyph in glyphs:
        if (
            previous is not None
            and not glyph.space
            and not previous.space
            and glyph.quarter == previous.quarter
        ):
            dx, dy = abs(glyph.x0 - previous.x0), previous.y - glyph.y
            if dx < 0.3 * glyph.size and 0.5 * glyph.size < dy < 1.6 * glyph.size:
                below += 1
            elif dx > 0.1 * glyph.size:
                beside += 1
        previous = glyph
    return below > 4 and below > beside
