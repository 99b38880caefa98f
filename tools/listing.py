"""Which documents and folders there are, without the search index: for tools that only list and read."""

from __future__ import annotations

import threading
import time
from typing import TypeVar

from graph_agent.errors import NotFound
from graph_agent.retrieval.corpus import Corpus, DocumentRow, FolderRow
from graph_agent.retrieval.documents import Unresolved, resolve_document, resolve_folder
from graph_agent.retrieval.loading import load_documents, load_folders
from graph_agent.store import DocumentGraph

UNVERSIONED_S = 5.0  # how long a listing of a graph without graph_version is used

Found = TypeVar("Found", DocumentRow, FolderRow)


class Listing:
    """The visible documents and folders, read again when the graph's version has changed."""

    def __init__(self, graph: DocumentGraph) -> None:
        self._graph = graph
        self._lock = threading.Lock()
        self._corpus: Corpus | None = None
        self._read_at = 0.0

    def current(self) -> Corpus:
        """Documents, folders and text hashes as they are now; nothing to search in.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        version = self._graph.version()
        with self._lock:
            known = self._corpus
            old = version == 0 and time.monotonic() - self._read_at > UNVERSIONED_S
            if known is None or known.version != version or old:
                known = self._read(version)
                self._corpus, self._read_at = known, time.monotonic()
            return known

    def _read(self, version: int) -> Corpus:
        documents, _ = load_documents(self._graph)
        folders = load_folders(self._graph, documents)
        return Corpus(
            version=version,
            documents=tuple(sorted(documents, key=lambda row: (row.path, row.content_hash))),
            folders=tuple(sorted(folders, key=lambda row: (row.path, row.folder_id))),
            spans={row.markdown_hash: range(0) for row in documents},
        )


def find_document(corpus: Corpus, reference: str) -> DocumentRow | str:
    """The document that an identifier names, or a line that says that there is none.

    Raises:
        NotFound: several match; lists them. BadArgument: the identifier is blank.
    """
    try:
        return resolve_document(corpus, reference)
    except Unresolved as error:
        return _absent(corpus, error, "document")


def find_folder(corpus: Corpus, reference: str) -> FolderRow | str:
    """The folder that an identifier names, or a line that says that there is none.

    Raises:
        NotFound: several match; lists them. BadArgument: the identifier is blank.
    """
    try:
        return resolve_folder(corpus, reference)
    except Unresolved as error:
        return _absent(corpus, error, "folder")


def nothing_ingested(graph: str) -> str:
    """What to say when there are no documents at all."""
    return (
        f"No documents found: nothing has been ingested into the graph {graph!r}. "
        "Ingest a folder with: graph-agent ingest FOLDER"
    )


def _absent(corpus: Corpus, error: Unresolved, kind: str) -> str:
    if not error.is_absent:
        raise NotFound(error.message, error.fix) from None
    return f"No {kind} found: {error.message} Searched {len(corpus.documents)} documents. {error.fix}"
