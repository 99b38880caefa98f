"""A run in numbers: every metric with its interval, by type, percentiles of time, what failed, which ways were taken."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.evals.metrics.statistics import Estimate, agreement, by_question, mean, percentile
from graph_agent.evals.questions import Question
from graph_agent.evals.runs import Judgement, Mode, Record

RIGHT = 0.5  # a score from here on counts as right where a yes or no is wanted
JUDGED = {"correct": 1.0, "partial": 0.5, "incorrect": 0.0}
GROUNDED = {"supported": 1.0, "partly": 0.5, "unsupported": 0.0}
# What is better when it is lower; everything else is better when higher.
COSTS = ("seconds", "usage.", "abstention.false", "answer.words")
_HEADLINES: dict[Mode, tuple[str, ...]] = {
    "retrieval": ("section.ndcg@10", "section.recall@10", "document.ndcg@10", "document.recall@10", "page.recall@10"),
    "answer": ("answer.correct", "judge.correct", "citation.section", "citation.document@5", "abstention", "groundedness"),
    "cypher": ("cypher.execution", "cypher.loose", "cypher.valid"),
}  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """The numbers of a run.

    Attributes:
        metrics: mean of each metric over the questions that have it, errors left out.
        percentiles: "seconds.p50" and "seconds.p95".
        by_type: per type of question, the metrics of the headline.
        records, errors: how many questions were asked, repeats included, and how many of these failed.
        error_kinds: how often each kind of failure happened.
        paths: how often each way through the stages was taken.
        missing: questions some of whose evidence is not in the graph.
        ungraded: answers on which the judge failed.
        agreement: of the judge with `answer.correct`: {share, kappa, n}; empty without a judge.
        headline: names of the metrics that come first.
    """

    metrics: dict[str, Estimate]
    percentiles: dict[str, Estimate]
    by_type: dict[str, dict[str, Estimate]]
    records: int
    errors: int
    error_kinds: dict[str, int] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    ungraded: int = 0
    agreement: dict[str, float] = field(default_factory=dict)
    headline: tuple[str, ...] = ()

    def value(self, name: str) -> Estimate | None:
        """A metric or percentile by name."""
        return self.metrics.get(name) or self.percentiles.get(name)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "records": self.records,
            "errors": self.errors,
            "error_kinds": self.error_kinds,
            "metrics": {name: one.as_json() for name, one in self.metrics.items()},
            "percentiles": {name: one.as_json() for name, one in self.percentiles.items()},
            "by_type": {
                kind: {name: one.as_json() for name, one in found.items()}
                for kind, found in self.by_type.items()
            },
            "paths": self.paths,
            "missing_evidence": self.missing,
            "ungraded": self.ungraded,
            "judge_agreement": self.agreement,
            "headline": list(self.headline),
        }


def summarise(
    mode: Mode, questions: Iterable[Question], records: Sequence[Record], judgements: Sequence[Judgement] = ()
) -> Summary:
    """The numbers of a run's records."""
    scored = scores_of(records, judgements)
    metrics = {name: mean(list(values.values())) for name, values in _by_metric(scored).items()}
    headline = headline_of(mode, metrics)
    types = {question.id: question.type for question in questions}
    ok = [record for record in records if record.status == "ok"]
    seconds = [record.seconds for record in ok]
    return Summary(
        metrics=metrics,
        percentiles={f"seconds.p{rank}": percentile(seconds, rank) for rank in (50, 95)} if ok else {},
        by_type=_by_type(scored, types, headline),
        records=len(records),
        errors=len(records) - len(ok),
        error_kinds=dict(Counter(record.error.kind for record in records if record.error).most_common()),
        paths=dict(Counter(record.path for record in ok if record.path).most_common()),
        missing=len({record.question for record in records if record.missing}),
        ungraded=sum(1 for one in judgements if one.verdict == "ungraded"),
        agreement=_agreement(records, judgements),
        headline=headline,
    )


def scores_of(
    records: Sequence[Record], judgements: Sequence[Judgement] = ()
) -> dict[tuple[str, int], dict[str, float]]:
    """Scores of each record that is no error, the judge's and the time included."""
    judged = {(one.question, one.repeat): one for one in judgements}
    found: dict[tuple[str, int], dict[str, float]] = {}
    for record in records:
        if record.status != "ok":
            continue
        scores = {**record.scores, "seconds": record.seconds}
        verdict = judged.get(record.name)
        if verdict is not None and verdict.verdict in JUDGED:
            scores["judge.correct"] = JUDGED[verdict.verdict]
        if verdict is not None and verdict.grounded in GROUNDED:
            scores["judge.grounded"] = GROUNDED[verdict.grounded]
        found[record.name] = scores
    return found


def per_question(
    records: Sequence[Record], metric: str, judgements: Sequence[Judgement] = ()
) -> dict[str, float]:
    """One metric by question id, the mean over repeats; questions without it are left out."""
    scored = scores_of(records, judgements)
    return by_question([(name[0], scores[metric]) for name, scores in scored.items() if metric in scores])


def headline_of(mode: Mode, metrics: Mapping[str, Any]) -> tuple[str, ...]:
    """The metrics of a mode that come first, those that there are."""
    return tuple(name for name in _HEADLINES[mode] if name in metrics)


def lower_is_better(metric: str) -> bool:
    """Whether a metric counts what is spent."""
    return metric.startswith(COSTS)


def _by_metric(scored: Mapping[tuple[str, int], Mapping[str, float]]) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(name for scores in scored.values() for name in scores)
    return {
        name: by_question([(key[0], scores[name]) for key, scores in scored.items() if name in scores])
        for name in sorted(names, key=_place)
    }


def _place(name: str) -> tuple[int, str]:
    families = ("document.", "section.", "page.", "span.", "answer.", "judge.", "abstention", "citation.", "groundedness", "read.", "cypher.", "usage.", "seconds")  # fmt: skip
    family = next((at for at, family in enumerate(families) if name.startswith(family)), len(families))
    metric, at, k = name.rpartition("@")
    return family, f"{metric}@{k:0>4}" if at and k.isdigit() else name


def _by_type(
    scored: Mapping[tuple[str, int], Mapping[str, float]], types: Mapping[str, str], headline: Sequence[str]
) -> dict[str, dict[str, Estimate]]:
    kinds = dict.fromkeys(types.get(name[0], "") for name in scored)
    if len(kinds) < 2:
        return {}
    found: dict[str, dict[str, Estimate]] = {}
    for kind in sorted(kinds):
        own = {name: scores for name, scores in scored.items() if types.get(name[0], "") == kind}
        values = _by_metric(own)
        found[kind or "(no type)"] = {
            name: mean(list(values[name].values())) for name in headline if values.get(name)
        }
    return found


def _agreement(records: Sequence[Record], judgements: Sequence[Judgement]) -> dict[str, float]:
    correct: Callable[[float], bool] = lambda value: value >= RIGHT  # noqa: E731 - used twice below
    rules = {r.name: r.scores["answer.correct"] for r in records if "answer.correct" in r.scores}
    pairs = [
        (correct(rules[name]), correct(JUDGED[one.verdict]))
        for one in judgements
        if one.verdict in JUDGED and (name := (one.question, one.repeat)) in rules
    ]
    if not pairs:
        return {}
    share, kappa = agreement([a for a, _ in pairs], [b for _, b in pairs])
    found = {"share": round(share, 6), "n": float(len(pairs))}
    return found if math.isnan(kappa) else {**found, "kappa": round(kappa, 6)}
