"""The scripted server fails loudly: what a test did not foresee fails the call, and then the test."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from scripted_server import (
    ScriptedServer,
    chat_model,
    drop_stream,
    expect,
    reply,
    text,
)

KEY = "sk-scripted"


@tool
def graph_query(cypher: str) -> str:
    """Run a query."""
    return cypher


def test_exhaustion_fails_the_call_and_the_test(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("only one"))
    model = chat_model(scripted_server, max_retries=2)
    model.invoke("first")
    with pytest.raises(
        openai.InternalServerError, match="the script is exhausted: all of its 1 steps are used"
    ):
        model.invoke("one too many")
    assert len(scripted_server.requests) == 2  # the client is told not to try again
    scripted_server.assert_failed("exhausted", "request 2", "'one too many'")


def test_an_unexpected_request_fails_with_what_was_expected_and_what_came(
    scripted_server: ScriptedServer,
) -> None:
    scripted_server.script(text("a"), expect(tools={"vector_search"}, user="Bob").reply(text("b")))
    model = chat_model(scripted_server)
    model.invoke("first")
    with pytest.raises(openai.InternalServerError, match="step 2 of 2"):
        model.bind_tools([graph_query]).invoke("Who paid Alice?")
    scripted_server.assert_failed(
        "step 2 of 2 is not what came",
        "expected: the last user message contains 'Bob' and tools is {'vector_search'} [test_scripted_server_loud.py:",
        "the last user message is 'Who paid Alice?', without 'Bob'",
        "tools is {'graph_query'}, not {'vector_search'}",
        "came: request 2: POST /v1/chat/completions, stream=False, tools=['graph_query']",
        "1 of 2 steps were not used",
    )


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ({"user": "Bob"}, "without 'Bob'"),
        ({"user": ("Alice", "Bob")}, "without 'Bob'"),
        ({"system": "verbose"}, "the system message is 'Be brief', without 'verbose'"),
        ({"last": "Bob"}, "the last message is"),
        ({"contains": "Bob"}, "some message is"),
        ({"lacks": "brief"}, "'brief' stands in the messages"),
        ({"tools": set()}, "tools is {'graph_query'}, not set()"),
        ({"tools_include": "vector_search"}, "without 'vector_search'"),
        ({"tool_choice": None}, "tool_choice is 'graph_query', not None"),
        ({"schema": "Plan"}, "schema is None, not 'Plan'"),
        ({"stream": True}, "stream is False, not True"),
        ({"temperature": 0.0}, "temperature is 0.5, not 0.0"),
        ({"model": "other"}, "model is 'scripted', not 'other'"),
        ({"api_key": "sk-other"}, "api_key is 'sk-scripted', not 'sk-other'"),
        ({"check": lambda r: r.stream}, "<lambda> returned False"),
        ({"check": lambda r: r.body.get("top_p")}, "returned None; it must return True or False"),
        ({"check": lambda r: r.body["top_p"] == 1}, "raised KeyError"),
    ],
)
def test_every_expectation_can_fail(
    scripted_server: ScriptedServer, wanted: dict[str, Any], fault: str
) -> None:
    scripted_server.script(expect(**wanted).reply(text("b")))
    model = chat_model(scripted_server, temperature=0.5).bind_tools([graph_query], tool_choice="graph_query")
    with pytest.raises(openai.InternalServerError):
        model.invoke([SystemMessage("Be brief"), HumanMessage("Who paid Alice?")])
    scripted_server.assert_failed(fault)


def test_steps_that_nobody_asked_for_fail_the_block() -> None:
    server = ScriptedServer(expect(user="Bob").reply(text("b")))
    with (
        pytest.raises(AssertionError, match=r"1 of 1 steps were not used.*step 1.*contains 'Bob'.*py:\d+"),
        server,
    ):
        pass


def test_a_bare_reply_knows_where_it_was_written() -> None:
    server = ScriptedServer(text("never used"))
    with pytest.raises(AssertionError, match=r"any chat request \[test_scripted_server_loud\.py:\d+\]"):
        server.assert_done()


def test_assert_failed_wants_a_failure_and_its_words(scripted_server: ScriptedServer) -> None:
    with pytest.raises(AssertionError, match="nothing failed"):
        scripted_server.assert_failed()
    scripted_server.fail("this")
    with pytest.raises(AssertionError, match=r"(?s)\['that'\] not in: .*this"):
        scripted_server.assert_failed("this", "that")
    scripted_server.assert_failed("this")


def test_an_error_of_the_block_is_not_hidden_by_the_servers_own() -> None:
    with pytest.raises(KeyError), ScriptedServer(text("never used")):
        raise KeyError("of the test")


def test_scripts_that_say_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="without an expectation"):
        expect()
    for blank in ("", ["Bob", ""]):
        with pytest.raises(ValueError, match="empty text"):
            expect(user=blank)
    with pytest.raises(TypeError, match="not a reply"):
        reply("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one at least must be lost"):
        drop_stream("abc", after=3, chunks=3)


def test_unknown_routes_methods_and_bodies_are_failures(scripted_server: ScriptedServer) -> None:
    root = scripted_server.root_url
    client = openai.OpenAI(base_url=scripted_server.base_url, api_key=KEY, max_retries=0)
    with pytest.raises(openai.NotFoundError, match="no POST /v1/responses here"):
        client.responses.create(model="scripted", input="Hello")
    with httpx.Client(trust_env=False) as http:
        assert http.get(f"{root}/v1/chat/completions").status_code == 404
        assert http.post(f"{root}/v1/chat/completions", content=b"{not json").status_code == 500
        assert http.post(f"{root}/v1/chat/completions", content=b"[1]").status_code == 500
        assert http.post(f"{root}/v1/chat/completions", content=iter([b"{not ", b"json"])).status_code == 500
        assert http.head(f"{root}/v1/models").status_code == 501
    assert len(scripted_server.failures) == 6
    scripted_server.assert_failed("/v1/responses", "not JSON", "not an object", "and 1 more failures")


MESSAGE = {"role": "user", "content": "Hello"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"messages": []}, "at least one message"),
        ({"model": "", "messages": [MESSAGE]}, "must provide a model"),
        ({"messages": [{"role": "robot", "content": ""}]}, "invalid role 'robot'"),
        ({"messages": [{"role": "user", "content": None}]}, "content is null"),
        ({"messages": [MESSAGE, CALLING]}, r"these have none: \['c1'\]"),
        (
            {"messages": [CALLING, MESSAGE]},
            "messages[1]: an assistant message with 'tool_calls' must be followed",
        ),
        ({"messages": [{"role": "tool", "tool_call_id": "c2", "content": ""}]}, "'c2' answers no tool call"),
        ({"messages": [MESSAGE], "tools": []}, "too short"),
        ({"messages": [MESSAGE], "tool_choice": "auto"}, "only allowed when"),
        ({"messages": [MESSAGE], "tools": [{"function": {"name": "a b"}}]}, "tool name 'a b'"),
        (
            {"messages": [MESSAGE], "tools": [FUNCTION], "tool_choice": {"function": {"name": "g"}}},
            "not among the tools",
        ),
        ({"messages": [MESSAGE], "response_format": {"type": "json_object"}}, "the word 'json'"),
        (
            {
                "messages": [MESSAGE],
                "response_format": {"type": "json_schema", "json_schema": {"name": "a b"}},
            },
            "json_schema.name 'a b'",
        ),
    ],
)
def test_what_openai_would_refuse_is_a_failure(
    scripted_server: ScriptedServer, body: dict[str, Any], reason: str
) -> None:
    scripted_server.script(text("never"))
    answer = httpx.post(
        f"{scripted_server.base_url}/chat/completions", json={"model": "scripted"} | body, trust_env=False
    )
    assert answer.status_code == 400
    scripted_server.assert_failed(
        "OpenAI would refuse", reason.replace("\\", ""), "1 of 1 steps were not used"
    )
