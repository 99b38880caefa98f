"""The answer, streamed; when the model fails, from extracts of what was found; and the one rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Overwrite

from graph_agent.agent.budget import OutOfBudget
from graph_agent.agent.events import AnswerReplaced, AnswerToken
from graph_agent.agent.nodes.read import rows_text
from graph_agent.agent.phrases import phrase
from graph_agent.agent.reasoner import AnswerRequest, Done, Reasoner, Remark, Renumbered, Replace, Text
from graph_agent.agent.response import Finding, Passage
from graph_agent.agent.routing import engine_is_down, found_something
from graph_agent.agent.stage import Step, failure
from graph_agent.agent.state import FailureState, State, Update, plan_of
from graph_agent.errors import ConfigurationError, ModelUnavailable, QueryError, UnavailableError
from graph_agent.text import detect_language, estimate_tokens


async def run(state: State, step: Step) -> Update:
    """Write the answer; always ends with one."""
    error = state.get("error")
    if engine_is_down(state) or (error and found_nothing(state)):
        return _not_looked_up(state, step, error)
    if state.get("kind") == "empty":
        step.emit(AnswerToken(text=(text := phrase("empty", detect_language(state["question"])))))
        return {"draft": text, "answered": False, "search": {"trusted": True}}
    writing = _Writing(step, sources=state.get("sources") or [])
    reasoner = step.reasoner(state)
    request = request_of(state, because=_because(state, step))
    update: Update = {}
    try:
        try:
            done = await writing.written(reasoner, request)
        except (OutOfBudget, ModelUnavailable) as error:
            if reasoner is step.services.extractive:
                raise
            step.error = error.message
            step.note(str(error))
            update = {"mode": "extractive"}
            if isinstance(error, ModelUnavailable):
                update["error"] = failure(error)
            writing.restart("the model did not finish")
            reasoner = step.services.extractive
            done = await writing.written(reasoner, request_of(state, because=error.message))
    except (UnavailableError, QueryError, ConfigurationError) as error:
        step.error = error.message
        writing.restart("it could not be looked up")
        return {**_not_looked_up(state, step, failure(error)), "error": failure(error)}
    step.counts = {"tokens": estimate_tokens(writing.text), "passages": len(request.passages)}
    step.detail = dict(done.detail)
    search = {**(state.get("search") or {}), "quotes": {str(n): quote for n, quote in done.quotes.items()}}
    search["trusted"] = done.checks == "trusted"
    search["complete"] = done.complete
    if writing.passages is not None:
        update["passages"] = Overwrite([passage.model_dump() for passage in writing.passages])
    return {
        **update,
        "draft": writing.text,
        "answered": done.answered,
        "search": search,
        "prompts": {name: version for name, version in reasoner.prompts.items() if name == "answer"},
    }


async def rewrite(state: State, step: Step) -> Update:
    """Write the answer once more with the findings; the first one stays when this fails."""
    step.reason = f"{len(state['findings'])} sentences did not pass the check"
    writing = _Writing(step, silent=True)
    reasoner = step.reasoner(state)
    findings = [Finding(**finding) for finding in state["findings"]]
    update: Update = {"rewritten": True}
    try:
        done = await writing.written(reasoner, request_of(state, draft=state["draft"], findings=findings))
    except (OutOfBudget, ModelUnavailable) as error:
        step.note(f"The answer was not written again: {error.message}")
        return update
    if not writing.text.strip() or not done.complete:
        step.note("The answer was not written again: the second one was not whole.")
        return update
    step.emit(AnswerReplaced(text=writing.text, reason="some sentences did not stand in what they cite"))
    step.counts = {"tokens": estimate_tokens(writing.text)}
    return {
        **update,
        "draft": writing.text,
        "answered": done.answered,
        "prompts": {name: version for name, version in reasoner.prompts.items() if name == "rewrite"},
    }


class _Writing:
    """Collects the parts of an answer and sends them on.

    Attributes:
        passages: as they are numbered now; None when their numbers stayed.
    """

    def __init__(self, step: Step, *, silent: bool = False, sources: Sequence[Any] = ()) -> None:
        self._step = step
        self._silent = silent
        self._sources = list(sources)
        self.text = ""
        self.passages: list[Passage] | None = None

    async def written(self, reasoner: Reasoner, request: AnswerRequest) -> Done:
        """The whole answer of one reasoner."""
        done = Done(answered=bool(self.text))
        async for part in reasoner.answer(request, self._step.budget):
            match part:
                case Text(text=text):
                    self.text += text
                    if text and not self._silent:
                        self._step.emit(AnswerToken(text=text))
                case Replace(text=text, reason=reason):
                    self.restart(reason, text)
                case Remark(text=text):
                    self._step.note(text)
                case Renumbered(numbers=numbers):
                    self._renumber(request.passages, numbers)
                case Done():
                    done = part
        return done

    def _renumber(self, passages: Sequence[Passage], numbers: Mapping[int, int]) -> None:
        """Show the sources once more under the numbers that the answer will cite."""
        renumbered = [passage.model_copy(update={"n": numbers[passage.n]}) for passage in passages]
        self.passages = sorted(renumbered, key=lambda passage: passage.n)
        self._step.show_sources([passage.model_dump() for passage in self.passages], self._sources)

    def restart(self, reason: str, text: str = "") -> None:
        """Take back what was sent."""
        changed = self.text != text
        self.text = text
        if changed and not self._silent:
            self._step.emit(AnswerReplaced(text=text, reason=reason))


def found_nothing(state: State) -> bool:
    """Whether there is nothing to answer from because a stage failed: no plan, or no search and no row."""
    if state.get("plan") is None:
        return True
    searched = not (state.get("search") or {}).get("failed")
    return not (searched or state.get("passages") or any(map(found_something, state.get("cypher") or [])))


def _not_looked_up(state: State, step: Step, error: FailureState | None) -> Update:
    down = error is not None and error["kind"] == "EngineUnavailable"
    said = f"{error['message']} {error['fix']}" if error else ""
    head = phrase("unavailable" if down else "failed", detect_language(state["question"]))
    text = f"{head}\n\n{said}".strip()
    step.emit(AnswerToken(text=text))
    return {"draft": text, "answered": False, "search": {"trusted": True}}


def _because(state: State, step: Step) -> str:
    """Why extracts are given although a model is configured."""
    if step.services.model is None or state.get("mode") == "model":
        return ""
    error = state.get("error")
    return error["message"] if error else "the model failed"


def request_of(
    state: State, *, because: str = "", draft: str = "", findings: list[Finding] | None = None
) -> AnswerRequest:
    """What an answer is made from."""
    coverage = state.get("coverage") or {}
    return AnswerRequest(
        plan=plan_of(state),
        kind=state["kind"],
        overview=state["overview"],
        facts=state["overview_facts"],
        passages=[Passage(**passage) for passage in state.get("passages") or []],
        rows=rows_text(state),
        runs=[run for run in state.get("cypher") or [] if run["query"]],
        rounds=state.get("rounds") or [],
        search=state.get("search") or {},
        calculations=state.get("calculations") or [],
        notes=coverage.get("notes") or [],
        draft=draft,
        findings=findings or [],
        because=because,
    )
