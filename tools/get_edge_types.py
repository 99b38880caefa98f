"""Which types relationships have."""

from __future__ import annotations

from graph_agent.tools.context import ToolContext
from graph_agent.tools.name_lists import counts_now, lines_of
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool


@tool("schema", reading=False)
def get_edge_types(context: ToolContext) -> ToolResult:
    """All relationship types in use, most frequent first.

    Use it when get_graph_overview left relationships out; get_edge_type_counts gives their counts as well.
    Returns a list of names; on an empty graph a line that starts with "No".
    """
    types = counts_now(context).edge_types
    text = lines_of(types, of="relTypes", graph=context.graph.name, with_counts=False)
    return ToolResult(text, list(types))
