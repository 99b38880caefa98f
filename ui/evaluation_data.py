"""Evaluation runs as the page shows them: a list, one run question by question, two runs compared."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph_agent.errors import GraphAgentError
from graph_agent.ui.wording import shortened

if TYPE_CHECKING:
    from graph_agent.evals.metrics.statistics import Estimate
    from graph_agent.evals.questions import Question
    from graph_agent.evals.runs import Record, RunInfo
    from graph_agent.settings import Settings

log = logging.getLogger(__name__)

SHOWN_QUESTIONS = 300
RIGHT = 0.5


@dataclass(frozen=True)
class Row:
    """One question of a run.

    Attributes:
        gold, answer: as text; evidence, found: places that bear the answer, and those cited or retrieved.
        scores: of the headline metrics, by name.
        right: None when nothing says so.
    """

    id: str
    question: str
    kind: str
    gold: str
    answer: str
    evidence: list[str]
    found: list[tuple[str, str]]
    scores: dict[str, float]
    seconds: float
    right: bool | None
    error: str = ""


@dataclass(frozen=True)
class RunView:
    """One run."""

    info: RunInfo
    headline: dict[str, Estimate]
    more: dict[str, Estimate]
    rows: list[Row]
    hidden: int = 0


@dataclass(frozen=True)
class Change:
    """A metric in two runs, over the questions that both have.

    Attributes:
        sure: the 95 % interval of the difference does not hold zero.
        better: the second run's value is the better one; None when they are equal.
    """

    name: str
    before: float
    after: float
    difference: Estimate
    sure: bool
    better: bool | None


@dataclass(frozen=True)
class Comparison:
    """Two runs: metrics, and the questions whose first headline metric changed."""

    before: RunInfo
    after: RunInfo
    changes: list[Change]
    moved: list[tuple[str, str, float, float]] = field(default_factory=list)
    metric: str = ""
    problem: str = ""


def list_runs(settings: Settings) -> list[RunInfo]:
    """All runs of the data folder, the newest first; unreadable ones are left out."""
    from graph_agent.evals.runs import RunFolder, runs_folder

    found: list[RunInfo] = []
    for manifest in runs_folder(settings).glob("*/manifest.json"):
        try:
            found.append(RunFolder(manifest.parent).read_info())
        except GraphAgentError as error:
            log.info("a run is left out: %s", error)
    return sorted(found, key=lambda info: (info.started, info.id), reverse=True)


def run_view(settings: Settings, name: str, *, only_wrong: bool = False) -> RunView:
    """One run.

    Raises:
        NotFound: there is none of this id.
    """
    from graph_agent.evals.runs import find_run
    from graph_agent.evals.summary import summarise

    folder = find_run(settings, _plain(name))
    info = folder.read_info()
    questions = {question.id: question for question in folder.read_questions()}
    records = folder.read_records()
    summary = summarise(info.mode, questions.values(), records, folder.read_judgements())
    headline = {metric: summary.metrics[metric] for metric in summary.headline}
    more = {**{metric: value for metric, value in summary.metrics.items() if metric not in headline},
            **summary.percentiles}  # fmt: skip
    rows = [_row(record, questions.get(record.question), list(headline)) for record in records]
    if only_wrong:
        rows = [row for row in rows if row.right is False or row.error]
    return RunView(info, headline, more, rows[:SHOWN_QUESTIONS], max(0, len(rows) - SHOWN_QUESTIONS))


def comparison(settings: Settings, before: str, after: str) -> Comparison:
    """Two runs against each other, question by question.

    Raises:
        NotFound: one of them is not there.
    """
    from graph_agent.evals.metrics.statistics import paired
    from graph_agent.evals.runs import find_run
    from graph_agent.evals.summary import headline_of, lower_is_better, per_question, scores_of

    first, second = find_run(settings, _plain(before)), find_run(settings, _plain(after))
    infos = first.read_info(), second.read_info()
    records = first.read_records(), second.read_records()
    judged = first.read_judgements(), second.read_judgements()
    names = [
        {metric for scores in scores_of(one, verdicts).values() for metric in scores}
        for one, verdicts in zip(records, judged, strict=True)
    ]
    shared = names[0] & names[1]
    order = [*headline_of(infos[1].mode, dict.fromkeys(shared)), *sorted(shared)]
    changes: list[Change] = []
    moved: list[tuple[str, str, float, float]] = []
    for metric in dict.fromkeys(order):
        values = [per_question(one, metric, verdicts) for one, verdicts in zip(records, judged, strict=True)]
        both = sorted(values[0].keys() & values[1].keys())
        if not both:
            continue
        old, new = (sum(one[name] for name in both) / len(both) for one in values)
        difference = paired(*({name: one[name] for name in both} for one in values))
        lower = lower_is_better(metric)
        better = None if math.isclose(old, new) else (new < old) == lower
        changes.append(
            Change(metric, old, new, difference, not difference.low <= 0.0 <= difference.high, better)
        )
        if not moved and metric == order[0]:
            texts = {question.id: question.question for question in second.read_questions()}
            moved = [
                (name, texts.get(name, name), values[0][name], values[1][name])
                for name in both
                if not math.isclose(values[0][name], values[1][name])
            ]
    problem = "" if changes else "These runs have no question and metric in common."
    moved.sort(key=lambda one: one[3] - one[2])
    return Comparison(
        infos[0], infos[1], changes, moved[:SHOWN_QUESTIONS], order[0] if order else "", problem
    )


def _plain(name: str) -> str:
    """A run's id: a page never names a path."""
    return name.replace("/", "").replace("\\", "").lstrip(".") or "-"


def _row(record: Record, question: Question | None, metrics: list[str]) -> Row:
    response = record.response or {}
    places = [
        (str(one.get("section_id") or ""), f"{one.get('path') or ''}{_page(one.get('page'))}")
        for one in response.get("citations") or []
    ] or [(one.section, f"{one.path}{_page(one.page)}") for one in record.retrieved[:10]]
    evidence = []
    if question is not None:
        for one in question.evidence:
            section = f" › {' | '.join(one.sections)}" if one.sections else ""
            evidence.append(f"{one.doc}{section}{_page(one.page)}")
    scores = {name: record.scores[name] for name in metrics if name in record.scores}
    first = next(iter(scores.values()), None)
    return Row(
        id=record.question if not record.repeat else f"{record.question} ({record.repeat + 1})",
        question=question.question if question else record.question,
        kind=question.type if question else "",
        gold=_gold(question),
        answer=str(response.get("answer") or ""),
        evidence=evidence,
        found=places,
        scores=scores,
        seconds=record.seconds,
        right=None if first is None or record.status != "ok" else first >= RIGHT,
        error=f"{record.error.kind}: {record.error.message}" if record.error else "",
    )


def _page(page: Any) -> str:
    return f", p. {page}" if page else ""


def _gold(question: Question | None) -> str:
    if question is None or question.answerable is None:
        return ""
    if question.answer is None:
        return "not in the documents" if not question.rows else json.dumps(question.rows, ensure_ascii=False)
    value = question.answer
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(f"{text} {question.unit or ''}", 400)
