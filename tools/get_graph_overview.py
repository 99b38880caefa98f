"""The map of the graph in one look."""

from __future__ import annotations

from dataclasses import asdict

from graph_agent.store.skeleton import Skeleton
from graph_agent.store.skeleton_text import render
from graph_agent.tools.bounds import output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool

BUDGET_TOKENS = 1_500


@tool("schema", reading=False)
def get_graph_overview(context: ToolContext) -> ToolResult:
    """Compact map of the graph: node types with counts and properties, and which relationships connect them.

    Read it first, before planning a query: it is cheaper than the other schema tools together. It stays
    within about 1,500 tokens; what does not fit is counted, with the tool that lists it
    (get_node_label_counts, get_edge_type_counts, get_property_types). Counts with ~ are estimates. "Pending"
    says that a large graph is still being looked at.
    """
    return overview_result(context, BUDGET_TOKENS)


def overview_result(context: ToolContext, budget: int) -> ToolResult:
    """The overview within another budget of tokens.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    skeleton = context.overview.current()
    kept = context.rendered
    # The skeleton is kept with its text, so that the same object means the same map.
    if kept is not None and kept[0] is skeleton and kept[1] == budget:
        return kept[2]
    outline = render(skeleton, context.graph.name, budget=budget, measure=output_tokens)
    result = ToolResult(outline.text, {**_facts(skeleton, context.graph.name), "dropped": outline.dropped})
    context.rendered = (skeleton, budget, result)
    return result


def _facts(skeleton: Skeleton, graph: str) -> dict[str, object]:
    return {
        "graph": graph,
        "nodes": skeleton.nodes,
        "edges": skeleton.edges,
        "labels": [{"label": label, "count": count} for label, count in skeleton.labels.items()],
        "edge_types": [{"edge_type": kind, "count": count} for kind, count in skeleton.edge_types.items()],
        "relationships": [asdict(triple) for triple in skeleton.triples],
        "properties": [
            {
                "owner": fact.owner,
                "owner_kind": fact.owner_kind,
                "property": fact.name,
                "types": list(fact.types),
            }
            for fact in skeleton.properties
        ],
        "pending": skeleton.pending,
        "graph_version": skeleton.version,
    }
