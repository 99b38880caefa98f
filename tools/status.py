"""What there is, and whether all is well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graph_agent.errors import GraphAgentError
from graph_agent.retrieval.corpus import Corpus
from graph_agent.store import survey
from graph_agent.store.keys import LAST_SYNC
from graph_agent.store.locking import LOCK
from graph_agent.store.queries import navigation as statements
from graph_agent.store.queries.schema import SCHEMA_VERSION
from graph_agent.store.schema import OPERATIONAL, indexes, read_meta
from graph_agent.store.unread import unread
from graph_agent.tools.bounds import OUTPUT_TOKENS, output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool

FAILURES_SHOWN = 20
VALUES_SHOWN = (50, 20, 8, 3, 1)  # of a facet; the first number with which all fits


@tool("documents", reading=False)
def status(context: ToolContext) -> ToolResult:
    """What is in the graph and whether all is well: counts, labels, dates, the last sync, problems.

    JSON: engine with version, graph, counts of folders, documents, sections and chunks, embedding model and
    dimension, lastSync (when, added, changed, moved, deleted, failed: files of all folders that could not be read, with reasons), labels (facets with their
    values, descriptions and document counts: what query_documents takes as labels), dates (first and last),
    syncing, and problems. It always answers, also on an empty or broken graph.
    """
    report: dict[str, Any] = {
        "engine": _engine(context),
        "graph": context.graph.name,
        "counts": {"folders": 0, "documents": 0, "sections": 0, "chunks": 0, "vectors": 0},
        "embedding": {"model": None, "dimension": None},
        "schemaVersion": None,
        "lastSync": None,
        "labels": {},
        "dates": {"first": None, "last": None},
        "syncing": False,
        "problems": [],
    }
    problems: list[str] = report["problems"]
    if not context.graph.engine.protected:
        problems.append(
            "The FalkorDB server asks for no password: whoever reaches it can read and change everything. "
            "Set requirepass or an ACL user there, and put it into GRAPH_AGENT_FALKORDB_URL."
        )
    for part in (_counts, _documents, _embedding, _sync, _indexes):
        with _noted(problems):
            part(context, report)
        if problems and problems[-1].startswith("The engine"):
            break  # each further question would wait for it as long again
    return ToolResult(_content(report), report)


@contextmanager
def _noted(problems: list[str]) -> Iterator[None]:
    """What fails is told, and the rest is still answered."""
    try:
        yield
    except GraphAgentError as error:
        where = "The engine does not answer: " if error.exit_code == 3 else ""
        problems.append(f"{where}{error}")


Part = Callable[[ToolContext, dict[str, Any]], None]


def _engine(context: ToolContext) -> dict[str, Any]:
    engine = context.graph.engine
    return {
        "kind": engine.kind,
        "version": engine.version_text,
        "redisVersion": engine.redis_version,
        "address": engine.address,
    }


def _counts(context: ToolContext, report: dict[str, Any]) -> None:
    counts = survey.count(context.graph)
    labels = counts.labels
    report["counts"] |= {
        "folders": labels.get("Folder", 0),
        "sections": labels.get("MarkdownSection", 0),
        "chunks": labels.get("SectionChunk", 0),
    }
    if not counts.nodes:
        report["problems"].append(
            f"The graph {context.graph.name!r} is empty. Ingest a folder with: graph-agent ingest FOLDER"
        )
    elif not labels.get("Document") and not labels.get("Folder"):
        report["problems"].append(
            f"The graph {context.graph.name!r} holds no documents but other data ({', '.join(list(labels)[:5])}): "
            "use the graph and schema tools."
        )


def _documents(context: ToolContext, report: dict[str, Any]) -> None:
    corpus = context.listing.current()
    report["counts"]["documents"] = len(corpus.documents)
    dates = sorted(row.date for row in corpus.documents if row.date)
    report["dates"] = {"first": dates[0] if dates else None, "last": dates[-1] if dates else None}
    report["labels"] = _labels(context, corpus)
    if corpus.documents and not report["counts"]["sections"]:
        report["problems"].append("The documents have no sections. Re-sync with: graph-agent ingest FOLDER")


def _labels(context: ToolContext, corpus: Corpus) -> dict[str, Any]:
    described = {
        (row["facet"], row["value"]): row for row in context.graph.read(statements.LABEL_DESCRIPTIONS).dicts()
    }
    counts: dict[str, dict[str, int]] = {facet: dict(values) for facet, values in corpus.facets.items()}
    for facet, value in described:
        if not (isinstance(facet, str) and isinstance(value, str)):
            continue  # somebody else's :Label
        counts.setdefault(facet, {}).setdefault(value, 0)
    found: dict[str, Any] = {}
    for facet, values in counts.items():
        rows = []
        for value, count in values.items():
            text = described.get((facet, value), {}).get("description")
            rows.append({"value": value, "documents": count, **({"description": text} if text else {})})
        found[facet] = rows
    return found


def _embedding(context: ToolContext, report: dict[str, Any]) -> None:
    meta = read_meta(context.graph)
    chunks = report["counts"]["chunks"]
    if meta is None:
        if report["counts"]["documents"]:
            report["problems"].append(
                "The graph says nothing of its schema and embedding model. Re-sync with: graph-agent ingest FOLDER"
            )
        return
    report["schemaVersion"] = meta.schema_version
    report["embedding"] = {"model": meta.embedding_model, "dimension": meta.dimension}
    if meta.schema_version < SCHEMA_VERSION:
        report["problems"].append(
            f"The graph is of schema version {meta.schema_version}, this program writes {SCHEMA_VERSION}. "
            "Re-sync with: graph-agent ingest FOLDER"
        )
    vectors = int(context.graph.read(statements.COUNT_VECTORS).scalar(0) or 0)
    report["counts"]["vectors"] = vectors
    if vectors < chunks:
        report["problems"].append(
            f"{chunks - vectors} of {chunks} passages have no vector yet: they are found by keywords only. "
            "The next ingest goes on with them."
        )
    name = context.embedder.name
    if meta.embedding_model and name != meta.embedding_model:
        report["problems"].append(
            f"The graph's vectors are of {meta.embedding_model}, the embedding model set now is {name}: search is by "
            "keywords only. Set GRAPH_AGENT_EMBEDDINGS back, or run: graph-agent reembed"
        )


def _sync(context: ToolContext, report: dict[str, Any]) -> None:
    keys = context.graph.keys
    if not keys.available:
        return
    report["syncing"] = keys.get(LOCK) is not None
    data = keys.get(LAST_SYNC)
    if data is None:
        return
    try:
        last = json.loads(data)
        report["lastSync"] = {
            "when": last.get("finished_at"),
            **{name: last.get(name, 0) for name in ("added", "changed", "moved", "deleted", "unchanged")},
            "failed": unread(keys),
        }
    except (ValueError, AttributeError):
        report["problems"].append(
            "The report of the last sync cannot be read. The next sync writes a new one."
        )


def _indexes(context: ToolContext, report: dict[str, Any]) -> None:
    building = sorted({row["label"] for row in indexes(context.graph) if row["status"] != OPERATIONAL})
    if building:
        report["problems"].append(
            f"Indexes on {', '.join(building)} are being built; search works meanwhile."
        )


def _content(report: dict[str, Any]) -> str:
    """The report as JSON, with as many values of each facet as fit."""
    text = ""
    for values in VALUES_SHOWN:
        text = json.dumps(_shown(report, values), ensure_ascii=False, indent=1)
        if output_tokens(text) <= OUTPUT_TOKENS:
            return text
    return json.dumps(_shown(report, 0), ensure_ascii=False, indent=1)


def _shown(report: dict[str, Any], values: int) -> dict[str, Any]:
    """The report with long lists cut and counted, and how to get the rest."""
    labels: dict[str, Any] = {}
    for facet, rows in report["labels"].items():
        rest = len(rows) - values
        where = f"facet: {json.dumps(facet, ensure_ascii=False)}"
        more = f"and {rest} more; graph_query lists them: MATCH (l:Label {{{where}}}) RETURN l.value ORDER BY l.value"
        labels[facet] = [*rows[:values], *([more] if rest > 0 else [])]
    if values == 0:
        rest = len(labels)
        labels = {"": f"{rest} facets; graph_query lists them: MATCH (l:Label) RETURN DISTINCT l.facet"}
    last = report["lastSync"]
    if last and len(last["failed"]) > FAILURES_SHOWN:
        rest = len(last["failed"]) - FAILURES_SHOWN
        more = f"and {rest} more; the command `graph-agent tool status --artifact` shows all"
        last = {**last, "failed": [*last["failed"][:FAILURES_SHOWN], more]}
    return {**report, "labels": labels, "lastSync": last}
