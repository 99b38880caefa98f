"""Descriptions, summaries and keywords by a chat model: what makes a table of contents a map.

Sections first, many to a request; then documents, by their outlines with the new descriptions in them. What
is done is written at once, so an interrupted run goes on where it stopped. Very short sections keep their
first sentence as their description: a model has nothing to add.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from graph_agent.chat_models.asking import Asker
from graph_agent.ingest.decoding import clean_text
from graph_agent.ingest.enrichment import EnrichReport, Estimate, price
from graph_agent.ingest.items import Answer, Item, ask_all, keep_answers, key_of, known_answers, pack
from graph_agent.ingest.model_labels import label_by_model, labels_to_ask
from graph_agent.ingest.outlines import outline_of
from graph_agent.ingest.removal import places_below
from graph_agent.ingest.report import Progress, Silent
from graph_agent.prompts import Prompt, load
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.store.locking import ENRICH_LOCK, sync_lock
from graph_agent.store.queries import ingest as statements
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LEAST_TOKENS = 40
LONG_TOKENS = 400
SHORT_ANSWER, LONG_ANSWER = 70, 260  # output tokens of an item
HEAD_CHARS, TAIL_CHARS = 9_000, 3_000  # what a model reads of a longer section
DESCRIPTION_CHARS, SUMMARY_CHARS, KEYWORDS = 200, 1_500, 8
SHOW_EVERY_S = 10.0
BATCH = 500


class Note(BaseModel):
    """The entry of one item."""

    n: int
    description: str
    summary: str = ""
    keywords: list[str] = Field(default_factory=list)


class Notes(BaseModel):
    """The entries of all items."""

    notes: list[Note]


Target = tuple[str, Mapping[str, Any]]
"""Id of a node that an answer is for, and what else its statement needs to know of it."""


@dataclass
class _Work:
    """Items of one kind, one for each distinct text: those that the cache answers, and those to ask for.

    Attributes:
        targets: nodes that each answer is for, by the item's key.
    """

    known: list[tuple[Item, Answer]] = field(default_factory=list)
    open: list[Item] = field(default_factory=list)
    targets: dict[str, list[Target]] = field(default_factory=dict)


def estimate_enrichment(
    graph: DocumentGraph, settings: Settings, model_name: str, paths: Sequence[Path | str] | None = None
) -> Estimate:
    """What `enrich` with the same arguments would ask for; sends nothing and writes nothing.

    Raises:
        ConfigurationError: nothing is known below one of the paths.
    """
    prompt = load("enrich", settings.prompts)
    chosen = _documents(graph, paths)
    sections = _sort(graph, _section_items(graph, chosen, model_name, prompt))
    documents = _sort(graph, _document_items(graph, chosen, model_name, prompt))
    groups = [questions.open for questions in labels_to_ask(graph, settings, model_name, chosen)]
    known = len(sections.known) + len(documents.known)
    calls = read = written = 0
    system = estimate_tokens(prompt.text) + 150
    for items in (sections.open, documents.open, *groups):
        for batch in pack(items):
            calls += 1
            read += system + sum(item.input_tokens for item in batch)
            written += sum(item.output_tokens for item in batch)
    return Estimate(
        len(sections.open),
        len(documents.open),
        sum(map(len, groups)),
        known,
        calls,
        read,
        written,
        price(settings, read, written),
    )


def enrich(
    graph: DocumentGraph,
    model: BaseChatModel,
    settings: Settings,
    *,
    model_name: str,
    paths: Sequence[Path | str] | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> EnrichReport:
    """Describe the sections and documents of a graph, and give the labels that classify.toml leaves to a model.

    Args:
        graph: with documents.
        model: any chat model.
        settings: prompts folder and prices.
        model_name: names the model; with another one everything is described anew.
        paths: only documents at or below these; None for all.
        stop: when set, ends after the requests under way.

    Raises:
        ConfigurationError: nothing is known below one of the paths; a classify.toml with a fault.
        SyncInProgress: another process enriches this graph.
        ModelUnavailable: the model does not answer; what was finished stays.
    """
    progress = progress or Silent()
    began = time.perf_counter()
    asker = Asker(model, model_name, stop=stop)
    report = EnrichReport()
    try:
        with sync_lock(graph, name=ENRICH_LOCK) as held:
            held.write(statements.SET_DESCRIBER, {"name": model_name})
            run = _Run(held, asker, settings, report, progress, stop)
            chosen = _documents(held, paths)
            run.describe(
                "sections", "Describing sections", _section_items(held, chosen, model_name, run.prompt)
            )
            run.describe(
                "documents", "Describing documents", _document_items(held, chosen, model_name, run.prompt)
            )
            report.labels, failed = label_by_model(held, asker, settings, chosen, progress, stop)
            report.failed += failed
    finally:
        cost = asker.cost
        report.calls, report.input_tokens, report.output_tokens = (
            cost.calls,
            cost.input_tokens,
            cost.output_tokens,
        )
        report.cost = price(settings, cost.input_tokens, cost.output_tokens)
        report.seconds = round(time.perf_counter() - began, 3)
        if report.sections or report.documents:
            graph.write(statements.BUMP_VERSION)
    return report


class _Run:
    """One enrichment under way."""

    def __init__(
        self,
        graph: DocumentGraph,
        asker: Asker,
        settings: Settings,
        report: EnrichReport,
        progress: Progress,
        stop: threading.Event | None,
    ) -> None:
        self.prompt = load("enrich", settings.prompts)
        self._graph = graph
        self._asker = asker
        self._report = report
        self._progress = progress
        self._stop = stop
        self._shown = time.perf_counter()

    def describe(self, kind: str, stage: str, items: Iterable[tuple[Item, Mapping[str, Any]]]) -> None:
        """Apply what is known of some items, and ask for the rest."""
        work = _sort(self._graph, items)
        self._progress.stage(stage, len(work.known) + len(work.open))
        self._write(kind, work.known, work.targets)
        self._report.from_cache += len(work.known)

        def done(answered: Sequence[tuple[Item, Answer]]) -> None:
            keep_answers(self._graph, {item.key: answer for item, answer in answered})
            self._write(kind, answered, work.targets)

        unanswered = ask_all(
            self._asker, self.prompt, work.open, Notes, read=_read_notes, done=done, stop=self._stop
        )
        self._report.failed += len(unanswered)

    def _write(
        self, kind: str, answered: Sequence[tuple[Item, Answer]], targets: Mapping[str, list[Target]]
    ) -> None:
        written = _write(self._graph, kind, answered, targets)
        setattr(self._report, kind, getattr(self._report, kind) + written)
        self._progress.advance(len(answered))
        if written and time.perf_counter() - self._shown > SHOW_EVERY_S:
            self._graph.write(statements.BUMP_VERSION)
            self._shown = time.perf_counter()


def _write(
    graph: DocumentGraph,
    kind: str,
    answered: Sequence[tuple[Item, Answer]],
    targets: Mapping[str, list[Target]],
) -> int:
    """Put answers on the nodes that they are for; gives back how many nodes."""
    statement = statements.DESCRIBE_SECTIONS if kind == "sections" else statements.DESCRIBE_DOCUMENTS
    rows = [
        {
            "target": target,
            "key": item.key,
            "description": answer["description"],
            "summary": answer.get("summary") or None,
            "keywords": answer.get("keywords") or None,
            **facts,
        }
        for item, answer in answered
        for target, facts in targets[item.key]
    ]
    for start in range(0, len(rows), BATCH):
        graph.write(statement, {"rows": rows[start : start + BATCH]})
    return len(rows)


def reuse_descriptions(graph: DocumentGraph, settings: Settings) -> int:
    """Give documents that a sync made anew what the model last used had said of them before; asks nothing.

    Returns:
        How many sections and documents got theirs back.
    """
    name = str(graph.read(statements.DESCRIBER).scalar() or "")
    if not name:
        return 0
    prompt = load("enrich", settings.prompts)
    fresh = [row for row in _documents(graph, None) if row["enriched"] is None]
    written = 0
    for kind, items in (("sections", _section_items), ("documents", _document_items)):
        work = _sort(graph, items(graph, fresh, name, prompt))
        written += _write(graph, kind, work.known, work.targets)
    if written:
        graph.write(statements.BUMP_VERSION)
    return written


def _documents(graph: DocumentGraph, paths: Sequence[Path | str] | None) -> list[dict[str, Any]]:
    rows = graph.read(statements.DOCUMENTS_TO_DESCRIBE).dicts()
    if paths is None:
        return rows
    wanted = {place.content_hash for place in places_below(graph, paths)}
    return [row for row in rows if row["content_hash"] in wanted]


def _sort(graph: DocumentGraph, items: Iterable[tuple[Item, Mapping[str, Any]]]) -> _Work:
    """Which items are answered in the cache; equal texts are one item."""
    work = _Work()
    distinct: list[Item] = []
    for item, facts in items:
        if item.key not in work.targets:
            distinct.append(item)
        work.targets.setdefault(item.key, []).append((item.target, facts))
    answers = known_answers(graph, distinct)
    for item in distinct:
        answer = answers.get(item.key)
        if answer and answer.get("description"):
            work.known.append((item, answer))
        else:
            work.open.append(item)
    return work


def _section_items(
    graph: DocumentGraph, documents: Sequence[Mapping[str, Any]], model: str, prompt: Prompt
) -> Iterator[tuple[Item, Mapping[str, Any]]]:
    """Sections that have no description by this model and prompt yet."""
    for name in dict.fromkeys(row["markdown_hash"] for row in documents):
        for row in graph.read(statements.SECTIONS_TO_DESCRIBE, {"hash": name}).dicts():
            tokens = int(row["token_count"] or 0)
            if tokens < LEAST_TOKENS:
                continue
            text = " > ".join(row["breadcrumb"] or []) + "\n\n" + _bounded(row["text"] or "")
            key = key_of("section", model, prompt.hash, text)
            if row["enriched"] != key:
                yield _item(key, row["section_id"], text, tokens), {}


def _document_items(
    graph: DocumentGraph, documents: Sequence[Mapping[str, Any]], model: str, prompt: Prompt
) -> Iterator[tuple[Item, Mapping[str, Any]]]:
    """Documents whose outline, as it is now, has not been described by this model and prompt yet."""
    for row in documents:
        text = outline_of(graph, row)
        key = key_of("document", model, prompt.hash, text)
        if row["enriched"] != key:
            item = _item(key, row["content_hash"], text, int(row["token_count"] or 0))
            yield item, {"has_own": bool(row["has_own"])}


def _item(key: str, target: str, text: str, tokens: int) -> Item:
    long = tokens >= LONG_TOKENS
    return Item(key, target, text, LONG_ANSWER if long else SHORT_ANSWER, long)


def _bounded(text: str) -> str:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n[...]\n{text[-TAIL_CHARS:]}"


def _read_notes(reply: Notes) -> dict[int, Answer]:
    """The usable entries of a reply by number: one line each, bounded; the first of several for one item."""
    found: dict[int, Answer] = {}
    for note in reply.notes:
        description = _line(note.description, DESCRIPTION_CHARS).rstrip(".")
        if not description or note.n in found:
            continue
        keywords = [word for each in note.keywords if (word := _line(each, 60))]
        found[note.n] = {
            "description": description,
            "summary": _line(note.summary, SUMMARY_CHARS),
            "keywords": list(dict.fromkeys(keywords))[:KEYWORDS],
        }
    return found


def _line(text: str, limit: int) -> str:
    line = " ".join(clean_text(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "\u2026"
