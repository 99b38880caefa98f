"""What the server can answer: good answers, and the faults that real servers show.

Each public function makes one reply. `Completion`, `Body` and `Hang` are what goes over the wire;
`Structured` and `SchemaRefused` look at the request first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Event
from typing import Any, Literal

from .received import Received

Usage = tuple[int, int] | Literal["estimated", "absent"]
Call = tuple[str, Mapping[str, Any] | str]
CutKind = Literal["drop", "end", "error"]


class Reply:
    """Base of all replies."""

    def resolve(self, request: Received) -> tuple[Completion | Body | Hang, bool]:
        """What to send for `request`, and whether the step is thereby used up."""
        raise NotImplementedError


@dataclass(frozen=True)
class Completion(Reply):
    """An answer of the model, streamed or whole as the request asks.

    Attributes:
        content: pieces of the text; each is one chunk of a stream.
        thinking: pieces sent as `reasoning_content` before the text.
        calls: (name, arguments as sent), after the text.
        call_chunks: into how many deltas each call's arguments are split.
        repeat_name: repeat the tool's name in every delta, as some local servers do.
        finish: finish_reason.
        usage: (input, output) tokens; "estimated" is characters / 4; "absent" sends none at all.
        first_delay, delay: seconds before the first chunk, and before each later one.
        hold: awaited after the first chunk, so that a test can look at the half-streamed state.
        cut: (n, how): after n chunks "drop" breaks the connection, "end" ends the stream without finish_reason
            and [DONE], "error" sends an error event. A whole answer is cut in the middle of its body.
    """

    content: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    call_chunks: int = 1
    repeat_name: bool = False
    finish: str = "stop"
    usage: Usage = "estimated"
    first_delay: float = 0.0
    delay: float = 0.0
    hold: Event | None = None
    cut: tuple[int, CutKind] | None = None

    def resolve(self, request: Received) -> tuple[Completion, bool]:
        return self, True

    @property
    def output_tokens(self) -> int:
        """Estimated: characters / 4, rounded up."""
        parts = [*self.content, *self.thinking, *(name + arguments for name, arguments in self.calls)]
        return math.ceil(sum(map(len, parts)) / 4)


@dataclass(frozen=True)
class Body(Reply):
    """A whole HTTP answer, sent as it is whether or not a stream was asked for."""

    status: int
    data: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, request: Received) -> tuple[Body, bool]:
        return self, True


@dataclass(frozen=True)
class Hang(Reply):
    """Accept the request, send nothing, close the connection after `seconds`."""

    seconds: float

    def resolve(self, request: Received) -> tuple[Hang, bool]:
        return self, True


@dataclass(frozen=True)
class Structured(Reply):
    """`value` in the form that the request asks for: a forced tool call, or JSON as content."""

    value: Any
    usage: Usage = "estimated"

    def resolve(self, request: Received) -> tuple[Completion | Body | Hang, bool]:
        choice = request.tool_choice
        forced = choice if choice in request.tools else None
        if choice in {"required", "any"} and len(request.tools) == 1:
            forced = next(iter(request.tools))
        if forced is not None:
            return tool_calls((forced, self.value), usage=self.usage), True
        return json_object(self.value, usage=self.usage), True


@dataclass(frozen=True)
class SchemaRefused(Reply):
    """HTTP 500 for every request with a JSON schema in response_format; `otherwise` answers the first without.

    The step stays until then, so a script need not know how often a client retries.
    """

    otherwise: Reply

    def resolve(self, request: Received) -> tuple[Completion | Body | Hang, bool]:
        if request.schema is not None:
            return status(500, "response_format json_schema is not supported by this server"), False
        return self.otherwise.resolve(request)


# Good answers


def text(
    content: str | Sequence[str],
    *,
    chunks: int = 1,
    first_delay: float = 0.0,
    delay: float = 0.0,
    hold: Event | None = None,
    finish: str = "stop",
    usage: Usage = "estimated",
) -> Completion:
    """`content`, streamed in `chunks` nearly equal pieces, or in the pieces given as a sequence."""
    pieces = split(content, chunks) if isinstance(content, str) else tuple(content)
    return Completion(
        pieces, first_delay=first_delay, delay=delay, hold=hold, finish=finish, usage=_usage(usage)
    )


def tool_calls(
    *calls: Call,
    content: str = "",
    chunks: int = 1,
    delay: float = 0.0,
    finish: str = "tool_calls",
    usage: Usage = "estimated",
) -> Completion:
    """Calls of (name, arguments); arguments given as a string are sent as they are, so they may be broken JSON.

    `content` is text that the model writes beside its calls; `chunks` splits each call's arguments.
    """
    if not calls:
        raise ValueError("tool_calls() needs at least one (name, arguments); use empty() for none")
    return Completion(
        split(content, 1),
        calls=tuple((name, _arguments(arguments)) for name, arguments in calls),
        call_chunks=chunks,
        delay=delay,
        finish=finish,
        usage=_usage(usage),
    )


def json_object(value: object, *, chunks: int = 1, usage: Usage = "estimated") -> Completion:
    """`value` as JSON in the content."""
    return text(json.dumps(value, ensure_ascii=False), chunks=chunks, usage=usage)


def structured(value: Mapping[str, Any], *, usage: Usage = "estimated") -> Structured:
    """`value` as with_structured_output wants it, whichever method it uses."""
    return Structured(dict(value), _usage(usage))


def reasoning(thinking: str, content: str, *, inline: bool = False, chunks: int = 1) -> Completion:
    """Thinking before the answer: in `reasoning_content`, or inline between <think> and </think>."""
    if inline:
        return text(f"<think>{thinking}</think>\n\n{content}", chunks=chunks)
    return replace(text(content, chunks=chunks), thinking=split(thinking, chunks))


# Faults


def truncated(content: str, *, chunks: int = 1) -> Completion:
    """An answer cut at the token limit: finish_reason "length"."""
    return text(content, chunks=chunks, finish="length")


def empty() -> Completion:
    """No text and no tool call, and yet finish_reason "stop"."""
    return Completion()


def repeated_tool_name(*calls: Call, chunks: int = 3) -> Completion:
    """Tool calls whose name stands in each of the `chunks` deltas of a stream; whole answers are right."""
    return replace(tool_calls(*calls, chunks=chunks), repeat_name=True)


def drop_stream(content: str, *, after: int, chunks: int = 5, delay: float = 0.0) -> Completion:
    """The connection breaks when `after` of the `chunks` were sent."""
    return _cut(content, after, chunks, delay, "drop")


def end_stream_early(content: str, *, after: int, chunks: int = 5) -> Completion:
    """The stream ends in good HTTP after `after` chunks, without finish_reason and [DONE]."""
    return _cut(content, after, chunks, 0.0, "end")


def error_in_stream(content: str, *, after: int, chunks: int = 5) -> Completion:
    """An error object comes as an event after `after` chunks; a whole answer is HTTP 502."""
    return _cut(content, after, chunks, 0.0, "error")


_ERRORS: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "The request is not valid."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: ("invalid_request_error", None, "You are not allowed to use this model."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    500: ("server_error", None, "The server had an error while processing your request."),
}


def status(
    code: int,
    message: str = "",
    *,
    error_code: str | None = None,
    retry_after: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> Body:
    """An HTTP error with OpenAI's error body.

    Args:
        code: HTTP status, 400 to 599.
        message: default: what OpenAI says for it.
        error_code: `error.code`, default likewise.
        retry_after: seconds, sent as the Retry-After header.
        headers: more headers.
    """
    if not 400 <= code <= 599:
        raise ValueError(f"status({code}): an error is 400 to 599")
    kind, usual_code, usual_message = _ERRORS.get(code, _ERRORS[500 if code >= 500 else 400])
    error = {
        "message": message or usual_message,
        "type": kind,
        "param": None,
        "code": error_code or usual_code,
    }
    extra = dict(headers or {})
    if retry_after is not None:
        extra["Retry-After"] = f"{retry_after:g}"
    return Body(code, json.dumps({"error": error}).encode(), headers=extra)


def context_length_exceeded(limit: int = 8_192) -> Body:
    """HTTP 400 with the code context_length_exceeded."""
    return status(
        400,
        f"This model's maximum context length is {limit} tokens. Please reduce the length of the messages.",
        error_code="context_length_exceeded",
    )


def schema_refused(otherwise: Reply) -> SchemaRefused:
    """HTTP 500 while a JSON schema is sent; then `otherwise`."""
    return SchemaRefused(otherwise)


def garbage(
    data: bytes | str = b"<html><body>Bad gateway</body></html>", content_type: str = "text/html"
) -> Body:
    """HTTP 200 with a body that is not JSON. With "text/event-stream" the data is a stream's events."""
    return Body(200, data.encode() if isinstance(data, str) else data, content_type)


def hang(seconds: float = 60.0) -> Hang:
    """Nothing is answered."""
    return Hang(seconds)


FACTORIES: Mapping[str, Callable[..., Reply]] = {
    made.__name__: made
    for made in (
        text, tool_calls, json_object, structured, reasoning, truncated, empty, repeated_tool_name, drop_stream,
        end_stream_early, error_in_stream, status, context_length_exceeded, schema_refused, garbage, hang,
    )
}  # fmt: skip


def split(whole: str, count: int) -> tuple[str, ...]:
    """`whole` in at most `count` pieces of nearly equal length, none of them empty."""
    if count < 1:
        raise ValueError(f"chunks={count}: at least 1")
    count = min(count, len(whole))
    bounds = [len(whole) * i // count for i in range(count + 1)] if count else []
    return tuple(whole[a:b] for a, b in pairwise(bounds))


def _cut(content: str, after: int, chunks: int, delay: float, how: CutKind) -> Completion:
    whole = text(content, chunks=chunks, delay=delay)
    if not 0 <= after < len(whole.content):
        raise ValueError(
            f"after={after}: the text has {len(whole.content)} chunks, and one at least must be lost"
        )
    return replace(whole, cut=(after, how))


def _arguments(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _usage(usage: Any) -> Usage:
    """Script files give usage as a list."""
    return usage if isinstance(usage, str) else (int(usage[0]), int(usage[1]))  # type: ignore[return-value]
