"""LINKS_TO edges: resolved anew after every sync that changed something, since targets come and go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from graph_agent.ingest.links import Link, LinkIndex, resolve, section_of_fragment
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

BATCH = 2_000

Edge = tuple[str, str, str]
"""Section id of the source, key of the target (a content hash or a section id), text of the link."""


def relink(graph: DocumentGraph) -> int:
    """Bring the LINKS_TO edges in step with the links as written; writes differences only.

    Returns:
        How many edges were made or removed.
    """
    wanted = _wanted(graph)
    present: set[tuple[bool, Edge]] = {
        (row["document"] is None, (row["section_id"], row["document"] or row["section"], row["text"] or ""))
        for row in graph.read(statements.PRESENT_LINKS).dicts()
    }
    changes = 0
    for to_section, create, delete in (
        (False, statements.CREATE_DOCUMENT_LINKS, statements.DELETE_DOCUMENT_LINKS),
        (True, statements.CREATE_SECTION_LINKS, statements.DELETE_SECTION_LINKS),
    ):
        missing = sorted(edge for kind, edge in wanted - present if kind is to_section)
        stale = sorted(edge for kind, edge in present - wanted if kind is to_section)
        for statement, edges in ((delete, stale), (create, missing)):
            for start in range(0, len(edges), BATCH):
                graph.write(statement, {"rows": [list(edge) for edge in edges[start : start + BATCH]]})
        changes += len(missing) + len(stale)
    return changes


def _wanted(graph: DocumentGraph) -> set[tuple[bool, Edge]]:
    """(whether to a section, edge) of every link that leads somewhere now."""
    targets = graph.read(statements.LINK_TARGETS).dicts()
    by_root: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in targets:
        by_root[_root(row)].append((row["path"], row["content_hash"], row["title"] or ""))
    indexes = {root: LinkIndex(documents) for root, documents in by_root.items()}
    markdown = {row["content_hash"]: row["markdown_hash"] for row in targets}
    found: list[tuple[str, str, str, str]] = []
    for row in graph.read(statements.LINK_SOURCES).dicts():
        section_id = str(row["section_id"])
        sequence = int(section_id.rpartition("::")[2])
        for encoded in row["links"]:
            link = Link.decode(sequence, encoded)
            target = resolve(link, row["path"], indexes[_root(row)])
            if target is not None:
                found.append((section_id, target.document, target.fragment, link.text))
    titles = _titles(graph, sorted({markdown[document] for _, document, fragment, _ in found if fragment}))
    edges: set[tuple[bool, Edge]] = set()
    for section_id, document, fragment, text in found:
        ids, names = titles.get(markdown[document], ([], []))
        position = section_of_fragment(fragment, names) if fragment and names else None
        if position is None:
            edges.add((False, (section_id, document, text)))
        else:
            edges.add((True, (section_id, ids[position], text)))
    return edges


def _root(row: Mapping[str, Any]) -> str:
    """The absolute path of the root that a place lies below: links do not leave it."""
    return str(row["source"]).removesuffix(str(row["path"]))


def _titles(graph: DocumentGraph, hashes: list[str]) -> dict[str, tuple[list[str], list[str]]]:
    """Section ids and titles in order, by Markdown hash."""
    titles: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for start in range(0, len(hashes), BATCH):
        for row in graph.read(statements.SECTION_TITLES, {"hashes": hashes[start : start + BATCH]}).dicts():
            ids, names = titles[row["markdown_hash"]]
            ids.append(row["section_id"])
            names.append(row["title"] or "")
    return titles
