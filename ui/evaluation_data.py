"""Evaluation runs as the page shows them: one run question by question, two runs compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph_agent.evals.comparison import Comparison, compare_runs
from graph_agent.evals.inspection import Case, cases, failures, main_metric
from graph_agent.evals.runner import load_run
from graph_agent.evals.summary import RIGHT

if TYPE_CHECKING:
    from graph_agent.evals.metrics.statistics import Estimate
    from graph_agent.evals.runs import RunInfo
    from graph_agent.settings import Settings

SHOWN_QUESTIONS = 300


@dataclass(frozen=True)
class Row:
    """One question of a run.

    Attributes:
        evidence: places that bear the answer, in words.
        found: what was cited or retrieved: (section id, place in words).
        right: None when nothing says so.
    """

    case: Case
    evidence: list[str]
    found: list[tuple[str, str]]
    right: bool | None


@dataclass(frozen=True)
class RunView:
    """One run.

    Attributes:
        metric: by which questions are right or wrong.
        hidden: how many questions are not shown for their number.
    """

    info: RunInfo
    metric: str
    headline: dict[str, Estimate]
    more: dict[str, Estimate]
    rows: list[Row]
    hidden: int


@dataclass(frozen=True)
class ComparedView:
    """Two runs and what differs between them."""

    before: RunInfo
    after: RunInfo
    found: Comparison


def run_view(settings: Settings, name: str, *, only_wrong: bool = False) -> RunView:
    """One run.

    Raises:
        NotFound: there is none of this id.
    """
    run = load_run(settings, _plain(name))
    summary = run.summary
    headline = {metric: summary.metrics[metric] for metric in summary.headline}
    rest = {metric: value for metric, value in summary.metrics.items() if metric not in headline}
    chosen = failures(run) if only_wrong else cases(run)
    rows = [_row(case) for case in chosen[:SHOWN_QUESTIONS]]
    hidden = max(0, len(chosen) - SHOWN_QUESTIONS)
    return RunView(run.info, main_metric(run), headline, {**rest, **summary.percentiles}, rows, hidden)


def compared(settings: Settings, before: str, after: str) -> ComparedView:
    """Two runs against each other, question by question.

    Raises:
        NotFound: one of them is not there.
        ConfigurationError: they have no question in common.
    """
    first, second = load_run(settings, _plain(before)), load_run(settings, _plain(after))
    return ComparedView(first.info, second.info, compare_runs(first, second))


def _plain(name: str) -> str:
    """A run's id: a page never names a path."""
    return name.replace("/", "").replace("\\", "").lstrip(".") or "-"


def _row(case: Case) -> Row:
    record = case.record
    cited = (record.response or {}).get("citations") or []
    found = [(str(one.get("section_id") or ""), _place(one.get("path"), one.get("page"))) for one in cited]
    if not found:
        found = [(one.section, _place(one.path, one.page)) for one in record.retrieved[:10]]
    evidence = [
        _place(f"{one.doc} › {' | '.join(one.sections)}" if one.sections else one.doc, one.page)
        for one in case.question.evidence
    ]
    right = None if case.score is None else case.score >= RIGHT
    return Row(case, evidence, found, False if record.error else right)


def _place(path: Any, page: Any) -> str:
    return f"{path or ''}{f', p. {page}' if page else ''}"
