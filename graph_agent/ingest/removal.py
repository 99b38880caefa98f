"""Which documents stand below a path that is to be taken out of the graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from graph_agent.errors import ConfigurationError
from graph_agent.ingest.plan import Place, known_places
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements


def places_below(graph: DocumentGraph, paths: Sequence[Path | str]) -> list[Place]:
    """Places of documents at or below the paths.

    Args:
        paths: absolute or relative paths as they were ingested, or the name of a root folder.

    Raises:
        ConfigurationError: nothing is known below one of them; lists the roots that are.
    """
    roots = graph.read(statements.KNOWN_ROOTS).dicts()
    by_root = {row["path"]: list(known_places(graph, row["folder_id"]).values()) for row in roots}
    found: list[Place] = []
    for absolute in absolute_paths(graph, paths):
        matched = [
            place
            for root, places in by_root.items()
            for place in places
            if f"{root.rstrip('/')}/{place.path}" == absolute
            or f"{root.rstrip('/')}/{place.path}".startswith(absolute.rstrip("/") + "/")
        ]
        if not matched:
            known = ", ".join(sorted(by_root)) or "none"
            raise ConfigurationError(f"No documents are known below {absolute}.", f"Known roots: {known}.")
        found += matched
    return list(dict.fromkeys(found))


def absolute_paths(graph: DocumentGraph, paths: Sequence[Path | str]) -> list[str]:
    """The paths made absolute; the name of a root folder stands for its path."""
    names = {row["name"]: row["path"] for row in graph.read(statements.KNOWN_ROOTS).dicts()}
    found = []
    for path in paths:
        absolute = os.path.abspath(os.path.expanduser(path))
        if str(path) in names and absolute not in names.values() and not Path(absolute).exists():
            absolute = names[str(path)]
        found.append(absolute)
    return found
