"""What OpenAI itself would refuse in a chat request, so that a test does not pass on a request that never would.

Source: the API reference of chat completions, and the messages of its 400 answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

ROLES = {"system", "developer", "user", "assistant", "tool"}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def problem(body: dict[str, Any]) -> str | None:
    """The first reason to refuse `body`, or None."""
    return next(_problems(body), None)


def _problems(body: dict[str, Any]) -> Iterator[str]:
    if not body.get("model"):
        yield "you must provide a model parameter"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield f"'messages' must be a list with at least one message, not {messages!r}"
        return
    yield from _message_problems(messages)
    yield from _tool_problems(body)
    yield from _format_problems(body, messages)


def _message_problems(messages: list[Any]) -> Iterator[str]:
    waiting: set[str] = set()
    for position, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            yield f"messages[{position}]: invalid role {role!r}"
            return
        if role == "tool":
            answered = message.get("tool_call_id")
            if answered not in waiting:
                yield f"messages[{position}]: tool_call_id {answered!r} answers no tool call that precedes it"
            waiting.discard(str(answered))
        elif waiting:
            yield f"messages[{position}]: {_unanswered(waiting)}"
            waiting = set()
        calls = message.get("tool_calls") or []
        if role == "assistant":
            waiting = {str(call.get("id")) for call in calls}
        if message.get("content") is None and not (role == "assistant" and calls):
            yield f"messages[{position}]: content is null"
    if waiting:
        yield f"at the end of messages: {_unanswered(waiting)}"


def _unanswered(waiting: set[str]) -> str:
    return (
        "an assistant message with 'tool_calls' must be followed by tool messages responding to each "
        f"'tool_call_id'; these have none: {sorted(waiting)}"
    )


def _tool_problems(body: dict[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if body.get("tool_choice") not in (None, "none"):
            yield "'tool_choice' is only allowed when 'tools' are specified"
        return
    if not tools:
        yield "[] is too short - 'tools'"
    names = [str((tool.get("function") or {}).get("name", "")) for tool in tools]
    for name in names:
        if not NAME.fullmatch(name):
            yield f"tool name {name!r} does not match {NAME.pattern}"
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and (choice.get("function") or {}).get("name") not in names:
        yield f"tool_choice {choice!r} is not among the tools {names}"


def _format_problems(body: dict[str, Any], messages: list[dict[str, Any]]) -> Iterator[str]:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        name = str((form.get("json_schema") or {}).get("name", ""))
        if not NAME.fullmatch(name):
            yield f"response_format.json_schema.name {name!r} does not match {NAME.pattern}"
    if form.get("type") == "json_object" and "json" not in str(messages).lower():
        yield "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'"
