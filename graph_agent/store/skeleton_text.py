"""The skeleton as text for a model, within a budget of tokens: what is dropped is counted and named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from graph_agent.store.skeleton import PropertyFact, Skeleton, Triple

HIDDEN_TYPES = {"Vectorf32"}  # a model can do nothing with a vector
KEY_PROPERTIES = 14  # of one label or type; the rest is counted
# Shares of the budget that labels alone, then labels and relationships together, may take.
LABEL_SHARE = 0.45
TRIPLE_SHARE = 0.8
TAIL_TOKENS = 130

Measure = Callable[[str], int]
T = TypeVar("T")


@dataclass(frozen=True)
class Outline:
    """Text of a skeleton, and how much of each kind had to be left out of it."""

    text: str
    dropped: dict[str, int] = field(default_factory=dict)


def render(skeleton: Skeleton, graph_name: str, *, budget: int, measure: Measure) -> Outline:
    """The skeleton in at most `budget` tokens.

    Names and counts of labels come first, then relationships, then properties of the labels shown; the
    most frequent of each kind before the others.

    Args:
        skeleton: what is shown.
        graph_name: for the first line.
        budget: tokens, as `measure` counts them.
        measure: tokens of a text.
    """
    head = _head(skeleton, graph_name)
    if not skeleton.nodes:
        return Outline(head)
    lists = _lists(skeleton.properties)
    room = _Room(budget - measure(head) - TAIL_TOKENS, measure)
    labels = room.take(
        [(label, f"- {label} {number}\n") for label, number in skeleton.labels.items()], LABEL_SHARE
    )
    triples = room.take([(triple, _triple(triple) + "\n") for triple in skeleton.triples], TRIPLE_SHARE)
    kinds = list(dict.fromkeys(triple.type for triple in triples))
    wanted = [("node", label) for label in labels] + [("edge", kind) for kind in kinds]
    shown = set(room.take([(owner, lists[owner]) for owner in wanted if owner in lists], 1.0))
    more = list(skeleton.labels.items())[len(labels) :]
    labels += room.take([(label, f"{label} {number}, ") for label, number in more], 1.0)

    lines = [head, "Node types with counts and properties:"]
    bare = [f"{label} {skeleton.labels[label]}" for label in labels if ("node", label) not in shown]
    lines += [
        f"- {label} {skeleton.labels[label]} {lists['node', label]}"
        for label in labels
        if ("node", label) in shown
    ]
    if bare:
        lines.append("- " + ", ".join(bare))
    if triples:
        lines.append("Relationships with counts:")
        lines += [_triple(triple) for triple in triples]
        lines += [f"- {kind} {lists['edge', kind]}" for kind in kinds if ("edge", kind) in shown]
    dropped = {
        "node types": len(skeleton.labels) - len(labels),
        "relationships": len(skeleton.triples) - len(triples),
        "property lists": len(lists) - len(shown) + len(skeleton.unsampled),
    }
    dropped = {kind: number for kind, number in dropped.items() if number}
    return Outline("\n".join([*lines, *_tail(skeleton, dropped)]), dropped)


class _Room:
    """Tokens left; the first item that does not fit ends its list, so that what is shown ranks highest."""

    def __init__(self, tokens: int, measure: Measure) -> None:
        self._all = tokens
        self._spent = 0
        self._measure = measure

    def take(self, items: Iterable[tuple[T, str]], share: float) -> list[T]:
        taken: list[T] = []
        for item, text in items:
            cost = self._measure(text)
            if self._spent + cost > self._all * share:
                break
            self._spent += cost
            taken.append(item)
        return taken


def _head(skeleton: Skeleton, graph_name: str) -> str:
    if not skeleton.nodes:
        return f"No nodes found in the graph {graph_name!r}: it is empty."
    return f"Graph {graph_name!r}: {skeleton.nodes} nodes, {skeleton.edges} relationships."


def _triple(triple: Triple) -> str:
    source = f"(:{triple.source})" if triple.source else "()"
    target = f"(:{triple.target})" if triple.target else "()"
    return f"- {source}-[:{triple.type}]->{target} {'' if triple.exact else '~'}{triple.count}"


def _lists(facts: Iterable[PropertyFact]) -> dict[tuple[str, str], str]:
    """`{name: String, born: Integer}` by kind and owner."""
    by_owner: dict[tuple[str, str], list[str]] = {}
    for fact in facts:
        if not set(fact.types) <= HIDDEN_TYPES:
            by_owner.setdefault((fact.owner_kind, fact.owner), []).append(
                f"{fact.name}: {'|'.join(fact.types)}"
            )
    texts = {}
    for owner, parts in by_owner.items():
        more = [f"+{len(parts) - KEY_PROPERTIES} more"] if len(parts) > KEY_PROPERTIES else []
        texts[owner] = "{" + ", ".join([*parts[:KEY_PROPERTIES], *more]) + "}"
    return texts


def _tail(skeleton: Skeleton, dropped: dict[str, int]) -> list[str]:
    """What is missing, and which tool has it."""
    tools = {
        "node types": "get_node_label_counts",
        "relationships": "get_edge_type_counts",
        "property lists": "get_property_types",
    }
    lines = []
    if any(not triple.exact for triple in skeleton.triples):
        lines.append("Counts with ~ are estimated from a sample.")
    if dropped:
        parts = [f"{number} {kind} ({tools[kind]} lists them)" for kind, number in dropped.items()]
        lines.append(f"Left out: {', '.join(parts)}.")
    if skeleton.pending and skeleton.triples:
        lines.append(
            "Pending: the graph has changed; relationships and properties are being looked at again."
        )
    elif skeleton.pending:
        lines.append(
            "Pending: relationships and properties are still being looked at; "
            "get_edge_types and get_property_types have them, or ask again in a few seconds."
        )
    return lines
