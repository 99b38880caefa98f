"""The state of things: engine, graph, models, limits, where the data lies; what `graph-agent status` tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph_agent.errors import GraphAgentError
from graph_agent.ui.answering import answerer
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.ui.workspace import Workspace


def status_html(workspace: Workspace) -> str:
    """The page."""
    problem = ""
    found: dict[str, Any] = {}
    try:
        found = workspace.call("status")
    except GraphAgentError as error:
        problem = str(error)
    return str(
        render(
            "status.html",
            status=found,
            problem=problem,
            who=answerer(workspace),
            settings=workspace.settings,
            roots=[] if problem else workspace.roots(),
            shared=workspace.shared,
        )
    )
