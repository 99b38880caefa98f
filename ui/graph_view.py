"""The graph as a picture: the skeleton, or what is around a document or section; a click shows the node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.components.plot import PlotData

from graph_agent.ui.components import EACH, data_of, html_panel, told
from graph_agent.ui.evidence import load_section, section_html
from graph_agent.ui.figure import figure
from graph_agent.ui.neighbourhood import Picture, neighbourhood, skeleton_picture
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.ui.workspace import Workspace

EVENTS = ("node", "centre", "whole", "theme", "document", "section")


class GraphPage:
    """Components and handlers of the graph; `lay_out` inside a tab, then `wire`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def lay_out(self) -> None:
        """Make the components."""
        self.at = gr.State(("", ""))
        with gr.Row(elem_id="graph"):
            with gr.Column(elem_id="picture-column", min_width=0):
                self.plot = gr.Plot(
                    show_label=False, container=False, elem_id="picture", label="Picture of the graph"
                )
            with gr.Column(elem_id="node-column", min_width=0, scale=0):
                self.panel = html_panel("graphPanel", EVENTS, elem_id="node")

    @property
    def outputs(self) -> list[Any]:
        """What changes when another part is shown."""
        return [self.plot, self.panel, self.at]

    def wire(self) -> None:
        """Connect what stays within the graph."""
        self.panel.node(self.node, None, self.panel, **EACH)
        self.panel.section(self.node, None, self.panel, **EACH)
        self.panel.centre(self.centre, None, self.outputs, **EACH)
        self.panel.whole(self.whole, None, self.outputs, **EACH)
        self.panel.theme(self.redraw, self.at, self.plot, **EACH)

    @told
    def whole(self, event: gr.EventData) -> tuple[Any, ...]:
        """The skeleton."""
        return self.show("", "", data_of(event).get("dark") == "true")

    @told
    def centre(self, event: gr.EventData) -> tuple[Any, ...]:
        """The neighbourhood of a node."""
        data = data_of(event)
        return self.show(data.get("kind", ""), data.get("id", ""), data.get("dark") == "true")

    @told
    def redraw(self, at: tuple[str, str], event: gr.EventData) -> PlotData:
        """The same picture in the other theme's colours."""
        return _plot(self._picture(*at), data_of(event).get("dark") == "true")

    @told
    def node(self, event: gr.EventData) -> str:
        """One node beside the picture."""
        data = data_of(event)
        kind, name = data.get("kind", "section"), data.get("id", "")
        if kind == "section":
            section = load_section(self._workspace, name)
            if section is not None:
                return str(render("node_section.html", id=name, evidence=section_html(section)))
        row = self._workspace.corpus().by_hash.get(name) if kind == "document" else None
        picture = None if kind == "type" else neighbourhood(self._workspace.graph, kind, name)
        facts = None
        if kind == "type":
            skeleton = self._workspace.tools.overview.current()
            facts = [fact for fact in skeleton.properties if fact.owner == name]
        return str(render("node.html", kind=kind, id=name, row=row, picture=picture, facts=facts))

    def show(self, kind: str, name: str, dark: bool) -> tuple[Any, ...]:
        """Picture, panel and state for a node, or for the whole graph when none is named."""
        picture = self._picture(kind, name)
        return _plot(picture, dark), str(render("graph_list.html", picture=picture)), (kind, name)

    def _picture(self, kind: str, name: str) -> Picture:
        around = neighbourhood(self._workspace.graph, kind, name) if kind else None
        return around or skeleton_picture(self._workspace.tools.overview.current())


def _plot(picture: Picture, dark: bool) -> PlotData:
    return PlotData(type="plotly", plot=json.dumps(figure(picture, dark=dark)))
