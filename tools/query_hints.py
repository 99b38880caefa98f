"""What to say beside the rows of a query: names that do not exist, and for no rows, values and arrows to try."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from graph_agent.errors import QueryError
from graph_agent.store.queries import hints as statements
from graph_agent.store.queries.overview import quoted
from graph_agent.store.query_shape import Comparison, QueryNames, Step
from graph_agent.store.skeleton import Skeleton
from graph_agent.tools.context import ToolContext
from graph_agent.tools.near_names import nearest

LOOK_MS = 400  # of each look at the graph
LOOKS = 6  # at most, for one query
NAMES_SHOWN = 12
SHARED_VALUES = 2_000


def hint_for(context: ToolContext, names: QueryNames, *, empty: bool) -> str | None:
    """One or more sentences, or None when there is nothing to say.

    Args:
        context: the graph.
        names: of the query.
        empty: no row came back, or only zeros and nulls: then values and directions are looked at too.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    skeleton = context.overview.current()
    look = _Look(context, skeleton)
    found = [*_labels(names, skeleton), *_properties(look, names)]
    if empty and not found:
        found += [*_directions(names, skeleton), *_values(look, names)]
    return " ".join(found) or None


class _Look:
    """A few bounded questions to the graph."""

    def __init__(self, context: ToolContext, skeleton: Skeleton) -> None:
        self.context = context
        self.skeleton = skeleton
        self._left = LOOKS

    def rows(self, statement: str, params: Mapping[str, Any] | None = None) -> list[list[Any]] | None:
        """Rows, or None when it was too slow or one question too many."""
        if self._left <= 0:
            return None
        self._left -= 1
        try:
            return self.context.graph.read(statement, params, timeout_ms=LOOK_MS).rows
        except QueryError:
            return None

    def properties(self, owner: str) -> list[str]:
        """Names of the properties that an owner is known to have."""
        return [fact.name for fact in self.context.overview.properties(owner)]


def _labels(names: QueryNames, skeleton: Skeleton) -> Iterable[str]:
    for kind, used, known, shown in (
        ("node has the label", names.labels, skeleton.labels, ":{}"),
        ("relationship has the type", names.types, skeleton.edge_types, ":{}"),
    ):
        for name in used:
            if name in known:
                continue
            other = skeleton.edge_types if known is skeleton.labels else skeleton.labels
            near = nearest(name, known)
            if near:
                tip = f"near: {', '.join(near)}"
            elif name in other:
                tip = "it is a relationship type" if other is skeleton.edge_types else "it is a node label"
            else:
                tip = f"there are: {', '.join(list(known)[:NAMES_SHOWN]) or 'none'}"
            yield f"No {kind} {shown.format(name)} ({tip})."


def _properties(look: _Look, names: QueryNames) -> Iterable[str]:
    keys: set[str] | None = None
    for variable, name in names.properties:
        owners = [owner for owner in names.owners.get(variable, {}) if _known(owner, look.skeleton)]
        if owners:
            has = {owner: look.properties(owner) for owner in owners}
            if any(name in own for own in has.values()) or _exists(look, names, variable, owners, name):
                continue
            all_names = list(dict.fromkeys(known for own in has.values() for known in own))
            where = " or ".join(f":{owner}" for owner in owners)
            yield f"No {where} has the property {name} ({_tip(name, all_names)})."
        elif variable and not names.owners.get(variable):
            if keys is None:
                rows = look.rows(statements.PROPERTY_KEYS)
                keys = {str(row[0]) for row in rows} if rows is not None else set()
            if keys and name not in keys:
                in_use = list(dict.fromkeys(fact.name for fact in look.skeleton.properties))
                yield f"Nothing in the graph has the property {name} ({_tip(name, in_use)})."


def _known(owner: str, skeleton: Skeleton) -> bool:
    return owner in skeleton.labels or owner in skeleton.edge_types


def _tip(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    if near:
        return f"near: {', '.join(near)}"
    return f"it has: {', '.join(known[:NAMES_SHOWN])}" if known else "it has none"


def _exists(look: _Look, names: QueryNames, variable: str, owners: list[str], name: str) -> bool:
    """Whether any node or edge has the property after all: the skeleton knows samples only.

    A question that cannot be answered in time counts as yes: a wrong hint misleads more than none.
    """
    for owner in owners:
        if variable in names.edges:
            statement = statements.ANY_EDGE_WITH.format(type=quoted(owner), property=quoted(name))
        else:
            statement = statements.ANY_NODE_WITH.format(label=quoted(owner), property=quoted(name))
        rows = look.rows(statement)
        if rows is None or rows:
            return True
    return False


def _directions(names: QueryNames, skeleton: Skeleton) -> Iterable[str]:
    """Patterns whose arrow points against every relationship that is stored."""
    if skeleton.pending or any(not triple.exact for triple in skeleton.triples):
        return
    for step in dict.fromkeys(names.steps):
        sources = list(names.owners.get(step.source, {}))
        targets = list(names.owners.get(step.target, {}))
        if (sources or targets) and not _stored(skeleton, step, sources, targets):
            backward = _stored(skeleton, step, targets, sources)
            kinds = "|".join(step.types)
            if backward:
                yield (
                    f"{_arrow(sources, kinds, targets)} is not in the graph; "
                    f"it is stored the other way: {_arrow(targets, kinds, sources)}."
                )
            elif step.types[0] in skeleton.edge_types:
                real = [triple for triple in skeleton.triples if triple.type in step.types][:3]
                shown = ", ".join(
                    f"(:{triple.source})-[:{triple.type}]->(:{triple.target})" for triple in real
                )
                yield f"{_arrow(sources, kinds, targets)} is not in the graph; there is {shown}."


def _stored(skeleton: Skeleton, step: Step, sources: list[str], targets: list[str]) -> bool:
    return any(
        triple.type in step.types
        and set(sources) <= set(triple.source.split(":"))
        and set(targets) <= set(triple.target.split(":"))
        for triple in skeleton.triples
    )


def _arrow(sources: list[str], kinds: str, targets: list[str]) -> str:
    left = f"(:{':'.join(sources)})" if sources else "()"
    right = f"(:{':'.join(targets)})" if targets else "()"
    return f"{left}-[:{kinds}]->{right}"


def _values(look: _Look, names: QueryNames) -> Iterable[str]:
    """Texts that no node has as written, with those that are near."""
    for comparison in dict.fromkeys(names.comparisons):
        labels = [label for label in names.owners.get(comparison.owner, {}) if label in look.skeleton.labels]
        if comparison.owner in names.edges or not labels:
            continue
        near = _near_values(look, labels[0], comparison)
        if near:
            shown = ", ".join(f"'{value}'" for value in near)
            yield f"No :{labels[0]} has {comparison.name} {comparison.operator} '{comparison.value}' (near: {shown})."


def _near_values(look: _Look, label: str, comparison: Comparison) -> list[str]:
    if comparison.name not in look.properties(label):
        return []
    names = {"label": quoted(label), "property": quoted(comparison.name)}
    statement = statements.ANY_MATCH.format(**names, operator=comparison.operator)
    if look.rows(statement, {"value": comparison.value}) != []:
        return []
    lower = comparison.value.lower()
    rows = look.rows(statements.SIMILAR_VALUES.format(**names), {"lower": lower, "values": 5})
    if rows:
        return [str(row[0])[:80] for row in rows]
    rows = look.rows(statements.SOME_VALUES.format(**names), {"values": SHARED_VALUES}) or []
    by_lower = {str(row[0]).lower(): str(row[0]) for row in rows}
    return [by_lower[key][:80] for key in difflib.get_close_matches(lower, by_lower, 3, 0.7)]
