"""How long a tool takes on the 10,000-section eips graph: medians over calls with changing arguments.

    python -m graph_agent.evals.bench.tool_latency [--calls 200] [--data DIR] [--json FILE]

Bars: each schema tool 20 ms, tables of contents and section content 30 ms, the overview from cache 2 ms.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from graph_agent.embeddings import load_embedder
from graph_agent.evals.bench.corpora import DATA
from graph_agent.ingest import SyncOptions, sync
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, call_tool

SEED = 5
BARS_MS = {
    "get_graph_overview": 2,
    "get_node_labels": 20,
    "get_edge_types": 20,
    "get_node_label_counts": 20,
    "get_edge_type_counts": 20,
    "get_property_types": 20,
    "get_folder_toc": 30,
    "get_document_toc": 30,
    "get_section_content": 30,
}


def measure(context: ToolContext, calls: int) -> dict[str, dict[str, float]]:
    """Median and 95th percentile in milliseconds of each tool that has a bar.

    Args:
        context: tools over the eips graph.
        calls: of each tool.
    """
    call_tool(context, "get_graph_overview")
    found = {}
    for name, bar in BARS_MS.items():
        arguments = _arguments(context, name)
        call_tool(context, name, next(arguments))
        times = []
        for _ in range(calls):
            given = next(arguments)
            began = time.perf_counter()
            call_tool(context, name, given)
            times.append(1_000 * (time.perf_counter() - began))
        found[name] = {
            "median_ms": round(float(np.median(times)), 2),
            "p95_ms": round(float(np.percentile(times, 95)), 2),
            "bar_ms": float(bar),
        }
    return found


def _arguments(context: ToolContext, name: str) -> Iterator[dict[str, Any]]:
    """Arguments of one tool after another, drawn once from everything there is."""
    chance = random.Random(SEED)  # noqa: S311 - drawing a sample
    documents = [row.filename for row in context.listing.current().documents]
    if name == "get_document_toc":
        return cycle([{"document_id": document} for document in chance.sample(documents, len(documents))])
    if name == "get_section_content":
        ids = [row[0] for row in context.graph.read("MATCH (s:MarkdownSection) RETURN s.section_id").rows]
        return cycle([{"section_ids": [section]} for section in chance.sample(ids, len(ids))])
    if name == "get_property_types":
        return cycle([{}, {"label": "Document"}, {"label": "MarkdownSection"}])
    return cycle([{}])


def main(arguments: list[str] | None = None) -> int:
    """Ingest without vectors, measure, print; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--data", type=Path, help="data folder to keep and use again")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args(arguments)
    corpus = DATA / "eips" / "corpus"
    if not corpus.is_dir():
        print(f"There is no data at {corpus}: it comes with a development checkout.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="graph-agent-bench-") as folder:
        settings = Settings(data=options.data or Path(folder), graph="eips")
        with DocumentGraph.open(settings) as graph:
            sync(graph, load_embedder(settings), [corpus], SyncOptions(vectors=False))
            found = measure(ToolContext(graph), options.calls)
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return int(any(row["median_ms"] > row["bar_ms"] for row in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
