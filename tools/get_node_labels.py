"""Which labels nodes have."""

from __future__ import annotations

from graph_agent.tools.context import ToolContext
from graph_agent.tools.name_lists import counts_now, lines_of
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool


@tool("schema", reading=False)
def get_node_labels(context: ToolContext) -> ToolResult:
    """All node labels in use, most frequent first.

    Use it when get_graph_overview left labels out; get_node_label_counts gives their counts as well.
    Returns a list of names; on an empty graph a line that starts with "No".
    """
    labels = counts_now(context).labels
    text = lines_of(labels, of="labels", graph=context.graph.name, with_counts=False)
    return ToolResult(text, list(labels))
