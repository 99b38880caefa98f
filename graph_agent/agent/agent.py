"""GraphAgent: the machine with its services, for programs: ask, stream, and the conversations behind them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from uuid import uuid4

from graph_agent.agent import calculate
from graph_agent.agent.budget import Limits
from graph_agent.agent.calls import ModelCalls
from graph_agent.agent.checkpoints import ConversationSaver, open_saver
from graph_agent.agent.context import AgentContext, Services
from graph_agent.agent.events import AgentEvent, Event, Finished
from graph_agent.agent.extractive import ExtractiveReasoner
from graph_agent.agent.graph import build_graph
from graph_agent.agent.model_reasoner import ModelReasoner
from graph_agent.agent.models import chat_model
from graph_agent.agent.response import AgentResponse
from graph_agent.agent.state import ScopeChoice, State, Turn
from graph_agent.agent.toolbox import Toolbox
from graph_agent.errors import BadArgument, EngineUnavailable, NotFound

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from graph_agent.settings import Settings
    from graph_agent.store import DocumentGraph
    from graph_agent.tools import ToolContext

log = logging.getLogger(__name__)

MAX_QUESTION = 20_000  # characters
T = TypeVar("T")


class GraphAgent:
    """Answers questions from one graph. Safe to share between threads and event loops; close it, or use `with`.

    Args:
        graph: the graph; it stays the caller's to close.
        settings: default those of the graph.
        model: a chat model; default the one that the settings name, none for extracts.
        tool_context: share the search and skeleton with other parts of the program.
        checkpointer: keeps conversations; None opens the settings' own, False keeps none.
        limits: what a question may cost; default the settings'.

    Raises:
        ConfigurationError: the model or the place for conversations is not usable.
    """

    def __init__(
        self,
        graph: DocumentGraph,
        settings: Settings | None = None,
        *,
        model: BaseChatModel | None = None,
        tool_context: ToolContext | None = None,
        checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.settings = settings or graph.settings
        self.services = make_services(graph, self.settings, model=model, tool_context=tool_context)
        self.limits = limits or Limits.from_settings(self.settings)
        self._owns_saver = checkpointer is None or checkpointer is True
        self._saver: BaseCheckpointSaver[Any] | None
        if isinstance(checkpointer, bool) or checkpointer is None:
            self._saver = None if checkpointer is False else open_saver(self.settings)
        else:
            self._saver = checkpointer
        self.machine = build_graph(self.services, checkpointer=self._saver)
        self._loop = _BackgroundLoop()
        self._busy: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    @classmethod
    def open(cls, settings: Settings, **options: Any) -> Self:
        """Open the settings' graph and an agent over it; closing the agent closes both.

        Raises:
            ConfigurationError, EngineUnavailable: as for DocumentGraph.open.
        """
        from graph_agent.store import DocumentGraph

        graph = DocumentGraph.open(settings)
        try:
            agent = cls(graph, settings, **options)
        except BaseException:
            graph.close()
            raise
        agent._owned_graph = graph
        return agent

    _owned_graph: DocumentGraph | None = None

    @property
    def mode(self) -> str:
        """`model`, or `extractive` when no model is configured."""
        return "extractive" if self.services.model is None else "model"

    # Asking

    async def aask(
        self, question: str, thread_id: str | None = None, scope: ScopeChoice | None = None
    ) -> AgentResponse:
        """Answer a question.

        Args:
            question: in any language.
            thread_id: name of a conversation to go on with, or to begin; None begins one of its own.
            scope: what to search: {folder, document, paths, labels, date_from, date_to}.

        Raises:
            BadArgument: the question is empty or too long, or the scope names nothing.
        """
        response: AgentResponse | None = None
        async with aclosing(self.astream(question, thread_id, scope)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    response = event.response
        return _present(response)

    def ask(
        self, question: str, thread_id: str | None = None, scope: ScopeChoice | None = None
    ) -> AgentResponse:
        """`aask` for callers without an event loop, or inside one: it runs on a loop of its own."""
        return self._loop.run(self.aask(question, thread_id, scope))

    async def astream(
        self, question: str, thread_id: str | None = None, scope: ScopeChoice | None = None
    ) -> AsyncGenerator[AgentEvent]:
        """The events of a question, `Finished` last.

        Raises:
            BadArgument: as for `aask`.
        """
        checked = _checked(question)
        async with aclosing(self._run({"question": checked, "scope": scope or None}, thread_id)) as events:
            async for event in events:
                yield event

    def stream(
        self, question: str, thread_id: str | None = None, scope: ScopeChoice | None = None
    ) -> Iterator[AgentEvent]:
        """`astream` for callers without an event loop. Leaving the iteration early stops the question."""
        return self._loop.iterate(self.astream(question, thread_id, scope))

    async def aresume(self, thread_id: str) -> AgentResponse:
        """Take up the question of a conversation that was cut off, where it stopped.

        Raises:
            NotFound: the conversation is unknown, or its last question was answered.
        """
        snapshot = await self.machine.aget_state(self._config(thread_id))
        if not snapshot.next:
            raise NotFound(
                f"The conversation {thread_id!r} has no question that was cut off.", "Ask a new one."
            )
        response: AgentResponse | None = None
        async with aclosing(self._run(None, thread_id)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    response = event.response
        return _present(response)

    def resume(self, thread_id: str) -> AgentResponse:
        """`aresume` for callers without an event loop."""
        return self._loop.run(self.aresume(thread_id))

    # Conversations

    def turns(self, thread_id: str) -> list[Turn]:
        """Questions and answers of a conversation, oldest first; none for an unknown one."""
        if self._saver is None:
            return []
        values = cast("State", self._loop.run(self.machine.aget_state(self._config(thread_id))).values)
        return list(values.get("turns") or [])

    def forget(self, thread_id: str) -> None:
        """Delete a conversation; an unknown one is no error."""
        if self._saver is not None:
            self._loop.run(self._saver.adelete_thread(thread_id))

    def close(self) -> None:
        """Close the conversations, and the graph when `open` opened it. May be called twice."""
        self._loop.stop()
        if self._owns_saver and isinstance(self._saver, ConversationSaver):
            self._saver.close()
        if self._owned_graph is not None:
            self._owned_graph.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _config(self, thread_id: str) -> RunnableConfig:
        return {"configurable": {"thread_id": thread_id}, "run_name": "graph-agent"}

    async def _run(self, given: dict[str, Any] | None, thread_id: str | None) -> AsyncGenerator[AgentEvent]:
        thread = thread_id or uuid4().hex
        context = AgentContext(services=self.services, limits=self.limits, thread_id=thread)
        last: Finished | None = None
        async with self._alone(thread):
            stream = self.machine.astream(
                cast("Any", given), self._config(thread), context=context, stream_mode="custom"
            )
            async with aclosing(cast("AsyncGenerator[Any]", stream)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        last = event  # told when the conversation is safely kept
                    elif isinstance(event, Event):
                        yield cast("AgentEvent", event)
            if isinstance(self._saver, ConversationSaver):
                await asyncio.to_thread(self._saver.forget_steps, thread)
        if last is None:
            raise EngineUnavailable("The question ended without a response.", "Ask again.")
        yield last

    @contextlib.asynccontextmanager
    async def _alone(self, thread: str) -> AsyncIterator[None]:
        """One question at a time in a conversation; others wait, whatever loop they are on."""
        with self._guard:
            lock = self._busy.setdefault(thread, threading.Lock())
        deadline = time.monotonic() + self.limits.seconds
        while not lock.acquire(blocking=False):
            if time.monotonic() > deadline:
                raise BadArgument(
                    f"The conversation {thread!r} is still busy with another question.",
                    "Wait for it, or begin another.",
                )
            await asyncio.sleep(0.02)
        try:
            yield
        finally:
            lock.release()
            with self._guard:
                if not lock.locked():
                    self._busy.pop(thread, None)


def make_services(
    graph: DocumentGraph,
    settings: Settings,
    *,
    model: BaseChatModel | None = None,
    tool_context: ToolContext | None = None,
) -> Services:
    """The tools and reasoners over a graph.

    Raises:
        ConfigurationError: the model of the settings, or a prompt of the user's, is not usable.
    """
    from graph_agent.embeddings import load_embedder
    from graph_agent.retrieval import Retriever
    from graph_agent.tools import DocumentGraphToolkit, ToolContext

    embedder = load_embedder(settings)
    context = tool_context or ToolContext(graph, Retriever(graph, embedder, settings), settings)
    tools = [*DocumentGraphToolkit(context=context).get_tools(), calculate.build()]
    chosen = model or (chat_model(settings) if settings.model else None)
    name = settings.model or type(model).__name__
    return Services(
        settings=settings,
        tool_context=context,
        toolbox=Toolbox(tools),
        extractive=ExtractiveReasoner(context, embedder),
        model=None if chosen is None else ModelReasoner(ModelCalls(chosen, name), settings.prompts),
    )


def _checked(question: str) -> str:
    if not question.strip():
        raise BadArgument("The question is empty.", "Ask something.")
    if len(question) > MAX_QUESTION:
        raise BadArgument(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are allowed.",
            "Shorten it.",
        )
    return question.strip()


def _present(response: AgentResponse | None) -> AgentResponse:
    if response is None:
        raise EngineUnavailable("The question ended without a response.", "Ask again.")
    return response


class _BackgroundLoop:
    """An event loop in a thread of its own, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine; an interrupt of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, events: AsyncGenerator[T]) -> Iterator[T]:
        """The items of an async iterator; leaving early cancels it."""
        items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

        async def pump() -> None:
            try:
                async with aclosing(events) as source:
                    async for item in source:
                        items.put((item, None))
            except BaseException as error:
                items.put((None, error))
                raise
            items.put((None, None))

        future = asyncio.run_coroutine_threadsafe(pump(), self._started())
        try:
            while True:
                item, error = items.get()
                if error is not None:
                    raise error
                if item is None:
                    return
                yield item
        finally:
            if not future.done():
                future.cancel()

    def stop(self) -> None:
        """End the loop; what still runs on it is cancelled."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout=10)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="graph-agent", daemon=True
                )
                self._thread.start()
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
