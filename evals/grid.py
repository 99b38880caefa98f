"""Settings side by side: every combination of some values is a run; one table, one page with a plot."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_agent.evals.comparison import Comparison, compare_runs
from graph_agent.evals.inspection import main_metric
from graph_agent.evals.options import RunOptions, apply_overrides
from graph_agent.evals.questions import QuestionSet, digest_of
from graph_agent.evals.report.charts import bars, scatter
from graph_agent.evals.report.markup import page, table, text
from graph_agent.evals.runner import Run, run_set
from graph_agent.evals.runs import runs_folder, write_whole

if TYPE_CHECKING:
    import threading

    from graph_agent.evals.estimate import Estimate
    from graph_agent.ingest.report import Progress
    from graph_agent.settings import Settings


@dataclass(frozen=True)
class Cell:
    """One combination of values, with its run."""

    values: dict[str, str]
    run: Run

    @property
    def name(self) -> str:
        """The values in words."""
        return ", ".join(f"{key}={value}" for key, value in self.values.items())


@dataclass(frozen=True)
class Grid:
    """All combinations; the first is what the others are compared with."""

    cells: tuple[Cell, ...]

    @property
    def metric(self) -> str:
        """The metric by which combinations are ranked."""
        return main_metric(self.cells[0].run) if not self._headline else self._headline[0]

    @property
    def _headline(self) -> tuple[str, ...]:
        return self.cells[0].run.summary.headline

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns of the table."""
        return (*self._headline, "seconds.p50")

    def comparisons(self) -> list[Comparison]:
        """Each combination but the first against the first."""
        return [compare_runs(self.cells[0].run, cell.run) for cell in self.cells[1:]]

    def rows(self) -> list[tuple[str, ...]]:
        """Cells of the table as text: values, metrics, and the change of the ranking metric against the first."""
        changes: list[str] = ["", *(_change(one, self.metric) for one in self.comparisons())]
        return [
            (
                *cell.values.values(),
                *(
                    f"{one.value:.3f}" if (one := cell.run.summary.value(name)) else ""
                    for name in self.metrics
                ),
                str(cell.run.summary.errors),
                change,
            )
            for cell, change in zip(self.cells, changes, strict=True)
        ]

    def columns(self) -> tuple[str, ...]:
        """Heads of the table."""
        return (*self.cells[0].values, *self.metrics, "errors", f"change of {self.metric}")

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "metric": self.metric,
            "cells": [{"values": cell.values, **cell.run.as_json()} for cell in self.cells],
            "comparisons": [one.as_json() for one in self.comparisons()],
        }


def run_grid(
    chosen: QuestionSet,
    settings: Settings,
    options: RunOptions,
    grid: Mapping[str, Sequence[str]],
    *,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    announce: Callable[[Estimate], None] | None = None,
) -> Grid:
    """Run every combination of values. Combinations that only ask differently share the ingested graph.

    Args:
        grid: values by key, see `apply_overrides`.

    Raises:
        ConfigurationError: a key or value is not usable; nothing was run then.
    """
    from graph_agent.store import DocumentGraph

    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    planned = [(values, *apply_overrides(settings, options, values)) for values in combinations]
    cells = []
    with DocumentGraph.open(settings) as base:
        for values, changed, asked in planned:
            run = run_set(
                chosen, changed, options=asked, progress=progress, stop=stop, base=base, announce=announce
            )
            cells.append(Cell(values, run))
            if stop is not None and stop.is_set():
                break
    return Grid(tuple(cells))


def write_grid(grid: Grid, settings: Settings) -> Path:
    """Write the grid's page; returns its path."""
    first = grid.cells[0].run.info
    name = digest_of([cell.run.info.id for cell in grid.cells])[:10]
    path = runs_folder(settings) / f"grid-{name}.html"
    rows = [tuple(text(cell) for cell in row) for row in grid.rows()]
    numbers = range(len(grid.cells[0].values), len(grid.columns()))
    values = [(cell.name, one) for cell in grid.cells if (one := cell.run.summary.value(grid.metric))]
    times = [
        (seconds.value, one.value, cell.name)
        for cell in grid.cells
        if (one := cell.run.summary.value(grid.metric)) and (seconds := cell.run.summary.value("seconds.p50"))
    ]
    body = [
        f"<h1>{text(first.set)}: {text(' × '.join(grid.cells[0].values))}</h1>",
        '<p class="quiet">Changes are paired over the questions, against the first row.</p>',
        table(grid.columns(), rows, numbers=numbers),
        '<h2>Plots</h2><div class="plots">',
        bars(values, title=f"{grid.metric} with 95 % intervals", most=1.0),
        scatter(times, title=f"{grid.metric} against time", x="median seconds", y=grid.metric),
        "</div>",
    ]
    write_whole(path, page(f"{first.set}, side by side", "\n".join(body)))
    return path


def _change(comparison: Comparison, metric: str) -> str:
    one = next((one for one in comparison.differences if one.metric == metric), None)
    if one is None:
        return ""
    mark = {"better": " better", "worse": " worse", "unclear": ""}[one.outcome]
    return f"{one.change.value:+.3f} [{one.change.low:+.3f}, {one.change.high:+.3f}]{mark}"
