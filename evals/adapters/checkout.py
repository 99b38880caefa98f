"""The sets that lie beside a development checkout: proposals, the Rust book's quizzes, XQuAD, text to Cypher."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graph_agent.errors import ConfigurationError
from graph_agent.evals.adapters.layout import corpus_of, first_row, questions_file, set_name
from graph_agent.evals.adapters.registry import adapter, allowed
from graph_agent.evals.questions import QuestionSet, questions_from, read_json_lines

IN_ORDER = ("toc-",)


def _first(path: Path) -> dict[str, Any]:
    return first_row(questions_file(path))


def _first_evidence(path: Path) -> dict[str, Any]:
    evidence = _first(path).get("evidence")
    return evidence[0] if isinstance(evidence, list) and evidence and isinstance(evidence[0], dict) else {}


def _is_proposals(path: Path) -> bool:
    questions = questions_file(path)
    corpus = corpus_of(questions) if questions else None
    return corpus is not None and (corpus / "EIPS").is_dir()


@adapter(
    "eips", "Ethereum proposals with questions on their structure and front matter", detect=_is_proposals
)
def eips(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Structure, counts, front matter and known items; lists of outlines are ordered."""
    allowed(options)
    questions = questions_file(path) or path

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in read_json_lines(questions):
            answer = row.get("answer")
            yield (
                number,
                {
                    "id": row.get("id"),
                    "question": row.get("question"),
                    "answer": [str(item) for item in answer] if isinstance(answer, list) else answer,
                    "evidence": [
                        {**each, "section": plain_title(each["section"])} if each.get("section") else each
                        for each in row.get("evidence") or []
                    ],
                    "type": row.get("type", ""),
                    "tags": [row["needs"]] if row.get("needs") else [],
                    "ordered": str(row.get("type", "")).startswith(IN_ORDER),
                },
            )

    return _made(questions, rows(), path)


def _is_quiz(path: Path) -> bool:
    return "sections_since_last_quiz" in _first_evidence(path)


@adapter("rust_book_quiz", "The Rust book with the quiz questions of its readers", detect=_is_quiz)
def rust_book_quiz(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Multiple choice and short answers; any of the sections since the last quiz may bear the answer."""
    allowed(options)
    questions = questions_file(path) or path

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in read_json_lines(questions):
            evidence = []
            for each in row.get("evidence") or []:
                titles = each.get("sections_since_last_quiz") or [each.get("section")]
                evidence.append(
                    {"doc": each.get("doc"), "section": [plain_title(title) for title in titles if title]}
                )
            yield (
                number,
                {
                    "id": row.get("id"),
                    "question": row.get("question"),
                    "answer": row.get("answer"),
                    "options": row.get("options"),
                    "evidence": evidence,
                    "type": row.get("type", ""),
                    "tags": ["code"] if row.get("has_code") else [],
                },
            )

    return _made(questions, rows(), path)


def _is_xquad(path: Path) -> bool:
    return {"split_key", "lang"} <= set(_first(path))


@adapter(
    "xquad_md",
    "Wikipedia passages in several languages; variants: de (one language), de-en (asked-answered)",
    detect=_is_xquad,
)
def xquad_md(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Spans. Without a variant all languages are asked over all; `de` asks and answers in German; `de-en` asks in
    German over the English documents, which have no gold answers then, only gold passages.
    """
    allowed(options, "variant")
    questions = questions_file(path) or path
    asked, _, answered = options.get("variant", "").partition("-")
    answered = answered or asked

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in read_json_lines(questions):
            if asked and row.get("lang") != asked:
                continue
            evidence = []
            for each in row.get("evidence") or []:
                doc = str(each.get("doc", ""))
                gold = {"doc": doc.split("/", 1)[-1] if answered else doc, "section": each.get("section")}
                evidence.append(gold if asked != answered else {**gold, "text": each.get("text")})
            made = {
                "id": row.get("id"),
                "question": row.get("question"),
                "evidence": evidence,
                "type": row.get("type", ""),
                "tags": [row["lang"]],
                "language": row["lang"],
            }
            yield number, made if asked != answered else {**made, "answer": row.get("answer")}

    made = _made(questions, rows(), path)
    if not answered or made.corpus is None:
        return made
    corpus = made.corpus / answered
    if not corpus.is_dir():
        languages = sorted(child.name for child in made.corpus.iterdir() if child.is_dir())
        raise ConfigurationError(
            f"{set_name(questions)} has no documents in {answered!r}.", f"It has {', '.join(languages)}."
        )
    return QuestionSet(f"{made.name}:{options['variant']}", made.questions, corpus=corpus, source=path)


def _is_cypher(path: Path) -> bool:
    return {"gold_cypher", "database"} <= set(_first(path))


@adapter(
    "text2cypher",
    "Questions on small graphs with gold Cypher and its rows; asked with --mode cypher",
    detect=_is_cypher,
)
def text2cypher(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """Questions on graphs given as nodes.jsonl and edges.jsonl, with the rows that a right query returns."""
    allowed(options)
    questions = questions_file(path) or path
    corpus = corpus_of(questions)

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in read_json_lines(questions):
            yield (
                number,
                {
                    "id": row.get("id"),
                    "question": row.get("question"),
                    "rows": row.get("answer"),
                    "ordered": bool(row.get("ordered")),
                    "type": row.get("type", ""),
                    "tags": [row["database"], "scalar" if row.get("scalar_rows") else "nodes"],
                    "graph": row["database"],
                    "gold_cypher": row.get("gold_cypher"),
                },
            )

    made = questions_from(rows(), questions)
    names = sorted({question.graph for question in made if question.graph})
    graphs = {name: corpus / name for name in names} if corpus else {}
    return QuestionSet(set_name(questions), made, graphs=graphs, source=path)


def plain_title(title: str) -> str:
    """A heading without its Markdown, as the titles of sections are."""
    return re.sub(r"[`*_]+", "", title).strip()


def _made(questions: Path, rows: Iterator[tuple[int, dict[str, Any]]], source: Path) -> QuestionSet:
    made = questions_from(rows, questions)
    return QuestionSet(set_name(questions), made, corpus=corpus_of(questions), source=source)
