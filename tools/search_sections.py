"""Search that ranks sections."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from graph_agent.retrieval.results import Hit, SearchResult
from graph_agent.tools.context import ToolContext
from graph_agent.tools.listing import nothing_ingested
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool
from graph_agent.tools.yaml_text import yaml_text

MAX_LIMIT = 100


@tool("navigation", returns="content")
def search_sections(
    context: ToolContext,
    query: Annotated[
        str, Field(description="a question, phrase or keywords; words in quotes are found word for word")
    ],
    limit: Annotated[int, Field(ge=1, description="how many sections at most, 1 to 100")] = 20,
    folder_id: Annotated[
        str | None, Field(description="search one folder with its subfolders: its id, name or path")
    ] = None,
    document_id: Annotated[
        str | None, Field(description="search one document: its id (4 or more characters), filename or path")
    ] = None,
    mode: Annotated[
        Literal["hybrid", "vector", "bm25", "cypher"],
        Field(
            description="hybrid: meaning and keywords; vector: meaning; bm25: keywords; cypher: words contained"
        ),
    ] = "hybrid",
) -> ToolResult:
    """Search section titles and texts; ranked sections as YAML, best first, one row per section.

    Each row has section_id (for get_section_content), title, document, score from 0 to 1, level, page, line
    and a snippet with the matched words in bold. Filters act inside the search. Use query_documents instead
    to get whole passages with the documents they come from, and graph_query to count or list exactly.
    A note says when fewer words, or keywords only, were searched. A folder or document that is not there
    matches nothing and is said so, with near names.
    """
    told: list[str] = []
    if limit > MAX_LIMIT:
        told.append(f"limit {limit} is more than {MAX_LIMIT}: the best {MAX_LIMIT} are shown.")
        limit = MAX_LIMIT
    absent = ""
    if folder_id is not None and isinstance(found := context.listing.folder(folder_id), str):
        absent = found
    if document_id is not None and isinstance(named := context.listing.document(document_id), str):
        absent = absent or named
    if absent:
        return ToolResult(absent, _artifact(mode, limit, searched="nothing"))
    retriever = context.retriever
    scope = retriever.scope(folder=folder_id, document=document_id) if folder_id or document_id else None
    result = retriever.search(query, mode=mode, limit=limit, scope=scope, per="section")
    rows = [_row(hit) for hit in result.hits]
    artifact = _artifact(mode, limit, searched=result.searched, result=result, rows=rows)
    told += remarks(result)
    if not rows:
        return ToolResult(_nothing(context, query, result, told), artifact)
    notes = {"note": " ".join(told)} if told else {}
    return ToolResult(yaml_text({**notes, "sections": rows}), artifact)


def remarks(result: SearchResult) -> list[str]:
    """What a reader must know about how a search was answered, a sentence each."""
    told = []
    if result.degraded:
        told.append(_sentence(result.degraded))
    elif not result.coverage.complete and result.explanation.get("mode") in {"hybrid", "vector"}:
        coverage = result.coverage
        told.append(
            f"Only {coverage.with_vectors} of {coverage.chunks} passages can be searched by meaning yet; "
            "the others are found by keywords."
        )
    if result.relaxed:
        told.append(_sentence(result.relaxed))
    return told


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _row(hit: Hit) -> dict[str, Any]:
    row = {
        "section_id": hit.section_id,
        "title": hit.section_title or hit.title,
        "document": hit.path,
        "score": hit.score,
        "level": hit.level,
        "page": hit.page,
        "line": hit.start_line,
        "snippet": hit.snippet,
    }
    return {key: value for key, value in row.items() if value is not None}


def _artifact(
    mode: str,
    limit: int,
    *,
    searched: str,
    result: SearchResult | None = None,
    rows: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    hits = result.hits if result else ()
    return {
        "sections": [
            {
                **row,
                "document_id": hit.content_hash,
                "chunk_id": hit.chunk_id,
                "source": hit.source,
                "document_title": hit.title,
                "breadcrumb": list(hit.breadcrumb),
                "ranks": dict(hit.ranks),
                "text": hit.text,
            }
            for row, hit in zip(rows or [], hits, strict=True)
        ],
        "mode": mode,
        "limit": limit,
        "score_kind": result.explanation.get("score_kind") if result else None,
        "searched": searched,
        "degraded": result.degraded if result else None,
        "relaxed": result.relaxed if result else None,
        "coverage": {
            "chunks": result.coverage.chunks if result else 0,
            "with_vectors": result.coverage.with_vectors if result else 0,
            "documents": result.coverage.documents if result else 0,
        },
        "explanation": result.explanation if result else {},
    }


def _nothing(context: ToolContext, query: str, result: SearchResult, told: list[str]) -> str:
    if not context.listing.current().documents:
        return nothing_ingested(context.graph.name)
    problem = result.explanation.get("problem")
    why = f" ({problem})" if problem else ""
    advice = "Try fewer or other words, another mode, or no folder_id and document_id."
    return " ".join([f"No sections found for {query[:200]!r} in {result.searched}{why}.", *told, advice])
