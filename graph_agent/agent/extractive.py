"""The reasoner that needs no model: rules for the plan, fixed queries, and answers made of quotes.

What it says is either a quote with its place, a figure out of a query, or one of our own fixed sentences.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from graph_agent.agent.analysis import Question, analysed, talk_plan
from graph_agent.agent.budget import Budget
from graph_agent.agent.citations import in_order_of_use, renumbered
from graph_agent.agent.composing import (
    composed,
    described,
    not_found,
    outline_answer,
    outline_of,
    rows_answer,
    small_talk,
)
from graph_agent.agent.extracts import Extract, best_extracts, defined_topic, opening
from graph_agent.agent.naming import named_document
from graph_agent.agent.reasoner import (
    AnswerRequest,
    CypherRequest,
    Done,
    Part,
    PlanRequest,
    ReadRequest,
    Remark,
    Renumbered,
    Text,
    ToolRequest,
)
from graph_agent.agent.response import Mode, Passage
from graph_agent.agent.signals import (
    Fit,
    Words,
    cosine_floor,
    fit_of,
    missed_years,
    missing_words,
    question_words,
    years,
)
from graph_agent.agent.state import PlanState, Turn
from graph_agent.agent.structure import (
    CITABLE,
    document_queries,
    foreign_query,
    named_properties,
    properties_query,
)
from graph_agent.errors import ModelUnavailable
from graph_agent.text import words

if TYPE_CHECKING:
    from graph_agent.embeddings import Embedder
    from graph_agent.tools import ToolContext

HOW_TO_CONFIGURE = (
    "These are extracts: no chat model is configured. Set GRAPH_AGENT_MODEL and OPENAI_API_KEY or OPENAI_BASE_URL "
    "for written answers."
)
PIECE = 60  # characters of a piece of the answer as it is sent
OUTLINE_SECTIONS = 12
BEST = 3  # extracts whose years are compared with the question's
_FOLLOW_UP = re.compile(
    r"^(?:and|but|so|then|what about|how about|und|aber|was ist mit|wie sieht es)\b|"
    r"\b(?:it|its|they|them|their|that one|those|these|this one|he|she|his|her|there|"
    r"er|sie|es|ihn|ihm|ihr|deren|dessen|dort|davon|daran|dazu|dieser|dieses)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[^()]{1,200} \((.+)\)", re.DOTALL)


class ExtractiveReasoner:
    """Answers with quotes.

    Args:
        context: the graph and the search over it.
        embedder: the one that made the graph's vectors.
    """

    mode: Mode = "extractive"

    def __init__(self, context: ToolContext, embedder: Embedder) -> None:
        self._context = context
        self._embedder = embedder

    @property
    def prompts(self) -> dict[str, str]:
        return {}

    async def plan(self, request: PlanRequest, budget: Budget) -> PlanState:
        """By rules; a short question that points back is searched together with the one before."""
        found = analysed(request.question)
        if found.kind in {"chat", "corpus"}:
            plan = talk_plan(request.question)
            plan["kind"] = found.kind
            plan["language"] = found.language
            if found.kind == "corpus":
                plan["skips"] = dict.fromkeys(plan["skips"], "the overview tells what is here")
            return plan
        question = followed(request.question, request.turns)
        if request.kind == "foreign":
            return _foreign_plan(question, found, request.facts)
        plan = _fact_plan(question, request.question, found)
        facts = await asyncio.to_thread(self._properties)
        if found.kind == "structure":
            self._add_structure(plan, request, found, facts)
            if plan["details"].get("outline"):
                plan["details"]["document"] = await asyncio.to_thread(self._named, question)
        elif names := named_properties(request.question, facts):
            plan["details"]["properties"] = names
            if document := await asyncio.to_thread(self._named, question):
                plan["scope"] = {"document": document}
            plan["needs"]["read"] = f"the question names the property {names[0]}"
            plan["skips"].pop("read", None)
        return plan

    def _named(self, question: str) -> str:
        return named_document(question, self._context.retriever.corpus().documents)

    def _properties(self) -> list[Any]:
        return list(self._context.overview.properties("Document"))

    def _add_structure(
        self, plan: PlanState, request: PlanRequest, found: Question, facts: Sequence[Any]
    ) -> None:
        collection = request.facts.get("collection") or {}
        if found.structure in {"outline", "subsections"}:
            plan["kind"] = "structure"
            plan["details"]["outline"] = found.structure
            plan["details"]["title"] = found.title
            plan["needs"]["search"] = "the document has to be found"
            plan["needs"]["read"] = "its table of contents answers"
            plan["skips"].pop("read", None)
            return
        queries = document_queries(request.question, found, facts, collection.get("folders") or [])
        if queries is None:
            return
        plan["kind"] = "structure"
        plan["details"] |= {"template": found.structure, **queries.details}
        plan["needs"] = {"cypher": "the question counts or lists", "read": "what is listed can be opened"}
        plan["skips"] = {"search": "the graph itself answers"}

    async def write_cypher(self, request: CypherRequest, budget: Budget) -> str:
        """The fixed query, then its weaker form."""
        details = request.plan["details"]
        if not request.attempts:
            return str(details.get("cypher") or "")
        return str(details.get("fallback") or "") if len(request.attempts) == 1 else ""

    async def choose_tools(self, request: ReadRequest, budget: Budget) -> list[ToolRequest]:
        """What a structural question needs to be answered and opened: at most two rounds."""
        details = request.plan["details"]
        if details.get("outline"):
            return _outline_calls(request)
        if request.rounds:
            return []
        if details.get("template"):
            sections = _listed_sections(request)
            return [_call("get_section_content", {"section_ids": sections})] if sections else []
        if details.get("properties") and request.passages:
            documents = list(
                dict.fromkeys(passage.document_id for passage in request.passages if passage.document_id)
            )
            asked = properties_query(details["properties"], documents[:6])
            return [_call("graph_query", {"cypher": asked.cypher, "params": asked.params})]
        return []

    async def answer(self, request: AnswerRequest, budget: Budget) -> AsyncIterator[Part]:
        """Quotes, rows, an outline, or that there is nothing."""
        if not request.because:
            yield Remark(HOW_TO_CONFIGURE)
        text, done = await self._written(request)
        numbers = in_order_of_use(text, [passage.n for passage in request.passages])
        if any(old != new for old, new in numbers.items()):
            yield Renumbered(numbers)
            text = renumbered(text, numbers)
            done = replace(done, quotes={numbers[n]: quote for n, quote in done.quotes.items()})
        for start in range(0, len(text), PIECE):
            yield Text(text[start : start + PIECE])
        yield done

    async def _written(self, request: AnswerRequest) -> tuple[str, Done]:
        plan = request.plan
        if plan["kind"] == "chat":
            return small_talk(request), Done(answered=True, checks="trusted")
        if plan["kind"] == "corpus":
            return described(request), Done(answered=True, checks="trusted")
        if plan["details"].get("outline") and (made := outline_answer(request)):
            return made, Done(answered=True, checks="trusted")
        if any(run["rows"] for run in request.runs) and (made := rows_answer(request)):
            return made, Done(answered=True, checks="trusted")
        if request.kind != "documents":
            return self._foreign(request)
        extracts, fit, asked = await asyncio.to_thread(self._extracts, request)
        if not extracts or not fit.matches:
            text, quotes = not_found(request, extracts, fit.missed)
            return text, Done(answered=False, quotes=quotes, checks="trusted", detail=fit.detail)

        def lacking(shown: Sequence[Passage]) -> list[str]:
            return missing_words(_asked(request), asked, [passage_words(passage) for passage in shown])

        text, quotes = composed(request, extracts, lacking)
        return text, Done(answered=True, quotes=quotes, checks="trusted", detail=fit.detail)

    def _foreign(self, request: AnswerRequest) -> tuple[str, Done]:
        if not request.passages:
            return not_found(request, [])[0], Done(answered=False, checks="trusted")
        extracts = [
            Extract(passage, 0, min(len(passage.text), 300), passage.score, passage.score)
            for passage in request.passages[:6]
        ]
        text, quotes = composed(request, extracts)
        return text, Done(answered=True, quotes=quotes, checks="trusted")

    def _extracts(self, request: AnswerRequest) -> tuple[list[Extract], Fit, Words]:
        """The best quote of each passage, how well they fit the question, and the question's words."""
        passages = list(request.passages)
        retriever = self._context.retriever
        corpus = retriever.corpus()
        question = _asked(request)
        asked = question_words(question, corpus)
        embedder = self._embedder
        try:
            vector = embedder.embed_query(question)
            extracts = best_extracts(vector, asked, passages, embedder, defined_topic(question))
            floor = cosine_floor(embedder)
            cosine = max((extract.cosine for extract in extracts), default=0.0)
        except ModelUnavailable:
            extracts, floor, cosine = [opening(passage) for passage in passages], 0.0, None
        texts = [passage_words(passage) for passage in passages]
        best = sorted(extracts, key=lambda extract: -extract.score)[:BEST]
        dated = [f"{passage_words(one.passage)}\n{one.passage.date or ''}" for one in best]
        latest = str(request.plan["details"].get("latest") or "")
        missed = missed_years(latest if years(latest) else question, dated)
        return extracts, fit_of(asked, texts, cosine, floor, missed), asked


def _asked(request: AnswerRequest) -> str:
    return str(request.plan["details"].get("asked") or request.plan["question"])


def passage_words(passage: Passage) -> str:
    """A passage with its headings and its file's name: what a question may mean it by."""
    return "\n".join([*passage.breadcrumb, passage.display_path, passage.text])


def followed(question: str, turns: Sequence[Turn]) -> str:
    """A question that points back, with the one before it; when that one pointed back too, with the first of them."""
    if not turns or len(words(question)) > 9 or not _FOLLOW_UP.search(question):
        return question
    before = turns[-1]["question"]
    joined = _JOINED.fullmatch(before)
    return f"{question} ({joined[1] if joined else before})"


def _fact_plan(question: str, asked: str, found: Question) -> PlanState:
    return {
        "question": question,
        "kind": "fact",
        "needs": {"search": "the answer stands in some text"},
        "skips": {
            "cypher": "the question does not count or list",
            "read": "the passages found are quoted as they are",
        },
        "phrases": [question],
        "scope": {},
        "node_labels": [],
        "language": found.language,
        "details": {"asked": question, "latest": asked},
    }


def _foreign_plan(question: str, found: Question, facts: dict[str, Any]) -> PlanState:
    plan = _fact_plan(question, question, found)
    queries = foreign_query(question, facts)
    plan["needs"] = {"search": "nodes that are near in meaning"}
    plan["skips"] = {
        "read": "this graph holds no documents",
        "cypher": "no fixed query fits; a model would write one",
    }
    if queries is not None:
        plan["kind"] = "structure"
        plan["needs"]["cypher"] = "the question names something in the graph"
        plan["skips"].pop("cypher")
        plan["details"] |= {"template": "foreign", **queries.details}
        plan["needs"].pop("search")
        plan["skips"]["search"] = "the query answers"
    return plan


def _call(name: str, arguments: dict[str, Any]) -> ToolRequest:
    return ToolRequest(f"call_{uuid4().hex[:12]}", name, arguments)


def _listed_sections(request: ReadRequest) -> list[str]:
    """Sections that a query's row lists, so that what is listed can be cited and opened."""
    for run in reversed(request.runs):
        if run["rows"]:
            return [str(one) for one in run["rows"][0].get("sections") or []][:CITABLE]
    return []


def _outline_calls(request: ReadRequest) -> list[ToolRequest]:
    if not request.rounds:
        named = request.plan["details"].get("document")
        document = named or next((passage.document_id for passage in request.passages), "")
        return [_call("get_document_toc", {"document_id": document})] if document else []
    if len(request.rounds) > 1:
        return []
    found = outline_of(request.rounds, request.plan)
    ids = [str(section["id"]) for section in (*([found[2]] if found[2] else []), *found[1])] if found else []
    return [_call("get_section_content", {"section_ids": ids[:OUTLINE_SECTIONS]})] if ids else []
