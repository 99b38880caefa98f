"""What the four tools that list labels and relationship types share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from graph_agent.store import survey
from graph_agent.store.skeleton import Skeleton
from graph_agent.tools.bounds import OUTPUT_TOKENS, fitting
from graph_agent.tools.context import ToolContext

NOTE_TOKENS = 80


def counts_now(context: ToolContext) -> Skeleton:
    """Labels and types in use with their counts, as they are now.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    return survey.count(context.graph)


def lines_of(
    counts: Mapping[str, int], *, of: Literal["labels", "relTypes"], graph: str, with_counts: bool
) -> str:
    """One line a name, most used first, within the output bound and with how to get the rest; or that there is none."""
    what = "node label" if of == "labels" else "relationship type"
    if not counts:
        return f"No {what}s found in the graph {graph!r}: it is empty."
    lines = [f"{name}: {count}" if with_counts else name for name, count in counts.items()]
    shown, _ = fitting(((line, line + "\n") for line in lines), OUTPUT_TOKENS - NOTE_TOKENS)
    rest = len(lines) - len(shown)
    if not rest:
        return "\n".join(shown)
    statement = (
        f"CALL db.meta.stats() YIELD {of} UNWIND keys({of}) AS name WITH name, {of}[name] AS count WHERE count > 0 "
        f"RETURN name, count ORDER BY count DESC, name SKIP {len(shown)} LIMIT 200"
    )
    return "\n".join([*shown, f"({rest} more {what}s are left out; graph_query lists them: {statement})"])
