"""Public benchmarks in the layout in which they are published: FinanceBench, MMLongBench-Doc, SQuAD, BEIR.

Fetch them yourself; nothing is downloaded here.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import xxhash

from graph_agent.errors import ConfigurationError
from graph_agent.evals.adapters.layout import corpus_of, first_row, read_json, rows_of
from graph_agent.evals.adapters.registry import adapter, allowed
from graph_agent.evals.questions import QuestionSet, questions_from, read_json_lines
from graph_agent.text import numbers

SPAN_MARGIN = 80  # characters on each side of a SQuAD answer that its evidence quotes
FLOAT_TOLERANCE = 0.01  # share of a figure by which a rounded one may be off


# FinanceBench (Islam et al. 2023): github.com/patronus-ai/financebench


def _finance_file(path: Path) -> Path | None:
    if path.is_file():
        return path if "financebench_id" in first_row(path) else None
    for name in (
        "data/financebench_open_source.jsonl",
        "financebench_open_source.jsonl",
        "financebench_merged.jsonl",
    ):
        if (path / name).is_file():
            return path / name
    return None


@adapter(
    "financebench",
    "FinanceBench: financebench_open_source.jsonl with the PDFs in pdfs/",
    detect=lambda path: _finance_file(path) is not None,
)
def financebench(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Questions on annual reports; evidence pages, which count from 0 there, count from 1 here."""
    allowed(options)
    file = _finance_file(path) or path

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in rows_of(file):
            evidence = []
            for each in row.get("evidence") or []:
                page = each.get("evidence_page_num")
                evidence.append(
                    {
                        "doc": each.get("doc_name") or each.get("evidence_doc_name") or row.get("doc_name"),
                        "page": None if page is None else int(page) + 1,
                        "text": each.get("evidence_text") or None,
                    }
                )
            yield (
                number,
                {
                    "id": row.get("financebench_id"),
                    "question": row.get("question"),
                    **figure_or_text(str(row.get("answer", ""))),
                    "evidence": evidence,
                    "type": row.get("question_type") or "",
                    "tags": [tag for tag in (row.get("question_reasoning"), row.get("company")) if tag],
                },
            )

    return QuestionSet(
        "financebench", questions_from(rows(), file), corpus=corpus_of(file, "pdfs"), source=path
    )


def figure_or_text(answer: str) -> dict[str, Any]:
    """An answer that is nothing but a figure as number, unit and tolerance; any other one as text."""
    found = numbers(answer)
    rest = answer.replace(found[0].text, "", 1).strip(" .$€£") if len(found) == 1 else answer
    if len(found) != 1 or rest:
        return {"answer": answer}
    one = found[0]
    value = round(one.value * 100, 10) if one.percent else one.value
    unit = "percent" if one.percent else None
    return {"answer": value, "tolerance": abs(value) * FLOAT_TOLERANCE, "unit": unit}


# MMLongBench-Doc (Ma et al. 2024): github.com/mayubo2333/MMLongBench-Doc


def _long_file(path: Path) -> Path | None:
    if path.is_file():
        return path if path.name == "samples.json" or path.suffix == ".parquet" else None
    for name in ("data/samples.json", "samples.json"):
        if (path / name).is_file():
            return path / name
    found = sorted(path.glob("**/*.parquet")) if path.is_dir() else []
    return found[0] if len(found) == 1 else None


@adapter(
    "mmlongbench",
    "MMLongBench-Doc: samples.json or its Parquet file, the PDFs in documents/",
    detect=lambda path: _long_file(path) is not None,
)
def mmlongbench(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Questions on one long document each, with evidence pages from 1; a quarter cannot be answered."""
    allowed(options)
    file = _long_file(path) or path

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in rows_of(file):
            if "doc_id" not in row:
                raise ConfigurationError(
                    f"{file}, row {number}: there is no doc_id.", "Is it MMLongBench-Doc?"
                )
            doc = str(row["doc_id"])
            yield (
                number,
                {
                    "id": f"{doc}#{number}",
                    "question": row.get("question"),
                    **_formatted(str(row.get("answer", "")), str(row.get("answer_format", "Str"))),
                    "evidence": [{"doc": doc, "page": page} for page in _literal(row.get("evidence_pages"))],
                    "type": row.get("answer_format") or "",
                    "tags": [row["doc_type"], *_literal(row.get("evidence_sources"))],
                    "document": doc,
                },
            )

    return QuestionSet(
        "mmlongbench", questions_from(rows(), file), corpus=corpus_of(file, "documents"), source=path
    )


def _formatted(answer: str, form: str) -> dict[str, Any]:
    if answer.strip().lower() == "not answerable":
        return {"answer": None}
    if form in {"Int", "Float"}:
        return figure_or_text(answer)
    if form == "List":
        return {"answer": [str(item) for item in _literal(answer)] or answer}
    return {"answer": answer}


def _literal(value: Any) -> list[Any]:
    """A list that may be written as text, as in `"[3, 5]"`."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return []
    return list(value) if isinstance(value, list | tuple) else []


# SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018)


def _is_squad(path: Path) -> bool:
    if not (path.is_file() and path.suffix == ".json"):
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = file.read(4_000)
    return '"paragraphs"' in head and '"data"' in head


@adapter("squad", "SQuAD 1.1 or 2.0: one JSON file; every article becomes a document", detect=_is_squad)
def squad(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Spans in paragraphs, which become the sections of one Markdown document per article."""
    allowed(options)
    articles = read_json(path).get("data") or []

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        number = 0
        for article in articles:
            for at, paragraph in enumerate(article["paragraphs"], start=1):
                for asked in paragraph["qas"]:
                    number += 1
                    yield (
                        number,
                        _squad_row(file_name(article["title"], ".md"), at, paragraph["context"], asked),
                    )

    def documents() -> Iterable[tuple[str, str]]:
        for article in articles:
            sections = [
                f"## Passage {at}\n\n{' '.join(paragraph['context'].split())}\n"
                for at, paragraph in enumerate(article["paragraphs"], start=1)
            ]
            title = str(article["title"]).replace("_", " ")
            yield file_name(article["title"], ".md"), "\n".join([f"# {title}\n", *sections])

    return QuestionSet(path.stem, questions_from(rows(), path), documents=documents, source=path)


def _squad_row(doc: str, at: int, context: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    answers = list(dict.fromkeys(answer["text"] for answer in asked.get("answers") or []))
    row = {"id": str(asked["id"]), "question": asked["question"], "type": "span"}
    if asked.get("is_impossible") or not answers:
        return {**row, "answer": None, "type": "unanswerable"}
    start = int(asked["answers"][0]["answer_start"])
    low, high = max(0, start - SPAN_MARGIN), start + len(answers[0]) + SPAN_MARGIN
    low = context.rfind(" ", 0, low) + 1
    high = context.find(" ", high) if context.find(" ", high) > 0 else len(context)
    quote = " ".join(context[low:high].split())
    evidence = {"doc": doc, "section": f"Passage {at}", "text": quote}
    return {**row, "answer": answers[0], "alternatives": answers[1:], "evidence": [evidence]}


# BEIR (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/<split>.tsv


def _is_beir(path: Path) -> bool:
    return (
        all((path / name).is_file() for name in ("corpus.jsonl", "queries.jsonl"))
        and (path / "qrels").is_dir()
    )


@adapter(
    "beir",
    "BEIR: corpus.jsonl, queries.jsonl, qrels/; options: split (test), documents (how many unjudged ones)",
    detect=_is_beir,
)
def beir(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Retrieval judgements; every entry of the corpus becomes a text file named by its id."""
    allowed(options, "split", "documents")
    judged = _judgements(path, options.get("split", "test"))
    unjudged = int(options["documents"]) if "documents" in options else None
    known = {corpus_id for grades in judged.values() for corpus_id in grades}

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in read_json_lines(path / "queries.jsonl"):
            grades = {doc: grade for doc, grade in judged.get(str(row.get("_id")), {}).items() if grade > 0}
            if grades:
                evidence = [{"doc": file_name(doc, ".txt"), "gain": grade} for doc, grade in grades.items()]
                yield number, {"id": str(row["_id"]), "question": row.get("text"), "evidence": evidence}

    def documents() -> Iterable[tuple[str, str]]:
        left = unjudged
        for _, row in read_json_lines(path / "corpus.jsonl"):
            name = str(row.get("_id"))
            if left is not None and name not in known:
                if left <= 0:
                    continue
                left -= 1
            parts = (str(row.get("title") or ""), str(row.get("text") or ""))
            yield file_name(name, ".txt"), "\n\n".join(part for part in parts if part.strip()) + "\n"

    return QuestionSet(
        path.name, questions_from(rows(), path / "queries.jsonl"), documents=documents, source=path
    )


def _judgements(path: Path, split: str) -> dict[str, dict[str, float]]:
    file = path / "qrels" / f"{split}.tsv"
    if not file.is_file():
        splits = sorted(child.stem for child in (path / "qrels").glob("*.tsv"))
        raise ConfigurationError(f"{path} has no split {split!r}.", f"It has {', '.join(splits)}.")
    judged: dict[str, dict[str, float]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        fields = line.split("\t")
        if not line.strip() or (number == 1 and fields[-1].strip() == "score"):
            continue
        try:
            query, document, grade = fields
            judged.setdefault(query, {})[document] = float(grade)
        except ValueError:
            raise ConfigurationError(
                f"{file}, line {number}: {line[:60]!r} is no judgement.",
                "Wanted: query, document and grade, parted by tabs.",
            ) from None
    return judged


def file_name(identifier: str, ending: str) -> str:
    """A file name for an identifier: itself where it can be one, else made safe with a hash."""
    text = str(identifier)
    safe = re.sub(r"[^\w.-]+", "_", text)[:80].strip(".")
    if safe and safe == text:
        return text + ending
    return f"{safe or 'document'}-{xxhash.xxh3_64_hexdigest(json.dumps(text).encode())[:8]}{ending}"
