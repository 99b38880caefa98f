"""The reasoner that asks a chat model: plan, query, tool calls. The answer is in model_answer.py."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.agent.analysis import is_small_talk, talk_plan
from graph_agent.agent.budget import Budget
from graph_agent.agent.calls import ModelCalls
from graph_agent.agent.cypher_examples import samples_for
from graph_agent.agent.model_answer import written_answer
from graph_agent.agent.planning import Plan, planned
from graph_agent.agent.reasoner import (
    AnswerRequest,
    CypherRequest,
    Part,
    PlanRequest,
    ReadRequest,
    ToolRequest,
)
from graph_agent.agent.response import Mode, Passage
from graph_agent.agent.state import PlanState, Turn
from graph_agent.agent.structured import structured
from graph_agent.chat_models.fencing import fence, plain
from graph_agent.chat_models.replies import find_json, known_name, text_of, without_thinking
from graph_agent.errors import ModelUnavailable
from graph_agent.prompts import NAMES, Prompt, load
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

TURN_TOKENS = 700  # of the conversation in the plan
DIGEST_TOKENS = 2_200  # of passages in the reading loop
HEAD_CHARACTERS = 220
DESCRIPTION_CHARACTERS = 360
ANSWER_OVERHEAD = 1_400  # prompt, question, rows beside the passages of the answering call


class ModelReasoner:
    """Plans, queries, reads and answers with a chat model.

    Args:
        calls: the model.
        overrides: folder of the user's own prompts.
    """

    mode: Mode = "model"

    def __init__(self, calls: ModelCalls, overrides: Path | None = None) -> None:
        self.calls = calls
        self._prompts = {name: load(name, overrides) for name in NAMES}

    @property
    def prompts(self) -> dict[str, str]:
        return {name: prompt.hash for name, prompt in self._prompts.items()}

    async def plan(self, request: PlanRequest, budget: Budget) -> PlanState:
        """One structured call; a plain greeting needs none."""
        if is_small_talk(request.question):
            return talk_plan(request.question)
        parts = [fence("overview", request.overview)]
        if conversation := conversation_text(request.turns, TURN_TOKENS):
            parts.append(fence("conversation", conversation))
        if request.kind == "foreign":
            parts.append(
                "This graph holds no documents: nothing can be read, `search` finds nodes by meaning."
            )
        parts += [f"Today is {datetime.now(UTC).date().isoformat()}.", f"Question: {plain(request.question)}"]
        plan = await structured(
            self.calls, _messages(self._prompts["plan"], parts), Plan, budget, keep_calls=1
        )
        return planned(plan, request)

    async def write_cypher(self, request: CypherRequest, budget: Budget) -> str:
        """The first query, or a repaired one when there were attempts."""
        repairing = bool(request.attempts)
        samples = samples_for(
            request.plan["question"], request.facts, request.properties, documents=request.kind == "documents"
        )
        parts = [fence("schema", request.schema)]
        if not repairing:
            parts.append(
                fence("samples", "\n".join(f"{sample.question}\n{sample.cypher}" for sample in samples))
            )
        parts.append(f"Question: {plain(request.plan['question'])}")
        parts += [fence("attempt", _attempt(attempt)) for attempt in request.attempts]
        prompt = self._prompts["repair" if repairing else "cypher"]
        reply = await self.calls.complete(
            _messages(prompt, parts), budget, keep_calls=1, keep_tokens=ANSWER_OVERHEAD
        )
        return without_thinking(text_of(reply.content))

    async def choose_tools(self, request: ReadRequest, budget: Budget) -> list[ToolRequest]:
        """One round of the reading loop."""
        parts = [f"Question: {plain(request.plan['question'])}"]
        if request.rows:
            parts.append(fence("rows", request.rows))
        parts.append(
            fence("found", digest(request.passages, DIGEST_TOKENS))
            if request.passages
            else "Nothing was found yet."
        )
        keep = ANSWER_OVERHEAD + min(
            budget.limits.passage_tokens, sum(estimate_tokens(passage.text) for passage in request.passages)
        )
        messages = _messages(self._prompts["read"], parts)
        names = {tool.name for tool in request.tools}
        schemas = [tool_schema(tool) for tool in request.tools]
        if self.calls.quirks.tools:
            try:
                reply = await self.calls.complete(
                    [*messages, *_history(request)],
                    budget,
                    keep_calls=1,
                    keep_tokens=keep,
                    fall_through=True,
                    tools=schemas,
                )
            except ModelUnavailable as error:
                if not refuses_tools(error):
                    raise
                self.calls.quirks.tools = False
            else:
                return requested(reply, names)
        return await self._chosen_in_words(messages, request, schemas, names, budget, keep)

    async def _chosen_in_words(
        self,
        messages: list[BaseMessage],
        request: ReadRequest,
        schemas: list[dict[str, Any]],
        names: set[str],
        budget: Budget,
        keep: int,
    ) -> list[ToolRequest]:
        """Tool calls of a model that has none: as JSON in its text."""
        results = [
            fence(
                "result",
                f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}\n{call['content']}",
            )
            for one in request.rounds
            for call in one["calls"]
        ]
        tools = json.dumps(
            [schema["function"] for schema in schemas], ensure_ascii=False, separators=(",", ":")
        )
        wanted = (
            f"The tools: {tools}\nReply with JSON only: "
            '{"calls": [{"name": "...", "arguments": {}}]}, or {"calls": []} when there is enough.'
        )
        last = HumanMessage("\n\n".join([text_of(messages[-1].content), *results, wanted]))
        reply = await self.calls.complete([*messages[:-1], last], budget, keep_calls=1, keep_tokens=keep)
        found = find_json(text_of(reply.content))
        chosen = found.get("calls") if isinstance(found, dict) else None
        return [_request(call, names) for call in chosen or [] if isinstance(call, dict)]

    def answer(self, request: AnswerRequest, budget: Budget) -> AsyncIterator[Part]:
        """The streamed answer, or the rewrite of one."""
        prompt = self._prompts["rewrite" if request.draft else "answer"]
        return written_answer(self.calls, prompt, request, budget)


def conversation_text(turns: Sequence[Turn], budget: int) -> str:
    """The last turns that fit, oldest first; of an answer its beginning."""
    kept: list[str] = []
    left = budget
    for turn in reversed(turns):
        answer = turn["answer"] if len(turn["answer"]) <= 600 else turn["answer"][:600] + "…"
        text = f"User: {turn['question']}\nAnswer: {answer}"
        left -= estimate_tokens(text)
        if left < 0:
            break
        kept.append(text)
    return "\n\n".join(reversed(kept))


def digest(passages: Sequence[Passage], budget: int) -> str:
    """Passages for deciding whether they are enough: the first ones whole, of the others the beginning."""
    lines = []
    left = budget - 90 * len(passages)
    for passage in passages:
        head = f"[{passage.n}] {' > '.join(passage.breadcrumb) or passage.title} ({passage.display_path})"
        if passage.section_id:
            head += f" id {passage.section_id}"
        tokens = estimate_tokens(passage.text)
        if tokens <= left:
            text = passage.text
            left -= tokens
        else:
            text = " ".join(passage.text[:HEAD_CHARACTERS].split()) + " …"
        lines.append(f"{head}\n{text}")
    return "\n\n".join(lines)


def tool_schema(tool: BaseTool) -> dict[str, Any]:
    """A tool's function schema, its description cut to what a model needs to choose it."""
    from langchain_core.utils.function_calling import convert_to_openai_tool

    schema = convert_to_openai_tool(tool)
    description = " ".join(str(schema["function"].get("description", "")).split())
    if len(description) > DESCRIPTION_CHARACTERS:
        cut = description[:DESCRIPTION_CHARACTERS]
        description = cut[: cut.rfind(". ") + 1] or cut
    schema["function"]["description"] = description
    return schema


def requested(reply: AIMessage, names: set[str]) -> list[ToolRequest]:
    """The tool calls of a reply, names mended, each with what is wrong with it."""
    calls = [
        {"name": call["name"], "arguments": call["args"], "id": call.get("id")} for call in reply.tool_calls
    ]
    for call in reply.invalid_tool_calls:
        raw = str(call.get("args") or "")
        read = find_json(raw)
        calls.append(
            {
                "name": call.get("name") or "",
                "arguments": read if read is not None else raw,
                "id": call.get("id"),
            }
        )
    return [_request(call, names) for call in calls]


def _request(call: dict[str, Any], names: set[str]) -> ToolRequest:
    given = str(call.get("name") or "")
    name = known_name(given, names)
    identity = str(call.get("id") or "")[:64] or f"call_{uuid4().hex[:12]}"
    arguments = call.get("arguments", call.get("args"))
    if isinstance(arguments, str):
        arguments = find_json(arguments) if arguments.strip() else {}
    if name is None:
        return ToolRequest(
            identity,
            given[:64] or "unknown",
            {},
            f"There is no tool {given[:64]!r}. The tools are {', '.join(sorted(names))}.",
        )
    if arguments is not None and not isinstance(arguments, dict):
        arguments = None
        return ToolRequest(identity, name, {}, "The arguments are not a JSON object. Send them as one.")
    if arguments is None and call.get("arguments") not in (None, ""):
        return ToolRequest(identity, name, {}, "The arguments are not JSON. Send them as a JSON object.")
    return ToolRequest(identity, name, arguments or {})


def refuses_tools(error: ModelUnavailable) -> bool:
    """Whether a failure means that the endpoint takes no tool schemas."""
    from graph_agent.chat_models.models import is_form_refusal

    cause = error.__cause__
    return isinstance(cause, Exception) and is_form_refusal(cause)


def _history(request: ReadRequest) -> list[BaseMessage]:
    """The rounds so far as messages: every call has its result right behind it."""
    messages: list[BaseMessage] = []
    for one in request.rounds:
        calls = [
            {
                "id": call["id"],
                "name": _safe_name(call["name"]),
                "args": call["arguments"],
                "type": "tool_call",
            }
            for call in one["calls"]
        ]
        messages.append(AIMessage("", tool_calls=calls))
        messages += [
            ToolMessage(
                fence("result", call["content"]), tool_call_id=call["id"], name=_safe_name(call["name"])
            )
            for call in one["calls"]
        ]
    return messages


def _safe_name(name: str) -> str:
    """A tool name that a server accepts, also when the model made it up."""
    return (
        "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)[:64]
        or "unknown"
    )


def _attempt(attempt: dict[str, Any]) -> str:
    said = attempt["error"] or f"It ran and found {len(attempt['rows'])} rows."
    hint = f"\nHint: {attempt['hint']}" if attempt.get("hint") else ""
    return f"{attempt['query']}\n{said}{hint}"[:2_400]


def _messages(prompt: Prompt, parts: Sequence[str]) -> list[BaseMessage]:
    return [SystemMessage(prompt.text), HumanMessage("\n\n".join(parts))]
