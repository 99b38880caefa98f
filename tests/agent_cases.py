"""What the agent's tests share: an agent at the scripted server, and a model that plays by simple rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Received, Reply, ScriptedServer, structured, text

from graph_agent.agent import AgentEvent, AnswerReplaced, AnswerToken, GraphAgent, Limits
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext

PASSAGE = re.compile(r"<<data passage (\d+) (\w+)>>\n(.*?)\n<<end \2>>", re.DOTALL)


def plan(**fields: Any) -> dict[str, Any]:
    """A plan as a model gives it; a fact question unless `fields` say otherwise."""
    return {
        "question": "",
        "language": "en",
        "kind": "fact",
        "cypher": False,
        "cypher_reason": "no count or list is asked for",
        "search": True,
        "search_reason": "some text says it",
        "read": False,
        "read_reason": "one search is enough",
        "phrases": [],
        "node_labels": [],
        "folder": "",
        "document": "",
        "labels": [],
        "date_from": "",
        "date_to": "",
        **fields,
    }


def settings_for(settings: Settings, folder: Path, **fields: Any) -> Settings:
    """The engine's settings with a model, and conversations in a folder of the test's own."""
    return settings.model_copy(update={"model": "scripted", "data": folder, **fields})


def agent_at(
    server: ScriptedServer,
    graph: DocumentGraph,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    context: ToolContext | None = None,
    limits: Limits | None = None,
    **fields: Any,
) -> GraphAgent:
    """An agent whose model is the scripted server."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-0123456789")
    settings = settings_for(graph.settings, folder, **fields)
    return GraphAgent(
        graph, settings, tool_context=context or ToolContext(graph, settings=settings), limits=limits
    )


def passages_of(request: Received) -> dict[int, str]:
    """The passages of an answering request, by number."""
    return {int(match[1]): match[3] for match in PASSAGE.finditer(request.everything)}


def stage_of(request: Received) -> str:
    """Which call of the agent a request is: plan, cypher, repair, read, answer or rewrite."""
    head = request.system[:120]
    if request.schema == "Plan" or "You plan how" in head:
        return "plan"
    for name, words in (
        ("cypher", "You write one read-only Cypher"),
        ("repair", "failed, or found nothing"),
        ("read", "You gather what is still missing"),
        ("answer", "You answer a question"),
        ("rewrite", "An answer was checked"),
    ):
        if words in request.system:
            return name
    return "unknown"


def question_of(request: Received) -> str:
    """The question in a request."""
    return request.user.rpartition("Question: ")[2].split("\n")[0]


def quoting(request: Received) -> Reply:
    """An honest answer: the first sentence of the first passage, cited."""
    numbered = passages_of(request)
    if not numbered:
        return text("NOT_IN_DOCUMENTS\nNothing was given.")
    n, passage = next(iter(numbered.items()))
    body = [line for line in passage.split("\n")[1:] if line and not line.startswith(("#", "|", ">"))]
    return text(f"{(body or ['It is there.'])[0]} [{n}]", chunks=6)


def displayed(events: Iterable[AgentEvent]) -> str:
    """The answer as a reader has it in front of them at the end of these events."""
    answer = ""
    for event in events:
        if isinstance(event, AnswerToken):
            answer += event.text
        elif isinstance(event, AnswerReplaced):
            answer = event.text
    return answer


def honest(**stages: Callable[[Received], Reply]) -> Callable[[Received], Reply]:
    """A model that plans a search, reads nothing more and quotes; `stages` replace what it does at a stage."""

    def respond(request: Received) -> Reply:
        stage = stage_of(request)
        if stage in stages:
            return stages[stage](request)
        if stage == "plan":
            return structured(plan(question=question_of(request)))
        if stage in {"answer", "rewrite"}:
            return quoting(request)
        return text("enough")

    return respond
