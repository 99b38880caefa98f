"""Writing a query, running it, and repairing it: an error or an empty result goes back, never the same text twice."""

from __future__ import annotations

import contextlib

from graph_agent.agent.budget import OutOfBudget
from graph_agent.agent.nodes.schema import schema_text
from graph_agent.agent.reasoner import CypherRequest
from graph_agent.agent.response import CypherRun
from graph_agent.agent.stage import Step
from graph_agent.agent.state import State, Update, plan_of
from graph_agent.chat_models.models import BadReply
from graph_agent.errors import QueryRefused
from graph_agent.store.extraction import extract_query

SCHEMA_TOKENS = 2_600


async def run(state: State, step: Step) -> Update:
    """Write the query, unless repair left one, and run it."""
    text = state.get("cypher_text") or ""
    prompts: dict[str, str] = {}
    if not text:
        reasoner = step.reasoner(state)
        try:
            text = await reasoner.write_cypher(_request(state), step.budget)
        except (BadReply, OutOfBudget) as error:
            step.note(f"No query was written: {error.message}")
        prompts = {name: version for name, version in reasoner.prompts.items() if name == "cypher"}
    if not text.strip():
        step.detail = {"query": ""}
        return {"cypher_text": "", "prompts": prompts, "cypher": [_nothing("no query could be written")]}
    params = dict(plan_of(state)["details"].get("params") or {})
    outcome = await step.tool("graph_query", {"cypher": text, **({"params": params} if params else {})})
    ran = _ran(text, params, outcome)
    step.detail = {
        "query": ran.query,
        **({"params": params} if params else {}),
        **({"error": ran.error} if ran.error else {}),
        **({"hint": ran.hint} if ran.hint else {}),
    }
    step.counts = {"rows": len(ran.rows)}
    if ran.truncated:
        total = f" of {ran.total}" if ran.total is not None else ""
        step.note(f"The query's result was cut: {len(ran.rows)} rows{total} are shown.")
    return {"cypher_text": "", "cypher": [{**ran.model_dump(), "text": outcome.content}], "prompts": prompts}


async def repair(state: State, step: Step) -> Update:
    """Ask for a better query; one that was tried already ends the repairing."""
    reasoner = step.reasoner(state)
    runs = state["cypher"]
    step.reason = "the query failed" if runs[-1]["error"] else "the query found nothing"
    try:
        text = await reasoner.write_cypher(_request(state), step.budget)
    except (BadReply, OutOfBudget) as error:
        step.note(f"The query was not repaired: {error.message}")
        text = ""
    prompts = {name: version for name, version in reasoner.prompts.items() if name == "repair"}
    if text and same_query(text, [str(run["query"]) for run in runs]):
        step.detail = {"query": text, "stopped": "the same query again"}
        step.note("The query could not be repaired: the same text came again.")
        text = ""
    else:
        step.detail = {"query": text}
    return {"cypher_text": text, "prompts": prompts}


def same_query(text: str, tried: list[str]) -> bool:
    """Whether a query was tried; what stands around it, blanks and a closing semicolon do not count."""
    return _squeezed(text) in {_squeezed(query) for query in tried}


def _squeezed(text: str) -> str:
    with contextlib.suppress(QueryRefused):
        text = extract_query(text)
    return " ".join(text.replace("`", "").split()).rstrip("; ")


def _request(state: State) -> CypherRequest:
    return CypherRequest(
        plan=plan_of(state),
        schema=schema_text(state, SCHEMA_TOKENS),
        kind=state["kind"],
        attempts=state.get("cypher") or [],
        facts=state["overview_facts"],
        counts=state.get("counts") or [],
        properties=state.get("properties") or [],
    )


def _ran(text: str, params: dict[str, object], outcome: object) -> CypherRun:
    from graph_agent.agent.toolbox import Outcome

    assert isinstance(outcome, Outcome)  # noqa: S101 - for the type checker
    if outcome.failed or not isinstance(outcome.artifact, dict):
        return CypherRun(query=text, params=params, error=outcome.content, hint=outcome.fix)
    found = outcome.artifact
    return CypherRun(
        query=text,
        params=params,
        columns=[str(name) for name in found.get("columns") or []],
        rows=found.get("rows") or [],
        total=found.get("total"),
        truncated=bool(found.get("truncated")),
        hint=str(found.get("hint") or ""),
    )


def _nothing(why: str) -> dict[str, object]:
    return {**CypherRun(query="", error=why).model_dump(), "text": ""}
