"""A document's sections as a tree, and as YAML that fits: first descriptions go, then the deepest levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.tools.bounds import output_tokens
from graph_agent.tools.markdown_tables import find_tables
from graph_agent.tools.openings import opening
from graph_agent.tools.yaml_text import yaml_text

DETAILS = ("description", "pages", "summary", "keywords", "tokens", "tables")


@dataclass
class Node:
    """A section with its subsections.

    Attributes:
        facts: id, title, level and what else is told of it.
        depth: how deep it counts: its level, or one more than its parent's where levels are skipped.
        children: its subsections in order.
    """

    facts: dict[str, Any]
    depth: int
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


def build_tree(rows: Sequence[Mapping[str, Any]], *, summaries: bool) -> list[Node]:
    """Top sections with all below them, from rows in order of the text."""
    roots: list[Node] = []
    by_id: dict[str, Node] = {}
    linked = any(row["parent_id"] for row in rows)
    above: list[Node] = []
    for row in rows:
        level = int(row["level"] or 0)
        if linked:
            parent = by_id.get(str(row["parent_id"]))
        else:
            while above and (above[-1].facts["level"] >= level or above[-1].facts["level"] == 0):
                above.pop()
            parent = above[-1] if above else None
        depth = min(level, parent.depth + 1) if parent else level
        node = Node(_facts(row, level, summaries=summaries), depth)
        by_id[str(row["section_id"])] = node
        (parent.children if parent else roots).append(node)
        above.append(node)
    return roots


def down_to(roots: Sequence[Node], max_level: int) -> list[Node]:
    """The tree without what is deeper than `max_level`."""
    return [
        Node(node.facts, node.depth, down_to(node.children, max_level))
        for node in roots
        if node.depth <= max_level
    ]


def as_dicts(roots: Sequence[Node]) -> list[dict[str, Any]]:
    """The tree in plain JSON types, subsections under `sections`."""
    return [
        {**node.facts, **({"sections": as_dicts(node.children)} if node.children else {})} for node in roots
    ]


def fit(roots: Sequence[Node], tokens: int) -> tuple[str, str]:
    """The tree as YAML in at most so many tokens, and a remark about what is left out ("" for nothing)."""
    nodes = [node for root in roots for node in root.walk()]
    bare = {id(node): output_tokens(yaml_text([_bare(node)])) + 2 for node in nodes}
    full = {id(node): bare[id(node)] + _details_cost(node) for node in nodes}
    if sum(full.values()) <= tokens:
        return _yaml(as_dicts(roots)), ""
    top = min(node.depth for node in nodes)
    mixed = sum(full[id(node)] if node.depth == top else bare[id(node)] for node in nodes)
    if mixed <= tokens:
        return _yaml(_described(roots, top)), "descriptions below the top sections are left out"
    if sum(bare.values()) <= tokens:
        return _yaml(_described(roots, -1)), "descriptions are left out"
    for deepest in sorted({node.depth for node in nodes}, reverse=True)[1:]:
        shown = [node for node in nodes if node.depth <= deepest]
        if sum(bare[id(node)] + 6 for node in shown) <= tokens:
            hidden = len(nodes) - len(shown)
            return _yaml(_counted(roots, deepest)), (
                f"descriptions and {hidden} sections deeper than level {deepest} are left out"
            )
    kept: list[dict[str, Any]] = []
    for root in roots:
        tokens -= bare[id(root)] + 6
        if tokens < 0 and kept:
            break
        kept += _counted([root], root.depth)
    rest = len(roots) - len(kept)
    hidden = len(nodes) - len(roots)
    return _yaml(
        kept
    ), f"descriptions, {hidden} subsections and {rest} of {len(roots)} top sections are left out"


def _facts(row: Mapping[str, Any], level: int, *, summaries: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": row["section_id"],
        "title": row["title"] or "",
        "level": level,
        "description": row["description"] or opening(row["opening"], str(row["title"] or "")),
        "pages": _pages(row["page_start"], row["page_end"]),
    }
    if summaries:
        facts |= {
            "summary": row["summary"],
            "keywords": row["keywords"],
            "tokens": row["tokens"],
            "tables": _tables(row["table_text"]),
        }
    return {key: value for key, value in facts.items() if value not in (None, [], "") or key == "title"}


def _pages(first: int | None, last: int | None) -> int | str | None:
    return first if first is None or last is None or last <= first else f"{first}-{last}"


def _tables(text: str | None) -> list[dict[str, Any]]:
    return [
        {"rows": table.rows, "columns": len(table.header), "header": " | ".join(table.header)[:200]}
        for table in find_tables((text or "").split("\n"))
    ]


def _bare(node: Node) -> dict[str, Any]:
    return {key: value for key, value in node.facts.items() if key not in DETAILS}


def _details_cost(node: Node) -> int:
    details = {key: value for key, value in node.facts.items() if key in DETAILS}
    return output_tokens(yaml_text(details)) if details else 0


def _described(roots: Sequence[Node], depth: int) -> list[dict[str, Any]]:
    return [
        {
            **(node.facts if node.depth == depth else _bare(node)),
            **({"sections": _described(node.children, depth)} if node.children else {}),
        }
        for node in roots
    ]


def _counted(roots: Sequence[Node], deepest: int) -> list[dict[str, Any]]:
    """Bare sections down to a depth; where some are hidden below, how many."""
    found = []
    for node in roots:
        if node.depth > deepest:
            continue
        row = _bare(node)
        shown = [child for child in node.children if child.depth <= deepest]
        hidden = sum(1 for child in node.children if child.depth > deepest for _ in child.walk())
        if hidden:
            row["hidden"] = hidden
        if shown:
            row["sections"] = _counted(shown, deepest)
        found.append(row)
    return found


def _yaml(sections: list[dict[str, Any]]) -> str:
    return yaml_text({"sections": sections})
