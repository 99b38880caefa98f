"""search_sections, query_documents, vector_search and status over the sample corpus and small graphs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from graph_agent.embeddings import Embedder
from graph_agent.errors import BadArgument, EmbeddingMismatch, NotFound
from graph_agent.ingest import SyncOptions, sync
from graph_agent.ingest.syncing import sync_lock
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, ToolResult, call_tool
from graph_agent.tools.bounds import output_tokens

SAMPLE = Path(__file__).parents[2] / "evals" / "sets" / "sample" / "corpus"


def search(context: ToolContext, query: str, **arguments: Any) -> ToolResult:
    return call_tool(context, "search_sections", {"query": query, **arguments})


def passages(context: ToolContext, query: str, **arguments: Any) -> dict[str, Any]:
    result = call_tool(context, "query_documents", {"query": query, **arguments})
    shown = json.loads(result.content)
    for key in ("results", "sources", "parents", "notice", "filterCounts"):
        assert key in shown
    return dict(result.artifact)


@pytest.fixture(scope="module")
def shelf(
    engine: DocumentGraph, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ToolContext]:
    """Labels, dates, look-alike folders; no vectors."""
    root = tmp_path_factory.mktemp("shelf") / "shelf"
    (root / "team").mkdir(parents=True)
    (root / "team-old").mkdir()
    (root / "team" / "plan.md").write_text("---\ndate: 2024-05-01\n---\n# Plan\n\nThe zebra budget is 100.\n")
    (root / "team" / "undated.md").write_text("# Undated\n\nThe zebra moved.\n")
    (root / "team-old" / "plan.md").write_text(
        "---\ndate: 2020-05-01\n---\n# Old plan\n\nThe zebra budget was 50.\n"
    )
    (root / "long.md").write_text(
        "# Long\n\n"
        + "".join(
            f"Paragraph {at} about nothing in particular, said at some length.\n\n" for at in range(300)
        )
        + "The needle lies here.\n"
    )
    graph = engine.select("shelf")
    sync(graph, embedder, [root], SyncOptions(vectors=False))
    graph.write(
        "MATCH (d:Document {filename: 'plan.md'}) MERGE (l:Label {facet: 'kind', value: 'plan', description: 'What is to be done'}) "
        "MERGE (d)-[:LABELLED]->(l)"
    )
    graph.write("MATCH (m:GraphMeta) SET m.graph_version = m.graph_version + 1")
    yield ToolContext(graph)
    graph.drop()


# search_sections


def test_sections_are_ranked_with_all_that_is_needed_to_open_them(sample: ToolContext) -> None:
    result = search(sample, "what does stop code E12 mean")
    rows = yaml.safe_load(result.content)["sections"]
    best = rows[0]
    assert best["document"] == "manuals/hochwarte-funicular.md"
    assert best["title"] == "Stop codes"
    assert best["level"] == 3
    assert best["line"] > 1
    assert "**E12**" in best["snippet"]
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert all(0 <= row["score"] <= 1 and len(row["snippet"]) <= 240 for row in rows)
    assert len({row["section_id"] for row in rows}) == len(rows) <= 20
    assert "ranks" in result.artifact["score_kind"]
    assert result.artifact["degraded"] is None
    text = call_tool(sample, "get_section_content", {"section_ids": best["section_id"]}).content
    assert "slack rope" in text


@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25", "cypher"])
def test_every_mode_answers_and_names_its_kind_of_score(sample: ToolContext, mode: str) -> None:
    result = search(sample, "refund of the fare", mode=mode, limit=5)
    assert 0 < len(result.artifact["sections"]) <= 5
    assert result.artifact["mode"] == mode
    assert result.artifact["score_kind"]
    kinds = {
        search(sample, "refund", mode=other).artifact["score_kind"]
        for other in ("hybrid", "vector", "bm25", "cypher")
    }
    assert len(kinds) == 4


def test_an_unknown_mode_is_refused_with_the_four(sample: ToolContext) -> None:
    with pytest.raises(BadArgument, match=r"mode is 'semantic'.*hybrid, vector, bm25, cypher.*Nearest"):
        search(sample, "x", mode="semantic")


def test_limit_is_clamped_and_said_or_refused(sample: ToolContext) -> None:
    result = search(sample, "ferry", limit=1_000)
    assert "limit 1000 is more than 100" in result.content
    assert len(result.artifact["sections"]) <= 100
    with pytest.raises(BadArgument, match=r"limit is 0.*1 or more.*Nearest: 1"):
        search(sample, "ferry", limit=0)


def test_filters_act_inside_the_search(sample: ToolContext) -> None:
    manuals = search(sample, "the", folder_id="manuals", limit=30).artifact["sections"]
    assert len(manuals) == 30
    assert {row["document"].split("/")[0] for row in manuals} == {"manuals"}
    one = search(sample, "the", document_id="hochwarte-funicular", limit=25).artifact["sections"]
    assert len(one) == 25
    assert {row["document"] for row in one} == {"manuals/hochwarte-funicular.md"}


def test_a_scope_that_is_not_there_matches_nothing(sample: ToolContext) -> None:
    for scope in ({"folder_id": "manuels"}, {"document_id": "hochwarte-funicolar.md"}):
        result = search(sample, "rope", **scope)
        assert result.content.startswith("No ")
        assert "anual" in result.content or "hochwarte-funicular.md" in result.content
        assert result.artifact["sections"] == []
    apart = search(sample, "rope", folder_id="reports", document_id="manuals/hochwarte-funicular.md")
    assert apart.content.startswith("No sections found")
    with pytest.raises(BadArgument, match="folder_id is an empty string"):
        search(sample, "rope", folder_id="")
    with pytest.raises(BadArgument, match="query is an empty string"):
        search(sample, " ")


def test_nothing_found_says_what_was_searched_and_what_to_try(sample: ToolContext) -> None:
    result = search(sample, "xyzzyqwv", mode="cypher", folder_id="manuals")
    assert result.content.startswith("No sections found for 'xyzzyqwv'")
    assert "manuals" in result.content
    assert "Try" in result.content


def test_a_question_without_rows_is_relaxed_and_that_is_said(sample: ToolContext) -> None:
    result = search(sample, "slack rope xyzzyqwv", mode="cypher")
    assert result.artifact["sections"]
    assert result.artifact["relaxed"]
    assert "No section contains all 3 words" in result.content


def test_equal_scores_are_ordered_by_path(shelf: ToolContext) -> None:
    rows = search(shelf, "zebra", mode="cypher").artifact["sections"]
    assert [row["document"] for row in rows] == ["team-old/plan.md", "team/plan.md", "team/undated.md"]
    again = search(shelf, "zebra", mode="cypher").artifact["sections"]
    assert [row["section_id"] for row in again] == [row["section_id"] for row in rows]


def test_without_vectors_keywords_answer_and_that_is_said(shelf: ToolContext) -> None:
    result = search(shelf, "zebra budget")
    assert result.artifact["sections"]
    assert "keywords only" in result.artifact["degraded"]
    assert "Keywords only" in result.content.splitlines()[0]


# query_documents


def test_passages_come_with_sources_and_parents(sample: ToolContext) -> None:
    found = passages(sample, "what does stop code E12 mean")
    assert len(found["results"]) == 8
    best = found["results"][0]
    assert "slack rope" in best["text"]
    assert best["title"] == "Hochwarte Cable Railway, operations manual"
    assert best["source"] == str(SAMPLE / "manuals" / "hochwarte-funicular.md")
    assert best["chunkIndex"] == 0
    assert best["page"] is None
    assert 0 < best["score"] <= 1
    parent = found["parents"][best["parentId"]]
    assert parent["title"] == "Stop codes"
    assert parent["kind"] == "heading"
    assert best["text"] in parent["text"]
    assert found["notice"] is None
    assert found["filterCounts"] == {"unlabelled": 0, "undated": 0}


def test_sources_are_distinct_in_rank_order_with_hits_and_display_path(sample: ToolContext) -> None:
    found = passages(sample, "stop code E12", topK=20)
    order = list(dict.fromkeys(row["source"] for row in found["results"]))
    assert [row["source"] for row in found["sources"]] == order
    assert sum(row["hits"] for row in found["sources"]) == len(found["results"])
    first = found["sources"][0]
    assert first["displayPath"] == "manuals/hochwarte-funicular.md"
    assert first["labels"]["kind"] == ["manual"]
    assert first["date"] == "2024-11-18"


def test_top_k_is_clamped_or_refused(sample: ToolContext) -> None:
    found = passages(sample, "ferry", topK=5_000)
    assert len(found["results"]) <= 100
    assert "topK 5000 is more than 100" in found["notice"]
    with pytest.raises(BadArgument, match=r"topK is 0.*Nearest: 1"):
        passages(sample, "ferry", topK=0)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("team", {"team/plan.md", "team/undated.md"}),
        ("team/", {"team/plan.md", "team/undated.md"}),
        (["team-old"], {"team-old/plan.md"}),
        ("team/plan.md", {"team/plan.md"}),
        ("folder id", {"team-old/plan.md"}),
        ("document id", {"team/undated.md"}),
        ("absolute", {"team/plan.md", "team/undated.md"}),
        (["team", "team-old"], {"team/plan.md", "team/undated.md", "team-old/plan.md"}),
    ],
)
def test_a_scope_is_matched_by_whole_components(
    shelf: ToolContext, scope: str | list[str], expected: set[str]
) -> None:
    read = shelf.graph.read
    if scope == "folder id":
        scope = read("MATCH (f:Folder {name: 'team-old'}) RETURN f.folder_id").scalar()
    elif scope == "document id":
        scope = read("MATCH (d:Document {path: 'team/undated.md'}) RETURN d.content_hash").scalar()
    elif scope == "absolute":
        scope = read("MATCH (f:Folder {name: 'team'}) RETURN f.path").scalar()
    found = passages(shelf, "zebra", scope=scope)
    assert {row["displayPath"] for row in found["sources"]} == expected


def test_a_scope_under_which_there_is_nothing_is_said(shelf: ToolContext) -> None:
    found = passages(shelf, "zebra", scope="tea")
    assert found["results"] == []
    assert "no ingested document is under tea" in found["notice"]
    with pytest.raises(BadArgument, match="scope is an empty string"):
        passages(shelf, "zebra", scope="")


def test_labels_and_dates_narrow_and_what_lacks_them_is_counted(shelf: ToolContext) -> None:
    found = passages(shelf, "zebra", labels={"kind": "plan"})
    assert {row["displayPath"] for row in found["sources"]} == {"team/plan.md", "team-old/plan.md"}
    assert found["filterCounts"]["unlabelled"] == 2
    dated = passages(shelf, "zebra", labels={"kind": ["plan"]}, dateFrom="2024-05-01", dateTo="2024-05-01")
    assert {row["displayPath"] for row in dated["sources"]} == {"team/plan.md"}
    late = passages(shelf, "zebra", labels={"kind": "plan"}, dateFrom="2099-01-01")
    assert late["results"] == []
    assert late["notice"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"labels": {"kind": "plam"}}, ["'plam'", "plan"]),
        ({"labels": {"kin": "plan"}}, ["'kin'", "kind"]),
        ({"dateFrom": "2024-13-01"}, ["dateFrom", "2024-13-01", "YYYY-MM-DD"]),
        ({"dateFrom": "last year"}, ["dateFrom"]),
        ({"dateFrom": "2024-02-01", "dateTo": "2024-01-01"}, ["2024-02-01", "2024-01-01"]),
    ],
)
def test_unknown_labels_and_bad_dates_are_errors_that_list_what_is_valid(
    shelf: ToolContext, arguments: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(BadArgument) as raised:
        passages(shelf, "zebra", **arguments)
    for part in parts:
        assert part in str(raised.value)


def test_an_empty_index_is_said(empty_graph: DocumentGraph) -> None:
    found = passages(ToolContext(empty_graph), "zebra")
    assert found["results"] == []
    assert found["notice"].startswith("No documents found")


def test_a_long_parent_is_cut_around_the_match_and_says_so(shelf: ToolContext) -> None:
    found = passages(shelf, "needle", topK=1)
    parent = next(iter(found["parents"].values()))
    assert len(parent["text"]) < 4_100
    assert "The needle lies here." in parent["text"]
    assert "characters before are left out" in parent["text"]
    assert parent["cut"] is True


def test_what_a_model_reads_stays_within_its_bound(sample: ToolContext) -> None:
    result = call_tool(sample, "query_documents", {"query": "what happened to the ferry Reiher"})
    assert output_tokens(result.content) <= 6_500
    shown = json.loads(result.content)
    assert len(shown["results"]) == 8
    many = json.loads(call_tool(sample, "query_documents", {"query": "ferry", "topK": 60}).content)
    assert len(many["results"]) == 60
    assert "get_section_content" in many["parentsLeftOut"]


def test_the_description_asks_for_a_sources_list() -> None:
    from graph_agent.tools.query_documents import query_documents

    flat = " ".join(query_documents.description.split())
    assert "end your answer, in whatever language, with a Sources list, one line per document" in flat
    assert "displayPath copied verbatim" in flat
    assert "no [n] markers, links or file://" in flat


def test_a_chunk_without_section_has_no_parent_and_a_resync_is_advised(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE (:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.md', filename: 'a.md'}]->"
        "(:Document {content_hash: 'abcd0001', markdown_hash: 'abcd0002', filename: 'a.md', path: 'a.md'}) "
        "CREATE (:SectionChunk {chunk_id: 'abcd0002::0::0', index: 0, markdown_hash: 'abcd0002', text: 'A zebra alone.'})"
    )
    found = passages(ToolContext(empty_graph), "zebra")
    assert found["results"][0]["parentId"] is None
    assert found["parents"] == {}
    assert "Re-sync" in found["notice"]


# vector_search


def test_the_closest_passages_of_our_own_graph(sample: ToolContext) -> None:
    result = call_tool(sample, "vector_search", {"query": "What may passengers take on board?", "top_k": 3})
    assert len(result.artifact) == 3
    row = result.artifact[0]
    assert row["labels"] == ["SectionChunk"]
    assert isinstance(row["id"], int)
    assert row["text"]
    assert 0 < row["score"] <= 1
    assert row["properties"]["section_id"].count("::") == 1
    assert "embedding" not in row["properties"]
    assert [item["score"] for item in result.artifact] == sorted(
        (item["score"] for item in result.artifact), reverse=True
    )
    stored = sample.graph.read("MATCH (c) WHERE id(c) = $id RETURN c.text", {"id": row["id"]}).scalar()
    assert stored == row["text"]


def test_without_vectors_it_falls_back_to_keywords_and_says_so(shelf: ToolContext) -> None:
    result = call_tool(shelf, "vector_search", {"query": "zebra budget"})
    assert "zebra" in result.artifact[0]["text"]
    assert "keywords only" in result.artifact[0]["degraded"]
    assert "Keywords only" in result.content


@pytest.fixture
def fruit(empty_graph: DocumentGraph, embedder: Embedder) -> ToolContext:
    names = ["a red apple", "a fast green car", "the blue sky"]
    empty_graph.write(
        "UNWIND range(0, 2) AS i CREATE (:Item {title: $names[i], size: i, emb: vecf32($vectors[i]), small: vecf32([1.0, 2.0])})",
        {"names": names},
        arrays={"vectors": np.stack([embedder.embed_query(name) for name in names])},
    )
    return ToolContext(empty_graph)


def test_a_foreign_graph_is_searched_by_the_index_that_fits(fruit: ToolContext) -> None:
    fruit.graph.write(
        "CREATE VECTOR INDEX FOR (n:Item) ON (n.small) OPTIONS {dimension: 2, similarityFunction: 'euclidean'}"
    )
    fruit.graph.write(
        "CREATE VECTOR INDEX FOR (n:Item) ON (n.emb) OPTIONS {dimension: 384, similarityFunction: 'cosine'}"
    )
    rows = call_tool(fruit, "vector_search", {"query": "fruit", "top_k": 2}).artifact
    assert rows[0]["text"] == "a red apple"
    assert len(rows) == 2
    assert rows[0]["properties"] == {"title": "a red apple", "size": 0}
    assert rows[0]["labels"] == ["Item"]


def test_vectors_of_another_size_are_an_error_that_names_both(fruit: ToolContext) -> None:
    fruit.graph.write(
        "CREATE VECTOR INDEX FOR (n:Item) ON (n.small) OPTIONS {dimension: 2, similarityFunction: 'euclidean'}"
    )
    with pytest.raises(EmbeddingMismatch, match=r"384 numbers: Item\.small has 2"):
        call_tool(fruit, "vector_search", {"query": "fruit"})


def test_a_graph_without_vector_index_is_no_error(fruit: ToolContext) -> None:
    result = call_tool(fruit, "vector_search", {"query": "fruit"})
    assert result.content.startswith("No nodes found")
    assert "graph_query" in result.content
    assert result.artifact == []


def test_our_own_vectors_of_another_model_are_an_error_that_names_both(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE (:GraphMeta {schema_version: 1, graph_version: 1, embedding_model: 'big-model', dimension: 768}), "
        "(:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.md', filename: 'a.md'}]->"
        "(:Document {content_hash: 'abcd0001', markdown_hash: 'abcd0002'}) "
        "CREATE (:MarkdownSection {section_id: 'abcd0002::0', markdown_hash: 'abcd0002', text: 'zebra'})-[:HAS_CHUNK]->"
        "(:SectionChunk {chunk_id: 'abcd0002::0::0', index: 0, markdown_hash: 'abcd0002', text: 'A zebra.', embedding: vecf32($v)})",
        {"v": [0.1] * 768},
    )
    context = ToolContext(empty_graph)
    with pytest.raises(EmbeddingMismatch) as raised:
        call_tool(context, "vector_search", {"query": "zebra"})
    assert "768" in str(raised.value)
    assert "384" in str(raised.value)
    assert "768" in search(context, "zebra").artifact["degraded"]


# status


def test_status_tells_what_there_is(sample: ToolContext) -> None:
    result = call_tool(sample, "status")
    report = result.artifact
    assert json.loads(result.content)["counts"] == report["counts"]
    assert report["engine"]["kind"] == "embedded"
    assert report["engine"]["version"].count(".") == 2
    assert report["graph"] == "sample"
    assert report["counts"]["documents"] == 34
    assert report["counts"]["vectors"] == report["counts"]["chunks"] > 300
    assert report["counts"]["folders"] > 5
    assert report["counts"]["sections"] > 200
    assert report["embedding"] == {"model": "all-MiniLM-L6-v2-onnx-int8", "dimension": 384}
    last = report["lastSync"]
    assert (last["added"], last["changed"], last["moved"], last["deleted"], last["failed"]) == (
        34,
        0,
        0,
        0,
        [],
    )
    assert last["when"].startswith("20")
    kinds = {row["value"]: row for row in report["labels"]["kind"]}
    assert kinds["manual"]["documents"] == 5
    assert kinds["manual"]["description"].startswith("How a machine is worked")
    assert report["dates"]["first"] == "2022-09-30"
    assert report["syncing"] is False
    assert report["problems"] == []


def test_status_names_failures_with_reasons(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nText.\n")
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
    sync(empty_graph, embedder, [tmp_path], SyncOptions(vectors=False))
    report = call_tool(ToolContext(empty_graph), "status").artifact
    assert report["lastSync"]["failed"][0]["path"].endswith("bad.pdf")
    assert report["lastSync"]["failed"][0]["reason"]
    assert any("have no vector yet" in problem for problem in report["problems"])


def test_status_says_that_a_sync_is_running(shelf: ToolContext) -> None:
    started, end = threading.Event(), threading.Event()

    def hold() -> None:
        with sync_lock(shelf.graph):
            started.set()
            end.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    started.wait(10)
    assert call_tool(shelf, "status").artifact["syncing"] is True
    end.set()
    thread.join()
    assert call_tool(shelf, "status").artifact["syncing"] is False


def test_status_of_an_empty_and_of_a_foreign_graph_says_what_is_wrong(
    empty_graph: DocumentGraph, movies: ToolContext
) -> None:
    assert "is empty" in call_tool(ToolContext(empty_graph), "status").artifact["problems"][0]
    assert "other data (Person, Movie)" in call_tool(movies, "status").artifact["problems"][0]


def test_status_of_a_broken_graph_still_answers(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE (:Folder {folder_id: 'f', name: 'f'})-[:CONTAINS]->(:Document {content_hash: 'abcd', filename: 'a.md'}), "
        "(:GraphMeta {schema_version: 0, graph_version: 3, embedding_model: 'other', dimension: 3})"
    )
    empty_graph.keys.set("last-sync", b"{broken")
    report = call_tool(ToolContext(empty_graph), "status").artifact
    problems = " ".join(report["problems"])
    assert report["counts"]["documents"] == 1
    for part in ("no sections", "schema version 0", "vectors are of other", "last sync cannot be read"):
        assert part in problems, part


def test_status_of_an_engine_that_is_down_says_so(tmp_path: Path) -> None:
    from graph_agent.settings import load_settings

    graph = DocumentGraph.open(load_settings(data=tmp_path, falkordb_url=""))
    context = ToolContext(graph)
    graph.close()
    report = call_tool(context, "status").artifact
    assert report["problems"]
    assert "does not answer" in report["problems"][0]


def test_an_ambiguous_scope_is_an_error_not_a_guess(shelf: ToolContext) -> None:
    with pytest.raises(NotFound, match=r"team-old/plan\.md"):
        search(shelf, "zebra", document_id="plan.md")
