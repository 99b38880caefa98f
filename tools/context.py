"""What the tools stand on: one graph, and what is made from it on first use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.store.overview import Overview
from graph_agent.tools.listing import Listing

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.retrieval.search import Retriever
    from graph_agent.store.skeleton import Skeleton
    from graph_agent.tools.result import ToolResult


class ToolContext:
    """A graph with its search and its skeleton; safe to share between threads and tools.

    Args:
        graph: the graph; it stays the caller's to close.
        retriever: search over it; made on first use when not given, so that tools about the schema never
            load the embedding model.
        settings: limits; default those of the graph.
    """

    def __init__(
        self, graph: DocumentGraph, retriever: Retriever | None = None, settings: Settings | None = None
    ) -> None:
        self.graph = graph
        self.settings = settings or graph.settings
        self.overview = Overview(graph)
        self.listing = Listing(graph)
        self.rendered: tuple[Skeleton, int, ToolResult] | None = None  # the overview as last told
        self._retriever = retriever
        self._embedder: Embedder | None = None
        self._lock = threading.RLock()

    @classmethod
    def open(cls, graph: DocumentGraph, settings: Settings | None = None) -> Self:
        """A context for a graph."""
        return cls(graph, settings=settings)

    @property
    def retriever(self) -> Retriever:
        """Search over the graph."""
        with self._lock:
            if self._retriever is None:
                from graph_agent.retrieval.search import Retriever

                self._retriever = Retriever(self.graph, self.embedder, self.settings)
            return self._retriever

    @property
    def embedder(self) -> Embedder:
        """The embedding model of the settings.

        Raises:
            ConfigurationError: there is no such model.
        """
        with self._lock:
            if self._embedder is None:
                from graph_agent.embeddings import load_embedder

                self._embedder = load_embedder(self.settings)
            return self._embedder

    def warm(self) -> None:
        """Start building the skeleton in the background; returns at once. Programs call it when they start."""
        self.overview.warm()
