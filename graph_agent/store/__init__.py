"""FalkorDB, and the only code that talks to it."""

from graph_agent.store.engine_info import EngineInfo
from graph_agent.store.graph import DocumentGraph, Result

__all__ = ["DocumentGraph", "EngineInfo", "Result"]
