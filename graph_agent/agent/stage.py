"""What every stage has in common: its events, its time, its record, its budget, and what an error leads to."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph_agent.agent.budget import Budget, Limits, OutOfBudget
from graph_agent.agent.context import AgentContext, Resolved, Services, resolve
from graph_agent.agent.events import (
    AgentWarning,
    Event,
    SourcesFound,
    Stage,
    StageFinished,
    StageSkipped,
    StageStarted,
)
from graph_agent.agent.reasoner import Reasoner
from graph_agent.agent.response import CypherRun, Passage, Source, StageRecord
from graph_agent.agent.state import FailureState, State, Update, fresh
from graph_agent.agent.toolbox import Outcome
from graph_agent.errors import (
    ConfigurationError,
    EngineUnavailable,
    GraphAgentError,
    ModelUnavailable,
    QueryError,
)

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

log = logging.getLogger(__name__)


@dataclass
class Step:
    """One stage as it runs.

    Attributes:
        reason: why the stage is run.
        counts, detail: what its StageFinished event tells.
        last: an event to send after it.
    """

    stage: Stage
    context: Resolved
    budget: Budget
    write: Callable[[Any], None]
    reason: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    notes: list[str] = field(default_factory=list)
    skipped: list[StageRecord] = field(default_factory=list)
    last: Event | None = None
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """How long it runs already."""
        return round(time.perf_counter() - self.began, 4)

    @property
    def services(self) -> Services:
        """The tools and reasoners."""
        return self.context.services

    @property
    def limits(self) -> Limits:
        """What the question may cost."""
        return self.context.limits

    def reasoner(self, state: State) -> Reasoner:
        """The reasoner in charge: the model's, until it failed for good."""
        model = self.services.model
        return model if model is not None and state.get("mode") == "model" else self.services.extractive

    def emit(self, event: Event) -> None:
        """Send an event to whoever listens."""
        self.write(event)

    def note(self, text: str) -> None:
        """Put something into the response's notes, and warn at once."""
        if text and text not in self.notes:
            self.notes.append(text)
            self.emit(AgentWarning(message=text))

    def skip(self, stage: Stage, reason: str) -> None:
        """Record that a stage is left out."""
        self.skipped.append(StageRecord(name=stage, reason=reason, skipped=True))
        self.emit(StageSkipped(stage=stage, reason=reason))

    def show_sources(self, passages: list[dict[str, Any]], sources: list[dict[str, Any]]) -> None:
        """Tell what was found."""
        self.emit(
            SourcesFound(
                passages=[Passage(**passage) for passage in passages],
                sources=[Source(**source) for source in sources],
            )
        )

    async def tool(self, name: str, arguments: dict[str, Any] | None = None) -> Outcome:
        """Call a tool for the machine itself; these are bounded by the machine's shape and not counted."""
        return await self.services.toolbox.call(name, arguments)


Work = Callable[[State, Step], Awaitable[Update]]
Node = Callable[[State, "Runtime[AgentContext]"], Awaitable[Update]]


def stage(name: Stage, work: Work, built_with: Services | None) -> Node:
    """The node of a stage.

    Errors do not end the machine: an engine that is down leads straight to an answer that says so; a model that
    fails for good hands over to the extractive reasoner; a query that the engine refuses or has no time for, and a
    configuration that turns out to be wrong, leave the stage without a result; a limit leads to an answer from what
    is there.
    """

    async def node(state: State, runtime: Runtime[AgentContext]) -> Update:
        context = resolve(runtime, built_with)
        # The first stage starts a new question, whatever becomes of the stage: nothing of the one before is this one's.
        begun = _begun(state, context) if name == "skeleton" else {}
        spent = None if begun else state.get("spent")
        step = Step(name, context, Budget(context.limits, spent), runtime.stream_writer)
        step.reason = _reason(state, name)
        step.emit(StageStarted(stage=name, reason=step.reason))
        try:
            update = await work(state, step)
        except OutOfBudget as limit:
            step.note(limit.message)
            update = {"reading_done": True}
        except EngineUnavailable as error:
            step.error = error.message
            update = {**_left_by(name, error), "error": failure(error)}
        except ModelUnavailable as error:
            step.error = error.message
            step.note(str(error))
            update = {**_left_by(name, error), "mode": "extractive", "error": failure(error)}
        except (QueryError, ConfigurationError) as error:
            step.error = error.message
            step.note(str(error))
            update = {**_left_by(name, error), "error": failure(error)}
        update = {**begun, **update}
        return {**update, **_recorded(step, update)}

    node.__name__ = name
    return node


def _begun(state: State, context: Resolved) -> Update:
    return fresh(state.get("question"), "extractive" if context.services.model is None else "model")


def _left_by(name: Stage, error: GraphAgentError) -> Update:
    """What a stage that failed leaves, so that the machine goes on and does not come back to it for ever."""
    match name:
        case "cypher":
            run = CypherRun(query="", error=error.message).model_dump()
            return {"cypher_text": "", "cypher": [{**run, "text": ""}]}
        case "repair":
            return {"cypher_text": ""}
        case "search":
            return {"search": {"failed": True}}
        case "read":
            return {"reading_done": not isinstance(error, ModelUnavailable)}
        case "rewrite":
            return {"rewritten": True}
        case _:
            return {}


def _recorded(step: Step, update: Update) -> Update:
    detail = {**step.counts, **step.detail, **({"error": step.error} if step.error else {})}
    record = StageRecord(name=step.stage, seconds=step.seconds, reason=step.reason, detail=detail)
    step.emit(
        StageFinished(
            stage=step.stage,
            seconds=record.seconds,
            reason=step.reason,
            counts=step.counts,
            detail=step.detail,
            error=step.error,
        )
    )
    if step.last is not None:
        step.emit(step.last)
    records = [entry.model_dump() for entry in (record, *step.skipped)]
    return {
        "stages": _joined(update.get("stages"), records),
        "notes": _joined(update.get("notes"), step.notes),
        "spent": step.budget.spent,
    }


def _joined(given: Any, own: list[Any]) -> Any:
    """A stage's own entries, kept inside the Overwrite of the stage that starts a question."""
    from langgraph.types import Overwrite

    if isinstance(given, Overwrite):
        return Overwrite([*given.value, *own])
    return [*(given or []), *own]


def _reason(state: State, name: Stage) -> str:
    plan = state.get("plan")
    if plan is None or name == "skeleton":
        return ""
    return plan["needs"].get(name, "")


def failure(error: GraphAgentError) -> FailureState:
    """An error as part of the state."""
    return {
        "kind": type(error).__name__,
        "message": error.message,
        "fix": error.fix,
        "exit_code": error.exit_code,
    }
