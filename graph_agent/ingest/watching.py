"""Following folders: a sync at the start, and whenever their files come to rest after a change."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from watchfiles import watch

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, GraphAgentError
from graph_agent.ingest.report import Progress, SyncReport
from graph_agent.ingest.syncing import SyncOptions, sync
from graph_agent.store import DocumentGraph

QUIET_MS = 1_500
TICK_MS = 1_000
WAIT_FOR_OTHERS_S = 600.0
RETRY_S, RETRY_AT_MOST_S = 5.0, 300.0

log = logging.getLogger(__name__)

Identities = Mapping[Path, tuple[int, int]]
"""Device and inode of the paths that are there: a folder that is made anew has to be watched anew."""


def watch_folders(
    graph: DocumentGraph,
    embedder: Embedder,
    paths: Sequence[Path | str],
    options: SyncOptions,
    progress: Progress,
    done: Callable[[SyncReport], None],
    *,
    stop: threading.Event | None = None,
) -> None:
    """Sync, and again after each burst of changes; returns when `stop` is set or on Ctrl-C.

    The folders are watched before the first sync begins, so nothing that changes meanwhile is missed. Paths that
    are not there yet are taken up when they come. A sync that fails because the engine, a model or the lock is not
    to be had is tried again, after pauses that grow from 5 seconds to 5 minutes.

    Args:
        done: given the report of the first sync, and of every later one that changed something.

    Raises:
        ConfigurationError: from the first sync: paths, a graph or a model that cannot be used.
    """
    ended = stop or threading.Event()
    patient = replace(options, wait_s=WAIT_FOR_OTHERS_S)
    follower = _Follower(lambda: sync(graph, embedder, paths, patient, progress, stop=stop), done)
    while not ended.is_set():
        watched = _identities(paths)
        with closing(_ticks(watched, ended)) as ticks:
            for changed in ticks:
                follower.tick(changed=changed)
                if _identities(paths) != watched:
                    follower.changed()
                    break


class _Follower:
    """Decides when to sync, and lets nothing but a first sync that cannot be end the watch."""

    def __init__(self, run: Callable[[], SyncReport], done: Callable[[SyncReport], None]) -> None:
        self._run = run
        self._done = done
        self._began = False
        self._due: float | None = time.monotonic()
        self._pause = RETRY_S

    def changed(self) -> None:
        """Sync at the next tick."""
        self._due = time.monotonic()

    def tick(self, *, changed: bool) -> None:
        """Sync when something changed, or when a sync that failed is due again."""
        if not changed and (self._due is None or time.monotonic() < self._due):
            return
        self._due = None
        try:
            report = self._run()
        except ConfigurationError as error:
            if not self._began:
                raise
            log.warning("A sync was left out: %s", error)  # until something changes
            return
        except GraphAgentError as error:
            log.warning("A sync failed and is tried again in %.0f s: %s", self._pause, error)
            self._due = time.monotonic() + self._pause
            self._pause = min(self._pause * 2, RETRY_AT_MOST_S)
            return
        self._pause = RETRY_S
        first, self._began = not self._began, True
        if first or report.wrote or report.failed:
            self._done(report)


def _ticks(watched: Identities, ended: threading.Event) -> Generator[bool]:
    """Every second whether files changed, from when the watch is up; ends with the watch."""
    if not watched:
        while not ended.is_set():
            yield False
            ended.wait(TICK_MS / 1_000)
        return
    try:
        for changes in watch(
            *watched,
            debounce=QUIET_MS,
            step=200,
            rust_timeout=TICK_MS,
            yield_on_timeout=True,
            stop_event=ended,
            raise_interrupt=True,
        ):
            yield bool(changes)
    except FileNotFoundError:  # gone since it was looked for
        ended.wait(TICK_MS / 1_000)


def _identities(paths: Sequence[Path | str]) -> Identities:
    found = {}
    for path in map(Path, paths):
        try:
            facts = os.stat(path)
        except OSError:
            continue
        found[path] = (facts.st_dev, facts.st_ino)
    return found
