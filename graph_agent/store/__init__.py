"""FalkorDB, and the only code that talks to it."""

from graph_agent.store.connection import EngineInfo
from graph_agent.store.graph import DocumentGraph, Result

__all__ = ["DocumentGraph", "EngineInfo", "Result"]
