"""Which properties nodes and relationships have, with types and examples."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field

from graph_agent.store.queries.overview import quoted
from graph_agent.store.skeleton import PropertyFact, Skeleton
from graph_agent.tools.bounds import OUTPUT_TOKENS, fitting
from graph_agent.tools.context import ToolContext
from graph_agent.tools.near_names import nearest
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool

NOTE_TOKENS = 300


@tool("schema", reading=False)
def get_property_types(
    context: ToolContext,
    label: Annotated[
        str | None, Field(description="a node label or relationship type as it is written in the graph")
    ] = None,
) -> ToolResult:
    """Properties of node labels and relationship types, with their types and example values.

    Use it before graph_query to write property names and values as they are stored. Text properties with at
    most ten different values list all of them. Samples are looked at, so a very rare property of a large
    label may be missing. Without label: everything, as far as it fits. An unknown label is said with near names.

    Returns [{owner, owner_kind: node|edge, property, types, indexed, examples, values?}].
    """
    skeleton = context.overview.current()
    if label is not None and label not in skeleton.labels and label not in skeleton.edge_types:
        return ToolResult(_unknown(label, skeleton, context.graph.name), [])
    facts = context.overview.properties(label)
    if not facts:
        where = f"of {label}" if label else f"in the graph {context.graph.name!r}"
        return ToolResult(f"No properties found {where}.", [])
    return ToolResult(_text(facts, skeleton, label), [_row(fact) for fact in facts])


def _unknown(label: str, skeleton: Skeleton, graph: str) -> str:
    if not skeleton.nodes:
        return f"No properties found: the graph {graph!r} is empty."
    known = [*skeleton.labels, *skeleton.edge_types]
    near = nearest(label, known)
    shown = ", ".join(known[:20]) + (
        f" and {len(known) - 20} more (get_node_labels)" if len(known) > 20 else ""
    )
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"No label or relationship type {label!r} found in the graph {graph!r}. {hint}There are: {shown}."


def _row(fact: PropertyFact) -> dict[str, Any]:
    row: dict[str, Any] = {
        "owner": fact.owner,
        "owner_kind": fact.owner_kind,
        "property": fact.name,
        "types": list(fact.types),
        "indexed": bool(fact.indexes),
        "examples": list(fact.examples),
    }
    if fact.indexes:
        row["indexes"] = list(fact.indexes)
    if fact.values is not None:
        row["values"] = list(fact.values)
    return row


def _text(facts: tuple[PropertyFact, ...], skeleton: Skeleton, label: str | None) -> str:
    blocks: dict[tuple[str, str], list[str]] = {}
    for fact in facts:
        kind = "" if fact.owner_kind == "node" else " (relationship)"
        blocks.setdefault((fact.owner_kind, f"{fact.owner}{kind}:"), []).append(_line(fact))
    texts = [(owner, "\n".join([head, *lines]) + "\n") for (owner, head), lines in blocks.items()]
    if label is not None and len(texts) == 1:
        lines = texts[0][1].splitlines()
        shown, _ = fitting(((line, line + "\n") for line in lines), OUTPUT_TOKENS - NOTE_TOKENS)
        rest = len(lines) - len(shown)
        pattern = f"(n:{quoted(label)})" if facts[0].owner_kind == "node" else f"()-[n:{quoted(label)}]->()"
        statement = (
            f"MATCH {pattern} WITH n LIMIT 1000 UNWIND keys(n) AS name RETURN name, count(*) AS count "
            f"ORDER BY count DESC, name SKIP {len(shown) - 1} LIMIT 200"
        )
        more = f"({rest} more properties are left out; graph_query lists them: {statement})"
        return "\n".join([*shown, more] if rest else shown)
    kept, _ = fitting(((text, text) for _, text in texts), OUTPUT_TOKENS - NOTE_TOKENS)
    rest = len(texts) - len(kept)
    notes = []
    if rest:
        notes.append(f"({rest} more labels and types are left out; give label to see one of them.)")
    if skeleton.unsampled:
        notes.append(
            f"({len(skeleton.unsampled)} more were not looked at yet; give label to see one of them: "
            f"{', '.join(skeleton.unsampled[:10])} ...)"
        )
    return "".join(kept) + "\n".join(notes)


def _line(fact: PropertyFact) -> str:
    index = f", indexed ({', '.join(kind.lower() for kind in fact.indexes)})" if fact.indexes else ""
    if fact.values is not None:
        shown = " one of " + _listed(fact.values)
    elif fact.examples:
        shown = " e.g. " + _listed(fact.examples)
    else:
        shown = ""
    return f"- {fact.name}: {'|'.join(fact.types)}{index}{shown}"


def _listed(values: tuple[Any, ...]) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
