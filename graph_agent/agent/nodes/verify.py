"""The check of the answer, and the response: what did not pass goes back once, then it is marked."""

from __future__ import annotations

import asyncio

from graph_agent.agent.citations import (
    bind,
    cited_numbers,
    normalised,
    source_list,
    without_source_list,
)
from graph_agent.agent.events import AnswerReplaced, AnswerToken, Finished
from graph_agent.agent.grounding import Checked, Evidence, check, marked
from graph_agent.agent.nodes.read import rows_text
from graph_agent.agent.phrases import phrase
from graph_agent.agent.response import (
    AgentResponse,
    Calculation,
    Coverage,
    CypherRun,
    Failure,
    Passage,
    Source,
    StageRecord,
    Usage,
    Verdict,
)
from graph_agent.agent.stage import Step
from graph_agent.agent.state import State, Turn, Update
from graph_agent.text import detect_language, estimate_tokens

REWRITE_TOKENS = 1_200  # beside the passages that the rewrite needs again
TURN_CHARACTERS = 2_000


async def run(state: State, step: Step) -> Update:
    """Check, then either send the findings back, or finish. In a thread: finding all figures takes milliseconds."""
    return await asyncio.to_thread(_verified, state, step)


def _verified(state: State, step: Step) -> Update:
    answer = normalised(without_source_list(state.get("draft") or ""))
    evidence = evidence_of(state)
    trusted = bool((state.get("search") or {}).get("trusted"))
    checked = Checked([], 0, {})
    if not trusted:
        checked = check(answer, evidence, must_cite=_must_cite(state))
    step.counts = {"checked": checked.checked, "findings": len(checked.findings)}
    step.detail = {
        "status": checked.status,
        "findings": [finding.model_dump() for finding in checked.findings],
    }
    if checked.findings and _may_rewrite(state, step):
        return {"findings": [finding.model_dump() for finding in checked.findings]}
    return finished(state, step, answer, checked, evidence)


def evidence_of(state: State) -> Evidence:
    """What the answer may rest on."""
    plan = state.get("plan")
    question = "\n".join([state.get("question") or "", plan["question"] if plan else ""])
    calculations = state.get("calculations") or []
    return Evidence(
        passages={passage["n"]: Passage(**passage) for passage in state.get("passages") or []},
        question=question,
        rows="\n".join([rows_text(state, 100_000), state.get("overview") or ""]),
        results=[f"{one['expression']} = {one['result']}" for one in calculations],
        language=plan["language"] if plan else "en",
    )


def _must_cite(state: State) -> bool:
    """An answer out of passages cites; one out of query rows or the overview need not."""
    has_rows = any(run["rows"] for run in state.get("cypher") or [])
    return (
        bool(state.get("passages"))
        and not has_rows
        and bool(state.get("answered"))
        and state["kind"] == "documents"
    )


def _may_rewrite(state: State, step: Step) -> bool:
    if state.get("rewritten") or state.get("mode") != "model":
        return False
    passages = sum(estimate_tokens(passage["text"]) for passage in state.get("passages") or [])
    reason = step.budget.refuses(min(passages, step.limits.passage_tokens // 2) + REWRITE_TOKENS)
    if reason:
        step.note(f"The answer was not written again: this question met {reason}.")
    return not reason


def finished(state: State, step: Step, answer: str, checked: Checked, evidence: Evidence) -> Update:
    """The response, its events, and the turn for the conversation."""
    language = _language(state)
    body = marked(answer, evidence, language) if checked.findings else answer
    passages = [Passage(**passage) for passage in state.get("passages") or []]
    quotes = {int(n): quote for n, quote in ((state.get("search") or {}).get("quotes") or {}).items()}
    citations = bind(answer, passages, failed=checked.failed, quotes=quotes)
    listed = source_list(passages, [citation.n for citation in citations], language)
    text = "\n\n".join(part for part in (body.strip(), coverage_line(state, language), listed) if part)
    _show(step, state.get("draft") or "", text)
    response = _response(state, step, text, language)
    cited_documents = {citation.document for citation in citations}
    response = response.model_copy(
        update={
            "citations": citations,
            "passages": passages,
            "sources": [
                source.model_copy(
                    update={"cited": bool(source.document_id) and source.document_id in cited_documents}
                )
                for source in response.sources
            ],
            "verdict": Verdict(
                status=checked.status if cited_numbers(answer) or checked.findings else "unchecked",
                checked=checked.checked,
                findings=checked.findings,
                rewritten=bool(state.get("rewritten")),
            ),
        }
    )
    if (state.get("search") or {}).get("trusted") and citations:
        # Extracts are slices of the passages that they cite: supported by construction.
        response.verdict = Verdict(status="supported", checked=len(citations))
    step.last = Finished(response=response)
    plan = state.get("plan")
    turn: Turn = {
        "question": plan["question"] if plan else response.question,
        "answer": body.strip()[:TURN_CHARACTERS],
    }
    return {"response": response.model_dump(mode="json"), "turns": [turn]}


def _show(step: Step, shown: str, final: str) -> None:
    """Send what is new, or replace what was sent."""
    if final == shown:
        return
    if shown and final.startswith(shown):
        step.emit(AnswerToken(text=final[len(shown) :]))
    else:
        step.emit(AnswerReplaced(text=final, reason="checked"))


def coverage_line(state: State, language: str) -> str:
    """What was not looked at: files, passages without vectors, rows; "" when it was everything."""
    notes = list((state.get("coverage") or {}).get("notes") or [])
    used = next((run for run in reversed(state.get("cypher") or []) if run["rows"]), None)
    if used is not None and used["truncated"]:
        notes.append(phrase("rows_cut", language).replace("{count}", f"{len(used['rows']):,}"))
    return f"{phrase('partial', language)} {' '.join(notes)}" if notes else ""


def _language(state: State) -> str:
    plan = state.get("plan")
    return plan["language"] if plan else detect_language(state.get("question") or "")


def _response(state: State, step: Step, text: str, language: str) -> AgentResponse:
    settings = step.services.settings
    spent = step.budget.spent
    cost = None
    if settings.price_input is not None or settings.price_output is not None:
        cost = (
            spent["input_tokens"] * (settings.price_input or 0.0)
            + spent["output_tokens"] * (settings.price_output or 0.0)
        ) / 1_000_000
    error = state.get("error")
    plan = state.get("plan")
    own = StageRecord(
        name="verify", seconds=step.seconds, reason=step.reason, detail={**step.detail, **step.counts}
    )
    return AgentResponse(
        question=state["question"],
        standalone=plan["question"] if plan else state["question"],
        answer=text,
        answered=bool(state.get("answered")) and not (error and error["kind"] == "EngineUnavailable"),
        mode=state.get("mode") or "extractive",
        language=language,
        thread_id=step.context.thread_id,
        sources=[Source(**source) for source in state.get("sources") or []],
        stages=[*(StageRecord(**record) for record in state.get("stages") or []), own],
        cypher=[
            CypherRun(**{key: value for key, value in run.items() if key != "text"})
            for run in state.get("cypher") or []
            if run["query"]
        ],
        calculations=[Calculation(**one) for one in state.get("calculations") or []],
        usage=Usage(
            model_calls=spent["model_calls"],
            tool_calls=spent["tool_calls"],
            input_tokens=spent["input_tokens"],
            output_tokens=spent["output_tokens"],
            estimated=spent["estimated"],
            seconds=round(spent["seconds"], 4),
            cost=cost,
        ),
        seconds=round(spent["seconds"], 4),
        coverage=Coverage(**(state.get("coverage") or {})),
        prompts=state.get("prompts") or {},
        notes=list(dict.fromkeys([*(state.get("notes") or []), *step.notes])),
        error=Failure(**error) if error else None,
    )
