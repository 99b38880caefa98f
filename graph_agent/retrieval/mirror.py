"""The visible graph mirrored in this process, refreshed when the graph's version has changed.

The graph is the truth; what is here can always be made again. A refresh costs by what changed: texts that
came are read (postings from the server's shared cache, or computed), texts that left are masked.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph_agent.retrieval.corpus import (
    Corpus,
    changed_corpus,
    with_vectors,
    without_vectors,
)
from graph_agent.retrieval.loading import (
    languages_of,
    load_documents,
    load_folders,
    load_postings,
    load_vectors,
)
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import search as statements

_PASSAGES_KEPT = 30_000  # some 45 MB of text at most
_RECHECK_S = 3.0  # how often a search asks for vectors that were still to come


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it is shown."""

    chunk_id: str
    text: str
    section_id: str = ""
    section_title: str = ""
    level: int = 0
    kind: str = ""
    breadcrumb: tuple[str, ...] = ()
    start_line: int | None = None
    page: int | None = None


class CorpusSource(Protocol):
    """Where a search takes its corpus and its texts from."""

    def current(self) -> Corpus:
        """The corpus as it is now."""

    def passages(self, chunk_ids: Sequence[str]) -> dict[str, Passage]:
        """Passages by chunk id; what is gone is left out."""


class Mirror:
    """Keeps a `Corpus` in step with a graph. Safe between threads."""

    def __init__(self, graph: DocumentGraph, *, vector_limit: int) -> None:
        """A mirror that is empty until it is first asked.

        Args:
            graph: the graph.
            vector_limit: chunks above which no vectors are held here (the engine searches them).
        """
        self._graph = graph
        self._limit = vector_limit
        self._corpus = Corpus(version=-1)
        self._cuts: dict[str, str] = {}
        self._model: tuple[str, int] = ("", 0)
        self._checked = -_RECHECK_S
        self._pending = False
        self._lock = threading.Lock()
        self._texts = _PassageCache()

    @property
    def model(self) -> tuple[str, int]:
        """Name and dimension of the embedding model that the graph's vectors are of; ("", 0) without."""
        return self._model

    def current(self) -> Corpus:
        """The corpus at the graph's present version.

        Raises:
            EngineUnavailable: the engine does not answer; an old picture is never passed off as current.
        """
        version = self._graph.version()
        corpus = self._corpus
        if version == corpus.version and not self._vectors_due():
            return corpus
        with self._lock:
            if version != self._corpus.version:
                version = self._graph.version()  # while we waited, another thread may have gone further
            if version != self._corpus.version:
                self._refresh(version)
            if self._vectors_due():
                self._load_vectors()
            return self._corpus

    def passages(self, chunk_ids: Sequence[str]) -> dict[str, Passage]:
        """Texts of chunks, kept from earlier searches where possible: chunks never change."""
        found, missing = self._texts.get(chunk_ids)
        if missing:
            fresh = {
                str(row["id"]): Passage(
                    chunk_id=str(row["id"]),
                    text=str(row["text"] or ""),
                    section_id=str(row["section_id"] or ""),
                    section_title=str(row["title"] or ""),
                    level=int(row["level"] or 0),
                    kind=str(row["kind"] or ""),
                    breadcrumb=tuple(row["breadcrumb"] or ()),
                    start_line=row["start_line"],
                    page=row["page"] if row["page"] is not None else row["page_start"],
                )
                for row in self._graph.read(statements.PASSAGES, {"ids": missing}).dicts()
            }
            self._texts.put(fresh)
            found.update(fresh)
        return found

    def _vectors_due(self) -> bool:
        """Whether vectors are still to come, and were not asked for just now."""
        return self._pending and time.monotonic() - self._checked > _RECHECK_S

    def _refresh(self, version: int) -> None:
        # The version is read before the data: a change in between only means one more refresh.
        documents, cuts = load_documents(self._graph)
        folders = load_folders(self._graph, documents)
        removed = [name for name, cut in self._cuts.items() if cuts.get(name) != cut]
        wanted = {name: cut for name, cut in cuts.items() if self._cuts.get(name) != cut}
        added = dict(load_postings(self._graph, wanted, languages_of(documents)))
        # Until they are loaded, also when that fails; before the new picture shows, so that nobody takes it without
        self._pending, self._checked = True, -_RECHECK_S
        self._corpus = changed_corpus(
            self._corpus, version=version, documents=documents, folders=folders, added=added, removed=removed
        )
        self._cuts = cuts
        if removed:
            self._texts.clear()

    def _load_vectors(self) -> None:
        rows = self._graph.read(statements.EMBEDDING_MODEL).rows
        model = (str(rows[0][0] or ""), int(rows[0][1] or 0)) if rows else ("", 0)
        corpus = self._corpus
        if model != self._model or model[1] == 0 or corpus.index.count > self._limit:
            corpus = without_vectors(corpus)
        self._model = model
        if model[1] and corpus.index.count <= self._limit:
            pending = {
                name: (self._cuts.get(name, ""), [corpus.chunk_id(row) for row in span])
                for name, span in corpus.spans.items()
                if len(span) and not corpus.has_vector[span.start : span.stop].all()
            }
            blocks = dict(load_vectors(self._graph, pending, model=model[0], dimension=model[1]))
            corpus = with_vectors(corpus, blocks, model[1])
            self._pending = not corpus.coverage.complete
        else:
            self._pending = False
        self._checked = time.monotonic()
        self._corpus = corpus


class MemorySource:
    """A corpus and its passages given once: for measuring retrieval without an engine."""

    def __init__(self, corpus: Corpus, passages: Iterable[Passage]) -> None:
        self._corpus = corpus
        self._passages = {passage.chunk_id: passage for passage in passages}

    def current(self) -> Corpus:
        """The corpus given."""
        return self._corpus

    def passages(self, chunk_ids: Sequence[str]) -> dict[str, Passage]:
        """Passages by chunk id."""
        return {name: self._passages[name] for name in chunk_ids if name in self._passages}


class _PassageCache:
    """The passages shown last, by chunk id."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Passage] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, names: Sequence[str]) -> tuple[dict[str, Passage], list[str]]:
        """What is kept of `names`, and the names that are not."""
        found: dict[str, Passage] = {}
        missing: list[str] = []
        with self._lock:
            for name in names:
                passage = self._kept.get(name)
                if passage is None:
                    missing.append(name)
                else:
                    found[name] = passage
                    self._kept.move_to_end(name)
        return found, missing

    def put(self, passages: Mapping[str, Passage]) -> None:
        """Keep passages, letting go of those not asked for longest."""
        with self._lock:
            self._kept.update(passages)
            while len(self._kept) > _PASSAGES_KEPT:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._kept.clear()
