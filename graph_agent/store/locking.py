"""Locks on the server that name their holder and end by themselves: one sync of a graph at a time, one backup."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis.lock import Lock

from graph_agent.store.graph import DocumentGraph

LOCK = "sync-lock"
VECTOR_LOCK = "vector-lock"
ENRICH_LOCK = "enrich-lock"
SNAPSHOT_LOCK = "snapshot-lock"
WRITER_LOCKS = (LOCK, VECTOR_LOCK, ENRICH_LOCK)
RENEW_EVERY_S = 5.0

_held: set[str] = set()
"""Holders of this process that are at work or waiting."""


@contextmanager
def sync_lock(graph: DocumentGraph, *, name: str = LOCK, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the sync of a graph, kept alive by a thread while the work runs.

    Raises:
        SyncInProgress: somebody else holds it; names the holder.
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
                yield
            finally:
                done.set()
                keeper.join()
    finally:
        _held.discard(holder)


def _keep(lock: Lock, done: threading.Event) -> None:
    from redis.exceptions import RedisError

    while not done.wait(RENEW_EVERY_S):
        with suppress(RedisError):
            lock.reacquire()


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
