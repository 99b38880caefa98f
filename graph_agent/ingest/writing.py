"""Documents into the graph and out of it, in steps that may be cut anywhere.

Order of writing: folders, sections with chunks, edges between sections, and last the one query that shows
the documents (and takes the old places away). What a killed run leaves behind is unattached, so no search
sees it, and `collect_garbage` removes it at the start of the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from graph_agent.errors import BadArgument, EngineUnavailable, QueryError
from graph_agent.ingest.dates import document_date
from graph_agent.ingest.identity import folder_id
from graph_agent.ingest.plan import Place, Source, as_rows
from graph_agent.ingest.rows import Prepared, stem_of
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

STEP_SECTIONS = 400
STEP_CHARACTERS = 2_000_000  # of text in one query: readers of the graph wait while it is written
PAIRS = 2_000
POSTINGS, VECTORS = "postings", "vectors"
"""Plain keys beside the graph: hashes with one field per text, by its markdown hash."""

Batch = Sequence[tuple[Source, Prepared]]


class Writer:
    """Writes documents of one sync; one thread at a time.

    Args:
        graph: the graph.
        redo: places whose documents are made anew though their files are the same, by the markdown hash of
            their present text. Equal text has equal ids: the old one goes right before the new one comes.
    """

    def __init__(self, graph: DocumentGraph, redo: Mapping[str, Sequence[Place]] | None = None) -> None:
        self._graph = graph
        self._redo = dict(redo or {})
        self._folders: set[str] = set()
        self._written: set[str] = set()

    def write(self, documents: Batch) -> list[tuple[Source, str]]:
        """Write a batch of documents and show them, all in one last step.

        Returns:
            Documents that the engine refused, with its reason; nothing of them stays, and the others are in.

        Raises:
            EngineUnavailable: the engine went away; what was shown before stays.
        """
        try:
            self._write(documents)
        except (QueryError, BadArgument) as error:
            self._forget(documents)
            if len(documents) == 1:
                return [(documents[0][0], f"the graph does not take it: {error}")]
            return [refused for document in documents for refused in self.write([document])]
        return []

    def show(self, sources: Sequence[Source]) -> None:
        """Give documents that are already in the graph another place (a move or a copy)."""
        if sources:
            self._ensure_folders(sources)
            self._graph.write(statements.SHOW_PLACES, {"documents": [_place_row(one) for one in sources]})

    def hide(self, places: Sequence[Place]) -> None:
        """Take places away: from this moment nothing of their documents is found there."""
        if places:
            self._graph.write(statements.HIDE_PLACES, {"places": as_rows(places)})

    def touch(self, sources: Sequence[Source]) -> None:
        """Note the new times of files whose content is as it was; dates that are the file's follow."""
        if not sources:
            return
        places = [_place_row(source) for source in sources]
        self._graph.write(statements.TOUCH_PLACES, {"places": places})
        dates = [
            {"content_hash": source.content_hash, "date": _day(source.file.mtime)}
            for source in sources
            if source.replaces is not None and source.replaces.date_source == "file_time"
        ]
        if dates:
            self._graph.write(statements.SET_DATES, {"rows": dates})
            self._graph.write(statements.BUMP_VERSION)

    def _write(self, documents: Batch) -> None:
        self._make_room(documents)
        present = self._present(documents)
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
        for rows, continued in _steps(sections):
            statement = statements.ADD_CHUNKS if continued else statements.CREATE_SECTIONS
            self._graph.write(statement, {"sections": rows})
        for start in range(0, len(pairs), PAIRS):
            self._graph.write(statements.LINK_SUBSECTIONS, {"pairs": pairs[start : start + PAIRS]})
        with suppress(EngineUnavailable):  # a server may forbid plain keys: then readers make their own
            self._graph.keys.hset(POSTINGS, postings)
        rows = [
            {
                **_place_row(source),
                "properties": {**document.properties, "content_hash": source.content_hash},
                "top_sections": document.top_sections,
            }
            for source, document in documents
        ]
        self._graph.write(statements.SHOW_DOCUMENTS, {"documents": rows})

    def _present(self, documents: Batch) -> set[str]:
        """The texts of a batch that visible documents have already."""
        hashes = sorted({document.markdown_hash for _, document in documents})
        return {row[0] for row in self._graph.read(statements.PRESENT_MARKDOWN, {"hashes": hashes}).rows}

    def _make_room(self, documents: Batch) -> None:
        """Take away old texts whose ids the new ones need, with the places of all documents that have them."""
        names = {document.markdown_hash for _, document in documents} & self._redo.keys()
        self.hide([place for name in sorted(names) for place in self._redo.pop(name)])
        if names:
            for name in sorted(names - self._present(documents)):
                remove_text(self._graph, name)

    def _forget(self, documents: Batch) -> None:
        """Remove what was written of a batch that was not shown."""
        present = self._present(documents)
        for _, document in documents:
            if document.markdown_hash not in present:
                self._written.discard(document.markdown_hash)
                remove_text(self._graph, document.markdown_hash)

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
    """Name each document after its first place in sort order, now that places have come and gone.

    A title or date that came from the old filename follows the new one.
    """
    rows = []
    for row in graph.read(statements.DOCUMENT_PLACES).dicts():
        named_after_file = row["title"] == stem_of(row["old_filename"] or "")
        title = stem_of(row["filename"]) if named_after_file else row["title"]
        rows.append({**row, **_date_after_move(row), "title": title})
    if rows:
        graph.write(statements.SET_PLACES, {"rows": rows})


def _date_after_move(row: Mapping[str, Any]) -> dict[str, Any]:
    date, source = row["date"], row["date_source"]
    if source in {"front_matter", "date_line"}:
        return {"date": date, "date_source": source}
    named, found = document_date({}, "", row["filename"])
    if named is None and source == "filename":
        named, found = document_date({}, "", "", row["modified_at"])
    return {"date": named or date, "date_source": found or source}


def _day(modified: float) -> str | None:
    return document_date({}, "", "", modified)[0]


def _steps(sections: Sequence[dict[str, Any]]) -> Iterator[tuple[list[dict[str, Any]], bool]]:
    """Sections in parts of bounded size, and whether a part only holds more chunks of the section before."""
    rows: list[dict[str, Any]] = []
    weight = 0
    for section in sections:
        room = STEP_CHARACTERS - len(section["text"])
        parts = list(_chunk_parts(section["chunks"], room))
        size = len(section["text"]) + (sum(len(chunk["text"]) for chunk in parts[0]) if parts else 0)
        if rows and (weight + size > STEP_CHARACTERS or len(rows) >= STEP_SECTIONS):
            yield rows, False
            rows, weight = [], 0
        rows.append({**section, "chunks": parts[0] if parts else []})
        weight += size
        if len(parts) > 1:
            yield rows, False
            rows, weight = [], 0
            for part in parts[1:]:
                known = {"section_id": section["section_id"], "markdown_hash": section["markdown_hash"]}
                yield [{**known, "chunks": part}], True
    if rows:
        yield rows, False


def _chunk_parts(chunks: Sequence[dict[str, Any]], room: int) -> Iterator[list[dict[str, Any]]]:
    """Chunks in parts: the first fits beside the section's own text, the others have a step for themselves."""
    part: list[dict[str, Any]] = []
    for chunk in chunks:
        if part and len(chunk["text"]) > room:
            yield part
            part, room = [], STEP_CHARACTERS
        part.append(chunk)
        room -= len(chunk["text"])
    if part:
        yield part


def _place_row(source: Source) -> dict[str, Any]:
    old = source.replaces
    return {
        "content_hash": source.content_hash,
        "folder_id": source.folder_id,
        "path": source.path,
        "filename": source.file.name,
        "source": source.file.path,
        "modified_at": source.file.mtime,
        "size": source.file.size,
        "read_at": source.read_at,
        "old_folder_id": old.folder_id if old else "",
        "old_path": old.path if old else "",
    }
