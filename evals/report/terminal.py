"""Runs and comparisons as tables of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from graph_agent.evals.inspection import failures
from graph_agent.evals.metrics.statistics import Estimate
from graph_agent.evals.runner import Run
from graph_agent.evals.runs import RunInfo
from graph_agent.terminal import print_rows, safe

FAILURES_SHOWN = 10


def print_run(run: Run, *, every: bool = False, failed: int = FAILURES_SHOWN) -> None:
    """The numbers of a run: main metrics, or every one; by type; the worst questions."""
    summary = run.summary
    names = summary.metrics if every else [*summary.headline, *_named(run)]
    rows = [
        (name, *_cells(summary.metrics[name])) for name in dict.fromkeys(names) if name in summary.metrics
    ]
    rows += [(name, *_cells(one)) for name, one in summary.percentiles.items()]
    print_rows(("metric", "value", "95 % interval", "n"), rows, title=title_of(run.info))
    if summary.by_type:
        head = summary.headline
        by_type = [
            (kind, *(f"{found[name].value:.3f} ({found[name].n})" if name in found else "" for name in head))
            for kind, found in summary.by_type.items()
        ]
        print_rows(("type", *head), by_type)
    cases = failures(run)[:failed]
    if cases:
        lines = [
            (
                case.question.id,
                "error" if case.record.error else f"{case.score or 0.0:.2f}",
                case.question.question[:90],
                case.gold[:60],
            )
            for case in cases
        ]
        print_rows(("failed", "score", "question", "gold"), lines)


def title_of(info: RunInfo) -> str:
    """One line about a run."""
    parts = [info.id, f"{info.done}/{info.questions} asked", f"{info.errors} errors"]
    if info.cost is not None:
        parts.append(f"cost {info.cost:.4g}")
    return ", ".join([*parts, info.state])


def print_runs(infos: Iterable[RunInfo]) -> None:
    """A line per run; ids are not broken, so that they can be copied."""
    lines = []
    for info in infos:
        scores = ", ".join(f"{name} {one['value']:.3f}" for name, one in list(info.headline.items())[:2])
        asked = f"{info.done}/{info.questions}" + (f" ({info.errors} errors)" if info.errors else "")
        lines.append(
            (info.id, info.started.replace("T", " ")[:16], info.model or "-", asked, info.state, scores)
        )
    widths = [max(len(line[at]) for line in lines) for at in range(5)] if lines else []
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        click.echo(safe("  ".join([*cells, line[5]]).rstrip()))
    if not lines:
        click.echo("No runs yet. Make one: graph-agent eval run sample")


def print_several(runs: Sequence[Run]) -> None:
    """A line per run with its main metrics side by side."""
    names = list(dict.fromkeys(name for run in runs for name in run.summary.headline))
    rows = []
    for run in runs:
        cells = [
            f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" if (one := run.summary.value(name)) else ""
            for name in names
        ]
        rate = run.summary.value("seconds.p50")
        rows.append(
            (
                run.info.set,
                str(run.info.done),
                str(run.info.errors),
                *cells,
                f"{rate.value:.3f}" if rate else "",
            )
        )
    print_rows(("set", "n", "errors", *names, "seconds.p50"), rows)


def _named(run: Run) -> list[str]:
    """Further metrics that stand in the short table."""
    wanted = {
        "retrieval": ("section.hit@1", "section.recall@5", "section.mrr@10", "document.hit@5", "span.recall@10"),
        "answer": ("answer.numeric", "answer.list_f1", "answer.option", "answer.token_f1", "abstention.recall",
                   "abstention.false", "citation.precision", "citation.recall", "judge.grounded",
                   "usage.model_calls", "usage.input_tokens", "usage.cost"),
        "cypher": ("cypher.first", "usage.model_calls", "usage.input_tokens", "usage.cost"),
    }  # fmt: skip
    return list(wanted[run.info.mode])


def _cells(one: Estimate) -> tuple[str, str, str]:
    return f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}", str(one.n)
