"""A file becomes nodes: discovery, conversion, sections, chunks, and keeping the graph in step with folders."""

from graph_agent.ingest.report import FileFailure, Progress, Silent, SyncReport
from graph_agent.ingest.sync import SyncOptions, preview, reembed, remove, sync
from graph_agent.ingest.watching import watch_folders

__all__ = [
    "FileFailure",
    "Progress",
    "Silent",
    "SyncOptions",
    "SyncReport",
    "preview",
    "reembed",
    "remove",
    "sync",
    "watch_folders",
]
