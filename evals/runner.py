"""Runs: every question of a set is asked, scored and recorded; what was interrupted goes on where it stopped."""

from __future__ import annotations

import datetime
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_agent.errors import ConfigurationError
from graph_agent.evals.adapters import load_set
from graph_agent.evals.estimate import Estimate, estimate_run, price
from graph_agent.evals.identity import describe
from graph_agent.evals.options import RunOptions
from graph_agent.evals.prepare import Prepared, prepared
from graph_agent.evals.questions import Question, QuestionSet, digest_of
from graph_agent.evals.runs import (
    Judgement,
    LineWriter,
    Mode,
    Record,
    RunFolder,
    RunInfo,
    find_run,
    runs_folder,
)
from graph_agent.evals.subjects import Subject, make_subject
from graph_agent.evals.summary import Summary, headline_of, summarise

if TYPE_CHECKING:
    from graph_agent.ingest.report import Progress
    from graph_agent.settings import Settings
    from graph_agent.store import DocumentGraph

FAILURES_IN_A_ROW = 8  # of an engine or a model: then it is down, and asking on is no use
SCORES_EVERY_S = 0.5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """A run with everything in it.

    Attributes:
        info: its manifest. folder: where it lies.
        questions: as they were asked. records: one per question and repeat, in that order.
        judgements: of a judge model, on the answers as they are now.
    """

    info: RunInfo
    folder: RunFolder
    questions: tuple[Question, ...]
    records: tuple[Record, ...]
    judgements: tuple[Judgement, ...] = ()

    @cached_property
    def summary(self) -> Summary:
        """Its numbers."""
        return summarise(self.info.mode, self.questions, self.records, self.judgements)

    def as_json(self) -> dict[str, Any]:
        """Manifest and numbers as JSON types; the records lie in the folder."""
        return {
            **self.info.model_dump(mode="json"),
            "folder": str(self.folder.path),
            "summary": self.summary.as_json(),
        }


def run_set(
    source: str | Path | QuestionSet,
    settings: Settings | None = None,
    *,
    options: RunOptions | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    base: DocumentGraph | None = None,
    announce: Callable[[Estimate], None] | None = None,
    **changes: Any,
) -> Run:
    """Ask every question of a set, or go on with the run that did so and was interrupted.

        run = run_set("sample", mode="retrieval")
        assert run.summary.metrics["section.recall@10"].value >= 0.85

    Args:
        source: a set, or what `load_set` takes.
        settings: default those of the environment.
        options: see RunOptions; `changes` are its fields.
        progress: shows ingest and questions.
        stop: set it to stop soon; the run can go on later.
        base: an open graph whose connection is shared.
        announce: told what the run will cost, before it starts.

    Raises:
        ConfigurationError: the set, the settings or the options are not usable.
        EngineUnavailable, ModelUnavailable: nothing could be asked at all.
    """
    from graph_agent.ingest.report import Silent
    from graph_agent.settings import load_settings

    settings = settings or load_settings()
    options = replace(options or RunOptions(), **changes)
    whole = source if isinstance(source, QuestionSet) else load_set(source)
    chosen = whole.chosen(limit=options.limit, sample=options.sample, types=options.types, ids=options.ids)
    _require_fit(chosen, options.mode)
    progress = progress or Silent()
    with prepared(chosen, settings, ingest=options.ingest, progress=progress, base=base) as ready:
        info = describe(chosen, settings, options, ready)
        folder = _folder(settings, info, again=options.again)
        info.id = folder.path.name
        with folder.held():
            info = _begin(folder, info, chosen)
            _ask_all(folder, info, chosen, ready, settings, options, progress, stop, announce)
    if options.judge and info.state == "complete" and options.mode != "retrieval":
        from graph_agent.evals.judge import judge_run

        judge_run(load_run(settings, folder.path), settings, options.judge, progress=progress, stop=stop)
    run = load_run(settings, folder.path)
    write_report(run)
    return run


def _require_fit(chosen: QuestionSet, mode: Mode) -> None:
    """Check that a set can be asked in a mode.

    Raises:
        ConfigurationError: it cannot; names the mode that fits.
    """
    if mode == "cypher" and not any(question.rows is not None for question in chosen.questions):
        raise ConfigurationError(
            f"{chosen.name} has no rows to compare a query's rows with.", "Use --mode retrieval or answer."
        )
    if mode != "cypher" and chosen.graphs:
        raise ConfigurationError(
            f"{chosen.name} asks graphs, not documents ({', '.join(chosen.graphs)}).", "Use --mode cypher."
        )


def load_run(settings: Settings, reference: str | Path) -> Run:
    """A run by id, by the beginning of its id, by path, or `latest`.

    Raises:
        NotFound: there is none.
    """
    folder = find_run(settings, reference)
    info = folder.read_info()
    questions = folder.read_questions()
    order = {question.id: at for at, question in enumerate(questions)}
    records = sorted(folder.read_records(), key=lambda one: (order.get(one.question, len(order)), one.repeat))
    answers = {record.name: answer_digest(record) for record in records}
    judged = [
        one for one in folder.read_judgements() if answers.get((one.question, one.repeat)) == one.answer
    ]
    return Run(info, folder, questions, tuple(records), tuple(judged))


def list_runs(settings: Settings) -> list[RunInfo]:
    """The manifests of all runs of a data folder, the latest first; what cannot be read is left out."""
    found = []
    for manifest in runs_folder(settings).glob("*/manifest.json"):
        try:
            found.append(RunFolder(manifest.parent).read_info())
        except ConfigurationError as error:
            log.warning("%s", error)
    return sorted(found, key=lambda info: (info.started, info.id), reverse=True)


def answer_digest(record: Record) -> str:
    """Stands for an answer: a verdict holds only as long as the answer is the one that was judged."""
    return digest_of([(record.response or {}).get("answer", ""), [one.path for one in record.retrieved]])


def write_report(run: Run) -> Path:
    """Write the run's page; returns its path."""
    from graph_agent.evals.report.page import run_page
    from graph_agent.evals.runs import write_whole

    write_whole(run.folder.report, run_page(run))
    return run.folder.report


def _folder(settings: Settings, info: RunInfo, *, again: bool) -> RunFolder:
    home = runs_folder(settings)
    if not again:
        return RunFolder(home / info.id)
    at = 2
    while (home / f"{info.id}-{at}").exists():
        at += 1
    return RunFolder(home / f"{info.id}-{at}")


def _begin(folder: RunFolder, info: RunInfo, chosen: QuestionSet) -> RunInfo:
    """Keep manifest and questions; a run that goes on keeps the time of its start."""
    if folder.manifest.is_file():
        before = folder.read_info()
        info = info.model_copy(
            update={"started": before.started, "seconds": before.seconds, "judge": before.judge}
        )
    info.started = info.started or _now()
    info.state = "running"
    folder.write_questions(chosen.questions)
    folder.write_info(info)
    return info


def _ask_all(
    folder: RunFolder,
    info: RunInfo,
    chosen: QuestionSet,
    ready: Prepared,
    settings: Settings,
    options: RunOptions,
    progress: Progress,
    stop: threading.Event | None,
    announce: Callable[[Estimate], None] | None,
) -> None:
    """Ask what has no record yet, or one that is an error."""
    known = {record.name: record for record in folder.read_records()}
    todo = [
        (question, repeat)
        for repeat in range(options.repeat)
        for question in chosen.questions
        if (old := known.get((question.id, repeat))) is None or old.status == "error"
    ]
    began = time.monotonic()
    reason = ""
    ledger = _Ledger(info, known, settings, options)
    if todo:
        subject = make_subject(ready, settings, options)
        workers = options.workers or subject.workers
        if announce is not None:
            announce(estimate_run(settings, options.mode, len(todo), workers))
        writer = LineWriter(folder.records)
        progress.stage(f"Asking {info.set}", len(todo))
        try:
            for record in _in_parallel(subject, todo, workers, lambda: ledger.why_stop(stop)):
                writer.append(record)
                ledger.add(record)
                progress.advance(1, ledger.running_scores())
        finally:
            writer.close()
            subject.close()
            reason = ledger.why_stop(stop)
            _settle(folder, info, ledger, chosen, time.monotonic() - began, reason)
    else:
        _settle(folder, info, ledger, chosen, 0.0, "")


def _in_parallel(
    subject: Subject, todo: Sequence[tuple[Question, int]], workers: int, why_stop: Callable[[], str]
) -> Iterator[Record]:
    """Records as they come, a few questions at a time; no new one once there is a reason to stop."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="eval")
    waiting: set[Future[Record]] = set()
    whole = False
    try:
        for question, repeat in todo:
            while len(waiting) >= workers:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
            if why_stop():
                break
            waiting.add(pool.submit(subject.ask, question, repeat))
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
        whole = True
    finally:
        # Cut short, by Ctrl-C or a full disk: closing the subject ends what is still being asked.
        pool.shutdown(wait=whole, cancel_futures=True)


class _Ledger:
    """What a run has found and spent so far."""

    def __init__(
        self,
        info: RunInfo,
        known: Mapping[tuple[str, int], Record],
        settings: Settings,
        options: RunOptions,
    ) -> None:
        self.records = dict(known)
        self._info, self._settings, self._options = info, settings, options
        self._failures = 0
        self._last_failure = ""
        self._sums: dict[str, tuple[float, int]] = {}
        self.tokens = {"input": 0, "output": 0}
        self._shown, self._shown_at = "", 0.0
        for record in known.values():
            self._count(record)

    def add(self, record: Record) -> None:
        """Note a new record."""
        self.records[record.name] = record
        self._count(record)
        down = record.error is not None and record.error.kind.endswith("Unavailable")
        self._failures = self._failures + 1 if down else 0
        self._last_failure = record.error.message if record.error else ""

    def _count(self, record: Record) -> None:
        usage = (record.response or {}).get("usage") or {}
        self.tokens["input"] += int(usage.get("input_tokens") or 0)
        self.tokens["output"] += int(usage.get("output_tokens") or 0)
        for name, value in record.scores.items():
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = (total + value, count + 1)

    @property
    def cost(self) -> float | None:
        """What all records cost, those of earlier sittings included."""
        return price(self._settings, self.tokens["input"], self.tokens["output"])

    def why_stop(self, stop: threading.Event | None) -> str:
        """The reason not to ask another question, or ""."""
        if stop is not None and stop.is_set():
            return "It was stopped."
        if self._failures >= FAILURES_IN_A_ROW:
            return f"{self._failures} questions in a row failed: {self._last_failure}"
        limit = self._options.max_cost
        if limit is not None and (self.cost or 0.0) >= limit:
            return f"The budget of {limit:g} is spent."
        tokens = self._options.max_tokens
        if tokens is not None and sum(self.tokens.values()) >= tokens:
            return f"The budget of {tokens:,} tokens is spent."
        return ""

    def running_scores(self) -> str:
        """The main scores so far, in a few characters."""
        if time.monotonic() - self._shown_at > SCORES_EVERY_S:
            self._shown_at = time.monotonic()
            names = headline_of(self._options.mode, self._sums)[:2]
            parts = [
                f"{name.split('.')[-1]} {self._sums[name][0] / self._sums[name][1]:.3f}" for name in names
            ]
            errors = sum(record.status == "error" for record in self.records.values())
            self._shown = " ".join([*parts, *([f"{errors} errors"] if errors else [])])
        return self._shown


def _settle(
    folder: RunFolder, info: RunInfo, ledger: _Ledger, chosen: QuestionSet, seconds: float, reason: str
) -> None:
    """Close the manifest: complete when every question has a record."""
    records = list(ledger.records.values())
    info.done = len(records)
    info.errors = sum(record.status == "error" for record in records)
    info.input_tokens, info.output_tokens = ledger.tokens["input"], ledger.tokens["output"]
    info.cost = ledger.cost
    info.seconds = round(info.seconds + seconds, 3)
    info.state = "complete" if info.done >= info.questions else "stopped" if reason else "interrupted"
    info.finished = _now()
    if reason:
        info.notes.append(reason)
    summary = summarise(info.mode, chosen.questions, records)
    info.headline = {name: summary.metrics[name].as_json() for name in summary.headline}
    folder.write_info(info)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
