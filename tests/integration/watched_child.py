"""A whole session under watch: ingest, search, ask, back up, restore; prints what it unpickled and where it connected.

python watched_child.py DATA CORPUS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

seen: dict[str, list[str]] = {"pickle": [], "connect": [], "listen": []}


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "pickle.find_class":
        seen["pickle"].append(repr(arguments))
    elif event == "socket.connect":
        seen["connect"].append(repr(arguments[1]))
    elif event == "socket.bind":
        seen["listen"].append(repr(arguments[1]))


def main() -> None:
    """The session; its packages are imported under watch, too."""
    from graph_agent.agent import GraphAgent
    from graph_agent.embeddings import load_embedder
    from graph_agent.ingest import sync
    from graph_agent.ingest.report import Silent
    from graph_agent.settings import load_settings
    from graph_agent.store import DocumentGraph, moving

    data, corpus = Path(sys.argv[1]), Path(sys.argv[2])
    settings = load_settings(data=data, embeddings="local", falkordb_url="", model="")
    with DocumentGraph.open(settings) as graph:
        sync(graph, load_embedder(settings), [corpus])
        with GraphAgent(graph, settings) as agent:
            answer = agent.ask("Who pays refunds?", thread_id="t")
        with GraphAgent(graph, settings) as agent:
            agent.ask("And when?", thread_id="t")
        moving.backup(graph, data / "b.zip", Silent())
        moving.restore(graph.select("again"), data / "b.zip", Silent(), files=False)
    print(json.dumps({**seen, "answer": answer.answer}))


if __name__ == "__main__":
    sys.addaudithook(watch)
    main()
