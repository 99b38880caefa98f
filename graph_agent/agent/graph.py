"""The machine: a LangGraph StateGraph whose nodes are the stages."""

from __future__ import annotations

import asyncio
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from graph_agent.agent import routing
from graph_agent.agent.context import AgentContext, Services
from graph_agent.agent.nodes import answer, cypher, plan, read, schema, search, skeleton, verify
from graph_agent.agent.stage import Work, stage
from graph_agent.agent.state import Answer, Question, State

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    Machine = CompiledStateGraph[State, AgentContext, Question, Answer]

# Twelve stages, two repairs, one rewrite, and at most a hundred rounds of reading; more is a fault of ours.
RECURSION_LIMIT = 130

_opening = threading.Lock()

STAGES: dict[str, Work] = {
    "skeleton": skeleton.run,
    "plan": plan.run,
    "labels": schema.labels,
    "counts": schema.counts,
    "properties": schema.properties,
    "cypher": cypher.run,
    "repair": cypher.repair,
    "search": search.run,
    "read": read.run,
    "answer": answer.run,
    "verify": verify.run,
    "rewrite": answer.rewrite,
}


def build_graph(
    services: Services | None = None, *, checkpointer: BaseCheckpointSaver[Any] | bool | None = None
) -> Machine:
    """Compile the machine.

    Args:
        services: for runs whose context brings none, as when it is a node of a graph of yours.
        checkpointer: keeps conversations; True when a parent graph has one.
    """
    builder: StateGraph[State, AgentContext, Question, Answer] = StateGraph(
        State, context_schema=AgentContext, input_schema=Question, output_schema=Answer
    )
    for name, work in STAGES.items():
        builder.add_node(name, stage(name, work, services))  # type: ignore[arg-type, call-overload]
    builder.add_edge(START, "skeleton")
    builder.add_conditional_edges("skeleton", routing.after_skeleton)
    builder.add_conditional_edges("plan", routing.after_plan)
    builder.add_conditional_edges("labels", routing.after_labels)
    builder.add_conditional_edges("counts", routing.after_counts)
    builder.add_conditional_edges("properties", routing.after_properties)
    builder.add_conditional_edges("cypher", routing.after_cypher)
    builder.add_conditional_edges("repair", routing.after_repair)
    builder.add_conditional_edges("search", routing.after_search)
    builder.add_conditional_edges("read", routing.after_read)
    builder.add_edge("answer", "verify")
    builder.add_conditional_edges("verify", routing.after_verify, ["rewrite", END])
    builder.add_edge("rewrite", "verify")
    machine: Machine = builder.compile(checkpointer=checkpointer, name="graph-agent")
    return machine.with_config(recursion_limit=RECURSION_LIMIT)


async def make_graph(config: RunnableConfig | None = None) -> Machine:
    """Factory of langgraph.json: the machine over the graph that the environment names.

    A server calls it for every request: the graph is opened once a process, and off the event loop.

    Raises:
        ConfigurationError, EngineUnavailable: as for GraphAgent.open.
    """
    return await asyncio.to_thread(_served)


def _served() -> Machine:
    with _opening:
        return _opened()


@cache
def _opened() -> Machine:
    from graph_agent.agent.agent import make_services
    from graph_agent.settings import load_settings
    from graph_agent.store import DocumentGraph

    settings = load_settings()
    return build_graph(make_services(DocumentGraph.open(settings), settings))


def draw() -> str:
    """The compiled machine as a Mermaid diagram; needs no graph and no model."""
    return build_graph().get_graph().draw_mermaid()
