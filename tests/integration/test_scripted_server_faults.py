"""The faults of the scripted server look to ChatOpenAI as those of real servers do."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import openai
import pytest
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from scripted_server import (
    Received,
    ScriptedServer,
    chat_model,
    context_length_exceeded,
    drop_stream,
    empty,
    end_stream_early,
    error_in_stream,
    garbage,
    hang,
    merged,
    reasoning,
    repeated_tool_name,
    reply,
    schema_refused,
    status,
    structured,
    text,
    text_before,
    tool_calls,
    truncated,
)

KEY = "sk-scripted"


class Plan(BaseModel):
    """A plan."""

    question: str
    stages: list[str]


PLAN = {"question": "Who paid Bob?", "stages": ["labels", "cypher"]}


@tool
def graph_query(cypher: str) -> str:
    """Run a query."""
    return cypher


def asked(model: ChatOpenAI, stream: bool) -> Any:
    return merged(model.stream("Hello")) if stream else model.invoke("Hello")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_status(scripted_server: ScriptedServer, code: int, kind: type[Exception], stream: bool) -> None:
    scripted_server.script(status(code, "of the script"))
    with pytest.raises(kind, match="of the script"):
        asked(chat_model(scripted_server), stream)
    assert scripted_server.requests[0].status == code


def test_retry_after_is_obeyed_and_each_try_takes_a_step(scripted_server: ScriptedServer) -> None:
    scripted_server.script(status(429, retry_after=0.8), text("at last"))
    assert chat_model(scripted_server, max_retries=2).invoke("Hello").content == "at last"
    first, second = (request.received_at for request in scripted_server.requests)
    assert second - first >= 0.79  # without the header the first retry comes after 0.5 s at most


def test_a_wrong_key_is_refused_without_using_a_step(scripted_server: ScriptedServer) -> None:
    scripted_server.require_key(KEY)
    scripted_server.script(text("welcome"))
    with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
        chat_model(scripted_server, api_key="sk-wrong").invoke("Hello")
    assert chat_model(scripted_server).invoke("Hello").content == "welcome"


@pytest.mark.parametrize("stream", [False, True])
def test_hang_runs_into_the_clients_timeout(scripted_server: ScriptedServer, stream: bool) -> None:
    scripted_server.script(hang())
    started = time.monotonic()
    with pytest.raises(openai.APITimeoutError):
        asked(chat_model(scripted_server, timeout=0.3), stream)
    assert 0.25 < time.monotonic() - started < 10
    assert scripted_server.requests[0].settled() == "client left"


def test_hang_closes_after_its_time(scripted_server: ScriptedServer) -> None:
    scripted_server.script(hang(0.1))
    with pytest.raises(openai.APIConnectionError) as raised:
        chat_model(scripted_server).invoke("Hello")
    assert not isinstance(raised.value, openai.APITimeoutError)
    assert scripted_server.requests[0].outcome == "dropped"


def test_a_stream_that_stalls_runs_into_the_clients_timeout(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text(["a", "b"], delay=30))
    assert text_before(openai.APITimeoutError, chat_model(scripted_server, timeout=1)) == "a"
    assert len(scripted_server.requests[0].chunk_times) == 1


def wait_for_outcome(request: Received, outcome: str) -> None:
    until = time.monotonic() + 3
    while request.outcome == "open" and time.monotonic() < until:
        time.sleep(0.01)
    assert request.outcome == outcome


async def test_a_client_that_leaves_a_stream_is_seen(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("x" * 100, chunks=100, delay=0.05))
    stream = chat_model(scripted_server).astream("Hello")
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]
    request = scripted_server.requests[0]
    assert await asyncio.to_thread(request.settled) == "client left"  # the client closes in its event loop
    assert len(request.chunk_times) < 100


def test_drop_stream_delivers_its_chunks_and_breaks(scripted_server: ScriptedServer) -> None:
    scripted_server.script(drop_stream("abcde", after=2))
    assert text_before(openai.APIConnectionError, chat_model(scripted_server)) == "ab"
    assert scripted_server.requests[0].outcome == "dropped"


async def test_drop_stream_async_and_whole(scripted_server: ScriptedServer) -> None:
    scripted_server.script(drop_stream("abcde", after=0), drop_stream("abcde", after=2))
    model = chat_model(scripted_server)
    with pytest.raises(openai.APIConnectionError):
        _ = [chunk async for chunk in model.astream("Hello")]
    with pytest.raises(openai.APIConnectionError):
        await model.ainvoke("Hello")


def test_end_stream_early_lacks_only_the_finish_reason(scripted_server: ScriptedServer) -> None:
    scripted_server.script(end_stream_early("abcde", after=2), end_stream_early("abcde", after=2))
    whole = merged(chat_model(scripted_server, stream_usage=True).stream("Hello"))
    assert whole.content == "ab"
    assert "finish_reason" not in whole.response_metadata
    with pytest.raises(json.JSONDecodeError):
        chat_model(scripted_server).invoke("Hello")


def test_error_in_stream(scripted_server: ScriptedServer) -> None:
    scripted_server.script(error_in_stream("abcde", after=1), error_in_stream("abcde", after=1))
    with pytest.raises(openai.APIError, match="in the middle of the stream"):
        merged(chat_model(scripted_server).stream("Hello"))
    with pytest.raises(openai.InternalServerError, match="in the middle of the stream"):
        chat_model(scripted_server).invoke("Hello")


def test_garbage(scripted_server: ScriptedServer) -> None:
    scripted_server.script(
        garbage(),
        garbage(b"\xff\xfe{", content_type="application/json"),
        garbage(),
        garbage("data: {oops\n\n", content_type="text/event-stream"),
    )
    with pytest.raises(ValueError, match="Unexpected response type"):
        chat_model(scripted_server).invoke("Hello")
    with pytest.raises(ValueError):  # UnicodeDecodeError or JSONDecodeError
        chat_model(scripted_server).invoke("Hello")
    with pytest.raises(ValueError, match="No generation"):
        merged(chat_model(scripted_server).stream("Hello"))
    with pytest.raises(json.JSONDecodeError):
        merged(chat_model(scripted_server).stream("Hello"))


def test_empty_and_truncated(scripted_server: ScriptedServer) -> None:
    scripted_server.script(empty(), empty(), truncated("The answ"), truncated("The answ", chunks=2))
    model = chat_model(scripted_server)
    for answer in (model.invoke("Hello"), merged(model.stream("Hello"))):
        assert answer.content == ""
        assert not answer.tool_calls
        assert answer.response_metadata["finish_reason"] == "stop"
    for answer in (model.invoke("Hello"), merged(model.stream("Hello"))):
        assert answer.content == "The answ"
        assert answer.response_metadata["finish_reason"] == "length"


def test_arguments_that_are_not_json(scripted_server: ScriptedServer) -> None:
    scripted_server.script(tool_calls(("graph_query", '{"cypher": "RETU'), finish="length"))
    message = chat_model(scripted_server).bind_tools([graph_query]).invoke("Hello")
    assert message.tool_calls == []
    assert message.invalid_tool_calls[0]["args"] == '{"cypher": "RETU'
    assert message.response_metadata["finish_reason"] == "length"


def test_reasoning(scripted_server: ScriptedServer) -> None:
    scripted_server.script(
        reply(reasoning("I think", "So be it")).times(2), reasoning("I think", "It is", inline=True)
    )
    client = openai.OpenAI(base_url=scripted_server.base_url, api_key=KEY, max_retries=0)
    ask: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Hello"}]}
    message = client.chat.completions.create(**ask).choices[0].message
    assert message.content == "So be it"
    assert message.model_extra is not None
    assert message.model_extra["reasoning_content"] == "I think"
    deltas = [chunk.choices[0].delta for chunk in client.chat.completions.create(**ask, stream=True)]
    thought = [(d.model_extra or {}).get("reasoning_content") for d in deltas]
    assert [t for t in thought if t] == ["I think"]
    assert "".join(d.content or "" for d in deltas) == "So be it"
    assert chat_model(scripted_server).invoke("Hello").content == "<think>I think</think>\n\nIt is"


def test_repeated_tool_name_doubles_it_in_a_stream_only(scripted_server: ScriptedServer) -> None:
    scripted_server.script(
        reply(repeated_tool_name(("graph_query", {"cypher": "RETURN 1"}), chunks=3)).times(2)
    )
    model = chat_model(scripted_server).bind_tools([graph_query])
    assert model.invoke("Hello").tool_calls[0]["name"] == "graph_query"
    whole = merged(model.stream("Hello"))
    assert whole.tool_calls[0]["name"] == "graph_query" * 3
    assert whole.tool_calls[0]["args"] == {"cypher": "RETURN 1"}


def test_context_length_exceeded(scripted_server: ScriptedServer) -> None:
    # openai 3 leaves the code out of the error's text, where langchain-openai 1.7 looks for it: so no
    # ContextOverflowError here, and whoever handles it has to look at `code`.
    scripted_server.script(context_length_exceeded(4_096))
    with pytest.raises(openai.BadRequestError, match="maximum context length is 4096") as raised:
        chat_model(scripted_server).invoke("Hello")
    assert raised.value.code == "context_length_exceeded"


def test_schema_refused_until_another_method_is_tried(scripted_server: ScriptedServer) -> None:
    scripted_server.script(schema_refused(structured(PLAN)), text("next step"))
    model = chat_model(scripted_server, max_retries=1)
    with pytest.raises(openai.InternalServerError, match="json_schema is not supported"):
        model.with_structured_output(Plan, method="json_schema").invoke("Plan it")
    assert len(scripted_server.requests) == 2
    assert model.with_structured_output(Plan, method="function_calling").invoke("Plan it") == Plan(**PLAN)
    assert model.invoke("Hello").content == "next step"
