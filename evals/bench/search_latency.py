"""How long a search takes, embedding of the question included, and how that compares with peers.

    python -m graph_agent.evals.bench.search_latency [--chunks 10000] [--queries 200] [--peers]

A real engine, a corpus made of eips (see `synthetic`), questions never asked before. Peers, when they are
installed (extra `bench`), get the same passages, the same vectors and the same embedding model in the same
run: LanceDB hybrid, Chroma vectors, bm25s.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from graph_agent.embeddings import Embedder, VectorCache, load_embedder
from graph_agent.evals.bench import peers, synthetic
from graph_agent.evals.bench.corpora import DATA
from graph_agent.retrieval import Retriever
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph

LIMIT = 8


def timed(run: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds of one call after another: median, 95th percentile."""
    times = []
    for question in questions:
        began = time.perf_counter()
        run(question)
        times.append(1_000 * (time.perf_counter() - began))
    return {
        "median_ms": round(float(np.median(times)), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
    }


def measure_ours(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, questions: list[str]
) -> dict[str, Any]:
    """Opening, unscoped and scoped searches, and eight threads at once."""
    found: dict[str, Any] = {}
    for name in ("first_open_s", "open_s"):  # the first fills the caches on the server
        began = time.perf_counter()
        retriever = Retriever(graph, embedder, settings)
        retriever.corpus()
        found[name] = round(time.perf_counter() - began, 2)
    retriever.search("warm up", limit=LIMIT, per="chunk")
    third = len(questions) // 3
    fresh, more, cached = questions[:third], questions[third : 2 * third], questions[2 * third :]
    found["hybrid"] = timed(lambda text: retriever.search(text, limit=LIMIT, per="chunk"), fresh)
    rows = retriever.corpus().documents
    scope = retriever.scope(document=rows[len(rows) // 2].path)
    found["in one document"] = timed(
        lambda text: retriever.search(text, limit=LIMIT, per="chunk", scope=scope), more
    )
    found["again, embedding cached"] = timed(
        lambda text: retriever.search(text, limit=LIMIT, per="chunk"), fresh
    )
    for text in cached:
        embedder.embed_query(text)
    began = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: retriever.search(text, limit=LIMIT, per="chunk"), cached * 3))
    found["threads_8_per_second"] = round(3 * len(cached) / (time.perf_counter() - began), 1)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200, help="questions per measurement")
    parser.add_argument("--peers", action="store_true", help="measure the peers that are installed, too")
    parser.add_argument(
        "--mirror-limit", type=int, default=250_000, help="0: the engine searches the vectors"
    )
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("graph-agent", False)))
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        print(f"There is no data at {DATA}: it comes with a development checkout.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="graph-agent-bench-") as folder:
        settings = Settings(data=Path(folder), mirror_limit=options.mirror_limit)
        embedder = load_embedder(settings)
        embedder._cache = VectorCache(options.cache / "bench-vectors.sqlite")
        corpus = synthetic.make(options.chunks, embedder)
        questions = synthetic.questions(corpus, 3 * options.queries)
        embedder.embed_query("warm up")
        found: dict[str, Any] = {
            "chunks": options.chunks,
            "query_embedding": timed(lambda text: embedder.embed_query(text + " "), questions[:50]),
        }
        with DocumentGraph.open(settings) as graph:
            began = time.perf_counter()
            synthetic.write(graph, corpus, embedder.name)
            found["engine"] = f"{graph.engine.kind} {graph.engine.version}"
            found["write_s"] = round(time.perf_counter() - began, 1)
            found["ours"] = measure_ours(graph, embedder, settings, questions)
        if options.peers:
            _forget(embedder)
            found["peers"] = peers.measure(
                corpus, embedder, questions[: options.queries], Path(folder), timed, LIMIT
            )
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0


def _forget(embedder: Embedder) -> None:
    """Peers must embed the questions as we had to."""
    embedder._queries.clear()


if __name__ == "__main__":
    raise SystemExit(main())
