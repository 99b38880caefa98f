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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from graph_agent.embeddings import Embedder, load_embedder
from graph_agent.evals.bench import peers, synthetic
from graph_agent.evals.bench.corpora import DATA
from graph_agent.retrieval import Retriever
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.store.schema import rebuild_vector_index
from graph_agent.vector_cache import VectorCache

LIMIT = 8


def timed(run: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds of one call after another: median, 95th percentile."""
    return side_by_side({"": run}, questions, lambda: None)[""]


def side_by_side(
    searches: Mapping[str, Callable[[str], object]], questions: Sequence[str], before: Callable[[], None]
) -> dict[str, dict[str, float]]:
    """Every search with every question in turn, so that a busy moment of the machine meets all alike.

    Args:
        searches: by name.
        questions: asked of each.
        before: called before each search, outside of its time.
    """
    times: dict[str, list[float]] = {name: [] for name in searches}
    names = list(searches)
    for turn, question in enumerate(questions):
        for step in range(len(names)):  # whoever comes first finds the processor's caches cold: take turns
            name = names[(turn + step) % len(names)]
            before()
            began = time.perf_counter()
            searches[name](question)
            times[name].append(1_000 * (time.perf_counter() - began))
    return {
        name: {
            "median_ms": round(float(np.median(own)), 1),
            "p95_ms": round(float(np.percentile(own, 95)), 1),
        }
        for name, own in times.items()
    }


def measure_ours(
    retriever: Retriever,
    embedder: Embedder,
    questions: list[str],
    others: Mapping[str, Callable[[str], object]],
) -> dict[str, Any]:
    """Unscoped searches beside the peers', searches in one document, and eight threads at once."""
    rows = retriever.corpus().documents
    scope = retriever.scope(document=rows[len(rows) // 2].path)

    def ask(text: str) -> object:
        return retriever.search(text, limit=LIMIT, per="chunk")

    third = len(questions) // 3
    fresh, more, cached = questions[:third], questions[third : 2 * third], questions[2 * third :]
    for run in (ask, *others.values()):
        run("warm up")
    # A question is embedded anew for each: the model's time is part of every search but bm25s'
    asked = side_by_side({"hybrid": ask, **others}, fresh, embedder._queries.clear)
    found: dict[str, Any] = {"hybrid": asked.pop("hybrid"), "peers": asked}
    found["in one document"] = timed(
        lambda text: retriever.search(text, limit=LIMIT, per="chunk", scope=scope), more
    )
    for text in (*fresh, *cached):
        embedder.embed_query(text)
    found["again, embedding cached"] = timed(ask, fresh)
    began = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, cached * 3))
    found["threads_8_per_second"] = round(3 * len(cached) / (time.perf_counter() - began), 1)
    return found


def measure_index(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, questions: list[str]
) -> dict[str, Any]:
    """The engine's vector index: time to build, recall of the true first ten, time of a search."""
    exact = Retriever(graph, embedder, settings)
    by_engine = Retriever(graph, embedder, settings.model_copy(update={"mirror_limit": 0}))
    began = time.perf_counter()
    rebuild_vector_index(graph, embedder.dimension, wait=True)
    found: dict[str, Any] = {"build_s": round(time.perf_counter() - began, 1)}
    shared = 0
    ways = set()
    for text in questions:
        true = exact.search(text, mode="vector", limit=10, per="chunk").hits
        result = by_engine.search(text, mode="vector", limit=10, per="chunk")
        ways.add(result.explanation["queries"][0]["vectors"])
        shared += len({hit.chunk_id for hit in true} & {hit.chunk_id for hit in result.hits})
    found["ways"] = sorted(ways)
    found["recall_at_10"] = round(shared / (10 * len(questions)), 4)
    found["hybrid"] = timed(lambda text: by_engine.search(text, limit=LIMIT, per="chunk"), questions)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200, help="questions per measurement")
    parser.add_argument("--peers", action="store_true", help="measure the peers that are installed, too")
    parser.add_argument("--index", action="store_true", help="measure the engine's vector index, too")
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
        others: Mapping[str, Callable[[str], object]] = {}
        if options.peers:
            others, found["peers_built_s"] = peers.build_all(corpus, embedder, Path(folder), LIMIT)
        with DocumentGraph.open(settings) as graph:
            began = time.perf_counter()
            synthetic.write(graph, corpus, embedder.name)
            found["engine"] = f"{graph.engine.kind} {graph.engine.version}"
            found["write_s"] = round(time.perf_counter() - began, 1)
            began = time.perf_counter()
            retriever = Retriever(graph, embedder, settings)
            retriever.corpus()
            found["open_s"] = round(time.perf_counter() - began, 2)
            found["ours"] = measure_ours(retriever, embedder, questions, others)
            found["peers"] = found["ours"].pop("peers")
            if options.index:
                found["index"] = measure_index(graph, embedder, settings, questions[:100])
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
