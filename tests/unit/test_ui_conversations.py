"""Conversations in SQLite: order, turns, judgements, and that users are apart."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_agent.agent.response import AgentResponse, Citation, Passage
from graph_agent.errors import ConfigurationError, NotFound
from graph_agent.ui.conversations import ConversationStore
from graph_agent.ui.downloads import file_name
from graph_agent.ui.export import conversation_markdown


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    made = ConversationStore(tmp_path / "chats.sqlite")
    yield made
    made.close()


def response(answer: str = "Yes [1].\n\nSources:\na/b.md") -> dict[str, object]:
    return AgentResponse(
        question="Is it?", answer=answer, answered=True, mode="extractive",
        citations=[Citation(n=1, path="a/b.md", page=3, line=7, verified=True), Citation(n=9)],
        passages=[Passage(n=1, text="It is.", display_path="a/b.md")],
    ).model_dump(mode="json")  # fmt: skip


def test_turns_come_back_as_they_were_kept(store: ConversationStore, tmp_path: Path) -> None:
    made = store.start("ada", "  Is\nit?  ")
    assert made.title == "Is it?"
    turn = store.ask("ada", "Is it?", {"folder": "x"}, conversation=made.id).turn
    assert (turn.status, turn.sequence) == ("running", 1)
    store.save_turn("ada", turn.id, "done", {"answer": "Yes"}, response())
    store.ask("ada", "Why?", {}, conversation=made.id)
    store.judge("ada", turn.id, -1, "  not whole ")
    again = ConversationStore(tmp_path / "chats.sqlite")
    first, second = again.turns("ada", made.id)
    assert (first.status, first.scope, first.feedback, first.reason) == (
        "done",
        {"folder": "x"},
        -1,
        "not whole",
    )
    assert first.response is not None
    assert first.response["citations"][0]["page"] == 3
    assert (second.sequence, second.response) == (2, None)
    assert again.get("ada", made.id).questions == 2
    again.close()


def test_the_last_one_spoken_in_comes_first(store: ConversationStore) -> None:
    one, two = store.start("", "one"), store.start("", "two")
    store.ask("", "x", {}, conversation=two.id)
    store.ask("", "x", {}, conversation=one.id)
    assert [entry.title for entry in store.recent("")] == ["one", "two"]


def test_nobody_reaches_what_is_anothers(store: ConversationStore) -> None:
    made = store.start("ada", "secret")
    turn = store.ask("ada", "What?", {}, conversation=made.id).turn
    assert store.recent("bo") == []
    for reach in (
        lambda: store.get("bo", made.id),
        lambda: store.turns("bo", made.id),
        lambda: store.turn("bo", turn.id),
        lambda: store.rename("bo", made.id, "mine"),
        lambda: store.delete("bo", made.id),
        lambda: store.ask("bo", "x", {}, conversation=made.id).turn,
        lambda: store.ask("bo", "x", {}, again=turn.id),
        lambda: store.ask("bo", "x", {}, conversation=made.id),
        lambda: store.earlier("bo", turn.id),
        lambda: store.judge("bo", turn.id, 1),
        lambda: store.get("", made.id),
    ):
        with pytest.raises(NotFound):
            reach()
    store.save_turn("bo", turn.id, "done", {"answer": "changed"}, None)
    assert store.turn("ada", turn.id).status == "running"
    assert store.get("ada", made.id).title == "secret"


def test_asking_anew_removes_what_came_after_and_takes_a_new_thread(store: ConversationStore) -> None:
    made = store.start("", "x")
    turns = [store.ask("", f"question {n}", {}, conversation=made.id).turn for n in range(3)]
    asked = store.ask("", "again", {}, again=turns[1].id)
    assert asked.conversation.thread != made.thread
    assert asked.removed == (turns[1].id, turns[2].id)
    assert [turn.question for turn in store.turns("", made.id)] == ["question 0", "again"]
    assert asked.turn.sequence == 2
    assert store.left_threads() == [made.thread]


def test_a_question_is_put_in_whole_or_not_at_all(store: ConversationStore) -> None:
    made = store.start("", "x")
    turn = store.ask("", "question", {}, conversation=made.id).turn
    endless: dict[str, object] = {}
    endless["self"] = endless  # fails when the turn is written, after what was before it is removed
    for place in ({"again": turn.id}, {"conversation": made.id}, {}):
        with pytest.raises(TypeError):
            store.ask("", "again", endless, **place)
    assert [one.id for one in store.recent("")] == [made.id]
    assert [one.id for one in store.turns("", made.id)] == [turn.id]
    assert store.get("", made.id).thread == made.thread
    assert store.left_threads() == []


def test_threads_are_left_until_the_agent_has_forgotten_them(store: ConversationStore) -> None:
    made = store.start("", "x")
    turn = store.ask("", "question", {}, conversation=made.id).turn
    again = store.ask("", "question", {}, again=turn.id)
    assert store.delete("", made.id) == (again.turn.id,)
    assert set(store.left_threads()) == {made.thread, again.conversation.thread}
    for thread in store.left_threads():
        store.forgotten(thread)
    assert store.left_threads() == []


def test_a_deleted_conversation_is_gone_with_its_turns(store: ConversationStore) -> None:
    made = store.start("", "x")
    turn = store.ask("", "x", {}, conversation=made.id).turn
    store.delete("", made.id)
    with pytest.raises(NotFound):
        store.turn("", turn.id)
    store.save_turn("", turn.id, "done", {}, None)  # an answer that comes late is no error
    assert store.recent("") == []


def test_many_threads_at_once(store: ConversationStore) -> None:
    made = store.start("", "x")
    threads = [
        threading.Thread(target=lambda n=n: store.ask("", f"q{n}", {}, conversation=made.id).turn)
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [turn.sequence for turn in store.turns("", made.id)] == list(range(1, 21))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot be kept"):
        ConversationStore(tmp_path / "file" / "chats.sqlite")


def test_the_export_has_each_answer_with_its_sources(store: ConversationStore) -> None:
    made = store.start("", "Is it?")
    first = store.ask("", "Is\nit?", {}, conversation=made.id).turn
    store.save_turn("", first.id, "done", {"scope": "Folder x"}, response())
    second = store.ask("", "Why?", {}, conversation=made.id).turn
    store.save_turn("", second.id, "stopped", {"answer": "Because"}, None)
    text = conversation_markdown(store.get("", made.id), store.turns("", made.id))
    assert text.startswith("# Is it?\n")
    assert "## Is it?\n\nAsked of: Folder x\n\nYes [1].\n\nSources\n\n- [1] a/b.md, page 3, line 7\n" in text
    assert "- [9] never read (not verified)" in text
    assert text.endswith("## Why?\n\nBecause\n")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Is it?", "Is it.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ("...", "conversation.md"),
        ("a\nb\x00c", "a b c.md"),
        ("Käse & Brot", "Käse Brot.md"),
        ("x" * 300, "x" * 80 + ".md"),
    ],
)
def test_file_names_of_titles(title: str, name: str) -> None:
    assert file_name(title, ".md") == name


def test_a_thumb_that_comes_late_takes_no_reason_away_but_another_judgement_does(
    store: ConversationStore,
) -> None:
    made = store.start("ada", "Is it?")
    turn = store.ask("ada", "Is it?", {}, conversation=made.id).turn
    for feedback, reason, kept in (
        (-1, "half of it", "half of it"),
        (-1, "", "half of it"),
        (-1, "all of it", "all of it"),
        (1, "", ""),
        (None, "", ""),
    ):
        store.judge("ada", turn.id, feedback, reason)
        found = store.turn("ada", turn.id)
        assert (found.feedback, found.reason) == (feedback, kept)
