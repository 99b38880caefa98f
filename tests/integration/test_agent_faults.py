"""A query that the engine refuses or has no time for, a setting that turns out wrong: a response that says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from agent_cases import agent_at, displayed, honest, plan
from scripted_server import ScriptedServer, structured, text, tool_calls

from graph_agent.agent import AgentResponse, Finished, GraphAgent
from graph_agent.agent.budget import Budget
from graph_agent.agent.extractive import ExtractiveReasoner
from graph_agent.agent.graph import STAGES
from graph_agent.agent.reasoner import AnswerRequest, Text
from graph_agent.agent.stage import Step, Work
from graph_agent.agent.state import State, Update
from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, QueryTimeout
from graph_agent.ingest import sync
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext

QUESTION = "Where do forgotten pets go?"


@pytest.fixture
def pets(tmp_path: Path, engine: DocumentGraph, embedder: Embedder) -> Iterator[DocumentGraph]:
    """A small graph of the test's own, which it may break."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "pets.md").write_text("# Pets\n\nForgotten pets go to the shelter in Marnstein.\n")
    graph = engine.select(f"faults-{tmp_path.name}")
    sync(graph, embedder, [tmp_path / "papers"])
    yield graph
    graph.connection.plain().execute_command("DEL", graph.name)


def stages(response: AgentResponse) -> list[str]:
    return [record.name for record in response.stages if not record.skipped]


def said_to_have_failed(response: AgentResponse, kind: str) -> None:
    assert not response.answered
    assert "could not be looked up" in response.answer
    assert response.error is not None
    assert response.error.kind == kind
    assert response.error.message in response.answer


def test_a_graph_that_refuses_to_be_read(pets: DocumentGraph, tmp_path: Path) -> None:
    with GraphAgent(pets, pets.settings.model_copy(update={"data": tmp_path})) as agent:
        assert "Marnstein" in agent.ask(QUESTION, "talk").answer
        engine = pets.connection.plain()
        engine.execute_command("DEL", pets.name)
        engine.execute_command("SET", pets.name, "no graph")
        response = agent.ask("Who sells umbrellas?", "talk")
        said_to_have_failed(response, "QueryError")
        assert stages(response) == ["skeleton", "answer", "verify"]
        assert any("overview" in note or "refused" in note for note in response.notes)
        assert [turn["question"] for turn in agent.turns("talk")] == [QUESTION, "Who sells umbrellas?"]


def test_sections_that_cannot_be_read(
    sample_graph: DocumentGraph, sample: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_agent.agent.nodes.search.SECTIONS", "RETURN no_such_function($ids)")
    with GraphAgent(sample_graph, tool_context=sample, checkpointer=False) as agent:
        response = agent.ask("Who gets forgotten pets?")
    said_to_have_failed(response, "QueryError")
    assert stages(response) == ["skeleton", "plan", "search", "answer", "verify"]


def test_reading_that_fails_ends_the_reading(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graph_agent.agent.nodes.search.SECTIONS", "RETURN no_such_function($ids)")
    scripted_server.respond(
        honest(
            plan=lambda request: structured(plan(question="Who gets forgotten pets?", read=True)),
            read=lambda request: tool_calls(("get_section_content", {"section_ids": "index.md"})),
            answer=lambda request: text("nobody is asked"),
        )
    )
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        response = agent.ask("Who gets forgotten pets?")
    said_to_have_failed(response, "QueryError")
    assert stages(response) == ["skeleton", "plan", "search", "read", "answer", "verify"]


def test_a_search_that_fails_is_not_taken_for_documents_that_say_nothing(
    pets: DocumentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_agent.store.queries.search.PASSAGES", "RETURN no_such_function($ids)")
    with GraphAgent(pets, checkpointer=False) as agent:
        response = agent.ask(QUESTION)
    said_to_have_failed(response, "QueryError")


async def fails_with_a_timeout(state: State, step: Step) -> Update:
    raise QueryTimeout("The engine was too busy to answer within 5 s.", "Try again in a moment.")


async def fails_with_a_setting(state: State, step: Step) -> Update:
    raise ConfigurationError("The vectors are another model's.", "Ingest again.")


@pytest.mark.parametrize("fails", [fails_with_a_timeout, fails_with_a_setting])
@pytest.mark.parametrize(
    "name", [name for name in STAGES if name not in {"labels", "counts", "answer", "verify"}]
)
def test_no_stage_that_fails_ends_the_question_or_comes_back_for_ever(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fails: Work,
) -> None:
    monkeypatch.setitem(STAGES, name, fails)
    scripted_server.respond(
        honest(
            plan=lambda request: structured(
                plan(question="Who gets forgotten pets?", kind="mixed", cypher=True, read=True)
            ),
            cypher=lambda request: text("MATCH (d:Document {title: 'none'}) RETURN d.title"),
            repair=lambda request: text("MATCH (d:Document {title: 'no other'}) RETURN d.title"),
            read=lambda request: text("enough"),
            answer=lambda request: text(
                "They have 7,391 of them [1]." if name == "rewrite" else "It is so [1]."
            ),
        )
    )
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        response = agent.ask("Who gets forgotten pets?")
    ran = stages(response)
    assert name in ran
    assert ran.count(name) <= 3
    assert len(ran) <= 14
    assert response.answer
    assert response.error is not None
    assert response.error.kind in {"QueryTimeout", "ConfigurationError"}
    assert any(response.error.message in note for note in response.notes)
    if name in {"skeleton", "plan"}:
        said_to_have_failed(response, response.error.kind)


def test_an_answer_that_fails_half_way_says_so(
    sample_graph: DocumentGraph, sample: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def half(self: ExtractiveReasoner, request: AnswerRequest, budget: Budget) -> AsyncIterator[Text]:
        yield Text("Half of an ")
        raise QueryTimeout("The engine was too busy to answer within 5 s.", "Try again in a moment.")

    monkeypatch.setattr(ExtractiveReasoner, "answer", half)
    with GraphAgent(sample_graph, tool_context=sample, checkpointer=False) as agent:
        events = list(agent.stream("Who gets forgotten pets?"))
    finished = events[-1]
    assert isinstance(finished, Finished)
    said_to_have_failed(finished.response, "QueryTimeout")
    assert displayed(events) == finished.response.answer
