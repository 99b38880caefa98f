"""The model's answer as it streams in: thinking kept out, loops stopped, cuts told, the not-found mark read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from graph_agent.agent.budget import Budget
from graph_agent.agent.calls import ModelCalls, Piece, estimate_messages
from graph_agent.agent.passages import trimmed
from graph_agent.agent.phrases import phrase
from graph_agent.agent.reasoner import AnswerRequest, Done, Part, Remark, Replace, Text
from graph_agent.agent.response import Passage
from graph_agent.chat_models.fencing import fence, plain
from graph_agent.chat_models.models import BadReply, ContextTooLong
from graph_agent.chat_models.replies import ThinkingFilter, find_json, loop_start
from graph_agent.errors import ModelUnavailable
from graph_agent.prompts import Prompt
from graph_agent.text import estimate_tokens

MARK = "NOT_IN_DOCUMENTS"
TOOL_RESULT_TOKENS = 900
OVERVIEW_KINDS = frozenset({"chat", "corpus", "structure", "mixed"})
_LOOK_EVERY = 160  # characters between looks for a loop
_WORTH_KEEPING = 80  # characters of a broken answer that are better than none
_CUT = frozenset({"length", "max_tokens", "MAX_TOKENS"})


async def written_answer(
    calls: ModelCalls, prompt: Prompt, request: AnswerRequest, budget: Budget
) -> AsyncIterator[Part]:
    """The answer, in at most two attempts: an empty or broken one once more, one that is too long with less.

    Raises:
        OutOfBudget, ModelUnavailable: nothing usable came.
    """
    if _nothing_to_say(request):
        yield Text(absent(request, ""))
        yield Done(answered=False, checks="trusted")
        return
    share = 1.0
    for last in (False, True):
        messages = _request(prompt, request, budget, share)
        reader = _Reader(request, budget.limits.answer_tokens)
        try:
            async with aclosing(calls.stream(messages, budget)) as pieces:
                async for piece in pieces:
                    for part in reader.taken(piece):
                        yield part
                    if reader.stopped:
                        break
        except ContextTooLong:
            if last:
                raise
            share = 0.5
            yield Remark("The passages were too long for the model; half of them were given.")
            continue
        except ModelUnavailable as error:
            if last or budget.refuses(estimate_messages(messages)):
                if len(reader.text) < _WORTH_KEEPING:
                    raise
                yield Remark(f"The answer broke off before its end: {error.message}")
                yield Text(" …")
                yield Done(answered=True, complete=False)
                return
            yield Remark(f"The answer broke off and was asked for again: {error.message}")
            yield Replace("", "the answer broke off")
            continue
        for part in reader.finished():
            yield part
        if reader.usable:
            yield reader.done()
            return
        yield Replace("", "the answer was empty")
    raise BadReply("The model gave an empty or unusable answer twice.", "Try again or use another model.")


@dataclass
class _Reader:
    """One streamed answer."""

    request: AnswerRequest
    most_tokens: int
    text: str = ""
    stopped: bool = False
    complete: bool = True
    absent: bool = False
    _filter: ThinkingFilter = field(default_factory=ThinkingFilter)
    _held: str = ""
    _deciding: bool = True
    _looked: int = 0
    _finish: str = ""

    def taken(self, piece: Piece) -> list[Part]:
        """Parts to send for a piece."""
        self._finish = piece.finish if piece.finish is not None else self._finish
        shown, was_thinking = self._filter.feed(piece.text)
        parts: list[Part] = []
        if was_thinking:
            self.text = self._held = ""
            self._deciding = True
            parts.append(Replace("", "it was the model's thinking"))
        return parts + self._shown(shown)

    def finished(self) -> list[Part]:
        """Parts to send at the end of the stream."""
        rest, was_thinking = self._filter.finish()
        parts: list[Part] = []
        if was_thinking:
            self.text = self._held = ""
            parts.append(Replace("", "it was the model's thinking"))
        parts += self._shown(rest, final=True)
        if self._finish in _CUT and not self.stopped:
            self.complete = False
            parts += [Text(" …"), Remark("The answer was cut at the model's token limit.")]
            self.text += " …"
        elif not self._finish and self.text and not _ends_well(self.text) and not self.stopped:
            self.complete = False
            parts.append(
                Remark("The model's stream ended without saying that it was done; the answer may be cut.")
            )
        return parts

    @property
    def usable(self) -> bool:
        """Whether this is an answer: not empty, and no tool call in place of one."""
        bare = self.text.strip()
        if self.absent:
            return True
        if not bare or (self.stopped and len(bare) < _WORTH_KEEPING):
            return False
        call = find_json(bare) if bare.startswith(("{", "```json")) else None
        return not (isinstance(call, dict) and {"name", "arguments"} <= set(call))

    def done(self) -> Done:
        """The end of the answer."""
        if self.absent:
            return Done(answered=False, complete=self.complete, checks="trusted")
        return Done(answered=True, complete=self.complete)

    def _shown(self, text: str, *, final: bool = False) -> list[Part]:
        if self.stopped:
            return []
        self._held += text
        if self._deciding:
            head = self._held.lstrip(' \n\t*`"#')
            if not final and len(head) < len(MARK) and MARK.startswith(head):
                return []
            self._deciding = False
            if head.startswith(MARK):
                self.absent = True
                self._held = head[len(MARK) :].lstrip(' \n\t*`".:')
            else:
                self._held = self._held.lstrip()
        if self.absent and not final:
            return []  # one sentence, put behind ours at the end
        if self.absent:
            ready = absent(self.request, self._held.strip())
            self._held = ""
        else:
            ready, self._held = self._held, ""
        self.text += ready
        parts: list[Part] = [Text(ready)] if ready else []
        return parts + self._bounded()

    def _bounded(self) -> list[Part]:
        if len(self.text) - self._looked < _LOOK_EVERY:
            return []
        self._looked = len(self.text)
        start = loop_start(self.text)
        if start >= 0:
            self.stopped, self.complete = True, False
            self.text = self.text[:start].rstrip() + " …"
            return [
                Replace(self.text, "the model repeated itself"),
                Remark("The model repeated itself and was stopped."),
            ]
        if estimate_tokens(self.text) > self.most_tokens:
            self.stopped, self.complete = True, False
            return [Text(" …"), Remark(f"The answer was cut at {self.most_tokens:,} tokens.")]
        return []


def absent(request: AnswerRequest, sentence: str) -> str:
    """The answer that there is none, with what was searched."""
    language = request.plan["language"]
    if request.kind != "documents" and request.runs:
        head = phrase("no_rows", language)
    else:
        head = phrase("absent", language)
    parts = [f"{head} {sentence}".strip()]
    searched = request.search.get("phrases") or []
    if searched:
        parts.append(f"{phrase('searched', language)} " + "; ".join(plain(one) for one in searched))
    return "\n\n".join(parts)


def _nothing_to_say(request: AnswerRequest) -> bool:
    """Whether there is nothing that an answer could be made from: then no model is asked."""
    if request.plan["kind"] in {"chat", "corpus"} or request.draft:
        return False
    has_rows = any(run["rows"] for run in request.runs)
    return not (request.passages or has_rows or request.rounds or request.calculations)


def _ends_well(text: str) -> bool:
    return text.rstrip()[-1:] in set(".!?:;)]}\"'`*|>…。！？」）”»")


def _request(prompt: Prompt, request: AnswerRequest, budget: Budget, share: float) -> list[BaseMessage]:
    """The messages, with as many passages as the budget and `share` allow."""
    around = _around(request)
    fixed = estimate_messages([SystemMessage(prompt.text), HumanMessage("\n\n".join(around))])
    room = min(int(budget.limits.passage_tokens * share), budget.tokens_left - fixed - 200)
    listed = sum(_cost(passage) for passage in request.passages)
    if share < 1.0:
        room = min(room, int(listed * share))
    passages = trimmed(request.passages, max(200, room - 30 * len(request.passages)))
    parts = [fence(f"passage {passage.n}", _shown_passage(passage)) for passage in passages]
    return [SystemMessage(prompt.text), HumanMessage("\n\n".join([*parts, *around]))]


def _around(request: AnswerRequest) -> list[str]:
    """Everything in the message but the passages."""
    plan = request.plan
    parts: list[str] = []
    if plan["kind"] in OVERVIEW_KINDS and not request.passages:
        parts.append(fence("overview", request.overview))
    if request.rows:
        parts.append(fence("rows", request.rows))
    results = [
        call for one in request.rounds for call in one["calls"] if not call["failed"] and not call["repeated"]
    ]
    left = TOOL_RESULT_TOKENS
    for call in results:
        if call["name"] in {"get_section_content", "calculate"}:
            continue  # its sections are passages, its values stand below
        text = f"{call['name']} {call['arguments']}\n{call['content']}"
        if (tokens := estimate_tokens(text)) <= left:
            left -= tokens
            parts.append(fence("result", text))
    if request.calculations:
        parts.append(
            fence(
                "calculated",
                "\n".join(f"{one['expression']} = {one['result']}" for one in request.calculations),
            )
        )
    if request.notes:
        parts.append(fence("coverage", "\n".join(request.notes)))
    if request.draft:
        parts.append(fence("answer", request.draft))
        listed = [f"- {finding.sentence}\n  {finding.problem}" for finding in request.findings]
        parts.append(fence("findings", "\n".join(listed)))
    parts += [f"Answer language: {plan['language']}", f"Question: {plain(plan['question'])}"]
    return parts


def _shown_passage(passage: Passage) -> str:
    where = ", ".join(
        part
        for part in (passage.display_path, f"p. {passage.page}" if passage.page else "", passage.date or "")
        if part
    )
    title = " > ".join(passage.breadcrumb) or passage.title
    return f"[{passage.n}] {title} ({where})\n{passage.text}"


def _cost(passage: Passage) -> int:
    return estimate_tokens(_shown_passage(passage))
