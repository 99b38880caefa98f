"""Labels by a chat model, for facets of `classify.toml` that say `model = true`: only what the rules leave open.

A label that a model gave is marked so on its edge (source `model`), with how sure it was, and is kept as long
as the rules still leave the facet open for that document.
"""

from __future__ import annotations

import functools
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from graph_agent.chat_models.asking import Asker
from graph_agent.ingest.items import Answer, Item, ask_all, keep_answers, key_of, known_answers
from graph_agent.ingest.labelling import metadata_of
from graph_agent.ingest.labels import Classification, Facet, load_classification
from graph_agent.ingest.outlines import outline_of
from graph_agent.ingest.report import Progress
from graph_agent.prompts import load
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

ANSWER_TOKENS = 30


class Choice(BaseModel):
    """The value of one document."""

    n: int
    value: str
    confidence: float


class Choices(BaseModel):
    """The values of all documents."""

    choices: list[Choice]


@dataclass
class Questions:
    """One facet, and the documents whose value is open.

    Attributes:
        known: answered before.
        open: to be asked.
    """

    facet: Facet
    known: list[tuple[Item, Answer]] = field(default_factory=list)
    open: list[Item] = field(default_factory=list)


def labels_to_ask(
    graph: DocumentGraph, settings: Settings, model_name: str, documents: Sequence[Mapping[str, Any]]
) -> list[Questions]:
    """What the rules leave open, facet by facet.

    Args:
        documents: rows of DOCUMENTS_TO_DESCRIBE.

    Raises:
        ConfigurationError: a classify.toml with a fault; names file and line.
    """
    prompt = load("label", settings.prompts)
    chosen = {str(row["content_hash"]): row for row in documents}
    given = {
        (row["content_hash"], row["facet"])
        for row in graph.read(statements.PRESENT_LABELS).dicts()
        if row["source"] == "model"
    }
    rules: dict[str, Classification] = {}
    found: dict[str, tuple[Facet, list[Item]]] = {}
    outlines: dict[str, str] = {}
    for row in graph.read(statements.LABEL_SUBJECTS).dicts():
        name = str(row["content_hash"])
        if name not in chosen:
            continue
        root = str(row["source"]).removesuffix("/" + str(row["path"]))
        if root not in rules:
            rules[root] = load_classification(Path(root)) if Path(root).is_dir() else Classification()
        facets = {facet.name: facet for facet in rules[root].facets}
        for facet, resolution in rules[root].resolve(row["path"], metadata_of(row["properties"])).items():
            if resolution.value is not None or resolution.source != "model" or (name, facet) in given:
                continue
            if name not in outlines:
                outlines[name] = outline_of(graph, chosen[name])
            asked = preface_of(facets[facet])
            key = key_of("label", model_name, prompt.hash, asked, outlines[name])
            _, items = found.setdefault(asked, (facets[facet], []))
            items.append(Item(key, name, outlines[name], ANSWER_TOKENS))
    return [_sorted(graph, facet, items) for facet, items in found.values()]


def label_by_model(
    graph: DocumentGraph,
    asker: Asker,
    settings: Settings,
    documents: Sequence[Mapping[str, Any]],
    progress: Progress,
    stop: threading.Event | None,
) -> tuple[int, int]:
    """Ask for what the rules leave open and write the labels.

    Returns:
        (labels given, documents without a usable answer).

    Raises:
        ConfigurationError: a classify.toml with a fault. ModelUnavailable: what was finished stays.
    """
    prompt = load("label", settings.prompts)
    given = failed = 0
    for questions in labels_to_ask(graph, settings, asker.name, documents):
        facet = questions.facet
        progress.stage(f"Labelling: {facet.name}", len(questions.known) + len(questions.open))
        written = [_write(graph, facet, questions.known)]
        progress.advance(len(questions.known))

        def done(
            answered: Sequence[tuple[Item, Answer]], facet: Facet = facet, written: list[int] = written
        ) -> None:
            keep_answers(graph, {item.key: answer for item, answer in answered})
            written.append(_write(graph, facet, answered))
            progress.advance(len(answered))

        names = {value.name.casefold(): value.name for value in facet.values}
        failed += len(
            ask_all(
                asker,
                prompt,
                questions.open,
                Choices,
                preface=preface_of(facet) + "\n\n",
                read=functools.partial(_read_choices, names=names),
                done=done,
                stop=stop,
            )
        )
        given += sum(written)
    if given:
        graph.write(statements.BUMP_VERSION)
    return given, failed


def preface_of(facet: Facet) -> str:
    """The question of a facet with the values that may answer it, as a model reads it."""
    values = "\n".join(f"- {value.name}: {value.description}".rstrip(": ") for value in facet.values)
    return f"Question: {facet.question or facet.name}\nValues:\n{values}"


def _sorted(graph: DocumentGraph, facet: Facet, items: Sequence[Item]) -> Questions:
    answers = known_answers(graph, items)
    questions = Questions(facet)
    for item in items:
        if item.key in answers:
            questions.known.append((item, answers[item.key]))
        else:
            questions.open.append(item)
    return questions


def _read_choices(reply: Choices, *, names: Mapping[str, str]) -> dict[int, Answer]:
    """Usable choices by number; "" is one, an unknown value is none."""
    found: dict[int, Answer] = {}
    for choice in reply.choices:
        value = names.get(choice.value.strip().casefold())
        if value is None and choice.value.strip():
            continue
        confidence = choice.confidence if 0.0 <= choice.confidence <= 1.0 else 0.0
        found.setdefault(choice.n, {"value": value or "", "confidence": round(confidence, 3)})
    return found


def _write(graph: DocumentGraph, facet: Facet, answered: Sequence[tuple[Item, Answer]]) -> int:
    by_value: dict[str, list[list[Any]]] = defaultdict(list)
    for item, answer in answered:
        if value := str(answer.get("value") or ""):
            by_value[value].append([item.target, facet.name, value, "model", answer.get("confidence")])
    rows = [row for group in by_value.values() for row in group]
    if rows:
        graph.write(statements.MERGE_LABELS, {"rows": rows})
        descriptions = {value.name: value.description for value in facet.values}
        described = [[facet.name, value, descriptions.get(value, ""), facet.question] for value in by_value]
        graph.write(statements.DESCRIBE_LABELS, {"rows": described})
    return len(rows)
