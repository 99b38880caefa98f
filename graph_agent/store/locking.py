"""Locks on the server that name their holder and end by themselves: one sync of a graph at a time, one backup."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt
from redis.lock import Lock

from graph_agent.errors import SyncInProgress
from graph_agent.store.graph import DocumentGraph, Result

LOCK = "sync-lock"
VECTOR_LOCK = "vector-lock"
ENRICH_LOCK = "enrich-lock"
SNAPSHOT_LOCK = "snapshot-lock"
WRITER_LOCKS = (LOCK, VECTOR_LOCK, ENRICH_LOCK)
RENEW_EVERY_S = 5.0

log = logging.getLogger(__name__)

_held: set[str] = set()
"""Holders of this process that are at work or waiting."""


class HeldGraph(DocumentGraph):
    """A graph as the holder of a lock sees it: every write asks first whether the lock is still held.

    A process that was halted for longer than the lock lives may wake up while another one writes; what it
    planned before is then out of date.
    """

    def __init__(self, graph: DocumentGraph, lock: str, holder: str) -> None:
        super().__init__(graph.connection, graph.settings, graph.name, owns=False)
        self._lock = lock
        self._holder = holder

    def check(self) -> None:
        """Ask whether the lock is still held.

        Raises:
            SyncInProgress: it ended; names who holds it now.
            EngineUnavailable: the engine does not answer.
        """
        now = self.keys.get(self._lock)
        if now == self._holder.encode():
            return
        other = f"{now.decode('utf-8', 'replace')} holds it now" if now else "nobody holds it now"
        raise SyncInProgress(
            f"The lock of this work on the graph {self.name!r} ended while it ran: {other}.",
            "What was written stays; run it again, and it goes on from there.",
        )

    def write(
        self,
        cypher: str,
        params: Mapping[str, Any] | None = None,
        *,
        arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Result:
        """`DocumentGraph.write`, while the lock is held.

        Raises:
            SyncInProgress: it is no longer; nothing was written.
        """
        self.check()
        return super().write(cypher, params, arrays=arrays)


@contextmanager
def sync_lock(graph: DocumentGraph, *, name: str = LOCK, wait_s: float = 0.0) -> Iterator[HeldGraph]:
    """Hold the sync of a graph, kept alive by a thread while the work runs; gives the graph to write to.

    Raises:
        SyncInProgress: somebody else holds it, or it was lost to somebody before a write; names the holder.
    """
    holder = f"process {os.getpid()} on {socket.gethostname()} ({uuid.uuid4().hex[:8]}{_namespace()})"
    _held.add(holder)
    try:
        work = "A backup or copy" if name == SNAPSHOT_LOCK else "A sync"
        with graph.keys.lock(name, holder, wait_s=wait_s, is_gone=_is_gone, work=work) as lock:
            done = threading.Event()
            keeper = threading.Thread(target=_keep, args=(lock, done), name="lock-keeper", daemon=True)
            keeper.start()
            try:
                yield HeldGraph(graph, name, holder)
            finally:
                done.set()
                keeper.join()
    finally:
        _held.discard(holder)


def _keep(lock: Lock, done: threading.Event) -> None:
    from redis.exceptions import LockNotOwnedError, RedisError

    while not done.wait(RENEW_EVERY_S):
        try:
            lock.reacquire()
        except LockNotOwnedError:  # the next write is refused by HeldGraph
            log.warning("The lock %s ended while its holder worked.", lock.name)
            return
        except RedisError as error:  # the engine may come back before the lock ends
            log.debug("The lock %s was not renewed: %s", lock.name, error)


def _is_gone(holder: str) -> bool:
    """Whether a lock's holder surely ended: a process of this machine that no longer lives, or a sync of ours."""
    words = holder.split()
    if len(words) != 5 or words[0] != "process" or words[3] != socket.gethostname():
        return False
    if not words[4].endswith(f"{_namespace()})"):
        return False  # another container of the same name: its process numbers mean nothing here
    try:
        if int(words[1]) == os.getpid():
            return holder not in _held  # the engine was away when it was let go
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _namespace() -> str:
    """What tells the process numbers of this container from another's; "" where there is nothing of the kind."""
    try:
        return f"-{os.stat('/proc/self/ns/pid').st_ino:x}"
    except OSError:
        return ""
