"""What the machine itself costs: the time of a question less what its tools and its model took.

    python -m graph_agent.evals.bench.agent_overhead [--questions 60] [--json FILE]

The sample corpus, a model that answers at once, every stage of a question about facts; checkpoints, events and
the check of the answer are part of the overhead.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from graph_agent.agent import GraphAgent
from graph_agent.embeddings import load_embedder
from graph_agent.evals.adapters import load_set
from graph_agent.evals.bench.measurement import Measurement, hand_over, parser
from graph_agent.ingest import sync
from graph_agent.retrieval import Retriever
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext
from graph_agent.vector_cache import VectorCache

BAR_MS = 60.0
PLAN = {
    "question": "", "language": "en", "kind": "fact", "cypher": False, "cypher_reason": "", "search": True,
    "search_reason": "some text says it", "read": False, "read_reason": "", "phrases": [], "node_labels": [],
    "folder": "", "document": "", "labels": [], "date_from": "", "date_to": "",
}  # fmt: skip
_PASSAGE = re.compile(r"<<data passage (\d+) (\w+)>>\n(.*?)\n<<end \2>>", re.DOTALL)


class Clock:
    """Seconds spent in tools and in the model."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - began


class InstantModel(BaseChatModel):
    """Plans a search, then quotes the first sentence of the first passage."""

    clock: Any

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> str:
        if options.get("response_format"):
            return json.dumps(PLAN)
        passage = _PASSAGE.search("\n".join(str(message.content) for message in messages))
        if passage is None:
            return "NOT_IN_DOCUMENTS\nNothing was given."
        lines = [line for line in passage[3].split("\n")[1:] if line and line[0] not in "#|>"]
        return f"{(lines or ['It is there.'])[0]} [{passage[1]}]"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:  # fmt: skip
        with self.clock.running():
            return ChatResult(
                generations=[ChatGeneration(message=AIMessage(content=self._reply(messages, options)))]
            )

    async def _agenerate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:  # fmt: skip
        return self._generate(messages, **options)

    async def _astream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any) -> AsyncIterator[ChatGenerationChunk]:  # fmt: skip
        with self.clock.running():
            text = self._reply(messages, options)
        for piece in re.findall(r"\S+\s*", text):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


def measure(data: Path, count: int, cache: Path) -> list[Measurement]:
    """Overhead of each question, after a warm-up."""
    settings = Settings(data=data, graph="sample")
    chosen = load_set("sample")
    embedder = load_embedder(settings)
    embedder._cache = VectorCache(cache / "bench-vectors.sqlite")
    clock = Clock()
    overheads, walls = [], []
    with DocumentGraph.open(settings) as graph:
        sync(graph, embedder, [str(chosen.corpus)])
        context = ToolContext(graph, Retriever(graph, embedder, settings), settings)
        with GraphAgent(graph, settings, model=InstantModel(clock=clock), tool_context=context) as agent:
            toolbox: Any = agent.services.toolbox
            call = toolbox.call

            async def timed(*given: Any, **more: Any) -> Any:
                with clock.running():
                    return await call(*given, **more)

            toolbox.call = timed
            agent.ask("Warm up: who runs the ferries?")
            for question in chosen.questions[:count]:
                before, began = clock.seconds, time.perf_counter()
                response = agent.ask(question.question)
                walls.append(time.perf_counter() - began)
                overheads.append(walls[-1] - (clock.seconds - before))
                if response.error is not None or response.mode != "model":
                    raise AssertionError(f"{question.id}: {response.error or response.mode}")
    median = 1_000 * statistics.median(overheads)
    return [
        Measurement("agent overhead without model and tools", round(median, 1), "ms", BAR_MS, note=f"median of {len(walls)} questions"),
        Measurement("a question with an instant model", round(1_000 * statistics.median(walls), 1), "ms"),
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    made = parser(__doc__ or "")
    made.add_argument("--questions", type=int, default=60)
    made.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("graph-agent", False)))
    options = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="graph-agent-bench-") as folder:
        found = measure(Path(folder), options.questions, options.cache)
    return hand_over(found, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
