"""The examples of README and CONTRIBUTING, run: tools for somebody's own agent, and a sixteenth tool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer, expect, reply, text, tool_calls

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
SIXTEENTH = '''\
"""How long a document is."""

from typing import Annotated

from pydantic import Field

from graph_agent.tools import ToolContext, ToolResult, tool


@tool("documents")
def document_length(
    context: ToolContext,
    path: Annotated[str, Field(description="path of a document, as list_documents shows it")],
) -> ToolResult:
    """Length of one document in tokens. Use it before you read a document whole."""
    rows = context.graph.read("MATCH (d:Document {path: $path}) RETURN d.token_count AS tokens", {"path": path}).dicts()
    return ToolResult(f"{rows[0]['tokens']} tokens" if rows else f"No document found at {path!r}.", rows)
'''


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


def test_the_built_in_fifteen_come_back() -> None:
    assert len(TOOLS) == len(TOOL_MAP) == 15
