"""The first stage: what sort of graph it is and what it holds, from the cached skeleton."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from graph_agent.agent.stage import Step
from graph_agent.agent.state import GraphKind, State, Update
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from graph_agent.retrieval.corpus import Corpus
    from graph_agent.store.skeleton import Skeleton

MOST_FOLDERS = 2_000
SHOWN_NAMES = 80  # labels, relationships kept as data; the text has its own bound
COLLECTION_TOKENS = 450


async def run(state: State, step: Step) -> Update:
    """Ask for the overview, and tell documents from other graphs."""
    outcome = await step.tool("get_graph_overview")
    if outcome.failed:
        step.note(f"The overview failed: {outcome.content}")
    skeleton, kind, corpus = await asyncio.to_thread(_held, step)
    facts = facts_of(skeleton)
    if isinstance(outcome.artifact, dict):
        facts["dropped"] = outcome.artifact.get("dropped") or outcome.artifact.get("left_out") or {}
    overview = "" if outcome.failed else outcome.content
    if corpus is not None:
        overview = f"{overview}\n{collection(corpus)}"
        facts["collection"] = {
            "documents": len(corpus.documents),
            "folders": [folder.path for folder in corpus.folders][:MOST_FOLDERS],
            "places": list(places(corpus))[:SHOWN_NAMES],
            "facets": {facet: list(values)[:20] for facet, values in corpus.facets.items()},
        }
    step.counts = {
        "node_types": len(skeleton.labels),
        "nodes": skeleton.nodes,
        "relationships": skeleton.edges,
    }
    step.detail = {"kind": kind, "tokens": estimate_tokens(overview)}
    return {"kind": kind, "overview": overview, "overview_facts": facts}


def _held(step: Step) -> tuple[Skeleton, GraphKind, Corpus | None]:
    """What the graph holds, its kind, and of our own documents the view that search has."""
    context = step.services.tool_context
    skeleton = context.overview.current()
    kind = kind_of(skeleton)
    return skeleton, kind, context.retriever.corpus() if kind == "documents" else None


def kind_of(skeleton: Skeleton) -> GraphKind:
    """documents: our own model; empty: nothing, or nothing but GraphMeta; foreign: anything else."""
    labels = set(skeleton.labels)
    if {"Document", "MarkdownSection"} <= labels:
        return "documents"
    if not labels - {"GraphMeta", "Folder", "Label"}:
        return "empty"
    return "foreign"


def facts_of(skeleton: Skeleton) -> dict[str, Any]:
    """The skeleton's names and counts as JSON types, bounded."""
    return {
        "labels": dict(list(skeleton.labels.items())[:SHOWN_NAMES]),
        "all_labels": len(skeleton.labels),
        "edge_types": dict(list(skeleton.edge_types.items())[:SHOWN_NAMES]),
        "triples": [[t.source, t.type, t.target, t.count] for t in skeleton.triples[:SHOWN_NAMES]],
        "pending": skeleton.pending,
        "vectors": sorted({fact.owner for fact in skeleton.properties if "VECTOR" in fact.indexes}),
    }


def places(corpus: Corpus) -> dict[str, int]:
    """Folders as a reader knows them, below the root that was ingested, with the documents right in them."""
    counts: dict[str, int] = {}
    for row in corpus.documents:
        place = row.path.rpartition("/")[0]
        counts[place] = counts.get(place, 0) + 1
    return dict(sorted(counts.items()))


def collection(corpus: Corpus) -> str:
    """What documents there are, in a few lines: folders, facets, titles as far as they fit."""
    lines = [f"Collection: {len(corpus.documents)} documents in {len(corpus.folders)} folders."]
    shown = [f"{place} ({count})" for place, count in places(corpus).items() if place]
    if shown:
        lines.append("Folders: " + ", ".join(shown[:25]))
    lines += [
        f"Label {facet}: " + ", ".join(f"{value} ({count})" for value, count in list(values.items())[:15])
        for facet, values in list(corpus.facets.items())[:8]
    ]
    left = COLLECTION_TOKENS - sum(estimate_tokens(line) for line in lines)
    titles: list[str] = []
    for row in corpus.documents:
        title = f"{row.title or row.filename} ({row.path})"
        left -= estimate_tokens(title) + 1
        if left < 0:
            break
        titles.append(title)
    if titles:
        more = len(corpus.documents) - len(titles)
        lines.append("Documents: " + "; ".join(titles) + (f"; and {more} more." if more else "."))
    return "\n".join(lines)
