"""Questions of the chat without a page: what is kept, what is removed, and what the agent remembers."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from scripted_server import ScriptedServer, text

from graph_agent.agent import checkpoints
from graph_agent.errors import ConfigurationError, EngineUnavailable, NotFound
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.ui import answering
from graph_agent.ui.chat import ChatPage
from graph_agent.ui.questions import Begun
from graph_agent.ui.scope import inputs_from
from graph_agent.ui.workspace import Workspace

ANYTHING = inputs_from(None, None, [], "", "")


@pytest.fixture
def workspace(engine: DocumentGraph, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace over a graph without documents, answered by extracts."""
    graph = engine.select("pages-chat")
    made = Workspace(graph.settings.model_copy(update={"data": tmp_path}), graph)
    yield made
    made.close()
    graph.drop()


async def answered(workspace: Workspace, question: str, **place: str) -> Begun:
    begun = await workspace.questions.begin("", question, ANYTHING, **place)
    async for _ in workspace.questions.work("", begun):
        pass
    await workspace.questions.end("", begun)
    return begun


def remembered(workspace: Workspace) -> set[str]:
    """The threads of which the agent keeps anything."""
    with closing(checkpoints.sqlite_saver(workspace.settings.data / checkpoints.FILE)) as saver:
        return set(saver.threads())


def kept(workspace: Workspace, conversation: str) -> list[tuple[str, str]]:
    return [(turn.question, turn.status) for turn in workspace.conversations.turns("", conversation)]


def test_a_question_is_answered_and_remembered(workspace: Workspace) -> None:
    begun = asyncio.run(answered(workspace, "Is it?"))
    assert kept(workspace, begun.conversation) == [("Is it?", "done")]
    assert remembered(workspace) == {begun.thread}
    assert not workspace.active


def test_asking_anew_forgets_what_was_removed(workspace: Workspace) -> None:
    async def asked() -> tuple[Begun, Begun, Begun]:
        first = await answered(workspace, "One?")
        second = await answered(workspace, "Two?", conversation=first.conversation)
        again = await answered(workspace, "Two?", again=second.turn.id)
        while workspace.conversations.left_threads():
            await asyncio.sleep(0.01)
        return first, second, again

    first, second, again = asyncio.run(asyncio.wait_for(asked(), 60))
    assert again.thread != second.thread == first.thread
    assert kept(workspace, first.conversation) == [("One?", "done"), ("Two?", "done")]
    assert remembered(workspace) == {again.thread}


def test_nothing_is_removed_when_the_agent_cannot_be_set_up(engine: DocumentGraph, tmp_path: Path) -> None:
    graph = engine.select("pages-chat")
    changes = {"data": tmp_path, "model": "nobody:knows"}
    with closing(Workspace(graph.settings.model_copy(update=changes), graph)) as workspace:
        store = workspace.conversations
        made = store.start("", "x")
        turns = [store.ask("", f"q{n}", {}, conversation=made.id).turn for n in range(3)]
        with pytest.raises(ConfigurationError):
            asyncio.run(workspace.questions.begin("", "q1", ANYTHING, again=turns[1].id))
        assert [turn.id for turn in store.turns("", made.id)] == [turn.id for turn in turns]
        assert store.get("", made.id).thread == made.thread


def test_nothing_changes_when_the_engine_is_down(tmp_path: Path) -> None:
    settings = load_settings(data=tmp_path, embeddings="local", falkordb_url="", model="")
    with DocumentGraph.open(settings, name="down") as graph:
        workspace = Workspace(settings, graph)
        begun = asyncio.run(answered(workspace, "Is it?"))
    with closing(workspace):
        for place in ({"again": begun.turn.id}, {"conversation": begun.conversation}, {}):
            with pytest.raises(EngineUnavailable):
                asyncio.run(workspace.questions.begin("", "Is it?", ANYTHING, **place))
        assert kept(workspace, begun.conversation) == [("Is it?", "done")]
        assert len(workspace.conversations.recent("")) == 1
        told_in_the_page(workspace, begun)


def told_in_the_page(workspace: Workspace, begun: Begun) -> None:
    """The page's own handlers say what went wrong instead of failing."""
    page = ChatPage(workspace)
    request: Any = SimpleNamespace(username=None)
    click: Any = SimpleNamespace(_data={"question": "Is it?", "from": begun.turn.id})

    async def clicked() -> None:
        async for _ in page.ask_clicked(begun.conversation, None, None, [], "", "", request, click):
            pass

    async def typed() -> None:
        async for _ in page.ask_typed("Is it?", "", None, None, [], "", "", request):
            pass

    for asked in (clicked, typed):
        with pytest.raises(gr.Error, match="Open the graph again"):
            asyncio.run(asked())


def test_a_page_that_goes_away_leaves_no_turn_running(workspace: Workspace) -> None:
    page = ChatPage(workspace)
    request: Any = SimpleNamespace(username=None)

    async def left_at_once() -> None:
        shown = page.ask_typed("Is it?", "", None, None, [], "", "", request)
        await anext(shown)
        await shown.aclose()

    asyncio.run(left_at_once())
    (made,) = workspace.conversations.recent("")
    assert kept(workspace, made.id) == [("Is it?", "stopped")]
    assert not workspace.active


@pytest.fixture
def slow(
    engine: DocumentGraph, tmp_path: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A workspace over one document whose model takes three seconds for anything."""
    monkeypatch.setenv("OPENAI_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    scripted_server.respond(lambda request: text("word " * 60, chunks=60, delay=0.05))
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "swaps.md").write_text("# Swaps\n\nThe roster office decides on swaps.\n", encoding="utf-8")
    graph = engine.select("pages-chat-slow")
    changes = {"data": tmp_path / "data", "model": "scripted-model"}
    with closing(Workspace(graph.settings.model_copy(update=changes), graph)) as made:
        made.ingestion.sync([documents], "documents")
        made.ingestion.wait(60)
        yield made
    graph.drop()


def test_a_deleted_conversation_is_stopped_and_forgotten(
    slow: Workspace, scripted_server: ScriptedServer
) -> None:
    async def deleted() -> Begun:
        begun = await slow.questions.begin("", "Who decides on swaps?", ANYTHING)
        working = asyncio.create_task(worked(slow, begun))
        while not scripted_server.chats:
            await asyncio.sleep(0.02)
        assert slow.active
        assert await slow.questions.delete("", begun.conversation)
        assert begun.asking.ended.is_set()
        await working
        return begun

    begun = asyncio.run(asyncio.wait_for(deleted(), 60))
    assert begun.turn.status == "stopped"
    assert remembered(slow) == set()
    assert slow.conversations.recent("") == []
    with pytest.raises(NotFound):
        slow.conversations.turn("", begun.turn.id)


async def worked(workspace: Workspace, begun: Begun) -> None:
    async for _ in workspace.questions.work("", begun):
        pass
    await workspace.questions.end("", begun)


def test_a_question_that_is_deleted_before_it_begins_is_not_asked(
    slow: Workspace, scripted_server: ScriptedServer
) -> None:
    async def deleted() -> None:
        begun = await slow.questions.begin("", "Who decides on swaps?", ANYTHING)
        await slow.questions.delete("", begun.conversation)
        await worked(slow, begun)

    asyncio.run(asyncio.wait_for(deleted(), 60))
    assert not scripted_server.chats
    assert remembered(slow) == set()


def test_what_could_not_be_forgotten_is_forgotten_at_the_next_start(workspace: Workspace) -> None:
    begun = asyncio.run(answered(workspace, "Is it?"))
    workspace.answering.close()
    assert not asyncio.run(workspace.questions.delete("", begun.conversation))
    assert remembered(workspace) == {begun.thread}
    with closing(Workspace(workspace.settings, workspace.graph)) as again:
        again.warm()
        deadline = time.monotonic() + 30
        while again.conversations.left_threads() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert remembered(again) == set()


def test_the_end_of_the_server_ends_questions_and_closes_the_agent(
    slow: Workspace, scripted_server: ScriptedServer
) -> None:
    async def closed() -> Begun:
        begun = await slow.questions.begin("", "Who decides on swaps?", ANYTHING)
        working = asyncio.create_task(worked(slow, begun))
        while not scripted_server.chats:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(slow.answering.close)
        await asyncio.wait_for(working, 10)
        return begun

    begun = asyncio.run(asyncio.wait_for(closed(), 60))
    assert begun.turn.status == "failed"
    assert "The server was stopped" in begun.turn.problem
    with pytest.raises(ConfigurationError, match="shutting down"):
        asyncio.run(slow.answering.forget(begun.thread))


def test_the_agent_is_closed_although_a_tool_does_not_end(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "CLOSE_S", 0.1)
    asyncio.run(answered(workspace, "Is it?"))
    agent = workspace.answering._ready()
    begun, release = threading.Event(), threading.Event()

    def tool() -> None:
        begun.set()
        release.wait(30)

    workspace.answering._submit(asyncio.to_thread(tool))
    assert begun.wait(10)
    try:
        workspace.answering.close()
        with pytest.raises(sqlite3.ProgrammingError):
            agent._saver.threads()  # type: ignore[union-attr]
    finally:
        release.set()
