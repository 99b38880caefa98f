"""The chat: conversations on the left, the answer in the middle, its evidence on the right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import gradio as gr

from graph_agent.errors import NotFound
from graph_agent.ui.answering import answerer
from graph_agent.ui.components import EACH, LATEST, data_of, html_panel, script_panel, told, user_of
from graph_agent.ui.evidence import cited_html, load_section, section_html
from graph_agent.ui.examples import examples
from graph_agent.ui.scope import ScopeInputs, inputs_from, scope_view
from graph_agent.ui.templates import render
from graph_agent.ui.turn import Turn
from graph_agent.ui.wording import count

if TYPE_CHECKING:
    from graph_agent.ui.conversations import StoredTurn
    from graph_agent.ui.workspace import Workspace

MAX_QUESTION = 20_000

FEED_EVENTS = ("cite", "ask", "judge", "console", "adding", "sample")
LIST_EVENTS = ("open", "fresh", "title", "remove")
EVIDENCE_EVENTS = ("section", "document")


class ChatPage:
    """Components and handlers of the chat; `lay_out` inside a Blocks, then `wire`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def lay_out(self) -> None:
        """Make the components."""
        self.conversation = gr.State("")
        with gr.Row(elem_id="chat"):
            with gr.Column(elem_id="list", min_width=0, scale=0):
                self.list = html_panel("conversations", LIST_EVENTS, elem_id="conversations")
            with gr.Column(elem_id="middle", min_width=0):
                self.feed = script_panel("feed", FEED_EVENTS, elem_id="feed")
                self.live = script_panel("live", (), elem_id="live")
                self.judged = script_panel("judged", (), elem_id="judged")
                with gr.Column(elem_id="ask", min_width=0):
                    self._lay_out_scope()
                    self.box = gr.Textbox(
                        elem_id="question",
                        label="Question",
                        show_label=False,
                        container=False,
                        placeholder="Ask about your documents",
                        lines=1,
                        max_lines=8,
                        max_length=MAX_QUESTION,
                        submit_btn=True,
                        autofocus=True,
                    )
                    self.used = gr.HTML(elem_id="used")
            with gr.Column(elem_id="evidence-column", min_width=0, scale=0):
                self.evidence = html_panel("evidence", EVIDENCE_EVENTS, elem_id="evidence")

    def _lay_out_scope(self) -> None:
        self.chips = html_panel("panel", ("clear",), elem_id="scope-chips")
        with gr.Accordion("Scope", open=False, elem_id="scope"), gr.Row():
            self.folder = gr.Dropdown(label="Folder", choices=[], value=None, allow_custom_value=False)
            self.document = gr.Dropdown(label="Document", choices=[], value=None, allow_custom_value=False)
            self.labels = gr.Dropdown(label="Labels", choices=[], value=[], multiselect=True)
            self.date_from = gr.Textbox(label="From", placeholder="YYYY-MM-DD", max_length=10)
            self.date_to = gr.Textbox(label="Until", placeholder="YYYY-MM-DD", max_length=10)

    @property
    def scope_inputs(self) -> list[Any]:
        """The components that make a scope, in the order of `inputs_from`."""
        return [self.folder, self.document, self.labels, self.date_from, self.date_to]

    def wire(self) -> None:
        """Connect what stays within the chat."""
        answers = [self.live, self.box, self.conversation, self.list]
        streamed = {**EACH, "outputs": answers, "concurrency_limit": None}
        self.box.submit(self.ask_typed, [self.box, self.conversation, *self.scope_inputs], **streamed)
        self.feed.ask(self.ask_clicked, [self.conversation, *self.scope_inputs], **streamed)
        self.box.stop(self.stop, [self.conversation], None, **EACH)
        self.feed.cite(self.cite, None, self.evidence, **EACH)
        self.feed.judge(self.judge, None, self.judged, **EACH)
        self.evidence.section(self.open_section, None, self.evidence, **EACH)
        opened = [self.feed, self.list, self.conversation, self.evidence, self.box]
        self.list.open(self.open_conversation, None, opened, **EACH)
        self.list.fresh(self.new_conversation, None, opened, **EACH)
        self.list.title(self.rename, [self.conversation], self.list, **EACH)
        self.list.remove(self.remove, [self.conversation], opened, **EACH)
        for part in self.scope_inputs:
            part.change(self.show_scope, self.scope_inputs, self.chips, queue=False, **LATEST)
        self.chips.clear(self.clear_scope, self.scope_inputs, self.scope_inputs, **EACH)

    # ------------------------------------------------------------------ asking

    @told
    async def ask_typed(
        self,
        text: str,
        conversation: str,
        folder: Any,
        document: Any,
        labels: Any,
        date_from: Any,
        date_to: Any,
        request: gr.Request,
    ) -> AsyncGenerator[Any]:
        """Answer what stands in the box."""
        given = inputs_from(folder, document, labels, date_from, date_to)
        answered = self._answered(text, conversation, given, "", user_of(request), typed=True)
        async with aclosing(answered) as pieces:
            async for shown in pieces:
                yield shown

    @told
    async def ask_clicked(
        self,
        conversation: str,
        folder: Any,
        document: Any,
        labels: Any,
        date_from: Any,
        date_to: Any,
        request: gr.Request,
        event: gr.EventData,
    ) -> AsyncGenerator[Any]:
        """Answer an example, or an earlier question anew."""
        data = data_of(event)
        given = inputs_from(folder, document, labels, date_from, date_to)
        again = data.get("from", "")
        answered = self._answered(data.get("question", ""), conversation, given, again, user_of(request))
        async with aclosing(answered) as pieces:
            async for shown in pieces:
                yield shown

    async def _answered(
        self, text: str, conversation: str, given: ScopeInputs, again: str, user: str, *, typed: bool = False
    ) -> AsyncGenerator[Any]:
        question = text.strip()[:MAX_QUESTION]
        if not question:
            yield gr.skip(), gr.skip(), gr.skip(), gr.skip()
            return
        questions = self._workspace.questions
        begun = await questions.begin(user, question, given, conversation=conversation, again=again)
        turn, about = begun.turn, begun.conversation
        try:
            first = {**turn.view(), "conversation": about, "opens": not conversation, "cut": again}
            busy = gr.Textbox(submit_btn=False, stop_btn=True)
            if typed:
                busy = gr.Textbox(value="", submit_btn=False, stop_btn=True)
            yield first, busy, about, gr.skip()
            listed = await asyncio.to_thread(self.list_html, user, about)
            yield gr.skip(), gr.skip(), gr.skip(), listed
            async with aclosing(questions.work(user, begun)) as news:
                async for _ in news:
                    yield {**turn.view(), "conversation": about}, gr.skip(), gr.skip(), gr.skip()
        finally:
            # Also when the page went away: what was found so far is kept.
            await asyncio.shield(questions.end(user, begun))
        ready = gr.Textbox(submit_btn=True, stop_btn=False)
        yield {**turn.view(), "conversation": about}, ready, gr.skip(), gr.skip()

    @told
    async def stop(self, conversation: str, request: gr.Request) -> None:
        """Stop what is being answered in this conversation."""
        stored = await asyncio.to_thread(self._turns, user_of(request), conversation)
        self._workspace.questions.stop(one.id for one in stored)

    # ------------------------------------------------------------------ evidence and judgement

    @told
    def cite(self, request: gr.Request, event: gr.EventData) -> str:
        """The passage behind [n]."""
        data = data_of(event)
        number = int(data.get("n", 0))
        passage, citation = self._turn(user_of(request), data.get("turn", "")).passage(number)
        return str(cited_html(self._workspace, number, passage, citation))

    @told
    def open_section(self, event: gr.EventData) -> str:
        """Another section in the panel."""
        section = load_section(self._workspace, data_of(event).get("id", ""))
        if section is None:
            raise NotFound(
                "This section is not in the graph any more.", "Its document was changed or removed."
            )
        return str(section_html(section))

    @told
    def judge(self, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        """Keep what the reader thinks of an answer; the page says so when it is kept."""
        data = data_of(event)
        turn, reason = data.get("turn", ""), data.get("reason", "")
        value = {"1": 1, "-1": -1}.get(data.get("value", ""))
        self._workspace.conversations.judge(user_of(request), turn, value, reason)
        return {"turn": turn, "said": "Saved. Thank you." if reason.strip() else "", "at": time.time()}

    # ------------------------------------------------------------------ conversations

    def feed_value(self, user: str, conversation: str) -> dict[str, Any]:
        """What the feed shows: a conversation, or the welcome."""
        turns = [self._shown(one).view() for one in self._turns(user, conversation)]
        welcome = "" if turns else str(self.welcome())
        # The time makes every value a new one: the same conversation may be opened twice.
        return {"conversation": conversation, "turns": turns, "welcome": welcome, "at": time.time()}

    def welcome(self) -> str:
        """The page before the first question."""
        workspace = self._workspace
        empty = workspace.is_empty()
        return str(
            render(
                "welcome.html",
                documents=not empty,
                reading=empty and workspace.ingestion.job.running,
                examples=[] if empty else examples(workspace.graph),
                sample=workspace.sample is not None,
                local=not workspace.shared,
            )
        )

    def list_html(self, user: str, conversation: str) -> str:
        """The list of conversations."""
        found = self._workspace.conversations.recent(user)
        return str(render("conversations.html", conversations=found, current=conversation))

    def opened(self, user: str, conversation: str) -> tuple[Any, ...]:
        """Feed, list, state, evidence and box for a conversation; "" is a new one."""
        running = any(one.id in self._workspace.active for one in self._turns(user, conversation))
        box = gr.Textbox(submit_btn=not running, stop_btn=running)
        return self.feed_value(user, conversation), self.list_html(user, conversation), conversation, "", box

    @told
    def open_conversation(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """Go on with a conversation."""
        return self.opened(user_of(request), data_of(event).get("id", ""))

    @told
    def new_conversation(self, request: gr.Request) -> tuple[Any, ...]:
        """Begin a new one; it is kept from its first question on."""
        return self.opened(user_of(request), "")

    @told
    def rename(self, conversation: str, request: gr.Request, event: gr.EventData) -> str:
        """Give a conversation another title."""
        data = data_of(event)
        user = user_of(request)
        self._workspace.conversations.rename(user, data.get("id", ""), data.get("title", ""))
        return self.list_html(user, conversation)

    @told
    async def remove(self, conversation: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """Delete a conversation, and the agent's memory of it."""
        user, name = user_of(request), data_of(event).get("id", "")
        if not await self._workspace.questions.delete(user, name):
            gr.Warning(
                "It is deleted here. The agent's memory of it could not be deleted yet; that is tried again.",
                title="Not all of it is gone",
            )
        if name == conversation:
            return await asyncio.to_thread(self.opened, user, "")
        listed = await asyncio.to_thread(self.list_html, user, conversation)
        return gr.skip(), listed, gr.skip(), gr.skip(), gr.skip()

    def _turns(self, user: str, conversation: str) -> list[StoredTurn]:
        if not conversation:
            return []
        return self._workspace.conversations.turns(user, conversation)

    def _turn(self, user: str, name: str) -> Turn:
        return self._shown(self._workspace.conversations.turn(user, name))

    def _shown(self, stored: StoredTurn) -> Turn:
        running = self._workspace.active.get(stored.id)
        return running[0] if running is not None else Turn.from_stored(stored)

    # ------------------------------------------------------------------ scope and the line below

    @told
    def show_scope(self, folder: Any, document: Any, labels: Any, date_from: Any, date_to: Any) -> str:
        """The chips of the scope."""
        return self.chips_html(inputs_from(folder, document, labels, date_from, date_to))

    def chips_html(self, given: ScopeInputs) -> str:
        """The chips of a scope, "" when nothing restricts the question."""
        if given.is_empty:
            return ""
        return str(render("scope.html", view=scope_view(self._workspace.corpus(), given)))

    @told
    def clear_scope(
        self, folder: Any, document: Any, labels: Any, date_from: Any, date_to: Any, event: gr.EventData
    ) -> tuple[Any, ...]:
        """Take one part of the scope away, or all of it."""
        name = data_of(event).get("name", "all")
        values = {
            "folder": folder,
            "document": document,
            "labels": labels,
            "date_from": date_from,
            "date_to": date_to,
        }
        empty: dict[str, Any] = {
            "folder": None,
            "document": None,
            "labels": [],
            "date_from": "",
            "date_to": "",
        }
        return tuple(empty[part] if name in {part, "all"} else value for part, value in values.items())

    def used_html(self) -> str:
        """The line that says who answers, what leaves this machine, and how much is searched."""
        settings = self._workspace.settings
        corpus = self._workspace.corpus()
        coverage = corpus.coverage
        share = 100 * coverage.with_vectors // coverage.chunks if coverage.chunks else 100
        return str(
            render(
                "used.html",
                who=answerer(self._workspace),
                documents=count(len(corpus.documents), "document"),
                passages=count(coverage.chunks, "passage"),
                share=share,
                embeddings=settings.embeddings if ":" in settings.embeddings else "",
                rerank=settings.rerank or "",
            )
        )
