"""What is evaluated: search, the agent's answers, or its queries. Each asks one question and scores what comes back."""

from __future__ import annotations

import datetime
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from graph_agent.errors import ConfigurationError, GraphAgentError
from graph_agent.evals.gold import LEVELS, Gold, GoldIndex, Place
from graph_agent.evals.options import RunOptions
from graph_agent.evals.questions import Question
from graph_agent.evals.runs import Fault, Ranked, Record
from graph_agent.evals.scoring import response_scores, retrieval_scores, stage_path

if TYPE_CHECKING:
    from graph_agent.agent import AgentResponse, GraphAgent
    from graph_agent.evals.prepare import Prepared
    from graph_agent.retrieval import Hit
    from graph_agent.settings import Settings

log = logging.getLogger(__name__)

RRF_K = 60  # Cormack, Clarke and Büttcher, SIGIR 2009
_LEG_DEPTH = 100


class Subject(Protocol):
    """Something that questions are put to."""

    workers: int

    def ask(self, question: Question, repeat: int) -> Record:
        """The record of one question; a failure is a record, too."""

    def close(self) -> None:
        """Let go of everything."""


class _Asking(ABC):
    """Times a question, and turns failures into records."""

    workers = 2

    def ask(self, question: Question, repeat: int) -> Record:
        """The record of one question."""
        record = Record(
            question=question.id,
            repeat=repeat,
            asked_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        )
        began = time.perf_counter()
        try:
            self._fill(question, record)
        except GraphAgentError as error:
            record.error = Fault(kind=type(error).__name__, message=error.message, fix=error.fix)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told as such, and the run goes on
            record.error = Fault(kind=type(error).__name__, message=str(error)[:500] or repr(error))
        record.seconds = round(time.perf_counter() - began, 4)
        if record.error is not None:
            record.status, record.scores = "error", {}
        return record

    @abstractmethod
    def _fill(self, question: Question, record: Record) -> None:
        """Ask, and put what came back and its scores into the record."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Nothing to let go of."""


class RetrievalSubject(_Asking):
    """Search alone: the question as it stands, one row per section."""

    def __init__(self, prepared: Prepared, options: RunOptions) -> None:
        self._retriever = prepared.retriever
        self._search = options.search
        self._gold = GoldIndex(prepared.graph, prepared.retriever.corpus())

    def _fill(self, question: Question, record: Record) -> None:
        gold = self._gold.resolve(question)
        record.missing = list(gold.missing)
        hits = self._hits(question)
        places = [Place(hit.content_hash, hit.section_id, hit.page, hit.text) for hit in hits]
        record.scores = retrieval_scores(gold, places)
        record.retrieved = [
            Ranked(
                document=hit.content_hash,
                path=hit.path,
                section=hit.section_id,
                title=hit.section_title,
                page=hit.page,
                line=hit.start_line,
                score=round(hit.score, 6),
                relevant=_levels(gold, place),
            )
            for hit, place in zip(hits, places, strict=True)
        ]

    def _hits(self, question: Question) -> Sequence[Hit]:
        scope = self._retriever.scope(document=question.document) if question.document else None
        search, weights = self._search, self._search.fixed_weights
        if weights is None or search.mode != "hybrid":
            mode: Any = search.mode
            return self._retriever.search(question.question, mode=mode, limit=search.top_k, scope=scope).hits
        legs = [
            self._retriever.search(question.question, mode=mode, limit=_LEG_DEPTH, scope=scope).hits
            for mode in ("bm25", "vector")
        ]
        return fused(legs, weights)[: search.top_k]


def fused(legs: Sequence[Sequence[Hit]], weights: Sequence[float]) -> list[Hit]:
    """Rankings joined by weighted reciprocal rank; ties go to the earlier ranking."""
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for leg, weight in zip(legs, weights, strict=True):
        for rank, hit in enumerate(leg, start=1):
            scores[hit.section_id] = scores.get(hit.section_id, 0.0) + weight / (RRF_K + rank)
            hits.setdefault(hit.section_id, hit)
    return [hits[name] for name in sorted(scores, key=lambda name: -scores[name]) if scores[name] > 0]


class AnswerSubject(_Asking):
    """The agent, with a model or in extracts."""

    def __init__(self, prepared: Prepared, settings: Settings, options: RunOptions) -> None:
        self._agent = _agent(prepared, settings, prepared.graph, share=True)
        self._gold = GoldIndex(prepared.graph, prepared.retriever.corpus())
        with_model = self._agent.mode == "model"
        self._choices = with_model if options.choices is None else options.choices
        self.workers = 4 if with_model else 2

    def _fill(self, question: Question, record: Record) -> None:
        gold = self._gold.resolve(question)
        record.missing = list(gold.missing)
        asked = with_choices(question) if self._choices else question.question
        scope: Any = {"document": question.document} if question.document else None
        _score(question, gold, self._agent.ask(asked, scope=scope), record)

    def close(self) -> None:
        """Close the agent."""
        self._agent.close()


class CypherSubject(_Asking):
    """The agent on graphs of other people: what counts are the rows of its query."""

    workers = 4

    def __init__(self, prepared: Prepared, settings: Settings, options: RunOptions) -> None:
        if not settings.model:
            raise ConfigurationError(
                "Mode cypher needs a chat model to write queries.", "Set GRAPH_AGENT_MODEL or --model."
            )
        graphs = prepared.others or {"": prepared.graph}
        self._agents = {name: _agent(prepared, settings, graph) for name, graph in graphs.items()}
        from graph_agent.tools import ToolContext

        self._graphs = {name: ToolContext(graph, settings=settings) for name, graph in graphs.items()}

    def _fill(self, question: Question, record: Record) -> None:
        name = question.graph if question.graph in self._agents else next(iter(self._agents))
        response = self._agents[name].ask(question.question)
        _score(question, Gold(), response, record, self._gold_rows(question, name))

    def _gold_rows(self, question: Question, name: str) -> list[list[Any]] | None:
        """What the gold query gives on this graph; None without one, or when it does not run here."""
        if not question.gold_cypher or question.rows is None:
            return None
        from graph_agent.tools import call_tool

        try:
            found = call_tool(self._graphs[name], "graph_query", {"cypher": question.gold_cypher}).artifact
        except GraphAgentError as error:
            log.debug("the gold query of %s does not run: %s", question.id, error)
            return None
        return [[row[column] for column in found["columns"]] for row in found["rows"]]

    def close(self) -> None:
        """Close the agents."""
        for agent in self._agents.values():
            agent.close()


def make_subject(prepared: Prepared, settings: Settings, options: RunOptions) -> Subject:
    """What a mode evaluates.

    Raises:
        ConfigurationError: the mode needs a model, and none is set.
    """
    if options.mode == "retrieval":
        return RetrievalSubject(prepared, options)
    if options.mode == "answer":
        return AnswerSubject(prepared, settings, options)
    return CypherSubject(prepared, settings, options)


def with_choices(question: Question) -> str:
    """The question with its options, lettered."""
    if not question.options:
        return question.question
    lettered = [f"{chr(ord('A') + at)}) {option.strip()}" for at, option in enumerate(question.options)]
    wanted = "Answer with the letter of every right choice." if isinstance(question.answer, tuple) else "Answer with the letter of the right choice."  # fmt: skip
    return "\n\n".join([question.question, "\n".join(lettered), wanted])


def _agent(prepared: Prepared, settings: Settings, graph: Any, *, share: bool = False) -> GraphAgent:
    from graph_agent.agent import GraphAgent
    from graph_agent.tools import ToolContext

    context = ToolContext(graph, prepared.retriever, settings) if share else None
    return GraphAgent(graph, settings, tool_context=context, checkpointer=False)


def _score(
    question: Question,
    gold: Gold,
    response: AgentResponse,
    record: Record,
    rows_here: list[list[Any]] | None = None,
) -> None:
    record.response = response.model_dump(mode="json")
    record.path = stage_path(response)
    if response.error is not None:
        failure = response.error
        record.error = Fault(kind=failure.kind, message=failure.message, fix=failure.fix)
        return
    record.scores = response_scores(question, gold, response, rows_here)


def _levels(gold: Gold, place: Place) -> list[str]:
    return [
        level for level in LEVELS if any(place.satisfies(need, level) for need in gold.needs.get(level, ()))
    ]
