"""The two kinds of gr.HTML that the pages are made of, and who is asking.

A script panel's markup is made in the browser by assets/app.js from a JSON value; an HTML panel shows the safe
HTML that it is given. Both send clicks on `data-do` elements as events: those named here, and "act" for others.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar, cast

import gradio as gr

from graph_agent.errors import GraphAgentError

log = logging.getLogger(__name__)
Handler = TypeVar("Handler", bound=Callable[..., Any])

# Relative, so that a proxy's prefix holds; gr.HTML waits for it before it runs a panel's script.
SCRIPT = '<script src="pages/assets/app.js"></script>'

# How an event is wired. Gradio by itself drops what comes while the same event is under way. All of these go through
# the queue: only then does Gradio show a failure's message in the page.
# What needs no second start while the first is under way.
ONCE: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "trigger_mode": "once"}
# What shows the state of inputs: of those that come too fast the last one is made up for, without its event data.
LATEST: dict[str, Any] = {**ONCE, "trigger_mode": "always_last"}
# A click with data: each counts, one after the other, so that none is lost and the last one stays in view.
EACH: dict[str, Any] = {**ONCE, "trigger_mode": "multiple", "concurrency_limit": 1}


def script_panel(name: str, events: Sequence[str], *, elem_id: str, value: Any = None) -> Any:
    """A panel whose markup graphAgent[name] makes.

    Args:
        name: function of assets/app.js.
        events: names of the events that it may send.
        elem_id: id of the element.
        value: JSON types.
    """
    # The template must never hold {{value}} or Handlebars would compile data: see HTML in Gradio's frontend.
    return gr.HTML(
        value,
        html_template="<div></div>",
        js_on_load=_started(name, events),
        head=SCRIPT,
        elem_id=elem_id,
        apply_default_css=False,
    )


def html_panel(name: str, events: Sequence[str], *, elem_id: str, value: str = "") -> Any:
    """A panel that shows safe HTML, its clicks handled by graphAgent[name]."""
    return gr.HTML(
        value, js_on_load=_started(name, events), head=SCRIPT, elem_id=elem_id, apply_default_css=False
    )


def _started(name: str, events: Sequence[str]) -> str:
    return f"graphAgent.{name}(element, trigger, watch, props, {json.dumps([*events, 'act'])});"


def user_of(request: gr.Request) -> str:
    """Who asks: the name of the login, "" without logins."""
    return str(request.username or "")


def told(handler: Handler) -> Handler:
    """A handler whose failures are told in the page: our own errors as they are, others in general words."""

    def failure(error: Exception) -> gr.Error:
        if isinstance(error, gr.Error):
            return error
        if isinstance(error, GraphAgentError):
            return gr.Error(str(error), title="That did not work", print_exception=False)
        log.error("a page failed", exc_info=error)
        text = f"Something went wrong here ({type(error).__name__}). The log of the server has more."
        return gr.Error(text, title="That did not work", print_exception=False)

    @functools.wraps(handler)
    def run(*given: Any, **named: Any) -> Any:
        try:
            return handler(*given, **named)
        except Exception as error:
            raise failure(error) from error

    @functools.wraps(handler)
    async def arun(*given: Any, **named: Any) -> Any:
        try:
            return await handler(*given, **named)
        except Exception as error:
            raise failure(error) from error

    @functools.wraps(handler)
    async def astream(*given: Any, **named: Any) -> AsyncIterator[Any]:
        try:
            async with aclosing(handler(*given, **named)) as shown:
                async for one in shown:
                    yield one
        except Exception as error:
            raise failure(error) from error

    if inspect.isasyncgenfunction(handler):
        return cast("Handler", astream)
    return cast("Handler", arun if inspect.iscoroutinefunction(handler) else run)


def data_of(event: gr.EventData) -> dict[str, str]:
    """What a click sent along: the data attributes of its element, and the fields of its form; true is "true"."""
    found = event._data if isinstance(event._data, dict) else {}
    return {str(name): _word(value) for name, value in found.items() if value is not None}


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
