"""Which program this is, for what it writes and for what it refuses to read."""

from __future__ import annotations

from importlib import metadata


def program_version() -> str:
    """Version of this program, as installed."""
    return metadata.version("graph-agent")
