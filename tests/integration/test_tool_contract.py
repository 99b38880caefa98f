"""Sentences of the tools' contract that no other test stands for, one test each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from agent_cases import agent_at, honest, plan
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel
from scripted_server import ScriptedServer, structured, text, tool_calls

from graph_agent.embeddings import Embedder
from graph_agent.errors import BadArgument, NotFound
from graph_agent.ingest import SyncOptions, sync
from graph_agent.settings import load_settings
from graph_agent.store import DocumentGraph
from graph_agent.store.overview import COUNTS_S, FOREIGN_S
from graph_agent.tools import DocumentGraphToolkit, ToolContext, ToolResult, call_tool, registry
from graph_agent.tools.bounds import OUTPUT_TOKENS, output_tokens

FILES = {
    "zoo/april.md": "# Note\n\nThe quokka sleeps in April.\n\n# Other\n\nThe quokka sleeps in winter.\n",
    "zoo/march.md": "---\ndate: 2024-03-31\n---\n# Note\n\nThe quokka sleeps in March.\n\n# Other\n\nThe quokka sleeps in summer.\n",
    "zoo/quokka.md": "# Quokka diet\n\nIt eats leaves.\n",
    "park/diet.md": "---\ndate: 2024-01-01\n---\n# Plan\n\nThe diet of the quokka and the wombat.\n",
    "park/old/diary.md": "# Diary\n\nA wombat was seen.\n",
    "other/old/diary.md": "# Diary of others\n\nNothing was seen.\n",
}
DATED = ("zoo/march.md", "park/diet.md")
LABELS = {
    "animal": {"quokka": ["zoo/april.md", "zoo/march.md", "park/diet.md"], "wombat": ["park/diet.md", "park/old/diary.md"]},
    "state": {"draft": ["park/diet.md"], "final": ["zoo/march.md"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def zoo(
    engine: DocumentGraph, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ToolContext]:
    """Equal passages, labels, a date here and there, pages; no vectors."""
    root = tmp_path_factory.mktemp("contract") / "zoos"
    for name, body in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(body, encoding="utf-8")
    graph = engine.select("contract")
    sync(graph, embedder, [root], SyncOptions(vectors=False))
    for facet, values in LABELS.items():
        for value, paths in values.items():
            graph.write(
                "MATCH (:Folder)-[e:CONTAINS]->(d:Document) WHERE e.path IN $paths "
                "MERGE (l:Label {facet: $facet, value: $value}) MERGE (d)-[:LABELLED]->(l)",
                {"facet": facet, "value": value, "paths": paths},
            )
    graph.write("CREATE (:Label {facet: 'animal', value: 'numbat'})")
    graph.write(
        "MATCH (d:Document {filename: 'quokka.md'})-[:HAS_SECTION]->(s)-[:HAS_CHUNK]->(c) "
        "SET d.page_count = 9, s.page_start = 4, s.page_end = 5, c.page = 4"
    )
    graph.write("MATCH (d:Document) WHERE NOT d.path IN $dated SET d.date = NULL", {"dated": list(DATED)})
    graph.write("MATCH (m:GraphMeta) SET m.graph_version = m.graph_version + 1")
    yield ToolContext(graph)
    graph.drop()


def search(context: ToolContext, query: str, **arguments: Any) -> ToolResult:
    return call_tool(context, "search_sections", {"query": query, **arguments})


def passages(context: ToolContext, query: str, **arguments: Any) -> dict[str, Any]:
    return dict(call_tool(context, "query_documents", {"query": query, **arguments}).artifact)


# Common to all


def test_every_tool_is_a_langchain_tool_with_a_described_pydantic_schema(zoo: ToolContext) -> None:
    tools = DocumentGraphToolkit(context=zoo).get_tools()
    assert len(tools) == 15
    for tool in tools:
        assert isinstance(tool, BaseTool)
        schema = tool.args_schema
        assert isinstance(schema, type)
        assert issubclass(schema, BaseModel)
        assert all(field.description for field in schema.model_fields.values()), tool.name
        assert not {"runtime", "state", "context"} & set(schema.model_fields), tool.name


@pytest.mark.parametrize(
    ("name", "arguments", "parts"),
    [
        ("get_folder_toc", {"folder_id": ""}, ["folder_id is an empty string"]),
        ("get_document_toc", {"document_id": "park/diet.md", "max_level": 0}, ["max_level is 0", "Nearest: 1"]),
        ("get_document_toc", {"document": "x"}, ["document", "Nearest: document_id"]),
        ("get_section_content", {"section_ids": "a::1", "start_line": 0}, ["start_line is 0", "Nearest: 1"]),
        ("search_sections", {"query": "x", "mode": "bm52"}, ["mode is 'bm52'", "Nearest: bm25"]),
        ("search_sections", {"query": "x", "limit": -1}, ["limit is -1", "Nearest: 1"]),
        ("query_documents", {"query": "x", "topK": 0}, ["topK is 0", "Nearest: 1"]),
        ("query_documents", {"query": "x", "labels": {"animl": "quokka"}}, ["labels", "'animl'", "Nearest: animal"]),
        ("query_documents", {"query": "x", "labels": {"animal": "quoka"}}, ["labels", "'quoka'", "Nearest: quokka"]),
        ("query_documents", {"query": "x", "dateFrom": "2024-1-1"}, ["dateFrom", "'2024-1-1'", "YYYY-MM-DD"]),
        ("query_documents", {"query": "x", "dateTo": "31.12.2024"}, ["dateTo", "'31.12.2024'", "2024-12-31"]),
        ("get_property_types", {"labels": "Document"}, ["labels", "Nearest: label"]),
        ("graph_query", {"query": "RETURN 1"}, ["query", "cypher"]),
        ("vector_search", {"query": "x", "top_k": "many"}, ["top_k is 'many'"]),
    ],
)  # fmt: skip
def test_a_bad_argument_names_itself_its_value_and_what_is_allowed(
    zoo: ToolContext, name: str, arguments: dict[str, Any], parts: list[str]
) -> None:
    tool = next(tool for tool in DocumentGraphToolkit(context=zoo).get_tools() if tool.name == name)
    with pytest.raises(ToolException) as raised:
        tool.invoke(arguments)
    for part in parts:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        (name, argument)
        for name, spec in registry.specs().items()
        for argument, field in spec.arguments.model_fields.items()
        if "str" in str(field.annotation)
    ],
)
def test_an_empty_string_is_a_bad_argument_everywhere(zoo: ToolContext, name: str, argument: str) -> None:
    required = {
        other: "x"
        for other, field in registry.find(name).arguments.model_fields.items()
        if field.is_required()
    }
    with pytest.raises(BadArgument, match=argument):
        call_tool(zoo, name, {**required, argument: ""})


@pytest.mark.parametrize(
    "reference",
    ["diet.md", "DIET", "park/diet.md", "./park/diet", "content", "content prefix", "markdown prefix"],
)
def test_every_tool_takes_a_document_by_the_same_names(zoo: ToolContext, reference: str) -> None:
    row = zoo.graph.read(
        "MATCH (d:Document {filename: 'diet.md'}) RETURN d.content_hash, d.markdown_hash"
    ).rows[0]
    reference = {"content": row[0], "content prefix": row[0][:4], "markdown prefix": row[1][:4]}.get(
        reference, reference
    )
    assert call_tool(zoo, "get_document_toc", {"document_id": reference}).artifact["path"] == "park/diet.md"
    found = search(zoo, "quokka", mode="bm25", document_id=reference).artifact["sections"]
    assert {row["document"] for row in found} == {"park/diet.md"}
    scoped = passages(zoo, "quokka", scope=reference)
    assert [row["displayPath"] for row in scoped["sources"]] == ["park/diet.md"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_document_toc", {"document_id": "diary.md"}),
        ("search_sections", {"query": "x", "document_id": "diary"}),
        ("get_document_toc", {"document_id": "old/diary.md"}),
        ("get_folder_toc", {"folder_id": "old"}),
        ("search_sections", {"query": "x", "folder_id": "old"}),
    ],
)
def test_what_fits_several_is_an_error_that_lists_them(
    zoo: ToolContext, name: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(NotFound) as raised:
        call_tool(zoo, name, arguments)
    assert "park/old" in str(raised.value)
    assert "other/old" in str(raised.value)


@pytest.mark.parametrize("mode", ["bm25", "cypher"])
def test_ties_break_by_path_then_sequence(zoo: ToolContext, mode: str) -> None:
    rows = search(zoo, "sleeps", mode=mode).artifact["sections"]
    order = [(-row["score"], row["document"], int(row["section_id"].split("::")[1])) for row in rows]
    assert order == sorted(order)
    assert len(rows) == 4
    assert len({row["score"] for row in rows}) < 4  # there are ties to break
    found = passages(zoo, "sleeps")["results"]
    order = [(-row["score"], row["displayPath"], row["line"]) for row in found]
    assert order == sorted(order)


def test_a_weaker_way_is_told_in_text_and_artifact_by_every_search(zoo: ToolContext) -> None:
    for name in ("search_sections", "query_documents", "vector_search"):
        result = call_tool(zoo, name, {"query": "quokka"})
        artifact = result.artifact[0] if isinstance(result.artifact, list) else result.artifact
        assert "keywords only" in artifact["degraded"], name
        assert sum("eywords only" in line for line in result.content.splitlines()) >= 1, name


def test_what_is_cut_says_how_to_get_the_rest(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE " + ", ".join(f"(:VeryLongNameOfALabelWithNumber{at:04} {{p: {at}}})" for at in range(900))
    )
    empty_graph.write(
        "MATCH (n) WITH n LIMIT 1 CREATE "
        + ", ".join(f"(n)-[:VERY_LONG_NAME_OF_A_TYPE_WITH_NUMBER_{at:04}]->(n)" for at in range(900))
    )
    context = ToolContext(empty_graph)
    for name, key in (("get_node_labels", "label"), ("get_edge_types", "edge_type"),
                      ("get_node_label_counts", "label"), ("get_edge_type_counts", "edge_type")):  # fmt: skip
        result = call_tool(context, name)
        assert output_tokens(result.content) <= OUTPUT_TOKENS + 100
        statement = result.content.split("graph_query lists them: ")[1].rstrip(")\n")
        rest = call_tool(context, "graph_query", {"cypher": statement}).artifact["rows"]
        shown = len(result.content.splitlines()) - 1
        everything = [entry[key] if isinstance(entry, dict) else entry for entry in result.artifact]
        assert [row["name"] for row in rest] == everything[shown : shown + 200], name
    properties = call_tool(context, "get_property_types")
    assert "give label to see one of them" in properties.content
    assert output_tokens(properties.content) <= OUTPUT_TOKENS + 100


@pytest.mark.parametrize("statement", ["CREATE (:Wide {{{}}})", "CREATE (:A)-[:Wide {{{}}}]->(:B)"])
def test_a_thousand_properties_are_cut_with_how_to_get_the_rest(
    empty_graph: DocumentGraph, statement: str
) -> None:
    empty_graph.write(statement.format(", ".join(f"property_number_{at:04}: {at}" for at in range(1_000))))
    context = ToolContext(empty_graph)
    result = call_tool(context, "get_property_types", {"label": "Wide"})
    assert output_tokens(result.content) <= OUTPUT_TOKENS
    cypher = result.content.split("graph_query lists them: ")[1].rstrip(")\n")
    rest = [row["name"] for row in call_tool(context, "graph_query", {"cypher": cypher}).artifact["rows"]]
    shown = len(result.content.splitlines()) - 2  # without the label and the note
    assert rest == [row["property"] for row in result.artifact][shown : shown + 200]


def test_nodes_and_folders_that_do_not_fit_are_named(sample: ToolContext, empty_graph: DocumentGraph) -> None:
    result = call_tool(sample, "vector_search", {"query": "ferry", "top_k": 100})
    shown = yaml.safe_load(result.content)
    assert len(result.artifact) == 100 > len(shown["nodes"])
    assert output_tokens(result.content) <= OUTPUT_TOKENS
    statement = shown["note"].split("graph_query reads them: ")[1]
    rest = call_tool(sample, "graph_query", {"cypher": statement}).artifact["rows"]
    assert {row["n"]["id"] for row in rest} == {row["id"] for row in result.artifact[len(shown["nodes"]) :]}
    empty_graph.write(
        "CREATE (d:Document {content_hash: 'abcd', markdown_hash: 'abcd'}) WITH d UNWIND range(1, 900) AS i "
        "CREATE (:Folder {folder_id: 'folder' + i, name: 'a folder of number ' + i, path: '/f/' + i})"
        "-[:CONTAINS {path: 'a.md', filename: 'a.md'}]->(d)"
    )
    listed = yaml.safe_load(call_tool(ToolContext(empty_graph), "list_documents").content)
    assert listed["more_folders"].startswith(f"{900 - len(listed['folders'])} more folders")
    statement = listed["more_folders"].split("graph_query lists all: ")[1]
    assert call_tool(ToolContext(empty_graph), "graph_query", {"cypher": statement}).artifact["total"] == 200


def test_status_is_bounded_with_many_facets_and_long_descriptions(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "UNWIND range(1, 40) AS f UNWIND range(1, 40) AS v MERGE (d:Document {content_hash: 'c' + v, markdown_hash: 'm' + v}) "
        "MERGE (:Folder {folder_id: 'f000', name: 'f', path: '/f'}) "
        "CREATE (d)-[:LABELLED]->(:Label {facet: 'facet ' + f, value: 'value ' + v, description: 'words upon words ' + v})"
    )
    empty_graph.write(
        "MATCH (f:Folder), (d:Document) CREATE (f)-[:CONTAINS {path: d.content_hash, filename: d.content_hash}]->(d)"
    )
    result = call_tool(ToolContext(empty_graph), "status")
    assert len(result.artifact["labels"]) == 40
    assert len(result.artifact["labels"]["facet 1"]) == 40
    assert output_tokens(result.content) <= OUTPUT_TOKENS
    assert "more" in str(json.loads(result.content)["labels"]["facet 1"][-1])


# Document navigation


def test_a_listing_has_labels_pages_and_date_where_there_are_any(zoo: ToolContext) -> None:
    rows = {row["path"]: row for row in yaml.safe_load(call_tool(zoo, "list_documents").content)["documents"]}
    assert rows["zoo/quokka.md"]["pages"] == 9
    assert "date" not in rows["zoo/quokka.md"]
    assert rows["park/diet.md"]["labels"] == {"animal": ["quokka", "wombat"], "state": ["draft"]}
    assert rows["park/diet.md"]["date"] == "2024-01-01"
    assert "pages" not in rows["park/diet.md"]
    assert all("\n" not in row["description"] for row in rows.values())


def test_an_outline_names_its_document_by_content_hash(zoo: ToolContext) -> None:
    document = yaml.safe_load(call_tool(zoo, "get_document_toc", {"document_id": "quokka"}).content)
    assert (
        document["id"]
        == zoo.graph.read("MATCH (d:Document {filename: 'quokka.md'}) RETURN d.content_hash").scalar()
    )
    assert document["pages"] == 9
    assert document["sections"][0]["pages"] == "4-5"


def test_search_rows_name_the_page(zoo: ToolContext) -> None:
    row = yaml.safe_load(search(zoo, "leaves", mode="bm25").content)["sections"][0]
    assert row["page"] == 4
    assert passages(zoo, "leaves")["results"][0]["page"] == 4


def test_containment_is_scored_by_how_many_words_and_where(zoo: ToolContext) -> None:
    rows = search(zoo, "QUOKKA DIET", mode="cypher").artifact["sections"]
    assert [row["title"] for row in rows] == ["Quokka diet", "Plan"]  # both hold all; a title counts more
    assert rows[0]["score"] > rows[1]["score"]
    some = search(zoo, "quokka hovercraft diet", mode="cypher").artifact["sections"]
    assert {row["document"] for row in some[:2]} == {"zoo/quokka.md", "park/diet.md"}  # two words of three
    assert some[0]["score"] >= some[1]["score"] > some[2]["score"]


def test_relaxing_stays_inside_the_scope(zoo: ToolContext) -> None:
    result = search(zoo, "quokka hovercraft", mode="cypher", folder_id="park")
    assert {row["document"] for row in result.artifact["sections"]} == {"park/diet.md"}
    assert "No section contains all 2 words" in result.content


# Documents and passages


def test_values_of_a_facet_are_alternatives_and_facets_all_count(zoo: ToolContext) -> None:
    def sources(**arguments: Any) -> set[str]:
        return {row["displayPath"] for row in passages(zoo, "quokka wombat", **arguments)["sources"]}

    assert sources(labels={"animal": ["quokka", "wombat"]}) == {
        "zoo/april.md", "zoo/march.md", "park/diet.md", "park/old/diary.md"
    }  # fmt: skip
    assert sources(labels={"animal": ["quokka", "wombat"], "state": "draft"}) == {"park/diet.md"}
    assert sources(dateFrom="2024-01-01", dateTo="2024-03-31") == set(DATED)  # both ends included
    assert sources(dateFrom="2024-01-02") == {"zoo/march.md"}


def test_what_lacks_only_a_label_or_a_date_is_counted(zoo: ToolContext) -> None:
    assert passages(zoo, "quokka", dateFrom="2024-01-01")["filterCounts"] == {"unlabelled": 0, "undated": 4}
    assert passages(zoo, "quokka", dateFrom="2024-01-01", scope="zoo")["filterCounts"] == {
        "unlabelled": 0,
        "undated": 2,
    }
    assert passages(zoo, "quokka", labels={"state": "draft"})["filterCounts"]["unlabelled"] == 4


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"scope": "nowhere"}, "no ingested document is under nowhere"),
        ({"labels": {"animal": "numbat"}}, "numbat"),
        ({"labels": {"state": "draft"}, "scope": "zoo"}, "state"),
        ({"dateFrom": "2030-01-01"}, "2030-01-01"),
    ],
)
def test_a_notice_says_which_filter_left_nothing(
    zoo: ToolContext, arguments: dict[str, Any], part: str
) -> None:
    found = passages(zoo, "quokka", **arguments)
    assert found["results"] == []
    assert found["notice"].startswith("No ")
    assert part in found["notice"]


def test_sources_carry_what_the_contract_names(zoo: ToolContext) -> None:
    result = call_tool(zoo, "query_documents", {"query": "diet of the wombat", "topK": 1})
    shown = json.loads(result.content)
    assert set(shown["results"][0]) == {"text", "source", "title", "chunkIndex", "score", "parentId", "page"}
    assert set(shown["sources"][0]) == {"source", "displayPath", "hits", "labels", "date"}
    assert set(next(iter(shown["parents"].values()))) == {"title", "text", "kind", "page"}
    assert shown["sources"][0]["source"].startswith("/")
    assert shown["sources"][0]["displayPath"] == "park/diet.md"


def test_status_gives_the_range_of_dates(zoo: ToolContext) -> None:
    assert call_tool(zoo, "status").artifact["dates"] == {"first": "2024-01-01", "last": "2024-03-31"}


# Graph and schema


def test_limits_are_those_of_the_contract() -> None:
    settings = load_settings()
    assert settings.query_timeout_ms == 5_000
    assert settings.row_cap == 200
    assert max(COUNTS_S, FOREIGN_S) <= 30  # a label added by somebody else shows up within 30 s


@pytest.mark.parametrize(
    ("cypher", "reason"),
    [
        ("MATCH (n) SET n.x = 1", "SET changes the graph"),
        ("LOAD CSV FROM 'file:///x' AS row RETURN row", "reads files"),
        ("EXPLAIN MATCH (n) RETURN n", "EXPLAIN"),
        ("PROFILE MATCH (n) RETURN n", "PROFILE"),
        ("RETURN 1; RETURN 2", "Only one statement"),
        ("CALL db.create()", "db.create"),
        ("RETURN " + "(" * 11 + "1" + ")" * 11, "10"),
        ("UNWIND range(1, 100001) AS i RETURN count(i)", "100,000"),
        ("RETURN reduce(s = 0, x IN [1] | s + x) AS x", "Rename"),
    ],
)
def test_a_refusal_tells_its_reason(zoo: ToolContext, cypher: str, reason: str) -> None:
    with pytest.raises(Exception, match="(?s)" + reason.replace(".", r"\.")):
        call_tool(zoo, "graph_query", {"cypher": cypher})


def test_what_is_just_within_the_limits_runs(zoo: ToolContext) -> None:
    for cypher in (
        "RETURN " + "(" * 10 + "1" + ")" * 10 + " AS n",
        "UNWIND range(1, 100000) AS i RETURN count(i) AS n",
    ):
        assert call_tool(zoo, "graph_query", {"cypher": cypher}).artifact["rows"][0]["n"] in {1, 100_000}


def test_five_nodes_unless_asked_for_more(sample: ToolContext) -> None:
    assert len(call_tool(sample, "vector_search", {"query": "ferry"}).artifact) == 5
    row = call_tool(sample, "vector_search", {"query": "ferry", "top_k": 1}).artifact[0]
    assert set(row) == {"id", "labels", "text", "score", "properties"}


# What the agent does with them


def test_the_agent_collects_what_vector_search_finds(
    scripted_server: ScriptedServer,
    empty_graph: DocumentGraph,
    embedder: Embedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["a red apple", "a fast green car", "the blue sky"]
    empty_graph.write(
        "UNWIND range(0, 2) AS i CREATE (:Item {title: $names[i], emb: vecf32($vectors[i])})",
        {"names": names},
        arrays={"vectors": np.stack([embedder.embed_query(name) for name in names])},
    )
    empty_graph.write(
        "CREATE VECTOR INDEX FOR (n:Item) ON (n.emb) OPTIONS {dimension: 384, similarityFunction: 'cosine'}"
    )
    scripted_server.respond(
        honest(plan=lambda request: structured(plan(search=True, phrases=["fruit to eat"])))
    )
    with agent_at(scripted_server, empty_graph, tmp_path, monkeypatch) as agent:
        response = agent.ask("Which fruit is there?")
    assert response.sources[0].title == "a red apple"
    assert {source.title for source in response.sources} <= set(names)


def test_the_agent_collects_what_its_searches_find(
    scripted_server: ScriptedServer,
    sample_graph: DocumentGraph,
    sample: ToolContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = iter([tool_calls(("search_sections", {"query": "slack rope stop code E12", "mode": "bm25"}))])
    scripted_server.respond(
        honest(
            plan=lambda request: structured(plan(read=True, phrases=["forgotten pets"])),
            read=lambda request: next(asked, text("enough")),
        )
    )
    with agent_at(scripted_server, sample_graph, tmp_path, monkeypatch, context=sample) as agent:
        response = agent.ask("Who gets forgotten pets?")
    found = [source.display_path for source in response.sources]
    assert "policies/lost-property.txt" in found  # by query_documents
    assert "manuals/hochwarte-funicular.md" in found  # by search_sections
