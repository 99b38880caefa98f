"""The reading loop: one round of tool calls a step, results beside their calls, so that none is ever orphaned."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from graph_agent.agent import calculate
from graph_agent.agent.budget import OutOfBudget
from graph_agent.agent.nodes.schema import cut_lines
from graph_agent.agent.nodes.search import sections_of
from graph_agent.agent.passages import merged_sources, section_passage
from graph_agent.agent.reasoner import ReadRequest, ToolRequest
from graph_agent.agent.response import Passage, Source
from graph_agent.agent.stage import Step
from graph_agent.agent.state import ReadCall, State, Update, plan_of
from graph_agent.agent.toolbox import Outcome, Toolbox
from graph_agent.chat_models.models import BadReply
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

RESULT_TOKENS = 1_600  # of one result in the loop; the passages themselves are kept whole
READ_TOKENS = 2_500  # of sections read in one call
CALLS_A_ROUND = 4
READ_ON = frozenset(
    {"get_document_toc", "graph_query"}
)  # the extractive reasoner reads on in what these give


async def run(state: State, step: Step) -> Update:
    """One round: ask for calls, run the new ones, answer repeated ones from memory."""
    if step.budget.tool_calls_left <= 0:
        step.note(f"The limit of {step.limits.tool_calls} tool calls was met.")
        return {"reading_done": True}
    reasoner = step.reasoner(state)
    rounds = state.get("rounds") or []
    request = ReadRequest(
        plan=plan_of(state),
        passages=[Passage(**passage) for passage in state.get("passages") or []],
        rows=rows_text(state),
        rounds=rounds,
        runs=state.get("cypher") or [],
        tools=offered(step.services.toolbox),
    )
    try:
        wanted = await reasoner.choose_tools(request, step.budget)
    except (BadReply, OutOfBudget) as error:
        step.note(f"Reading stopped: {error.message}")
        wanted = []
    prompts = {name: version for name, version in reasoner.prompts.items() if name == "read"}
    if not wanted:
        return {"reading_done": True, "prompts": prompts}
    wanted = wanted[: min(CALLS_A_ROUND, step.budget.tool_calls_left)]
    reading = _Reading(state, step)
    calls = [await reading.answered(call) for call in wanted]
    step.counts = {"calls": len(calls), "passages": len(reading.passages)}
    step.detail = {"calls": [{"name": call["name"], "arguments": call["arguments"]} for call in calls]}
    done = step.budget.tool_calls_left <= 0 or all(call["repeated"] for call in calls)
    if step.budget.tool_calls_left <= 0:
        step.note(f"The limit of {step.limits.tool_calls} tool calls was met.")
    passages = [passage.model_dump() for passage in reading.passages]
    sources = [source.model_dump() for source in reading.sources]
    if passages:
        step.show_sources([*(state.get("passages") or []), *passages], sources)
    return {
        "rounds": [{"calls": calls}],
        "passages": passages,
        "sources": sources,
        "calculations": reading.calculations,
        "reading_done": done,
        "prompts": prompts,
    }


def offered(toolbox: Toolbox) -> list[BaseTool]:
    """The tools that a model reads with: those whose own file says so, and arithmetic."""
    from graph_agent.tools.registry import reading_tools

    return toolbox.some((*reading_tools(), calculate.NAME))


class _Reading:
    """One round of calls; collects the passages, sources and calculations that they bring."""

    def __init__(self, state: State, step: Step) -> None:
        self._step = step
        self._known = [Passage(**passage) for passage in state.get("passages") or []]
        self._memory = {
            _key(call["name"], call["arguments"]): call["content"]
            for one in state.get("rounds") or []
            for call in one["calls"]
            if not call["failed"]
        }
        self.passages: list[Passage] = []
        self.sources = [Source(**source) for source in state.get("sources") or []]
        self.calculations: list[dict[str, str]] = []

    async def answered(self, call: ToolRequest) -> ReadCall:
        """Run a call, or answer it from memory, or say why it cannot be run."""
        self._step.budget.count_tool_call()
        made: ReadCall = {
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "content": call.problem,
            "failed": bool(call.problem),
            "repeated": False,
            "artifact": None,
        }
        if call.problem:
            return made
        key = _key(call.name, call.arguments)
        if key in self._memory:
            made["content"] = (
                "This call was made before; its result stands above. Call something else, or reply `enough`."
            )
            made["repeated"] = True
            return made
        outcome = await self._step.tool(call.name, call.arguments)
        made["failed"] = outcome.failed
        if call.name in READ_ON:
            made["artifact"] = outcome.artifact
        made["content"] = cut_lines(await self._taken(call, outcome), RESULT_TOKENS)
        self._memory[key] = made["content"]
        return made

    async def _taken(self, call: ToolRequest, outcome: Outcome) -> str:
        """What the result brings to the state, and its text for the model."""
        if outcome.failed:
            return outcome.content
        if call.name == calculate.NAME and isinstance(outcome.artifact, dict):
            self.calculations.append(outcome.artifact)
        elif call.name == "get_section_content":
            return await self._sections(call, outcome)
        elif call.name == "search_sections":
            self._found(outcome)
        return outcome.content

    async def _sections(self, call: ToolRequest, outcome: Outcome) -> str:
        """Sections become passages with numbers; one that was read already keeps its number."""
        ids = _ids(outcome.artifact) or _listed(call.arguments.get("section_ids"))
        windows = call.arguments.get("start_line") or call.arguments.get("max_lines")
        sections = await asyncio.to_thread(sections_of, self._step, ids)
        shown: list[str] = []
        left = READ_TOKENS
        for section in sections.values():
            known = next(
                (p for p in (*self._known, *self.passages) if p.section_id == section.section_id), None
            )
            if known is not None and not windows and len(known.text) >= len(section.text.strip()):
                left -= estimate_tokens(known.text)
                shown.append(f"[{known.n}] {' > '.join(section.breadcrumb)}\n{known.text}")
                continue
            start, end = _window(section.text, call.arguments)
            while estimate_tokens(section.text[start:end]) > left and end - start > 400:
                end = start + (end - start) * 3 // 4
            if left < 60 or not section.text[start:end].strip():
                continue
            passage = section_passage(section, self._next(), start=start, end=end)
            left -= estimate_tokens(passage.text)
            self.passages.append(passage)
            self.sources = merged_sources(
                self.sources,
                [
                    Source(
                        document_id=passage.document_id,
                        path=passage.path,
                        display_path=passage.display_path,
                        title=passage.title,
                        hits=1,
                    )
                ],
            )
            cut = "" if end >= len(section.text) else " (cut; read on with start_line)"
            shown.append(f"[{passage.n}] {' > '.join(passage.breadcrumb)}{cut}\n{passage.text}")
        return "\n\n".join(shown) or outcome.content

    def _found(self, outcome: Outcome) -> None:
        rows = (
            outcome.artifact
            if isinstance(outcome.artifact, list)
            else (outcome.artifact or {}).get("results") or []
        )
        for row in rows:
            if isinstance(row, dict) and row.get("document"):
                path = str(row.get("path") or row["document"])
                self.sources = merged_sources(
                    self.sources,
                    [
                        Source(
                            document_id=str(row.get("document_id") or ""),
                            path=path,
                            display_path=path,
                            title=str(row["document"]),
                            hits=1,
                        )
                    ],
                )

    def _next(self) -> int:
        return max((passage.n for passage in (*self._known, *self.passages)), default=0) + 1


def rows_text(state: State, tokens: int = 1_500) -> str:
    """The query results that hold rows, as text, and what the others said."""
    parts = []
    for run in state.get("cypher") or []:
        if run["rows"]:
            total = f", {run['total']} in all" if run.get("total") and run["truncated"] else ""
            parts.append(f"Query: {run['query']}\n{len(run['rows'])} rows{total}:\n{run.get('text') or ''}")
    if not parts and any(run["query"] for run in state.get("cypher") or []):
        return "The query over the graph found no rows."
    return cut_lines("\n\n".join(parts), tokens)


def _key(name: str, arguments: dict[str, Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)}"


def _ids(artifact: Any) -> list[str]:
    rows = artifact.get("sections") if isinstance(artifact, dict) else artifact
    if not isinstance(rows, list):
        return []
    return [
        str(row.get("section_id") or row.get("id"))
        for row in rows
        if isinstance(row, dict) and (row.get("section_id") or row.get("id"))
    ]


def _listed(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(part) for part in value] if isinstance(value, list) else []


def _window(text: str, arguments: dict[str, Any]) -> tuple[int, int]:
    """Offsets of the lines that a call asks for; the whole text when it names none."""
    first = arguments.get("start_line")
    count = arguments.get("max_lines")
    if not isinstance(first, int) and not isinstance(count, int):
        return 0, len(text)
    lines = text.splitlines(keepends=True)
    begin = max(0, (first if isinstance(first, int) else 1) - 1)
    stop = begin + count if isinstance(count, int) else len(lines)
    start = sum(len(line) for line in lines[:begin])
    return start, start + sum(len(line) for line in lines[begin:stop])
