"""Scanned pages as lines of text, by the program tesseract, when it is installed and asked for."""

from __future__ import annotations

import csv
import io
import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.pdf_layout import Line
from graph_agent.ingest.convert.writing import clean, one_line

DPI = 200
MAX_PIXELS = 12_000_000  # a larger page is read more coarsely
SURE = 60.0  # mean confidence in percent below which the page may stand on its head
LEAST = 45.0  # below this it is a picture, not a page of text
LEADING = 1.3  # distance of lines over type size
_POINTS_PER_INCH = 72


class OutOfTime(Exception):
    """A page took longer than what was left for it."""


_Word = tuple[float, float, float, float, str]
"""Left, top, right and bottom in pixels, and the text."""


@dataclass(frozen=True, slots=True)
class _Scan:
    """What tesseract made of a page: lines in its reading order, and how sure it is of them, in percent."""

    lines: list[Line]
    confidence: float


def program() -> str | None:
    """Where tesseract is; None when it is not installed."""
    return shutil.which("tesseract")


def read_scan(document: Any, index: int, languages: str, seconds: float) -> list[Line]:
    """The lines of a page that is a picture; none when the picture shows no text.

    Args:
        document: an open pypdfium2 document.
        index: of the page, from 0.
        languages: tesseract's names, as in "eng+deu".
        seconds: that this may take.

    Raises:
        OutOfTime: it took longer.
    """
    page = document[index]
    try:
        width, height = page.get_size()
        scale = min(DPI / _POINTS_PER_INCH, (MAX_PIXELS / max(width * height, 1.0)) ** 0.5)
        bitmap = page.render(scale=scale, grayscale=True)
        pixels = bitmap.to_numpy()
        pixels = pixels.reshape(pixels.shape[:2])
        scan = _recognise(pixels, scale, languages, seconds, index + 1)
        if scan.lines and scan.confidence < SURE:
            turned = _recognise(pixels[::-1, ::-1], scale, languages, seconds, index + 1)
            scan = max(scan, turned, key=lambda each: each.confidence)
        bitmap.close()
    finally:
        page.close()
    return scan.lines if scan.confidence >= LEAST else []


def _recognise(pixels: Any, scale: float, languages: str, seconds: float, number: int) -> _Scan:
    height, width = pixels.shape
    picture = b"P5 %d %d 255\n" % (width, height) + pixels.tobytes()
    command = [
        str(program()), "stdin", "stdout", "--psm", "1", "--dpi", str(round(scale * _POINTS_PER_INCH)),
        *(("-l", languages) if languages else ()), "tsv",
    ]  # fmt: skip
    kept = {
        key: value
        for key, value in os.environ.items()
        if key in ("PATH", "LANG", "LC_ALL", "TESSDATA_PREFIX")
    }
    try:
        done = subprocess.run(
            command,
            input=picture,
            capture_output=True,
            timeout=max(seconds, 0.1),
            env={**kept, "OMP_THREAD_LIMIT": "1"},  # its threads cost more than they bring
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTime from None
    if b"load any languages" in done.stderr:
        raise UnreadableFile(
            f"scanned, and tesseract has not the languages {languages}.",
            "Install them, on Debian as tesseract-ocr-deu and the like, or set GRAPH_AGENT_OCR_LANGUAGES.",
        )
    return _scan(done.stdout.decode("utf-8", "replace"), scale, number)


def _scan(table: str, scale: float, number: int) -> _Scan:
    """Read tesseract's table of words."""
    lines: dict[tuple[str, ...], list[_Word]] = {}
    sure: list[float] = []
    for row in _words(table):
        text = one_line(clean(row["text"] or ""))
        confidence = float(row["conf"])
        if confidence < 0 or not text:
            continue
        left, top = float(row["left"]), float(row["top"])
        key = tuple(row[name] for name in ("block_num", "par_num", "line_num"))
        lines.setdefault(key, []).append(
            (left, top, left + float(row["width"]), top + float(row["height"]), text)
        )
        sure += [confidence] * len(text)
    return _Scan(list(_made(list(lines.values()), scale, number)), statistics.fmean(sure) if sure else 0.0)


def _words(table: str) -> Iterator[dict[str, str]]:
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get("text") is not None and row.get("conf") not in (None, "-1"):
            yield row


def _made(rows: list[list[_Word]], scale: float, number: int) -> Iterator[Line]:
    """Lines in points. Heights of letters vary from line to line, so the distance of the lines gives their size."""
    if not rows:
        return
    bottoms = [max(word[3] for word in row) for row in rows]
    height = statistics.median(
        low - min(word[1] for word in row) for low, row in zip(bottoms, rows, strict=True)
    )
    apart = [low - high for high, low in pairwise(bottoms) if height < low - high < 3 * height]
    size = max(statistics.median(apart) / LEADING if apart else height, height)
    column = (min(row[0][0] for row in rows) / scale, max(row[-1][2] for row in rows) / scale)
    for row, bottom in zip(rows, bottoms, strict=True):
        yield Line(
            " ".join(word[4] for word in row),
            row[0][0] / scale,
            row[-1][2] / scale,
            bottom / scale,
            size / scale,
            False,
            number,
            column=column,
            scanned=True,
        )
