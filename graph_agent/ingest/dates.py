"""When a document is from: front matter, a date line at its top, its filename, its properties, the file's time.

The body is never searched: a date in running text is about something else. A date that can be read in two
ways (03/04/2024) is left alone.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, TypeAlias

from graph_agent.ingest.document import MetaValue

DateSource: TypeAlias = Literal["front_matter", "date_line", "filename", "properties", "file_time"]

_KEYS = (
    "date", "published", "published_at", "publication_date", "publish_date", "publishdate", "pubdate", "date_published",
    "article:published_time", "datepublished", "dc.date", "dcterms.date", "issued", "dcterms.issued", "created",
    "created_at", "date_created", "creation_date", "creationdate", "dcterms.created", "updated", "updated_at",
    "last_updated", "modified", "last_modified", "lastmod", "date_modified", "moddate", "dcterms.modified",
    "datum", "fecha",
)  # fmt: skip
_EARLIEST, _LATEST = 1000, 2200
_TOP_LINES = 12
_TOP_BARE_LINES = 6
_TOP_CHARS = 3_000

_MONTHS = """
january jan januar january janvier janv enero ene gennaio gen januari janeiro
february feb februar février févr febrero febbraio februari fevereiro fev
march mar märz mrz mars marzo maart mrt março
april apr avril avr abril abr aprile
may mai mayo maggio mag mei maio
june jun juni juin junio giugno giu junho
july jul juli juillet juil julio luglio lug julho
august aug août agosto ago augustus
september sep sept septembre septiembre settembre set setembro
october oct oktober okt octobre octubre ottobre ott outubro out
november nov novembre noviembre novembro
december dec dezember dez décembre déc diciembre dic dicembre dezembro desember
"""
_LABELS = """
date|dated|datum|fecha|data|published|published on|publication date|date published|date of publication|posted|posted on
|issued|issue date|date issued|date of issue|created|created on|creation date|updated|last updated|last update
|last modified|last revised|revised|revision date|effective date|document date|meeting date|date of meeting
|report date|stand|erstellt|erstellt am|veröffentlicht|veröffentlicht am|zuletzt aktualisiert|le|publié le|date de publication
|fecha de publicación|publicado|publicado el|data di pubblicazione|datum van publicatie|sent|日期|发布日期|日付|날짜
"""

_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)(?:[T ]\d{1,2}:\d{2}\S*)?")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})([./_-])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(?<![\d.])(\d{1,2})([./_-]|\. ?)(\d{1,2})\2(\d{4})(?!\d)")
_COMPACT = re.compile(
    r"(?<![0-9A-Za-z])((?:19|20)\d{2})(\d{2})(\d{2})(?:[0-2]\d[0-5]\d[0-5]\d)?(?!\d)(?![A-SU-Za-su-z])"
)
_CJK = re.compile(r"(?<!\d)(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일号]")
_DAY_MONTH = re.compile(
    r"(?<![^\W_])(\d{1,2})(?:st|nd|rd|th|er|º|\.)?[\s_-]*(?:de |of )?([^\W\d_]{3,12})\.?,?[\s_-]*(?:de )?(\d{4})(?!\d)"
)
_MONTH_DAY = re.compile(
    r"(?<![^\W_])([^\W\d_]{3,12})\.?[ _-]{0,2}(\d{1,2})(?:st|nd|rd|th)?,?[ _-]{1,2}(\d{4})(?!\d)"
)
_YEAR_MONTH_DAY = re.compile(r"(?<!\d)(\d{4})[ _-]([^\W\d_]{3,12})[ _-](\d{1,2})(?!\d)")
_PLAIN_DIGITS = re.compile(
    r"(?:D:)?(\d{4})(\d{2})(\d{2})(?:\d{6}.*)?\Z"
)  # also PDF's D:20240305120000+01'00'
_MONTH_ONLY = re.compile(r"(\d{4})-(\d{1,2})\Z")
_YEAR_ONLY = re.compile(r"(1[89]\d{2}|20\d{2})\Z")
_CLOCK = re.compile(
    r"[,T ]*\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:[ap]\.?m\.?)?\s*(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?\d{2})?(?:\s*\([A-Z]+\))?",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|satur|sat|sun)(?:day)?\.?,?\s+|(?:montag|dienstag|mittwoch|donnerstag|freitag"
    r"|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes"
    r"|sábado|domingo)(?:, den|,| den)?\s+",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`>|#~]+|</?\w+[^>]*>")


def document_date(
    metadata: Mapping[str, MetaValue],
    text: str,
    filename: str,
    modified: float | None = None,
    *,
    media_type: str = "text/markdown",
) -> tuple[str | None, DateSource | None]:
    """The date of a document, and where it was found.

    Args:
        metadata: front matter or document properties, raw.
        text: the document's text without front matter; only its first lines are looked at.
        filename: name or path; only the last part counts.
        modified: the file's time in seconds since 1970 (UTC), the last resort.
        media_type: in text formats metadata is written by the author and comes first; in others (pdf, docx)
            it is written by programs and comes after the filename.

    Returns:
        (YYYY-MM-DD, source), or (None, None).
    """
    authored = media_type.startswith("text/") or media_type == "message/rfc822"
    if authored and (found := _of_metadata(metadata)):
        return found, "front_matter"
    if found := _of_top(text):
        return found, "date_line"
    if found := _of_filename(filename):
        return found, "filename"
    if not authored and (found := _of_metadata(metadata)):
        return found, "properties"
    if modified is not None:
        try:
            return dt.datetime.fromtimestamp(modified, dt.UTC).date().isoformat(), "file_time"
        except (OverflowError, ValueError, OSError):
            pass
    return None, None


def _of_metadata(metadata: Mapping[str, MetaValue]) -> str | None:
    lowered = {
        key.strip().lower().replace("-", "_").replace(" ", "_"): value for key, value in metadata.items()
    }
    for key in _KEYS:
        value = lowered.get(key)
        if (
            isinstance(value, str | int)
            and not isinstance(value, bool)
            and (found := _of_value(str(value).strip()))
        ):
            return found
    return None


def _of_value(value: str) -> str | None:
    """A date that stands alone; a month or year alone is its first day."""
    if compact := _PLAIN_DIGITS.match(value):
        return _iso(*compact.groups())
    if found := _whole(value):
        return found
    if month := _MONTH_ONLY.match(value):
        return _iso(month[1], month[2], "1")
    if year := _YEAR_ONLY.match(value):
        return _iso(year[1], "1", "1")
    return None


def _of_top(text: str) -> str | None:
    """A line near the top that is a date, or a label such as "Date:" with one."""
    lines = [line for line in re.split(r"\r\n?|\n", text[:_TOP_CHARS]) if line.strip()][:_TOP_LINES]
    for number, raw in enumerate(lines):
        if raw.lstrip().startswith(("```", "~~~")):
            return None  # what follows is code
        line = " ".join(_MARKUP.sub(" ", raw).split())
        if len(line) > 100:
            continue
        label = _label().match(line)
        if label and (found := _whole(line[label.end() :])):
            return found
        if number < _TOP_BARE_LINES and (found := _whole(line)):
            return found
    return None


def _whole(value: str) -> str | None:
    """The date if the value is nothing but one date, with or without weekday and time."""
    value = unicodedata.normalize("NFKC", value).strip(" \t.,;")
    value = _WEEKDAY.sub("", value, count=1) if _WEEKDAY.match(value) else value
    if (iso := _ISO.fullmatch(value)) is not None:
        return _iso(*iso.groups())
    value = _CLOCK.sub("", value, count=1).strip(" \t.,;()[]")
    for start, end, found in _dates(value):
        if start == 0 and end == len(value):
            return found
    return None


def _of_filename(filename: str) -> str | None:
    """The one date in a file's name; none if two different ones stand there."""
    name = unicodedata.normalize("NFKC", re.split(r"[/\\]", filename)[-1])
    stem = name.rpartition(".")[0] or name
    found = {date for _, _, date in _dates(stem)}
    found |= {date for match in _COMPACT.finditer(stem) if (date := _iso(*match.groups()))}
    recent = {date for date in found if "1900" <= date < "2100"}  # four digits may be any number
    return recent.pop() if len(recent) == 1 else None


def _dates(text: str) -> Iterator[tuple[int, int, str]]:
    """Spans and values of the dates in a text that can be read in one way only."""
    for pattern in (_YEAR_FIRST, _CJK):
        for match in pattern.finditer(text):
            groups = match.groups()
            if found := _iso(groups[0], groups[-2], groups[-1]):
                yield match.start(), match.end(), found
    for match in _YEAR_LAST.finditer(text):
        if found := _year_last(match[1], match[3], match[4]):
            yield match.start(), match.end(), found
    for pattern, order in ((_DAY_MONTH, (3, 2, 1)), (_MONTH_DAY, (3, 1, 2)), (_YEAR_MONTH_DAY, (1, 2, 3))):
        for match in pattern.finditer(text):
            year, name, day = (match[number] for number in order)
            month = _months().get(name.casefold())
            if month and (found := _iso(year, str(month), day)):
                yield match.start(), match.end(), found


def _year_last(first: str, second: str, year: str) -> str | None:
    """Day and month in either order, if only one makes a date or both are equal."""
    found = {date for date in (_iso(year, second, first), _iso(year, first, second)) if date}
    return found.pop() if len(found) == 1 else None


def _iso(year: str, month: str, day: str) -> str | None:
    try:
        date = dt.date(int(year), int(month), int(day))
    except ValueError:
        return None
    return date.isoformat() if _EARLIEST <= date.year < _LATEST else None


@cache
def _months() -> dict[str, int]:
    rows = [line.split() for line in _MONTHS.strip().splitlines()]
    return {name: number for number, names in enumerate(rows, 1) for name in names}


@cache
def _label() -> re.Pattern[str]:
    labels = sorted((label.strip() for label in _LABELS.replace("\n", "").split("|")), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, labels))})(?:\s*[:：]\s*|\s+)", re.IGNORECASE)
