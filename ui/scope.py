"""The scope of a question: chosen above the input, told in words, checked against the documents there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from graph_agent.errors import RetryableError
from graph_agent.ui.wording import count, shortened

if TYPE_CHECKING:
    from graph_agent.agent.state import ScopeChoice
    from graph_agent.retrieval import Corpus

Choices = list[tuple[str, str]]
MAX_CHOICES = 2_000


@dataclass(frozen=True)
class ScopeInputs:
    """What the inputs hold; ids, and labels as `facet=value`."""

    folder: str = ""
    document: str = ""
    labels: Sequence[str] = ()
    date_from: str = ""
    date_to: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing restricts the question."""
        return not (self.folder or self.document or self.labels or self.date_from or self.date_to)


@dataclass(frozen=True)
class ScopeView:
    """A scope as the agent takes it, and in words.

    Attributes:
        choice: None searches everything.
        chips: (name of the input, words) of each part.
        words: all of it on one line, "" for everything.
        documents: how many documents are in it.
        problem: why it cannot be used.
    """

    choice: ScopeChoice | None = None
    chips: list[tuple[str, str]] = field(default_factory=list)
    words: str = ""
    documents: int = 0
    problem: str = ""


def inputs_from(folder: Any, document: Any, labels: Any, date_from: Any, date_to: Any) -> ScopeInputs:
    """The inputs as a page sends them: absent ones may be None or ""."""
    return ScopeInputs(
        folder=str(folder or ""),
        document=str(document or ""),
        labels=tuple(str(label) for label in labels or ()),
        date_from=str(date_from or "").strip(),
        date_to=str(date_to or "").strip(),
    )


def folder_choices(corpus: Corpus) -> Choices:
    """Folders by path, with how many documents each holds."""
    return [
        (f"{row.path or row.name} ({len(row.documents)})", row.folder_id)
        for row in corpus.folders[:MAX_CHOICES]
        if row.documents
    ]


def document_choices(corpus: Corpus) -> Choices:
    """Documents by path."""
    return [
        (f"{shortened(row.title or row.filename, 60)} · {row.path}", row.content_hash)
        for row in corpus.documents[:MAX_CHOICES]
    ]


def label_choices(corpus: Corpus) -> Choices:
    """Label values by facet, with how many documents carry each."""
    return [
        (f"{facet}: {value} ({number})", f"{facet}={value}")
        for facet, values in corpus.facets.items()
        for value, number in values.items()
    ]


def scope_view(corpus: Corpus, given: ScopeInputs) -> ScopeView:
    """The scope that the inputs make; one that is not usable has a `problem` and no choice."""
    from graph_agent.retrieval.scope import build_scope

    if given.is_empty:
        return ScopeView(documents=len(corpus.documents))
    labels: dict[str, list[str]] = {}
    for label in given.labels:
        facet, _, value = label.partition("=")
        labels.setdefault(facet, []).append(value)
    choice: dict[str, Any] = {}
    chips: list[tuple[str, str]] = []
    if given.folder:
        choice["folder"] = given.folder
        folder = next((row for row in corpus.folders if row.folder_id == given.folder), None)
        chips.append(("folder", f"Folder {(folder.path or folder.name) if folder else given.folder}"))
    if given.document:
        choice["document"] = given.document
        row = corpus.by_hash.get(given.document)
        chips.append(("document", (row.title or row.filename) if row else given.document))
    if labels:
        choice["labels"] = labels
        chips.append(
            ("labels", "; ".join(f"{facet}: {', '.join(values)}" for facet, values in labels.items()))
        )
    for name, word in (("date_from", "from"), ("date_to", "until")):
        if value := getattr(given, name):
            choice[name] = value
            chips.append((name, f"{word} {value}"))
    words = " · ".join(text for _, text in chips)
    try:
        scope = build_scope(corpus, **choice)
    except RetryableError as error:
        return ScopeView(None, chips, words, 0, str(error))
    problem = (
        ""
        if scope.documents
        else f"Nothing can be searched: {scope.problem or 'no document is in this scope'}."
    )
    return ScopeView(cast("ScopeChoice", choice), chips, words, len(scope.documents), problem)


def told(view: ScopeView) -> str:
    """How many documents a question will look at, in words."""
    return view.problem or count(view.documents, "document")
