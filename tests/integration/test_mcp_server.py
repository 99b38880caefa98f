"""The MCP server, driven by real clients over stdio and streamable HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastmcp")

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError
from graph_agent.ingest import SyncOptions, sync
from graph_agent.mcp_server import bearer_auth, build_server
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import TOOLS, ToolContext, call_tool

TOKEN = "a-token-long-enough-for-a-test"
SERVE = ["-c", "from graph_agent.cli import main; main()", "mcp"]  # graph-agent mcp


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[ToolContext]:
    """A data folder of its own, so that the server's process finds it by its environment."""
    data = tmp_path_factory.mktemp("mcp")
    corpus = data / "corpus"
    corpus.mkdir()
    (corpus / "handbook.md").write_text("# Handbook\n\nHow the ferry is run.\n\n## Crew\n\nWho does what.\n")
    with DocumentGraph.open(load_settings(data=data / "store", falkordb_url="")) as graph:
        sync(graph, embedder, [corpus], SyncOptions(vectors=False))
        yield ToolContext(graph)


def environment(context: ToolContext) -> dict[str, str]:
    return {**os.environ, "GRAPH_AGENT_DATA": str(context.settings.data), "GRAPH_AGENT_FALKORDB_URL": ""}


@pytest.fixture(scope="module")
def address(served: ToolContext) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *SERVE, "--http", "--port", str(port)],
        env={**environment(served), "GRAPH_AGENT_MCP_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            break
        except OSError:
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(20)


def calls(context: ToolContext) -> dict[str, dict[str, Any]]:
    section = call_tool(context, "get_document_toc", {"document_id": "handbook.md"}).artifact["sections"][0][
        "id"
    ]
    return {
        "get_folder_toc": {"folder_id": "corpus"},
        "list_documents": {},
        "get_document_toc": {"document_id": "handbook.md"},
        "get_section_content": {"section_ids": [section]},
        "search_sections": {"query": "ferry", "mode": "bm25"},
        "query_documents": {"query": "ferry", "topK": 1},
        "status": {},
        "get_graph_overview": {},
        "get_node_labels": {},
        "get_edge_types": {},
        "get_node_label_counts": {},
        "get_edge_type_counts": {},
        "get_property_types": {"label": "Document"},
        "graph_query": {"cypher": "MATCH (d:Document) RETURN d.filename AS name"},
        "vector_search": {"query": "ferry"},
    }  # fmt: skip


async def drive(client: Client[Any], context: ToolContext) -> None:
    """Every tool listed as TOOLS has it, and called with the text that any other surface gets."""
    listed = {tool.name: tool for tool in await client.list_tools()}
    assert list(listed) == [schema["function"]["name"] for schema in TOOLS]
    for schema in TOOLS:
        tool = listed[schema["function"]["name"]]
        assert tool.description == schema["function"]["description"]
        assert tool.input_schema == schema["function"]["parameters"]
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
    for name, arguments in calls(context).items():
        answer = await client.call_tool(name, arguments)
        assert [block.type for block in answer.content] == ["text"]
        if name != "status":
            assert answer.content[0].text == call_tool(context, name, arguments).content, name
    with pytest.raises(ToolError, match=r"mode is 'fuzzy'.*Nearest"):
        await client.call_tool("search_sections", {"query": "x", "mode": "fuzzy"})
    with pytest.raises(ToolError, match="CREATE changes the graph"):
        await client.call_tool("graph_query", {"cypher": "CREATE (:X)"})
    with pytest.raises(ToolError, match="needs the argument query"):
        await client.call_tool("vector_search", {})


async def test_every_tool_over_stdio(served: ToolContext) -> None:
    transport = StdioTransport(sys.executable, SERVE, env=environment(served))
    async with Client(transport) as client:
        await drive(client, served)


async def test_every_tool_over_streamable_http(served: ToolContext, address: str) -> None:
    async with Client(
        StreamableHttpTransport(address, headers={"Authorization": f"Bearer {TOKEN}"})
    ) as client:
        await drive(client, served)


async def test_in_the_same_process(served: ToolContext) -> None:
    async with Client(build_server(served)) as client:
        await drive(client, served)


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}]
)
def test_nobody_gets_in_without_the_token(address: str, headers: dict[str, str]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    for method in ("GET", "POST", "DELETE"):
        answer = httpx.request(
            method, address, json=body if method == "POST" else None, headers={**accept, **headers}
        )
        assert answer.status_code == 401, (method, answer.text)
        assert "get_folder_toc" not in answer.text


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="5 characters, fewer than 16"):
        bearer_auth("short")


def test_without_fastmcp_the_extra_is_named(served: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastmcp", None)
    with pytest.raises(ConfigurationError, match=r"graph-agent\[mcp\]"):
        build_server(served)


def test_stdout_is_the_protocols_alone(served: ToolContext, tmp_path: Path) -> None:
    """A client that says nothing and leaves: nothing but protocol may have been written."""
    done = subprocess.run(
        [sys.executable, *SERVE],
        env=environment(served),
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b""
