"""The graphs that a run asks: documents ingested into a graph of their own, property graphs loaded from files.

A graph's name carries what it was made of and how, so that runs which differ only in how they ask share it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_agent.errors import ConfigurationError
from graph_agent.evals.options import OF_THE_GRAPH
from graph_agent.evals.questions import QuestionSet, digest_of
from graph_agent.settings import Settings

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.ingest.report import Progress
    from graph_agent.retrieval import Retriever
    from graph_agent.store import DocumentGraph

PREFIX = "eval-"
log = logging.getLogger(__name__)


@dataclass
class Prepared:
    """What a run asks.

    Attributes:
        graph: the graph of documents, or of the settings.
        others: loaded graphs by name in the set.
        facts: name, version, documents and their digest, for the manifest and the run's key.
        notes: what could not be taken.
    """

    graph: DocumentGraph
    embedder: Embedder
    retriever: Retriever
    others: dict[str, DocumentGraph] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@contextmanager
def prepared(
    chosen: QuestionSet,
    settings: Settings,
    *,
    ingest: bool,
    progress: Progress,
    base: DocumentGraph | None = None,
) -> Iterator[Prepared]:
    """Bring what the set is about into the engine, and let go of it at the end.

    Args:
        chosen: the set.
        settings: where the engine is, and how to ingest.
        ingest: False asks the settings' own graph as it is.
        progress: shows reading and embedding.
        base: an open graph whose connection is shared; it stays the caller's.

    Raises:
        ConfigurationError: the set has no documents, and the settings' graph is empty.
        EngineUnavailable: no engine.
    """
    from graph_agent.store import DocumentGraph

    opened = None if base is not None else DocumentGraph.open(settings)
    try:
        connection = (base or opened).connection  # type: ignore[union-attr]
        yield _prepare(
            chosen,
            settings,
            ingest,
            progress,
            lambda name: DocumentGraph(connection, settings, name, owns=False),
        )
    finally:
        if opened is not None:
            opened.close()


def _prepare(
    chosen: QuestionSet,
    settings: Settings,
    ingest: bool,
    progress: Progress,
    select: Callable[[str], DocumentGraph],
) -> Prepared:
    from graph_agent.embeddings import load_embedder
    from graph_agent.retrieval import Retriever

    embedder = load_embedder(settings)
    corpus = _corpus(chosen, settings) if ingest else None
    graph = select(graph_name(chosen, corpus, settings) if corpus else settings.graph)
    notes = _ingest(graph, embedder, corpus, progress) if corpus is not None else []
    # The first to read a new graph keeps its vectors in half precision for all later ones. It is not this run:
    # the questions before and after an interruption have to see the same numbers.
    Retriever(graph, embedder, settings).corpus()
    prepared = Prepared(graph, embedder, Retriever(graph, embedder, settings), notes=notes)
    for name, folder in chosen.graphs.items():
        prepared.others[name] = _loaded(chosen, name, folder, progress, select)
    prepared.facts = _facts(prepared, chosen.graphs)
    if not chosen.graphs and not prepared.facts["documents"]:
        raise ConfigurationError(
            f"{chosen.name} brings no documents, and the graph {graph.name!r} has none.",
            "Ingest some, or name a set with a corpus folder.",
        )
    return prepared


def graph_name(chosen: QuestionSet, corpus: Path, settings: Settings) -> str:
    """Name of the graph for a corpus: by its folder, and by the settings that decide what a graph looks like."""
    how = {name: value for name, value in settings.model_dump(mode="json").items() if name in OF_THE_GRAPH}
    digest = digest_of([str(corpus.resolve()), how])[:8]
    return f"{PREFIX}{slug(chosen.name)}-{digest}"


def slug(name: str) -> str:
    """A name for ids and files: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40] or "set"


def _corpus(chosen: QuestionSet, settings: Settings) -> Path | None:
    if chosen.documents is None:
        return chosen.corpus
    source = str(chosen.source.resolve()) if chosen.source else chosen.name
    home = settings.data / "evals" / "corpora" / f"{slug(chosen.name)}-{digest_of(source)[:8]}"
    home.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for name, text in chosen.documents():
        wanted.add(name)
        path = home / name
        data = text.encode("utf-8", "replace")
        if not path.is_file() or path.stat().st_size != len(data) or path.read_bytes() != data:
            path.write_bytes(data)
    for path in home.iterdir():
        if path.name not in wanted:
            path.unlink()
    return home


def _ingest(graph: DocumentGraph, embedder: Embedder, corpus: Path, progress: Progress) -> list[str]:
    from graph_agent.ingest import SyncOptions, sync

    report = sync(graph, embedder, [corpus], SyncOptions(wait_s=3_600.0), progress)
    log.info("%s: %s", graph.name, report.summary())
    notes = [f"{failure.path} was not taken: {failure.reason}" for failure in report.failed[:20]]
    if len(report.failed) > 20:
        notes.append(f"{len(report.failed) - 20} more files were not taken.")
    if report.vectors_pending:
        notes.append(f"{report.vectors_pending} passages had no vector.")
    return notes


def _loaded(
    chosen: QuestionSet, name: str, folder: Path, progress: Progress, select: Callable[[str], DocumentGraph]
) -> DocumentGraph:
    from graph_agent.evals.graph_files import load_graph

    if not (folder / "nodes.jsonl").is_file():
        raise ConfigurationError(
            f"There is no graph {name!r} in {folder}.", "It is nodes.jsonl and edges.jsonl."
        )
    progress.stage(f"Loading {name}", 1)
    graph = select(f"{PREFIX}{slug(chosen.name)}-{slug(name)}")
    load_graph(graph, folder)
    progress.advance(1)
    return graph


def _facts(prepared: Prepared, graphs: Mapping[str, Path]) -> dict[str, Any]:
    if graphs:
        return {"graphs": {name: graph.name for name, graph in prepared.others.items()}}
    corpus = prepared.retriever.corpus()
    documents = sorted((row.path, row.content_hash, row.markdown_hash) for row in corpus.documents)
    coverage = corpus.coverage
    return {
        "name": prepared.graph.name,
        "version": prepared.graph.version(),
        "documents": len(documents),
        "chunks": coverage.chunks,
        "with_vectors": coverage.with_vectors,
        "digest": digest_of(documents),
    }
