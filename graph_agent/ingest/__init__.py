"""A file becomes nodes: discovery, conversion, sections, chunks, and keeping the graph in step with folders.

The names below are loaded on first use: the conversion process imports its converters and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.ingest.enriching import enrich, estimate_enrichment
    from graph_agent.ingest.enrichment import EnrichReport, Estimate
    from graph_agent.ingest.report import FileFailure, Progress, Silent, SyncReport
    from graph_agent.ingest.syncing import SyncOptions, preview, reembed, remove, sync
    from graph_agent.ingest.watching import watch_folders

_HOMES = {
    **dict.fromkeys(("EnrichReport", "Estimate"), "enrichment"),
    **dict.fromkeys(("enrich", "estimate_enrichment"), "enriching"),
    **dict.fromkeys(("FileFailure", "Progress", "Silent", "SyncReport"), "report"),
    **dict.fromkeys(("SyncOptions", "preview", "reembed", "remove", "sync"), "syncing"),
    "watch_folders": "watching",
}
__all__ = [
    "EnrichReport",
    "Estimate",
    "FileFailure",
    "Progress",
    "Silent",
    "SyncOptions",
    "SyncReport",
    "enrich",
    "estimate_enrichment",
    "preview",
    "reembed",
    "remove",
    "sync",
    "watch_folders",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"graph_agent.ingest.{home}"), name)
