"""Passages for the plan's phrases and scope: query_documents on documents, vector_search on another graph."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graph_agent.agent.passages import (
    Found,
    Section,
    found_in,
    merged_sources,
    node_passages,
    pack,
    ranked_documents,
    sources_in,
)
from graph_agent.agent.phrases import phrase
from graph_agent.agent.response import Source
from graph_agent.agent.stage import Step
from graph_agent.agent.state import FailureState, ScopeChoice, State, Update, plan_of
from graph_agent.agent.toolbox import Outcome
from graph_agent.errors import BadArgument, GraphAgentError
from graph_agent.store.queries.agent import SECTIONS
from graph_agent.store.unread import unread
from graph_agent.text import fold

RESULTS = 60  # per phrase; enough for a ranking of documents
RANKED = 12
PHRASES = 4
_IDENTIFIER = re.compile(r"[0-9a-fA-F]{4,16}")
RRF_K = 60.0  # Cormack, Clarke and Buettcher, SIGIR 2009


async def run(state: State, step: Step) -> Update:
    """Search for every phrase, fuse the rankings, and pack the best sections into the passages' budget."""
    if not step.reason:
        step.reason = "the query over the graph found nothing"
    if state["kind"] == "foreign":
        return await _foreign(state, step)
    phrases = _phrases(state)
    arguments, dropped = await _scoped(state, step, phrases[0])
    outcomes = await asyncio.gather(
        *(step.tool("query_documents", {"query": phrase, "topK": RESULTS, **arguments}) for phrase in phrases)
    )
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in failed:
        step.note(f"A search failed: {outcome.content}")
    if len(failed) == len(outcomes):
        return _unsearched(phrases, failed[0])
    artifacts = [outcome.artifact for outcome in outcomes if isinstance(outcome.artifact, dict)]
    found = fused([found_in(artifact) for artifact in artifacts])
    sections, coverage = await asyncio.to_thread(
        lambda: (
            sections_of(step, [one.section_id for one in found]),
            coverage_of(step, plan_of(state)["language"], _places(arguments)),
        )
    )
    documents = {key: section.document_id for section in sections.values() for key in (section.path,)}
    documents |= {
        one.source: sections[one.section_id].document_id for one in found if one.section_id in sections
    }
    passages = pack(found, sections, step.limits.passage_tokens)
    sources: list[Source] = []
    for artifact in artifacts:
        sources = merged_sources(sources, sources_in(artifact, documents))
    update: Update = {
        "passages": [passage.model_dump() for passage in passages],
        "sources": [source.model_dump() for source in sources],
        "search": {
            "phrases": phrases,
            "documents": ranked_documents(found)[:RANKED],
            "arguments": arguments,
            "notice": " ".join(str(a["notice"]) for a in artifacts if a.get("notice"))[:600],
            "degraded": next((str(a["degraded"]) for a in artifacts if a.get("degraded")), ""),
            "filter_counts": next((a["filterCounts"] for a in artifacts if a.get("filterCounts")), {}),
            "scope_dropped": dropped,
        },
        "coverage": coverage,
    }
    step.counts = {"results": len(found), "passages": len(passages), "documents": len(sources)}
    step.detail = {"phrases": phrases, **({"scope": arguments} if arguments else {})}
    if update["search"]["degraded"]:
        step.note(str(update["search"]["degraded"]))
    step.show_sources(update["passages"], update["sources"])
    return update


def _unsearched(phrases: list[str], failed: Outcome) -> Update:
    """What no search at all leaves: an answer must not take it for documents that say nothing."""
    error: FailureState = {
        "kind": failed.error,
        "message": failed.content,
        "fix": "",
        "exit_code": GraphAgentError.exit_code,
    }
    return {"search": {"phrases": phrases, "notice": failed.content, "failed": True}, "error": error}


def _places(arguments: dict[str, Any]) -> list[str]:
    scope = arguments.get("scope") or []
    return [scope] if isinstance(scope, str) else list(scope)


def _phrases(state: State) -> list[str]:
    plan = plan_of(state)
    wanted = [phrase.strip() for phrase in plan["phrases"] if phrase.strip()] or [plan["question"]]
    return list(dict.fromkeys(wanted))[:PHRASES]


async def _foreign(state: State, step: Step) -> Update:
    if not state["overview_facts"].get("vectors"):
        step.detail = {"skipped": "this graph has no vector index"}
        return {"search": {"phrases": [], "notice": "This graph has no vector index."}}
    phrases = _phrases(state)
    outcome = await step.tool("vector_search", {"query": phrases[0], "top_k": 10})
    if outcome.failed:
        step.note(f"The search by meaning failed: {outcome.content}")
        return _unsearched(phrases, outcome)
    passages = node_passages(outcome.artifact if isinstance(outcome.artifact, list) else [])
    step.counts = {"results": len(passages)}
    step.detail = {"phrases": phrases}
    packed = [passage.model_dump() for passage in passages]
    sources = [
        Source(path=p.path, display_path=p.display_path, title=p.title, hits=1).model_dump() for p in passages
    ]
    step.show_sources(packed, sources)
    return {"passages": packed, "sources": sources, "search": {"phrases": phrases, "notice": ""}}


async def _scoped(state: State, step: Step, phrase: str) -> tuple[dict[str, Any], bool]:
    """Arguments for the plan's scope. A scope that the model made up is dropped and said; the user's is an error.

    Raises:
        BadArgument: the user's own scope names nothing.
    """
    scope = plan_of(state)["scope"]
    arguments = scope_arguments(scope)
    if not arguments:
        return {}, False
    probe = await step.tool("query_documents", {"query": phrase, "topK": 1, **arguments})
    empty = (
        isinstance(probe.artifact, dict)
        and not probe.artifact.get("results")
        and probe.artifact.get("notice")
    )
    if not probe.failed and not (empty and not state.get("scope")):
        return arguments, False
    if probe.failed and state.get("scope"):
        raise BadArgument(f"The scope of the question is not usable: {probe.content}", probe.fix)
    step.note(f"The restriction to {describe(scope)} names nothing here, so everything was searched.")
    return {}, True


def scope_arguments(scope: ScopeChoice) -> dict[str, Any]:
    """Arguments of query_documents for a scope."""
    arguments: dict[str, Any] = {}
    places = [*(scope.get("paths") or [])]
    places += [place for place in (scope.get("folder"), scope.get("document")) if place]
    if places:
        arguments["scope"] = places[0] if len(places) == 1 else places
    if scope.get("labels"):
        arguments["labels"] = scope["labels"]
    if scope.get("date_from"):
        arguments["dateFrom"] = scope["date_from"]
    if scope.get("date_to"):
        arguments["dateTo"] = scope["date_to"]
    return arguments


def describe(scope: ScopeChoice) -> str:
    """A scope in words."""
    parts = [str(scope[key]) for key in ("folder", "document") if scope.get(key)]
    parts += [str(path) for path in scope.get("paths") or []]
    parts += [f"{facet} = {', '.join(values)}" for facet, values in (scope.get("labels") or {}).items()]
    if scope.get("date_from") or scope.get("date_to"):
        parts.append(f"{scope.get('date_from', '')} to {scope.get('date_to', '')}")
    return ", ".join(parts)


def fused(rankings: Sequence[Sequence[Found]]) -> list[Found]:
    """Several rankings as one, by reciprocal ranks; a result keeps its best score."""
    if len(rankings) == 1:
        return list(rankings[0])
    weights: dict[str, float] = {}
    best: dict[str, Found] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking):
            key = one.chunk_id or one.text
            weights[key] = weights.get(key, 0.0) + 1.0 / (RRF_K + rank)
            known = best.get(key)
            best[key] = one if known is None else replace(known, score=max(known.score, one.score))
    return [best[key] for key in sorted(best, key=lambda key: -weights[key])]


def sections_of(step: Step, ids: Sequence[str]) -> dict[str, Section]:
    """Sections by id, those that are visible."""
    wanted = list(dict.fromkeys(one for one in ids if one))
    if not wanted:
        return {}
    rows = step.services.tool_context.graph.read(SECTIONS, {"ids": wanted}).dicts()
    by_id = {str(row["section_id"]): Section.of(row) for row in rows}
    return {one: by_id[one] for one in wanted if one in by_id}


def coverage_of(step: Step, language: str, places: Sequence[str] = ()) -> dict[str, Any]:
    """What could not be searched: files that were not read, passages without vectors.

    Args:
        language: of the notes.
        places: folders or documents that the question is restricted to; none for everything.
    """
    context = step.services.tool_context
    held = context.retriever.corpus().coverage
    unreadable = sum(_concerns(path, places) for path in _failed(context.graph.keys))
    notes = []
    if unreadable:
        notes.append(phrase("unreadable", language).replace("{count}", f"{unreadable:,}"))
    if held.with_vectors < held.chunks:
        share = 100 * held.with_vectors // max(1, held.chunks)
        notes.append(phrase("pending", language).replace("{count}", str(share)))
    return {
        "complete": not notes,
        "documents": held.documents,
        "chunks": held.chunks,
        "with_vectors": held.with_vectors,
        "unreadable": unreadable,
        "notes": notes,
    }


def _failed(keys: Any) -> list[str]:
    """Paths of the files that could not be read; none when that cannot be told."""
    try:
        return [one["path"] for one in unread(keys)]
    except GraphAgentError:
        return []


def _concerns(path: str, places: Sequence[str]) -> bool:
    """Whether a file may belong to one of the places. A place given by its id tells nothing about paths."""
    whole = f"/{fold(path).strip('/')}/"
    return not places or any(
        _IDENTIFIER.fullmatch(place) is not None or f"/{fold(place).strip('/')}/" in whole for place in places
    )
