"""A request as the server received it: the parsed body, and what a test usually wants to know of it."""

from __future__ import annotations

import json
import math
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["open", "answered", "dropped", "client left"]


@dataclass
class Received:
    """One request of any route.

    Attributes:
        index: order of receipt, from 1.
        headers: names in lower case.
        body: the parsed JSON object; empty for GET.
        received_at: seconds since the epoch, once the whole request was read.
        chunk_times: when each content chunk of a streamed answer was about to be sent, seconds since the epoch.
        status: HTTP status that was sent; 0 while open, and when nothing was sent.
        outcome: what became of it: "dropped" when the script broke the connection, "client left" when
            the client closed it before the whole answer was sent.
        id: part of the answer's ids; random, because a conversation may outlive a server.
    """

    index: int
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    received_at: float
    chunk_times: list[float] = field(default_factory=list)
    status: int = 0
    outcome: Outcome = "open"
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def api_key(self) -> str:
        """The bearer token, or ""."""
        return self.headers.get("authorization", "").removeprefix("Bearer ").strip()

    @property
    def model(self) -> str:
        """Name of the model asked for, or ""."""
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Messages of a chat request, as sent."""
        messages = self.body.get("messages")
        return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []

    @property
    def last(self) -> str:
        """Text of the last message, whoever wrote it."""
        return message_text(self.messages[-1]) if self.messages else ""

    @property
    def user(self) -> str:
        """Text of the last user message."""
        return self._last_of("user")

    @property
    def system(self) -> str:
        """Text of all system and developer messages, joined by newlines."""
        return "\n".join(message_text(m) for m in self.messages if m.get("role") in {"system", "developer"})

    @property
    def everything(self) -> str:
        """Text of all messages, joined by newlines."""
        return "\n".join(message_text(m) for m in self.messages)

    @property
    def stream(self) -> bool:
        """Whether the answer is to be streamed."""
        return bool(self.body.get("stream"))

    @property
    def include_usage(self) -> bool:
        """Whether usage is to be sent at the end of the stream."""
        return bool((self.body.get("stream_options") or {}).get("include_usage"))

    @property
    def tools(self) -> set[str]:
        """Names of the tools offered."""
        return {str((tool.get("function") or {}).get("name")) for tool in self.body.get("tools") or []}

    @property
    def tool_choice(self) -> str | None:
        """The tool that is forced by name, or "auto", "none", "required"; None when not sent."""
        choice = self.body.get("tool_choice")
        if isinstance(choice, dict):
            return str((choice.get("function") or {}).get("name"))
        return None if choice is None else str(choice)

    @property
    def schema(self) -> str | None:
        """Name of the JSON schema in response_format; None when there is none."""
        form = self.body.get("response_format") or {}
        if form.get("type") != "json_schema":
            return None
        return str((form.get("json_schema") or {}).get("name"))

    @property
    def texts(self) -> list[str]:
        """Input texts of an embeddings request."""
        given = self.body.get("input")
        return [given] if isinstance(given, str) else list(given or [])

    @property
    def input_tokens(self) -> int:
        """Estimated input tokens: characters / 4, rounded up.

        Counted are message contents, tool calls repeated in the history, tool schemas, the schema in
        response_format, and for embeddings the input texts: all that a provider bills as input.
        """
        parts = [message_text(m) for m in self.messages]
        parts += [_compact(m["tool_calls"]) for m in self.messages if m.get("tool_calls")]
        parts += [_compact(self.body[key]) for key in ("tools", "response_format") if self.body.get(key)]
        parts += [text for text in self.texts if isinstance(text, str)]
        return math.ceil(sum(map(len, parts)) / 4)

    def settled(self, timeout: float = 5.0) -> Outcome:
        """The outcome, once the server is done with the request or `timeout` seconds have passed."""
        until = time.monotonic() + timeout
        while self.outcome == "open" and time.monotonic() < until:
            time.sleep(0.005)
        return self.outcome

    def describe(self) -> str:
        """One line for an error message."""
        line = f"request {self.index}: {self.method} {self.path}"
        if not self.messages:
            return line
        role = self.messages[-1].get("role")
        return (
            f"{line}, stream={self.stream}, tools={sorted(self.tools)}, tool_choice={self.tool_choice}, "
            f"schema={self.schema}, {len(self.messages)} messages, the last ({role}) {shown(self.last)}"
        )

    def _last_of(self, role: str) -> str:
        return next((message_text(m) for m in reversed(self.messages) if m.get("role") == role), "")


def message_text(message: dict[str, Any]) -> str:
    """Text of a message, whose content is a string, null or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def shown(text: str, limit: int = 200) -> str:
    """`text` quoted, its middle cut when it is longer than `limit` characters."""
    if len(text) <= limit:
        return repr(text)
    half = limit // 2
    return f"{text[:half]!r} ... {text[-half:]!r} ({len(text)} characters)"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
