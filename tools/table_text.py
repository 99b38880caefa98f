"""Rows of a query as a compact table for a model: every column kept, long cells cut, rows counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from graph_agent.tools.bounds import OUTPUT_TOKENS, output_tokens

CELL_CHARS = (4_000, 800, 300, 120, 60)  # tried in turn until all rows fit


def table_text(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], tokens: int = OUTPUT_TOKENS
) -> tuple[str, int]:
    """The table, and how many of the rows it shows.

    A single value is given raw, line feeds and all; in a table a cell is one line.

    Args:
        columns: names as in RETURN.
        rows: values in plain JSON types.
        tokens: bound of the text.
    """
    head = " | ".join(_escaped(name) for name in columns)
    if len(rows) == 1 and len(columns) == 1 and isinstance(rows[0][0], str):
        return f"{head}\n{_raw(rows[0][0], tokens - output_tokens(head) - 20)}", 1
    texts = [[cell_text(value) for value in row] for row in rows]
    for limit in CELL_CHARS:
        lines = [" | ".join(_cut(text, limit) for text in row) for row in texts]
        shown = _fitting(lines, tokens - output_tokens(head))
        if shown == len(lines) or limit == CELL_CHARS[-1]:
            return "\n".join([head, *lines[:shown]]), shown
    raise AssertionError("unreachable: the last limit always returns")


def cell_text(value: Any) -> str:
    """One value on one line: text as it is, nodes and relationships as Cypher writes them, the rest as JSON."""
    if isinstance(value, str):
        return _escaped(value)
    if isinstance(value, dict) and set(value) == {"id", "labels", "properties"}:
        labels = "".join(f":{label}" for label in value["labels"])
        return _escaped(f"({labels} {_map(value['properties'])})")
    if isinstance(value, dict) and {"type", "source", "target", "properties"} <= set(value):
        return _escaped(f"[:{value['type']} {_map(value['properties'])}]")
    if isinstance(value, dict) and set(value) == {"nodes", "edges"} and value["nodes"]:
        return _path(value)
    if isinstance(value, list):
        return "[" + ", ".join(json_text(item) for item in value) + "]"
    return _escaped(json_text(value))


def json_text(value: Any) -> str:
    """A value within another one."""
    if isinstance(value, dict) and ("labels" in value or "source" in value) and "properties" in value:
        return cell_text(value)
    return json.dumps(value, ensure_ascii=False)


def _path(path: dict[str, Any]) -> str:
    """`(:A {...})-[:R {}]->(:B {...})`, arrows as stored."""
    text = cell_text(path["nodes"][0])
    for at, edge in enumerate(path["edges"]):
        forward = edge["source"] == path["nodes"][at]["id"]
        left, right = ("-", "->") if forward else ("<-", "-")
        text += f"{left}{cell_text(edge)}{right}{cell_text(path['nodes'][at + 1])}"
    return text


def _map(properties: dict[str, Any]) -> str:
    return (
        "{"
        + ", ".join(f"{key}: {json.dumps(item, ensure_ascii=False)}" for key, item in properties.items())
        + "}"
    )


def _escaped(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\\n").replace("\r", "\\r").replace("|", "\\|")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…({len(text)} characters)"


def _raw(text: str, tokens: int) -> str:
    if output_tokens(text) <= tokens:
        return text
    cut = text[: max(200, int(len(text) * tokens / output_tokens(text)))]
    return f"{cut}…\n(cut: {len(text)} characters; read on with substring(..., {len(cut)}, 8000))"


def _fitting(lines: Sequence[str], tokens: int) -> int:
    """How many lines fit, at least one."""
    for at, line in enumerate(lines):
        tokens -= output_tokens(line) + 1
        if tokens < 0:
            return max(1, at)
    return len(lines)
