"""How many nodes each label has."""

from __future__ import annotations

from graph_agent.tools.context import ToolContext
from graph_agent.tools.name_lists import counts_now, lines_of
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool


@tool("schema", reading=False)
def get_node_label_counts(context: ToolContext) -> ToolResult:
    """Every node label with how many nodes carry it, most frequent first.

    Use it to gauge the size of the graph before a query; for counts under a condition use graph_query.
    Returns [{label, count}]. A node with two labels counts for both. A label that no node carries is not listed.
    """
    labels = counts_now(context).labels
    text = lines_of(labels, of="labels", graph=context.graph.name, with_counts=True)
    return ToolResult(text, [{"label": label, "count": count} for label, count in labels.items()])
