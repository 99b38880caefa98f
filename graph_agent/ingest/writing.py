"""Documents into the graph and out of it, in steps that may be cut anywhere.

Order of writing: folders, sections with chunks, edges between sections, and last the one query that shows
the documents (and takes the old places away). What a killed run leaves behind is unattached, so no search
sees it, and `collect_garbage` removes it at the start of the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from graph_agent.errors import EngineUnavailable
from graph_agent.ingest.identity import folder_id
from graph_agent.ingest.plan import Place, Source, as_rows
from graph_agent.ingest.rows import Prepared, stem_of
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

SECTION_BATCH = 400
POSTINGS, VECTORS = "postings", "vectors"
"""Plain keys beside the graph: hashes with one field per text, by its markdown hash."""


class Writer:
    """Writes documents of one sync; one thread at a time."""

    def __init__(self, graph: DocumentGraph) -> None:
        self._graph = graph
        self._folders: set[str] = set()
        self._written: set[str] = set()

    def write(self, documents: Sequence[tuple[Source, Prepared]]) -> None:
        """Write a batch of documents and show them, all in one last step."""
        hashes = sorted({document.markdown_hash for _, document in documents})
        present = {row[0] for row in self._graph.read(statements.PRESENT_MARKDOWN, {"hashes": hashes}).rows}
        sections: list[dict[str, Any]] = []
        pairs: list[list[str]] = []
        postings: dict[str, bytes] = {}
        for _, document in documents:
            if document.markdown_hash in present or document.markdown_hash in self._written:
                continue  # another file with the same text: its sections serve both
            self._written.add(document.markdown_hash)
            sections += document.sections
            pairs += document.pairs
            postings[document.markdown_hash] = document.postings
        self._ensure_folders([source for source, _ in documents])
        for start in range(0, len(sections), SECTION_BATCH):
            self._graph.write(
                statements.CREATE_SECTIONS, {"sections": sections[start : start + SECTION_BATCH]}
            )
        for start in range(0, len(pairs), 5 * SECTION_BATCH):
            self._graph.write(
                statements.LINK_SUBSECTIONS, {"pairs": pairs[start : start + 5 * SECTION_BATCH]}
            )
        with suppress(EngineUnavailable):  # a server may forbid plain keys: then readers make their own
            self._graph.keys.hset(POSTINGS, postings)
        self._graph.write(
            statements.SHOW_DOCUMENTS,
            {
                "documents": [
                    {
                        **_place_row(source),
                        "properties": document.properties,
                        "top_sections": document.top_sections,
                    }
                    for source, document in documents
                ]
            },
        )

    def show(self, sources: Sequence[Source]) -> None:
        """Give documents that are already in the graph another place (a move or a copy)."""
        if sources:
            self._ensure_folders(sources)
            rows = [{**_place_row(source), "properties": {}, "top_sections": []} for source in sources]
            self._graph.write(statements.SHOW_DOCUMENTS, {"documents": rows})

    def hide(self, places: Sequence[Place]) -> None:
        """Take places away: from this moment nothing of their documents is found there."""
        if places:
            self._graph.write(statements.HIDE_PLACES, {"places": as_rows(places)})

    def _ensure_folders(self, sources: Iterable[Source]) -> None:
        rows: dict[str, dict[str, Any]] = {}
        for source in sources:
            for row in folder_rows(source):
                if row["folder_id"] not in self._folders:
                    rows[row["folder_id"]] = row
        if rows:
            self._graph.write(statements.MERGE_FOLDERS, {"folders": list(rows.values())})
            self._folders |= rows.keys()


def folder_rows(source: Source) -> list[dict[str, Any]]:
    """The folders from the root down to a file, parents first."""
    root = str(source.file.root).rstrip("/")
    rows: list[dict[str, Any]] = [
        {
            "folder_id": folder_id(source.root_key, ""),
            "name": source.root_name,
            "path": root or "/",
            "kind": "root",
            "parent_id": None,
        }
    ]
    for depth, name in enumerate(source.file.folders, start=1):
        relative = "/".join(source.file.folders[:depth])
        rows.append(
            {
                "folder_id": folder_id(source.root_key, relative),
                "name": name,
                "path": f"{root}/{relative}",
                "kind": "zip" if name.lower().endswith(".zip") else "folder",
                "parent_id": rows[-1]["folder_id"],
            }
        )
    return rows


def collect_garbage(graph: DocumentGraph) -> int:
    """Remove what no folder holds: hidden documents, leftovers of killed runs, empty folders, unused labels.

    Returns:
        How many documents' texts were removed.
    """
    orphans = [row[0] for row in graph.read(statements.ORPHAN_DOCUMENTS).rows]
    for start in range(0, len(orphans), 200):
        graph.write(statements.DELETE_DOCUMENTS, {"hashes": orphans[start : start + 200]})
    visible = {row[0] for row in graph.read(statements.VISIBLE_MARKDOWN).rows}
    stale = sorted({row[0] for row in graph.read(statements.WRITTEN_MARKDOWN).rows} - visible)
    for name in stale:
        remove_text(graph, name)
    if orphans or stale:
        while graph.write(statements.EMPTY_FOLDERS).stats.get("Nodes deleted"):
            pass  # a folder may be empty only after its last subfolder went
        graph.write(statements.UNUSED_LABELS)
    return len(stale)


def remove_text(graph: DocumentGraph, markdown_hash: str) -> None:
    """Delete the sections and chunks of one text, chunks first, in bounded steps."""
    for statement in (statements.DELETE_CHUNKS, statements.DELETE_SECTIONS):
        while graph.write(statement, {"hash": markdown_hash}).stats.get("Nodes deleted"):
            pass
    with suppress(EngineUnavailable):
        for key in (POSTINGS, VECTORS):
            graph.keys.hdel(key, markdown_hash)


def settle_places(graph: DocumentGraph) -> None:
    """Name each document after its first place in sort order, now that places have come and gone."""
    rows = []
    for row in graph.read(statements.DOCUMENT_PLACES).dicts():
        old_stem = stem_of(row["old_filename"] or "")
        title = stem_of(row["filename"]) if row["title"] == old_stem else row["title"]
        rows.append({**row, "title": title})
    if rows:
        graph.write(statements.SET_PLACES, {"rows": rows})


def _place_row(source: Source) -> dict[str, Any]:
    old = source.replaces
    return {
        "content_hash": source.content_hash,
        "folder_id": source.folder_id,
        "path": source.path,
        "filename": source.file.name,
        "source": source.file.path,
        "modified_at": source.file.mtime,
        "old_folder_id": old.folder_id if old else "",
        "old_path": old.path if old else "",
    }
