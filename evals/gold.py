"""Gold evidence looked up in a graph: which documents, sections, pages and words bear an answer there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from graph_agent.evals.metrics.wording import span_coverage, title_key
from graph_agent.evals.questions import Evidence, Question
from graph_agent.store.queries import evals as statements
from graph_agent.text import fold

if TYPE_CHECKING:
    from graph_agent.retrieval import Corpus, DocumentRow
    from graph_agent.store import DocumentGraph

Level = Literal["document", "section", "page", "span"]
LEVELS: tuple[Level, ...] = ("document", "section", "page", "span")
SPAN_THERE = 0.5  # share of a quote that a passage must hold; a chunk's border may run through the quote
QUOTE_THERE = 0.9  # share of a quote by which its section is recognised
_DOCUMENTS_KEPT = 200


@dataclass(frozen=True)
class Need:
    """One thing that has to be found; any of `keys` is it. Empty keys: the graph does not hold it.

    Attributes:
        keys: content hashes of documents, section ids, or (content hash, page).
        text: the quote, for spans, which are compared by words instead of keys.
        gain: how relevant it is.
    """

    keys: frozenset[str | tuple[str, int]]
    text: str = ""
    gain: float = 1.0


@dataclass(frozen=True)
class Gold:
    """The needs of a question at each level that its evidence speaks of.

    Attributes:
        missing: evidence that is not in the graph, in words.
    """

    needs: dict[Level, tuple[Need, ...]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def finest(self) -> Level | None:
        """The level at which a citation is held against the gold: section, else page, else document."""
        return next((level for level in ("section", "page", "document") if self.needs.get(level)), None)


@dataclass(frozen=True)
class Place:
    """Where something that was found or cited stands."""

    document: str
    section: str = ""
    page: int | None = None
    text: str = ""

    def satisfies(self, need: Need, level: Level) -> bool:
        """Whether this is what was to be found."""
        if level == "document":
            return self.document in need.keys
        if level == "section":
            return self.section in need.keys
        if level == "page":
            return self.page is not None and (self.document, self.page) in need.keys
        return self.document in need.keys and span_coverage(self.text, need.text) >= SPAN_THERE


@dataclass(frozen=True)
class _Section:
    section_id: str
    title: str
    text: str
    parent: str


class GoldIndex:
    """Looks up evidence in the documents of one graph. Safe between threads."""

    def __init__(self, graph: DocumentGraph, corpus: Corpus) -> None:
        """Args:
        graph: where sections are read from.
        corpus: its visible documents.
        """
        self._graph = graph
        self._corpus = corpus
        self._sections: OrderedDict[str, list[_Section]] = OrderedDict()
        self._lock = threading.Lock()
        self._by_path: dict[str, list[DocumentRow]] = {}
        self._by_name: dict[str, list[DocumentRow]] = {}
        for row in corpus.documents:
            for path in {row.path, *(place.path for place in row.places)}:
                self._by_path.setdefault(fold(path), []).append(row)
                name = PurePosixPath(path)
                for key in {fold(name.name), fold(name.stem)}:
                    self._by_name.setdefault(key, []).append(row)

    def documents(self, reference: str) -> list[DocumentRow]:
        """The documents that a reference of the gold names: by path, the path's end, else by file name.

        Documents with the same text are named together: a search shows only one of them.
        """
        key = fold(reference.strip("/"))
        rows = self._by_path.get(key, [])
        if not rows and "/" in key:
            rows = [row for path, found in self._by_path.items() if path.endswith("/" + key) for row in found]
        rows = rows or self._by_name.get(key, [])
        twins = [twin for row in rows for twin in self._corpus.by_text.get(row.markdown_hash, (row,))]
        return list({row.content_hash: row for row in (*rows, *twins)}.values())

    def resolve(self, question: Question) -> Gold:
        """The needs of a question.

        Raises:
            EngineUnavailable: the graph does not answer.
        """
        needs: dict[Level, list[Need]] = {level: [] for level in LEVELS}
        missing: list[str] = []
        for evidence in question.evidence:
            rows = self.documents(evidence.doc)
            hashes = frozenset(row.content_hash for row in rows)
            needs["document"].append(Need(hashes, gain=evidence.gain))
            if not rows:
                missing.append(f"document {evidence.doc}")
            if evidence.page is not None:
                pages = frozenset((name, evidence.page) for name in hashes)
                needs["page"].append(Need(pages, gain=evidence.gain))
            if evidence.text:
                needs["span"].append(Need(hashes, evidence.text, evidence.gain))
            sections = self._sections_of(evidence, rows)
            if sections or evidence.section is not None:
                needs["section"].append(Need(frozenset(sections), gain=evidence.gain))
            if rows and evidence.section is not None and not sections:
                missing.append(f"section {' or '.join(evidence.sections)!r} in {evidence.doc}")
        kept = {level: _distinct(found) for level, found in needs.items() if found}
        return Gold(kept, tuple(dict.fromkeys(missing)))

    def _sections_of(self, evidence: Evidence, rows: Sequence[DocumentRow]) -> list[str]:
        """Ids of the sections that evidence names, or of those that hold its quote."""
        wanted = {title_key(title) for title in evidence.sections}
        if not wanted and not evidence.text:
            return []
        found: list[str] = []
        for name in dict.fromkeys(row.markdown_hash for row in rows):
            sections = self._of_document(name)
            titled = [one for one in sections if title_key(one.title) in wanted]
            candidates = titled if wanted else sections
            if evidence.text:
                holding = _holding(candidates, evidence.text)
                if wanted and not holding:
                    holding = _holding(_below(sections, titled), evidence.text)
                candidates = holding or titled
            found += [one.section_id for one in candidates]
        return found

    def _of_document(self, markdown_hash: str) -> list[_Section]:
        with self._lock:
            if markdown_hash in self._sections:
                self._sections.move_to_end(markdown_hash)
                return self._sections[markdown_hash]
        rows = self._graph.read(statements.SECTIONS, {"hashes": [markdown_hash]}).dicts()
        sections = [
            _Section(row["section_id"], row["title"] or "", row["text"] or "", row["parent"] or "")
            for row in rows
        ]
        with self._lock:
            self._sections[markdown_hash] = sections
            while len(self._sections) > _DOCUMENTS_KEPT:
                self._sections.popitem(last=False)
        return sections


def _holding(sections: Iterable[_Section], quote: str) -> list[_Section]:
    return [one for one in sections if span_coverage(one.text, quote) >= QUOTE_THERE]


def _below(sections: Sequence[_Section], tops: Sequence[_Section]) -> list[_Section]:
    """All sections under some others; parents stand before their children."""
    inside = {one.section_id for one in tops}
    below: list[_Section] = []
    for one in sections:
        if one.parent in inside:
            inside.add(one.section_id)
            below.append(one)
    return below


def _distinct(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Two pieces of evidence in one place are one thing to be found there, worth the more relevant of them."""
    best: dict[tuple[frozenset[str | tuple[str, int]], str], Need] = {}
    for at, need in enumerate(needs):
        # What is missing stays apart: each is a thing that cannot be found.
        key = (need.keys or frozenset({("missing", at)}), need.text)
        if key not in best or best[key].gain < need.gain:
            best[key] = need
    return tuple(best.values())
