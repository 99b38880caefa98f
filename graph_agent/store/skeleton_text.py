"""The skeleton as text for a model, within a budget of tokens: what is dropped is counted and named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from graph_agent.store.skeleton import PropertyFact, Skeleton, Triple

HIDDEN_TYPES = {"Vectorf32"}  # a model can do nothing with a vector
KEY_PROPERTIES = (60, 30, 14)  # of one label or type, as the budget allows; the rest is counted
# Shares of the budget that labels alone, then labels and relationships together, may take.
LABEL_SHARE = 0.45
TRIPLE_SHARE = 0.8
TAIL_TOKENS = 130
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

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
    room = _Room(budget - measure(head) - TAIL_TOKENS, measure)
    labels = room.take(
        [(label, f"- {cypher_name(label)} {number}\n") for label, number in skeleton.labels.items()],
        LABEL_SHARE,
    )
    triples = room.take([(triple, _triple(triple) + "\n") for triple in skeleton.triples], TRIPLE_SHARE)
    kinds = list(dict.fromkeys(triple.type for triple in triples))
    wanted = [("node", label) for label in labels] + [("edge", kind) for kind in kinds]
    for limit in KEY_PROPERTIES:
        lists = _lists(skeleton.properties, limit)
        mine = [(owner, lists[owner]) for owner in wanted if owner in lists]
        if room.holds(text for _, text in mine):
            break
    shown = set(room.take(mine, 1.0))
    more = list(skeleton.labels.items())[len(labels) :]
    labels += room.take([(label, f"{cypher_name(label)} {number}, ") for label, number in more], 1.0)

    lines = [head, "Node types with counts and properties:"]
    bare = [
        f"{cypher_name(label)} {skeleton.labels[label]}" for label in labels if ("node", label) not in shown
    ]
    lines += [
        f"- {cypher_name(label)} {skeleton.labels[label]} {lists['node', label]}"
        for label in labels
        if ("node", label) in shown
    ]
    if bare:
        lines.append("- " + ", ".join(bare))
    if triples:
        lines.append("Relationships with counts:")
        lines += [_triple(triple) for triple in triples]
        lines += [f"- {cypher_name(kind)} {lists['edge', kind]}" for kind in kinds if ("edge", kind) in shown]
    dropped = {
        "node types": len(skeleton.labels) - len(labels),
        "relationships": len(skeleton.triples) - len(triples),
        "property lists": len(lists) - len(shown) + len(skeleton.unsampled),
        "properties of those shown": sum(
            max(0, _count(skeleton.properties, owner) - limit) for owner in shown
        ),
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

    def holds(self, texts: Iterable[str]) -> bool:
        """Whether all of them fit."""
        return self._spent + sum(map(self._measure, texts)) <= self._all


def _head(skeleton: Skeleton, graph_name: str) -> str:
    if not skeleton.nodes:
        return f"No nodes found in the graph {graph_name!r}: it is empty."
    return f"Graph {graph_name!r}: {skeleton.nodes} nodes, {skeleton.edges} relationships."


def cypher_name(name: str) -> str:
    """A name as Cypher needs it written: in backticks when it is no plain identifier."""
    return name if _IDENTIFIER.fullmatch(name) else f"`{name}`"


def _triple(triple: Triple) -> str:
    source, target = (
        f"(:{':'.join(map(cypher_name, labels.split(':')))})" if labels else "()"
        for labels in (triple.source, triple.target)
    )
    return f"- {source}-[:{cypher_name(triple.type)}]->{target} {'' if triple.exact else '~'}{triple.count}"


def _lists(facts: Iterable[PropertyFact], limit: int) -> dict[tuple[str, str], str]:
    """`{name: String, born: Integer}` by kind and owner, of at most so many properties each."""
    by_owner: dict[tuple[str, str], list[str]] = {}
    for fact in facts:
        if not set(fact.types) <= HIDDEN_TYPES:
            by_owner.setdefault((fact.owner_kind, fact.owner), []).append(
                f"{cypher_name(fact.name)}: {'|'.join(fact.types)}"
            )
    texts = {}
    for owner, parts in by_owner.items():
        more = [f"+{len(parts) - limit} more"] if len(parts) > limit else []
        texts[owner] = "{" + ", ".join([*parts[:limit], *more]) + "}"
    return texts


def _count(facts: Iterable[PropertyFact], owner: tuple[str, str]) -> int:
    return sum(
        (fact.owner_kind, fact.owner) == owner and not set(fact.types) <= HIDDEN_TYPES for fact in facts
    )


def _tail(skeleton: Skeleton, dropped: dict[str, int]) -> list[str]:
    """What is missing, and which tool has it."""
    tools = {
        "node types": "get_node_label_counts",
        "relationships": "get_edge_type_counts",
        "property lists": "get_property_types",
        "properties of those shown": "get_property_types",
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
