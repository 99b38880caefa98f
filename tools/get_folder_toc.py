"""Which documents there are, in one folder or in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from graph_agent.retrieval.corpus import Corpus, DocumentRow, FolderRow
from graph_agent.tools.bounds import OUTPUT_TOKENS, one_line, output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.listing import OPENING_CHARS, nothing_ingested
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool
from graph_agent.tools.yaml_text import yaml_text

NOTE_TOKENS = 120
FOLDER_SHARE = 0.4  # of the output, when not everything fits


@tool("navigation", returns="content")
def get_folder_toc(
    context: ToolContext,
    folder_id: Annotated[
        str | None,
        Field(
            description="a folder's id (or its first 4 or more characters), name or path; subfolders are in"
        ),
    ] = None,
) -> ToolResult:
    """List the documents of a folder, or of the whole corpus, as YAML: id, name, path, sections, description.

    Use it to choose documents by what they are; then get_document_toc on those chosen. It does not list
    sections. To find passages by what they say use search_sections. Without folder_id: all documents.
    Date, labels and pages stand where known; subfolders with their number of documents. A list that is too
    long shows folders first, as many documents as fit, and how to narrow it. A folder that is not there is
    said with near names; a name that several folders have is an error that lists them.
    """
    return folder_toc(context, folder_id)


def folder_toc(context: ToolContext, folder_id: str | None) -> ToolResult:
    """The table of contents of a folder, or of everything.

    Raises:
        NotFound: several folders match; lists them. EngineUnavailable: the engine does not answer.
    """
    corpus = context.listing.current()
    folder: FolderRow | None = None
    if folder_id is not None:
        found = context.listing.folder(folder_id)
        if isinstance(found, str):
            return ToolResult(found, {"folder": None, "documents": [], "folders": [], "omitted": 0})
        folder = found
    documents = [row for row in corpus.documents if folder is None or row.content_hash in folder.documents]
    folders = _folders(corpus, folder)
    rows = _rows(context, documents)
    artifact: dict[str, Any] = {
        "folder": folder and {"id": folder.folder_id, "name": folder.name, "path": folder.path},
        "documents": rows,
        "folders": folders,
        "omitted": 0,
    }
    if not rows:
        text = (
            f"No documents found in the folder {folder.path!r}."
            if folder
            else nothing_ingested(context.graph.name)
        )
        return ToolResult(text, artifact)
    content, omitted = _content(rows, folders, folder)
    return ToolResult(content, {**artifact, "omitted": omitted})


def _folders(corpus: Corpus, folder: FolderRow | None) -> list[dict[str, Any]]:
    """Folders below one (or all), by path; a lone root folder is not worth a list."""
    children: dict[str | None, list[FolderRow]] = {}
    for row in corpus.folders:
        children.setdefault(row.parent_id, []).append(row)
    found: list[FolderRow] = []
    waiting = list(children.get(folder.folder_id, [])) if folder else _roots(corpus)
    while waiting:
        row = waiting.pop(0)
        found.append(row)
        waiting = children.get(row.folder_id, []) + waiting
    if folder is None and len(found) == 1:
        return []
    return [
        {"id": row.folder_id, "name": row.name, "documents": len(row.documents)}
        for row in found
        if row.documents
    ]


def _roots(corpus: Corpus) -> list[FolderRow]:
    known = {row.folder_id for row in corpus.folders}
    return [row for row in corpus.folders if row.parent_id not in known]


def _rows(context: ToolContext, documents: Sequence[DocumentRow]) -> list[dict[str, Any]]:
    silent = [row.markdown_hash for row in documents if not row.description]
    openings = context.listing.openings(silent) if silent else {}
    rows = []
    for document in documents:
        text = document.description or openings.get(document.markdown_hash, "")
        row: dict[str, Any] = {
            "id": document.content_hash,
            "name": document.filename,
            "path": document.path,
            "sections": document.section_count,
            "description": one_line(text, OPENING_CHARS) or document.title,
            "date": document.date,
            "labels": {facet: list(values) for facet, values in document.labels.items()} or None,
            "pages": document.page_count,
        }
        rows.append({key: value for key, value in row.items() if value is not None})
    return rows


def _content(
    rows: Sequence[dict[str, Any]], folders: Sequence[dict[str, Any]], folder: FolderRow | None
) -> tuple[str, int]:
    """The YAML, and how many documents it leaves out."""
    room = OUTPUT_TOKENS - NOTE_TOKENS
    listed = _Listed(rows)
    places = _Listed(folders)
    documents, left = listed.first(room)
    if len(documents) == len(rows) and places.cost() <= left:
        return _yaml("documents", documents) + _yaml("folders", places.first(left)[0]), 0
    notes: dict[str, str] = {}
    shown: list[str] = []
    if folders:
        share = int(room * FOLDER_SHARE)
        shown, left = places.first(share)
        room -= share - left
        if len(shown) < len(folders):
            notes["more_folders"] = (
                f"{len(folders) - len(shown)} more folders; graph_query lists all: "
                "MATCH (f:Folder) RETURN f.folder_id, f.path ORDER BY f.path SKIP 0 LIMIT 200"
            )
    documents, _ = listed.first(room)
    omitted = len(rows) - len(documents)
    if omitted:
        find = "search_sections and query_documents find some by what they say"
        narrow = f"folder_id lists one folder, {find}" if folders else find
        where = f" in {folder.name}" if folder else ""
        notes["note"] = f"{omitted} of {len(rows)} documents{where} are left out; {narrow}."
    return _yaml("folders", shown) + _yaml("documents", documents) + (
        yaml_text(notes) if notes else ""
    ), omitted


class _Listed:
    """Items of a YAML list, each written and measured once, as far as they are asked for."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows = rows
        self._texts: list[tuple[str, int]] = []

    def first(self, tokens: int) -> tuple[list[str], int]:
        """The first items that fit into so many tokens, at least one, and the tokens left."""
        taken: list[str] = []
        for at in range(len(self._rows)):
            text, cost = self._item(at)
            if cost > tokens and taken:
                break
            tokens -= cost
            taken.append(text)
        return taken, max(0, tokens)

    def cost(self) -> int:
        """Tokens of all."""
        return sum(self._item(at)[1] for at in range(len(self._rows)))

    def _item(self, at: int) -> tuple[str, int]:
        while len(self._texts) <= at:
            text = yaml_text([self._rows[len(self._texts)]], depth=1)
            self._texts.append((text, output_tokens(text)))
        return self._texts[at]


def _yaml(name: str, items: Sequence[str]) -> str:
    return f"{name}:\n{''.join(items)}" if items else ""
