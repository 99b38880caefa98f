"""How soon an ingested folder can be searched, what an unchanged one costs, and what embedding adds to the model.

    python -m graph_agent.evals.bench.ingest_speed [--vectors] [--documents N] [--json FILE]

A real engine in a folder of its own, the 949 proposals. `--vectors` embeds as well, with nothing cached, and
the embedding model alone on the same passages before and after it: the ratio is what the graph adds.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from graph_agent.embeddings import load_embedder
from graph_agent.evals.bench.corpora import DATA
from graph_agent.evals.bench.measurement import Measurement, hand_over, parser
from graph_agent.ingest import SyncOptions, sync
from graph_agent.retrieval import Retriever
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.text import passage_text
from graph_agent.tools import ToolContext, call_tool

RESYNCS = 5
SAMPLE = 600  # passages that the model embeds alone, before and after
_PASSAGES = """
MATCH (s:MarkdownSection)-[:HAS_CHUNK]->(c:SectionChunk)
RETURN s.breadcrumb AS breadcrumb, c.text AS text ORDER BY c.chunk_id
"""


def until_search(corpus: Path, data: Path) -> list[Measurement]:
    """Seconds from the start of ingest to search results and tables of contents; then unchanged syncs."""
    settings = Settings(data=data, graph="eips")
    embedder = load_embedder(settings)
    with DocumentGraph.open(settings) as graph:
        began = time.perf_counter()
        report = sync(graph, embedder, [corpus], SyncOptions(vectors=False))
        written = time.perf_counter() - began
        context = ToolContext(graph, Retriever(graph, embedder, settings), settings)
        rows = call_tool(context, "search_sections", {"query": "gas cost of a storage write", "mode": "bm25"})
        toc = call_tool(context, "get_document_toc", {"document_id": context.retriever.corpus().documents[0].content_hash})  # fmt: skip
        usable = time.perf_counter() - began
        if not rows.artifact or not toc.content:
            raise AssertionError("nothing was found after ingest")
        version = graph.version()
        times = []
        for _ in range(RESYNCS):
            began = time.perf_counter()
            again = sync(graph, embedder, [corpus], SyncOptions(vectors=False))
            times.append(time.perf_counter() - began)
        wrote = float(again.wrote or graph.version() != version)
    name = f"eips, {report.added} files, {report.chunks} chunks"
    return [
        Measurement(f"{name}: search and contents usable", round(usable, 2), "s", 10.0, note=f"written after {written:.1f} s"),
        Measurement("unchanged re-sync", round(statistics.median(times), 2), "s", 3.0, note=f"median of {RESYNCS}"),
        Measurement("unchanged re-sync: writes", wrote, "", 0.0),
    ]  # fmt: skip


def with_vectors(corpus: Path, data: Path) -> list[Measurement]:
    """Wall time of a whole ingest against the embedding model alone on the same passages."""
    settings = Settings(data=data, graph="eips")
    embedder = load_embedder(settings)
    embedder.embed_query("warm up")
    with DocumentGraph.open(settings) as graph:
        began = time.perf_counter()
        report = sync(graph, embedder, [corpus])
        whole = time.perf_counter() - began
        rows = graph.read(_PASSAGES).rows
    texts = list(dict.fromkeys(passage_text(trail or [], text) for trail, text in rows))
    step = max(1, len(texts) // SAMPLE)
    embedder._cache = None
    began = time.perf_counter()
    sample = texts[::step]
    embedder.embed_passages(sample)
    alone = (time.perf_counter() - began) / len(sample) * len(texts)
    return [
        Measurement(f"whole ingest, {report.vectors} vectors", round(whole, 1), "s"),
        Measurement(
            "whole ingest / embedding model alone", round(whole / alone, 3), "ratio", 1.15,
            note=f"the model alone on {len(sample)} of {len(texts)} distinct passages, right after",
        ),
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    made = parser(__doc__ or "")
    made.add_argument("--vectors", action="store_true", help="embed, too")
    made.add_argument("--documents", type=int, help="only so many files")
    options = made.parse_args(arguments)
    corpus = DATA / "eips" / "corpus"
    if not corpus.is_dir():
        print(f"There is no data at {corpus}: it comes with a development checkout.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="graph-agent-bench-") as folder:
        if options.documents:
            files = sorted(corpus.rglob("*.md"))[: options.documents]
            corpus = Path(folder) / "some"
            corpus.mkdir()
            for path in files:
                shutil.copy(path, corpus / path.name)
        measure = with_vectors if options.vectors else until_search
        found = measure(corpus, Path(folder) / "data")
    return hand_over(found, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
