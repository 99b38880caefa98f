"""Where runs lie: one folder each under <data>/evals, with a manifest, the questions, and records as JSON lines.

    <data>/evals/<run id>/
        manifest.json    RunInfo, replaced as a whole
        questions.jsonl  the questions as they were asked, with their gold
        records.jsonl    one line per question asked; of two lines for one question the later one counts
        judgements.jsonl verdicts of a judge model
        report.html

A line is appended whole by one write; half a line, left by a kill, is cut off when the run goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from graph_agent.errors import ConfigurationError, NotFound
from graph_agent.evals.questions import Question, load_questions
from graph_agent.settings import Settings

try:
    import fcntl
except ImportError:  # Windows: runs are not guarded against two processes at once
    fcntl = None  # type: ignore[assignment]

Mode = Literal["retrieval", "answer", "cypher"]
State = Literal["running", "complete", "stopped", "interrupted"]
MODES: tuple[Mode, ...] = ("retrieval", "answer", "cypher")
FOLDER = "evals"
_SYNC_EVERY_S = 1.0


class Fault(BaseModel):
    """Why a question has no scores: a failure of the engine, the model or a tool, never a wrong answer."""

    kind: str
    message: str
    fix: str = ""


class Ranked(BaseModel):
    """One result of a search, in rank order."""

    document: str
    path: str
    section: str = ""
    title: str = ""
    page: int | None = None
    line: int | None = None
    score: float = 0.0
    relevant: list[str] = Field(default_factory=list)


class Record(BaseModel):
    """What came back for one question.

    Attributes:
        question: id; repeat: which time it was asked, from 0.
        scores: by metric; empty on an error.
        seconds: wall time.
        retrieved: the ranking, in retrieval mode.
        missing: gold evidence that the graph does not hold.
        response: the agent's whole response, in the other modes.
        path: the stages that ran.
    """

    model_config = ConfigDict(extra="ignore")

    question: str
    repeat: int = 0
    status: Literal["ok", "error"] = "ok"
    error: Fault | None = None
    scores: dict[str, float] = Field(default_factory=dict)
    seconds: float = 0.0
    asked_at: str = ""
    retrieved: list[Ranked] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    response: dict[str, Any] | None = None
    path: str = ""

    @property
    def name(self) -> tuple[str, int]:
        """What a later record of the same question takes the place of."""
        return self.question, self.repeat


class Judgement(BaseModel):
    """A judge model's verdict on one answer; `ungraded` when the judge failed.

    Attributes:
        answer: digest of the answer that was judged. judge: the model, and a digest of its instructions.
    """

    question: str
    repeat: int = 0
    answer: str = ""
    judge: str = ""
    verdict: Literal["correct", "partial", "incorrect", "ungraded"] = "ungraded"
    grounded: Literal["supported", "partly", "unsupported", "ungraded"] = "ungraded"
    reason: str = ""


class RunInfo(BaseModel):
    """A run's manifest.

    Attributes:
        id: name of its folder. key: what it depends on; another key is another run.
        set, source, digest: of the questions.
        settings: those that bear on results. options: of the search and the asking.
        prompts: content hash by name.
        graph: name, version, number and digest of the documents, by graph name.
        questions: how many are to be asked, repeats included; done: how many have a record; errors: of these.
        input_tokens, output_tokens, cost: of all records; cost is None without prices.
        headline: main metrics as {value, low, high, n}.
        notes: what the reader should know, one sentence each.
    """

    model_config = ConfigDict(extra="ignore")

    id: str
    key: str
    set: str
    source: str = ""
    digest: str = ""
    mode: Mode = "retrieval"
    state: State = "running"
    started: str = ""
    finished: str = ""
    seconds: float = 0.0
    model: str | None = None
    judge: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    prompts: dict[str, str] = Field(default_factory=dict)
    graph: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    questions: int = 0
    repeat: int = 1
    done: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    headline: dict[str, dict[str, Any]] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "manifest.json"
        self.questions = path / "questions.jsonl"
        self.records = path / "records.jsonl"
        self.judgements = path / "judgements.jsonl"
        self.report = path / "report.html"

    def write_info(self, info: RunInfo) -> None:
        """Replace the manifest."""
        write_whole(self.manifest, info.model_dump_json(indent=1))

    def read_info(self) -> RunInfo:
        """The manifest; a run that says it is running but that no process holds was interrupted.

        Raises:
            ConfigurationError: it is not readable.
        """
        try:
            info = RunInfo.model_validate_json(self.manifest.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{self.manifest} cannot be read: {error}.", "Delete that folder."
            ) from None
        if info.state == "running" and not self.is_held():
            info.state = "interrupted"
        return info

    def write_questions(self, questions: Iterable[Question]) -> None:
        """Keep the questions as they are asked."""
        lines = [json.dumps(question.as_json(), ensure_ascii=False) for question in questions]
        write_whole(self.questions, "\n".join(lines) + "\n")

    def read_questions(self) -> tuple[Question, ...]:
        """The questions as they were asked."""
        return load_questions(self.questions)

    def read_records(self) -> list[Record]:
        """One record per question and repeat, the latest; a broken last line is passed over."""
        return list(
            {record.name: record for record in map(Record.model_validate_json, _lines(self.records))}.values()
        )

    def read_judgements(self) -> list[Judgement]:
        """One judgement per question and repeat, the latest."""
        found = (Judgement.model_validate_json(line) for line in _lines(self.judgements))
        return list({(one.question, one.repeat): one for one in found}.values())

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run, so that no other process writes to it.

        Raises:
            ConfigurationError: another process does.
        """
        # Answers quote documents: nobody else is to read them.
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path.mkdir(exist_ok=True, mode=0o700)
        with (self.path / "lock").open("a") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ConfigurationError(
                        f"The run {self.path.name} is being made by another process.", "Wait for it to end."
                    ) from None
            yield

    def is_held(self) -> bool:
        """Whether a process holds it."""
        lock = self.path / "lock"
        if fcntl is None or not lock.exists():
            return False
        with lock.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False


class LineWriter:
    """Appends JSON lines to a file, each by one write; reaches the disk at least every second."""

    def __init__(self, path: Path) -> None:
        _cut_half_line(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._synced = time.monotonic()

    def append(self, line: BaseModel) -> None:
        """Add one line.

        Raises:
            OSError: the disk is full.
        """
        data = memoryview(line.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n")
        while data:
            data = data[os.write(self._file, data) :]
        if time.monotonic() - self._synced > _SYNC_EVERY_S:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Reach the disk and close."""
        os.fsync(self._file)
        os.close(self._file)


def runs_folder(settings: Settings) -> Path:
    """Where the runs of a data folder lie."""
    return settings.data / FOLDER


def find_run(settings: Settings, reference: str | Path) -> RunFolder:
    """A run by id, by the beginning of its id, by path, or `latest`.

    Raises:
        NotFound: there is none, or more than one; lists the candidates.
    """
    if (Path(reference) / "manifest.json").is_file():
        return RunFolder(Path(reference))
    home = runs_folder(settings)
    text = str(reference)
    known = sorted(path.parent.name for path in home.glob("*/manifest.json"))
    if text == "latest" and known:
        infos = [RunFolder(home / name).read_info() for name in known]
        return RunFolder(home / max(infos, key=lambda info: info.started).id)
    found = [name for name in known if name == text] or [name for name in known if name.startswith(text)]
    if len(found) == 1:
        return RunFolder(home / found[0])
    if found:
        raise NotFound(
            f"More than one run begins with {text!r}: {', '.join(found[:10])}.", "Name one of them."
        )
    raise NotFound(
        f"There is no run {text!r} in {home}.",
        f"Runs are {', '.join(known[-10:])}." if known else "Make one: graph-agent eval run sample",
    )


def write_whole(path: Path, text: str) -> None:
    """Replace a file by another text: readers see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines of a file that may not be there."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and line.strip():
                yield line


def _cut_half_line(path: Path) -> None:
    """Cut off what stands behind the last line end."""
    if not path.is_file():
        return
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
