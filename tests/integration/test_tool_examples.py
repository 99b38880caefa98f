"""The examples of README and CONTRIBUTING, run: tools for somebody's own agent, and a sixteenth tool."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_cases import agent_at, honest, plan, stage_of
from scripted_server import ScriptedServer, expect, reply, structured, text, tool_calls

from graph_agent.store import DocumentGraph
from graph_agent.tools import (
    TOOL_MAP,
    TOOLS,
    DocumentGraphToolkit,
    ToolContext,
    call_tool,
    register,
    registry,
    unregister,
    use_default,
)

pytest.importorskip("langchain")

ROOT = Path(__file__).parents[2]
AGENT = """\
from langchain.agents import create_agent
from graph_agent import DocumentGraph, DocumentGraphToolkit, load_settings

with DocumentGraph.open(load_settings()) as graph:
    tools = DocumentGraphToolkit(graph).get_tools()
    agent = create_agent("openai:gpt-4.1-mini", tools)
    answer = agent.invoke({"messages": [("user", "How many documents are there?")]})
    print(answer["messages"][-1].content)
"""
SIXTEENTH = re.search(
    r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL
).group(1)  # type: ignore[union-attr]
ONE_FILE_AND_ONE_LINE = """
import asyncio, sys
from click.testing import CliRunner
import graph_agent.tools
from graph_agent.tools import registry

graph_agent.tools.__path__.append(sys.argv[1])  # the file
registry.BUILT_IN += ("document_length",)  # the line
from graph_agent.tools import TOOLS, TOOL_MAP
from graph_agent.cli import cli

assert len(TOOLS) == len(TOOL_MAP) == 16
assert "document_length" in registry.reading_tools()
assert "document_length" in CliRunner().invoke(cli, ["tools"]).output
rows = asyncio.run(TOOL_MAP["document_length"](path="index.md"))
assert rows[0]["tokens"] > 100, rows
"""


@pytest.fixture
def model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    """What `openai:...` reaches."""
    monkeypatch.setenv("OPENAI_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return scripted_server


@pytest.fixture
def length() -> Iterator[str]:
    """The sixteenth tool, registered as its line in BUILT_IN would."""
    module: dict[str, Any] = {"__name__": "document_length_example"}
    exec(compile(SIXTEENTH, "document_length.py", "exec"), module)
    register(module["document_length"])
    yield "document_length"
    unregister("document_length")


def readme_example() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return next((block for block in blocks if "create_agent" in block), AGENT)


@pytest.mark.parametrize("source", [AGENT, readme_example()], ids=["ours", "README"])
def test_the_tools_work_in_somebodys_own_agent(
    model: ScriptedServer,
    sample_graph: DocumentGraph,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
) -> None:
    assert len([line for line in source.splitlines() if line.strip()]) <= 15
    monkeypatch.setenv("GRAPH_AGENT_DATA", str(sample_graph.settings.data))
    monkeypatch.setenv("GRAPH_AGENT_GRAPH", sample_graph.name)
    monkeypatch.delenv("GRAPH_AGENT_FALKORDB_URL", raising=False)
    model.script(
        expect(tools_include={"graph_query", "search_sections"}).reply(
            tool_calls(("graph_query", {"cypher": "MATCH (d:Dokument) RETURN count(d)"}))
        ),
        expect(contains="near: Document").reply(tool_calls(("graph_query", {"cypher": "DELETE d"}))),
        expect(contains="changes the graph").reply(
            tool_calls(("graph_query", {"cypher": "MATCH (d:Document) RETURN count(d) AS n"}))
        ),
        reply(text("There are 34 documents.")),
    )
    exec(compile(source, "example.py", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.strip() == "There are 34 documents."
    assert "n\\n34" in json.dumps(model.chats[-1].body["messages"][-1])


def test_a_sixteenth_tool_is_one_file_and_everybody_has_it(length: str, sample: ToolContext) -> None:
    assert len(TOOLS) == len(TOOL_MAP) == 16
    assert TOOLS[-1]["function"]["name"] == length
    assert TOOLS[-1]["function"]["parameters"]["required"] == ["path"]
    tools = {tool.name: tool for tool in DocumentGraphToolkit(context=sample).get_tools(family="documents")}
    assert tools[length].invoke({"path": "index.md"}).endswith(" tokens")
    assert call_tool(sample, length, {"path": "nope.md"}).content == "No document found at 'nope.md'."
    assert length in registry.reading_tools()


def test_the_agent_reads_with_the_sixteenth_tool(
    length: str,
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted_server.respond(
        honest(
            plan=lambda request: structured(plan(question="How long is the index?", read=True)),
            read=lambda request: (
                text("enough") if len(request.messages) > 2 else tool_calls((length, {"path": "index.md"}))
            ),
        )
    )
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        response = agent.ask("How long is the index?")
    reading = [request for request in scripted_server.chats if stage_of(request) == "read"]
    offered = {tool["function"]["name"] for tool in reading[0].body["tools"]}
    assert offered == {*registry.reading_tools(), "calculate"}
    assert length in offered
    assert not offered & {"graph_query", "query_documents", "status"}
    calls = [
        call for record in response.stages if record.name == "read" for call in record.detail.get("calls", [])
    ]
    assert calls == [{"name": length, "arguments": {"path": "index.md"}}]
    assert " tokens" in json.dumps(reading[1].body["messages"][-1])


async def test_the_sixteenth_tool_is_in_tool_map_and_mcp(length: str, sample: ToolContext) -> None:
    use_default(sample)
    rows = await TOOL_MAP[length](path="index.md")
    use_default(None)
    assert rows[0]["tokens"] > 100
    pytest.importorskip("fastmcp")
    from fastmcp import Client

    from graph_agent.mcp_server import build_server

    async with Client(build_server(sample)) as client:
        assert length in {tool.name for tool in await client.list_tools()}
        answer = await client.call_tool(length, {"path": "index.md"})
        assert answer.content[0].text == f"{rows[0]['tokens']} tokens"


def test_the_command_line_has_the_sixteenth_tool(length: str, sample_graph: DocumentGraph) -> None:
    from click.testing import CliRunner

    from graph_agent.cli import cli

    listed = CliRunner().invoke(cli, ["tools", "--json"])
    assert length in [entry["name"] for entry in json.loads(listed.stdout)]
    environment = {
        "GRAPH_AGENT_DATA": str(sample_graph.settings.data),
        "GRAPH_AGENT_GRAPH": sample_graph.name,
        "GRAPH_AGENT_FALKORDB_URL": "",
    }
    ran = CliRunner().invoke(
        cli, ["tool", length, '{"path": "index.md"}', "--artifact"], env=environment, catch_exceptions=False
    )
    assert json.loads(ran.stdout)[0]["tokens"] > 100


def test_one_file_and_one_line_are_all_it_takes(sample_graph: DocumentGraph, tmp_path: Path) -> None:
    (tmp_path / "document_length.py").write_text(SIXTEENTH, encoding="utf-8")
    environment = {
        **os.environ,
        "GRAPH_AGENT_DATA": str(sample_graph.settings.data),
        "GRAPH_AGENT_GRAPH": sample_graph.name,
        "GRAPH_AGENT_FALKORDB_URL": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", ONE_FILE_AND_ONE_LINE, str(tmp_path)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_built_in_fifteen_come_back() -> None:
    assert len(TOOLS) == len(TOOL_MAP) == 15
