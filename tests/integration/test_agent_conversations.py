"""Conversations on disk: killed and taken up again, cleaned, private; the machine as a part of another graph."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from agent_cases import agent_at, honest, plan, settings_for, stage_of
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from scripted_server import Received, Reply, ScriptedServer, structured, text, tool_calls

from graph_agent.agent import AgentContext, Finished, GraphAgent, Limits, build_graph, make_services
from graph_agent.agent.checkpoints import FILE, open_saver, sqlite_saver
from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, NotFound
from graph_agent.ingest import sync
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext

SOAK = bool(os.environ.get("GRAPH_AGENT_SOAK"))
KILLS = 100 if SOAK else 6
CHILD = Path(__file__).with_name("agent_child.py")
# What the child prints for one question with reading: two lines a stage.
LINES = 16


def reading_model(request: Received) -> Reply:
    """Plans a search and one round of reading, then answers."""
    model = honest(
        plan=lambda request: structured(plan(question="Who gets forgotten pets?", read=True)),
        read=lambda request: (
            text("enough")
            if len(request.messages) > 2
            else tool_calls(("search_sections", {"query": "animals"}))
        ),
    )
    return model(request)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_anywhere_then_asked_again_and_taken_up(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    engine_settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted_server.respond(reading_model)
    conversations = tmp_path / "talks.sqlite"
    rng = random.Random(4)
    resumed = 0
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as spare:
        settings = spare.settings
    for number in range(KILLS):
        thread = f"killed-{number}"
        lines = _killed(engine_settings, conversations, thread, after=rng.randint(1, LINES))
        saver = sqlite_saver(conversations)
        with GraphAgent(sample_graph, settings, tool_context=sample, checkpointer=saver) as agent:
            try:
                response = agent.resume(thread)
            except NotFound:
                assert lines[-1] in {
                    "StageStarted skeleton",
                    "StageStarted verify",
                    "StageFinished verify",
                    "Finished",
                }, lines
            else:
                resumed += 1
                assert response.answered
                assert response.question == "Who gets forgotten pets?"
                assert len({(record.name, record.seconds) for record in response.stages}) >= 4
            again = agent.ask("Who gets forgotten pets?", thread)
            assert again.answered
            assert again.citations
        saver.close()
    assert resumed >= KILLS // 2


def _killed(settings: Settings, conversations: Path, thread: str, *, after: int) -> list[str]:
    """Run the child and kill it after so many lines; the lines."""
    command = [
        sys.executable,
        str(CHILD),
        str(settings.data),
        str(conversations),
        "sample",
        thread,
        "Who gets forgotten pets?",
    ]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as child:
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line.strip())
            if len(lines) >= after:
                child.send_signal(signal.SIGKILL)
                break
    assert lines
    return lines


def test_a_finished_conversation_keeps_one_checkpoint_and_its_turns(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted_server.respond(honest())
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        for question in ("Who gets forgotten pets?", "And umbrellas?"):
            agent.ask(question, "talk")
        with pytest.raises(NotFound):
            agent.resume("talk")
        assert [turn["question"] for turn in agent.turns("talk")] == [
            "Who gets forgotten pets?",
            "And umbrellas?",
        ]
        assert agent.turns("unknown") == []
    path = tmp_path / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        assert len(agent.turns("talk")) == 2
        agent.forget("talk")
        assert agent.turns("talk") == []


def test_no_key_gets_into_conversations_events_or_responses(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted_server.respond(reading_model)
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        events = list(agent.stream("Who gets forgotten pets?", "talk"))
    told = "".join(event.model_dump_json() for event in events)
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("*.sqlite*"))
    assert "test-key" not in told
    assert b"test-key" not in kept
    assert len(kept) > 1_000


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, engine_settings: Settings) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ConfigurationError, match="Conversations cannot be kept"):
        open_saver(engine_settings.model_copy(update={"data": tmp_path / "file"}))
    (tmp_path / FILE).write_bytes(b"this is no database, but it is long enough to be one " * 40)
    with pytest.raises(ConfigurationError, match="Conversations cannot be kept"):
        open_saver(engine_settings.model_copy(update={"data": tmp_path}))


def test_postgres_without_its_package_names_the_package(engine_settings: Settings) -> None:
    pytest.importorskip("pydantic")
    try:
        import langgraph.checkpoint.postgres  # noqa: F401
    except ImportError:
        from pydantic import SecretStr

        with pytest.raises(ConfigurationError, match="langgraph-checkpoint-postgres"):
            open_saver(
                engine_settings.model_copy(update={"checkpoints": SecretStr("postgresql://u:secret@h/d")})
            )


class Parent(TypedDict, total=False):
    question: str
    response: dict[str, Any]


async def test_the_machine_is_a_node_of_another_graph(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted_server.respond(honest())
    monkeypatch.setenv("OPENAI_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    services = make_services(sample_graph, settings_for(sample_graph.settings, tmp_path), tool_context=sample)
    # bound to its services: the parent needs to know nothing of them
    builder = StateGraph(Parent)
    builder.add_node("ask", build_graph(services))
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    parent = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "p"}}
    result = await parent.ainvoke({"question": "Who gets forgotten pets?"}, config)
    assert result["response"]["answered"]
    # with services from the run's context, and the answer's tokens in LangGraph's own stream
    other = StateGraph(Parent, context_schema=AgentContext)
    other.add_node("ask", build_graph())
    other.add_edge(START, "ask")
    other.add_edge("ask", END)
    context = AgentContext(services=services, limits=Limits(passage_tokens=500))
    tokens = []
    async for _, (message, _metadata) in other.compile().astream(
        {"question": "Who gets forgotten pets?"}, context=context, stream_mode="messages", subgraphs=True
    ):
        tokens.append(str(message.content))
    said = "".join(tokens)
    assert "[1]" in said
    assert "phrases" not in said, "the plan leaked into the stream of the answer"
    assert {stage_of(request) for request in scripted_server.chats} == {"plan", "answer"}


async def test_a_machine_without_services_says_so() -> None:
    with pytest.raises(ConfigurationError, match="without services"):
        await build_graph().ainvoke({"question": "x"})


@pytest.fixture
def own_graph(tmp_path: Path, embedder: Embedder) -> Iterator[DocumentGraph]:
    """A small graph on an engine of the test's own, which it may kill."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "pets.md").write_text("# Pets\n\nForgotten pets go to the shelter in Marnstein.\n")
    settings = load_settings(data=tmp_path / "own", embeddings="local", falkordb_url="", model="")
    with DocumentGraph.open(settings) as graph:
        sync(graph, embedder, [tmp_path / "papers"])
        yield graph


def test_an_engine_killed_between_two_questions_is_not_taken_for_no_data(own_graph: DocumentGraph) -> None:
    with GraphAgent(own_graph) as agent:
        assert "Marnstein" in agent.ask("Where do forgotten pets go?", "talk").answer
        os.kill(own_graph.connection.lease.process_id() or 0, signal.SIGKILL)
        response = agent.ask("Where do forgotten pets go?", "talk")
        assert response.answered
        assert "Marnstein" in response.answer


def test_an_engine_that_is_gone_is_called_unavailable(own_graph: DocumentGraph) -> None:
    with GraphAgent(own_graph) as agent:
        agent.ask("Where do forgotten pets go?", "talk")
        own_graph.close()
        response = agent.ask("Where do forgotten pets go?", "talk")
    assert not response.answered
    assert "unavailable" in response.answer
    assert "not in the documents" not in response.answer
    assert response.error is not None
    assert (response.error.kind, response.error.exit_code) == ("EngineUnavailable", 3)


def test_a_question_that_meets_a_dead_engine_has_nothing_of_the_one_before(own_graph: DocumentGraph) -> None:
    with GraphAgent(own_graph) as agent:
        before = agent.ask("How many documents are there? Where do forgotten pets go?", "talk")
        assert before.passages or before.cypher
        own_graph.close()
        response = agent.ask("Who sells \x00umbrellas?", "talk")
        assert (response.question, response.standalone) == ("Who sells umbrellas?", "Who sells umbrellas?")
        assert not response.answered
        held = (
            response.passages,
            response.sources,
            response.citations,
            response.cypher,
            response.calculations,
        )
        assert not any(held)
        assert [record.name for record in response.stages] == ["skeleton", "answer", "verify"]
        assert response.notes == []
        assert response.usage.tool_calls == 0
        assert agent.turns("talk")[-1]["question"] == "Who sells umbrellas?"


def kept_in(folder: Path) -> list[str]:
    saver = sqlite_saver(folder / FILE)
    try:
        return saver.threads()
    finally:
        saver.close()


def test_a_question_without_a_conversation_leaves_nothing_behind(
    sample_graph: DocumentGraph, sample: ToolContext, tmp_path: Path
) -> None:
    settings = sample_graph.settings.model_copy(update={"data": tmp_path})
    with GraphAgent(sample_graph, settings, tool_context=sample) as agent:
        response = agent.ask("Who gets forgotten pets?")
        assert response.answered
        assert response.thread_id == ""
        assert kept_in(tmp_path) == []
        assert agent.ask("Who gets forgotten pets?", "talk").thread_id == "talk"
    assert kept_in(tmp_path) == ["talk"]


@pytest.mark.parametrize("memory", [False, True], ids=["file", "memory"])
def test_a_conversation_is_forgotten_with_those_derived_from_it(
    sample_graph: DocumentGraph, sample: ToolContext, tmp_path: Path, memory: bool
) -> None:
    settings = sample_graph.settings.model_copy(update={"data": tmp_path})
    saver = InMemorySaver() if memory else sqlite_saver(tmp_path / FILE)
    with GraphAgent(sample_graph, settings, tool_context=sample, checkpointer=saver) as agent:
        threads = ["a_b", "a_b.2", "a_b.2.1", "a_bc", "axb.2"]
        for thread in threads:
            agent.ask("Hello", thread)
        agent.forget("a_b", derived=True)
        assert [thread for thread in threads if agent.turns(thread)] == ["a_bc", "axb.2"]
        agent.forget("axb")
        agent.forget("unknown", derived=True)
        assert agent.turns("axb.2")


def test_a_question_that_runs_while_its_conversation_is_forgotten_writes_nothing_again(
    sample_graph: DocumentGraph, sample: ToolContext, tmp_path: Path
) -> None:
    settings = sample_graph.settings.model_copy(update={"data": tmp_path})
    with GraphAgent(sample_graph, settings, tool_context=sample) as agent:
        events = agent.stream("Who gets forgotten pets?", "talk.2")
        next(events)
        agent.forget("talk", derived=True)
        assert isinstance(list(events)[-1], Finished)
        assert kept_in(tmp_path) == []
        agent.ask("Who gets forgotten pets?", "talk.2")
        assert len(agent.turns("talk.2")) == 1
