"""The agent behind the pages: it runs in an event loop of its own, so that a page never waits for its work.

A page reads the events of a question as an async iterator. A stop, or leaving the iterator early (a closed tab),
cancels the question's task in the agent's loop, and with it what the model and the engine do for it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graph_agent.errors import ConfigurationError, EngineUnavailable, GraphAgentError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from graph_agent.agent import GraphAgent
    from graph_agent.agent.events import AgentEvent
    from graph_agent.agent.state import ScopeChoice, Turn
    from graph_agent.ui.workspace import Workspace

log = logging.getLogger(__name__)

CLOSE_S = 10.0  # for what runs to end when the server does; a tool's call cannot be broken off


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who answers, for the line that tells it.

    Attributes:
        model: name of the chat model, "" in extractive mode.
        host: host that receives questions and passages, "" when they stay here or it cannot be told.
        local: the host is this machine.
        problem: why the configured model cannot be used.
    """

    model: str = ""
    host: str = ""
    local: bool = False
    problem: str = ""


class Asking:
    """One question that is being worked on; made and read in the page's event loop.

    Attributes:
        stopped: somebody wanted it to end.
        ended: the agent does not work on it: not yet, or not any more.
    """

    def __init__(self) -> None:
        self._here = asyncio.get_running_loop()
        self._queue: asyncio.Queue[AgentEvent | BaseException | None] = asyncio.Queue()
        self._there: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self.stopped = False
        self.ended = asyncio.Event()
        self.ended.set()

    def begin(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
        """Let the agent's loop do the work, unless it was stopped before it began.

        Raises:
            RuntimeError: the loop is closed.
        """
        if self.stopped:
            work.close()
            return

        def start() -> None:
            self._task = loop.create_task(work)
            self._task.add_done_callback(lambda _: self._call_here(self.ended.set))

        try:
            loop.call_soon_threadsafe(start)
        except RuntimeError:
            work.close()
            raise
        self._there = loop
        self.ended.clear()

    async def batches(self) -> AsyncIterator[list[AgentEvent]]:
        """Events as they come, those that came together in one list; ends with the question, or its stop.

        Raises:
            GraphAgentError: what the agent raises for a question that it cannot take.
        """
        try:
            while True:
                items = [await self._queue.get()]
                while not self._queue.empty():
                    items.append(self._queue.get_nowait())
                events: list[AgentEvent] = []
                for item in items:
                    if item is None or isinstance(item, BaseException):
                        if events:
                            yield events
                        if item is not None:
                            raise item
                        return
                    events.append(item)
                yield events
        finally:
            self.cancel()

    def stop(self) -> None:
        """End the question; `batches` ends, too."""
        self.stopped = True
        self.cancel()
        self._queue.put_nowait(None)

    def cancel(self) -> None:
        """Cancel the agent's work; `ended` tells when it has ended."""
        if self._there is not None:
            with suppress(RuntimeError):  # its loop is closed, and with it the work
                self._there.call_soon_threadsafe(self._cancel_there)

    def _cancel_there(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def work(self, agent: GraphAgent, question: str, thread_id: str, scope: ScopeChoice | None) -> None:
        """What runs in the agent's loop."""
        try:
            async with aclosing(agent.astream(question, thread_id, scope)) as events:
                async for event in events:
                    self._hand_over(event)
        except asyncio.CancelledError:
            # After a stop nobody reads this any more; at the server's end somebody waits for it.
            self._hand_over(EngineUnavailable("The server was stopped.", "Ask again when it runs."))
            raise
        except BaseException as error:  # noqa: BLE001 - handed to whoever reads
            self._hand_over(error)
        else:
            self._hand_over(None)

    def _hand_over(self, item: AgentEvent | BaseException | None) -> None:
        self._call_here(self._queue.put_nowait, item)

    def _call_here(self, call: Callable[..., None], *given: Any) -> None:
        with suppress(RuntimeError):  # the page's loop is closed: nobody reads any more
            self._here.call_soon_threadsafe(call, *given)


class Answering:
    """Questions to the agent, from any event loop."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._agent: GraphAgent | None = None
        self._closed = False

    def warm(self) -> None:
        """Set the agent up; a configuration that is not usable is told at the first question."""
        with suppress(GraphAgentError):
            self._ready()

    async def start(
        self, asking: Asking, question: str, *, thread_id: str, scope: ScopeChoice | None
    ) -> None:
        """Put a question to the agent; its events come from `asking`.

        Raises:
            ConfigurationError: the agent cannot be set up as it is configured, or the server is shutting down.
        """
        agent = await asyncio.to_thread(self._ready)
        try:
            asking.begin(self._running_loop(), asking.work(agent, question, thread_id, scope))
        except RuntimeError:
            raise _shutting_down() from None

    async def seed(self, thread_id: str, turns: Sequence[Turn]) -> None:
        """Give a new thread the memory of the turns before it; without any, only see that the agent is usable.

        Raises:
            ConfigurationError: the agent cannot be set up as it is configured.
        """
        agent = await asyncio.to_thread(self._ready)
        if not turns:
            return
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        # As if the last stage had just ended: the next question then begins at the first one.
        await asyncio.wrap_future(
            self._submit(
                agent.machine.aupdate_state(
                    config, {"turns": list(turns), "response": {"seeded": True}}, as_node="verify"
                )
            )
        )

    async def forget(self, thread_id: str) -> None:
        """Remove the agent's memory of a conversation."""
        agent = await asyncio.to_thread(self._ready)
        await asyncio.to_thread(agent.forget, thread_id)

    def close(self) -> None:
        """Cancel what runs, end the loop and close the agent. Never raises; may be called twice."""
        with self._lock:
            self._closed = True
            loop, thread, agent = self._loop, self._thread, self._agent
            self._loop = self._thread = self._agent = None
        try:
            if loop is not None and thread is not None:
                _end_loop(loop, thread)
        finally:
            if agent is not None:
                try:
                    agent.close()
                except Exception:
                    log.exception("the agent was not closed well")

    def _ready(self) -> GraphAgent:
        with self._lock:
            if self._closed:
                raise _shutting_down()
            if self._agent is None:
                from graph_agent.agent import GraphAgent

                workspace = self._workspace
                self._agent = GraphAgent(workspace.graph, workspace.settings, tool_context=workspace.tools)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="agent", daemon=True)
                self._thread.start()
            return self._agent

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is None:
            raise _shutting_down()
        return loop

    def _submit(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._running_loop())
        except (RuntimeError, ConfigurationError):
            work.close()
            raise _shutting_down() from None


def _shutting_down() -> ConfigurationError:
    return ConfigurationError("The server is shutting down.", "Start it again.")


def _end_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    try:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(CLOSE_S)
    except TimeoutError:
        log.warning("what the agent was doing has not ended within %.0f s", CLOSE_S)
    except Exception:
        log.exception("what the agent was doing was not ended well")
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(loop.stop)
    thread.join(CLOSE_S)
    if not thread.is_alive():
        loop.close()


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()


def answerer(workspace: Workspace) -> Answerer:
    """Who answers with these settings: reads the configuration, asks nobody."""
    from graph_agent.chat_models.models import endpoint_variable

    name = (workspace.settings.model or "").strip()
    if not name:
        return Answerer()
    base = endpoint_variable("OPENAI_BASE_URL") or endpoint_variable("OPENAI_API_BASE")
    provider, _, rest = name.partition(":")
    if rest and provider != "openai" and not base:
        return Answerer(model=name, host=f"the service of {provider}")
    host = urlsplit(base).hostname or "" if base else "api.openai.com"
    return Answerer(model=rest or name, host=host, local=host in {"localhost", "127.0.0.1", "::1"})
