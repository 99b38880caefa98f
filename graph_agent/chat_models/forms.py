"""A reply in a given form: how to ask for one in each way that servers know, and how to read what comes back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from graph_agent.chat_models.models import one_line
from graph_agent.chat_models.replies import find_json, text_of

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

Form = TypeVar("Form", bound=BaseModel)

WAYS = ("json_schema", "function_calling", "text")
"""From the strictest to the plainest: a server that refuses one is asked by the next."""


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


def request_for(
    way: str, messages: Sequence[BaseMessage], form: type[BaseModel]
) -> tuple[list[BaseMessage], dict[str, Any]]:
    """Messages and options for the model that ask for a form in one of the `WAYS`."""
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


def read_form(reply: AIMessage, form: type[Form]) -> tuple[Form | None, str]:
    """The form that a reply holds, in whatever way; else None, and what is wrong with it."""
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
