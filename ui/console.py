"""The console: read-only Cypher, the schema beside it, rows as a table and as files, and what was asked before."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr

from graph_agent.errors import GraphAgentError
from graph_agent.ui.cells import cell_text
from graph_agent.ui.components import EACH, LATEST, data_of, html_panel, told, user_of
from graph_agent.ui.results import QueryResult
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.ui.workspace import Workspace

RESULT_EVENTS = ("document", "section")
SIDE_EVENTS = ("use",)
FIRST = "MATCH (f:Folder)-[:CONTAINS]->(d:Document)\nRETURN f.name AS folder, count(d) AS documents\nORDER BY documents DESC"
MAX_QUERY = 20_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a row.

    Attributes:
        do, id: what a click opens: a document or a section, "" nothing.
        number: whether it is one, and so stands at the right.
    """

    text: str
    do: str = ""
    id: str = ""
    number: bool = False


class ConsolePage:
    """Components and handlers of the console; `lay_out` inside a tab, then `wire`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def lay_out(self) -> None:
        """Make the components."""
        with gr.Row(elem_id="console"):
            with gr.Column(elem_id="query-column", min_width=0):
                self.query = gr.Textbox(
                    value=FIRST,
                    label="Cypher, read-only (Ctrl+Enter runs it)",
                    lines=6,
                    max_lines=24,
                    max_length=MAX_QUERY,
                    elem_id="cypher",
                    html_attributes=gr.InputHTMLAttributes(
                        spellcheck=False, autocorrect="off", autocapitalize="off"
                    ),
                )
                with gr.Row(elem_id="query-buttons"):
                    self.run = gr.Button(
                        "Run", variant="primary", size="sm", elem_id="run", min_width=90, scale=0
                    )
                self.result = html_panel("panel", RESULT_EVENTS, elem_id="result")
            with gr.Column(elem_id="schema-column", min_width=0, scale=0):
                self.side = html_panel("panel", SIDE_EVENTS, elem_id="schema")

    def wire(self) -> None:
        """Connect what stays within the console."""
        # Through the queue, with a limit: a query may take seconds, and ten at once would take all of the engine.
        self.run.click(self.answer, self.query, [self.result, self.side], concurrency_limit=4, **LATEST)
        self.side.use(self.use, None, self.query, queue=False, **EACH)

    @told
    def answer(self, cypher: str, request: gr.Request) -> tuple[str, str]:
        """Run the query."""
        user = user_of(request)
        shown, rows = self._answered(cypher or "", user)
        if (cypher or "").strip():
            self._workspace.history.add(user, cypher.strip(), rows)
        return shown, self.side_html(user)

    def _answered(self, cypher: str, user: str) -> tuple[str, int | None]:
        began = time.perf_counter()
        try:
            found = self._workspace.call("graph_query", {"cypher": cypher})
        except GraphAgentError as error:
            return str(render("query_error.html", error=error)), None
        seconds = time.perf_counter() - began
        rows = found["rows"]
        name = self._workspace.results.keep(user, QueryResult(cypher, list(found["columns"]), rows))
        numbers = {column for column in found["columns"] if _all_numbers(rows, column)}
        table = [[_cell(row.get(column), column in numbers) for column in found["columns"]] for row in rows]
        shown = render(
            "result.html", columns=found["columns"], numbers=numbers, rows=table, total=found.get("total"),
            truncated=bool(found.get("truncated")), hint=found.get("hint") or "", rewritten=found.get("rewritten") or [],
            seconds=seconds, name=name,
        )  # fmt: skip
        return str(shown), len(rows)

    @told
    def use(self, event: gr.EventData) -> Any:
        """Put a query of the history, or one about a label, into the box."""
        data = data_of(event)
        if label := data.get("label"):
            return f"MATCH (n:{_quoted(label)})\nRETURN n\nLIMIT 25"
        if kind := data.get("type"):
            return f"MATCH (a)-[r:{_quoted(kind)}]->(b)\nRETURN a, r, b\nLIMIT 25"
        return data.get("query", "")

    def side_html(self, user: str) -> str:
        """Schema and history."""
        skeleton = self._workspace.tools.overview.current(wait_s=1.0)
        properties: dict[str, list[Any]] = {}
        for fact in skeleton.properties:
            properties.setdefault(fact.owner, []).append(fact)
        return str(
            render(
                "schema.html",
                skeleton=skeleton,
                properties=properties,
                history=self._workspace.history.recent(user),
            )
        )


def _quoted(name: str) -> str:
    return name if name.isidentifier() else "`" + name.replace("`", "") + "`"


def _all_numbers(rows: list[dict[str, Any]], column: str) -> bool:
    values = [row.get(column) for row in rows if row.get(column) is not None]
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def _cell(value: Any, number: bool) -> Cell:
    text = cell_text(value)
    properties = value.get("properties") if isinstance(value, dict) else None
    labels = value.get("labels", ()) if isinstance(value, dict) else ()
    if isinstance(properties, dict) and "Document" in labels and properties.get("content_hash"):
        return Cell(text, "document", str(properties["content_hash"]))
    if isinstance(properties, dict) and "MarkdownSection" in labels and properties.get("section_id"):
        return Cell(text, "section", str(properties["section_id"]))
    if isinstance(value, str) and value.count("::") == 1 and value.partition("::")[2].isdigit():
        return Cell(text, "section", value)
    return Cell(text, number=number)
