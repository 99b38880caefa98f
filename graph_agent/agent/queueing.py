"""One at a time by name: the questions of a conversation wait for each other, in the order in which they came."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator

from graph_agent.errors import BadArgument

POLL_S = 0.02


class OneAtATime:
    """Lets one in for each name, whatever thread or event loop it comes from.

    A name's queue lives as long as anybody is in it: nobody can be let in by a queue that others no longer see.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queues: dict[str, deque[object]] = {}

    def __contains__(self, name: str) -> bool:
        """Whether anybody is in under this name, or waits."""
        return name in self._queues

    def names(self) -> list[str]:
        """The names under which anybody is in."""
        with self._guard:
            return list(self._queues)

    @contextlib.asynccontextmanager
    async def alone(self, name: str, patience_s: float) -> AsyncIterator[None]:
        """Wait until nobody else is in under this name.

        Args:
            name: of a conversation.
            patience_s: seconds to wait.

        Raises:
            BadArgument: those before were not done in time.
        """
        ticket = object()
        with self._guard:
            queue = self._queues.setdefault(name, deque())
            queue.append(ticket)
        try:
            deadline = time.monotonic() + patience_s
            while queue[0] is not ticket:
                if time.monotonic() > deadline:
                    raise BadArgument(
                        f"The conversation {name!r} is still busy with another question.",
                        "Wait for it, or begin another.",
                    )
                await asyncio.sleep(POLL_S)
            yield
        finally:
            with self._guard:
                queue.remove(ticket)
                if not queue:
                    del self._queues[name]
