"""Conversations, kept: questions, scopes, whole responses and what readers thought of them, apart per user.

SQLite in the data folder. Every call names the user and reaches only what is that user's; without logins the
user is "". Calls take about a millisecond and block, so pages call them in threads.
"""

from __future__ import annotations

import contextlib
import datetime
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import orjson

from graph_agent.errors import ConfigurationError, NotFound

TurnStatus = Literal["running", "done", "stopped", "failed"]
MAX_TITLE = 80
MAX_REASON = 2_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (
  id TEXT PRIMARY KEY, user TEXT NOT NULL, title TEXT NOT NULL, thread TEXT NOT NULL,
  created TEXT NOT NULL, updated TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS conversations_of_user ON conversations (user, updated);
CREATE TABLE IF NOT EXISTS turns (
  id TEXT PRIMARY KEY, conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL, question TEXT NOT NULL, scope TEXT NOT NULL, status TEXT NOT NULL,
  state TEXT NOT NULL, response TEXT, created TEXT NOT NULL, feedback INTEGER, reason TEXT NOT NULL DEFAULT '',
  UNIQUE (conversation, sequence));
CREATE TABLE IF NOT EXISTS left_threads (thread TEXT PRIMARY KEY);
"""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation.

    Attributes:
        thread: what the agent knows it by; changes when an earlier question is asked anew.
        created, updated: UTC, ISO form.
        questions: how many.
    """

    id: str
    title: str
    thread: str
    created: str
    updated: str
    questions: int = 0


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One question and what came of it.

    Attributes:
        state: what the page shows of it; JSON types.
        response: the agent's response as JSON types, None until it is there.
        feedback: 1 good, -1 bad, None not judged.
    """

    id: str
    sequence: int
    question: str
    scope: dict[str, Any]
    status: TurnStatus
    state: dict[str, Any] = field(default_factory=dict)
    response: dict[str, Any] | None = None
    created: str = ""
    feedback: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was put into a conversation.

    Attributes:
        removed: ids of the turns that went for it: the one that is asked anew, and all after it.
    """

    conversation: Conversation
    turn: StoredTurn
    removed: tuple[str, ...] = ()


class ConversationStore:
    """The conversations of one data folder; safe to share between threads and processes.

    Raises:
        ConfigurationError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self._connection.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;" + _SCHEMA
            )
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(
                f"Conversations cannot be kept in {path}: {error}.",
                "Name a data folder of yours with --data.",
            ) from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def start(self, user: str, title: str) -> Conversation:
        """A new conversation."""
        with self._writing() as run:
            name = _start(run, user, title)
        return self.get(user, name)

    def ask(
        self,
        user: str,
        question: str,
        scope: dict[str, Any],
        *,
        conversation: str = "",
        again: str = "",
        thread: str = "",
    ) -> Asked:
        """Put a question into a conversation, as running; all of it is kept or nothing.

        Args:
            user: whose conversation it is.
            question: what is asked.
            scope: of what it is asked; JSON types.
            conversation: its id; "" starts a new one.
            again: id of an earlier turn that is asked anew: it and all after it are removed.
            thread: with `again`, what the agent knows the conversation by from now on: its memory of the old
                thread holds what was removed, and is left to be deleted (`left_threads`).

        Raises:
            NotFound: this user has no such conversation or turn.
        """
        about = self.earlier(user, again)[0].id if again else conversation
        if about:
            self.get(user, about)
        removed: tuple[str, ...] = ()
        with self._writing() as run:
            if again:
                removed = _cut(run, about, again, thread)
            name = about or _start(run, user, question)
            turn = _add(run, name, question, scope)
        return Asked(self.get(user, name), self.turn(user, turn), removed)

    def earlier(self, user: str, turn: str) -> tuple[Conversation, list[StoredTurn]]:
        """The conversation of a turn, and the turns before it.

        Raises:
            NotFound: this user has none of this id.
        """
        at = self.turn(user, turn)
        rows = self._rows("SELECT conversation FROM turns WHERE id = ?", (turn,))
        about = self.get(user, rows[0]["conversation"] if rows else "")
        return about, [one for one in self.turns(user, about.id) if one.sequence < at.sequence]

    def recent(self, user: str, *, limit: int = 200) -> list[Conversation]:
        """A user's conversations, the one last spoken in first."""
        rows = self._rows(
            "SELECT c.*, count(t.id) AS questions FROM conversations c LEFT JOIN turns t ON t.conversation = c.id"
            " WHERE c.user = ? GROUP BY c.id ORDER BY c.updated DESC, c.id LIMIT ?",
            (user, limit),
        )
        return [_conversation(row) for row in rows]

    def get(self, user: str, conversation: str) -> Conversation:
        """One conversation.

        Raises:
            NotFound: this user has none of this id.
        """
        rows = self._rows(
            "SELECT c.*, (SELECT count(*) FROM turns WHERE conversation = c.id) AS questions FROM conversations c"
            " WHERE c.id = ? AND c.user = ?",
            (conversation, user),
        )
        if not rows:
            raise NotFound("There is no such conversation.", "Choose one from the list.")
        return _conversation(rows[0])

    def rename(self, user: str, conversation: str, title: str) -> None:
        """Give a conversation another title."""
        self.get(user, conversation)
        with self._writing() as run:
            run("UPDATE conversations SET title = ? WHERE id = ?", (_title(title), conversation))

    def delete(self, user: str, conversation: str) -> tuple[str, ...]:
        """Remove a conversation with everything in it; the agent's memory of it is left to be deleted.

        Returns:
            The ids of its turns.
        """
        about = self.get(user, conversation)
        with self._writing() as run:
            rows = run("DELETE FROM turns WHERE conversation = ? RETURNING id", (conversation,)).fetchall()
            run(
                "INSERT OR IGNORE INTO left_threads SELECT thread FROM conversations WHERE id = ?",
                (about.id,),
            )
            run("DELETE FROM conversations WHERE id = ?", (conversation,))
        return tuple(row["id"] for row in rows)

    def left_threads(self) -> list[str]:
        """Threads that no conversation has any more, and whose memory the agent is still to delete."""
        return [row["thread"] for row in self._rows("SELECT thread FROM left_threads", ())]

    def leave(self, thread: str) -> None:
        """Note that the memory of a thread is to be deleted."""
        with self._writing() as run:
            run("INSERT OR IGNORE INTO left_threads VALUES (?)", (thread,))

    def forgotten(self, thread: str) -> None:
        """Note that the agent has deleted its memory of a thread."""
        with self._writing() as run:
            run("DELETE FROM left_threads WHERE thread = ?", (thread,))

    def turns(self, user: str, conversation: str) -> list[StoredTurn]:
        """The questions of a conversation in order."""
        self.get(user, conversation)
        rows = self._rows("SELECT * FROM turns WHERE conversation = ? ORDER BY sequence", (conversation,))
        return [_turn(row) for row in rows]

    def turn(self, user: str, turn: str) -> StoredTurn:
        """One question.

        Raises:
            NotFound: this user has none of this id.
        """
        rows = self._rows(
            "SELECT t.* FROM turns t JOIN conversations c ON c.id = t.conversation WHERE t.id = ? AND c.user = ?",
            (turn, user),
        )
        if not rows:
            raise NotFound("There is no such answer.", "It may have been deleted; reload the page.")
        return _turn(rows[0])

    def save_turn(
        self, user: str, turn: str, status: TurnStatus, state: dict[str, Any], response: dict[str, Any] | None
    ) -> None:
        """Keep what came of a question; a question that was deleted meanwhile stays deleted."""
        with self._writing() as run:
            run(
                "UPDATE turns SET status = ?, state = ?, response = ? WHERE id = ? AND conversation IN"
                " (SELECT id FROM conversations WHERE user = ?)",
                (status, _json(state), _json(response) if response else None, turn, user),
            )

    def judge(self, user: str, turn: str, feedback: int | None, reason: str = "") -> None:
        """Keep what a reader thinks of an answer: 1 good, -1 bad, None nothing any more.

        The click of the thumb, without a reason, may be handled after the reason that followed it: it takes none away.
        """
        self.turn(user, turn)
        with self._writing() as run:
            run(
                "UPDATE turns SET reason = CASE WHEN ?2 = '' AND feedback IS ?1 THEN reason ELSE ?2 END, feedback = ?1"
                " WHERE id = ?3",
                (feedback, reason.strip()[:MAX_REASON], turn),
            )

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Any]:
        """One transaction."""
        with self._lock, self._connection:
            yield self._connection.execute


def new_thread(conversation: str) -> str:
    """A name that the agent has never known this conversation by."""
    return f"{conversation}.{secrets.token_hex(4)}"


def _start(run: Any, user: str, title: str) -> str:
    now, name = _now(), secrets.token_urlsafe(12)
    run(
        "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?)",
        (name, user, _title(title), new_thread(name), now, now),
    )
    return name


def _add(run: Any, conversation: str, question: str, scope: dict[str, Any]) -> str:
    name, now = secrets.token_urlsafe(9), _now()
    run(
        "INSERT INTO turns (id, conversation, sequence, question, scope, status, state, created) SELECT"
        " ?, ?, coalesce(max(sequence), 0) + 1, ?, ?, 'running', '{}', ? FROM turns WHERE conversation = ?",
        (name, conversation, question, _json(scope), now, conversation),
    )
    run("UPDATE conversations SET updated = ? WHERE id = ?", (now, conversation))
    return name


def _cut(run: Any, conversation: str, turn: str, thread: str) -> tuple[str, ...]:
    rows = run(
        "DELETE FROM turns WHERE conversation = ? AND sequence >= (SELECT sequence FROM turns WHERE id = ?)"
        " RETURNING id",
        (conversation, turn),
    ).fetchall()
    run("INSERT OR IGNORE INTO left_threads SELECT thread FROM conversations WHERE id = ?", (conversation,))
    run(
        "UPDATE conversations SET thread = ? WHERE id = ?", (thread or new_thread(conversation), conversation)
    )
    return tuple(row["id"] for row in rows)


def _title(text: str) -> str:
    words = " ".join(text.split()) or "Untitled"
    return words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1].rstrip() + "…"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def _json(value: Any) -> str:
    return orjson.dumps(value, default=str).decode("utf-8")


def _conversation(row: sqlite3.Row) -> Conversation:
    return Conversation(
        row["id"], row["title"], row["thread"], row["created"], row["updated"], row["questions"]
    )


def _turn(row: sqlite3.Row) -> StoredTurn:
    return StoredTurn(
        id=row["id"],
        sequence=row["sequence"],
        question=row["question"],
        scope=orjson.loads(row["scope"]),
        status=cast(TurnStatus, row["status"]),
        state=orjson.loads(row["state"]),
        response=orjson.loads(row["response"]) if row["response"] else None,
        created=row["created"],
        feedback=row["feedback"],
        reason=row["reason"],
    )
