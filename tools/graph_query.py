"""Read-only Cypher from a model or a person."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from graph_agent.errors import QueryError, QueryRefused, QueryTimeout
from graph_agent.store import Result
from graph_agent.store.guard import approve, hint_for_error
from graph_agent.store.query_shape import capped, names_in
from graph_agent.store.values import plain
from graph_agent.tools.bounds import OUTPUT_TOKENS, output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.query_hints import hint_for
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool
from graph_agent.tools.table_text import table_text
from graph_agent.tools.vectors_out import vector_names, without_vectors

TOTAL_MS = 1_000  # what it may cost to know how many rows there would have been


@tool("schema", reading=False)
def graph_query(
    context: ToolContext,
    cypher: Annotated[str, Field(description="one read-only Cypher query for FalkorDB, ending in RETURN")],
    params: Annotated[
        dict[str, Any] | None, Field(description="values for $name parameters: text, numbers, lists, maps")
    ] = None,
) -> ToolResult:
    """Run one read-only Cypher query: exact counts, lists, filters, aggregates and paths over the graph.

    Use it when the answer is in labels, properties or relationships; look at get_graph_overview and
    get_property_types first, and write names as they are there. For text use search_sections,
    query_documents or vector_search. Direction of a relationship is as stored.

    Returns {columns, rows, truncated, total, hint, rewritten}; rows are maps keyed by the RETURN aliases,
    nodes and relationships come with labels or type and properties, without vectors. At most 200 rows: use
    count(), LIMIT and ORDER BY. Writes are refused. An error tells what to write instead; unknown labels,
    types and properties get a hint with near names.

    FalkorDB: write <> (not !=), NOT x IN list, toLower(), id(), count of a pattern as size((a)-->()), and
    CALL {WITH a MATCH ... RETURN ...} instead of EXISTS {} or COUNT {}.
    """
    settings = context.settings
    approved = approve(cypher, engine_version=context.graph.engine.version or None, params=params)
    text = approved.cypher
    params = params or {}
    began = time.monotonic()
    result = _run(context, capped(text, settings.row_cap + 1, params), params, settings.query_timeout_ms)
    left_ms = settings.query_timeout_ms - int(1_000 * (time.monotonic() - began))
    rows = result.rows[: settings.row_cap]
    truncated = len(result.rows) > settings.row_cap
    names = names_in(text, params)
    vectors = vector_names(context)
    values = [[without_vectors(plain(value), vectors) for value in row] for row in rows]
    artifact: dict[str, Any] = {
        "columns": list(result.columns),
        "rows": [dict(zip(result.columns, row, strict=True)) for row in values],
        "truncated": truncated,
        "total": _total(context, text, params, result, min(TOTAL_MS, left_ms)) if truncated else len(rows),
        "hint": hint_for(context, names, empty=_is_empty(values)),
        "rewritten": list(approved.rewrites),
        "cypher": text,
    }
    return ToolResult(_content(artifact, values, context.graph.name), artifact)


def _run(context: ToolContext, text: str, params: dict[str, Any], timeout_ms: int) -> Result:
    """The rows; the engine's own errors come with what to write instead.

    Raises:
        QueryTimeout: the limit ran out. QueryError: the engine refused it.
        BadArgument: a parameter that cannot be passed. EngineUnavailable: the engine does not answer.
    """
    try:
        return context.graph.read(text, params, timeout_ms=timeout_ms)
    except QueryTimeout:
        raise QueryTimeout(
            f"The query was stopped after {timeout_ms / 1000:g} s.",
            "Match on a label and an indexed property first, follow fewer relationships, or count instead of listing.",
        ) from None
    except QueryRefused:
        raise
    except QueryError as error:
        raise QueryError(error.message, hint_for_error(error.message, text) or error.fix) from None


def _total(
    context: ToolContext, text: str, params: dict[str, Any], result: Result, timeout_ms: int
) -> int | None:
    """How many rows the whole query gives, when that is quick to know."""
    if capped(text, context.settings.row_cap + 1, params) == text:
        return len(result.rows)  # nothing was put in: these are all
    if timeout_ms <= 0:
        return None
    try:
        counted = context.graph.read(f"CALL {{\n{text}\n}} RETURN count(*)", params, timeout_ms=timeout_ms)
    except QueryError:
        return None
    return int(counted.scalar(0))


def _is_empty(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether nothing was found: no row, or one row of nothing but zeros, nulls and empty lists."""
    return not rows or (len(rows) == 1 and all(value in (None, 0, []) for value in rows[0]))


def _content(artifact: dict[str, Any], values: list[list[Any]], graph: str) -> str:
    notes = [f"Rewritten: {rewrite}." for rewrite in artifact["rewritten"]]
    if artifact["hint"]:
        notes.append(f"Hint: {artifact['hint']}")
    if not values:
        found = f"No rows found: the query ran on the graph {graph!r} and matched nothing."
        advice = [] if artifact["hint"] else ["Check names, values and arrows with get_property_types."]
        return "\n".join([found, *notes, *advice])
    room = OUTPUT_TOKENS - output_tokens("\n".join(notes)) - 60
    table, shown = table_text(artifact["columns"], values, room)
    return "\n".join([table, _counted(artifact, shown), *notes])


def _counted(artifact: dict[str, Any], shown: int) -> str:
    rows = len(artifact["rows"])
    total = artifact["total"]
    if artifact["truncated"]:
        of = f" of {total}" if total is not None else ""
        return f"(the first {shown} rows{of}, more exist: aggregate, filter, or page with ORDER BY, SKIP and LIMIT)"
    if shown < rows:
        return f"({shown} of {rows} rows are shown: return fewer or shorter columns, or page with SKIP and LIMIT)"
    return f"({rows} row{'' if rows == 1 else 's'})"
