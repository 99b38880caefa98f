"""Limits of one question: model calls, tool calls, input tokens, seconds.

What was spent lives in the state and is carried from stage to stage, so that a question that is taken
up again after a crash goes on counting where it stopped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self, TypedDict

from graph_agent.errors import GraphAgentError
from graph_agent.settings import Settings


class OutOfBudget(GraphAgentError):
    """A limit of the question was met; `message` names it. The answer is then made from what is there."""


class Spent(TypedDict):
    """What a question has cost so far; JSON types, part of the state."""

    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    seconds: float


NOTHING_SPENT: Spent = {
    "model_calls": 0,
    "tool_calls": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "estimated": False,
    "seconds": 0.0,
}


@dataclass(frozen=True)
class Limits:
    """What one question may cost.

    Attributes:
        model_calls: requests to the model, retries included.
        tool_calls: tool calls that the model chooses in the reading loop.
        input_tokens: input tokens of all model calls together.
        seconds: wall time.
        passage_tokens: tokens of passages in the answering call.
        model_timeout_s: how long the model may be silent, in seconds.
        answer_tokens: tokens of an answer; what is longer is cut.
    """

    model_calls: int = 8
    tool_calls: int = 6
    input_tokens: int = 20_000
    seconds: float = 120.0
    passage_tokens: int = 6_000
    model_timeout_s: float = 60.0
    answer_tokens: int = 4_000

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The limits that the settings name."""
        return cls(
            model_calls=settings.max_model_calls,
            tool_calls=settings.max_tool_calls,
            input_tokens=settings.max_input_tokens,
            seconds=settings.max_seconds,
            passage_tokens=settings.passage_tokens,
            model_timeout_s=settings.model_timeout_s,
        )


class Budget:
    """The limits, and what of them is left; made anew for each stage from what was spent before it."""

    def __init__(self, limits: Limits, spent: Spent | None = None) -> None:
        self.limits = limits
        self._spent: Spent = {**NOTHING_SPENT, **(spent or NOTHING_SPENT)}
        self._began = time.monotonic()

    @property
    def spent(self) -> Spent:
        """What was spent until now, this stage's seconds included."""
        return {**self._spent, "seconds": self._spent["seconds"] + time.monotonic() - self._began}

    @property
    def seconds_left(self) -> float:
        """Seconds until the question's time is over; may be negative."""
        return self.limits.seconds - self.spent["seconds"]

    @property
    def tokens_left(self) -> int:
        """Input tokens that may still be sent."""
        return self.limits.input_tokens - self._spent["input_tokens"]

    @property
    def model_calls_left(self) -> int:
        """Requests to the model that may still be made."""
        return self.limits.model_calls - self._spent["model_calls"]

    @property
    def tool_calls_left(self) -> int:
        """Tool calls that the model may still choose."""
        return self.limits.tool_calls - self._spent["tool_calls"]

    def refuses(self, tokens: int, *, keep_calls: int = 0, keep_tokens: int = 0) -> str:
        """Which limit forbids a model call of `tokens` input tokens; "" when none does.

        Args:
            tokens: estimated input tokens of the call.
            keep_calls: calls that must stay for what comes later, such as the answer.
            keep_tokens: input tokens that must stay for it.
        """
        if self.seconds_left <= 0:
            return f"the time limit of {self.limits.seconds:g} s"
        if self.model_calls_left <= keep_calls:
            return f"the limit of {self.limits.model_calls} model calls"
        if self.tokens_left < tokens + keep_tokens:
            return f"the limit of {self.limits.input_tokens:,} input tokens"
        return ""

    def require(self, tokens: int, *, keep_calls: int = 0, keep_tokens: int = 0) -> None:
        """Go on only when the call fits.

        Raises:
            OutOfBudget: it does not; names the limit.
        """
        if reason := self.refuses(tokens, keep_calls=keep_calls, keep_tokens=keep_tokens):
            raise OutOfBudget(f"This question met {reason}.", "Raise it in the settings to go further.")

    def count_model_call(self, input_tokens: int, output_tokens: int = 0, *, estimated: bool = False) -> None:
        """Book one request to the model, also one that failed."""
        self._spent["model_calls"] += 1
        self._spent["input_tokens"] += input_tokens
        self._spent["output_tokens"] += output_tokens
        self._spent["estimated"] = self._spent["estimated"] or estimated

    def count_tool_call(self) -> None:
        """Book one tool call that the model chose."""
        self._spent["tool_calls"] += 1
