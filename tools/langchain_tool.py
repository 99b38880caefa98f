"""A ToolSpec and a ToolContext as a LangChain tool."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel, PrivateAttr

from graph_agent.errors import BadArgument, GraphAgentError
from graph_agent.tools.context import ToolContext
from graph_agent.tools.result import ToolFailure
from graph_agent.tools.spec import ToolSpec


class GraphTool(BaseTool):
    """One of this package's tools over one graph.

    A failure is a ToolFailure (a ToolException). Called with plain arguments the tool raises it; called with
    a model's tool call it returns a ToolMessage with `status="error"` whose text is the failure's, so that an
    agent loop goes on and the model can mend its call. `handle_tool_error` keeps LangChain's own meaning.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    _spec: ToolSpec = PrivateAttr()
    _context: ToolContext = PrivateAttr()

    def __init__(self, spec: ToolSpec, context: ToolContext, **settings: Any) -> None:
        super().__init__(
            name=spec.name,
            description=spec.description,
            args_schema=spec.arguments,
            metadata={"family": spec.family},
            **settings,
        )
        self._spec = spec
        self._context = context

    @property
    def tool_call_schema(self) -> type[BaseModel]:
        """What a model is told: the arguments as TOOLS and MCP tell them."""
        return self._spec.arguments

    def invoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002 - the name is LangChain's
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        try:
            return super().invoke(input, config, **kwargs)
        except ToolFailure as failure:
            return self._answered(input, failure)

    async def ainvoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002 - the name is LangChain's
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        try:
            return await super().ainvoke(input, config, **kwargs)
        except ToolFailure as failure:
            return self._answered(input, failure)

    def _run(self, **arguments: Any) -> tuple[str, Any]:
        try:
            result = self._spec.answer(self._context, **arguments)
        except GraphAgentError as error:
            raise ToolFailure(error) from error
        return result.content, result.artifact

    async def _arun(self, **arguments: Any) -> tuple[str, Any]:
        return await asyncio.to_thread(self._run, **arguments)

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Our own check of the arguments: its refusals name what is allowed and what is nearest."""
        try:
            return (), self._spec.check(self._as_arguments(tool_input))
        except GraphAgentError as error:
            raise ToolFailure(error) from error

    def _as_arguments(self, tool_input: str | dict[str, Any]) -> dict[str, Any]:
        if not isinstance(tool_input, str):
            return tool_input
        names = list(self._spec.arguments.model_fields)
        if names:
            return {names[0]: tool_input}
        if tool_input.strip() not in {"", "{}"}:
            raise BadArgument(f"{self.name} was given {tool_input!r}.", "It takes no arguments.")
        return {}

    def _answered(self, call: str | dict[str, Any] | ToolCall, failure: ToolFailure) -> ToolMessage:
        if not (isinstance(call, dict) and call.get("type") == "tool_call"):
            raise failure
        return ToolMessage(
            content=str(failure), name=self.name, tool_call_id=str(call.get("id")), status="error"
        )
