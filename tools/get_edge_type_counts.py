"""How many relationships each type has."""

from __future__ import annotations

from graph_agent.tools.context import ToolContext
from graph_agent.tools.name_lists import counts_now, lines_of
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool


@tool("schema", reading=False)
def get_edge_type_counts(context: ToolContext) -> ToolResult:
    """Every relationship type with how many relationships have it, most frequent first.

    Use it to gauge how dense the graph is before a query; which labels a type connects is in
    get_graph_overview. Returns [{edge_type, count}]. A type that no relationship has any more is not listed.
    """
    types = counts_now(context).edge_types
    text = lines_of(types, of="relTypes", graph=context.graph.name, with_counts=True)
    return ToolResult(text, [{"edge_type": kind, "count": count} for kind, count in types.items()])
