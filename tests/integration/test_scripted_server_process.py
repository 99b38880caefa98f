"""The scripted server in a process of its own, its script in a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from scripted_server import (
    ScriptedServer,
    chat_model,
    load_script,
    merged,
    text,
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


YAML = """
- expect: {user: "Who paid", stream: false, tools: [graph_query]}
  reply: {tool_calls: [[graph_query, {cypher: RETURN 1}]]}
- reply: {text: {content: "Bob [1].", chunks: 2, usage: [9, 3]}}
- reply: {status: [429, wait]}
  times: 2
- reply: {schema_refused: {text: fallback}}
- reply: empty
"""

PYTHON = """
from scripted_server import text

script = [text("first")]

def respond(request):
    return text("then " + request.user)

def configure(server):
    server.require_key("sk-scripted")
"""


def test_a_yaml_script_is_what_it_says(tmp_path: Path, scripted_server: ScriptedServer) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(YAML)
    load_script(file, scripted_server)
    model = chat_model(scripted_server)
    assert model.bind_tools([graph_query]).invoke("Who paid?").tool_calls[0]["args"] == {"cypher": "RETURN 1"}
    whole = merged(chat_model(scripted_server, stream_usage=True).stream("Hello"))
    assert whole.content == "Bob [1]."
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 12
    for _ in range(2):
        with pytest.raises(openai.RateLimitError, match="wait"):
            model.invoke("Hello")
    assert model.invoke("Hello").content == "fallback"
    assert model.invoke("Hello").content == ""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("a: 1", "a script is a list of steps, not dict"),
        ("- {answer: x}", "step 1: {'answer': 'x'} is not a mapping with `reply`"),
        ("- {reply: {txt: x}}", "step 1: no reply is named 'txt'"),
        ("- {reply: {text: {content: x, chunk: 2}}}", "unexpected keyword argument 'chunk'"),
        (
            "- {reply: empty}\n- {reply: empty, expect: {usr: x}}",
            "step 2: .*unexpected keyword argument 'usr'",
        ),
    ],
)
def test_a_bad_script_file_is_refused_by_name(tmp_path: Path, script: str, reason: str) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(script)
    with pytest.raises(ValueError, match=reason):
        load_script(file, ScriptedServer())


@pytest.fixture
def standalone(tmp_path: Path) -> Any:
    """Starts `python tests/scripted_server --script FILE` and gives the process and its URL."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, name: str) -> tuple[subprocess.Popen[str], str]:
        file = tmp_path / name
        file.write_text(script)
        command = [sys.executable, str(Path(__file__).parents[1] / "scripted_server"), "--script", str(file)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ask(url: str, question: str) -> str:
    model = ChatOpenAI(base_url=url, api_key=KEY, model="scripted", max_retries=0, timeout=10)
    return str(model.invoke(question).content)


def test_standalone_serves_a_python_script_and_exits_with_0(standalone: Any) -> None:
    process, url = standalone(PYTHON, "script.py")
    assert ask(url, "Hello") == "first"
    assert ask(url, "again") == "then again"
    with httpx.Client(trust_env=False) as http:
        state = http.get(url.removesuffix("/v1") + "/_scripted/state").json()
    assert [r["body"]["messages"][0]["content"] for r in state["requests"]] == ["Hello", "again"]
    assert state["failures"] == []
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_standalone_exits_with_1_and_the_reason(standalone: Any) -> None:
    process, url = standalone("- expect: {user: Bob}\n  reply: {text: x}\n", "script.yaml")
    with pytest.raises(openai.InternalServerError):
        ask(url, "Alice")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "the last user message is 'Alice', without 'Bob'" in said
    assert "script.yaml, step 1" in said


def test_environment_sends_a_child_here(scripted_server: ScriptedServer) -> None:
    scripted_server.require_key(KEY)
    scripted_server.script(text("from the child"))
    program = (
        "from langchain_openai import ChatOpenAI; print(ChatOpenAI(model='scripted').invoke('Hello').content)"
    )
    child = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(os.environ) | scripted_server.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert child.stdout.strip() == "from the child"
