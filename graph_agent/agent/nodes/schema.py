"""Three stages without the model: labels, counts, property types, each a tool of that name."""

from __future__ import annotations

import difflib
from typing import Any

from graph_agent.agent.stage import Step
from graph_agent.agent.state import State, Update, plan_of
from graph_agent.text import estimate_tokens

PROPERTY_LABELS = 6
PROPERTY_ROWS = 220
OWN_LABELS = ("Document", "MarkdownSection", "Folder", "Label")  # what questions about documents ask for
_SHOWN_LABELS = 400


async def labels(state: State, step: Step) -> Update:
    """All labels in use."""
    outcome = await step.tool("get_node_labels")
    names = [str(name) for name in outcome.artifact or []] if isinstance(outcome.artifact, list) else []
    step.counts = {"labels": len(names)}
    return {"labels": names[:_SHOWN_LABELS]}


async def counts(state: State, step: Step) -> Update:
    """How many nodes each label has."""
    outcome = await step.tool("get_node_label_counts")
    rows = outcome.artifact if isinstance(outcome.artifact, list) else []
    step.counts = {"labels": len(rows)}
    return {"counts": rows[:_SHOWN_LABELS]}


async def properties(state: State, step: Step) -> Update:
    """Property types with examples, of the labels that the plan names or, on a small schema, of all."""
    wanted = wanted_labels(state)
    rows: list[dict[str, Any]] = []
    if wanted:
        for label in wanted:
            rows += _rows((await step.tool("get_property_types", {"label": label})).artifact)
    else:
        rows = _rows((await step.tool("get_property_types")).artifact)
    rows = [row for row in rows if "Vectorf32" not in (row.get("types") or [])][:PROPERTY_ROWS]
    step.counts = {"properties": len(rows)}
    step.detail = {"labels": wanted or ["all"]}
    return {"properties": rows}


def wanted_labels(state: State) -> list[str]:
    """The labels whose properties are looked at; none means all, on a schema of few labels."""
    facts = state["overview_facts"]
    known = state.get("labels") or list(facts["labels"])
    planned = [near for name in plan_of(state)["node_labels"] if (near := _near(name, known))]
    if state["kind"] == "documents":
        return list(dict.fromkeys([*OWN_LABELS[:1], *planned]))[:PROPERTY_LABELS]
    if planned:
        return list(dict.fromkeys(planned))[:PROPERTY_LABELS]
    return [] if facts["all_labels"] <= PROPERTY_LABELS * 3 else list(facts["labels"])[:PROPERTY_LABELS]


def _near(name: str, known: list[str]) -> str | None:
    if name in known:
        return name
    lowered = {label.lower(): label for label in known}
    near = difflib.get_close_matches(name.lower(), lowered, 1, 0.8)
    return lowered[near[0]] if near else None


def _rows(artifact: Any) -> list[dict[str, Any]]:
    return [row for row in artifact if isinstance(row, dict)] if isinstance(artifact, list) else []


def schema_text(state: State, budget: int) -> str:
    """Overview and property types as text for a model, within `budget` tokens."""
    lines = [state["overview"]]
    if state.get("counts"):
        lines.append(
            "Labels with counts: "
            + ", ".join(f"{row.get('label')} {row.get('count')}" for row in state["counts"])
        )
    elif state.get("labels"):
        lines.append("Labels: " + ", ".join(state["labels"]))
    left = budget - sum(estimate_tokens(line) for line in lines)
    shown: list[str] = []
    by_owner: dict[str, list[str]] = {}
    for row in state.get("properties") or []:
        owner = (
            f"({row.get('owner')})" if row.get("owner_kind", "node") == "node" else f"[{row.get('owner')}]"
        )
        by_owner.setdefault(owner, []).append(_property(row))
    for owner, parts in by_owner.items():
        line = f"{owner} {{{'; '.join(parts)}}}"
        left -= estimate_tokens(line)
        if left < 0:
            break
        shown.append(line)
    if shown:
        lines += ["Properties with types and example values:", *shown]
    missing = len(by_owner) - len(shown)
    if missing:
        lines.append(f"Property lists left out: {missing}.")
    return cut_lines("\n".join(lines), budget)


def _property(row: dict[str, Any]) -> str:
    types = "|".join(str(name) for name in row.get("types") or [])
    examples = row.get("values") or row.get("examples") or []
    shown = ", ".join(repr(value) if isinstance(value, str) else str(value) for value in examples[:10])
    return f"{row.get('property') or row.get('name')}: {types}" + (f" = {shown}" if shown else "")


def cut_lines(text: str, tokens: int) -> str:
    """The first lines of a text that fit, and how many do not."""
    if estimate_tokens(text) <= tokens:
        return text
    kept: list[str] = []
    lines = text.split("\n")
    left = tokens - 12
    for line in lines:
        left -= estimate_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*kept, f"({len(lines) - len(kept)} more lines left out)"])
