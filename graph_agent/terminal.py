"""What the command line shows to people: progress, tables, answers. Everything but results goes to stderr."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import click
from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text


class TerminalProgress:
    """A progress bar on standard error, one line per stage, with the time left."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}", style="dim"),
            console=Console(stderr=True),
            disable=quiet or not sys.stderr.isatty(),
            transient=False,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a line of its own."""
        self._task = self._progress.add_task(name, total=total, detail="")

    def advance(self, units: int = 1, detail: str = "") -> None:
        """Move the bar of the stage in hand."""
        if self._task is not None:
            self._progress.update(self._task, advance=units, detail=detail[-40:])


def is_watched() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


@contextmanager
def working(words: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done, gone at the end; gives the way to change it."""
    with Console(stderr=True).status(escape(words)) as status:
        yield lambda said: status.update(escape(safe(said)[:100]))


def print_json(document: Any) -> None:
    """One JSON document on standard output, and nothing else."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table of text; control characters and markup in cells are shown, never interpreted."""
    table = Table(title=title, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    Console().print(table)


def note(text: str) -> None:
    """A remark on standard error."""
    click.echo(safe(text), err=True)


def safe(text: str) -> str:
    """Text without control characters: what documents hold must not steer a terminal."""
    return "".join(
        character if character >= " " or character in "\n\t" else "\ufffd"
        for character in text
        if character != "\x7f"
    )


def set_up_logging(*, verbose: bool, json_lines: bool) -> None:
    """Log to standard error: warnings, or everything of ours with `verbose`; JSON lines on request."""
    logger = logging.getLogger("graph_agent")
    logger.setLevel(logging.DEBUG if verbose else logging.WARNING)
    handler: logging.Handler
    if json_lines:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_JsonFormatter())
    else:
        handler = RichHandler(console=Console(stderr=True), show_path=verbose, markup=False)
    logger.handlers = [handler]
    logger.propagate = False


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("")
    if isinstance(value, str):
        return Text(safe(value))
    if isinstance(value, float):
        return Text(f"{value:g}")
    return Text(safe(json.dumps(value, ensure_ascii=False, default=str)))
