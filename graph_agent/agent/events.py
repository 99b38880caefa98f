"""What a question tells while it is worked on. One module, typed; every event is JSON-able.

Order: for each stage StageStarted, then its events, then StageFinished; StageSkipped when the plan leaves
one out; AnswerToken while the answer is written; AnswerReplaced when it is written again or corrected;
Finished last, exactly once.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from graph_agent.agent.response import AgentResponse, Passage, Source

Stage = Literal[
    "skeleton",
    "plan",
    "labels",
    "counts",
    "properties",
    "cypher",
    "repair",
    "search",
    "read",
    "answer",
    "verify",
    "rewrite",
]


class Event(BaseModel):
    """Base of all events."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StageStarted(Event):
    """A stage begins; `reason` says why it is needed."""

    type: Literal["stage_started"] = "stage_started"
    stage: Stage
    reason: str = ""


class StageFinished(Event):
    """A stage is done.

    Attributes:
        seconds: its duration.
        counts: how many of what, e.g. {"rows": 12}.
        detail: what a reader may open: the text of a query, the phrases searched, the tool calls.
    """

    type: Literal["stage_finished"] = "stage_finished"
    stage: Stage
    seconds: float
    reason: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    detail: dict[str, Any] = Field(default_factory=dict)
    error: str = ""


class StageSkipped(Event):
    """A stage is left out; `reason` says why."""

    type: Literal["stage_skipped"] = "stage_skipped"
    stage: Stage
    reason: str


class SourcesFound(Event):
    """The passages that the answer may cite, and the documents they are from; sent anew when more were read."""

    type: Literal["sources_found"] = "sources_found"
    passages: list[Passage]
    sources: list[Source]


class AnswerToken(Event):
    """The next piece of the answer."""

    type: Literal["answer_token"] = "answer_token"
    text: str


class AnswerReplaced(Event):
    """The whole answer so far is to be replaced by `text`; `reason` says why."""

    type: Literal["answer_replaced"] = "answer_replaced"
    text: str
    reason: str = ""


class AgentWarning(Event):
    """Something that the reader should know now; it stands in the response's notes, too."""

    type: Literal["warning"] = "warning"
    message: str


class Finished(Event):
    """The end, with everything."""

    type: Literal["finished"] = "finished"
    response: AgentResponse


AgentEvent = Annotated[
    StageStarted
    | StageFinished
    | StageSkipped
    | SourcesFound
    | AnswerToken
    | AnswerReplaced
    | AgentWarning
    | Finished,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent)
"""Reads an event back from JSON types: `EVENT.validate_python({...})`."""
