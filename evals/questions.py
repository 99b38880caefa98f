"""Questions with their gold: the form, reading it from JSONL with errors that name the line, and sets of them."""

from __future__ import annotations

import difflib
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from graph_agent.errors import ConfigurationError

Kind = Literal["open", "unanswerable", "number", "list", "option", "fields", "rows", "text"]
SHOWN_ERRORS = 5


class Evidence(BaseModel):
    """A place that bears the answer.

    Attributes:
        doc: path of the document below the corpus, or its name, with or without ending.
        section: title of the heading; several when any one of them will do.
        page: page of the document, from 1.
        text: words that stand there.
        gain: how relevant it is, for graded judgements; 1 otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    doc: str = Field(min_length=1)
    section: str | tuple[str, ...] | None = None
    page: int | None = Field(None, ge=1)
    text: str | None = None
    gain: float = Field(1.0, gt=0)

    @property
    def sections(self) -> tuple[str, ...]:
        """The titles, any of which will do."""
        if self.section is None:
            return ()
        return (self.section,) if isinstance(self.section, str) else self.section


class Question(BaseModel):
    """A question and what is known about its answer.

    Attributes:
        id: unique in its set.
        question: as it is asked.
        answer: text, number, list, or object of named parts; null when the documents do not hold it. A line
            without the field has no gold answer (sets that only judge retrieval), which `answerable` tells.
        evidence: places that bear the answer; all are needed.
        type, tags: for tables by kind.
        options: choices of a multiple-choice question; the answer is one of them, or a list of some.
        tolerance: how far a number may be off, in its unit.
        unit: of a number ("percent", "million euro").
        ordered: the order of a list, or of rows, counts.
        graph: name of the graph that is asked, in sets over several.
        gold_cypher: a query whose rows are the answer.
        rows: the rows that a right query returns.
        language: ISO 639-1 code of the question.
        document: the one document that the question is asked of, in sets whose questions do not name it.
        alternatives: other wordings of the answer that are as right.
        answerable: whether there is an answer; None when the set does not say.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: bool | int | float | str | tuple[Any, ...] | dict[str, Any] | None = None
    evidence: tuple[Evidence, ...] = ()
    type: str = ""
    tags: tuple[str, ...] = ()
    options: tuple[str, ...] | None = None
    tolerance: float | None = Field(None, ge=0)
    unit: str | None = None
    ordered: bool = False
    graph: str | None = None
    gold_cypher: str | None = None
    rows: tuple[tuple[Any, ...], ...] | None = None
    language: str | None = None
    document: str | None = None
    alternatives: tuple[str, ...] = ()
    answerable: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _tell_null_from_absent(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "answerable" not in data:
            known = "answer" in data or data.get("rows") is not None
            answered = data.get("answer") is not None or data.get("rows") is not None
            return {**data, "answerable": answered if known else None}
        return data

    @field_validator("question")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Question:
        if self.options is not None:
            chosen = self.answer if isinstance(self.answer, tuple) else (self.answer,)
            known = {option.strip() for option in self.options}
            missing = [item for item in chosen if item is not None and str(item).strip() not in known]
            if missing:
                raise ValueError(f"the answer {missing[0]!r} is none of the options")
        if self.tolerance is not None and not _is_number(self.answer):
            raise ValueError("tolerance stands beside an answer that is no number")
        return self

    @property
    def kind(self) -> Kind:
        """By what rule an answer is scored."""
        if self.rows is not None:
            return "rows"
        if self.answerable is None:
            return "open"
        if self.answer is None:
            return "unanswerable"
        if self.options:
            return "option"
        if _is_number(self.answer):
            return "number"
        if isinstance(self.answer, tuple):
            return "list"
        return "fields" if isinstance(self.answer, dict) else "text"

    def as_json(self) -> dict[str, Any]:
        """JSON types, from which the same question can be read; what is unset is left out."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        if self.answerable is False and self.rows is None:
            data["answer"] = None
        return data


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class QuestionSet:
    """Questions, and the documents or graphs that they are asked of.

    Attributes:
        name: shown in tables and part of run ids.
        questions: ids are unique.
        corpus: folder of documents to ingest, None when the questions are asked of a graph that is there.
        documents: documents as (path, text), for sets that bring them inside their own files.
        graphs: folders with nodes.jsonl and edges.jsonl, by graph name (`Question.graph`).
        source: where the set was read from.
    """

    name: str
    questions: tuple[Question, ...]
    corpus: Path | None = None
    documents: Callable[[], Iterable[tuple[str, str]]] | None = None
    graphs: Mapping[str, Path] = field(default_factory=dict)
    source: Path | None = None

    @property
    def digest(self) -> str:
        """Tells this choice of questions from any other; 16 hex digits."""
        return digest_of([question.as_json() for question in self.questions])

    def chosen(
        self,
        *,
        limit: int | None = None,
        sample: int | None = None,
        types: Sequence[str] = (),
        ids: Sequence[str] = (),
    ) -> QuestionSet:
        """Some of the questions.

        Args:
            limit: at most so many: the first ones, or with `sample` drawn at random.
            sample: seed of the draw; the drawn questions keep their order.
            types: only of these types (or with one of these tags).
            ids: only these.

        Raises:
            ConfigurationError: nothing is left, or an id is unknown.
        """
        questions = self.questions
        if ids:
            unknown = set(ids) - {question.id for question in questions}
            if unknown:
                raise ConfigurationError(
                    f"{self.name} has no question {min(unknown)!r}.", "Ids stand in its questions file."
                )
            questions = tuple(question for question in questions if question.id in set(ids))
        if types:
            wanted = set(types)
            questions = tuple(q for q in questions if q.type in wanted or wanted & set(q.tags))
            if not questions:
                known = sorted({q.type for q in self.questions} - {""})
                raise ConfigurationError(
                    f"{self.name} has no questions of type {', '.join(types)}.",
                    f"Its types are {', '.join(known) or 'not given'}.",
                )
        if sample is not None:
            drawn = list(range(len(questions)))
            random.Random(sample).shuffle(drawn)  # noqa: S311 - a fixed sample
            kept = sorted(drawn[: limit if limit is not None else len(drawn)])
            questions = tuple(questions[at] for at in kept)
        elif limit is not None:
            questions = questions[:limit]
        return replace(self, questions=tuple(questions))


def digest_of(value: Any) -> str:
    """16 hex digits that stand for a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers from 1 and the objects of a JSONL file; blank lines are passed over.

    Raises:
        ConfigurationError: the file cannot be read, or a line is not a JSON object; names the line.
    """
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigurationError(
                f"{path}, line {number}: not JSON ({error.msg} at column {error.colno}).",
                "Each line is one JSON object.",
            ) from None
        if not isinstance(row, dict):
            raise ConfigurationError(
                f"{path}, line {number}: a JSON {type(row).__name__}, not an object.",
                "Each line is one JSON object.",
            )
        yield number, row


def questions_from(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> tuple[Question, ...]:
    """Checked questions from rows with their line numbers.

    Raises:
        ConfigurationError: lines that are not questions, or ids that come twice; names lines, fields and fixes.
    """
    found: dict[str, tuple[int, Question]] = {}
    faults: list[str] = []
    for number, row in rows:
        try:
            question = Question.model_validate(row)
        except ValidationError as error:
            faults += [f"line {number}: {_fault(one)}" for one in error.errors()[:2]]
            continue
        if question.id in found:
            faults.append(
                f"line {number}: the id {question.id!r} stands in line {found[question.id][0]}, too"
            )
        else:
            found[question.id] = (number, question)
    if faults:
        more = f"; and {len(faults) - SHOWN_ERRORS} more" if len(faults) > SHOWN_ERRORS else ""
        raise ConfigurationError(
            f"{path}: {'; '.join(faults[:SHOWN_ERRORS])}{more}.",
            "Mend these lines; the form is described in evals/README.md.",
        )
    if not found:
        raise ConfigurationError(f"{path} holds no questions.", "Give it one JSON object a line.")
    return tuple(question for _, question in found.values())


def load_questions(path: Path) -> tuple[Question, ...]:
    """Questions of a JSONL file in our own form.

    Raises:
        ConfigurationError: as for `questions_from`.
    """
    return questions_from(read_json_lines(path), path)


def _fault(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"] if not _is_branch(part))
    if error["type"] == "extra_forbidden":
        name = str(error["loc"][-1])
        known = Evidence.model_fields if "evidence" in error["loc"][:-1] else Question.model_fields
        near = difflib.get_close_matches(name, known, 1)
        return f"unknown field {where!r}" + (f", did you mean {near[0]!r}?" if near else "")
    return f"{where or 'the question'}: {error['msg'].removeprefix('Value error, ')}"


def _is_branch(part: Any) -> bool:
    """Whether a part of a pydantic location names a member of a union instead of a field."""
    return isinstance(part, str) and (
        "[" in part or part in {"bool", "int", "float", "str", "constrained-str"}
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error}.", "Check the path; files are UTF-8."
        ) from None
