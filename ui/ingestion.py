"""Syncs that run behind the pages: one at a time, with progress, a stop and a report that stays until the next."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from graph_agent.errors import GraphAgentError, SyncInProgress

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.ingest import SyncReport
    from graph_agent.store import DocumentGraph

log = logging.getLogger(__name__)

WAIT_S = 30.0  # for a sync of another process


@dataclass(frozen=True)
class Job:
    """A sync as the pages show it; a new object for every change.

    Attributes:
        title: what it is about, such as "Sample documents".
        serial: number of the job, from 1; 0 when there was none yet.
        stage: what is being done; done, total: units of it.
        seconds_left: of the stage, None while nothing can be said.
        report: at the end.
        error: why it failed, on one line.
    """

    serial: int = 0
    title: str = ""
    state: Literal["none", "running", "stopping", "done", "failed"] = "none"
    stage: str = ""
    done: int = 0
    total: int = 0
    detail: str = ""
    seconds: float = 0.0
    seconds_left: float | None = None
    report: SyncReport | None = None
    error: str = ""

    @property
    def running(self) -> bool:
        """Whether it still works."""
        return self.state in {"running", "stopping"}

    @property
    def share(self) -> float:
        """How much of the stage is done, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0


@dataclass
class _Meter:
    """Takes a sync's progress and keeps it for whoever looks."""

    update: Callable[..., None]
    total: int = 0
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def stage(self, name: str, total: int) -> None:
        """A new stage begins."""
        self.total, self.done, self.began = total, 0, time.monotonic()
        self.update(stage=name, total=total, done=0, detail="", seconds_left=None)

    def advance(self, units: int = 1, detail: str = "") -> None:
        """So much more is done."""
        self.done += units
        passed = time.monotonic() - self.began
        left = passed / self.done * (self.total - self.done) if self.done and passed > 1.0 else None
        self.update(done=self.done, detail=detail, seconds_left=left)


class Ingestion:
    """Runs syncs in a thread of its own.

    Args:
        graph: the graph they write to.
        embedder: gives the embedding model, loaded when first needed.
    """

    def __init__(self, graph: DocumentGraph, embedder: Callable[[], Embedder]) -> None:
        self._graph = graph
        self._embedder = embedder
        self._lock = threading.Lock()
        self._job = Job()
        self._began = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def job(self) -> Job:
        """The job that runs, or the last one."""
        with self._lock:
            job = self._job
            return replace(job, seconds=time.monotonic() - self._began) if job.running else job

    def sync(self, paths: Sequence[Path], title: str) -> Job:
        """Begin to bring paths into step with the graph; returns at once.

        Raises:
            SyncInProgress: one is running already.
        """
        return self._start(title, lambda meter: self._synced(paths, None, meter))

    def sync_each(self, roots: Sequence[tuple[Path, str]], title: str) -> Job:
        """Begin to bring several roots into step, each under its name; returns at once.

        Raises:
            SyncInProgress: one is running already.
        """

        def work(meter: _Meter) -> SyncReport:
            reports = [self._synced([path], name, meter) for path, name in roots if not self._stop.is_set()]
            return merged(reports)

        return self._start(title, work)

    def _synced(self, paths: Sequence[Path], name: str | None, meter: _Meter) -> SyncReport:
        from graph_agent.ingest import SyncOptions, sync

        options = SyncOptions(name=name, wait_s=WAIT_S)
        return sync(self._graph, self._embedder(), list(paths), options, meter, stop=self._stop)

    def remove(self, paths: Sequence[str], title: str, *, files: Sequence[Path] = ()) -> Job:
        """Begin to take what is below some paths out of the graph; returns at once.

        Args:
            paths: what is to go.
            title: what the job is called.
            files: deleted from disk once the graph does not hold them any more, and only then.

        Raises:
            SyncInProgress: another job is running.
        """
        from graph_agent.ingest import remove
        from graph_agent.ingest.report import FileFailure

        def work(meter: _Meter) -> SyncReport:
            report = remove(self._graph, list(paths), meter)
            for file in files:
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    reason = f"It could not be deleted: {error.strerror or error}."
                    report.warnings.append(FileFailure(str(file), reason))
            return report

        return self._start(title, work)

    def stop(self) -> None:
        """Ask the running job to end; what it has finished stays."""
        with self._lock:
            if self._job.running:
                self._job = replace(self._job, state="stopping")
                self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the running job has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _start(self, title: str, work: Callable[[_Meter], SyncReport]) -> Job:
        with self._lock:
            if self._job.running:
                raise SyncInProgress(
                    f"“{self._job.title}” is still running.",
                    "Wait until it is done, or stop it, and try again.",
                )
            self._job = Job(
                serial=self._job.serial + 1, title=title, state="running", stage="Looking at the files"
            )
            self._began = time.monotonic()
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, args=(work,), name="ingestion", daemon=True)
            self._thread.start()
            return self._job

    def _run(self, work: Callable[[_Meter], SyncReport]) -> None:
        try:
            report = work(_Meter(self._update))
        except GraphAgentError as error:
            self._update(state="failed", error=str(error))
        except Exception as error:  # a fault of ours: the page must say so, too
            log.exception("a sync failed")
            self._update(state="failed", error=f"{type(error).__name__}: {error}")
        else:
            self._update(state="done", report=report, seconds=time.monotonic() - self._began)

    def _update(self, **changes: object) -> None:
        with self._lock:
            self._job = replace(self._job, **changes)  # type: ignore[arg-type]


def merged(reports: Sequence[SyncReport]) -> SyncReport:
    """Several reports as one: counts added up, lists joined, the last one's totals."""
    whole = reports[-1]
    for report in reports[:-1]:
        for name in (
            "added",
            "changed",
            "moved",
            "deleted",
            "unchanged",
            "relabelled",
            "sections",
            "chunks",
            "vectors",
        ):
            setattr(whole, name, getattr(whole, name) + getattr(report, name))
        whole.failed = [*report.failed, *whole.failed]
        whole.warnings = [*report.warnings, *whole.warnings]
        whole.roots = [*report.roots, *whole.roots]
        for reason, number in report.skipped.items():
            whole.skipped[reason] = whole.skipped.get(reason, 0) + number
        whole.seconds += report.seconds
    return whole
