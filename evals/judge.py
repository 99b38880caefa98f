"""A second model grades the answers: right or wrong by the gold, and borne by the passages that were read.

A judge that fails leaves an answer ungraded; that is never a verdict. A verdict holds for the words that were
judged: an answer that was asked for again is judged again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from graph_agent.errors import ConfigurationError, GraphAgentError
from graph_agent.evals.inspection import Case, cases
from graph_agent.evals.questions import digest_of
from graph_agent.evals.runner import Run, answer_digest, load_run
from graph_agent.evals.runs import Judgement, LineWriter

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from graph_agent.ingest.report import Progress
    from graph_agent.settings import Settings

PROMPT = "judge.md"
WORKERS = 4
PASSAGE_CHARACTERS = 24_000
MAX_CALLS, MAX_TOKENS = 6, 30_000  # of one verdict, retries included


class Verdict(BaseModel):
    """Your grades of the answer."""

    reason: str = Field(max_length=2_000)
    verdict: Literal["correct", "partial", "incorrect"]
    grounded: Literal["supported", "partly", "unsupported"]


def judge_run(
    run: Run,
    settings: Settings,
    model: str,
    *,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Have every answer of a run graded that has no verdict of this judge yet; returns the run with verdicts.

    Args:
        run: in answer mode.
        settings: where the judge's endpoint is, as for the agent.
        model: the judge, as in GRAPH_AGENT_MODEL; better another model than the one that is judged.

    Raises:
        ConfigurationError: the run has no answers, or the model is not usable.
    """
    from graph_agent.ingest.report import Silent

    if run.info.mode == "retrieval":
        raise ConfigurationError(f"{run.info.id} has no answers to judge.", "Judge a run of mode answer.")
    prompt = judge_prompt(settings.prompts)
    name = f"{model} {digest_of(prompt)[:10]}"
    done = {
        (one.question, one.repeat)
        for one in run.judgements
        if one.judge == name and one.verdict != "ungraded"
    }
    todo = [case for case in cases(run) if _gradable(case) and case.record.name not in done]
    progress = progress or Silent()
    progress.stage(f"Judging {run.info.set}", len(todo))
    judge = _Judge(settings.model_copy(update={"model": model}), prompt, name)
    with run.folder.held():
        writer = LineWriter(run.folder.judgements)

        def graded(judgement: Judgement) -> None:
            writer.append(judgement)
            progress.advance(1, judgement.verdict)

        try:
            # A loop of its own, in a thread of its own: the caller may be inside one.
            with ThreadPoolExecutor(1, thread_name_prefix="judge") as thread:
                thread.submit(asyncio.run, judge.grade_all(todo, graded, stop)).result()
        finally:
            writer.close()
        run.folder.write_info(run.info.model_copy(update={"judge": name}))
    return load_run(settings, run.folder.path)


def _gradable(case: Case) -> bool:
    return (
        case.record.response is not None
        and case.record.error is None
        and case.question.answerable is not None
    )


def judge_prompt(overrides: Path | None) -> str:
    """The judge's instructions; `judge.md` in the folder GRAPH_AGENT_PROMPTS takes the place of ours."""
    own = overrides / PROMPT if overrides is not None else None
    if own is not None and own.is_file():
        return own.read_text(encoding="utf-8").strip()
    return resources.files("graph_agent.evals").joinpath(PROMPT).read_text(encoding="utf-8").strip()


class _Judge:
    """One model with its instructions."""

    def __init__(self, settings: Settings, prompt: str, name: str) -> None:
        from graph_agent.agent.calls import ModelCalls
        from graph_agent.chat_models.models import chat_model

        chat_model(settings)  # refused at once when it is not usable, not once per answer
        self._calls = ModelCalls(lambda: chat_model(settings), settings.model or "")
        self._prompt, self._name = prompt, name
        self._timeout_s = settings.model_timeout_s

    async def grade_all(
        self, todo: Sequence[Case], graded: Callable[[Judgement], None], stop: threading.Event | None
    ) -> None:
        """Grade some cases, a few at a time; `graded` is told each verdict."""
        places = asyncio.Semaphore(WORKERS)

        async def one(case: Case) -> None:
            async with places:
                if stop is None or not stop.is_set():
                    graded(await self._grade(case))

        await asyncio.gather(*(one(case) for case in todo))

    async def _grade(self, case: Case) -> Judgement:
        """The verdict on one answer; ungraded, with the reason, when the judge fails."""
        judgement = Judgement(
            question=case.record.question,
            repeat=case.record.repeat,
            answer=answer_digest(case.record),
            judge=self._name,
        )
        try:
            verdict = await self._ask(case)
        except GraphAgentError as error:
            return judgement.model_copy(update={"reason": error.message})
        return judgement.model_copy(update=verdict.model_dump())

    async def _ask(self, case: Case) -> Verdict:
        from graph_agent.agent.budget import Budget, Limits
        from graph_agent.agent.structured import structured

        limits = Limits(
            model_calls=MAX_CALLS,
            tool_calls=0,
            input_tokens=MAX_TOKENS,
            seconds=self._timeout_s * 3,
            model_timeout_s=self._timeout_s,
        )
        return await structured(self._calls, self._messages(case), Verdict, Budget(limits))

    def _messages(self, case: Case) -> Sequence[BaseMessage]:
        from langchain_core.messages import HumanMessage, SystemMessage

        from graph_agent.chat_models.fencing import fence

        response = case.record.response or {}
        passages = "\n\n".join(
            f"[{one['n']}] {one.get('text', '')}" for one in response.get("passages") or []
        )
        rows = "\n\n".join(f"{run['query']}\n{run['rows'][:50]}" for run in response.get("cypher") or [])
        parts = [
            fence("question", case.question.question),
            fence("gold", case.gold),
            fence("answer", str(response.get("answer", ""))),
            fence("passages", "\n\n".join(part for part in (passages, rows) if part)[:PASSAGE_CHARACTERS]),
        ]
        return [SystemMessage(self._prompt), HumanMessage("\n\n".join(parts))]
