"""The skeleton as text for a model, within a budget of tokens: what is dropped is counted and named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from graph_agent.store.skeleton import PropertyFact, Skeleton, Triple

HIDDEN_TYPES = {"Vectorf32"}  # a model can do nothing with a vector
KEY_PROPERTIES = 14  # of one label; the rest is counted
LABEL_SHARE = 0.45
TRIPLE_SHARE = 0.8  # labels and relationships together, before properties are added
TAIL_TOKENS = 90

Measure = Callable[[str], int]


@dataclass
class Outline:
    """Text of a skeleton and what had to be left out of it, by kind."""

    text: str
    dropped: dict[str, int] = field(default_factory=dict)


def render(skeleton: Skeleton, graph_name: str, *, budget: int, measure: Measure) -> Outline:
    """The skeleton in at most `budget` tokens.

    Names and counts of labels come first, then relationships, then properties of the labels shown, the
    most frequent of each before the others.

    Args:
        skeleton: what is shown.
        graph_name: for the first line.
        budget: tokens as `measure` counts them.
        measure: tokens of a text.
    """
    head = _head(skeleton, graph_name)
    if not skeleton.nodes:
        return Outline(head)
    properties = _by_owner(skeleton.properties)
    room = _Room(budget - measure(head) - TAIL_TOKENS, measure)
    labels = room.take(
        ((label, f"- {label} {number}\n") for label, number in skeleton.labels.items()), LABEL_SHARE
    )
    triples = room.take(((triple, _triple(triple) + "\n") for triple in skeleton.triples), TRIPLE_SHARE)
    described = room.take(
        (
            (owner, _properties(properties[owner]))
            for owner in [*labels, *dict.fromkeys(triple.type for triple in triples)]
            if owner in properties
        ),
        1.0,
    )
    labels = [*labels, *room.take(_plain_labels(skeleton, len(labels)), 1.0)]
    dropped = {
        "node types": len(skeleton.labels) - len(labels),
        "relationships": len(skeleton.triples) - len(triples),
        "property lists": sum(owner not in described for owner in properties) + len(skeleton.unsampled),
    }
    lines = [head, "Node types, with counts and properties:"]
    chosen = set(described)
    bare = [label for label in labels if label not in chosen]
    lines += [
        f"- {label} {skeleton.labels[label]}{_properties(properties[label])}"
        for label in labels
        if label in chosen
    ]
    if bare:
        lines.append("- " + ", ".join(f"{label} {skeleton.labels[label]}" for label in bare))
    if triples:
        lines.append("Relationships, with counts (~ estimated from a sample):")
        lines += [_triple(triple) for triple in triples]
        lines += [
            f"- {kind}{_properties(properties[kind])}"
            for kind in dict.fromkeys(triple.type for triple in triples)
            if kind in chosen and kind not in skeleton.labels
        ]
    lines += _tail(skeleton, dropped, budget)
    return Outline("\n".join(lines), {kind: number for kind, number in dropped.items() if number})


class _Room:
    """Tokens left, spent in order; an item that does not fit ends its list, so that order means rank."""

    def __init__(self, tokens: int, measure: Measure) -> None:
        self._all = tokens
        self._spent = 0
        self._measure = measure

    def take[T](self, items: Iterable[tuple[T, str]], share: float) -> list[T]:
        taken: list[T] = []
        for item, text in items:
            cost = self._measure(text)
            if self._spent + cost > self._all * share:
                break
            self._spent += cost
            taken.append(item)
        return taken
