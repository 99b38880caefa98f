"""Which documents a search looks at: folder, document, paths, labels and dates become a set of documents.

A scope acts before ranking. One that matches nothing stays empty: it never becomes the whole corpus.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from graph_agent.errors import BadArgument
from graph_agent.retrieval.corpus import Corpus, DocumentRow, Place
from graph_agent.retrieval.documents import Unresolved, near_names, resolve_document, resolve_folder

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LOOSE = re.compile(r"(\d{4})(?:[-/. ]?(\d{1,2})(?:[-/. ]?(\d{1,2}))?)?\b")
_REVERSE = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b")  # 31.12.2024; 12/31/2024 could be either
_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")

LabelFilter = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Scope:
    """Documents that a search looks at.

    Attributes:
        documents: content hashes.
        description: in words, for people and models ("folder reports, labels team=ops").
        left_out: documents left out only for lacking a label or a date, by reason.
        problem: why the scope is empty, when it is.
        places: for documents with several places, the one that the folder or the paths asked for.
    """

    documents: frozenset[str]
    description: str
    left_out: Mapping[str, int] = field(default_factory=lambda: {"unlabelled": 0, "undated": 0})
    problem: str = ""
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no document is in it."""
        return not self.documents


def build_scope(
    corpus: Corpus,
    *,
    folder: str | None = None,
    document: str | None = None,
    paths: str | Sequence[str] | None = None,
    labels: LabelFilter | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
) -> Scope:
    """The scope that all filters together leave.

    Args:
        corpus: the visible documents.
        folder: id, name or path of a folder; its subfolders are in.
        document: any of the identifiers of `resolve_document`.
        paths: one or several paths (absolute or below the ingested root), compared by whole components, or
            folder or document identifiers; a document under any of them is in.
        labels: facet to value or values; values of a facet are alternatives, facets must all hold.
        date_from: first day, YYYY-MM-DD, included.
        date_to: last day, YYYY-MM-DD, included.

    Raises:
        BadArgument: a blank value, a malformed or reversed date, an unknown facet or label value.
        NotFound: `folder` or `document` names nothing, or more than one.
    """
    rows: list[DocumentRow] = list(corpus.documents)
    told: list[str] = []
    inside: list[Callable[[Place], bool]] = []
    problem = "" if rows else "no documents have been ingested"
    if folder is not None:
        place = resolve_folder(corpus, folder)
        rows = [row for row in rows if row.content_hash in place.documents]
        told.append(f"folder {place.path or place.name}")
        below = _folders_below(corpus, place.folder_id)
        inside.append(lambda spot: spot.folder_id in below)
        problem = problem or ("" if rows else f"the folder {place.path or place.name} holds no documents")
    if document is not None:
        target = resolve_document(corpus, document)
        rows = [row for row in rows if row.content_hash == target.content_hash]
        told.append(f"document {target.path}")
        problem = problem or ("" if rows else f"{target.path} is not in that folder")
    if paths is not None:
        wanted = _given_paths(paths)
        rows = _under(corpus, rows, wanted)
        told.append("paths " + ", ".join(wanted))
        inside.append(lambda spot: any(_is_at(spot.path, spot.source, path) for path in wanted))
        problem = problem or ("" if rows else f"no ingested document is under {', '.join(wanted)}")
    checks = _checks(corpus, labels, date_from, date_to)
    told += [check.told for check in checks]
    kept = [row for row in rows if all(check.passes(row) for check in checks)]
    if rows and not kept:
        problem = f"no document in scope has {' and '.join(check.told for check in checks)}"
    description = "; ".join(told) or "all documents"
    names = frozenset(row.content_hash for row in kept)
    return Scope(names, description, _left_out(rows, checks), problem, _places(kept, inside))


def _places(rows: Iterable[DocumentRow], inside: Sequence[Callable[[Place], bool]]) -> dict[str, Place]:
    """Of each document with several places the first that every condition admits."""
    found: dict[str, Place] = {}
    for row in rows:
        if inside and len(row.places) > 1:
            place = next((spot for spot in row.places if all(test(spot) for test in inside)), None)
            if place is not None:
                found[row.content_hash] = place
    return found


def _folders_below(corpus: Corpus, folder_id: str) -> frozenset[str]:
    """A folder's id with those of all folders in it, however deep."""
    children: dict[str | None, list[str]] = {}
    for row in corpus.folders:
        children.setdefault(row.parent_id, []).append(row.folder_id)
    found: set[str] = set()
    todo = [folder_id]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += children.get(name, [])
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Check:
    """One filter: what it lets pass, and which documents it cannot judge for lack of a value."""

    kind: str
    told: str
    passes: Callable[[DocumentRow], bool]
    lacks: Callable[[DocumentRow], bool]


def _checks(
    corpus: Corpus, labels: LabelFilter | None, date_from: str | None, date_to: str | None
) -> list[_Check]:
    checks: list[_Check] = []
    for facet, given in (labels or {}).items():
        name, values = _label(corpus, facet, given)
        checks.append(_label_check(name, values))
    first = _day(date_from, "dateFrom")
    last = _day(date_to, "dateTo")
    if first and last and first > last:
        raise BadArgument(f"dateFrom {first} is after dateTo {last}.", "Give the earlier day as dateFrom.")
    if first or last:
        told = " ".join(
            part for part in (f"from {first}" if first else "", f"until {last}" if last else "") if part
        )
        checks.append(
            _Check(
                "undated",
                f"dates {told}",
                lambda row: _in_range(row.date, first, last),
                lambda row: _period(row.date) is None,
            )
        )
    return checks


def _label_check(name: str, values: frozenset[str]) -> _Check:
    return _Check(
        "unlabelled",
        f"label {name}={'|'.join(sorted(values))}",
        lambda row: not values.isdisjoint(row.labels.get(name, ())),
        lambda row: not row.labels.get(name),
    )


def _left_out(rows: Iterable[DocumentRow], checks: Sequence[_Check]) -> dict[str, int]:
    """Documents that fail only because they lack a label (or a date) that was asked for."""
    counts = {"unlabelled": 0, "undated": 0}
    for row in rows:
        failed = [check for check in checks if not check.passes(row)]
        if failed and all(check.lacks(row) for check in failed):
            for kind in {check.kind for check in failed}:
                counts[kind] += 1
    return counts


def _given_paths(paths: str | Sequence[str]) -> list[str]:
    given = [paths] if isinstance(paths, str) else list(paths)
    cleaned = [path.strip().replace("\\", "/") for path in given]
    if not cleaned or not all(cleaned):
        raise BadArgument("scope is empty.", "Leave scope out, or give a path, a folder or a document.")
    return [path.rstrip("/") or "/" for path in cleaned]


def _under(corpus: Corpus, rows: Sequence[DocumentRow], wanted: Sequence[str]) -> list[DocumentRow]:
    found: set[str] = set()
    for path in wanted:
        here = {row.content_hash for row in rows if _is_under(row, path)}
        if not here:
            here = _named(corpus, path)
        found |= here
    return [row for row in rows if row.content_hash in found]


def _is_under(row: DocumentRow, path: str) -> bool:
    spots = [(place.path, place.source) for place in row.places] or [(row.path, row.source)]
    return any(_is_at(own, source, path) for own, source in spots)


def _is_at(own: str, source: str, path: str) -> bool:
    """Whether a place is at or below a path, absolute or relative, by whole components."""
    below = "/" if path == "/" else path + "/"
    relative = path.removeprefix("./").strip("/")
    return (
        source == path
        or (bool(source) and source.startswith(below))
        or own == relative
        or (bool(relative) and own.startswith(relative + "/"))
    )


def _named(corpus: Corpus, name: str) -> set[str]:
    """Documents of a folder or document identifier; more than one candidate is an error, none is nothing."""
    try:
        return set(resolve_folder(corpus, name, argument="scope").documents)
    except Unresolved as error:
        if not error.is_absent:
            raise
    try:
        return {resolve_document(corpus, name, argument="scope").content_hash}
    except Unresolved as error:
        if not error.is_absent:
            raise
        return set()


def _label(corpus: Corpus, facet: str, given: str | Sequence[str]) -> tuple[str, frozenset[str]]:
    facets = {name.casefold(): name for name in corpus.facets}
    name = facets.get(facet.strip().casefold())
    if name is None:
        known = ", ".join(sorted(corpus.facets)) or "none: no document carries labels"
        near = near_names(facet, corpus.facets, count=1)
        hint = f"Nearest: {near[0]}. " if near else ""
        raise BadArgument(
            f"labels names the facet {facet!r}, which does not exist.", f"{hint}Facets: {known}."
        )
    values = {value.casefold(): value for value in corpus.facets[name]}
    wanted = [given] if isinstance(given, str) else list(given)
    if not wanted:
        raise BadArgument(
            f"labels gives no value for the facet {name!r}.", f"Values: {_listed(values.values())}."
        )
    found: set[str] = set()
    for value in wanted:
        match = values.get(str(value).strip().casefold())
        if match is None:
            near = near_names(str(value), values.values(), count=1)
            hint = f"Nearest: {near[0]}. " if near else ""
            raise BadArgument(
                f"labels asks for {name}={value!r}, a value that no document carries.",
                f"{hint}Values: {_listed(values.values())}.",
            )
        found.add(match)
    return name, frozenset(found)


def _listed(values: Iterable[str]) -> str:
    names = sorted(values)
    return ", ".join(names[:30]) + (f", and {len(names) - 30} more" if len(names) > 30 else "")


def _day(text: str | None, argument: str) -> str | None:
    if text is None:
        return None
    given = text.strip()
    try:
        if not _DATE.fullmatch(given):
            raise ValueError
        return date.fromisoformat(given).isoformat()
    except ValueError:
        near = _nearest_day(given, last=argument.lower().endswith("to"))
        hint = f" Nearest: {near}." if near else ""
        raise BadArgument(
            f"{argument} {text!r} is not a date.", f"Give a day as YYYY-MM-DD, such as 2024-01-31.{hint}"
        ) from None


def _nearest_day(text: str, *, last: bool) -> str:
    """The day that a date in another spelling may mean, "" when that is anyone's guess.

    Args:
        text: a year, a month or a day.
        last: of a year or a month the last day rather than the first.
    """
    match = _LOOSE.match(text)
    year, month, day = (int(part) if part else None for part in match.groups()) if match else (0, None, None)
    if match is None and (reverse := _REVERSE.match(text)):
        day, month, year = (int(part) for part in reverse.groups())
    if not year:
        return ""
    if month is None:
        month = 12 if last else 1
    month = min(max(month, 1), 12)
    longest = monthrange(year, month)[1]
    if day is None:
        day = longest if last else 1
    return date(year, month, min(max(day, 1), longest)).isoformat()


def _period(text: str | None) -> tuple[str, str] | None:
    """First and last day that a date, perhaps of a month or a year only, covers."""
    match = _PARTIAL.match(text or "")
    if match is None:
        return None
    year, month, day = match.groups()
    if day:
        return (f"{year}-{month}-{day}",) * 2
    return (f"{year}-{month or '01'}-01", f"{year}-{month or '12'}-31")


def _in_range(text: str | None, first: str | None, last: str | None) -> bool:
    period = _period(text)
    if period is None:
        return False
    return (first is None or period[1] >= first) and (last is None or period[0] <= last)
