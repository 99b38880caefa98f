"""A script's steps: what is expected of a request, and the reply it gets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import EllipsisType

from .received import Received, shown
from .replies import Reply


@dataclass(frozen=True)
class Check:
    """One thing that is expected.

    Attributes:
        wanted: in words.
        fault: None when the request has it, else what the request has instead.
    """

    wanted: str
    fault: Callable[[Received], str | None]


@dataclass(frozen=True)
class Step:
    """One reply, the checks a request must pass to get it, and where the step was written (file:line)."""

    answer: Reply
    checks: tuple[Check, ...] = ()
    where: str = ""
    count: int = 1

    def times(self, count: int) -> Step:
        """The same step `count` times in a row, e.g. for a client that retries."""
        if count < 1:
            raise ValueError(f"times({count}): at least 1")
        return replace(self, count=count)

    def faults(self, request: Received) -> list[str]:
        """What `request` lacks of what was expected; empty when all is there."""
        return [fault for check in self.checks if (fault := check.fault(request)) is not None]

    def describe(self) -> str:
        """What it expects and where it was written."""
        wanted = " and ".join(check.wanted for check in self.checks) or "any chat request"
        return f"{wanted} [{self.where}]" if self.where else wanted


@dataclass(frozen=True)
class Expectation:
    """Checks that wait for their reply."""

    checks: tuple[Check, ...]
    where: str

    def reply(self, answer: Reply) -> Step:
        """The step that answers with `answer` when the checks hold."""
        return Step(_checked(answer), self.checks, self.where)


def reply(answer: Reply) -> Step:
    """A step that answers any chat request."""
    return Step(_checked(answer), where=_caller())


def expect(
    check: Callable[[Received], bool] | None = None,
    *,
    user: str | Iterable[str] = (),
    system: str | Iterable[str] = (),
    last: str | Iterable[str] = (),
    contains: str | Iterable[str] = (),
    lacks: str | Iterable[str] = (),
    tools: str | Collection[str] | None = None,
    tools_include: str | Collection[str] = (),
    tool_choice: str | EllipsisType | None = ...,
    schema: str | EllipsisType | None = ...,
    stream: bool | None = None,
    temperature: float | None = None,
    model: str | None = None,
    api_key: str | None = None,
) -> Expectation:
    """What a request must be to get the reply that follows.

    Args:
        check: a function of the request that returns True or False, or raises AssertionError with the reason.
        user, system, last: text, or each of several texts, that the last user message, the system messages,
            or the last message of anyone (often a tool's result) contains.
        contains, lacks: text that stands somewhere, or nowhere, in the messages.
        tools: exactly these tools are offered; `set()` for none.
        tools_include: these are among the tools offered.
        tool_choice: a tool's name, "auto", "none" or "required"; None: not sent.
        schema: name of the JSON schema in response_format; None: no schema is sent.
        stream, temperature, model, api_key: equal to this.

    Raises:
        ValueError: nothing is expected (say that with `reply(...)`), or one of several texts is empty.
    """
    checks: list[Check] = []
    places: list[tuple[str, str | Iterable[str], Callable[[Received], str]]] = [
        ("the last user message", user, lambda r: r.user),
        ("the system message", system, lambda r: r.system),
        ("the last message", last, lambda r: r.last),
        ("some message", contains, lambda r: r.everything),
    ]
    for name, wanted, read in places:
        checks += [_contains(name, piece, read) for piece in _texts(wanted)]
    checks += [_lacks(piece) for piece in _texts(lacks)]
    if tools is not None:
        names = set(_listed(tools))
        checks.append(_equal("tools", names, lambda r: r.tools))
    checks += [_offers(name) for name in _listed(tools_include)]
    if not isinstance(tool_choice, EllipsisType):
        checks.append(_equal("tool_choice", tool_choice, lambda r: r.tool_choice))
    if not isinstance(schema, EllipsisType):
        checks.append(_equal("schema", schema, lambda r: r.schema))
    fields: list[tuple[str, object, Callable[[Received], object]]] = [
        ("stream", stream, lambda r: r.stream),
        ("temperature", temperature, lambda r: r.body.get("temperature")),
        ("model", model, lambda r: r.model),
        ("api_key", api_key, lambda r: r.api_key),
    ]
    checks += [_equal(name, value, get) for name, value, get in fields if value is not None]
    if check is not None:
        checks.append(_called(check))
    if not checks:
        raise ValueError("expect() without an expectation: use reply(...) to answer any request")
    return Expectation(tuple(checks), _caller())


def _contains(name: str, piece: str, read: Callable[[Received], str]) -> Check:
    def fault(request: Received) -> str | None:
        return None if piece in read(request) else f"{name} is {shown(read(request))}, without {piece!r}"

    return Check(f"{name} contains {piece!r}", fault)


def _lacks(piece: str) -> Check:
    def fault(request: Received) -> str | None:
        where = request.everything.find(piece)
        if where < 0:
            return None
        around = request.everything[max(0, where - 40) : where + len(piece) + 40]
        return f"{piece!r} stands in the messages: ...{around!r}..."

    return Check(f"no message contains {piece!r}", fault)


def _offers(name: str) -> Check:
    def fault(request: Received) -> str | None:
        return (
            None
            if name in request.tools
            else f"the tools offered are {sorted(request.tools)}, without {name!r}"
        )

    return Check(f"the tool {name!r} is offered", fault)


def _equal(name: str, wanted: object, get: Callable[[Received], object]) -> Check:
    def fault(request: Received) -> str | None:
        came = get(request)
        return None if came == wanted else f"{name} is {came!r}, not {wanted!r}"

    return Check(f"{name} is {wanted!r}", fault)


def _called(check: Callable[[Received], bool]) -> Check:
    name = getattr(check, "__name__", repr(check))

    def fault(request: Received) -> str | None:
        try:
            verdict: object = check(request)
        except Exception as error:
            return f"{name} raised {type(error).__name__}: {error}"
        if verdict is True:
            return None
        # None would let a check pass that forgot its `return`.
        return f"{name} returned {verdict!r}" + ("" if verdict is False else "; it must return True or False")

    return Check(f"{name} holds", fault)


def _texts(value: str | Iterable[str]) -> list[str]:
    pieces = _listed(value)
    if "" in pieces:
        raise ValueError("an empty text is contained in every message")
    return pieces


def _listed(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _checked(answer: Reply) -> Reply:
    if not isinstance(answer, Reply):
        raise TypeError(f"{answer!r} is not a reply: use text(...), tool_calls(...), status(...) ...")
    return answer


def _caller() -> str:
    """file:line of the test that wrote the step: the nearest caller outside this package."""
    here = Path(__file__).parent
    frame = sys._getframe(1)
    while Path(frame.f_code.co_filename).parent == here and frame.f_back is not None:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
