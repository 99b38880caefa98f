"""The second stage: the question made whole, and which stages it needs, with the reason for each."""

from __future__ import annotations

from graph_agent.agent.budget import OutOfBudget
from graph_agent.agent.reasoner import PlanRequest
from graph_agent.agent.stage import Step, failure
from graph_agent.agent.state import PlanState, State, Update
from graph_agent.chat_models.models import BadReply
from graph_agent.errors import ModelUnavailable

OPTIONAL = ("labels", "counts", "properties", "cypher", "search", "read")


async def run(state: State, step: Step) -> Update:
    """Ask the reasoner; a model that gives no usable plan is replaced by the rules, for this stage only."""
    request = PlanRequest(
        question=state["question"],
        turns=state.get("turns") or [],
        overview=state["overview"],
        kind=state["kind"],
        scope=state.get("scope") or {},
        facts=state["overview_facts"],
    )
    reasoner = step.reasoner(state)
    update: Update = {}
    try:
        plan = await reasoner.plan(request, step.budget)
    except (ModelUnavailable, OutOfBudget) as error:
        if reasoner is step.services.extractive:
            raise
        step.note(f"The plan was made by rules: {error}")
        if isinstance(error, ModelUnavailable) and not isinstance(error, BadReply):
            # It will not answer the next call either: go on without it, and say so.
            step.error = error.message
            update = {"mode": "extractive", "error": failure(error)}
        reasoner = step.services.extractive
        plan = await reasoner.plan(request, step.budget)
    decided(plan, state)
    for name in OPTIONAL:
        if name not in plan["needs"]:
            step.skip(name, plan["skips"].get(name, "the question does not need it"))  # type: ignore[arg-type]
    step.detail = {
        "question": plan["question"],
        "kind": plan["kind"],
        "stages": list(plan["needs"]),
        "phrases": plan["phrases"],
        "scope": dict(plan["scope"]),
        "language": plan["language"],
    }
    prompts = {name: version for name, version in reasoner.prompts.items() if name == "plan"}
    return {**update, "plan": plan, "prompts": prompts}


def decided(plan: PlanState, state: State) -> None:
    """Complete a plan in place: what the schema stages are needed for, what the user's scope forces.

    Labels and counts are read only when the overview had to leave some out; property types whenever a query is
    written, because they hold the value examples.
    """
    needs, skips = plan["needs"], plan["skips"]
    facts = state["overview_facts"]
    scope = state.get("scope")
    if scope:
        plan["scope"] = scope
    if state["kind"] == "foreign" and "search" in needs and not facts.get("vectors"):
        del needs["search"]
        skips["search"] = "this graph has no vector index"
    if state["kind"] != "documents" and "read" in needs:
        del needs["read"]
        skips["read"] = "this graph holds no documents"
    if "cypher" not in needs:
        for name in ("labels", "counts", "properties"):
            needs.pop(name, None)
            skips.setdefault(name, "no query is written")
        return
    dropped = facts.get("dropped") or {}
    shortened = bool(dropped) or facts["all_labels"] > len(facts["labels"]) or facts["pending"]
    for name in ("labels", "counts"):
        if shortened:
            needs[name] = "the overview had to leave labels out"
        else:
            needs.pop(name, None)
            skips[name] = "the overview has them all"
    if plan["details"].get("template"):
        needs.pop("properties", None)
        skips["properties"] = "the query is a fixed one"
    else:
        needs["properties"] = "the query needs property names and example values"
