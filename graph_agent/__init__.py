"""Questions to document collections, answered through a graph with citations that open the passage.

Importing this package opens nothing and reads nothing; the names below are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.agent import GraphAgent
    from graph_agent.settings import Settings, load_settings
    from graph_agent.store import DocumentGraph
    from graph_agent.tools import DocumentGraphToolkit

__version__ = "0.1.0"

_HOMES = {
    "DocumentGraph": "graph_agent.store",
    "DocumentGraphToolkit": "graph_agent.tools",
    "GraphAgent": "graph_agent.agent",
    "Settings": "graph_agent.settings",
    "load_settings": "graph_agent.settings",
}
__all__ = ["DocumentGraph", "DocumentGraphToolkit", "GraphAgent", "Settings", "__version__", "load_settings"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
