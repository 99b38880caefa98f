"""The documents: a tree with filters, a document to read, uploads, syncs, removal."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
import orjson

from graph_agent.errors import BadArgument, ConfigurationError, EngineUnavailable, NotFound
from graph_agent.ingest.report import SyncReport
from graph_agent.ui.components import EACH, LATEST, data_of, html_panel, told
from graph_agent.ui.evidence import load_section
from graph_agent.ui.library import library
from graph_agent.ui.reader import document_html
from graph_agent.ui.scope import label_choices
from graph_agent.ui.templates import render
from graph_agent.ui.uploads import receive, removable, uploads_folder
from graph_agent.ui.wording import count

if TYPE_CHECKING:
    from graph_agent.ui.ingestion import Job
    from graph_agent.ui.workspace import Workspace

TREE_EVENTS = ("document", "scope", "remove")
READER_EVENTS = ("document", "section", "part", "scope", "remove", "neighbours")
LAST_SYNC = "last-sync"


class DocumentsPage:
    """Components and handlers of the documents; `lay_out` inside a tab, then `wire`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def lay_out(self) -> None:
        """Make the components."""
        self.shown = gr.State("")
        with gr.Row(elem_id="documents"):
            with gr.Column(elem_id="shelf", min_width=0, scale=0):
                with gr.Accordion("Add documents", open=False, elem_id="add") as self.add:
                    self.files = gr.File(
                        label="Files or a zip",
                        show_label=False,
                        file_count="multiple",
                        type="filepath",
                        height=130,
                        elem_id="files",
                    )
                    if not self._workspace.shared:
                        self.path = gr.Textbox(
                            label="Or a folder of this machine",
                            placeholder="/home/me/reports",
                            elem_id="path",
                            submit_btn="Add",
                            max_length=4_000,
                        )
                with gr.Row(elem_id="filters"):
                    self.words = gr.Textbox(
                        label="Find documents", show_label=False, placeholder="Find documents", elem_id="words",
                        max_length=200, container=False,
                    )  # fmt: skip
                    self.sync = gr.Button("Sync now", size="sm", elem_id="sync", min_width=90, scale=0)
                with gr.Accordion("Filter", open=False, elem_id="narrow"):
                    self.labels = gr.Dropdown(label="Labels", choices=[], value=[], multiselect=True)
                    with gr.Row():
                        self.date_from = gr.Textbox(label="From", placeholder="YYYY-MM-DD", max_length=10)
                        self.date_to = gr.Textbox(label="Until", placeholder="YYYY-MM-DD", max_length=10)
                self.tree = html_panel("documentTree", TREE_EVENTS, elem_id="tree")
                self.report = gr.HTML(elem_id="report")
            with gr.Column(elem_id="reading", min_width=0):
                self.reader = html_panel(
                    "reader", READER_EVENTS, elem_id="reader", value=str(render("pick_document.html"))
                )

    @property
    def filters(self) -> list[Any]:
        """The components that narrow the tree."""
        return [self.words, self.labels, self.date_from, self.date_to]

    def wire(self) -> None:
        """Connect what stays within the documents."""
        narrowing = [*self.filters, self.shown]
        for part in self.filters:
            part.change(self.tree_html, narrowing, self.tree, queue=False, **LATEST)
        self.tree.document(self.open, None, [self.reader, self.shown], **EACH)
        self.reader.section(self.go_to, None, [self.reader, self.shown], **EACH)
        self.reader.part(self.go_to, None, [self.reader, self.shown], **EACH)
        self.reader.document(self.open, None, [self.reader, self.shown], **EACH)

    # ------------------------------------------------------------------ reading

    @told
    def open(self, event: gr.EventData) -> tuple[str, str]:
        """Show a document."""
        name = data_of(event).get("id", "")
        return self.document(name), name

    def document(self, name: str, section_id: str = "") -> str:
        """A document's page, from one of its sections on."""
        return str(document_html(self._workspace, name, section_id=section_id))

    @told
    def go_to(self, event: gr.EventData) -> tuple[str, str]:
        """Another section, also of another document, or another part of the text."""
        data = data_of(event)
        first, name, document = data.get("first", ""), data.get("id", ""), data.get("document", "")
        if not document:
            section = load_section(self._workspace, name)
            if section is None:
                raise NotFound(
                    "This section is not in the graph any more.", "Its document was changed or removed."
                )
            document = section.places[0].document_id
        at = int(first) if first.isdigit() else None
        return str(document_html(self._workspace, document, section_id=name, first=at)), document

    # ------------------------------------------------------------------ the tree

    @told
    def tree_html(self, words: str, labels: list[str], date_from: str, date_to: str, shown: str) -> str:
        """The tree, narrowed."""
        found = library(
            self._workspace.corpus(),
            words=words or "",
            labels=labels or [],
            date_from=(date_from or "").strip(),
            date_to=(date_to or "").strip(),
        )
        return str(render("library.html", library=found, current=shown))

    def fresh(self) -> tuple[str, Any, str]:
        """Tree without filters, choices of labels, and the last sync's report, as they are now."""
        corpus = self._workspace.corpus()
        tree = render("library.html", library=library(corpus), current="")
        return str(tree), gr.Dropdown(choices=label_choices(corpus)), self.report_html()

    @told
    def tree_and_report(
        self, words: str, labels: list[str], date_from: str, date_to: str, shown: str
    ) -> tuple[str, Any, str]:
        """What the page shows when it is turned to."""
        choices = label_choices(self._workspace.corpus())
        return (
            self.tree_html(words, labels, date_from, date_to, shown),
            gr.Dropdown(choices=choices),
            self.report_html(),
        )

    def report_html(self) -> str:
        """What the last sync did, this server's or another process's."""
        job = self._workspace.ingestion.job
        if job.report is not None:
            return str(
                render(
                    "report.html",
                    report=job.report,
                    summary=job.report.summary(),
                    when=job.report.finished_at,
                )
            )
        try:
            kept = self._workspace.graph.keys.get(LAST_SYNC)
            facts = orjson.loads(kept) if kept else None
        except (EngineUnavailable, orjson.JSONDecodeError):
            facts = None
        if not isinstance(facts, dict):
            return ""
        report = SyncReport(**{one.name: facts[one.name] for one in fields(SyncReport) if one.name in facts})
        return str(render("report.html", report=report, summary=report.summary(), when=report.finished_at))

    # ------------------------------------------------------------------ changing

    def take_files(self, files: list[str] | None, user: str) -> Job | None:
        """Keep uploaded files and begin to read them.

        Raises:
            BadArgument: none of them was taken; says why.
        """
        if not files:
            return None
        workspace = self._workspace
        received = receive(
            [Path(file) for file in files],
            uploads_folder(workspace.uploads, user),
            workspace.staging,
            max_bytes=workspace.settings.upload_mb * 1_048_576,
        )
        for refusal in received.refused:
            gr.Warning(f"{refusal.name} was not taken: {refusal.reason}", title="Not a document")
        if not received.kept:
            return None
        return workspace.ingestion.sync([workspace.uploads], count(len(received.kept), "uploaded file"))

    def take_path(self, text: str) -> Job:
        """Begin to read a folder, zip or file of this machine.

        Raises:
            ConfigurationError: this server is shared, or there is nothing to read there.
        """
        if self._workspace.shared:
            raise ConfigurationError(
                "On a shared server folders are added by its owner.", "Upload files instead."
            )
        path = Path(text.strip()).expanduser()
        if not text.strip() or not path.is_absolute() or not path.exists():
            raise ConfigurationError(
                f"There is no {text.strip() or 'path'} on this machine.",
                "Give the whole path of a folder, zip or file.",
            )
        return self._workspace.ingestion.sync([path], path.name or str(path))

    def take_away(self, data: dict[str, str]) -> Job:
        """Begin to take a document or folder out of the graph; uploaded files are deleted, others left alone.

        Raises:
            NotFound: it is not there any more.
            BadArgument: nothing is named.
        """
        corpus = self._workspace.corpus()
        if name := data.get("document"):
            row = corpus.by_hash.get(name)
            if row is None:
                raise NotFound("This document is not in the graph any more.", "Reload the page.")
            sources = [place.source for place in row.places if place.source] or [row.source]
            return self._removing(sources, row.title or row.filename)
        if name := data.get("folder"):
            rows = [row for row in corpus.folders if row.folder_id == name]
            if not rows:
                raise NotFound("This folder is not in the graph any more.", "Reload the page.")
            places = [
                place.source
                for row in corpus.documents
                if row.content_hash in rows[0].documents
                for place in row.places
                if self._is_below(corpus, place.folder_id, name)
            ]
            return self._removing(places, rows[0].name)
        raise BadArgument("Nothing to remove was named.", "Reload the page.")

    def _removing(self, sources: list[str], name: str) -> Job:
        found = [removable(source, self._workspace.uploads) for source in sources]
        files = [file for file in found if file is not None]
        return self._workspace.ingestion.remove(sources, f"Removing {name}", files=files)

    @staticmethod
    def _is_below(corpus: Any, folder_id: str, ancestor: str) -> bool:
        parents = {row.folder_id: row.parent_id for row in corpus.folders}
        at: str | None = folder_id
        while at is not None:
            if at == ancestor:
                return True
            at = parents.get(at)
        return False
