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
        now, name = _now(), secrets.token_urlsafe(12)
        made = Conversation(name, _title(title), _new_thread(name), now, now)
        with self._writing() as run:
            run(
                "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?)",
                (name, user, made.title, made.thread, now, now),
            )
        return made

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

    def delete(self, user: str, conversation: str) -> None:
        """Remove a conversation with everything in it."""
        self.get(user, conversation)
        with self._writing() as run:
            run("DELETE FROM turns WHERE conversation = ?", (conversation,))
            run("DELETE FROM conversations WHERE id = ?", (conversation,))

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

    def add_turn(self, user: str, conversation: str, question: str, scope: dict[str, Any]) -> StoredTurn:
        """Put a question at the end of a conversation, as running."""
        self.get(user, conversation)
        name, now = secrets.token_urlsafe(9), _now()
        with self._writing() as run:
            run(
                "INSERT INTO turns (id, conversation, sequence, question, scope, status, state, created) SELECT"
                " ?, ?, coalesce(max(sequence), 0) + 1, ?, ?, 'running', '{}', ? FROM turns WHERE conversation = ?",
                (name, conversation, question, _json(scope), now, conversation),
            )
            run("UPDATE conversations SET updated = ? WHERE id = ?", (now, conversation))
        return self.turn(user, name)

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

    def cut(self, user: str, turn: str) -> Conversation:
        """Remove a question and all after it, to ask anew from there.

        Returns:
            The conversation under a new thread: the agent's memory of the old one holds what was cut.
        """
        self.turn(user, turn)
        with self._writing() as run:
            row = run("SELECT conversation, sequence FROM turns WHERE id = ?", (turn,)).fetchone()
            run("DELETE FROM turns WHERE conversation = ? AND sequence >= ?", tuple(row))
            run("UPDATE conversations SET thread = ? WHERE id = ?", (_new_thread(row[0]), row[0]))
        return self.get(user, row[0])

    def judge(self, user: str, turn: str, feedback: int | None, reason: str = "") -> None:
        """Keep what a reader thinks of an answer: 1 good, -1 bad, None nothing any more."""
        self.turn(user, turn)
        with self._writing() as run:
            run(
                "UPDATE turns SET feedback = ?, reason = ? WHERE id = ?",
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


def _new_thread(conversation: str) -> str:
    return f"{conversation}.{secrets.token_hex(4)}"


def _title(text: str) -> str:
    words = " ".join(text.split()) or "Untitled"
    return words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1].rstrip() + "…"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


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
