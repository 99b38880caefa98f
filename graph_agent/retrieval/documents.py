"""What people call a document or folder, resolved to the one that they mean.

The identifier rules of every tool: an exact filename or path beats the beginning of a hash; more than
one match is an error that lists the candidates; no match names what is near.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from graph_agent.errors import BadArgument, NotFound
from graph_agent.retrieval.corpus import Corpus, DocumentRow, FolderRow

MIN_PREFIX = 4
_HEX = re.compile(r"[0-9a-f]{4,64}")
_SHOWN = 5

Row = TypeVar("Row", DocumentRow, FolderRow)


class Unresolved(NotFound):
    """A name that stands for no document or folder, or for several.

    Attributes:
        candidates: what it may stand for; empty when it matches nothing.
    """

    def __init__(self, message: str, fix: str = "", *, candidates: Sequence[str] = ()) -> None:
        super().__init__(message, fix)
        self.candidates = tuple(candidates)

    @property
    def is_absent(self) -> bool:
        """Whether nothing matches at all."""
        return not self.candidates


@dataclass(frozen=True, slots=True)
class SectionRef:
    """A section id as asked for.

    Attributes:
        given: as written.
        section_id: with the whole markdown hash; None when it cannot be told which one is meant.
        problem: why not, on one line.
    """

    given: str
    section_id: str | None
    problem: str = ""


def resolve_document(corpus: Corpus, ref: str, *, argument: str = "document_id") -> DocumentRow:
    """The document that `ref` names.

    Accepts a content or markdown hash (whole, or a beginning of at least 4 digits), a path, a filename,
    a filename without its ending, the end of a path, or a title. Names are compared without regard to
    case; where several differ by case only, the one written alike wins.

    Raises:
        BadArgument: `ref` is blank.
        Unresolved: nothing matches (near names are listed), or more than one document does (candidates are).
    """
    name = _given(ref, argument)
    lowered = name.casefold()
    tiers: list[Callable[[DocumentRow], bool]] = [
        lambda row: name == row.content_hash,
        lambda row: any(name in {place.path, place.source} for place in _places(row)),
        lambda row: any(
            lowered in {place.path.casefold(), place.source.casefold()} for place in _places(row)
        ),
        lambda row: any(lowered == place.filename.casefold() for place in _places(row)),
        lambda row: any(lowered == PurePosixPath(place.filename).stem.casefold() for place in _places(row)),
        lambda row: any(
            _ends_with(place.path, lowered) or _ends_with(place.source, lowered) for place in _places(row)
        ),
        lambda row: _is_prefix(name, row.content_hash) or _is_prefix(name, row.markdown_hash),
        lambda row: bool(row.title) and lowered == row.title.casefold(),
    ]
    found = _first_tier(corpus.documents, tiers, name, lambda row: [place.filename for place in _places(row)])
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous(argument, name, [f"{row.path} ({row.content_hash[:8]})" for row in found])
    raise _missing(
        argument, "document", name, [word for row in corpus.documents for word in (row.filename, row.path)]
    )


def resolve_folder(corpus: Corpus, ref: str, *, argument: str = "folder_id") -> FolderRow:
    """The folder that `ref` names: by id (whole, or a beginning of at least 4), path, name or path's end.

    Raises:
        BadArgument: `ref` is blank.
        Unresolved: nothing matches, or more than one folder does.
    """
    name = _given(ref, argument).rstrip("/") or "/"
    lowered = name.casefold()
    tiers: list[Callable[[FolderRow], bool]] = [
        lambda row: name == row.folder_id,
        lambda row: name == row.path,
        lambda row: lowered == row.path.casefold(),
        lambda row: lowered == row.name.casefold(),
        lambda row: _ends_with(row.path, lowered),
        lambda row: _is_prefix(name, row.folder_id),
    ]
    found = _first_tier(corpus.folders, tiers, name, lambda row: [row.name])
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous(argument, name, [f"{row.path} ({row.folder_id[:8]})" for row in found])
    raise _missing(
        argument, "folder", name, [word for row in corpus.folders for word in (row.name, row.path)]
    )


def resolve_sections(corpus: Corpus, refs: str | Iterable[str]) -> list[SectionRef]:
    """Section ids in full, in the order asked; of each the markdown hash may be a beginning of 4 or more.

    Whether the section exists is for the graph to say; this tells only which document text is meant.

    Raises:
        BadArgument: no id is given.
    """
    given = refs.split(",") if isinstance(refs, str) else list(refs)
    cleaned = [ref.strip().strip("[]`'\"") for ref in given]
    cleaned = [ref for ref in cleaned if ref]
    if not cleaned:
        raise BadArgument(
            "section_ids is empty.", "Give one or more ids such as 568acd8b::3, parted by commas."
        )
    hashes = sorted(corpus.spans)
    return [_section(ref, hashes) for ref in dict.fromkeys(cleaned)]


def _section(ref: str, hashes: Sequence[str]) -> SectionRef:
    prefix, mark, sequence = ref.partition("::")
    if not mark or not sequence.isdigit():
        return SectionRef(ref, None, "not a section id: they look like 568acd8b::3")
    if prefix in hashes:
        return SectionRef(ref, ref)
    if len(prefix) < MIN_PREFIX:
        return SectionRef(ref, None, f"give at least {MIN_PREFIX} characters before ::")
    found = [name for name in hashes if name.startswith(prefix.lower())]
    if len(found) == 1:
        return SectionRef(ref, f"{found[0]}::{int(sequence)}")
    if found:
        return SectionRef(ref, None, f"ambiguous: {', '.join(found[:_SHOWN])}")
    return SectionRef(ref, None, "no document has this hash")


def _given(ref: str, argument: str) -> str:
    name = ref.strip().strip("`'\"").replace("\\", "/") if isinstance(ref, str) else ""
    if not name:
        raise BadArgument(f"{argument} is empty.", f"Leave {argument} out, or give an id, a name or a path.")
    return name.removeprefix("./")


def _places(row: DocumentRow) -> list[_Named]:
    return [_Named(place.path, place.filename, place.source) for place in row.places] or [
        _Named(row.path, row.filename, row.source)
    ]


@dataclass(frozen=True, slots=True)
class _Named:
    path: str
    filename: str
    source: str


def _first_tier(
    rows: Sequence[Row], tiers: Sequence[Callable[[Row], bool]], name: str, names: Callable[[Row], list[str]]
) -> list[Row]:
    """Rows of the first rule that matches any; among several those written exactly alike, if there are some."""
    for tier in tiers:
        found = [row for row in rows if tier(row)]
        if len(found) > 1:
            found = [row for row in found if name in names(row)] or found
        if found:
            return found
    return []


def _ends_with(path: str, lowered: str) -> bool:
    """Whether a path ends with whole components; the last may lack its ending."""
    folded = path.casefold()
    wanted = lowered.strip("/")
    if not folded or not wanted:
        return False
    stem = str(PurePosixPath(folded).with_suffix("")) if PurePosixPath(folded).name else folded
    return any(whole == wanted or whole.endswith("/" + wanted) for whole in (folded, stem))


def _is_prefix(name: str, hashed: str) -> bool:
    return bool(_HEX.fullmatch(name.lower())) and hashed.startswith(name.lower())


def _ambiguous(argument: str, name: str, candidates: Sequence[str]) -> Unresolved:
    shown = "; ".join(candidates[: 2 * _SHOWN])
    more = f"; and {len(candidates) - 2 * _SHOWN} more" if len(candidates) > 2 * _SHOWN else ""
    message = f"{argument} {name!r} matches {len(candidates)}: {shown}{more}."
    return Unresolved(message, "Give the path, or the id.", candidates=candidates)


def _missing(argument: str, kind: str, name: str, names: Iterable[str]) -> Unresolved:
    near = near_names(name, names)
    hint = (
        f"Near: {', '.join(near)}."
        if near
        else f"No {kind} has a similar name; list them with get_folder_toc."
    )
    return Unresolved(f"{argument} {name!r} matches no {kind}.", hint)


def near_names(name: str, names: Iterable[str], *, count: int = _SHOWN) -> list[str]:
    """Names that look like `name`, the nearest first, without regard to case."""
    by_fold: dict[str, str] = {}
    for candidate in names:
        by_fold.setdefault(candidate.casefold(), candidate)
    lowered = name.casefold()
    close = difflib.get_close_matches(lowered, by_fold, n=count, cutoff=0.6)
    holding = [key for key in by_fold if lowered in key and key not in close] if len(lowered) > 2 else []
    return [by_fold[key] for key in [*close, *holding][:count]]
