"""Following folders: a sync whenever their files come to rest after a change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import watch

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, SyncInProgress
from graph_agent.ingest.report import Progress, SyncReport
from graph_agent.ingest.syncing import SyncOptions, sync
from graph_agent.store import DocumentGraph

QUIET_MS = 1_500
WAIT_FOR_OTHERS_S = 600.0

log = logging.getLogger(__name__)


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
    """Sync again after each burst of changes; returns when `stop` is set or on Ctrl-C.

    Args:
        done: given the report of every sync that changed something.
    """
    existing = [path for path in paths if Path(path).exists()]
    patient = SyncOptions(name=options.name, vectors=options.vectors, wait_s=WAIT_FOR_OTHERS_S)
    for _ in watch(*existing, debounce=QUIET_MS, step=200, stop_event=stop, raise_interrupt=True):
        try:
            report = sync(graph, embedder, paths, patient, progress, stop=stop)
        except (ConfigurationError, SyncInProgress) as error:
            log.warning("A sync was left out: %s", error)
            continue
        if report.wrote or report.failed:
            done(report)
