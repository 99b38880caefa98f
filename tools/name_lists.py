"""What the four tools that list labels and relationship types share."""

from __future__ import annotations

from collections.abc import Mapping

from graph_agent.store import survey
from graph_agent.store.skeleton import Skeleton
from graph_agent.tools.bounds import fitting
from graph_agent.tools.context import ToolContext


def counts_now(context: ToolContext) -> Skeleton:
    """Labels and types in use with their counts, as they are now.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    return survey.count(context.graph)


def lines_of(counts: Mapping[str, int], *, what: str, graph: str, with_counts: bool) -> str:
    """One line a name, most used first, within the output bound; or that there is none."""
    if not counts:
        return f"No {what}s found in the graph {graph!r}: it is empty."
    lines = [f"{name}: {count}" if with_counts else name for name, count in counts.items()]
    shown, _ = fitting((line, line + "\n") for line in lines)
    rest = len(lines) - len(shown)
    more = [f"({rest} more {what}s, with {min(counts.values())} or more each, are left out.)"] if rest else []
    return "\n".join([*shown, *more])
