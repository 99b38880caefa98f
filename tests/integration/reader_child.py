"""A process with several readers: `python reader_child.py DATA GRAPH READERS SECONDS`; prints what they met as JSON."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from pathlib import Path

from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, call_tool

WORDS = ("text", "part", "edition", "more", "edited", "heading", "plain", "nothing")
THINK_S = 0.15  # 20 readers of one request every 0.15 s and its own time


def main() -> None:
    data, name, readers, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    settings = load_settings(data=Path(data), embeddings="local", falkordb_url="", model="")
    times: list[tuple[float, float]] = []
    errors: list[str] = []
    memory: list[tuple[float, float]] = []
    with DocumentGraph.open(settings, name=name) as graph:
        context = ToolContext.open(graph, settings)
        asks = (
            lambda rng: call_tool(context, "search_sections", {"query": rng.choice(WORDS), "mode": "bm25"}),
            lambda rng: call_tool(
                context, "search_sections", {"query": f"{rng.choice(WORDS)} {rng.randrange(50)}"}
            ),
            lambda rng: call_tool(context, "list_documents", {}),
            lambda rng: call_tool(
                context,
                "graph_query",
                {"cypher": "MATCH (d:Document)-[:HAS_SECTION]->(s) RETURN d.path, count(s)"},
            ),
        )
        asks[1](random.Random(0))  # the embedding model and the mirror are loaded
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.time() + seconds

        def read(seed: int) -> None:
            rng = random.Random(seed)
            while time.time() < end:
                began = time.time()
                try:
                    rng.choice(asks)(rng)
                    times.append((began, time.time() - began))
                except Exception as error:
                    errors.append(f"{type(error).__name__}: {error}")
                time.sleep(THINK_S * rng.random() * 2)

        threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            pages = (
                int(Path("/proc/self/statm").read_text().split()[1])
                if Path("/proc/self/statm").exists()
                else 0
            )
            memory.append((time.time(), pages * 4096 / 2**20))
            time.sleep(0.5)
    print(json.dumps({"times": times, "errors": errors, "memory": memory}))


if __name__ == "__main__":
    main()
