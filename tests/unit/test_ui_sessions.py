"""Logins: how often an address may try, and how long a session lasts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from graph_agent.ui import sessions as module
from graph_agent.ui.sessions import FREE_TRIES, SESSION_S, Sessions, TooManyTries
from graph_agent.ui.users import Users, add_user

PASSWORD = "correct horse"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "users.json"
    add_user(path, "ada", PASSWORD)
    return path


@pytest.fixture
def sessions(file: Path) -> Sessions:
    return Sessions(Users(file))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that sessions see; change its only item."""
    now = [1_000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


async def attempts(sessions: Sessions, number: int, password: str = "wrong password") -> list[object]:
    return await asyncio.gather(
        *(sessions.log_in("192.0.2.1", "ada", password) for _ in range(number)), return_exceptions=True
    )


def test_tries_sent_at_once_are_counted_like_others(sessions: Sessions) -> None:
    found = asyncio.run(attempts(sessions, 40))
    assert found.count(None) == FREE_TRIES
    assert sum(isinstance(one, TooManyTries) for one in found) == 40 - FREE_TRIES
    assert isinstance(asyncio.run(attempts(sessions, 1, PASSWORD))[0], TooManyTries)


def test_right_logins_sent_at_once_all_come_in(sessions: Sessions) -> None:
    found = asyncio.run(attempts(sessions, FREE_TRIES + 3, PASSWORD))
    assert all(isinstance(one, str) and sessions.user(one) == "ada" for one in found)


def test_a_new_password_ends_the_sessions_of_the_old_one(sessions: Sessions, file: Path) -> None:
    token = asyncio.run(sessions.log_in("192.0.2.1", "ada", PASSWORD))
    assert token
    assert sessions.user(token) == "ada"
    add_user(file, "bo", PASSWORD)
    assert sessions.user(token) == "ada"
    add_user(file, "ada", "another password")
    assert sessions.user(token) is None


def test_a_session_ends_however_often_it_is_used(sessions: Sessions, clock: list[float]) -> None:
    token = asyncio.run(sessions.log_in("192.0.2.1", "ada", PASSWORD))
    assert token
    for _ in range(3):
        clock[0] += SESSION_S / 4
        assert sessions.user(token) == "ada"
    clock[0] += SESSION_S / 4 + 1
    assert sessions.user(token) is None


def test_failures_are_not_kept_for_ever(
    sessions: Sessions, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ADDRESSES", 3)
    for number in range(5):
        asyncio.run(sessions.log_in(f"192.0.2.{number}", "nobody", "x"))
    assert list(sessions._failures) == ["192.0.2.2", "192.0.2.3", "192.0.2.4"]
    clock[0] += module.FAILURES_S + 1
    asyncio.run(sessions.log_in("192.0.2.9", "nobody", "x"))
    assert list(sessions._failures) == ["192.0.2.9"]
