"""Whether hybrid search is ever worse than its better half: nDCG@10 of each leg and of both, per set.

    python -m graph_agent.evals.bench.retrieval_quality [--sets rust,xquad-en] [--embeddings local]

Prints a table and, with --json FILE, writes the numbers. Embeddings are kept in --cache, so a second run
takes seconds. A set passes when the paired bootstrap 95 % interval of hybrid minus the better leg does not
fall below -0.01; all sets together when the pooled difference is above 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import platformdirs

from graph_agent.embeddings import Embedder, load_embedder
from graph_agent.evals.bench import peers
from graph_agent.evals.bench.corpora import (
    DATA,
    SETS,
    Built,
    Question,
    QuestionSet,
    bootstrap,
    build,
    ndcg,
)
from graph_agent.retrieval import Retriever
from graph_agent.retrieval.results import Mode
from graph_agent.settings import Settings
from graph_agent.vector_cache import VectorCache

LIMIT = 30
MODES: tuple[Mode, ...] = ("bm25", "vector", "hybrid")
ALLOWED = -0.01


def measure(name: str, embedder: Embedder, settings: Settings, *, with_peers: bool = False) -> dict[str, Any]:
    """Per-question nDCG@10 of each mode on one set, and the mean of each peer that is installed."""
    chosen = SETS[name]()
    began = time.perf_counter()
    built = build(chosen.root, chosen.files, embedder)
    seconds = time.perf_counter() - began
    retriever = Retriever(None, embedder, settings, source=built.source)
    gains: dict[str, list[float]] = {mode: [] for mode in MODES}
    for question in chosen.questions:
        for mode in MODES:
            gains[mode].append(_gain(retriever, question, mode))
    found: dict[str, Any] = {"set": chosen.name, "chunks": len(built.passages), "gains": gains}
    found["build_seconds"] = round(seconds, 1)
    if with_peers:
        found["peers"] = _peers(built, embedder, chosen)
    return found


def _peers(built: Built, embedder: Embedder, chosen: QuestionSet) -> dict[str, float | str]:
    paths = {row.markdown_hash: row.path for row in reversed(built.corpus.documents)}
    units = {
        passage.chunk_id: (paths[passage.chunk_id.split("::")[0]], passage.section_title)
        for passage in built.passages
    }
    found: dict[str, float | str] = {}
    with tempfile.TemporaryDirectory(prefix="graph-agent-peers-") as folder:
        for name, build_peer in {**peers.PEERS, peers.SAME_TERMS: peers.bm25s_same_terms}.items():
            try:
                search = build_peer(built, embedder, Path(folder), 3 * LIMIT)
            except ImportError as error:
                found[name] = f"not installed ({error.name})"
                continue
            gains = [
                ndcg(list(dict.fromkeys(units[each] for each in search(question.text))), question.gold)
                for question in chosen.questions
            ]
            found[name] = round(sum(gains) / len(gains), 4)
    return found


def _gain(retriever: Retriever, question: Question, mode: Mode) -> float:
    result = retriever.search(question.text, mode=mode, limit=LIMIT)
    ranked = list(dict.fromkeys((hit.path, hit.section_title) for hit in result.hits))
    return ndcg(ranked, question.gold)


def summarise(measured: dict[str, Any]) -> dict[str, Any]:
    """Means, and hybrid against the better leg with its interval."""
    gains = measured["gains"]
    means = {mode: sum(values) / len(values) for mode, values in gains.items()}
    best = max(("bm25", "vector"), key=lambda mode: means[mode])
    differences = [both - one for both, one in zip(gains["hybrid"], gains[best], strict=True)]
    low, high = bootstrap(differences)
    return {
        "set": measured["set"],
        "questions": len(differences),
        "chunks": measured["chunks"],
        **{mode: round(value, 4) for mode, value in means.items()},
        "better_leg": best,
        "difference": round(sum(differences) / len(differences), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "passes": low >= ALLOWED,
        "peers": measured.get("peers", {}),
        "differences": differences,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say by the exit code whether every set passes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS), help="names of sets, parted by commas")
    parser.add_argument("--embeddings", default="local", help="as GRAPH_AGENT_EMBEDDINGS")
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("graph-agent", False)))
    parser.add_argument("--peers", action="store_true", help="measure the peers that are installed, too")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        print(f"There is no data at {DATA}: it comes with a development checkout.", file=sys.stderr)
        return 2
    settings = Settings(embeddings=options.embeddings, data=options.cache)
    embedder = load_embedder(settings)
    embedder._cache = VectorCache(options.cache / "bench-vectors.sqlite")
    rows = []
    print(
        f"{'set':24} {'n':>4} {'chunks':>6} {'bm25':>6} {'vector':>6} {'hybrid':>6} {'diff':>7}  95 % interval"
    )
    for name in options.sets.split(","):
        row = summarise(measure(name, embedder, settings, with_peers=options.peers))
        rows.append(row)
        print(
            f"{row['set']:24} {row['questions']:4} {row['chunks']:6} {row['bm25']:6.3f} {row['vector']:6.3f} "
            f"{row['hybrid']:6.3f} {row['difference']:+7.3f}  [{row['low']:+.3f}, {row['high']:+.3f}]"
            f"{'' if row['passes'] else '  BELOW'}",
            flush=True,
        )
        if row["peers"]:
            print("    " + ", ".join(f"{peer} {value}" for peer, value in row["peers"].items()), flush=True)
    pooled = [value for row in rows for value in row["differences"]]
    low, high = bootstrap(pooled)
    print(f"pooled over {len(pooled)} questions: {sum(pooled) / len(pooled):+.4f} [{low:+.4f}, {high:+.4f}]")
    if options.json:
        options.json.write_text(json.dumps({"sets": rows, "pooled": {"low": low, "high": high}}, indent=1))
    return 0 if all(row["passes"] for row in rows) and sum(pooled) > 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
