"""The pages put together: header, tabs, what happens when a page is opened, and what leads from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from graph_agent.errors import NotFound
from graph_agent.ui.chat import ChatPage
from graph_agent.ui.components import EACH, LATEST, ONCE, data_of, html_panel, told, user_of
from graph_agent.ui.console import ConsolePage
from graph_agent.ui.documents import DocumentsPage
from graph_agent.ui.evaluations import EvaluationsPage
from graph_agent.ui.evidence import load_section
from graph_agent.ui.graph_view import GraphPage
from graph_agent.ui.scope import document_choices, folder_choices, inputs_from, label_choices
from graph_agent.ui.status_view import status_html
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.ui.ingestion import Job
    from graph_agent.ui.workspace import Workspace

QUEUE_SIZE = 200
TICK_S = 1.0
JOB_EVENTS = ("halt", "dismiss", "report")


def build(workspace: Workspace) -> gr.Blocks:
    """All pages as one Gradio application."""
    pages = _Pages(workspace)
    with gr.Blocks(title="Graph Agent", analytics_enabled=False, fill_width=True) as blocks:
        pages.lay_out()
        pages.wire(blocks)
    blocks.queue(max_size=QUEUE_SIZE, default_concurrency_limit=40, api_open=False)
    built: gr.Blocks = blocks
    return built


class _Pages:
    """The tabs, and what leads from one to another."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.chat = ChatPage(workspace)
        self.documents = DocumentsPage(workspace)
        self.graph = GraphPage(workspace)
        self.console = ConsolePage(workspace)
        self.evaluations = EvaluationsPage(workspace)

    def lay_out(self) -> None:
        self.header = html_panel("header", (), elem_id="header")
        self.job = html_panel("panel", JOB_EVENTS, elem_id="job")
        self.timer = gr.Timer(TICK_S, active=False)
        self.seen = gr.State("")
        with gr.Tabs(elem_id="pages") as self.tabs:
            with gr.Tab("Chat", id="chat", elem_id="chat-tab"):
                self.chat.lay_out()
            with gr.Tab("Documents", id="documents", elem_id="documents-tab") as self.documents_tab:
                self.documents.lay_out()
            with gr.Tab("Graph", id="graph", elem_id="graph-tab"):
                self.graph.lay_out()
            with gr.Tab("Console", id="console", elem_id="console-tab") as self.console_tab:
                self.console.lay_out()
            with gr.Tab("Evaluations", id="evaluations", elem_id="evaluations-tab") as self.evaluations_tab:
                self.evaluations.lay_out()
            with gr.Tab("Status", id="status", elem_id="status-tab") as self.status_tab:
                self.status = html_panel("panel", (), elem_id="status")

    def wire(self, blocks: gr.Blocks) -> None:
        for page in (self.chat, self.documents, self.graph, self.console, self.evaluations):
            page.wire()
        self._wire_opening(blocks)
        self._wire_jobs()
        self._wire_links()

    # ------------------------------------------------------------------ opening a page

    def _wire_opening(self, blocks: gr.Blocks) -> None:
        chat = self.chat
        shown = [self.header, chat.feed, chat.list, chat.conversation, chat.box, chat.used, *self._choices(), self.job,
                 self.timer]  # fmt: skip
        blocks.load(self.opened, None, shown, **ONCE)
        documents = self.documents
        self.documents_tab.select(
            documents.tree_and_report, [*documents.filters, documents.shown], [documents.tree, documents.labels, documents.report],
            **LATEST,
        )  # fmt: skip
        self.console_tab.select(self.console_side, None, self.console.side, **LATEST)
        self.evaluations_tab.select(self.evaluations.runs_html, None, self.evaluations.runs, **LATEST)
        self.status_tab.select(lambda: status_html(self._workspace), None, self.status, **LATEST)

    def _choices(self) -> list[Any]:
        return [self.chat.folder, self.chat.document, self.chat.labels]

    @told
    def opened(self, request: gr.Request) -> tuple[Any, ...]:
        """What a page shows when it is opened; `?c=` names a conversation."""
        user = user_of(request)
        wanted = str(request.query_params.get("c") or "")
        known = {one.id for one in self._workspace.conversations.recent(user)}
        feed, listed, name, _, box = self.chat.opened(user, wanted if wanted in known else "")
        job = self._workspace.ingestion.job
        return (
            str(render("header.html", user=user)),
            feed,
            listed,
            name,
            box,
            self.chat.used_html(),
            *self.scope_choices(),
            self.job_html(job) if job.running else "",
            gr.Timer(active=job.running),
        )

    def scope_choices(self) -> tuple[Any, ...]:
        """What the scope can be made of."""
        corpus = self._workspace.corpus()
        return (
            gr.Dropdown(choices=folder_choices(corpus)),
            gr.Dropdown(choices=document_choices(corpus)),
            gr.Dropdown(choices=label_choices(corpus)),
        )

    @told
    def console_side(self, request: gr.Request) -> str:
        """Schema and history of the console."""
        return self.console.side_html(user_of(request))

    # ------------------------------------------------------------------ syncs

    def _wire_jobs(self) -> None:
        documents, begun = self.documents, [self.job, self.timer, self.seen]
        documents.files.upload(self.upload, documents.files, [documents.files, *begun], **EACH)
        if not self._workspace.shared:
            documents.path.submit(self.add_path, documents.path, [documents.path, *begun], **ONCE)
        documents.sync.click(self.sync, None, begun, **ONCE)
        documents.tree.remove(self.remove, None, begun, **EACH)
        documents.reader.remove(self.remove, None, begun, **EACH)
        self.chat.feed.sample(self.sample, None, begun, **ONCE)
        self.job.halt(self.halt, None, self.job, **ONCE)
        self.job.dismiss(lambda: "", None, self.job, **ONCE)
        changed = [*begun, documents.tree, documents.labels, documents.report, *self._choices(), self.chat.used,
                   self.chat.feed]  # fmt: skip
        self.timer.tick(self.tick, [self.seen, self.chat.conversation], changed, queue=False, **ONCE)

    def job_html(self, job: Job) -> str:
        """The line at the foot of the page that tells how far a sync is."""
        return str(render("job.html", job=job))

    def _begun(self, job: Job | None) -> tuple[Any, ...]:
        if job is None:
            return gr.skip(), gr.skip(), gr.skip()
        return self.job_html(job), gr.Timer(active=True), ""

    @told
    def upload(self, files: list[str] | None, request: gr.Request) -> tuple[Any, ...]:
        """Keep uploaded files and read them."""
        return None, *self._begun(self.documents.take_files(files, user_of(request)))

    @told
    def add_path(self, text: str) -> tuple[Any, ...]:
        """Read a folder of this machine."""
        return "", *self._begun(self.documents.take_path(text or ""))

    @told
    def sync(self) -> tuple[Any, ...]:
        """Bring everything into step with its files."""
        return self._begun(self._workspace.sync_roots())

    @told
    def sample(self) -> tuple[Any, ...]:
        """Read the sample documents."""
        return self._begun(self._workspace.load_sample())

    @told
    def remove(self, event: gr.EventData) -> tuple[Any, ...]:
        """Take a document or folder out of the graph."""
        return self._begun(self.documents.take_away(data_of(event)))

    @told
    def halt(self) -> str:
        """Stop the running sync."""
        self._workspace.ingestion.stop()
        return self.job_html(self._workspace.ingestion.job)

    @told
    def tick(self, seen: str, conversation: str) -> tuple[Any, ...]:
        """How far the sync is; everything that shows documents is made anew when there are the first, and at the end."""
        job = self._workspace.ingestion.job
        has_documents = not self._workspace.is_empty()
        now = f"{job.serial} {job.state if not job.running else 'running'} {has_documents}"
        told_now = self.job_html(job), gr.Timer(active=job.running), now
        if now == seen:
            return *told_now, *(gr.skip() for _ in range(6)), self.chat.used_html(), gr.skip()
        welcome = (
            {"only": "welcome", "welcome": self.chat.welcome(), "at": now} if not conversation else gr.skip()
        )
        return *told_now, *self.documents.fresh(), *self.scope_choices(), self.chat.used_html(), welcome

    # ------------------------------------------------------------------ from one page to another

    def _wire_links(self) -> None:
        chat, documents, graph = self.chat, self.documents, self.graph
        reading = [self.tabs, documents.reader, documents.shown]
        for panel in (chat.evidence, self.console.result, graph.panel):
            panel.document(self.read_document, None, reading, **EACH)
        for panel in (self.console.result, self.evaluations.run):
            panel.section(self.read_section, None, reading, **EACH)
        chat.feed.console(self.open_console, None, [self.tabs, self.console.query], **EACH)
        chat.feed.adding(self.open_adding, None, [self.tabs, documents.add], **EACH)
        self.job.report(lambda: gr.Tabs(selected="documents"), None, self.tabs, **EACH)
        scoped = [self.tabs, *chat.scope_inputs, chat.chips]
        documents.tree.scope(self.scope_to, None, scoped, **EACH)
        documents.reader.scope(self.scope_to, None, scoped, **EACH)
        documents.reader.neighbours(self.show_around, None, [self.tabs, *graph.outputs], **EACH)

    @told
    def read_document(self, event: gr.EventData) -> tuple[Any, ...]:
        """Open a document, at a section when one is named."""
        data = data_of(event)
        name = data.get("id", "")
        return gr.Tabs(selected="documents"), self.documents.document(name, data.get("section", "")), name

    @told
    def read_section(self, event: gr.EventData) -> tuple[Any, ...]:
        """Open the document of a section, there."""
        name = data_of(event).get("id", "")
        section = load_section(self._workspace, name)
        if section is None:
            raise NotFound(
                "This section is not in the graph any more.", "Its document was changed or removed."
            )
        document = section.places[0].document_id
        return gr.Tabs(selected="documents"), self.documents.document(document, name), document

    @told
    def open_console(self, event: gr.EventData) -> tuple[Any, ...]:
        """Put a query that the agent ran into the console."""
        return gr.Tabs(selected="console"), data_of(event).get("query", "")

    def open_adding(self) -> tuple[Any, ...]:
        """Where documents are added."""
        return gr.Tabs(selected="documents"), gr.Accordion(open=True)

    @told
    def scope_to(self, event: gr.EventData) -> tuple[Any, ...]:
        """Ask about a folder or a document."""
        data = data_of(event)
        folder, document = data.get("folder") or None, data.get("document") or None
        # The chips are made here, too: inputs of a tab that is not shown do not tell of their change.
        chips = self.chat.chips_html(inputs_from(folder, document, [], "", ""))
        return gr.Tabs(selected="chat"), folder, document, [], "", "", chips

    @told
    def show_around(self, event: gr.EventData) -> tuple[Any, ...]:
        """The picture around a document."""
        data = data_of(event)
        return (
            gr.Tabs(selected="graph"),
            *self.graph.show("document", data.get("document", ""), data.get("dark") == "true"),
        )
