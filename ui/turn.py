"""One question as a page shows it: the agent's events become steps, an answer, sources and a last line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from markupsafe import Markup

from graph_agent.agent.citations import without_source_list
from graph_agent.agent.events import (
    AgentEvent,
    AgentWarning,
    AnswerReplaced,
    AnswerToken,
    Finished,
    SourcesFound,
    StageFinished,
    StageSkipped,
    StageStarted,
)
from graph_agent.agent.response import AgentResponse, Citation, CypherRun, Passage
from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_values import with_values
from graph_agent.ui.sanitise import CitationMark, Rendering, to_html
from graph_agent.ui.templates import render
from graph_agent.ui.wording import count, file_name, seconds

Status = Literal["running", "done", "stopped", "failed"]

TITLES: dict[str, tuple[str, str]] = {
    "skeleton": ("Looking at the graph", "Looked at the graph"),
    "plan": ("Planning", "Planned"),
    "labels": ("Listing labels", "Listed labels"),
    "counts": ("Counting nodes", "Counted nodes"),
    "properties": ("Looking at properties", "Looked at properties"),
    "cypher": ("Querying the graph", "Queried the graph"),
    "repair": ("Mending the query", "Mended the query"),
    "search": ("Searching passages", "Searched passages"),
    "read": ("Reading sections", "Read sections"),
    "answer": ("Writing the answer", "Wrote the answer"),
    "verify": ("Checking citations", "Checked citations"),
    "rewrite": ("Writing it again", "Wrote it again"),
}
_COUNTED = {
    "node_types": ("label", "labels"),
    "nodes": ("node", "nodes"),
    "relationships": ("relationship", "relationships"),
    "phrases": ("phrase", "phrases"),
    "labels": ("label", "labels"),
    "properties": ("property", "properties"),
    "rows": ("row", "rows"),
    "results": ("result", "results"),
    "passages": ("passage", "passages"),
    "documents": ("document", "documents"),
    "calls": ("call", "calls"),
    "tokens": ("token", "tokens"),
    "checked": ("sentence checked", "sentences checked"),
    "findings": ("finding", "findings"),
}
SHOWN_ROWS = 20


@dataclass
class Step:
    """One stage of the strategy.

    Attributes:
        state: running, done, skipped or failed.
        run: the query's rows, once they are known.
    """

    stage: str
    state: Literal["running", "done", "skipped", "failed"] = "running"
    seconds: float = 0.0
    reason: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    run: CypherRun | None = None

    @property
    def title(self) -> str:
        """What is or was done, in words."""
        doing, done = TITLES.get(self.stage, (self.stage.capitalize(), self.stage.capitalize()))
        return {"running": doing, "skipped": doing}.get(self.state, done)

    @property
    def standalone(self) -> str:
        """The query with its values written out, for the console."""
        query = str(self.detail.get("query", ""))
        with contextlib.suppress(QueryRefused):
            return with_values(query, self.detail.get("params") or {})
        return query

    @property
    def found(self) -> str:
        """The counts in words; zeros are left out but for the main one."""
        parts = [
            count(number, *_COUNTED.get(name, (name, name)))
            for name, number in self.counts.items()
            if number or name in {"rows", "results"}
        ]
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """To be kept."""
        return {
            "stage": self.stage,
            "state": self.state,
            "seconds": self.seconds,
            "reason": self.reason,
            "counts": self.counts,
            "detail": self.detail,
            "error": self.error,
        }


@dataclass
class Turn:
    """A question under way, or one that was kept."""

    id: str
    question: str
    scope: str = ""
    status: Status = "running"
    steps: list[Step] = field(default_factory=list)
    answer: str = ""
    warnings: list[str] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    response: AgentResponse | None = None
    problem: str = ""
    feedback: int | None = None
    reason: str = ""

    def take(self, event: AgentEvent) -> None:
        """Add what an event tells."""
        match event:
            case StageStarted():
                self.steps.append(Step(event.stage, reason=event.reason))
            case StageFinished():
                self._finish(event)
            case StageSkipped():
                self.steps.append(Step(event.stage, "skipped", reason=event.reason))
            case SourcesFound():
                self.passages = list(event.passages)
            case AnswerToken():
                self.answer += event.text
            case AnswerReplaced():
                self.answer = event.text
            case AgentWarning():
                self.warnings.append(event.message)
            case Finished():
                self.finish(event.response)

    def finish(self, response: AgentResponse) -> None:
        """Take the whole response."""
        self.response = response
        self.answer = response.answer
        self.passages = list(response.passages)
        self.warnings = list(response.notes)
        self.status = "done"
        self._close_steps("done")
        self._attach_runs()

    def end(self, status: Status, problem: str = "") -> None:
        """The question ended without a response."""
        self.status = status
        self.problem = problem
        self._close_steps("failed" if status == "failed" else "skipped")

    def _finish(self, event: StageFinished) -> None:
        step = next(
            (s for s in reversed(self.steps) if s.stage == event.stage and s.state == "running"), None
        )
        if step is None:
            step = Step(event.stage)
            self.steps.append(step)
        step.state = "failed" if event.error else "done"
        step.seconds = event.seconds
        step.reason = event.reason or step.reason
        step.counts, step.detail, step.error = dict(event.counts), dict(event.detail), event.error

    def _close_steps(self, state: Literal["done", "skipped", "failed"]) -> None:
        for step in self.steps:
            if step.state == "running":
                step.state = state

    def _attach_runs(self) -> None:
        runs = {run.query: run for run in (self.response.cypher if self.response else [])}
        for step in self.steps:
            if step.stage == "cypher":
                step.run = runs.get(str(step.detail.get("query", "")))

    # What is kept

    def as_json(self) -> dict[str, Any]:
        """The part of the state that the response does not hold."""
        return {"steps": [step.as_json() for step in self.steps], "answer": self.answer, "problem": self.problem,
                "warnings": self.warnings, "scope": self.scope,
                "passages": [] if self.response else [passage.model_dump() for passage in self.passages]}  # fmt: skip

    @classmethod
    def from_stored(cls, stored: Any, *, active: bool = False) -> Turn:
        """A turn as it was kept; one that was running when its server ended is shown as stopped."""
        state: Mapping[str, Any] = stored.state
        turn = cls(
            id=stored.id,
            question=stored.question,
            scope=str(state.get("scope", "")),
            status=stored.status,
            steps=[Step(**step) for step in state.get("steps", ())],
            answer=str(state.get("answer", "")),
            warnings=list(state.get("warnings", ())),
            passages=[Passage(**passage) for passage in state.get("passages", ())],
            problem=str(state.get("problem", "")),
            feedback=stored.feedback,
            reason=stored.reason,
        )
        if stored.response is not None:
            turn.response = AgentResponse.model_validate(stored.response)
            turn.passages = list(turn.response.passages)
            turn._attach_runs()
        elif stored.status == "running" and not active:
            turn.end("stopped", "The server was stopped before the answer was finished.")
        return turn

    # What is shown

    def marks(self) -> dict[int, CitationMark]:
        """How each [n] is shown: until the check is done every passage that was read counts as good."""
        passages = {passage.n: passage for passage in self.passages}
        marks = {n: CitationMark(_label(n, passage)) for n, passage in passages.items()}
        if self.response is not None:
            for citation in self.response.citations:
                known = citation.n in passages
                label = (
                    _label(citation.n, passages[citation.n])
                    if known
                    else f"Source {citation.n} was never read"
                )
                marks[citation.n] = CitationMark(label, verified=citation.verified, known=known)
        return marks

    def view(self) -> dict[str, Any]:
        """What the page's script puts in place: small pieces of HTML, each replaced only when it changed."""
        shown = [step for step in self.steps if step.state != "skipped"]
        skipped = [step for step in self.steps if step.state == "skipped" and step.reason]
        return {
            "id": self.id,
            "question": self.question,
            "scope": self.scope,
            "status": self.status,
            "steps": [
                {"id": f"{number}", "html": str(render("step.html", step=step, rows=_table(step.run)))}
                for number, step in enumerate(shown)
            ],
            "summary": self._summary(shown),
            "skipped": str(render("skipped.html", steps=skipped))
            if skipped and self.status != "running"
            else "",
            "answer": str(self.answer_html()),
            "copy": self.answer,
            "foot": str(self._foot()) if self.status != "running" else "",
        }

    def answer_html(self) -> Markup:
        """The answer as safe HTML; our own list of sources stands apart, so the text's is taken off."""
        body = without_source_list(self.answer) if self.status != "running" else self.answer
        return to_html(body, Rendering(citations=self.marks(), turn=self.id))

    def _summary(self, shown: Iterable[Step]) -> str:
        steps = list(shown)
        if self.status == "running":
            current = next((step for step in reversed(steps) if step.state == "running"), None)
            return f"{current.title}…" if current else "Starting…"
        total = self.response.usage.seconds if self.response else sum(step.seconds for step in steps)
        return f"{count(len(steps), 'step')} in {seconds(total)}"

    def _foot(self) -> Markup:
        return render("foot.html", turn=self, response=self.response, sources=self.cited())

    def cited(self) -> list[dict[str, Any]]:
        """Cited documents in the order of their first citation, each with its citations."""
        passages = {passage.n: passage for passage in self.passages}
        found: dict[str, dict[str, Any]] = {}
        for citation in self.response.citations if self.response else []:
            passage = passages.get(citation.n)
            if passage is None:
                continue
            key = passage.document_id or passage.path or passage.title
            entry = found.setdefault(
                key, {"title": passage.title, "path": passage.display_path or passage.path, "citations": []}
            )
            entry["citations"].append(citation)
        return list(found.values())

    def passage(self, number: int) -> tuple[Passage | None, Citation | None]:
        """The passage [n] and the citation of it, as far as they exist."""
        passage = next((one for one in self.passages if one.n == number), None)
        citations = self.response.citations if self.response else []
        return passage, next((one for one in citations if one.n == number), None)


def _label(number: int, passage: Passage) -> str:
    where = file_name(passage.display_path or passage.path) or passage.title
    page = f", page {passage.page}" if passage.page else ""
    section = f", {passage.breadcrumb[-1]}" if passage.breadcrumb else ""
    return f"Source {number}: {where}{section}{page}"


def _table(run: CypherRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    from graph_agent.ui.cells import cell_text

    return {
        "columns": run.columns,
        "rows": [[cell_text(row.get(name), 80) for name in run.columns] for row in run.rows[:SHOWN_ROWS]],
        "more": max(0, (run.total or len(run.rows)) - SHOWN_ROWS),
        "error": run.error,
        "hint": run.hint,
    }
