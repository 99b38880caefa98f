"""What the machine knows of a conversation and of the question at hand. JSON types only: it is checkpointed.

`turns` is the conversation; everything else belongs to one question and is reset when the next one enters
(`fresh`). The store, the models and the limits are not here but in the context.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from langgraph.types import Overwrite

from graph_agent.agent.budget import NOTHING_SPENT, Spent

Json = Any
GraphKind = Literal["documents", "foreign", "empty", "unknown"]
QuestionKind = Literal["chat", "corpus", "structure", "fact", "mixed"]
KEPT_TURNS = 40


class Turn(TypedDict):
    """One question of the conversation, made whole, and its answer."""

    question: str
    answer: str


class ScopeChoice(TypedDict, total=False):
    """What to search: names of folders or documents, labels, dates. Absent: everything."""

    folder: str
    document: str
    paths: list[str]
    labels: dict[str, list[str]]
    date_from: str
    date_to: str


class PlanState(TypedDict):
    """The plan of a question.

    Attributes:
        question: standalone, follow-ups resolved.
        kind: chat (no documents needed), corpus (about the collection), structure (counts, lists,
            outlines), fact, or mixed (structure and fact).
        needs: optional stage -> why it is needed.
        skips: optional stage -> why it is left out.
        phrases: what to search for.
        node_labels: labels of the graph that a query would use.
        language: ISO 639-1 code of the answer.
        details: what the extractive reasoner found out about the question.
    """

    question: str
    kind: QuestionKind
    needs: dict[str, str]
    skips: dict[str, str]
    phrases: list[str]
    scope: ScopeChoice
    node_labels: list[str]
    language: str
    details: dict[str, Json]


class ReadCall(TypedDict):
    """One tool call of the reading loop, with what came back; `artifact` only where code reads on in it."""

    id: str
    name: str
    arguments: dict[str, Json]
    content: str
    failed: bool
    repeated: bool
    artifact: Json


class ReadRound(TypedDict):
    """One round of the reading loop: the model's calls and their results, stored together in one step."""

    calls: list[ReadCall]


class FailureState(TypedDict):
    """Why something does not work; see response.Failure."""

    kind: str
    message: str
    fix: str
    exit_code: int


def extend(known: list[Json] | None, new: list[Json] | None) -> list[Json]:
    """Reducer: append."""
    return [*(known or []), *(new or [])]


def extend_once(known: list[str] | None, new: list[str] | None) -> list[str]:
    """Reducer: append what is not there yet."""
    return list(dict.fromkeys([*(known or []), *(new or [])]))


def extend_turns(known: list[Turn] | None, new: list[Turn] | None) -> list[Turn]:
    """Reducer: append, and forget the oldest beyond `KEPT_TURNS`."""
    return [*(known or []), *(new or [])][-KEPT_TURNS:]


def merge(known: dict[str, Json] | None, new: dict[str, Json] | None) -> dict[str, Json]:
    """Reducer: update."""
    return {**(known or {}), **(new or {})}


class State(TypedDict, total=False):
    """The machine's state; `question` is the input, `response` the output."""

    # the conversation
    turns: Annotated[list[Turn], extend_turns]
    # the input
    question: str
    scope: ScopeChoice | None
    # one question
    mode: Literal["model", "extractive"]
    kind: GraphKind
    overview: str
    overview_facts: dict[str, Json]
    plan: PlanState | None
    labels: list[str]
    counts: list[dict[str, Json]]
    properties: list[dict[str, Json]]
    cypher_text: str
    cypher: Annotated[list[dict[str, Json]], extend]
    passages: Annotated[list[dict[str, Json]], extend]
    sources: list[dict[str, Json]]
    search: dict[str, Json]
    rounds: Annotated[list[ReadRound], extend]
    reading_done: bool
    calculations: Annotated[list[dict[str, Json]], extend]
    draft: str
    answered: bool
    findings: list[dict[str, Json]]
    checked: int
    rewritten: bool
    coverage: dict[str, Json]
    stages: Annotated[list[dict[str, Json]], extend]
    notes: Annotated[list[str], extend_once]
    prompts: Annotated[dict[str, str], merge]
    spent: Spent
    error: FailureState | None
    # the output
    response: dict[str, Json]


class Question(TypedDict, total=False):
    """Input of the machine."""

    question: str
    scope: ScopeChoice | None


class Answer(TypedDict):
    """Output of the machine: an AgentResponse as JSON types."""

    response: dict[str, Json]


Update = dict[str, Json]


def plan_of(state: State) -> PlanState:
    """The plan, for stages that come after it."""
    plan = state.get("plan")
    if plan is None:
        raise LookupError("a stage behind the plan was reached without one")
    return plan


def cleaned(question: object) -> str:
    """A question without control characters and lone surrogates."""
    return "".join(
        char
        for char in str(question or "")
        if char in "\n\t" or (char.isprintable() and not "\ud800" <= char <= "\udfff")
    ).strip()


def fresh(question: object, mode: Literal["model", "extractive"]) -> Update:
    """An update that begins a question and forgets everything of the one before."""
    return {
        "question": cleaned(question),
        "mode": mode,
        "kind": "unknown",
        "overview": "",
        "overview_facts": {},
        "plan": None,
        "labels": [],
        "counts": [],
        "properties": [],
        "cypher_text": "",
        "cypher": Overwrite([]),
        "passages": Overwrite([]),
        "sources": [],
        "search": {},
        "rounds": Overwrite([]),
        "reading_done": False,
        "calculations": Overwrite([]),
        "draft": "",
        "answered": False,
        "findings": [],
        "checked": 0,
        "rewritten": False,
        "coverage": {},
        "stages": Overwrite([]),
        "notes": Overwrite([]),
        "prompts": Overwrite({}),
        "spent": NOTHING_SPENT,
        "error": None,
        "response": {},
    }
