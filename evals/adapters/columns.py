"""Tables: CSV and TSV with named columns, which can be mapped."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graph_agent.errors import ConfigurationError
from graph_agent.evals.adapters.layout import corpus_of
from graph_agent.evals.adapters.registry import adapter, allowed
from graph_agent.evals.questions import QuestionSet, questions_from

FIELDS = (
    "id",
    "question",
    "answer",
    "doc",
    "section",
    "page",
    "text",
    "type",
    "tags",
    "tolerance",
    "unit",
    "language",
)
EVIDENCE = ("doc", "section", "page", "text")


@adapter(
    "csv",
    "CSV or TSV; options map columns (question=Frage), `unanswerable` is the cell that says so",
    detect=lambda path: path.is_file() and path.suffix.lower() in {".csv", ".tsv"},
)
def csv_table(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """One question a row; further rows of the same id add evidence. A cell may hold a JSON list or number."""
    allowed(options, *FIELDS, "unanswerable", "delimiter")
    rows = _questions(path, options)
    return QuestionSet(path.stem, questions_from(rows, path), corpus=corpus_of(path), source=path)


def _questions(path: Path, options: Mapping[str, str]) -> list[tuple[int, dict[str, Any]]]:
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, cells in _cells(path, options):
        name = cells.get("id") or str(number)
        if name in found and cells.get("question") in {"", None, found[name][1]["question"]}:
            found[name][1]["evidence"] += _evidence(cells)
            continue
        row: dict[str, Any] = {
            "id": name,
            "question": cells.get("question", ""),
            "evidence": _evidence(cells),
        }
        row |= _answer(cells.get("answer", ""), options.get("unanswerable"))
        row |= {key: cells[key] for key in ("type", "unit", "language") if cells.get(key)}
        row |= {"tags": [tag.strip() for tag in cells["tags"].split(",")]} if cells.get("tags") else {}
        row |= {"tolerance": cells["tolerance"]} if cells.get("tolerance") else {}
        # A second question of the same id is kept apart, so that it is reported as a duplicate.
        found[name if name not in found else f"{name}\0{number}"] = (number, row)
    return list(found.values())


def _cells(path: Path, options: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    columns = {field: options.get(field, field) for field in FIELDS}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = options.get("delimiter") or (
                "\t" if path.suffix.lower() == ".tsv" else _delimiter(file.readline())
            )
            file.seek(0)
            reader = csv.DictReader(file, delimiter=delimiter)
            names = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = names
            wanted = [columns[field] for field in FIELDS if field in options or field == "question"]
            if missing := [name for name in wanted if name not in names]:
                raise ConfigurationError(
                    f"{path} has no column {missing[0]!r}.",
                    f"It has {', '.join(names)}; map them with --option question=COLUMN.",
                )
            for row in reader:
                yield (
                    reader.line_num,
                    {
                        field: (row.get(name) or "").strip()
                        for field, name in columns.items()
                        if name in names
                    },
                )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", "Save it as CSV in UTF-8.") from None


def _delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)


def _evidence(cells: Mapping[str, str]) -> list[dict[str, Any]]:
    place = {key: cells[key] for key in EVIDENCE if cells.get(key)}
    return [place] if place else []


def _answer(cell: str, unanswerable: str | None) -> dict[str, Any]:
    if unanswerable is not None and cell == unanswerable:
        return {"answer": None}
    if not cell:
        return {}
    try:
        value = json.loads(cell)
    except json.JSONDecodeError:
        return {"answer": cell}
    return {"answer": value if isinstance(value, list | int | float) and value is not None else cell}
