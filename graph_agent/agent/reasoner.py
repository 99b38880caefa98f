"""The one seam between the machine and what thinks: a model, or rules and extracts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from graph_agent.agent.budget import Budget
from graph_agent.agent.response import Finding, Mode, Passage
from graph_agent.agent.state import GraphKind, PlanState, ReadRound, ScopeChoice, Turn

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is made from.

    Attributes:
        question: as asked.
        turns: the conversation before, oldest first.
        overview: text of the graph's skeleton.
        kind: what sort of graph it is.
        scope: what the user restricted the question to.
        facts: labels, relationships and so on of the overview as data.
    """

    question: str
    turns: Sequence[Turn]
    overview: str
    kind: GraphKind
    scope: ScopeChoice
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CypherRequest:
    """What a query is written from.

    Attributes:
        schema: overview and property types as text.
        attempts: queries that were tried, each with `query`, `error`, `hint`, `total`.
        facts: labels, relationships and so on of the overview as data.
    """

    plan: PlanState
    schema: str
    kind: GraphKind
    attempts: Sequence[dict[str, Any]] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    counts: Sequence[dict[str, Any]] = ()
    properties: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class ReadRequest:
    """What the reading loop has to decide on."""

    plan: PlanState
    passages: Sequence[Passage]
    rows: str
    rounds: Sequence[ReadRound]
    tools: Sequence[BaseTool]
    runs: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class ToolRequest:
    """A tool call that a reasoner wants.

    Attributes:
        problem: why it cannot be made as it is (an unknown tool, arguments that are no JSON); "" when it can.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    problem: str = ""


@dataclass(frozen=True)
class AnswerRequest:
    """What an answer is made from.

    Attributes:
        rows: query results as text.
        runs: the same as data.
        search: facts about the search: phrases, signals, notice.
        calculations: {expression, result}.
        notes: what the reader should know about coverage.
        draft, findings: the answer that did not pass the check, when it is to be written again.
        because: why the extractive reasoner is asked although a model is configured; "" otherwise.
    """

    plan: PlanState
    kind: GraphKind
    overview: str
    facts: dict[str, Any]
    passages: Sequence[Passage]
    rows: str
    runs: Sequence[dict[str, Any]]
    rounds: Sequence[ReadRound]
    search: dict[str, Any]
    calculations: Sequence[dict[str, Any]] = ()
    notes: Sequence[str] = ()
    draft: str = ""
    findings: Sequence[Finding] = ()
    because: str = ""


@dataclass(frozen=True)
class Text:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True)
class Replace:
    """The whole answer so far is replaced."""

    text: str
    reason: str


@dataclass(frozen=True)
class Remark:
    """Something for the notes."""

    text: str


@dataclass(frozen=True)
class Renumbered:
    """The passages get other numbers, in which the text that follows cites them: new by old, all of them."""

    numbers: dict[int, int]


@dataclass(frozen=True)
class Done:
    """The end of the answer.

    Attributes:
        answered: False when it says that the documents do not hold the answer.
        quotes: exact quotes by number of the passage, when the answer is made of extracts.
        complete: False when the answer broke off.
        checks: "trusted" when every word comes from a passage, a query or ourselves.
        detail: for the stage's event.
    """

    answered: bool
    quotes: dict[int, str] = field(default_factory=dict)
    complete: bool = True
    checks: Literal["check", "trusted"] = "check"
    detail: dict[str, Any] = field(default_factory=dict)


Part = Text | Replace | Remark | Renumbered | Done


class Reasoner(Protocol):
    """Plans, writes queries, chooses tools, answers.

    Every method may raise OutOfBudget and ModelUnavailable; the machine then goes on without it.
    """

    @property
    def mode(self) -> Mode:
        """Who answers."""

    @property
    def prompts(self) -> dict[str, str]:
        """Content hash by name of the prompts that it uses."""

    async def plan(self, request: PlanRequest, budget: Budget) -> PlanState:
        """Make the question whole and say which stages it needs, and why."""

    async def write_cypher(self, request: CypherRequest, budget: Budget) -> str:
        """A query, or "" when there is none to write (any more)."""

    async def choose_tools(self, request: ReadRequest, budget: Budget) -> list[ToolRequest]:
        """The next tool calls; none when there is enough to answer."""

    def answer(self, request: AnswerRequest, budget: Budget) -> AsyncIterator[Part]:
        """The answer, piece by piece, `Done` last."""
