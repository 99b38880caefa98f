"""Which documents and folders there are, without the search index: for tools that only list and read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph_agent.errors import NotFound
from graph_agent.retrieval.corpus import Corpus, DocumentRow, FolderRow
from graph_agent.retrieval.documents import Unresolved, resolve_document, resolve_folder
from graph_agent.retrieval.loading import load_documents, load_folders
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import navigation as statements
from graph_agent.tools.openings import opening

OPENING_CHARS = 160
UNVERSIONED_S = 5.0  # how long a listing of a graph without graph_version is used


@dataclass(frozen=True)
class _Picture:
    """A corpus with what finds documents by filename in it.

    Attributes:
        filenames: documents by filename, in lower case.
        paths: all paths, in lower case.
        openings: first sentences of texts by markdown hash, as far as they were asked for; "" where there is none.
    """

    corpus: Corpus
    filenames: Mapping[str, Sequence[DocumentRow]]
    paths: frozenset[str]
    openings: dict[str, str]


class Listing:
    """The visible documents and folders, read again when the graph's version has changed."""

    def __init__(self, graph: DocumentGraph) -> None:
        self._graph = graph
        self._lock = threading.Lock()
        self._picture: _Picture | None = None
        self._read_at = 0.0

    def current(self) -> Corpus:
        """Documents, folders and text hashes as they are now; nothing to search in.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        return self._current().corpus

    def document(self, reference: str) -> DocumentRow | str:
        """The document that an identifier names, or a line that says that there is none.

        Raises:
            NotFound: several match; lists them. BadArgument: the identifier is blank.
        """
        picture = self._current()
        name = reference.strip()
        rows = picture.filenames.get(name.casefold(), ())
        # Models name documents by filename over and over; a filename that is nobody's hash or path means
        # the same by every rule, and going through a thousand documents by each takes its time.
        if len(rows) == 1 and name.casefold() not in picture.paths and name not in picture.corpus.by_hash:
            return rows[0]
        try:
            return resolve_document(picture.corpus, reference)
        except Unresolved as error:
            return _absent(picture.corpus, error, "document")

    def folder(self, reference: str) -> FolderRow | str:
        """The folder that an identifier names, or a line that says that there is none.

        Raises:
            NotFound: several match; lists them. BadArgument: the identifier is blank.
        """
        corpus = self.current()
        try:
            return resolve_folder(corpus, reference)
        except Unresolved as error:
            return _absent(corpus, error, "folder")

    def openings(self, hashes: Iterable[str]) -> Mapping[str, str]:
        """The first sentence of each text, from its first sections that have one; asked once of each text.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        known = self._current().openings
        missing = sorted(set(hashes) - known.keys())
        if missing:
            found: dict[str, str] = dict.fromkeys(missing, "")
            for row in self._graph.read(statements.OPENINGS, {"hashes": missing}).dicts():
                name = str(row["hash"])
                found[name] = found[name] or opening(row["opening"], characters=OPENING_CHARS)
            known.update(found)
        return known

    def _current(self) -> _Picture:
        version = self._graph.version()
        with self._lock:
            known = self._picture
            old = version == 0 and time.monotonic() - self._read_at > UNVERSIONED_S
            if known is None or known.corpus.version != version or old:
                # A hash names its text, so what was told of it stays true; without versions nothing is certain.
                told = known.openings if known is not None and version else {}
                known = _read(self._graph, version, told)
                self._picture, self._read_at = known, time.monotonic()
            return known


def nothing_ingested(graph: str) -> str:
    """What to say when there are no documents at all."""
    return (
        f"No documents found: nothing has been ingested into the graph {graph!r}. "
        "Ingest a folder with: graph-agent ingest FOLDER"
    )


def _read(graph: DocumentGraph, version: int, told: Mapping[str, str]) -> _Picture:
    documents, _ = load_documents(graph)
    folders = load_folders(graph, documents)
    filenames: dict[str, dict[str, DocumentRow]] = {}
    paths: set[str] = set()
    for row in documents:
        for place in row.places:
            filenames.setdefault(place.filename.casefold(), {})[row.content_hash] = row
            paths |= {place.path.casefold(), place.source.casefold()}
    corpus = Corpus(
        version=version,
        documents=tuple(sorted(documents, key=lambda row: (row.path, row.content_hash))),
        folders=tuple(sorted(folders, key=lambda row: (row.path, row.folder_id))),
        spans={row.markdown_hash: range(0) for row in documents},
    )
    by_name = {name: tuple(rows.values()) for name, rows in filenames.items()}
    openings = {name: text for name, text in told.items() if name in corpus.spans}
    return _Picture(corpus, by_name, frozenset(paths), openings)


def _absent(corpus: Corpus, error: Unresolved, kind: str) -> str:
    if not error.is_absent:
        raise NotFound(error.message, error.fix) from None
    return f"No {kind} found: {error.message} Searched {len(corpus.documents)} documents. {error.fix}"
