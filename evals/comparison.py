"""Two runs side by side: paired differences with intervals, and the questions that flipped. Gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graph_agent.errors import ConfigurationError
from graph_agent.evals.inspection import Case, cases, main_metric
from graph_agent.evals.metrics.statistics import Estimate, mean, paired
from graph_agent.evals.runner import Run
from graph_agent.evals.summary import RIGHT, lower_is_better, per_question

Outcome = Literal["better", "worse", "unclear"]


@dataclass(frozen=True)
class Difference:
    """One metric in both runs, over the questions that both have.

    Attributes:
        change: mean of the paired differences (second minus first) with its 95 % interval.
        outcome: better or worse when the interval leaves out zero, else unclear.
    """

    metric: str
    before: float
    after: float
    change: Estimate

    @property
    def outcome(self) -> Outcome:
        """Whether the change can be told from chance."""
        if self.change.n < 2 or self.change.low <= 0 <= self.change.high:
            return "unclear"
        return "worse" if (self.change.value > 0) == lower_is_better(self.metric) else "better"


@dataclass(frozen=True)
class Flip:
    """A question that was right in one run and wrong in the other."""

    question: str
    text: str
    gold: str
    before: float
    after: float
    answer_before: str
    answer_after: str

    @property
    def better(self) -> bool:
        """Whether the second run is the right one."""
        return self.after > self.before


@dataclass(frozen=True)
class Comparison:
    """Two runs compared.

    Attributes:
        metric: by which questions are right or wrong.
        only_before, only_after: questions that only one of them has.
        changed: what differs between the two: settings, options, prompts, model, graph, as (before, after).
    """

    before: str
    after: str
    metric: str
    differences: tuple[Difference, ...]
    flips: tuple[Flip, ...]
    only_before: int
    only_after: int
    errors: tuple[int, int]
    changed: dict[str, tuple[Any, Any]]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "before": self.before,
            "after": self.after,
            "metric": self.metric,
            "changed": {name: list(pair) for name, pair in self.changed.items()},
            "errors": list(self.errors),
            "only_before": self.only_before,
            "only_after": self.only_after,
            "differences": [
                {
                    "metric": one.metric,
                    "before": round(one.before, 6),
                    "after": round(one.after, 6),
                    "change": one.change.as_json(),
                    "outcome": one.outcome,
                }
                for one in self.differences
            ],
            "flips": [{**vars(flip), "better": flip.better} for flip in self.flips],
        }


def compare_runs(before: Run, after: Run, *, metric: str | None = None) -> Comparison:
    """Compare two runs question by question; errors of either are left out and counted.

    Args:
        metric: by which questions count as right; default the main metric of the second run.

    Raises:
        ConfigurationError: the runs have no question in common.
    """
    common = {q.id for q in before.questions} & {q.id for q in after.questions}
    if not common:
        raise ConfigurationError(
            f"{before.info.id} and {after.info.id} have no question in common.", "Compare runs of one set."
        )
    chosen = metric or main_metric(after)
    return Comparison(
        before=before.info.id,
        after=after.info.id,
        metric=chosen,
        differences=tuple(_differences(before, after)),
        flips=tuple(_flips(before, after, chosen)),
        only_before=len({q.id for q in before.questions} - common),
        only_after=len({q.id for q in after.questions} - common),
        errors=(before.summary.errors, after.summary.errors),
        changed=_changed(before, after),
    )


def _differences(before: Run, after: Run) -> list[Difference]:
    names = [name for name in before.summary.metrics if name in after.summary.metrics]
    found = []
    for name in names:
        left = per_question(before.records, name, before.judgements)
        right = per_question(after.records, name, after.judgements)
        shared = [question for question in left if question in right]
        if not shared:
            continue
        found.append(
            Difference(
                name,
                mean([left[question] for question in shared]).value,
                mean([right[question] for question in shared]).value,
                paired(left, right),
            )
        )
    return found


def _flips(before: Run, after: Run, metric: str) -> list[Flip]:
    left, right = (per_question(run.records, metric, run.judgements) for run in (before, after))
    earlier, later = _first_cases(before), _first_cases(after)
    flips = []
    for question in left:
        if question not in right or (left[question] >= RIGHT) == (right[question] >= RIGHT):
            continue
        case = later[question]
        flips.append(
            Flip(
                question,
                case.question.question,
                case.gold,
                left[question],
                right[question],
                earlier[question].answer,
                case.answer,
            )
        )
    return sorted(flips, key=lambda flip: (flip.better, flip.question))


def _first_cases(run: Run) -> dict[str, Case]:
    return {case.question.id: case for case in reversed(cases(run))}


def _changed(before: Run, after: Run) -> dict[str, tuple[Any, Any]]:
    left, right = (
        {
            **{f"settings.{key}": value for key, value in run.info.settings.items()},
            **{f"options.{key}": value for key, value in run.info.options.items()},
            **{f"prompts.{key}": value for key, value in run.info.prompts.items()},
            **{f"graph.{key}": value for key, value in run.info.graph.items()},
            "mode": run.info.mode,
            "model": run.info.model,
            "set": run.info.digest,
            "version": run.info.versions.get("graph-agent"),
        }
        for run in (before, after)
    )
    keys = dict.fromkeys([*left, *right])
    return {key: (left.get(key), right.get(key)) for key in keys if left.get(key) != right.get(key)}


@dataclass(frozen=True)
class Breach:
    """A bound that a run does not keep."""

    metric: str
    bound: str
    value: float | None

    def __str__(self) -> str:
        value = "is not there" if self.value is None else f"is {self.value:.4g}"
        return f"{self.metric} {value}, wanted {self.bound}"


def check_gate(
    run: Run,
    minimum: Mapping[str, float],
    maximum: Mapping[str, float] | None = None,
    *,
    max_errors: int = 0,
) -> list[Breach]:
    """The bounds that a run does not keep; none means it passes.

    A run that is not complete, or has more errors than allowed, does not pass: its means would be over what
    happened to work.

    Args:
        minimum, maximum: bounds by metric or percentile ("section.recall@10", "seconds.p95").
        max_errors: how many questions may have failed.
    """
    breaches = []
    if run.info.done < run.info.questions:
        breaches.append(Breach("questions asked", f"{run.info.questions}", float(run.info.done)))
    if run.summary.errors > max_errors:
        breaches.append(Breach("errors", f"at most {max_errors}", float(run.summary.errors)))
    for bounds, word in ((minimum, "at least"), (maximum or {}, "at most")):
        for name, bound in bounds.items():
            one = run.summary.value(name)
            value = one.value if one is not None and one.n else None
            kept = value is not None and (value >= bound if word == "at least" else value <= bound)
            if not kept:
                breaches.append(Breach(name, f"{word} {bound:g}", value))
    return breaches
