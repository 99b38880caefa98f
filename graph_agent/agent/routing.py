"""Where the machine goes next: pure functions of the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from graph_agent.agent.state import State

REPAIRS = 2
AfterSkeleton = Literal["plan", "answer"]
AfterPlan = Literal["labels", "counts", "properties", "cypher", "search", "read", "answer"]
AfterLabels = Literal["counts", "properties", "cypher", "search", "read", "answer"]
AfterCounts = Literal["properties", "cypher", "search", "read", "answer"]
AfterProperties = Literal["cypher", "search", "read", "answer"]
AfterCypher = Literal["repair", "search", "read", "answer"]
AfterRepair = Literal["cypher", "search", "read", "answer"]
AfterSearch = Literal["read", "answer"]
AfterRead = Literal["read", "answer"]
AfterVerify = Literal["rewrite", "__end__"]


def engine_is_down(state: State) -> bool:
    """Whether the database stopped answering: nothing more can be looked up."""
    error = state.get("error")
    return error is not None and error["kind"] == "EngineUnavailable"


def after_skeleton(state: State) -> AfterSkeleton:
    """An empty graph, or one that could not be looked at, needs no plan."""
    return "answer" if engine_is_down(state) or state.get("kind") in {"empty", "unknown"} else "plan"


def after_plan(state: State) -> AfterPlan:
    """The first stage that the plan needs."""
    if _wants(state, "labels"):
        return "labels"
    return after_labels(state)


def after_labels(state: State) -> AfterLabels:
    """The next stage that the plan needs."""
    if _wants(state, "counts"):
        return "counts"
    return after_counts(state)


def after_counts(state: State) -> AfterCounts:
    """The next stage that the plan needs."""
    if _wants(state, "properties"):
        return "properties"
    return after_properties(state)


def after_properties(state: State) -> AfterProperties:
    """A query, or what comes after queries."""
    if _wants(state, "cypher"):
        return "cypher"
    return after_repair_gave_up(state)


def after_cypher(state: State) -> AfterCypher:
    """Back for repair after an error or an empty result, at most `REPAIRS` times; else onwards."""
    if not engine_is_down(state) and needs_repair(state):
        return "repair"
    return after_repair_gave_up(state)


def after_repair(state: State) -> AfterRepair:
    """Run the new query, if there is one."""
    if state.get("cypher_text") and not engine_is_down(state):
        return "cypher"
    return after_repair_gave_up(state)


def after_repair_gave_up(state: State) -> Literal["search", "read", "answer"]:
    """Search when it is planned, or when the queries found nothing."""
    if engine_is_down(state):
        return "answer"
    if _wants(state, "search") or queries_failed(state):
        return "search"
    return after_search(state)


def after_search(state: State) -> AfterSearch:
    """Read on when the plan says so."""
    return "read" if _wants(state, "read") and not state.get("reading_done") else "answer"


def after_read(state: State) -> AfterRead:
    """Another round until there is enough, or no call is left."""
    return "answer" if state.get("reading_done") or engine_is_down(state) else "read"


def after_verify(state: State) -> AfterVerify:
    """One rewrite when the check found something; the response ends the machine."""
    return "__end__" if state.get("response") else "rewrite"


def needs_repair(state: State) -> bool:
    """Whether the last query failed or found nothing, and may be tried again."""
    runs = state.get("cypher") or []
    if not runs or len(runs) > REPAIRS:
        return False
    return bool(runs[-1]["error"]) or not found_something(runs[-1])


def queries_failed(state: State) -> bool:
    """Whether queries were planned and none of them gave a row."""
    if not _wants(state, "cypher"):
        return False
    return not any(found_something(run) for run in state.get("cypher") or [])


def found_something(run: Mapping[str, Any]) -> bool:
    """Whether a query gave rows that say something: a count of 0 for a name that does not exist says nothing."""
    if not run["rows"]:
        return False
    blank = all(not value for row in run["rows"] for value in row.values())
    return not (blank and run.get("hint"))


def _wants(state: State, stage: str) -> bool:
    if engine_is_down(state):
        return False
    plan = state.get("plan")
    return plan is not None and stage in plan["needs"]
