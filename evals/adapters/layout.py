"""Where the files of a set lie, and rows out of JSON, JSONL and Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from graph_agent.errors import ConfigurationError
from graph_agent.evals.questions import read_json_lines

QUESTIONS = "questions.jsonl"


def questions_file(path: Path) -> Path | None:
    """The questions of a set that is laid out as `corpus/` and `questions.jsonl` (or `dev/questions.jsonl`).

    Args:
        path: the folder, or the file itself.
    """
    if path.is_file():
        return path if path.suffix == ".jsonl" else None
    for name in (QUESTIONS, f"dev/{QUESTIONS}"):
        if (path / name).is_file():
            return path / name
    deeper = sorted(path.glob(f"*/{QUESTIONS}")) if (path / "corpus").is_dir() else []
    return deeper[0] if len(deeper) == 1 else None


def corpus_of(questions: Path, *names: str) -> Path | None:
    """The folder of documents that lies beside a file of questions or one level up, `corpus` by default."""
    for name in names or ("corpus",):
        for root in (questions.parent, questions.parent.parent):
            if (root / name).is_dir():
                return root / name
    return None


def set_name(questions: Path) -> str:
    """A set's name: its folder's, without the split below it."""
    root = questions.parent
    if questions.name != QUESTIONS:
        return questions.stem
    return (
        root.parent.name
        if not (root / "corpus").is_dir() and (root.parent / "corpus").is_dir()
        else root.name
    )


def first_row(path: Path | None) -> dict[str, Any]:
    """The first object of a JSONL file; empty when there is none or it cannot be read."""
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line in file:
                if line.strip():
                    row = json.loads(line)
                    return row if isinstance(row, dict) else {}
    except (OSError, ValueError):
        return {}
    return {}


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered rows of a .jsonl, .json (a list of objects) or .parquet file.

    Raises:
        ConfigurationError: the file cannot be read as such.
    """
    if path.suffix == ".parquet":
        yield from _parquet_rows(path)
    elif path.suffix == ".jsonl":
        yield from read_json_lines(path)
    else:
        data = read_json(path)
        if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
            raise ConfigurationError(f"{path} is not a JSON list of objects.", "Check the file.")
        yield from enumerate(data, start=1)


def read_json(path: Path) -> Any:
    """The JSON document of a file.

    Raises:
        ConfigurationError: it cannot be read, or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error}.", "Check the path; files are UTF-8."
        ) from None
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}).", "Check the file."
        ) from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigurationError(
            f"Reading {path.name} needs the package pyarrow.", "Install it: pip install 'graph-agent[evals]'"
        ) from None
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read as Parquet: {error}.", "Check the file.") from None
    yield from enumerate(table.to_pylist(), start=1)
