"""The scripted server's good answers, driven by the clients that the product uses: ChatOpenAI, OpenAIEmbeddings, openai."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import OpenAIEmbeddings
from pydantic import BaseModel
from scripted_server import (
    Received,
    Reply,
    ScriptedServer,
    chat_model,
    expect,
    hang,
    json_object,
    merged,
    status,
    structured,
    text,
    tool_calls,
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


def streamed(server: ScriptedServer, **settings: Any) -> tuple[list[Any], AIMessageChunk]:
    chunks = list(chat_model(server, **settings).stream("Hello"))
    return chunks, merged(chunks)


# Good answers


def test_invoke_gives_text_usage_and_records_the_request(scripted_server: ScriptedServer) -> None:
    scripted_server.script(
        expect(
            user="Hello", system="brief", stream=False, temperature=0.5, model="scripted", api_key=KEY
        ).reply(text("Good day"))
    )
    before = time.time()
    message = chat_model(scripted_server, temperature=0.5).invoke(
        [SystemMessage("Be brief"), HumanMessage("Hello you")]
    )
    assert message.content == "Good day"
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.usage_metadata is not None
    assert message.usage_metadata["input_tokens"] == 5  # 8 + 9 characters
    assert message.usage_metadata["output_tokens"] == 2
    (request,) = scripted_server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["messages"][1] == {"role": "user", "content": "Hello you"}
    assert before <= request.received_at <= time.time()
    assert request.input_tokens == 5
    assert (request.status, request.outcome) == (200, "answered")


def test_input_tokens_count_history_and_tool_schemas(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("a"), text("b"))
    model = chat_model(scripted_server)
    model.invoke("x" * 400)
    model.bind_tools([graph_query]).invoke("x" * 400)
    plain, with_tool = scripted_server.requests
    assert plain.input_tokens == 100
    schema = json.dumps(with_tool.body["tools"], separators=(",", ":"))
    assert with_tool.input_tokens == -(-(400 + len(schema)) // 4)


def test_stream_comes_in_the_chunks_asked_for_with_usage_last(scripted_server: ScriptedServer) -> None:
    scripted_server.script(expect(stream=True).reply(text("One two three four", chunks=4, usage=(120, 7))))
    chunks, whole = streamed(scripted_server, stream_usage=True)
    assert [c.content for c in chunks if c.content] == ["One ", "two t", "hree", " four"]
    assert whole.content == "One two three four"
    with_usage = [c for c in chunks if c.usage_metadata]
    assert len(with_usage) == 1
    assert whole.usage_metadata is not None
    assert (whole.usage_metadata["input_tokens"], whole.usage_metadata["output_tokens"]) == (120, 7)
    assert whole.response_metadata["finish_reason"] == "stop"


def test_stream_without_usage_when_not_asked_or_absent(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("a"), text("b", usage="absent"))
    assert streamed(scripted_server)[1].usage_metadata is None
    assert streamed(scripted_server, stream_usage=True)[1].usage_metadata is None


def test_a_delayed_stream_arrives_piece_by_piece(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text(["a", "b", "c"], delay=0.4))
    seen = [(c.content, time.time()) for c in chat_model(scripted_server).stream("Hello") if c.content]
    assert [content for content, _ in seen] == ["a", "b", "c"]
    sent = scripted_server.requests[0].chunk_times
    assert sent[1] - sent[0] >= 0.39
    assert sent[2] - sent[1] >= 0.39
    assert seen[0][1] < sent[2]  # the first was here before the last was sent


def test_hold_stops_the_stream_after_the_first_chunk(scripted_server: ScriptedServer) -> None:
    go_on = threading.Event()
    scripted_server.script(text(["first", "second"], hold=go_on))
    stream = (c.content for c in chat_model(scripted_server).stream("Hello") if c.content)
    assert next(stream) == "first"
    assert len(scripted_server.requests[0].chunk_times) == 1
    go_on.set()
    assert next(stream) == "second"


async def test_astream_and_ainvoke(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("One two", chunks=2), text("Three"))
    model = chat_model(scripted_server)
    assert [c.content async for c in model.astream("Hello") if c.content] == ["One", " two"]
    assert (await model.ainvoke("Hello")).content == "Three"


@pytest.mark.parametrize("chunks", [1, 4])
def test_tool_calls_whole_and_streamed(scripted_server: ScriptedServer, chunks: int) -> None:
    calls = (("graph_query", {"cypher": "RETURN 'ü'"}), ("graph_query", {"cypher": "RETURN 2"}))
    step = expect(tools={"graph_query"}, tool_choice=None).reply(
        tool_calls(*calls, content="Let me", chunks=chunks)
    )
    scripted_server.script(step.times(2))
    model = chat_model(scripted_server).bind_tools([graph_query])
    message = model.invoke("Hello")
    whole = merged(model.stream("Hello"))
    for answer in (message, whole):
        assert isinstance(answer, AIMessage)
        assert [(c["name"], c["args"]) for c in answer.tool_calls] == [*calls]
        assert len({c["id"] for c in answer.tool_calls}) == 2
        assert answer.content == "Let me"
        assert answer.response_metadata["finish_reason"] == "tool_calls"


def test_a_tool_round_is_accepted(scripted_server: ScriptedServer) -> None:
    scripted_server.script(
        tool_calls(("graph_query", {"cypher": "RETURN 1"})), expect(last="42 rows").reply(text("Done"))
    )
    model = chat_model(scripted_server).bind_tools([graph_query])
    asked = model.invoke("Hello")
    call = asked.tool_calls[0]
    answer = model.invoke([HumanMessage("Hello"), asked, ToolMessage("42 rows", tool_call_id=call["id"])])
    assert answer.content == "Done"
    first, second = (request.input_tokens for request in scripted_server.requests)
    assert second - first > 20  # the call in the history, with its id, counts as well as its result


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
def test_structured_output_by_each_method(scripted_server: ScriptedServer, method: Any) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "json_schema": {"schema": "Plan"},
        "function_calling": {"tools": {"Plan"}, "tool_choice": "Plan"},
        "json_mode": {"schema": None, "tools": set()},
    }
    scripted_server.script(expect(**wanted[method]).reply(structured(PLAN)))
    assert chat_model(scripted_server).with_structured_output(Plan, method=method).invoke(
        "Answer in JSON"
    ) == Plan(**PLAN)


def test_json_object_answers_a_json_schema_also_in_a_stream(scripted_server: ScriptedServer) -> None:
    scripted_server.script(expect(schema="Plan", stream=True).reply(json_object(PLAN, chunks=3)))
    parts = list(
        chat_model(scripted_server).with_structured_output(Plan, method="json_schema").stream("Plan it")
    )
    assert parts[-1] == Plan(**PLAN)


# By rule, and many at once


def test_respond_answers_after_the_script_by_rule(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("scripted"))

    @scripted_server.respond
    def model(request: Received) -> Reply:
        return structured(PLAN) if request.schema == "Plan" else text(request.user.upper())

    assert chat_model(scripted_server).invoke("hello").content == "scripted"
    assert chat_model(scripted_server).invoke("hello").content == "HELLO"
    assert chat_model(scripted_server).with_structured_output(Plan).invoke("plan") == Plan(**PLAN)


def test_a_responder_that_fails_is_a_failure(scripted_server: ScriptedServer) -> None:
    def model(request: Received) -> Reply:
        assert request.user != "bad", "the question is bad"
        return None  # type: ignore[return-value]

    scripted_server.respond(model)
    with pytest.raises(openai.InternalServerError, match="AssertionError: the question is bad"):
        chat_model(scripted_server).invoke("bad")
    with pytest.raises(openai.InternalServerError, match="None, which is not a reply"):
        chat_model(scripted_server).invoke("good")
    scripted_server.assert_failed("the question is bad", "not a reply")


def test_twenty_clients_each_get_their_own_answer(scripted_server: ScriptedServer) -> None:
    inside = threading.Barrier(20, timeout=20)

    @scripted_server.respond
    def model(request: Received) -> Reply:
        if request.user.startswith("first"):
            inside.wait()  # only passes when twenty are answered at once
        return text(f"echo {request.user}", chunks=3)

    def talk(number: int) -> list[str]:
        own = chat_model(scripted_server, timeout=30)
        answers = [str(own.invoke(f"first {number}").content)]
        answers += ["".join(str(c.content) for c in own.stream(f"{turn} {number}")) for turn in range(4)]
        return answers

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(talk, range(20)))
    for number, got in enumerate(answers):
        assert got == [f"echo first {number}", *(f"echo {turn} {number}" for turn in range(4))]
    assert sorted(r.index for r in scripted_server.requests) == list(range(1, 101))


def test_twenty_clients_take_each_step_once(scripted_server: ScriptedServer) -> None:
    scripted_server.script(*(text(f"step {number}") for number in range(20)))
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda _: chat_model(scripted_server, timeout=30).invoke("Hello").content, range(20))
        )
    assert sorted(map(str, answers)) == sorted(f"step {number}" for number in range(20))


def test_wait_for_requests(scripted_server: ScriptedServer) -> None:
    scripted_server.script(text("late", first_delay=0.3))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(chat_model(scripted_server).invoke, "Hello")
        assert scripted_server.wait_for_requests(1)[0].outcome == "open"
        assert answer.result().content == "late"
    with pytest.raises(AssertionError, match=r"1 of 2 requests came within 0\.05 s"):
        scripted_server.wait_for_requests(2, timeout=0.05)


def test_stop_breaks_what_hangs_and_leaves_no_thread() -> None:
    server = ScriptedServer(hang(300)).start()
    with ThreadPoolExecutor(1) as pool, httpx.Client(trust_env=False) as idle:
        idle.get(f"{server.base_url}/models")
        call = pool.submit(chat_model(server, timeout=60).invoke, "Hello")
        server.wait_for_requests(2)
        started = time.monotonic()
        server.stop()
        with pytest.raises(openai.APIConnectionError):
            call.result(10)
        assert time.monotonic() - started < 10
        left = [thread.name for thread in threading.enumerate()]
        assert not [name for name in left if "process_request" in name or name == "scripted"]
    with pytest.raises(RuntimeError, match="does not run"):
        _ = server.base_url


# The other routes


def test_models(scripted_server: ScriptedServer) -> None:
    scripted_server.models = ["small", "large"]
    scripted_server.models_fail(status(500))
    client = openai.OpenAI(base_url=scripted_server.base_url, api_key=KEY, max_retries=0)
    with pytest.raises(openai.InternalServerError):
        client.models.list()
    assert [model.id for model in client.models.list()] == ["small", "large"]


def test_embeddings(scripted_server: ScriptedServer) -> None:
    scripted_server.embedding_dimension = 16
    settings: dict[str, Any] = {"base_url": scripted_server.base_url, "api_key": KEY, "max_retries": 0}
    model = OpenAIEmbeddings(model="vectors", check_embedding_ctx_length=False, **settings)
    paid, same, other = model.embed_documents(["Bob paid Alice", "alice paid bob", "winter"])
    assert len(paid) == 16
    assert sum(value * value for value in paid) == pytest.approx(1)
    assert paid == same != other
    assert scripted_server.embedded == ["Bob paid Alice", "alice paid bob", "winter"]

    scripted_server.embeddings_fail(status(429))
    with pytest.raises(openai.RateLimitError):
        model.embed_query("Bob")
    scripted_server.embed_with(lambda text: [float(len(text))])
    assert model.embed_query("Bob") == [3.0]


def test_embeddings_as_base64_and_as_numbers_are_equal(scripted_server: ScriptedServer) -> None:
    client = openai.OpenAI(base_url=scripted_server.base_url, api_key=KEY, max_retries=0)
    by_default = client.embeddings.create(model="vectors", input="a b", dimensions=5)
    as_float = client.embeddings.create(model="vectors", input=["a b"], dimensions=5, encoding_format="float")
    assert scripted_server.requests[0].body["encoding_format"] == "base64"
    assert by_default.data[0].embedding == pytest.approx(as_float.data[0].embedding)
    assert len(by_default.data[0].embedding) == 5
    assert by_default.usage.prompt_tokens == 1


def test_token_numbers_as_embedding_input_are_refused(scripted_server: ScriptedServer) -> None:
    client = openai.OpenAI(base_url=scripted_server.base_url, api_key=KEY, max_retries=0)
    for given, reason in (([[1, 2]], "token numbers"), ([""], "empty text"), ([], "list of texts")):
        with pytest.raises(openai.BadRequestError, match=reason):
            client.embeddings.create(model="vectors", input=given)
    scripted_server.assert_failed("token numbers", "empty text", "list of texts")


def test_rerank(scripted_server: ScriptedServer) -> None:
    url = f"{scripted_server.base_url}/rerank"
    body = {
        "model": "r",
        "query": "who paid Bob",
        "documents": ["winter", {"text": "Bob paid"}, "Bob"],
        "top_n": 2,
    }
    with httpx.Client(trust_env=False) as http:
        results = http.post(url, json=body).json()["results"]
        assert [r["index"] for r in results] == [1, 2]
        assert results[0]["relevance_score"] == pytest.approx(2 / 3)
        scripted_server.score_with(lambda query, text: float(len(text)))
        assert http.post(url, json=body).json()["results"][0] == {"index": 1, "relevance_score": 8.0}
        scripted_server.rerank_fails(status(503))
        assert http.post(url, json=body).status_code == 503
        assert http.post(url, json=body | {"documents": []}).status_code == 400
    assert scripted_server.requests[0].body["documents"][2] == "Bob"
    scripted_server.assert_failed("'documents' must be a list")
