"""The evaluations: runs, one run's questions with answers and evidence, two runs compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from graph_agent.evals.runner import list_runs
from graph_agent.ui.components import EACH, data_of, html_panel, told
from graph_agent.ui.evaluation_data import compared, run_view
from graph_agent.ui.sanitise import to_html
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.ui.workspace import Workspace

LIST_EVENTS = ("run", "compare")
RUN_EVENTS = ("run", "section")


class EvaluationsPage:
    """Components and handlers of the evaluations; `lay_out` inside a tab, then `wire`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def lay_out(self) -> None:
        """Make the components."""
        with gr.Row(elem_id="evaluations"):
            with gr.Column(elem_id="runs-column", min_width=0, scale=0):
                self.runs = html_panel("runs", LIST_EVENTS, elem_id="runs")
            with gr.Column(elem_id="run-column", min_width=0):
                self.run = html_panel("panel", RUN_EVENTS, elem_id="evaluation")

    def wire(self) -> None:
        """Connect what stays within the evaluations."""
        self.runs.run(self.open, None, self.run, **EACH)
        self.run.run(self.open, None, self.run, **EACH)
        self.runs.compare(self.compare, None, self.run, **EACH)

    def runs_html(self) -> str:
        """The list of runs."""
        return str(render("runs.html", runs=list_runs(self._workspace.settings)))

    @told
    def open(self, event: gr.EventData) -> str:
        """One run."""
        data = data_of(event)
        only = data.get("only", "") == "wrong"
        view = run_view(self._workspace.settings, data.get("id", ""), only_wrong=only)
        return str(render("run.html", view=view, only_wrong=only, to_html=to_html))

    @told
    def compare(self, event: gr.EventData) -> str:
        """Two runs, the older one first."""
        data = data_of(event)
        view = compared(self._workspace.settings, data.get("before", ""), data.get("after", ""))
        return str(render("compared.html", view=view))
