"""What all pages of one server share: the graph, its tools, the agent, conversations, the sync behind them."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_agent.errors import ConfigurationError
from graph_agent.store.queries import pages as statements
from graph_agent.ui.answering import Answering, Asking
from graph_agent.ui.conversations import ConversationStore
from graph_agent.ui.ingestion import Ingestion, Job
from graph_agent.ui.query_history import QueryHistory
from graph_agent.ui.questions import Questions
from graph_agent.ui.results import Results

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.retrieval import Corpus
    from graph_agent.settings import Settings
    from graph_agent.store import DocumentGraph
    from graph_agent.tools import ToolContext
    from graph_agent.ui.turn import Turn

CONVERSATIONS = "chats.sqlite"
UPLOADS = "uploads"


@dataclass(frozen=True, slots=True)
class Root:
    """A folder, zip or file that was ingested."""

    folder_id: str
    name: str
    path: str
    kind: str


class Workspace:
    """One graph as the pages see it; safe to share between threads.

    Args:
        settings: the settings.
        graph: the graph; it stays the caller's to close.
        sample: documents that a first visitor may load, None when there are none.
        shared: several people use this server, so nobody may name folders of its machine.
    """

    def __init__(
        self, settings: Settings, graph: DocumentGraph, *, sample: Path | None = None, shared: bool = False
    ) -> None:
        self.settings = settings
        self.graph = graph
        self.sample = sample
        self.shared = shared
        self.conversations = ConversationStore(settings.data / CONVERSATIONS)
        self.history = QueryHistory(settings.data / CONVERSATIONS)
        self.ingestion = Ingestion(graph, self._load_embedder)
        self.answering = Answering(self)
        self.questions = Questions(self)
        self.results = Results()
        self.active: dict[str, tuple[Turn, Asking]] = {}
        self._lock = threading.RLock()
        self._embedder: Embedder | None = None
        self._tools: ToolContext | None = None

    @property
    def uploads(self) -> Path:
        """Where uploaded files are kept."""
        return self.settings.data / UPLOADS

    @property
    def staging(self) -> Path:
        """Where the web server puts uploads before they are looked at."""
        return self.settings.data / "cache" / "uploads"

    @property
    def tools(self) -> ToolContext:
        """The tools' context; the embedding model is loaded with it."""
        with self._lock:
            if self._tools is None:
                from graph_agent.retrieval import Retriever
                from graph_agent.tools import ToolContext

                retriever = Retriever(self.graph, self._load_embedder(), self.settings)
                self._tools = ToolContext(self.graph, retriever, self.settings)
            return self._tools

    def corpus(self) -> Corpus:
        """The visible documents now."""
        return self.tools.retriever.corpus()

    def is_empty(self) -> bool:
        """Whether there is no document at all."""
        return not self.graph.read(statements.ANY_DOCUMENT).rows

    def roots(self) -> list[Root]:
        """What was ingested, by path."""
        return [
            Root(row["folder_id"], row["name"] or "", row["path"] or "", row["kind"] or "")
            for row in self.graph.read(statements.KNOWN_ROOTS).dicts()
        ]

    def load_sample(self) -> Job:
        """Begin to read the sample documents; returns at once.

        Raises:
            ConfigurationError: this server has none.
            SyncInProgress: another sync is running.
        """
        if self.sample is None:
            raise ConfigurationError("This server has no sample documents.", "Start it with --sample FOLDER.")
        return self.ingestion.sync([self.sample], "Sample documents")

    def sync_roots(self) -> Job:
        """Begin to bring all that was ingested into step with the files; returns at once.

        Raises:
            ConfigurationError: nothing was ingested yet.
            SyncInProgress: another sync is running.
        """
        roots = self.roots()
        if not roots:
            raise ConfigurationError("There is nothing to sync yet.", "Add documents first.")
        # Each under the name it was ingested with: another name would make another root of it.
        return self.ingestion.sync_each([(Path(root.path), root.name) for root in roots], "Sync")

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """A tool's artifact.

        Raises:
            GraphAgentError: as the tool does.
        """
        from graph_agent.tools import call_tool

        return call_tool(self.tools, name, arguments or {}).artifact

    def warm(self) -> None:
        """Load in the background what the first question would wait for; returns at once."""

        def load() -> None:
            self.tools.warm()
            self.corpus()
            self.answering.warm()
            asyncio.run(self.questions.forget_left())
            # What is loaded now stays. Left where it is, each full collection of garbage goes through all of it and
            # holds up every thread for 150 ms.
            gc.collect()
            gc.freeze()

        threading.Thread(target=load, name="warming", daemon=True).start()

    def close(self) -> None:
        """Stop what runs and close what is open."""
        self.ingestion.stop()
        self.answering.close()
        self.ingestion.wait(10.0)
        self.conversations.close()
        self.history.close()

    def _load_embedder(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                from graph_agent.embeddings import load_embedder

                self._embedder = load_embedder(self.settings)
            return self._embedder
