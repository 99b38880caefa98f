"""GraphAgent: the machine with its services, for programs: ask, stream, and the conversations behind them.

All questions run on one event loop in a thread of its own. So a caller's loop is never held up by them, sync
and async callers share everything, and the connections of a model's client stay on the loop that opened them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from graph_agent.agent import calculate
from graph_agent.agent.background import BackgroundLoop
from graph_agent.agent.budget import Limits
from graph_agent.agent.calls import ModelCalls
from graph_agent.agent.checkpoints import TidySaver, open_saver, thread_names
from graph_agent.agent.context import AgentContext, Services
from graph_agent.agent.events import AgentEvent, Event, Finished
from graph_agent.agent.extractive import ExtractiveReasoner
from graph_agent.agent.graph import build_graph
from graph_agent.agent.model_reasoner import ModelReasoner
from graph_agent.agent.queueing import OneAtATime
from graph_agent.agent.response import AgentResponse
from graph_agent.agent.state import ScopeChoice, State, Turn
from graph_agent.agent.toolbox import Toolbox
from graph_agent.chat_models.models import chat_model
from graph_agent.errors import BadArgument, EngineUnavailable, NotFound

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from graph_agent.agent.graph import Machine
    from graph_agent.settings import Settings
    from graph_agent.store import DocumentGraph
    from graph_agent.tools import ToolContext

    Model = BaseChatModel | Callable[[], BaseChatModel]

log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_QUESTION = 20_000  # characters


class GraphAgent:
    """Answers questions from one graph. Safe to share between threads and event loops; close it, or use `with`.

    Args:
        graph: the graph; it stays the caller's to close.
        settings: default those of the graph.
        model: a chat model, or what makes one (then one is made for each event loop); default the one that
            the settings name, none for extracts.
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
        model: Model | None = None,
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
        self._unkept = build_graph(self.services)
        self._loop = BackgroundLoop()
        self._forgotten: set[str] = set()
        self._asked = OneAtATime()

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
            thread_id: name of a conversation to go on with, or to begin; with None nothing is kept.
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
        response: AgentResponse | None = None
        with contextlib.closing(self.stream(question, thread_id, scope)) as events:
            for event in events:
                if isinstance(event, Finished):
                    response = event.response
        return _present(response)

    async def astream(
        self, question: str, thread_id: str | None = None, scope: ScopeChoice | None = None
    ) -> AsyncGenerator[AgentEvent]:
        """The events of a question, `Finished` last.

        Raises:
            BadArgument: as for `aask`.
        """
        checked = _checked(question)
        work = self._run({"question": checked, "scope": scope or None}, thread_id)
        async with aclosing(self._loop.follow(work)) as events:
            async for event in events:
                yield event

    def stream(
        self, question: str, thread_id: str | None = None, scope: ScopeChoice | None = None
    ) -> Generator[AgentEvent]:
        """`astream` for callers without an event loop. Leaving the iteration early stops the question."""
        checked = _checked(question)
        return self._loop.iterate(self._run({"question": checked, "scope": scope or None}, thread_id))

    async def aresume(self, thread_id: str) -> AgentResponse:
        """Take up the question of a conversation that was cut off, where it stopped.

        Raises:
            NotFound: the conversation is unknown, or its last question was answered.
        """
        return await self._loop.arun(self._resumed(thread_id))

    def resume(self, thread_id: str) -> AgentResponse:
        """`aresume` for callers without an event loop."""
        return self._loop.run(self._resumed(thread_id))

    async def _resumed(self, thread_id: str) -> AgentResponse:
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

    # Conversations

    def turns(self, thread_id: str) -> list[Turn]:
        """Questions and answers of a conversation, oldest first; none for an unknown one."""
        if self._saver is None:
            return []
        values = cast("State", self._loop.run(self.machine.aget_state(self._config(thread_id))).values)
        return list(values.get("turns") or [])

    def forget(self, thread_id: str, *, derived: bool = False) -> None:
        """Delete a conversation; an unknown one is no error.

        A question that runs in it goes on and is answered, and what it writes is deleted when it ends.

        Args:
            thread_id: name of the conversation.
            derived: also those named after it with a point: `talk.2` and `talk.2.1` of `talk`.
        """
        if self._saver is not None:
            self._loop.run(self._forget(self._saver, thread_id, derived=derived))

    async def _forget(self, saver: BaseCheckpointSaver[Any], thread_id: str, *, derived: bool) -> None:
        threads = {thread_id}
        if derived:
            below = f"{thread_id}."
            threads |= {thread for thread in await thread_names(saver) if thread.startswith(below)}
            threads |= {thread for thread in self._asked.names() if thread.startswith(below)}
        for thread in threads:
            if thread in self._asked:
                self._forgotten.add(thread)
            await saver.adelete_thread(thread)

    def close(self) -> None:
        """Close the conversations, and the graph when `open` opened it. May be called twice."""
        self._loop.stop()
        if self._owns_saver and isinstance(self._saver, TidySaver):
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
        if not thread_id:
            async for event in self._events(self._unkept, given, ""):
                yield event
            return
        last: Finished | None = None
        async with self._asked.alone(thread_id, self.limits.seconds):
            try:
                async with aclosing(self._events(self.machine, given, thread_id)) as events:
                    async for event in events:
                        if isinstance(event, Finished):
                            last = event  # told when the conversation is safely kept
                        else:
                            yield event
                if isinstance(self._saver, TidySaver):
                    await asyncio.to_thread(self._saver.forget_steps, thread_id)
            finally:
                if thread_id in self._forgotten and self._saver is not None:
                    await asyncio.shield(self._saver.adelete_thread(thread_id))
                    self._forgotten.discard(thread_id)
        yield _present(last)

    async def _events(
        self, machine: Machine, given: dict[str, Any] | None, thread_id: str
    ) -> AsyncGenerator[AgentEvent]:
        context = AgentContext(services=self.services, limits=self.limits, thread_id=thread_id)
        config: RunnableConfig = self._config(thread_id) if thread_id else {"run_name": "graph-agent"}
        stream = machine.astream(cast("Any", given), config, context=context, stream_mode="custom")
        async with aclosing(cast("AsyncGenerator[Any]", stream)) as events:
            async for event in events:
                if isinstance(event, Event):
                    yield cast("AgentEvent", event)


def make_services(
    graph: DocumentGraph,
    settings: Settings,
    *,
    model: Model | None = None,
    tool_context: ToolContext | None = None,
) -> Services:
    """The tools and reasoners over a graph.

    Raises:
        ConfigurationError: the model of the settings, or a prompt of the user's, is not usable.
    """
    from graph_agent.tools import DocumentGraphToolkit, ToolContext

    context = tool_context or ToolContext(graph, settings=settings)
    tools = [*DocumentGraphToolkit(context=context).get_tools(), calculate.build()]
    return Services(
        settings=settings,
        tool_context=context,
        toolbox=Toolbox(tools),
        extractive=ExtractiveReasoner(context, context.embedder),
        model=_model_reasoner(settings, model),
    )


def _model_reasoner(settings: Settings, model: Model | None) -> ModelReasoner | None:
    from langchain_core.language_models import BaseChatModel

    if model is None and not settings.model:
        return None
    if model is None:
        chat_model(settings)  # a wrong name or a missing key is told now, not at the first question
        make: Callable[[], BaseChatModel] = partial(chat_model, settings)
    else:
        make = (lambda: model) if isinstance(model, BaseChatModel) else model
    name = settings.model or "of the caller"
    return ModelReasoner(ModelCalls(make, name), settings.prompts)


def _checked(question: str) -> str:
    if not question.strip():
        raise BadArgument("The question is empty.", "Ask something.")
    if len(question) > MAX_QUESTION:
        raise BadArgument(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are allowed.",
            "Shorten it.",
        )
    return question.strip()


def _present(ended: T | None) -> T:
    if ended is None:
        raise EngineUnavailable("The question ended without a response.", "Ask again.")
    return ended
