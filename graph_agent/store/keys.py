"""Plain Redis keys beside a graph, on the same server: locks with expiry, shared caches, reports.

Only what can be computed again, or lost without harm, is kept here; the graph is the truth.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import redis
from redis.exceptions import LockError, NoPermissionError, RedisError
from redis.lock import Lock

from graph_agent.errors import EngineUnavailable, SyncInProgress
from graph_agent.store.connection import refused_to_write

LAST_SYNC = "last-sync"
"""The report of the last sync, as JSON."""
UNREAD = "unread"
"""Files that could not be read, by root; see `unread`."""

LOCK_TTL_S = 30.0
_DELETE_IF_EQUAL = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


class KeySpace:
    """Keys under `graph-agent:{graph}:`; the braces keep them in one slot of a server that has slots."""

    def __init__(self, client: redis.Redis, graph: str) -> None:
        self._client = client
        self._prefix = f"graph-agent:{{{graph}}}:"

    def get(self, name: str) -> bytes | None:
        """Value of a key, None when it is absent."""
        with _translated():
            return cast("bytes | None", self._client.get(self._prefix + name))

    def set(self, name: str, value: bytes, *, ttl_s: float | None = None) -> None:
        """Set a key, for `ttl_s` seconds when given."""
        with _translated():
            self._client.set(self._prefix + name, value, px=int(ttl_s * 1000) if ttl_s else None)

    def delete(self, *names: str) -> None:
        """Remove keys; absent ones are no error."""
        with _translated():
            self._client.delete(*(self._prefix + name for name in names))

    def hmget(self, name: str, fields: Sequence[str]) -> list[bytes | None]:
        """Values of fields of a hash, None for absent ones, in the order asked."""
        if not fields:
            return []
        with _translated():
            return cast("list[bytes | None]", self._client.hmget(self._prefix + name, list(fields)))

    def hget_all(self, name: str) -> dict[bytes, bytes]:
        """A whole hash."""
        with _translated():
            return cast("dict[bytes, bytes]", self._client.hgetall(self._prefix + name))

    def hset(self, name: str, mapping: Mapping[str, bytes]) -> None:
        """Set fields of a hash."""
        if mapping:
            with _translated():
                self._client.hset(self._prefix + name, mapping=dict(mapping))  # type: ignore[arg-type]

    def hdel(self, name: str, *fields: str) -> None:
        """Remove fields of a hash."""
        if fields:
            with _translated():
                self._client.hdel(self._prefix + name, *fields)

    def hkeys(self, name: str) -> list[str]:
        """Field names of a hash."""
        with _translated():
            return [key.decode() for key in cast("list[bytes]", self._client.hkeys(self._prefix + name))]

    @property
    def available(self) -> bool:
        """False when the server's access rules forbid us plain keys: callers then do without."""
        try:
            self._client.exists(self._prefix + "probe")
        except NoPermissionError:
            return False
        except RedisError as error:
            raise EngineUnavailable(f"The engine does not answer ({error}).") from None
        return True

    @contextlib.contextmanager
    def lock(
        self,
        name: str,
        holder: str,
        *,
        wait_s: float = 0.0,
        is_gone: Callable[[str], bool] | None = None,
        work: str = "A sync",
    ) -> Iterator[Lock]:
        """Hold a lock that expires by itself `LOCK_TTL_S` after the last `extend`.

        Args:
            name: key of the lock.
            holder: who holds it, unique to this taking; shown to those who are refused.
            wait_s: how long to wait for it.
            work: what the holder does, for the message.
            is_gone: told a holder, says whether it surely ended without letting go (a killed process).

        Raises:
            SyncInProgress: somebody else holds it; names the holder.
        """
        key = self._prefix + name
        lock = Lock(self._client, key, timeout=LOCK_TTL_S, sleep=0.1, thread_local=False)
        left = self.get(name)
        with _translated():
            if left is not None and is_gone is not None and is_gone(left.decode("utf-8", "replace")):
                # Only that holder's: somebody else may have taken the lock since.
                self._client.eval(_DELETE_IF_EQUAL, 1, key, left)
            taken = lock.acquire(blocking=wait_s > 0, blocking_timeout=wait_s or None, token=holder)
        if not taken:
            other = cast("bytes | None", self._client.get(key)) or b"somebody who just finished"
            raise SyncInProgress(
                f"{work} of this graph is running, held by {other.decode('utf-8', 'replace')}.",
                f"Wait for it; if that process was killed, the lock ends by itself within {LOCK_TTL_S:.0f} s.",
            )
        try:
            yield lock
        finally:
            with contextlib.suppress(LockError, RedisError):
                lock.release()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise refused_to_write(error) or EngineUnavailable(
            f"The engine does not answer ({error}).",
            "Try again; `graph-agent status` tells whether it is up.",
        ) from error
