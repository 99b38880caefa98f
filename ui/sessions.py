"""Who is logged in, and how often an address may try: in memory, so a restart asks everybody again."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass

from graph_agent.ui.users import Users

SESSION_S = (
    12 * 3_600.0
)  # from the login on, as long as the browser keeps the cookie; using it does not prolong it
MAX_SESSIONS = 10_000
MAX_ADDRESSES = 10_000
FREE_TRIES = 5  # failed logins of one address before it has to wait
WAIT_S = 30.0
FAILURES_S = 3_600.0  # after which the failed tries of an address are forgotten


class TooManyTries(Exception):
    """An address that failed too often has to wait.

    Attributes:
        wait_s: seconds until its next try.
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"{wait_s:.0f} s")
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class _Session:
    user: str
    password: str  # the hash that it was begun with: a new password ends the sessions of the old one
    until: float


class Sessions:
    """The logins of one server."""

    def __init__(self, users: Users) -> None:
        self.users = users
        self._sessions: dict[str, _Session] = {}
        self._failures: dict[str, tuple[int, float]] = {}
        # A try takes 32 MiB and 0.1 s of a core. One at a time, for each must see whether the ones before it failed:
        # many tries sent at once would otherwise all be let through.
        self._trying = asyncio.Lock()

    async def log_in(self, address: str, name: str, password: str) -> str | None:
        """A session's token, or None for a wrong name or password.

        Raises:
            TooManyTries: the address has to wait.
        """
        async with self._trying:
            if (wait := self.seconds_to_wait(address)) > 0:
                raise TooManyTries(wait)
            hashed = await asyncio.to_thread(self.users.check, name, password)
            self._forget_old()
            if hashed is None:
                count, _ = self._failures.pop(address, (0, 0.0))  # put last: the oldest are the first to go
                self._failures[address] = (count + 1, time.monotonic())
                return None
            self._failures.pop(address, None)
        token = secrets.token_urlsafe(32)
        self._sessions[token] = _Session(name, hashed, time.monotonic() + SESSION_S)
        return token

    def seconds_to_wait(self, address: str) -> float:
        """How long an address that failed too often has to wait before its next try."""
        count, last = self._failures.get(address, (0, 0.0))
        over = count - FREE_TRIES
        if over < 0:
            return 0.0
        pause: float = min(WAIT_S * 2 ** min(over, 5), 900.0)
        return max(0.0, last + pause - time.monotonic())

    def user(self, token: str) -> str | None:
        """Whose session this is; None when it has ended, or the user or the password is not the same any more."""
        session = self._sessions.get(token)
        if session is None:
            return None
        if session.until < time.monotonic() or self.users.hash_of(session.user) != session.password:
            self._sessions.pop(token, None)
            return None
        return session.user

    def log_out(self, token: str) -> None:
        """End a session."""
        self._sessions.pop(token, None)

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._sessions = {token: entry for token, entry in self._sessions.items() if entry.until > now}
        self._failures = {
            name: entry for name, entry in self._failures.items() if entry[1] > now - FAILURES_S
        }
        for kept, most in ((self._sessions, MAX_SESSIONS), (self._failures, MAX_ADDRESSES)):
            while len(kept) >= most:
                del kept[next(iter(kept))]
