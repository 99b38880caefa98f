"""No tool returns a vector: long lists of floats go by their looks, short ones by what the graph says they are."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from graph_agent.tools.context import ToolContext

WAIT_S = 1.0

VectorNames = Set[tuple[str, str]]


def vector_names(context: ToolContext) -> VectorNames:
    """(label or type, property) of what is known to hold vectors.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    facts = context.overview.current(wait_s=WAIT_S).properties
    return frozenset((fact.owner, fact.name) for fact in facts if "Vectorf32" in fact.types)


def without_vectors(value: Any, names: VectorNames) -> Any:
    """A value of plain JSON types whose nodes and relationships have lost their vectors."""
    if isinstance(value, list):
        return [without_vectors(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    owners = value.get("labels", [value.get("type")])
    if isinstance(value.get("properties"), dict) and isinstance(owners, list):
        kept = {
            name: item
            for name, item in value["properties"].items()
            if not any((owner, name) in names for owner in owners)
        }
        return {**value, "properties": kept}
    return {key: without_vectors(item, names) for key, item in value.items()}
