"""The agent: a LangGraph state machine that answers from the graph, cites, and checks what it says.

The names below are loaded on first use, so that importing this package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.agent.agent import GraphAgent, make_services
    from graph_agent.agent.budget import Limits
    from graph_agent.agent.context import AgentContext, Services
    from graph_agent.agent.events import (
        AgentEvent,
        AgentWarning,
        AnswerReplaced,
        AnswerToken,
        Finished,
        SourcesFound,
        StageFinished,
        StageSkipped,
        StageStarted,
    )
    from graph_agent.agent.graph import build_graph, draw, make_graph
    from graph_agent.agent.response import AgentResponse, Citation, Passage, Source

_HOMES = {
    "AgentContext": "context",
    "AgentEvent": "events",
    "AgentResponse": "response",
    "AgentWarning": "events",
    "AnswerReplaced": "events",
    "AnswerToken": "events",
    "Citation": "response",
    "Finished": "events",
    "GraphAgent": "agent",
    "Limits": "budget",
    "Passage": "response",
    "Services": "context",
    "Source": "response",
    "SourcesFound": "events",
    "StageFinished": "events",
    "StageSkipped": "events",
    "StageStarted": "events",
    "build_graph": "graph",
    "draw": "graph",
    "make_graph": "graph",
    "make_services": "agent",
}
__all__ = [
    "AgentContext",
    "AgentEvent",
    "AgentResponse",
    "AgentWarning",
    "AnswerReplaced",
    "AnswerToken",
    "Citation",
    "Finished",
    "GraphAgent",
    "Limits",
    "Passage",
    "Services",
    "Source",
    "SourcesFound",
    "StageFinished",
    "StageSkipped",
    "StageStarted",
    "build_graph",
    "draw",
    "make_graph",
    "make_services",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"graph_agent.agent.{home}"), name)
