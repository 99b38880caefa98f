"""A reply in a given form from any model: by JSON schema, else by function calling, else read out of the text.

A server that refuses one way is asked by the next, and the way that worked is remembered. A reply that does
not parse is asked for once more by the plainest way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graph_agent.agent.budget import Budget
from graph_agent.agent.calls import ModelCalls
from graph_agent.chat_models.forms import WAYS, Form, read_form, request_for
from graph_agent.chat_models.models import BadReply, ContextTooLong, is_form_refusal
from graph_agent.errors import ModelUnavailable

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


async def structured(
    calls: ModelCalls,
    messages: Sequence[BaseMessage],
    form: type[Form],
    budget: Budget,
    *,
    keep_calls: int = 0,
    keep_tokens: int = 0,
) -> Form:
    """Ask for a reply in the form of a pydantic model, whose class name names the schema.

    Raises:
        OutOfBudget: a limit forbids the call.
        BadReply: no reply could be read as the form.
        ModelUnavailable: the model does not answer.
    """
    start = WAYS.index(calls.quirks.structured)
    reply_problem = "nothing"
    for way in WAYS[start:]:
        request, options = request_for(way, messages, form)
        try:
            reply = await calls.complete(
                request,
                budget,
                keep_calls=keep_calls,
                keep_tokens=keep_tokens,
                fall_through=way != WAYS[-1],
                **options,
            )
        except ContextTooLong:
            raise
        except (NotImplementedError, TypeError, ValueError):
            continue  # the client itself does not know this way
        except ModelUnavailable as error:
            if way == WAYS[-1] or not _is_about_form(error):
                raise
            calls.quirks.structured = WAYS[WAYS.index(way) + 1]
            continue
        value, reply_problem = read_form(reply, form)
        if value is not None:
            return value
        if way != WAYS[-1]:
            # it took the request, but the reply is broken: once more, in plain words
            return await _plain(calls, messages, form, budget, keep_calls, keep_tokens)
    raise BadReply(
        f"The model's reply is no {form.__name__}: {reply_problem}.", "Try again or use another model."
    )


async def _plain(
    calls: ModelCalls,
    messages: Sequence[BaseMessage],
    form: type[Form],
    budget: Budget,
    keep_calls: int,
    keep_tokens: int,
) -> Form:
    request, options = request_for("text", messages, form)
    reply = await calls.complete(request, budget, keep_calls=keep_calls, keep_tokens=keep_tokens, **options)
    value, problem = read_form(reply, form)
    if value is None:
        raise BadReply(
            f"The model's reply is no {form.__name__}: {problem}.", "Try again or use another model."
        )
    return value


def _is_about_form(error: ModelUnavailable) -> bool:
    """Whether asking in another form may help: the server refused the request or broke on it."""
    return error.__cause__ is not None and is_form_refusal(error.__cause__)
