"""Which questions of a run failed, and what is to be shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph_agent.evals.questions import Question
from graph_agent.evals.runner import Run
from graph_agent.evals.runs import Judgement, Record
from graph_agent.evals.summary import scores_of

GOLD_ROWS = 20  # of a query's gold rows that are shown
MAIN = {
    "retrieval": ("section.recall@10", "document.recall@10", "page.recall@10"),
    "answer": ("judge.correct", "answer.correct", "citation.recall"),
    "cypher": ("cypher.execution",),
}


@dataclass(frozen=True)
class Case:
    """One question of a run with what came of it.

    Attributes:
        score: of the run's main metric; None on an error, or where the question has no such score.
    """

    question: Question
    record: Record
    judgement: Judgement | None
    score: float | None

    @property
    def gold(self) -> str:
        """The gold answer in words."""
        question = self.question
        if question.rows is not None:
            rows = [shown(row) for row in question.rows[:GOLD_ROWS]]
            more = [f"({len(question.rows) - GOLD_ROWS} more rows)"] if len(question.rows) > GOLD_ROWS else []
            return "\n".join([*([question.gold_cypher] if question.gold_cypher else []), *rows, *more])
        if question.answerable is False:
            return "not in the documents"
        return shown(question.answer)

    @property
    def answer(self) -> str:
        """The answer in words; of a search, its first results."""
        if self.record.error is not None:
            return f"{self.record.error.kind}: {self.record.error.message}"
        if self.record.response is not None:
            return str(self.record.response.get("answer", ""))
        places = [f"{one.path} › {one.title}" if one.title else one.path for one in self.record.retrieved[:5]]
        return "\n".join(f"{rank}. {place}" for rank, place in enumerate(places, start=1)) or "nothing found"


def main_metric(run: Run) -> str:
    """The metric by which the questions of a run are called right or wrong."""
    have = set(run.summary.metrics)
    return next((name for name in MAIN[run.info.mode] if name in have), MAIN[run.info.mode][-1])


def cases(run: Run) -> list[Case]:
    """All questions of a run that were asked."""
    questions = {question.id: question for question in run.questions}
    judged = {(one.question, one.repeat): one for one in run.judgements}
    scored = scores_of(run.records, run.judgements)
    metric = main_metric(run)
    return [
        Case(
            questions[record.question],
            record,
            judged.get(record.name),
            _score(run, scored.get(record.name, {}), metric),
        )
        for record in run.records
        if record.question in questions
    ]


def failures(run: Run) -> list[Case]:
    """Errors first, then what scored below 1, worst first."""
    failed = [
        case for case in cases(run) if case.record.error or (case.score is not None and case.score < 1.0)
    ]
    return sorted(failed, key=lambda case: (case.record.error is None, case.score or 0.0))


def shown(value: Any) -> str:
    """A gold answer on one line."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return "; ".join(shown(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
    return str(value)


def _score(run: Run, scores: Mapping[str, float], metric: str) -> float | None:
    value = scores.get(metric)
    if value is None and run.info.mode == "answer":
        return scores.get("answer.correct")
    return value
