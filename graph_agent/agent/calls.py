"""Requests to the chat model: counted, bounded in time, retried only where that may help.

`complete` gives a whole message, `stream` pieces of text. What an endpoint turned out not to understand
(`Quirks`) is remembered for the following requests.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from graph_agent.agent.budget import Budget
from graph_agent.chat_models.models import ContextTooLong, is_form_refusal, retry_after, trouble, unavailable
from graph_agent.chat_models.quirks import Quirks
from graph_agent.chat_models.replies import text_of
from graph_agent.errors import ModelUnavailable
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, BaseMessageChunk

log = logging.getLogger(__name__)

ATTEMPTS = 3
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
MESSAGE_TOKENS = 4  # what a provider adds per message
# LangGraph leaves calls with this tag out of its own token stream: only the answer belongs there.
NO_STREAM = "nostream"


@dataclass(frozen=True)
class Piece:
    """The next text of a stream; the last one has `finish`, why the model stopped ("" when it did not say)."""

    text: str
    finish: str | None = None


class ModelCalls:
    """One chat model, with its quirks. Safe to share between conversations, threads and event loops.

    Args:
        make: makes the model; called once per event loop, because a client's connections belong to the loop
            that opened them.
        name: for messages.
    """

    def __init__(self, make: Callable[[], BaseChatModel], name: str) -> None:
        self._make = make
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, BaseChatModel] = WeakKeyDictionary()
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self.name = name
        self.quirks = Quirks()

    async def complete(
        self,
        messages: Sequence[BaseMessage],
        budget: Budget,
        *,
        keep_calls: int = 0,
        keep_tokens: int = 0,
        fall_through: bool = False,
        **options: Any,
    ) -> AIMessage:
        """One whole reply.

        Args:
            messages: the request.
            budget: what it is counted on.
            keep_calls, keep_tokens: what must stay for the answer.
            fall_through: a refusal of the request's form is raised at once, as the caller knows another form.
            options: passed to the model: tools, tool_choice, response_format.

        Raises:
            OutOfBudget: a limit forbids the call.
            ContextTooLong: the request is too long for the model.
            ModelUnavailable: it does not answer, or refuses.
        """
        tokens = estimate_messages(messages, options)
        for attempt in range(ATTEMPTS):
            budget.require(tokens, keep_calls=keep_calls, keep_tokens=keep_tokens)
            try:
                async with asyncio.timeout(self._patience(budget)):
                    model = await self._bound(options)
                    reply: AIMessage = await model.ainvoke(list(messages), config={"tags": [NO_STREAM]})
            except Exception as error:  # noqa: BLE001 - every client library has exceptions of its own
                budget.count_model_call(tokens, estimated=True)
                await self._after_failure(error, attempt, budget, fall_through=fall_through)
                continue
            self._count(budget, tokens, reply)
            return reply
        raise AssertionError("unreachable: the last failure is raised")

    async def stream(self, messages: Sequence[BaseMessage], budget: Budget) -> AsyncGenerator[Piece]:
        """The pieces of one reply. A failure before the first piece is retried; a later one is raised.

        Raises:
            OutOfBudget, ContextTooLong, ModelUnavailable: as for `complete`.
        """
        tokens = estimate_messages(messages, {})
        for attempt in range(ATTEMPTS):
            budget.require(tokens)
            started = False
            try:
                async with aclosing(self._stream_once(messages, budget, tokens)) as pieces:
                    async for piece in pieces:
                        started = True
                        yield piece
                return
            except Exception as error:
                if started:
                    raise unavailable(error, self.name) from error
                await self._after_failure(error, attempt, budget, fall_through=False)

    async def _stream_once(
        self, messages: Sequence[BaseMessage], budget: Budget, tokens: int
    ) -> AsyncGenerator[Piece]:
        total: BaseMessageChunk | None = None
        finish = ""
        shown = ""
        stream = (await self._bound({})).astream(list(messages))
        try:
            async with aclosing(stream) as chunks:
                while True:
                    try:
                        async with asyncio.timeout(self._patience(budget)):
                            chunk = await anext(chunks)
                    except StopAsyncIteration:
                        break
                    usage = getattr(chunk, "usage_metadata", None)
                    total = chunk if usage else total
                    metadata = chunk.response_metadata
                    finish = str(metadata.get("finish_reason") or metadata.get("stop_reason") or finish)
                    text = text_of(chunk.content)
                    if text:
                        shown += text
                        yield Piece(text)
        finally:
            self._count(budget, tokens, total, shown)
        yield Piece("", finish=finish)

    async def _bound(self, options: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        model = self._models.get(loop)
        if model is None:
            model = self._models[loop] = await asyncio.to_thread(self._make)
        # Making up a request takes a client some milliseconds. Of conversations that get there together, one a round
        # of the loop does, so that the others' tokens pass in between.
        async with self._turns.setdefault(loop, asyncio.Lock()):
            await asyncio.sleep(0)
        return self.quirks.bound(model, options)

    def _patience(self, budget: Budget) -> float:
        return max(0.05, min(budget.limits.model_timeout_s, budget.seconds_left))

    async def _after_failure(
        self, error: Exception, attempt: int, budget: Budget, *, fall_through: bool
    ) -> None:
        """Wait for the next attempt, or raise the failure in our own words."""
        if isinstance(error, TimeoutError) and budget.seconds_left <= 0:
            budget.require(0)  # it was our own limit, not the model's silence
        kind = trouble(error)
        log.warning("model call failed (%s): %s", kind, type(error).__name__)
        mended = kind == "parameter" and self.quirks.drop_parameter(error)
        last = attempt + 1 >= ATTEMPTS
        if fall_through and is_form_refusal(error) and not mended:
            raise unavailable(error, self.name) from error
        if last or not (mended or kind == "retry" or (kind == "connection" and attempt == 0)):
            raise unavailable(error, self.name) from error
        if mended:
            return
        asked = retry_after(error)
        pause = FIRST_PAUSE_S * 2**attempt * random.uniform(0.8, 1.2) if asked is None else asked  # noqa: S311
        pause = min(pause, LONGEST_PAUSE_S)
        if pause >= budget.seconds_left:
            raise unavailable(error, self.name) from error
        await asyncio.sleep(pause)

    def _count(self, budget: Budget, estimate: int, reply: Any, shown: str = "") -> None:
        usage = getattr(reply, "usage_metadata", None) or {}
        output = usage.get("output_tokens") or estimate_tokens(
            shown or text_of(getattr(reply, "content", ""))
        )
        budget.count_model_call(
            int(usage.get("input_tokens") or estimate), int(output), estimated=not usage.get("input_tokens")
        )


def estimate_messages(messages: Sequence[BaseMessage], options: dict[str, Any] | None = None) -> int:
    """Estimated input tokens of a request: texts, tool calls in the history, schemas."""
    total = 0
    for message in messages:
        total += MESSAGE_TOKENS + estimate_tokens(text_of(message.content))
        calls = getattr(message, "tool_calls", None)
        if calls:
            total += estimate_tokens(json.dumps(calls, ensure_ascii=False, default=str))
    for key in ("tools", "response_format"):
        if options and options.get(key):
            total += estimate_tokens(json.dumps(options[key], ensure_ascii=False, default=str))
    return total


__all__ = ["ContextTooLong", "ModelCalls", "ModelUnavailable", "Piece", "Quirks", "estimate_messages"]
