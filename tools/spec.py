"""What a tool is: a function with a docstring and annotated arguments, and everything derived from it.

The docstring is what a model reads, the annotations make the JSON schema, the name is the function's.
Nothing is declared twice, and every surface (LangChain, TOOLS, TOOL_MAP, MCP, command line) is derived here.
"""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from graph_agent.errors import BadArgument
from graph_agent.tools.context import ToolContext
from graph_agent.tools.result import ToolResult

Family = Literal["navigation", "documents", "schema"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Answer = Callable[..., ToolResult]


@dataclass(frozen=True)
class ToolSpec:
    """One tool, bound to no graph yet.

    Attributes:
        name: the function's name.
        family: `navigation`, `documents` or `schema`.
        description: the docstring; written for models and engineers alike.
        arguments: pydantic model of the arguments; unknown ones are refused.
        answer: called with a ToolContext and the arguments.
        returns: what a TOOL_MAP function gives back.
        reading: whether our agent's reading loop offers it to the model; False for those with a stage of their own.
    """

    name: str
    family: Family
    description: str
    arguments: type[BaseModel]
    answer: Answer
    returns: Literal["artifact", "content"] = "artifact"
    reading: bool = True

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Check the arguments and answer.

        Raises:
            BadArgument: names the argument, its value, what is allowed and the nearest allowed value.
            GraphAgentError: whatever the tool itself raises.
        """
        return self.answer(context, **self.check(arguments))

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments converted to their types, defaults filled in.

        A null for an argument that has a default means the default, and a list or map written as a JSON
        string is read: models do both. A string that may also stand for itself is read when it is a list.

        Raises:
            BadArgument: see `run`.
        """
        fields = self.arguments.model_fields
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in fields or fields[name].is_required()
        }
        for name in fields:
            value = given.get(name)
            if (
                isinstance(value, str)
                and value.lstrip().startswith("[")
                and _may_be_list(fields[name].annotation)
            ):
                value = given[name] = _from_json(value)
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(part, str) and not part.strip() for part in parts):
                raise BadArgument(f"{name} is an empty string.", _instead(self, name))
        try:
            checked = self._validated(given)
        except ValidationError as error:
            details = error.errors(include_url=False)
            # A misnamed argument first: it is also why another one is missing.
            misnamed = [detail for detail in details if detail["type"] == "extra_forbidden"]
            raise self._refusal((misnamed or details)[0], arguments) from None
        return {name: getattr(checked, name) for name in fields}

    def _validated(self, given: dict[str, Any]) -> BaseModel:
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            unread = {
                str(detail["loc"][0])
                for detail in error.errors(include_url=False)
                if detail["type"] in {"dict_type", "list_type"}
                and isinstance(given.get(str(detail["loc"][0])), str)
            }
            if not unread:
                raise
            return self.arguments.model_validate(
                {name: _from_json(value) if name in unread else value for name, value in given.items()}
            )

    def _refusal(self, detail: ErrorDetails, arguments: Mapping[str, Any]) -> BadArgument:
        name = str(detail["loc"][0]) if detail["loc"] else "arguments"
        context = detail.get("ctx", {})
        match detail["type"]:
            case "missing":
                return BadArgument(f"{self.name} needs the argument {name}.", _instead(self, name))
            case "extra_forbidden":
                known = list(self.arguments.model_fields)
                near = difflib.get_close_matches(name, known, 1, 0.5)
                nearest = f"Nearest: {near[0]}. " if near else ""
                allowed = f"It takes {', '.join(known)}." if known else "It takes no arguments."
                return BadArgument(f"{self.name} has no argument {name!r}.", nearest + allowed)
            case "literal_error":
                value = str(arguments.get(name))
                options = [str(option) for option in _options(self.arguments, name)]
                near = difflib.get_close_matches(value.lower(), options, 1, 0.0)
                return BadArgument(
                    f"{name} is {_shown(arguments.get(name))}.",
                    f"Allowed: {', '.join(options)}. Nearest: {near[0] if near else options[0]}.",
                )
            case "greater_than_equal":
                least = context.get("ge")
                return BadArgument(
                    f"{name} is {_shown(detail['input'])}.", f"Allowed: {least} or more. Nearest: {least}."
                )
            case _:
                return BadArgument(
                    f"{name} is {_shown(arguments.get(name))}: {detail['msg'][0].lower()}{detail['msg'][1:]}.",
                    _instead(self, name),
                )


def tool(
    family: Family, *, returns: Literal["artifact", "content"] = "artifact", reading: bool = True
) -> Callable[[Answer], ToolSpec]:
    """Make a ToolSpec of a function whose first parameter is the ToolContext.

    Args:
        family: where the tool belongs.
        returns: what a TOOL_MAP function gives back.
        reading: whether our agent's reading loop may call it.
    """

    def make(function: Answer) -> ToolSpec:
        description = inspect.cleandoc(function.__doc__ or "")
        if not description:
            raise TypeError(f"{function.__name__} needs a docstring: it is what a model reads")
        return ToolSpec(
            name=function.__name__,
            family=family,
            description=description,
            arguments=arguments_model(function),
            answer=function,
            returns=returns,
            reading=reading,
        )

    return make


def arguments_model(function: Answer) -> type[BaseModel]:
    """The pydantic model of a tool function's arguments, the context left out."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (Annotated[hints[name], Field(json_schema_extra=_simplified)], default)
    title = "".join(part.title() for part in function.__name__.split("_")) + "Arguments"
    return create_model(
        title,
        __config__=ConfigDict(extra="forbid"),
        __doc__=inspect.cleandoc(function.__doc__ or ""),
        **fields,
    )


def _simplified(schema: dict[str, Any]) -> None:
    """An optional argument as models know it: its type, not required; no null, no title that repeats the name."""
    schema.pop("title", None)
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        del schema["anyOf"]
        schema.update(options[0])
    elif options:
        schema["anyOf"] = options
    if schema.get("default", ...) is None:
        del schema["default"]


def _may_be_list(annotation: Any) -> bool:
    return any(get_origin(option) is list for option in get_args(annotation))


def _options(arguments: type[BaseModel], name: str) -> tuple[Any, ...]:
    return get_args(arguments.model_fields[name].annotation)


def _instead(spec: ToolSpec, name: str) -> str:
    """What to give, from the argument's own description."""
    field = spec.arguments.model_fields.get(name)
    if field is None:
        return ""
    leave = "" if field.is_required() else f"Leave {name} out, or give "
    text = field.description or "another value"
    return f"{leave}{text}." if leave else f"Give {text}."


def _from_json(text: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
