"""The outline of one document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from graph_agent.retrieval.corpus import DocumentRow
from graph_agent.store.queries import navigation as statements
from graph_agent.tools.bounds import OUTPUT_TOKENS, one_line, output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.openings import opening
from graph_agent.tools.outline import as_dicts, build_tree, down_to, fit
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool
from graph_agent.tools.yaml_text import yaml_text

NOTE_TOKENS = 120
DESCRIPTION_CHARS = 200


@tool("navigation", returns="content")
def get_document_toc(
    context: ToolContext,
    document_id: Annotated[
        str, Field(description="a document's id (or its first 4 or more characters), filename or path")
    ],
    include_summaries: Annotated[
        bool, Field(description="add summary, keywords, tokens and tables of each section, where present")
    ] = False,
    max_level: Annotated[
        int | None, Field(ge=1, description="hide headings deeper than this level, 1 or more")
    ] = None,
) -> ToolResult:
    """Outline of one document as YAML: its sections, nested, each with id, title, level and description.

    Use it to see what a document holds and to pick section ids for get_section_content. To find documents
    use get_folder_toc or search_sections first. Text before the first heading is a section too.
    A long outline leaves out descriptions, then the deepest levels, and says so; max_level narrows it.
    A document that is not there is said with near names; a name that several have is an error listing them.
    """
    document = context.listing.document(document_id)
    if isinstance(document, str):
        return ToolResult(document, {"document": None, "sections": []})
    rows = _sections(context, document, summaries=include_summaries)
    roots = build_tree(rows, summaries=include_summaries)
    remark = ""
    if max_level is not None and roots:
        shallow = down_to(roots, max_level)
        if not shallow:
            top = min(node.depth for node in roots)
            shallow = down_to(roots, top)
            remark = f"no heading is of level {max_level} or above; the top ones, of level {top}, are shown"
        roots = shallow
    head = _head(document, rows)
    artifact = {**head, "sections": as_dicts(roots)}
    if not roots:
        return ToolResult(
            yaml_text({**head, "sections": []}) + "No sections found in this document.\n", artifact
        )
    body, left_out = fit(roots, OUTPUT_TOKENS - NOTE_TOKENS - output_tokens(yaml_text(head)))
    notes = [note for note in (remark, left_out and f"{left_out}; {_rest(document)}") if note]
    return ToolResult(
        yaml_text(head) + body + (yaml_text({"note": "; ".join(notes)}) if notes else ""), artifact
    )


def _sections(context: ToolContext, document: DocumentRow, *, summaries: bool) -> list[dict[str, Any]]:
    """Rows of all sections in order; older graphs tie them to their document by edges alone."""
    by_text, by_edges = (
        (statements.OUTLINE_WITH_SUMMARIES, statements.OUTLINE_BY_EDGES_WITH_SUMMARIES)
        if summaries
        else (statements.OUTLINE, statements.OUTLINE_BY_EDGES)
    )
    rows = context.graph.read(by_text, {"markdown_hash": document.markdown_hash}).dicts()
    if not rows:
        rows = context.graph.read(by_edges, {"content_hash": document.content_hash}).dicts()
    return [row for row in rows if row["section_id"]]


def _head(document: DocumentRow, rows: list[dict[str, Any]]) -> dict[str, Any]:
    description = document.description or next(
        (text for row in rows[:3] if (text := opening(row["opening"], str(row["title"] or "")))), ""
    )
    head = {
        "document": document.filename,
        "id": document.content_hash,
        "path": document.path,
        "title": document.title or None,
        "description": one_line(description, DESCRIPTION_CHARS) or None,
        "pages": document.page_count,
    }
    return {key: value for key, value in head.items() if value is not None}


def _rest(document: DocumentRow) -> str:
    return (
        "max_level narrows the outline, search_sections with this document_id finds sections, and all are listed by "
        f"graph_query: MATCH (s:MarkdownSection {{markdown_hash: '{document.markdown_hash}'}}) "
        "RETURN s.section_id, s.title, s.level ORDER BY s.sequence SKIP 0 LIMIT 200"
    )
