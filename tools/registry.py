"""The one list of tools; TOOLS, TOOL_MAP, the toolkit, MCP and the command line are made from it.

Adding a tool: write `tools/my_tool.py` with a function `my_tool` decorated by `@tool(...)`, and add its name
to `BUILT_IN`. A program that wants a tool of its own in the same process calls `register` instead.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

from langchain_core.tools import BaseTool, BaseToolkit
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, PrivateAttr

from graph_agent.errors import BadArgument, GraphAgentError
from graph_agent.store import DocumentGraph
from graph_agent.tools.context import ToolContext
from graph_agent.tools.langchain_tool import GraphTool
from graph_agent.tools.result import ToolFailure, ToolResult
from graph_agent.tools.spec import FAMILIES, Family, ToolSpec

BUILT_IN = (
    "get_graph_overview",
    "get_node_labels",
    "get_edge_types",
    "get_node_label_counts",
    "get_edge_type_counts",
    "get_property_types",
    "graph_query",
    "vector_search",
    "query_documents",
    "search_sections",
    "get_folder_toc",
    "list_documents",
    "get_document_toc",
    "get_section_content",
    "status",
)

AsyncTool = Callable[..., Awaitable[Any]]
_lock = threading.RLock()
_specs: dict[str, ToolSpec] = {}
_schemas: list[dict[str, Any]] = []
_functions: dict[str, AsyncTool] = {}
_default: ToolContext | None = None


def specs() -> dict[str, ToolSpec]:
    """Every tool by name, the built-in ones first."""
    with _lock:
        if not _specs:
            # All of them or none: a module that cannot be imported must not leave a shorter list behind.
            for spec in [getattr(import_module(f"graph_agent.tools.{name}"), name) for name in BUILT_IN]:
                _add(spec)
        return dict(_specs)


def register(spec: ToolSpec) -> ToolSpec:
    """Add a tool to every surface of this process; a tool of the same name is replaced."""
    specs()
    with _lock:
        unregister(spec.name)
        _add(spec)
    return spec


def unregister(name: str) -> None:
    """Take a tool away again; an unknown name is no error."""
    with _lock:
        if _specs.pop(name, None) is not None:
            _schemas[:] = [schema for schema in _schemas if schema["function"]["name"] != name]
            _functions.pop(name, None)


def reading_tools() -> tuple[str, ...]:
    """Names of the tools that our agent's reading loop offers, those that were added included."""
    return tuple(spec.name for spec in specs().values() if spec.reading)


def find(name: str) -> ToolSpec:
    """A tool by name.

    Raises:
        BadArgument: there is none; names the nearest.
    """
    known = specs()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 1, 0.3)
    nearest = f"Nearest: {near[0]}. " if near else ""
    raise BadArgument(f"There is no tool {name!r}.", f"{nearest}Tools: {', '.join(known)}.")


def call_tool(context: ToolContext, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
    """Run a tool: what the command line, the pages, MCP and the agent do.

    Raises:
        BadArgument: no such tool, or an argument that is not allowed.
        GraphAgentError: what the tool raises; see its own docstring.
    """
    return find(name).run(context, arguments or {})


async def acall_tool(
    context: ToolContext, name: str, arguments: Mapping[str, Any] | None = None
) -> ToolResult:
    """`call_tool` without blocking the event loop."""
    return await asyncio.to_thread(call_tool, context, name, arguments)


def tool_schemas() -> list[dict[str, Any]]:
    """OpenAI-compatible function schemas of all tools; the same list object every time."""
    specs()
    return _schemas


def tool_map() -> dict[str, AsyncTool]:
    """Async functions by tool name, over the default graph; the same dict object every time.

    A function takes keyword arguments and returns the artifact (for the document navigation tools the
    text). It raises ToolFailure. The default graph is that of the environment, opened at the first call.
    """
    specs()
    return _functions


def use_default(context: ToolContext | None) -> None:
    """Set what TOOL_MAP's functions work on; None: what the environment says, opened at the next call."""
    global _default  # noqa: PLW0603 - TOOL_MAP's functions take no context: that is their contract
    with _lock:
        _default = context


def default_context() -> ToolContext:
    """What TOOL_MAP's functions work on."""
    with _lock:
        if _default is None:
            from graph_agent.settings import load_settings

            use_default(ToolContext(DocumentGraph.open(load_settings())))
        assert _default is not None  # noqa: S101 - for the type checker
        return _default


class DocumentGraphToolkit(BaseToolkit):
    """All tools over one graph, as LangChain tools.

    Args:
        graph: the graph they read; it stays the caller's to close.
        context: instead of a graph, a context that is shared with others.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _context: ToolContext = PrivateAttr()

    def __init__(self, graph: DocumentGraph | None = None, *, context: ToolContext | None = None) -> None:
        super().__init__()
        if context is None:
            if graph is None:
                raise BadArgument("DocumentGraphToolkit was given no graph.", "Give it a DocumentGraph.")
            context = ToolContext(graph)
        self._context = context

    @property
    def context(self) -> ToolContext:
        """What the tools share."""
        return self._context

    def get_tools(self, family: Family | None = None) -> list[BaseTool]:
        """All tools, or those of one family: `navigation`, `documents` or `schema`.

        Raises:
            BadArgument: an unknown family.
        """
        if family is not None and family not in FAMILIES:
            near = difflib.get_close_matches(str(family), FAMILIES, 1, 0.0)
            raise BadArgument(
                f"family is {family!r}.", f"Allowed: {', '.join(FAMILIES)}. Nearest: {near[0]}."
            )
        return [
            GraphTool(spec, self._context)
            for spec in specs().values()
            if family is None or spec.family == family
        ]


def _add(spec: ToolSpec) -> None:
    _specs[spec.name] = spec
    _schemas.append(_schema(spec))
    _functions[spec.name] = _function(spec)


def _schema(spec: ToolSpec) -> dict[str, Any]:
    schema = convert_to_openai_tool(spec.arguments)
    parameters = schema["function"].get("parameters") or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": parameters},
    }


def _function(spec: ToolSpec) -> AsyncTool:
    async def run(**arguments: Any) -> Any:
        try:
            result = await asyncio.to_thread(lambda: spec.run(default_context(), arguments))
        except GraphAgentError as error:
            raise ToolFailure(error) from error
        return result.content if spec.returns == "content" else result.artifact

    parameters = list(inspect.signature(spec.answer).parameters.values())[1:]
    run.__name__ = run.__qualname__ = spec.name
    run.__doc__ = spec.description
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    return run
