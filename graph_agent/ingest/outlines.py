"""A document as a model reads it when all of its text would be too much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

LINES = 80
OPENING_CHARS = 800


def outline_of(graph: DocumentGraph, document: Mapping[str, Any]) -> str:
    """A document as a model reads it: title, path, headings with their descriptions, how it begins."""
    sections = graph.read(statements.SECTIONS_TO_DESCRIBE, {"hash": document["markdown_hash"]}).dicts()
    lines = [
        f"{'  ' * max(int(row['level'] or 0) - 1, 0)}- {row['title'] or '(untitled)'}: {row['description'] or ''}"
        for row in sections
    ]
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"(and {len(lines) - LINES} more sections)"]
    opening = next((row["text"].strip() for row in sections if (row["text"] or "").strip()), "")[
        :OPENING_CHARS
    ]
    return "\n".join([f"{document['title']} ({document['path']})", *lines, "", "It begins:", opening])
