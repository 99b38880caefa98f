"""Questions of the chat from their first word to what is kept of them, whatever page asks.

Nothing of a conversation is removed before all is there that the new question needs, and a conversation that is
deleted takes the agent's memory of it along: what works on it is stopped first, so that it writes nothing after.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph_agent.errors import GraphAgentError
from graph_agent.ui.answering import Asking
from graph_agent.ui.conversations import new_thread
from graph_agent.ui.scope import ScopeInputs, scope_view
from graph_agent.ui.turn import Turn

if TYPE_CHECKING:
    from graph_agent.ui.workspace import Workspace

log = logging.getLogger(__name__)

PAUSE_S = 0.04  # between two looks at a growing answer: as smooth as reading needs, and cheap
END_S = 10.0  # for the agent to leave a question that was stopped


@dataclass(frozen=True, slots=True)
class Begun:
    """A question that was put into its conversation.

    Attributes:
        conversation: its id; thread: what the agent knows it by.
        turn: what a page shows of the question.
        scope: of which documents it is asked.
        asking: the agent's work on it.
    """

    conversation: str
    thread: str
    turn: Turn
    scope: Any
    asking: Asking


class Questions:
    """Asks, stops and deletes for the pages of one workspace; to be used in the pages' event loop."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._clearing: set[asyncio.Task[bool]] = set()

    async def begin(
        self, user: str, question: str, given: ScopeInputs, *, conversation: str = "", again: str = ""
    ) -> Begun:
        """Put a question at the end of a conversation, or in the place of an earlier turn and all after it.

        Args:
            user: whose conversation it is.
            question: what is asked.
            given: the scope as it was chosen.
            conversation: its id; "" starts a new one.
            again: id of the turn that is asked anew.

        Raises:
            GraphAgentError: the question cannot be asked; then nothing was added or removed.
        """
        workspace = self._workspace
        store = workspace.conversations
        view = await asyncio.to_thread(lambda: scope_view(workspace.corpus(), given))
        thread = await self._remembering(user, again) if again else ""
        try:
            asked = await asyncio.to_thread(
                lambda: store.ask(
                    user,
                    question,
                    dict(view.choice or {}),
                    conversation=conversation,
                    again=again,
                    thread=thread,
                )
            )
        except Exception:
            if thread:
                await asyncio.to_thread(store.leave, thread)
            raise
        turn = Turn(asked.turn.id, question, scope=view.words, problem=view.problem)
        begun = Begun(asked.conversation.id, asked.conversation.thread, turn, view.choice, Asking())
        workspace.active[turn.id] = (turn, begun.asking)
        if asked.removed:
            clearing = asyncio.create_task(self._clear(asked.removed))
            self._clearing.add(clearing)
            clearing.add_done_callback(self._clearing.discard)
        return begun

    async def _remembering(self, user: str, again: str) -> str:
        """A new thread that remembers what was said before a turn."""
        about, earlier = await asyncio.to_thread(self._workspace.conversations.earlier, user, again)
        thread = new_thread(about.id)
        memory = [
            {"question": one.response["standalone"] or one.question, "answer": one.response["answer"]}
            for one in earlier
            if one.response
        ]
        await self._workspace.answering.seed(thread, memory)  # type: ignore[arg-type]
        return thread

    async def work(self, user: str, begun: Begun) -> AsyncGenerator[None]:
        """Let the agent work; yields whenever there is something new to show, and raises nothing."""
        turn, asking = begun.turn, begun.asking
        if turn.problem:
            turn.end("failed", turn.problem)
            return
        try:
            # It may have been deleted meanwhile. What is deleted from here on finds it among the active ones.
            await asyncio.to_thread(self._workspace.conversations.turn, user, turn.id)
            await self._workspace.answering.start(
                asking, turn.question, thread_id=begun.thread, scope=begun.scope
            )
            async for events in asking.batches():
                for event in events:
                    turn.take(event)
                if turn.status == "running":
                    yield
                    await asyncio.sleep(PAUSE_S)
            if asking.stopped and turn.status == "running":
                turn.end("stopped")
        except GraphAgentError as error:
            turn.end("failed", str(error))
        except Exception as error:  # a fault of ours: said in the page, and whole in the log
            log.exception("a question failed")
            turn.end(
                "failed",
                f"Something went wrong here ({type(error).__name__}). The log of the server has more.",
            )

    async def end(self, user: str, begun: Begun) -> None:
        """Keep what came of a question; one that still runs is stopped."""
        turn = begun.turn
        if turn.status == "running":
            turn.end("stopped")
        begun.asking.cancel()
        try:
            await _left(begun.asking)
            response = turn.response.model_dump(mode="json") if turn.response else None
            store = self._workspace.conversations
            await asyncio.to_thread(store.save_turn, user, turn.id, turn.status, turn.as_json(), response)
        finally:
            self._workspace.active.pop(turn.id, None)

    def stop(self, turns: Iterable[str]) -> list[Asking]:
        """Stop those of some turns that are being answered; returns the work that is ending."""
        found = [self._workspace.active[name][1] for name in turns if name in self._workspace.active]
        for asking in found:
            asking.stop()
        return found

    async def delete(self, user: str, conversation: str) -> bool:
        """Delete a conversation, and the agent's memory of it.

        Returns:
            Whether the memory is gone, too; if not, it goes when the agent is usable again.

        Raises:
            NotFound: this user has no such conversation.
        """
        removed = await asyncio.to_thread(self._workspace.conversations.delete, user, conversation)
        return await self._clear(removed)

    async def _clear(self, removed: Iterable[str]) -> bool:
        for asking in self.stop(removed):
            await _left(asking)
        return await self.forget_left()

    async def forget_left(self) -> bool:
        """Delete the agent's memory of threads that no conversation has any more; whether all of it is gone."""
        store = self._workspace.conversations
        try:
            for thread in await asyncio.to_thread(store.left_threads):
                await self._workspace.answering.forget(thread)
                await asyncio.to_thread(store.forgotten, thread)
        except Exception as error:  # tried again with the next one, and at the next start
            log.warning("the memory of a deleted conversation is still there", exc_info=error)
            return False
        return True


async def _left(asking: Asking) -> None:
    """Wait until the agent has left a question."""
    try:
        await asyncio.wait_for(asking.ended.wait(), END_S)
    except TimeoutError:
        log.warning("a question that was stopped has not ended within %.0f s", END_S)
