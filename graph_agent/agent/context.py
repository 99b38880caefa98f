"""What a run needs and the state must not hold: the graph, the tools, the reasoners, the limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graph_agent.agent.budget import Limits
from graph_agent.agent.toolbox import Toolbox
from graph_agent.errors import ConfigurationError

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from graph_agent.agent.reasoner import Reasoner
    from graph_agent.settings import Settings
    from graph_agent.tools import ToolContext


@dataclass(frozen=True)
class Services:
    """What stays the same for all questions to one graph.

    Attributes:
        tool_context: the graph and the search over it.
        toolbox: all tools by name, and `calculate`.
        extractive: answers without a model; also takes over when the model fails.
        model: answers with a model; None when none is configured.
    """

    settings: Settings
    tool_context: ToolContext
    toolbox: Toolbox
    extractive: Reasoner
    model: Reasoner | None = None


@dataclass(frozen=True)
class AgentContext:
    """The run context of the machine.

    Attributes:
        services: None takes the ones that the machine was built with.
        limits: None takes those of the settings.
        thread_id: name of the conversation, for the response.
        stream: False when nobody reads the answer's tokens.
    """

    services: Services | None = None
    limits: Limits | None = None
    thread_id: str = ""
    stream: bool = field(default=True)


@dataclass(frozen=True)
class Resolved:
    """An AgentContext with everything filled in."""

    services: Services
    limits: Limits
    thread_id: str
    stream: bool


def resolve(runtime: Runtime[AgentContext], built_with: Services | None) -> Resolved:
    """The context of a run, from the run itself or from what the machine was built with.

    Raises:
        ConfigurationError: neither has services.
    """
    given = runtime.context if isinstance(runtime.context, AgentContext) else AgentContext()
    services = given.services or built_with
    if services is None:
        raise ConfigurationError(
            "The machine was built without services, and the run brings none.",
            "Pass context=AgentContext(services=...), or build it with make_graph().",
        )
    thread = given.thread_id
    if not thread and runtime.execution_info is not None:
        thread = runtime.execution_info.thread_id or ""
    return Resolved(services, given.limits or Limits.from_settings(services.settings), thread, given.stream)
