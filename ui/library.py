"""The folders and documents there are, as a tree, narrowed by words, labels and dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graph_agent.errors import RetryableError
from graph_agent.ui.wording import shortened

if TYPE_CHECKING:
    from graph_agent.retrieval import Corpus, DocumentRow

MAX_DOCUMENTS = 500  # shown at once; more say so and are found by narrowing


@dataclass
class Branch:
    """A folder of the tree; `documents` are directly in it, `total` those below it that are shown or hidden."""

    folder_id: str
    name: str
    path: str
    is_root: bool = False
    branches: list[Branch] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
    total: int = 0


@dataclass(frozen=True)
class Library:
    """What the tree shows.

    Attributes:
        matching: documents that the filters leave, of `all_documents`.
        hidden: of those, how many are not shown for their number.
        narrowed: whether any filter is set.
    """

    roots: Sequence[Branch] = ()
    matching: int = 0
    all_documents: int = 0
    hidden: int = 0
    narrowed: bool = False
    problem: str = ""


def library(
    corpus: Corpus, *, words: str = "", labels: Sequence[str] = (), date_from: str = "", date_to: str = ""
) -> Library:
    """The tree of documents.

    Args:
        corpus: the visible documents.
        words: all must stand in title, path or file name.
        labels: `facet=value`; values of a facet are alternatives, facets must all hold.
        date_from: first day, YYYY-MM-DD.
        date_to: last day.
    """
    from graph_agent.retrieval.scope import build_scope

    chosen: dict[str, list[str]] = {}
    for label in labels:
        facet, _, value = label.partition("=")
        chosen.setdefault(facet, []).append(value)
    try:
        scope = build_scope(
            corpus, labels=chosen or None, date_from=date_from or None, date_to=date_to or None
        )
    except RetryableError as error:
        return Library(all_documents=len(corpus.documents), narrowed=True, problem=str(error))
    wanted = words.casefold().split()
    matching = [
        row for row in corpus.documents if row.content_hash in scope.documents and _holds(row, wanted)
    ]
    narrowed = bool(wanted or chosen or date_from or date_to)
    roots = _tree(corpus, matching[:MAX_DOCUMENTS])
    return Library(
        roots, len(matching), len(corpus.documents), max(0, len(matching) - MAX_DOCUMENTS), narrowed
    )


def _holds(row: DocumentRow, words: Sequence[str]) -> bool:
    text = f"{row.title} {row.path} {row.filename}".casefold()
    return all(word in text for word in words)


def _tree(corpus: Corpus, documents: Sequence[DocumentRow]) -> list[Branch]:
    branches = {
        row.folder_id: Branch(
            row.folder_id, row.name, row.path, row.parent_id is None, total=len(row.documents)
        )
        for row in corpus.folders
    }
    for document in documents:
        homes = {place.folder_id for place in document.places}
        for home in homes:
            if home in branches:
                branches[home].documents.append(document)
    roots: list[Branch] = []
    for row in corpus.folders:
        parent = branches.get(row.parent_id or "")
        (parent.branches if parent is not None else roots).append(branches[row.folder_id])
    return [root for root in roots if _pruned(root)]


def _pruned(branch: Branch) -> bool:
    """Take empty branches away; whether anything is left of this one."""
    branch.branches = [child for child in branch.branches if _pruned(child)]
    branch.documents.sort(key=lambda row: (row.filename.casefold(), row.path))
    return bool(branch.branches or branch.documents)


def labels_of(row: DocumentRow) -> list[str]:
    """`facet: value` of a document's labels."""
    return [shortened(f"{facet}: {value}", 60) for facet, values in row.labels.items() for value in values]
