"""The tools as LangChain tools: the standard suites for each, failures, TOOL_MAP, the toolkit."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
import yaml
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from graph_agent.errors import EngineUnavailable
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import TOOL_MAP, TOOLS, DocumentGraphToolkit, ToolContext, ToolFailure, use_default

EXAMPLES: dict[str, dict[str, Any]] = {
    "get_folder_toc": {"folder_id": "manuals"},
    "list_documents": {},
    "get_document_toc": {"document_id": "hochwarte-funicular.md", "max_level": 2},
    "get_section_content": {"section_ids": "c3e0072f248e6392::23", "start_line": 1, "max_lines": 3},
    "search_sections": {"query": "stop codes", "limit": 3, "mode": "bm25"},
    "query_documents": {"query": "stop codes", "topK": 2, "labels": {"kind": "manual"}},
    "status": {},
    "get_graph_overview": {},
    "get_node_labels": {},
    "get_edge_types": {},
    "get_node_label_counts": {},
    "get_edge_type_counts": {},
    "get_property_types": {"label": "Document"},
    "graph_query": {"cypher": "MATCH (d:Document) RETURN count(d) AS n"},
    "vector_search": {"query": "stop codes", "top_k": 2},
}
RETURNS_TEXT = {
    "get_folder_toc",
    "list_documents",
    "get_document_toc",
    "get_section_content",
    "search_sections",
}


class Bound:
    """Gives the standard suites the tool of one name over the sample graph."""

    tool_name = ""
    tools: ClassVar[dict[str, BaseTool]] = {}

    @pytest.fixture(autouse=True)
    def bind(self, sample: ToolContext) -> None:
        if not Bound.tools:
            Bound.tools.update({tool.name: tool for tool in DocumentGraphToolkit(context=sample).get_tools()})

    @property
    def tool_constructor(self) -> BaseTool:
        return Bound.tools[self.tool_name]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return EXAMPLES[self.tool_name]


def _suites() -> Iterator[tuple[str, type]]:
    for name in EXAMPLES:
        title = "".join(part.title() for part in name.split("_"))
        for suite in (ToolsUnitTests, ToolsIntegrationTests):
            kind = "Unit" if suite is ToolsUnitTests else "Integration"
            yield f"Test{title}{kind}", type(f"Test{title}{kind}", (Bound, suite), {"tool_name": name})


globals().update(_suites())


@pytest.fixture
def toolkit(sample: ToolContext) -> DocumentGraphToolkit:
    return DocumentGraphToolkit(context=sample)


@pytest.fixture
def default(sample: ToolContext) -> Iterator[None]:
    use_default(sample)
    yield
    use_default(None)


def by_name(toolkit: DocumentGraphToolkit) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in toolkit.get_tools()}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": "call-1", "type": "tool_call"}


def test_the_toolkit_gives_all_or_one_family(toolkit: DocumentGraphToolkit) -> None:
    assert set(by_name(toolkit)) == set(EXAMPLES)
    families = {
        family: {tool.name for tool in toolkit.get_tools(family=family)}
        for family in ("navigation", "documents", "schema")
    }
    assert families["navigation"] == RETURNS_TEXT
    assert families["schema"] >= {"get_graph_overview", "graph_query", "get_property_types"}
    assert sum(map(len, families.values())) == 15


def test_a_toolkit_is_made_from_a_graph_alone(sample_graph: DocumentGraph) -> None:
    tool = by_name(DocumentGraphToolkit(sample_graph))["get_node_label_counts"]
    assert "Document: 34" in tool.invoke({})


def test_every_tool_has_content_and_artifact(toolkit: DocumentGraphToolkit) -> None:
    for name, tool in by_name(toolkit).items():
        assert tool.response_format == "content_and_artifact"
        message = tool.invoke(call(name, EXAMPLES[name]))
        assert isinstance(message, ToolMessage)
        assert message.status == "success"
        assert isinstance(message.content, str)
        json.dumps(message.artifact)


async def test_sync_and_async_give_the_same(toolkit: DocumentGraphToolkit) -> None:
    for name, tool in by_name(toolkit).items():
        if name != "status":
            assert await tool.ainvoke(EXAMPLES[name]) == tool.invoke(EXAMPLES[name])


async def test_async_calls_do_not_block_the_loop(toolkit: DocumentGraphToolkit) -> None:
    slow = "UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b RETURN sum(a * b) AS s"
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticker = asyncio.create_task(tick())
    await by_name(toolkit)["graph_query"].ainvoke({"cypher": slow})
    ticker.cancel()
    assert ticks > 5


def test_the_navigation_tools_return_yaml(toolkit: DocumentGraphToolkit) -> None:
    for name in ("get_folder_toc", "list_documents", "get_document_toc", "search_sections"):
        assert isinstance(yaml.safe_load(by_name(toolkit)[name].invoke(EXAMPLES[name])), dict)


def test_models_are_told_what_tools_says(toolkit: DocumentGraphToolkit) -> None:
    told = {tool.name: convert_to_openai_tool(tool) for tool in toolkit.get_tools()}
    assert [told[schema["function"]["name"]] for schema in TOOLS] == TOOLS


def test_a_bad_argument_is_a_tool_exception_for_programs(toolkit: DocumentGraphToolkit) -> None:
    tool = by_name(toolkit)["search_sections"]
    with pytest.raises(
        ToolException, match=r"mode is 'fuzzy'.*hybrid, vector, bm25, cypher.*Nearest"
    ) as raised:
        tool.invoke({"query": "x", "mode": "fuzzy"})
    assert isinstance(raised.value, ToolFailure)
    assert raised.value.retryable


async def test_a_bad_argument_comes_back_as_text_in_an_agents_loop(toolkit: DocumentGraphToolkit) -> None:
    tool = by_name(toolkit)["get_document_toc"]
    for arguments in ({"document_id": ""}, {"document": "x"}, {}):
        message = tool.invoke(call(tool.name, arguments))
        assert message.status == "error"
        assert message.tool_call_id == "call-1"
        assert "document_id" in message.content
        assert (await tool.ainvoke(call(tool.name, arguments))).content == message.content


def test_langchains_own_way_of_handling_is_kept(sample: ToolContext) -> None:
    tool = by_name(DocumentGraphToolkit(context=sample))["get_document_toc"]
    tool.handle_tool_error = True
    assert "document_id is an empty string" in tool.invoke({"document_id": ""})
    tool.handle_tool_error = "sorry"
    assert tool.invoke(call(tool.name, {"document_id": ""})).content == "sorry"


def test_a_string_is_taken_as_the_first_argument(toolkit: DocumentGraphToolkit) -> None:
    tools = by_name(toolkit)
    assert tools["get_document_toc"].invoke("index.md").startswith("document: index.md")
    assert tools["list_documents"].invoke("") == tools["list_documents"].invoke({})
    with pytest.raises(ToolException, match="takes no arguments"):
        tools["list_documents"].invoke("everything")


def test_an_engine_that_is_down_is_no_fault_of_the_model(tmp_path: Any) -> None:
    graph = DocumentGraph.open(load_settings(data=tmp_path, falkordb_url=""))
    tool = by_name(DocumentGraphToolkit(graph))["get_node_labels"]
    graph.close()
    with pytest.raises(ToolFailure) as raised:
        tool.invoke({})
    assert isinstance(raised.value.error, EngineUnavailable)
    assert not raised.value.retryable
    assert raised.value.exit_code == 3
    message = tool.invoke(call(tool.name, {}))
    assert (message.status, message.content) == ("error", str(raised.value))


async def test_tool_map_functions_return_the_artifact_or_the_text(
    default: None, toolkit: DocumentGraphToolkit
) -> None:
    tools = by_name(toolkit)
    for name, function in TOOL_MAP.items():
        assert inspect.iscoroutinefunction(function)
        assert function.__name__ == name
        returned = await function(**EXAMPLES[name])
        message = tools[name].invoke(call(name, EXAMPLES[name]))
        if name in RETURNS_TEXT:
            assert returned == message.content
        elif name != "status":
            assert json.dumps(returned, sort_keys=True) == json.dumps(message.artifact, sort_keys=True), name


async def test_tool_map_functions_take_keywords_and_raise(default: None) -> None:
    signature = inspect.signature(TOOL_MAP["search_sections"])
    assert list(signature.parameters) == ["query", "limit", "folder_id", "document_id", "mode"]
    assert all(
        parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in signature.parameters.values()
    )
    with pytest.raises(ToolException, match="query is an empty string"):
        await TOOL_MAP["search_sections"](query="")


async def test_tool_map_is_bound_to_the_default_graph_at_the_first_call(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_default(None)
    monkeypatch.setenv("GRAPH_AGENT_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPH_AGENT_GRAPH", "by-default")
    monkeypatch.delenv("GRAPH_AGENT_FALKORDB_URL", raising=False)
    report = await TOOL_MAP["status"]()
    assert report["graph"] == "by-default"
    assert (tmp_path / "engine").is_dir()
    from graph_agent.tools.registry import default_context

    default_context().graph.close()
    use_default(None)
