"""A completion as OpenAI puts it on the wire: one JSON object, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .received import Received
from .replies import Completion, split

DONE = b"data: [DONE]\n\n"
STREAM_ERROR = {
    "error": {"message": "The server failed in the middle of the stream.", "type": "server_error"}
}


def whole(answer: Completion, request: Received) -> bytes:
    """The body of an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.content)}
    if answer.thinking:
        message["reasoning_content"] = "".join(answer.thinking)
    if answer.calls:
        message["content"] = message["content"] or None
        message["tool_calls"] = [
            {
                "id": _call_id(request, i),
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for i, (name, arguments) in enumerate(answer.calls)
        ]
    body = _envelope(request, "chat.completion")
    body["choices"] = [{"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}]
    if answer.usage != "absent":
        body["usage"] = usage(answer, request)
    return json.dumps(body).encode()


def opening(answer: Completion, request: Received) -> bytes:
    """The first event of a stream, which holds the role only."""
    return _event(answer, request, {"role": "assistant", "content": ""})


def content_events(answer: Completion, request: Received) -> Iterator[bytes]:
    """The events that carry something: thinking, text, tool calls; each is one chunk."""
    for piece in answer.thinking:
        yield _event(answer, request, {"reasoning_content": piece})
    for piece in answer.content:
        yield _event(answer, request, {"content": piece})
    for index in range(len(answer.calls)):
        for delta in _call_deltas(answer, request, index):
            yield _event(answer, request, {"tool_calls": [delta]})


def closing_events(answer: Completion, request: Received) -> Iterator[bytes]:
    """finish_reason, then the usage when it was asked for, then [DONE]."""
    yield _event(answer, request, {}, answer.finish)
    if request.include_usage and answer.usage != "absent":
        body = _envelope(request, "chat.completion.chunk")
        yield event({**body, "choices": [], "usage": usage(answer, request)})
    yield DONE


def event(value: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def usage(answer: Completion, request: Received) -> dict[str, Any]:
    """Tokens in OpenAI's form; estimated unless the script gives them."""
    given = (request.input_tokens, answer.output_tokens) if isinstance(answer.usage, str) else answer.usage
    counted: dict[str, Any] = {
        "prompt_tokens": given[0],
        "completion_tokens": given[1],
        "total_tokens": given[0] + given[1],
    }
    if answer.thinking:
        thought = sum(map(len, answer.thinking)) // 4
        counted["completion_tokens_details"] = {"reasoning_tokens": thought}
    return counted


def _call_deltas(answer: Completion, request: Received, index: int) -> Iterator[dict[str, Any]]:
    name, arguments = answer.calls[index]
    head = {"index": index, "id": _call_id(request, index), "type": "function"}
    pieces = split(arguments, answer.call_chunks)
    if answer.repeat_name:
        for position, piece in enumerate(pieces or ("",)):
            start = {"index": index} if position else head
            yield {**start, "function": {"name": name, "arguments": piece}}
        return
    yield {**head, "function": {"name": name, "arguments": ""}}
    for piece in pieces:
        yield {"index": index, "function": {"arguments": piece}}


def _event(answer: Completion, request: Received, delta: dict[str, Any], finish: str | None = None) -> bytes:
    body = _envelope(request, "chat.completion.chunk")
    body["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    if request.include_usage and answer.usage != "absent":
        body["usage"] = None
    return event(body)


def _envelope(request: Received, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.id}",
        "object": kind,
        "created": int(request.received_at),
        "model": request.model,
    }


def _call_id(request: Received, index: int) -> str:
    return f"call_{request.id}_{index}"
