"""The tools by name, called as LangChain tools are called, with their failures told apart.

A failure that the caller may mend (a bad argument, an unknown id, a query that does not parse) is a result;
an engine that does not answer is raised, because then every other call fails, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph_agent.errors import GraphAgentError, NotFound, UnavailableError

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


@dataclass(frozen=True)
class Outcome:
    """What a tool gave back.

    Attributes:
        content: the text for a model; the error's text when it failed.
        artifact: the same as JSON types; None when it failed.
        error: class name of the error, "" when there was none.
        fix: what the error proposes.
    """

    content: str
    artifact: Any = None
    error: str = ""
    fix: str = ""

    @property
    def failed(self) -> bool:
        """Whether the tool could not answer."""
        return bool(self.error)


class Toolbox:
    """Tools by name."""

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    def __contains__(self, name: str) -> bool:
        return name in self.tools

    def some(self, names: Iterable[str]) -> list[BaseTool]:
        """The tools of these names that there are."""
        return [self.tools[name] for name in names if name in self.tools]

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Outcome:
        """Call a tool.

        Raises:
            NotFound: there is no tool of that name.
            UnavailableError: the engine or the embedding model does not answer.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise NotFound(f"There is no tool {name!r}.", f"The tools are {', '.join(sorted(self.tools))}.")
        call = {"type": "tool_call", "id": name, "name": name, "args": arguments or {}}
        try:
            message = await _invoked(tool, call)
        except Exception as error:  # noqa: BLE001 - a tool of somebody else may raise anything
            return _failure(error)
        if getattr(message, "status", "success") == "error":
            return Outcome(str(message.content), error="ToolException")
        return Outcome(str(message.content), _plain(message.artifact))


async def _invoked(tool: BaseTool, call: dict[str, Any]) -> Any:
    """Our own tools turn every failure into a message for a model; here its kind matters, so they are asked below that."""
    from langchain_core.tools import BaseTool as Base

    from graph_agent.tools.langchain_tool import GraphTool

    return await (Base.ainvoke(tool, call) if isinstance(tool, GraphTool) else tool.ainvoke(call))


def _failure(error: Exception) -> Outcome:
    """The failure as a result, or raised when no other call could succeed either."""
    inner = getattr(error, "error", None)
    meant = inner if isinstance(inner, GraphAgentError) else error
    if isinstance(meant, UnavailableError):
        raise meant from error
    if isinstance(meant, GraphAgentError):
        return Outcome(str(meant), error=type(meant).__name__, fix=meant.fix)
    from langchain_core.tools import ToolException
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        return Outcome(f"The argument {name!r} is not usable: {first['msg']}.", error="BadArgument")
    if isinstance(error, ToolException):
        return Outcome(str(error), error="ToolException")
    raise error


def _plain(value: Any) -> Any:
    """JSON types only: artifacts go into the state, which is checkpointed."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return json.loads(json.dumps(value, default=str))
