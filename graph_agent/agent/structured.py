"""A reply in a given form from any model: by JSON schema, else by function calling, else read out of the text.

A server that refuses one way is asked by the next, and the way that worked is remembered. A reply that does
not parse is asked for once more by the plainest way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from graph_agent.agent.budget import Budget
from graph_agent.agent.calls import ModelCalls
from graph_agent.agent.models import BadReply, ContextTooLong, is_form_refusal, one_line
from graph_agent.agent.replies import find_json, text_of
from graph_agent.errors import ModelUnavailable

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

Form = TypeVar("Form", bound=BaseModel)
WAYS = ("json_schema", "function_calling", "text")


async def structured(
    calls: ModelCalls,
    messages: Sequence[BaseMessage],
    form: type[Form],
    budget: Budget,
    *,
    keep_calls: int = 0,
    keep_tokens: int = 0,
) -> Form:
    """Ask for a reply in the form of a pydantic model, whose class name names the schema.

    Raises:
        OutOfBudget: a limit forbids the call.
        BadReply: no reply could be read as the form.
        ModelUnavailable: the model does not answer.
    """
    start = WAYS.index(calls.quirks.structured)
    reply_problem = "nothing"
    for way in WAYS[start:]:
        request, options = _request(way, messages, form)
        try:
            reply = await calls.complete(
                request,
                budget,
                keep_calls=keep_calls,
                keep_tokens=keep_tokens,
                fall_through=way != WAYS[-1],
                **options,
            )
        except ContextTooLong:
            raise
        except (NotImplementedError, TypeError, ValueError):
            continue  # the client itself does not know this way
        except ModelUnavailable as error:
            if way == WAYS[-1] or not _is_about_form(error):
                raise
            calls.quirks.structured = WAYS[WAYS.index(way) + 1]
            continue
        value, reply_problem = _read(reply, form)
        if value is not None:
            return value
        if way != WAYS[-1]:
            # it took the request, but the reply is broken: once more, in plain words
            return await _plain(calls, messages, form, budget, keep_calls, keep_tokens)
    raise BadReply(
        f"The model's reply is no {form.__name__}: {reply_problem}.", "Try again or use another model."
    )


async def _plain(
    calls: ModelCalls,
    messages: Sequence[BaseMessage],
    form: type[Form],
    budget: Budget,
    keep_calls: int,
    keep_tokens: int,
) -> Form:
    request, options = _request("text", messages, form)
    reply = await calls.complete(request, budget, keep_calls=keep_calls, keep_tokens=keep_tokens, **options)
    value, problem = _read(reply, form)
    if value is None:
        raise BadReply(
            f"The model's reply is no {form.__name__}: {problem}.", "Try again or use another model."
        )
    return value


def _is_about_form(error: ModelUnavailable) -> bool:
    """Whether asking in another form may help: the server refused the request or broke on it."""
    return error.__cause__ is not None and is_form_refusal(error.__cause__)


@cache
def schema_of(form: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a form, self-contained, every property required, as strict servers want it."""
    schema = form.model_json_schema()
    definitions = schema.pop("$defs", {})
    closed: dict[str, Any] = _closed(schema, definitions)
    return closed


def _closed(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_closed(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _closed(definitions[node["$ref"].rpartition("/")[2]], definitions)
    made = {
        key: _closed(value, definitions) for key, value in node.items() if key not in {"title", "default"}
    }
    if "title" in node and isinstance(node["title"], dict):  # a property that is called title
        made["title"] = _closed(node["title"], definitions)
    if made.get("type") == "object" and "properties" in made:
        made["required"] = list(made["properties"])
        made["additionalProperties"] = False
    return made


def _request(
    way: str, messages: Sequence[BaseMessage], form: type[BaseModel]
) -> tuple[list[BaseMessage], dict[str, Any]]:
    schema = schema_of(form)
    name = form.__name__
    if way == "json_schema":
        wrapped = {"name": name, "schema": schema, "strict": True}
        return list(messages), {"response_format": {"type": "json_schema", "json_schema": wrapped}}
    if way == "function_calling":
        function = {
            "name": name,
            "description": (form.__doc__ or name).strip().split("\n")[0],
            "parameters": schema,
        }
        return list(messages), {"tools": [{"type": "function", "function": function}], "tool_choice": name}
    from langchain_core.messages import HumanMessage

    wanted = (
        "Reply with one JSON object and nothing else: no prose, no code fence. It must fit this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    )
    *before, last = messages
    return [*before, HumanMessage(f"{text_of(last.content)}\n\n{wanted}")], {}


def _read(reply: AIMessage, form: type[Form]) -> tuple[Form | None, str]:
    candidates: list[Any] = [call["args"] for call in reply.tool_calls if isinstance(call.get("args"), dict)]
    candidates += [find_json(str(call.get("args") or "")) for call in reply.invalid_tool_calls]
    text = text_of(reply.content)
    candidates.append(find_json(text))
    problem = "it is empty" if not text.strip() and not reply.tool_calls else "it holds no JSON object"
    for candidate in candidates:
        if not isinstance(candidate, dict):
            continue
        try:
            return form.model_validate(candidate), ""
        except ValidationError as error:
            problem = one_line(ValueError(str(error.errors()[0].get("msg", "wrong form"))))
    return None, problem
