"""The form of a model's plan, and the plan that the machine makes of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from graph_agent.agent.reasoner import PlanRequest
from graph_agent.agent.state import GraphKind, PlanState, ScopeChoice
from graph_agent.text import detect_language

MAX_PHRASES = 3


class LabelChoice(BaseModel):
    """One facet and the values asked for."""

    facet: str = ""
    values: list[str] = Field(default_factory=list)


class Plan(BaseModel):
    """How one question is answered."""

    question: str = ""
    language: str = ""
    kind: Literal["chat", "corpus", "structure", "fact", "mixed"] = "fact"
    cypher: bool = False
    cypher_reason: str = ""
    search: bool = True
    search_reason: str = ""
    read: bool = False
    read_reason: str = ""
    phrases: list[str] = Field(default_factory=list)
    node_labels: list[str] = Field(default_factory=list)
    folder: str = ""
    document: str = ""
    labels: list[LabelChoice] = Field(default_factory=list)
    date_from: str = ""
    date_to: str = ""

    @field_validator("question", "language", "folder", "document", "date_from", "date_to", mode="before")
    @classmethod
    def _null_is_blank(cls, value: Any) -> Any:
        """Models write null for what does not apply."""
        return "" if value is None else value

    @field_validator("phrases", "node_labels", "labels", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        """A lone string for a list of one, a map for a list of facets."""
        if value is None:
            return []
        if isinstance(value, str):
            return [value]
        if isinstance(value, dict):
            return [
                {"facet": facet, "values": v if isinstance(v, list) else [v]} for facet, v in value.items()
            ]
        return value


def planned(plan: Plan, request: PlanRequest) -> PlanState:
    """The model's plan as part of the state, with its gaps filled."""
    question = plan.question.strip() or request.question
    talk = plan.kind in {"chat", "corpus"}
    cypher = not talk and (plan.cypher or plan.kind in {"structure", "mixed"} or request.kind == "foreign")
    search = not talk and (plan.search or plan.kind in {"fact", "mixed"} or not cypher)
    needs: dict[str, str] = {}
    skips: dict[str, str] = {}
    for name, wanted, reason in (
        ("cypher", cypher, plan.cypher_reason),
        ("search", search, plan.search_reason),
        ("read", plan.read and not talk, plan.read_reason),
    ):
        (needs if wanted else skips)[name] = reason.strip() or (
            "the plan needs it" if wanted else "not needed"
        )
    phrases = [phrase.strip()[:300] for phrase in plan.phrases if phrase.strip()][:MAX_PHRASES]
    language = plan.language.strip().lower()[:2]
    return {
        "question": question[:4_000],
        "kind": plan.kind,
        "needs": needs,
        "skips": skips,
        "phrases": list(dict.fromkeys([*phrases, question])) if search else phrases,
        "scope": _scope(plan, request.kind),
        "node_labels": plan.node_labels[:8],
        "language": language
        if len(language) == 2 and language.isalpha()
        else detect_language(request.question),
        "details": {},
    }


def _scope(plan: Plan, kind: GraphKind) -> ScopeChoice:
    scope: ScopeChoice = {}
    if kind != "documents":
        return scope
    if plan.folder.strip():
        scope["folder"] = plan.folder.strip()
    if plan.document.strip():
        scope["document"] = plan.document.strip()
    labels = {choice.facet: choice.values for choice in plan.labels if choice.facet and choice.values}
    if labels:
        scope["labels"] = labels
    if plan.date_from.strip():
        scope["date_from"] = plan.date_from.strip()
    if plan.date_to.strip():
        scope["date_to"] = plan.date_to.strip()
    return scope
