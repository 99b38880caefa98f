"""Fifteen tools that read a graph in FalkorDB; usable by any agent, none of them changes anything.

    from graph_agent.tools import DocumentGraphToolkit
    tools = DocumentGraphToolkit(graph).get_tools()

* `DocumentGraphToolkit(graph).get_tools(family=None)`: LangChain tools;
* `TOOLS`: OpenAI-compatible function schemas; `TOOL_MAP`: name to async function, over the default graph;
* `call_tool(context, name, arguments)`: one call, for programs;
* `tool`, `register`: a tool of your own.

Nothing is loaded or opened before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.tools.context import ToolContext
    from graph_agent.tools.registry import (
        AsyncTool,
        DocumentGraphToolkit,
        acall_tool,
        call_tool,
        register,
        unregister,
        use_default,
    )
    from graph_agent.tools.result import ToolFailure, ToolResult
    from graph_agent.tools.spec import ToolSpec, tool

    TOOLS: list[dict[str, Any]]
    TOOL_MAP: dict[str, AsyncTool]

_HOMES = {
    "DocumentGraphToolkit": "registry",
    "ToolContext": "context",
    "ToolFailure": "result",
    "ToolResult": "result",
    "ToolSpec": "spec",
    "acall_tool": "registry",
    "call_tool": "registry",
    "register": "registry",
    "tool": "spec",
    "unregister": "registry",
    "use_default": "registry",
}
__all__ = [
    "TOOLS",
    "TOOL_MAP",
    "DocumentGraphToolkit",
    "ToolContext",
    "ToolFailure",
    "ToolResult",
    "ToolSpec",
    "acall_tool",
    "call_tool",
    "register",
    "tool",
    "unregister",
    "use_default",
]


def __getattr__(name: str) -> Any:
    if name in {"TOOLS", "TOOL_MAP"}:
        registry = import_module("graph_agent.tools.registry")
        return registry.tool_schemas() if name == "TOOLS" else registry.tool_map()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"graph_agent.tools.{home}"), name)
