"""What tests do with the server by way of ChatOpenAI."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .server import ScriptedServer

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk
    from langchain_openai import ChatOpenAI

KEY = "sk-scripted"


def chat_model(server: ScriptedServer, **settings: Any) -> ChatOpenAI:
    """A model without retries, so that each call is one request, and with a timeout of 10 s."""
    from langchain_openai import ChatOpenAI

    given: dict[str, Any] = {"max_retries": 0, "timeout": 10, "api_key": KEY, "model": "scripted"}
    return ChatOpenAI(base_url=server.base_url, **(given | settings))


def merged(chunks: Iterable[Any]) -> AIMessageChunk:
    """The message that a stream's chunks add up to."""
    whole: AIMessageChunk = functools.reduce(operator.add, chunks)
    return whole


def text_before(kind: type[Exception], model: ChatOpenAI) -> str:
    """What a stream gave before it raised `kind`.

    Raises:
        AssertionError: it raised nothing.
    """
    got = ""
    try:
        for chunk in model.stream("Hello"):
            got += str(chunk.content)
    except kind:
        return got
    raise AssertionError(f"the stream ended well with {got!r}")
