"""One request after another to a chat model, each for a reply in a form, with what they cost counted.

For work without a conversation, from plain threads. A server that refuses one way of asking for a form is
asked by the next, and the way that worked is remembered; a reply that is no form is asked for once more in
plain words.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph_agent.chat_models.forms import WAYS, Form, read_form, request_for
from graph_agent.chat_models.models import (
    BadReply,
    is_form_refusal,
    one_line,
    retry_after,
    trouble,
    unavailable,
)
from graph_agent.chat_models.quirks import Quirks
from graph_agent.chat_models.replies import text_of
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

ATTEMPTS = 4
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0

log = logging.getLogger(__name__)


@dataclass
class Cost:
    """What requests have cost so far.

    Attributes:
        calls: requests sent, those that failed included.
        input_tokens, output_tokens: as the provider counted them, else estimated.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Stopped(Exception):
    """The caller wants no more requests."""


class Asker:
    """Asks one model. Safe between threads.

    Args:
        model: any chat model.
        name: for messages.
        stop: when set, nothing more is sent.
    """

    def __init__(self, model: BaseChatModel, name: str, *, stop: threading.Event | None = None) -> None:
        self._model = model
        self._stop = stop or threading.Event()
        self._lock = threading.Lock()
        self._quirks = Quirks()
        self.name = name
        self.cost = Cost()

    def ask(self, system: str, user: str, form: type[Form]) -> Form:
        """A reply in the form of a pydantic model, whose class name names the schema.

        Raises:
            ContextTooLong: the request is longer than the model reads.
            BadReply: no reply could be read as the form.
            ModelUnavailable: the model does not answer, or refuses.
            Stopped: `stop` was set.
        """
        from langchain_core.messages import HumanMessage, SystemMessage

        messages = [SystemMessage(system), HumanMessage(user)]
        problem = "nothing"
        for way in WAYS[WAYS.index(self._quirks.structured) :]:
            try:
                reply = self._send(way, messages, form)
            except (NotImplementedError, TypeError, ValueError):
                continue  # the client itself does not know this way
            if reply is None:
                self._quirks.structured = WAYS[WAYS.index(way) + 1]
                continue
            value, problem = read_form(reply, form)
            if value is None and way != WAYS[-1]:
                # it took the request, but the reply is broken: once more, in plain words
                plain = self._send(WAYS[-1], messages, form)
                value, problem = read_form(plain, form) if plain is not None else (None, problem)
            if value is not None:
                return value
            break
        raise BadReply(
            f"The model's reply is no {form.__name__}: {problem}.", "Try again or use another model."
        )

    def _send(self, way: str, messages: list[BaseMessage], form: type[Form]) -> AIMessage | None:
        """The reply; None when the server refuses this way of asking and there is another."""
        request, options = request_for(way, messages, form)
        estimate = sum(estimate_tokens(text_of(message.content)) for message in request)
        for attempt in range(ATTEMPTS):
            if self._stop.is_set():
                raise Stopped
            try:
                reply: AIMessage = self._quirks.bound(self._model, options).invoke(request)
            except (NotImplementedError, TypeError, ValueError) as error:
                if way != WAYS[-1]:
                    raise
                self._count(estimate, 0)
                if isinstance(error, NotImplementedError):
                    raise unavailable(error, self.name) from error
                raise BadReply(
                    f"The server of {self.name} sent something that is no reply: {one_line(error)}.",
                    "Check OPENAI_BASE_URL, and that the server speaks OpenAI's protocol.",
                ) from error
            except Exception as error:  # noqa: BLE001 - every client library has exceptions of its own
                self._count(estimate, 0)
                mended = trouble(error) == "parameter" and self._quirks.drop_parameter(error)
                if way != WAYS[-1] and is_form_refusal(error) and not mended:
                    return None
                if not mended or attempt + 1 >= ATTEMPTS:
                    self._after_failure(error, attempt)
                continue
            usage: Any = reply.usage_metadata or {}
            self._count(
                int(usage.get("input_tokens") or estimate),
                int(usage.get("output_tokens") or estimate_tokens(text_of(reply.content))),
            )
            return reply
        raise AssertionError("unreachable: the last failure is raised")

    def _after_failure(self, error: Exception, attempt: int) -> None:
        """Wait for the next attempt, or raise the failure in our own words."""
        kind = trouble(error)
        log.warning("model call failed (%s): %s", kind, type(error).__name__)
        again = kind == "retry" or (kind == "connection" and attempt == 0)
        if not again or attempt + 1 >= ATTEMPTS:
            raise unavailable(error, self.name) from error
        asked = retry_after(error)
        pause = FIRST_PAUSE_S * 2**attempt if asked is None else asked
        if self._stop.wait(min(pause, LONGEST_PAUSE_S)):
            raise Stopped

    def _count(self, input_tokens: int, output_tokens: int) -> None:
        with self._lock:
            self.cost.calls += 1
            self.cost.input_tokens += input_tokens
            self.cost.output_tokens += output_tokens
