"""Whether every passage finds itself, also after many syncs of edits, deletions and new files.

    python -m graph_agent.evals.bench.self_probe [--documents 120] [--syncs 40] [--sample 500]

A real engine and real syncs of eips. Keywords: a passage's own text puts it, or one of equal text, first.
Vectors: it, or one of equal text, is among the first three for 99 % at least.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

import platformdirs

from graph_agent.embeddings import load_embedder
from graph_agent.evals.bench.corpora import DATA, SEED
from graph_agent.ingest import sync
from graph_agent.retrieval import Retriever
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.vector_cache import VectorCache


def probe(retriever: Retriever, graph: DocumentGraph, sample: int, draw: random.Random) -> dict[str, float]:
    """Shares of sampled passages that find themselves: first by keywords, in the first three by vectors."""
    rows = graph.read(
        "MATCH (:Folder)-[:CONTAINS]->(d:Document) WITH DISTINCT d.markdown_hash AS hash "
        "MATCH (c:SectionChunk {markdown_hash: hash}) RETURN c.text"
    ).rows
    texts = [row[0] for row in draw.sample(rows, min(sample, len(rows)))]
    first = near = 0
    for text in texts:
        wanted = _plain(text)
        hits = retriever.search(text, mode="bm25", limit=1, per="chunk").hits
        first += bool(hits) and _plain(hits[0].text) == wanted
        hits = retriever.search(text, mode="vector", limit=3, per="chunk").hits
        near += any(_plain(hit.text) == wanted for hit in hits)
    return {
        "passages": len(rows),
        "sampled": len(texts),
        "keywords": first / len(texts),
        "vectors": near / len(texts),
    }


def _plain(text: str) -> str:
    return " ".join(text.split())


def disturb(root: Path, draw: random.Random) -> None:
    """Edit a few files, remove one, add one."""
    files = sorted(root.glob("*.md"))
    for path in draw.sample(files, 3):
        lines = path.read_text("utf-8").splitlines()
        at = draw.randrange(len(lines))
        lines[at:at] = [
            "",
            f"Amendment {draw.randrange(10**6)}: the clause above holds for block {draw.random():.6f}.",
            "",
        ]
        path.write_text("\n".join(lines), "utf-8")
    copied = draw.choice(files)
    text = copied.read_text("utf-8").replace("the", "this", 20)
    draw.choice(files).unlink()
    (root / f"new-{draw.randrange(10**6)}.md").write_text(text, "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Sync, disturb, probe; the exit code says whether both shares are reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--syncs", type=int, default=40)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("graph-agent", False)))
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        print(f"There is no data at {DATA}: it comes with a development checkout.", file=sys.stderr)
        return 2
    draw = random.Random(SEED)  # noqa: S311 - a fixed course of edits
    source = sorted((DATA / "eips" / "corpus").rglob("*.md"))
    with tempfile.TemporaryDirectory(prefix="graph-agent-probe-") as folder:
        root = Path(folder) / "eips"
        root.mkdir()
        for path in draw.sample(source, min(options.documents, len(source))):
            shutil.copy(path, root / path.name)
        settings = Settings(data=Path(folder) / "data")
        embedder = load_embedder(settings)
        embedder._cache = VectorCache(options.cache / "bench-vectors.sqlite")
        with DocumentGraph.open(settings) as graph:
            retriever = Retriever(graph, embedder, settings)
            sync(graph, embedder, [root])
            found = {"fresh": probe(retriever, graph, options.sample, draw)}
            for _ in range(options.syncs):
                disturb(root, draw)
                sync(graph, embedder, [root])
            found[f"after {options.syncs} syncs"] = probe(retriever, graph, options.sample, draw)
            found["another process's view"] = probe(
                Retriever(graph, embedder, settings), graph, options.sample, draw
            )
    print(json.dumps(found, indent=1))
    return 0 if all(each["keywords"] == 1.0 and each["vectors"] >= 0.99 for each in found.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
