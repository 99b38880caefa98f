"""A process that asks one question and tells its stages, for tests that kill it.

python agent_child.py DATA CONVERSATIONS GRAPH THREAD QUESTION
"""

from __future__ import annotations

import sys
from pathlib import Path

from graph_agent.agent import Finished, GraphAgent, StageFinished, StageStarted
from graph_agent.agent.checkpoints import sqlite_saver
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph

data, conversations, graph_name, thread, question = sys.argv[1:]
settings = load_settings(data=Path(data), model="scripted", embeddings="local", falkordb_url="")
with DocumentGraph.open(settings, name=graph_name) as graph:
    agent = GraphAgent(graph, settings, checkpointer=sqlite_saver(Path(conversations)))
    for event in agent.stream(question, thread):
        if isinstance(event, StageStarted | StageFinished):
            print(f"{type(event).__name__} {event.stage}", flush=True)
        if isinstance(event, Finished):
            print("Finished", flush=True)
