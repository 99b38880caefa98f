"""Every tool on graphs that are empty, foreign, older, half-ingested or without indexes: answers, never a crash."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from graph_agent.errors import EngineUnavailable, GraphAgentError
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, call_tool, registry
from graph_agent.tools.bounds import output_tokens

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_folder_toc", {}),
    ("get_folder_toc", {"folder_id": "reports"}),
    ("list_documents", {}),
    ("get_document_toc", {"document_id": "a.md"}),
    ("get_document_toc", {"document_id": "a.md", "include_summaries": True, "max_level": 1}),
    ("get_section_content", {"section_ids": "abcd0002::0"}),
    *(("search_sections", {"query": "zebra", "mode": mode}) for mode in ("hybrid", "bm25", "cypher")),
    ("search_sections", {"query": "zebra", "folder_id": "f"}),
    ("query_documents", {"query": "zebra"}),
    ("query_documents", {"query": "zebra", "scope": "nowhere", "dateFrom": "2024-01-01"}),
    ("status", {}),
    ("get_graph_overview", {}),
    ("get_node_labels", {}),
    ("get_edge_types", {}),
    ("get_node_label_counts", {}),
    ("get_edge_type_counts", {}),
    ("get_property_types", {}),
    ("get_property_types", {"label": "MarkdownSection"}),
    ("graph_query", {"cypher": "MATCH (d:Document)-[:HAS_SECTION]->(s) RETURN d.title, s.title LIMIT 3"}),
    ("vector_search", {"query": "zebra"}),
]
FOLDER = "(:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.md', filename: 'a.md'}]->"
DOCUMENT = "(:Document {content_hash: 'abcd0001', markdown_hash: 'abcd0002', filename: 'a.md', path: 'a.md', title: 'A'})"
SECTION = "(:MarkdownSection {section_id: 'abcd0002::0', markdown_hash: 'abcd0002', sequence: 0, title: 'T', level: 1, text: '# T\\n\\nA zebra.'})"
CHUNK = "(:SectionChunk {chunk_id: 'abcd0002::0::0', index: 0, markdown_hash: 'abcd0002', text: 'A zebra.'})"
GRAPHS = {
    "nothing at all": [],
    "no properties": ["CREATE (:Folder)-[:CONTAINS]->(:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_CHUNK]->(:SectionChunk), (:GraphMeta), (:Label)"],
    "documents without sections": [f"CREATE {FOLDER}{DOCUMENT}"],
    "sections without chunks": [f"CREATE {FOLDER}{DOCUMENT}-[:HAS_SECTION]->{SECTION}"],
    "chunks without sections": [f"CREATE {FOLDER}{DOCUMENT} CREATE {CHUNK}"],
    "without indexes and GraphMeta": [f"CREATE {FOLDER}{DOCUMENT}-[:HAS_SECTION]->{SECTION}-[:HAS_CHUNK]->{CHUNK}"],
    "older schema": [
        f"CREATE {FOLDER}(:Document {{content_hash: 'abcd0001', filename: 'a.md'}})-[:HAS_SECTION]->"
        "(:MarkdownSection {section_id: 'abcd0001::0', title: 'T', level: 1, text: 'A zebra.'})-[:HAS_SUBSECTION]->"
        "(:MarkdownSection {section_id: 'abcd0001::1', title: 'U', level: 2, text: 'More.'})",
        "CREATE (:GraphMeta {schema_version: 0})",
    ],
    "half-ingested": [f"CREATE {SECTION}-[:HAS_CHUNK]->{CHUNK}", "CREATE (:GraphMeta {schema_version: 1, graph_version: 1})"],
    "only hidden documents": [f"CREATE {DOCUMENT}-[:HAS_SECTION]->{SECTION}-[:HAS_CHUNK]->{CHUNK}"],
    "foreign labels of our names": ["CREATE (:Document {name: 'x'})-[:CONTAINS]->(:Folder {size: 3}), (:Label {a: 1})"],
    "wrong types": ["CREATE (:Folder {folder_id: 7, name: 1})-[:CONTAINS {path: 3}]->(:Document {content_hash: 5, title: [1], date: 2024, page_count: 2.5})"],
}  # fmt: skip


def check(context: ToolContext, name: str, arguments: dict[str, Any]) -> None:
    result = call_tool(context, name, arguments)
    assert isinstance(result.content, str)
    assert result.content
    assert result.artifact is not None
    json.dumps(result.artifact)


@pytest.mark.parametrize("kind", list(GRAPHS))
def test_every_tool_answers_on_an_odd_graph(empty_graph: DocumentGraph, kind: str) -> None:
    for statement in GRAPHS[kind]:
        empty_graph.write(statement)
    context = ToolContext(empty_graph)
    assert {name for name, _ in CALLS} == set(registry.specs())
    for name, arguments in CALLS:
        check(context, name, arguments)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_every_tool_answers_on_foreign_graphs(
    foreign_graph: DocumentGraph, call: tuple[str, dict[str, Any]]
) -> None:
    check(ToolContext(foreign_graph), *call)


@pytest.mark.parametrize(
    "call",
    [call for call in CALLS if call[0] not in {"status", "graph_query", "query_documents"}],
    ids=lambda call: f"{call[0]}-{call[1]}",
)
def test_nothing_found_starts_with_no(empty_graph: DocumentGraph, call: tuple[str, dict[str, Any]]) -> None:
    assert call_tool(ToolContext(empty_graph), *call).content.startswith("No ")


def test_an_older_graph_is_read_by_its_edges(empty_graph: DocumentGraph) -> None:
    for statement in GRAPHS["older schema"]:
        empty_graph.write(statement)
    result = call_tool(ToolContext(empty_graph), "get_document_toc", {"document_id": "a.md"})
    assert yaml.safe_load(result.content)["sections"] == [
        {
            "id": "abcd0001::0",
            "title": "T",
            "level": 1,
            "description": "A zebra.",
            "sections": [{"id": "abcd0001::1", "title": "U", "level": 2, "description": "More."}],
        }
    ]
    assert "pages" not in result.artifact


def test_what_is_searchable_without_indexes_is_found(empty_graph: DocumentGraph) -> None:
    for statement in GRAPHS["without indexes and GraphMeta"]:
        empty_graph.write(statement)
    context = ToolContext(empty_graph)
    for mode in ("hybrid", "bm25", "cypher"):
        rows = call_tool(context, "search_sections", {"query": "zebra", "mode": mode}).artifact["sections"]
        assert [row["section_id"] for row in rows] == ["abcd0002::0"], mode


def test_an_engine_that_is_down_is_an_error_and_never_no_results(tmp_path: Any) -> None:
    graph = DocumentGraph.open(load_settings(data=tmp_path, falkordb_url=""))
    context = ToolContext(graph)
    graph.close()
    for name, arguments in CALLS:
        if name == "status":
            assert call_tool(context, name, arguments).artifact["problems"]
            continue
        with pytest.raises(GraphAgentError) as raised:
            call_tool(context, name, arguments)
        assert isinstance(raised.value, EngineUnavailable), name
        assert "No " not in str(raised.value)[:3]


def test_no_tool_changes_a_graph(empty_graph: DocumentGraph) -> None:
    for statement in GRAPHS["without indexes and GraphMeta"]:
        empty_graph.write(statement)
    before = picture(empty_graph)
    context = ToolContext(empty_graph)
    for name, arguments in CALLS:
        call_tool(context, name, arguments)
    assert picture(empty_graph) == before


def picture(graph: DocumentGraph) -> list[Any]:
    return [
        graph.read("MATCH (n) RETURN labels(n), properties(n) ORDER BY id(n)").rows,
        graph.read("MATCH ()-[r]->() RETURN type(r), properties(r) ORDER BY id(r)").rows,
        graph.read("CALL db.indexes() YIELD label, properties").rows,
    ]


EIPS_CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("list_documents", "get_folder_toc", "status", "get_graph_overview", "get_node_labels")),
    *((name, {}) for name in ("get_edge_types", "get_node_label_counts", "get_edge_type_counts", "get_property_types")),
    *(("get_document_toc", {"document_id": name, "include_summaries": True}) for name in ("eip-1474", "eip-1", "eip-8141")),
    ("search_sections", {"query": "gas cost of opcodes"}),
    ("query_documents", {"query": "gas cost of opcodes"}),
    ("vector_search", {"query": "gas cost of opcodes", "top_k": 100}),
    ("graph_query", {"cypher": "MATCH (s:MarkdownSection) RETURN s ORDER BY s.token_count DESC"}),
    ("graph_query", {"cypher": "MATCH (s:MarkdownSection) RETURN s.text AS text ORDER BY s.token_count DESC LIMIT 1"}),
    ("graph_query", {"cypher": "MATCH (d:Document) RETURN collect(d) AS all"}),
]  # fmt: skip


@pytest.mark.parametrize("call", EIPS_CALLS, ids=lambda call: f"{call[0]}-{call[1]}")
def test_what_a_model_reads_is_bounded_on_a_large_graph(
    eips: ToolContext, call: tuple[str, dict[str, Any]]
) -> None:
    content = call_tool(eips, *call).content
    assert content
    assert output_tokens(content) <= 6_300


@pytest.mark.parametrize(
    "call",
    [
        (
            "graph_query",
            {"cypher": "MATCH (c:SectionChunk) RETURN c, c.embedding AS e, [c] AS l, {c: c} AS m LIMIT 2"},
        ),
        ("graph_query", {"cypher": "MATCH p = (s)-[:HAS_CHUNK]->(c) RETURN p LIMIT 1"}),
        ("vector_search", {"query": "ferry"}),
        ("search_sections", {"query": "ferry"}),
        ("query_documents", {"query": "ferry"}),
        ("get_property_types", {"label": "SectionChunk"}),
    ],
    ids=lambda call: f"{call[0]}-{call[1]}",
)
def test_vectors_are_never_returned(sample: ToolContext, call: tuple[str, dict[str, Any]]) -> None:
    result = call_tool(sample, *call)
    assert longest_list_of_numbers(result.artifact) < 32
    assert not re.search(r"(-?0\.\d+, ){10}", result.content)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}-{call[1]}")
def test_the_same_call_gives_the_same_answer(sample: ToolContext, call: tuple[str, dict[str, Any]]) -> None:
    first, again = call_tool(sample, *call), call_tool(ToolContext(sample.graph), *call)
    assert again.content == first.content


def longest_list_of_numbers(value: Any) -> int:
    if isinstance(value, dict):
        return max((longest_list_of_numbers(item) for item in value.values()), default=0)
    if isinstance(value, list):
        inner = max((longest_list_of_numbers(item) for item in value), default=0)
        return max(inner, len(value) if value and all(isinstance(item, float) for item in value) else 0)
    return 0
