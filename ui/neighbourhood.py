"""What the picture of the graph shows: the skeleton, or what is around one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from graph_agent.store.queries import pages as statements
from graph_agent.ui.wording import count, shortened

if TYPE_CHECKING:
    from graph_agent.store import DocumentGraph
    from graph_agent.store.skeleton import Skeleton

MAX_LABELS = 40
MAX_AROUND = 40
Kind = Literal["type", "document", "section", "folder", "label"]


@dataclass(frozen=True, slots=True)
class Node:
    """A circle.

    Attributes:
        key: unique in the picture.
        weight: how many things it stands for; its area grows with it.
        id: of the node in the graph, "" for a label of the skeleton.
    """

    key: str
    kind: Kind
    caption: str
    weight: float = 1.0
    id: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two circles."""

    source: str
    target: str
    caption: str
    weight: float = 1.0


@dataclass(frozen=True)
class Picture:
    """Circles and lines; `centre` is the key of the node in the middle, "" when there is none."""

    title: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    centre: str = ""
    left_out: int = 0


def skeleton_picture(skeleton: Skeleton) -> Picture:
    """Labels by their counts, and the relationships between them."""
    names = [name for name in list(skeleton.labels)[:MAX_LABELS] if name != "GraphMeta"]
    nodes = tuple(
        Node(name, "type", name, float(skeleton.labels[name]), detail=count(skeleton.labels[name], "node"))
        for name in names
    )
    known = set(names)
    links = tuple(
        Link(one.source, one.target, f"{one.type} {'' if one.exact else '~'}{one.count:,}", float(one.count))
        for one in skeleton.triples
        if one.source in known and one.target in known
    )
    return Picture("What the graph holds", nodes, links, left_out=len(skeleton.labels) - len(names))


def neighbourhood(graph: DocumentGraph, kind: str, name: str) -> Picture | None:
    """A node and its neighbours, None when it is not there (any more).

    Args:
        graph: the graph.
        kind: document, section, folder or label.
        name: content hash, section id, folder id, or `facet=value`.
    """
    centre = _centre(graph, kind, name)
    if centre is None:
        return None
    nodes = {centre.key: centre}
    links: dict[tuple[str, str, str], Link] = {}
    for row in _rows(graph, kind, name):
        node = Node(
            f"{row['kind']} {row['id']}",
            row["kind"],
            shortened(str(row["caption"] or "Untitled"), 60),
            id=str(row["id"]),
        )
        if node.key == centre.key:
            continue
        nodes.setdefault(node.key, node)
        ends = (str(row.get("source") or centre.key), node.key)
        if ends[0] not in nodes:
            continue
        links[*ends, row["type"]] = Link(*ends, str(row["type"]))
    return Picture(f"Around {centre.caption}", tuple(nodes.values()), tuple(links.values()), centre.key)


def _centre(graph: DocumentGraph, kind: str, name: str) -> Node | None:
    if kind == "label":
        facet, _, value = name.partition("=")
        return Node(f"label {name}", "label", f"{facet}: {value}", 3.0, name) if value else None
    statement = statements.CAPTIONS.get(kind)
    if statement is None:
        return None
    found = graph.read(statement, {"id": name}).rows
    if not found:
        return None
    return Node(f"{kind} {name}", kind, shortened(str(found[0][0] or "Untitled"), 60), 3.0, name)  # type: ignore[arg-type]


def _rows(graph: DocumentGraph, kind: str, name: str) -> list[dict[str, Any]]:
    if kind == "label":
        facet, _, value = name.partition("=")
        parameters: Mapping[str, Any] = {"facet": facet, "value": value, "limit": MAX_AROUND}
        return graph.read(statements.LABEL_AROUND, parameters).dicts()
    parameters = {"id": name, "limit": MAX_AROUND}
    wanted = {
        "document": (
            statements.DOCUMENT_AROUND,
            statements.DOCUMENT_SUBSECTIONS,
            statements.DOCUMENT_LINKS_OUT,
            statements.DOCUMENT_LINKS_IN,
        ),
        "section": (statements.SECTION_AROUND,),
        "folder": (statements.FOLDER_AROUND,),
    }[kind]
    return [row for statement in wanted for row in graph.read(statement, parameters).dicts()]
