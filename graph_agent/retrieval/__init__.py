"""A query becomes ranked passages: keywords, vectors, their fusion, scopes, identifiers, snippets."""

from graph_agent.retrieval.corpus import Corpus, Coverage, DocumentRow, FolderRow, Place
from graph_agent.retrieval.documents import (
    SectionRef,
    Unresolved,
    resolve_document,
    resolve_folder,
    resolve_sections,
)
from graph_agent.retrieval.results import MODES, Hit, Mode, SearchResult
from graph_agent.retrieval.scope import Scope
from graph_agent.retrieval.search import Retriever

__all__ = [
    "MODES",
    "Corpus",
    "Coverage",
    "DocumentRow",
    "FolderRow",
    "Hit",
    "Mode",
    "Place",
    "Retriever",
    "Scope",
    "SearchResult",
    "SectionRef",
    "Unresolved",
    "resolve_document",
    "resolve_folder",
    "resolve_sections",
]
