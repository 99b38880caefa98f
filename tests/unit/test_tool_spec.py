"""What a tool function becomes: schema, checked arguments, refusals that say what to give instead."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from graph_agent.errors import BadArgument
from graph_agent.tools import TOOL_MAP, TOOLS, DocumentGraphToolkit, ToolResult, registry, tool
from graph_agent.tools.spec import arguments_model

CONTRACT = {
    "get_folder_toc": {"folder_id": None},
    "list_documents": {},
    "get_document_toc": {"document_id": ..., "include_summaries": False, "max_level": None},
    "get_section_content": {"section_ids": ..., "start_line": None, "max_lines": None},
    "search_sections": {"query": ..., "limit": 20, "folder_id": None, "document_id": None, "mode": "hybrid"},
    "query_documents": {
        "query": ..., "topK": 8, "scope": None, "labels": None, "dateFrom": None, "dateTo": None
    },
    "status": {},
    "get_graph_overview": {},
    "get_node_labels": {},
    "get_edge_types": {},
    "get_node_label_counts": {},
    "get_edge_type_counts": {},
    "get_property_types": {"label": None},
    "graph_query": {"cypher": ..., "params": None},
    "vector_search": {"query": ..., "top_k": 5},
}  # fmt: skip


@tool("schema")
def probe(
    context: Any,
    query: Annotated[str, Field(description="words to look for")],
    limit: Annotated[int, Field(ge=1, description="a number, 1 or more")] = 3,
    mode: Annotated[Literal["hybrid", "vector", "bm25"], Field(description="how")] = "hybrid",
    labels: Annotated[dict[str, str] | None, Field(description="a map")] = None,
    ids: Annotated[list[str] | None, Field(description="a list of ids")] = None,
) -> ToolResult:
    """Look for words.

    A second paragraph.
    """
    del context
    return ToolResult("text", [query, limit, mode, labels, ids])


def test_the_fifteen_tools_have_the_contracts_names_and_arguments() -> None:
    assert len(CONTRACT) == 15
    specs = registry.specs()
    assert set(specs) == set(CONTRACT)
    for name, arguments in CONTRACT.items():
        fields = specs[name].arguments.model_fields
        assert list(fields) == list(arguments), name
        for argument, default in arguments.items():
            assert fields[argument].is_required() == (default is ...), (name, argument)
            if default is not ...:
                assert fields[argument].default == default, (name, argument)


def test_every_argument_and_every_tool_is_described() -> None:
    for spec in registry.specs().values():
        assert len(spec.description) > 80, spec.name
        assert all(field.description for field in spec.arguments.model_fields.values()), spec.name


def test_schemas_are_openai_compatible_and_from_the_same_registry() -> None:
    assert [schema["function"]["name"] for schema in TOOLS] == list(registry.specs())
    assert list(TOOL_MAP) == list(registry.specs())
    for schema in TOOLS:
        assert schema["type"] == "function"
        assert set(schema["function"]) == {"name", "description", "parameters"}
        assert schema["function"]["parameters"]["type"] == "object"
        assert "properties" in schema["function"]["parameters"]
        assert "title" not in str(schema["function"]["parameters"]["properties"].values())


def test_an_optional_argument_is_just_not_required() -> None:
    parameters = next(schema for schema in TOOLS if schema["function"]["name"] == "get_property_types")[
        "function"
    ]["parameters"]
    assert parameters["properties"]["label"]["type"] == "string"
    assert "required" not in parameters or "label" not in parameters["required"]


def test_arguments_are_converted_and_defaults_filled_in() -> None:
    assert probe.check({"query": "x", "limit": "7"}) == {
        "query": "x",
        "limit": 7,
        "mode": "hybrid",
        "labels": None,
        "ids": None,
    }
    assert probe.check({"query": "x", "limit": None})["limit"] == 3
    assert probe.check({"query": "x", "labels": '{"a": "b"}', "ids": '["1", "2"]'})["labels"] == {"a": "b"}
    assert probe.check({"query": "[not a list]"})["query"] == "[not a list]"
    sections = registry.find("get_section_content")
    assert sections.check({"section_ids": '["a::1", "b::2"]'})["section_ids"] == ["a::1", "b::2"]
    assert sections.check({"section_ids": "[a::1]"})["section_ids"] == "[a::1]"
    assert probe.run(None, {"query": "x"}).artifact == ["x", 3, "hybrid", None, None]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({}, ["probe needs the argument query", "words to look for"]),
        ({"query": None}, ["query is None", "words to look for"]),
        ({"query": ""}, ["query is an empty string", "words to look for"]),
        ({"query": " \n"}, ["query is an empty string"]),
        ({"query": "x", "ids": ["a", ""]}, ["ids is an empty string", "Leave ids out"]),
        ({"query": "x", "limit": 0}, ["limit is 0", "1 or more", "Nearest: 1"]),
        ({"query": "x", "limit": "many"}, ["limit is 'many'", "valid integer"]),
        ({"query": "x", "limit": 2.5}, ["limit is 2.5"]),
        ({"query": "x", "mode": "vektor"}, ["mode is 'vektor'", "hybrid, vector, bm25", "Nearest: vector"]),
        ({"query": "x", "labels": "nonsense"}, ["labels is 'nonsense'", "a map"]),
        ({"query": "x", "limits": 3}, ["no argument 'limits'", "Nearest: limit", "query, limit, mode, labels, ids"]),
        ({"query": 5}, ["query is 5"]),
    ],
)  # fmt: skip
def test_a_refusal_names_argument_value_what_is_allowed_and_the_nearest(
    arguments: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(BadArgument) as raised:
        probe.check(arguments)
    for part in parts:
        assert part in str(raised.value)


def test_a_tool_without_arguments_takes_none() -> None:
    with pytest.raises(BadArgument, match="takes no arguments"):
        registry.find("status").check({"verbose": True})


def test_an_unknown_tool_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BadArgument, match="Nearest: get_document_toc"):
        registry.find("get_documents_toc")


def test_a_function_without_docstring_is_no_tool() -> None:
    def silent(context: Any) -> ToolResult:
        return ToolResult("", [context])

    with pytest.raises(TypeError, match="docstring"):
        tool("schema")(silent)


def test_the_model_of_arguments_leaves_the_context_out() -> None:
    assert "context" not in arguments_model(probe.answer).model_fields


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(BadArgument, match="Nearest: schema"):
        DocumentGraphToolkit(context=object()).get_tools(family="schemas")  # type: ignore[arg-type]


def test_a_toolkit_without_graph_is_refused() -> None:
    with pytest.raises(BadArgument, match="no graph"):
        DocumentGraphToolkit()


def test_importing_the_tools_loads_and_opens_nothing() -> None:
    script = (
        "import sys, socket, graph_agent.tools\n"
        "heavy = {'langchain_core', 'falkordb', 'redis', 'onnxruntime', 'numpy', 'gradio', 'fastmcp', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from graph_agent.tools import TOOLS, TOOL_MAP\n"
        "assert len(TOOLS) == len(TOOL_MAP) == 15\n"
        "assert 'onnxruntime' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
