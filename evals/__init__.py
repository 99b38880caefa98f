"""Evaluations: question sets are asked, scored with and without a model, and runs compared.

    from graph_agent.evals import run_set
    run = run_set("sample", mode="retrieval")
    assert run.summary.metrics["section.recall@10"].value >= 0.85

* `load_set(reference)`: a `QuestionSet` from any form that an adapter knows (evals/README.md);
* `run_set(set, settings, mode=..., ...)`: a `Run`; asked again, an interrupted run goes on, a complete one returns;
* `judge_run(run, settings, model)`: a second model's verdicts;
* `compare_runs(a, b)`: paired differences and flips; `check_gate(run, {"metric": value})`: breached bounds;
* `run_grid(set, settings, options, {"key": [values]})`: settings side by side.

For pages that show runs: `list_runs(settings)` gives a `RunInfo` each (manifest with `headline`), the latest first;
`load_run(settings, id)` a `Run`: `.info`, `.questions`, `.records`, `.judgements`, `.summary` (intervals, by type),
`.folder.report` (a self-contained HTML page); `failures(run)` and `cases(run)` the questions with gold and answer;
`compare_runs(load_run(settings, a), load_run(settings, b))` a `Comparison` (`.differences`, `.flips`, `.changed`).

The names below are loaded on first use, so that importing this package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.evals.adapters import adapter, find_sets, load_set
    from graph_agent.evals.comparison import Comparison, check_gate, compare_runs
    from graph_agent.evals.estimate import Estimate, estimate_run
    from graph_agent.evals.grid import Grid, run_grid
    from graph_agent.evals.inspection import Case, cases, failures
    from graph_agent.evals.judge import judge_run
    from graph_agent.evals.options import RunOptions, SearchOptions
    from graph_agent.evals.questions import Evidence, Question, QuestionSet
    from graph_agent.evals.runner import Run, list_runs, load_run, run_set
    from graph_agent.evals.runs import Judgement, Record, RunInfo
    from graph_agent.evals.summary import Summary

_HOMES = {
    "Case": "inspection",
    "Comparison": "comparison",
    "Estimate": "estimate",
    "Evidence": "questions",
    "Grid": "grid",
    "Judgement": "runs",
    "Question": "questions",
    "QuestionSet": "questions",
    "Record": "runs",
    "Run": "runner",
    "RunInfo": "runs",
    "RunOptions": "options",
    "SearchOptions": "options",
    "Summary": "summary",
    "adapter": "adapters",
    "cases": "inspection",
    "check_gate": "comparison",
    "compare_runs": "comparison",
    "estimate_run": "estimate",
    "failures": "inspection",
    "find_sets": "adapters",
    "judge_run": "judge",
    "list_runs": "runner",
    "load_run": "runner",
    "load_set": "adapters",
    "run_grid": "grid",
    "run_set": "runner",
}
__all__ = [
    "Case",
    "Comparison",
    "Estimate",
    "Evidence",
    "Grid",
    "Judgement",
    "Question",
    "QuestionSet",
    "Record",
    "Run",
    "RunInfo",
    "RunOptions",
    "SearchOptions",
    "Summary",
    "adapter",
    "cases",
    "check_gate",
    "compare_runs",
    "estimate_run",
    "failures",
    "find_sets",
    "judge_run",
    "list_runs",
    "load_run",
    "load_set",
    "run_grid",
    "run_set",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"graph_agent.evals.{home}"), name)
