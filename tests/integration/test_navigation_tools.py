"""The document navigation tools: identifiers, outlines, texts in pages, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from graph_agent.embeddings import Embedder
from graph_agent.errors import BadArgument, NotFound
from graph_agent.ingest import SyncOptions, sync
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, call_tool
from graph_agent.tools.bounds import output_tokens

WIDE_TABLE = "\n".join(["| Year | Boats |", "|---|---|", *(f"| {1900 + at} | {at} |" for at in range(60))])
FILES = {
    "handbook.md": (
        "Opening words before any heading.\n\n# Handbook\n\nHow the ferry is run. And more.\n\n"
        "## Crew\n\nWho does what.\n\n#### Watches\n\nFour hours each.\n\n##### Night watch\n\nQuiet.\n\n"
        f"## Figures\n\nAll boats since 1900.\n\n{WIDE_TABLE}\n\nSource: the ledger.\n"
    ),
    "notes.txt": "Just a note without any heading.\n",
    "reports/2024/annual.md": "---\ntitle: Annual report\ndate: 2024-12-31\n---\n\n# Results\n\nA good year.\n",
    "reports/2024/extra/appendix.md": "# Appendix\n\nMore figures.\n",
    "reports/2023/annual.md": "# Results 2023\n\nA fair year.\n",
    "misc/Annual.md": "# The other Annual\n\nNamed alike but for case.\n",
    "empty.md": "",
}


@pytest.fixture(scope="module")
def library(
    engine: DocumentGraph, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ToolContext]:
    root = tmp_path_factory.mktemp("library") / "archive"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    graph = engine.select("navigation")
    sync(graph, embedder, [root], SyncOptions(vectors=False))
    yield ToolContext(graph)
    graph.drop()


def toc(context: ToolContext, **arguments: Any) -> dict[str, Any]:
    result = call_tool(context, "get_document_toc", arguments)
    return dict(yaml.safe_load(result.content))


def flat(sections: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for section in sections:
        yield section
        yield from flat(section.get("sections", []))


def titles(document: dict[str, Any]) -> list[str]:
    return [section["title"] for section in flat(document["sections"])]


def section_id(context: ToolContext, document: str, title: str) -> str:
    return str(
        next(
            section["id"]
            for section in flat(toc(context, document_id=document)["sections"])
            if section["title"] == title
        )
    )


# get_folder_toc, list_documents


def test_all_documents_are_listed_as_yaml(library: ToolContext) -> None:
    result = call_tool(library, "get_folder_toc")
    listed = yaml.safe_load(result.content)
    rows = {row["path"]: row for row in listed["documents"]}
    assert set(rows) >= {"handbook.md", "notes.txt", "reports/2024/annual.md"}
    annual = rows["reports/2024/annual.md"]
    assert annual["name"] == "annual.md"
    assert annual["date"] == "2024-12-31"
    assert annual["sections"] == 1
    assert annual["description"] == "A good year."
    assert (
        annual["id"]
        == library.graph.read(
            "MATCH (d:Document {path: $p}) RETURN d.content_hash", {"p": annual["path"]}
        ).scalar()
    )
    assert [row["path"] for row in listed["documents"]] == sorted(rows)
    assert "labels" not in annual
    assert "pages" not in annual
    assert result.artifact["documents"] == listed["documents"]


def test_subfolders_are_listed_with_counts(library: ToolContext) -> None:
    listed = yaml.safe_load(call_tool(library, "get_folder_toc").content)
    folders = {row["name"]: row for row in listed["folders"]}
    assert folders["reports"]["documents"] == 3
    assert folders["2024"]["documents"] == 2
    assert set(folders["2024"]) == {"id", "name", "documents"}


@pytest.mark.parametrize("reference", ["reports", "REPORTS", "archive/reports", "id", "prefix"])
def test_a_folder_is_named_by_id_prefix_name_or_path_and_includes_subfolders(
    library: ToolContext, reference: str
) -> None:
    folder = str(library.graph.read("MATCH (f:Folder {name: 'reports'}) RETURN f.folder_id").scalar())
    reference = {"id": folder, "prefix": folder[:6]}.get(reference, reference)
    listed = yaml.safe_load(call_tool(library, "get_folder_toc", {"folder_id": reference}).content)
    assert [row["path"] for row in listed["documents"]] == [
        "reports/2023/annual.md", "reports/2024/annual.md", "reports/2024/extra/appendix.md"
    ]  # fmt: skip
    assert {row["name"] for row in listed["folders"]} == {"2023", "2024", "extra"}


def test_a_folder_without_subfolders_lists_documents_only(library: ToolContext) -> None:
    assert list(yaml.safe_load(call_tool(library, "get_folder_toc", {"folder_id": "2023"}).content)) == [
        "documents"
    ]


def test_a_folder_that_is_not_there_never_becomes_the_whole_corpus(library: ToolContext) -> None:
    result = call_tool(library, "get_folder_toc", {"folder_id": "report"})
    assert result.content.startswith("No folder found")
    assert "reports" in result.content
    assert result.artifact["documents"] == []
    with pytest.raises(BadArgument, match="folder_id is an empty string"):
        call_tool(library, "get_folder_toc", {"folder_id": ""})


def test_list_documents_is_the_folder_toc_without_a_folder(library: ToolContext) -> None:
    assert call_tool(library, "list_documents").content == call_tool(library, "get_folder_toc").content


def test_a_long_list_shows_folders_first_and_says_how_to_narrow(eips: ToolContext) -> None:
    result = call_tool(eips, "list_documents")
    assert output_tokens(result.content) <= 6_000
    listed = yaml.safe_load(result.content)
    assert list(listed) == ["folders", "documents", "note"]
    assert len(result.artifact["documents"]) == 949
    left_out = 949 - len(listed["documents"])
    assert result.artifact["omitted"] == left_out > 800
    assert listed["note"].startswith(f"{left_out} of 949 documents are left out")
    assert "folder_id" in listed["note"]


# get_document_toc


def test_an_outline_is_nested_and_holds_text_before_the_first_heading(library: ToolContext) -> None:
    document = toc(library, document_id="handbook.md")
    assert {key: document[key] for key in ("document", "path", "title")} == {
        "document": "handbook.md", "path": "handbook.md", "title": "Handbook"
    }  # fmt: skip
    opening, handbook = document["sections"]
    assert opening["level"] == 0
    assert opening["description"] == "Opening words before any heading."
    crew, figures = handbook["sections"]
    assert crew["description"] == "Who does what."
    assert [section["title"] for section in flat([crew])] == ["Crew", "Watches", "Night watch"]
    assert [section["level"] for section in flat([crew])] == [2, 4, 5]
    assert figures["id"].endswith("::5")


def test_a_document_without_headings_is_one_section(library: ToolContext) -> None:
    sections = toc(library, document_id="notes.txt")["sections"]
    assert [(section["level"], section["title"]) for section in sections] == [(0, "notes")]


def test_a_document_without_text_has_no_sections(library: ToolContext) -> None:
    result = call_tool(library, "get_document_toc", {"document_id": "empty.md"})
    assert result.content.startswith("No document found") or "No sections found" in result.content


@pytest.mark.parametrize(
    ("max_level", "expected"),
    [
        (1, ["handbook.md", "Handbook"]),
        (2, ["handbook.md", "Handbook", "Crew", "Figures"]),
        # Level 4 stands right under level 2: it counts as the third.
        (3, ["handbook.md", "Handbook", "Crew", "Watches", "Figures"]),
        (4, ["handbook.md", "Handbook", "Crew", "Watches", "Night watch", "Figures"]),
    ],
)
def test_max_level_hides_deeper_headings_but_follows_skipped_levels(
    library: ToolContext, max_level: int, expected: list[str]
) -> None:
    shown = titles(toc(library, document_id="handbook.md", max_level=max_level))
    assert shown[1:] == expected[1:]
    assert len(shown) == len(expected)


def test_max_level_above_every_heading_shows_the_top_ones_and_says_so(eips: ToolContext) -> None:
    document = toc(eips, document_id="eip-1559.md", max_level=1)
    assert {section["level"] for section in document["sections"]} == {2}
    assert "no heading is of level 1" in document["note"]


@pytest.mark.parametrize("max_level", [0, -3])
def test_max_level_below_one_is_refused(library: ToolContext, max_level: int) -> None:
    with pytest.raises(BadArgument, match=f"max_level is {max_level}.*Nearest: 1"):
        call_tool(library, "get_document_toc", {"document_id": "handbook.md", "max_level": max_level})


def test_summaries_bring_tokens_and_tables_and_only_when_asked(library: ToolContext) -> None:
    plain = {
        section["title"]: section for section in flat(toc(library, document_id="handbook.md")["sections"])
    }
    assert "tokens" not in plain["Crew"]
    assert "tables" not in plain["Figures"]
    full = {
        section["title"]: section
        for section in flat(toc(library, document_id="handbook.md", include_summaries=True)["sections"])
    }
    assert full["Crew"]["tokens"] > 3
    assert full["Figures"]["tables"] == [{"rows": 60, "columns": 2, "header": "Year | Boats"}]
    assert "tables" not in full["Crew"]
    assert "summary" not in full["Crew"]


def test_summaries_and_keywords_are_shown_where_present(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE (:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.pdf', filename: 'a.pdf'}]->"
        "(:Document {content_hash: 'abcd0001', markdown_hash: 'abcd0002', filename: 'a.pdf', path: 'a.pdf', page_count: 9, "
        "description: 'About A.'})-[:HAS_SECTION]->(:MarkdownSection {section_id: 'abcd0002::0', markdown_hash: 'abcd0002', "
        "sequence: 0, title: 'A', level: 1, text: '# A', page_start: 2, page_end: 4, description: 'Told.', "
        "summary: 'In short.', keywords: ['x', 'y'], token_count: 7})"
    )
    document = toc(ToolContext(empty_graph), document_id="a.pdf", include_summaries=True)
    assert document["pages"] == 9
    assert document["description"] == "About A."
    assert document["sections"] == [
        {"id": "abcd0002::0", "title": "A", "level": 1, "description": "Told.", "pages": "2-4",
         "summary": "In short.", "keywords": ["x", "y"], "tokens": 7}
    ]  # fmt: skip


def test_a_long_outline_fits_and_says_what_it_leaves_out(eips: ToolContext) -> None:
    result = call_tool(eips, "get_document_toc", {"document_id": "eip-1474"})
    assert output_tokens(result.content) <= 6_000
    document = yaml.safe_load(result.content)
    everything = list(flat(result.artifact["sections"]))
    shown = list(flat(document["sections"]))
    assert len(everything) == 247
    hidden = sum(section.get("hidden", 0) for section in shown)
    assert len(shown) + hidden == 247
    assert "max_level" in document["note"]
    statement = document["note"].split("graph_query: ")[1]
    assert len(call_tool(eips, "graph_query", {"cypher": statement}).artifact["rows"]) == 200


def test_three_thousand_headings_of_one_level_are_cut_and_counted(empty_graph: DocumentGraph) -> None:
    rows = [{"id": f"abcd::{at}", "at": at, "title": f"Heading number {at}"} for at in range(3_000)]
    empty_graph.write(
        "CREATE (:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.md', filename: 'a.md'}]->"
        "(:Document {content_hash: 'abcd', markdown_hash: 'abcd', filename: 'a.md', path: 'a.md'})"
    )
    empty_graph.write(
        "UNWIND $rows AS r CREATE (:MarkdownSection {section_id: r.id, markdown_hash: 'abcd', sequence: r.at, "
        "title: r.title, level: 1, text: ''})",
        {"rows": rows},
    )
    result = call_tool(ToolContext(empty_graph), "get_document_toc", {"document_id": "a.md"})
    assert output_tokens(result.content) <= 6_000
    document = yaml.safe_load(result.content)
    assert f"{3_000 - len(document['sections'])} of 3000 top sections" in document["note"]
    assert [section["title"] for section in document["sections"][:2]] == [
        "Heading number 0",
        "Heading number 1",
    ]


# identifiers


@pytest.mark.parametrize(
    "reference",
    [
        "handbook.md",
        "HANDBOOK.MD",
        "handbook",
        "content",
        "content prefix",
        "markdown",
        "markdown prefix",
        "./handbook.md",
    ],
)
def test_a_document_is_named_by_hash_prefix_filename_or_path(library: ToolContext, reference: str) -> None:
    row = library.graph.read(
        "MATCH (d:Document {path: 'handbook.md'}) RETURN d.content_hash AS c, d.markdown_hash AS m"
    ).dicts()[0]
    reference = {
        "content": row["c"], "content prefix": row["c"][:4], "markdown": row["m"], "markdown prefix": row["m"][:5]
    }.get(reference, reference)  # fmt: skip
    assert toc(library, document_id=reference)["path"] == "handbook.md"


@pytest.mark.parametrize("reference", ["2024/annual.md", "reports/2024/annual.md", "2024/annual"])
def test_the_end_of_a_path_names_a_document(library: ToolContext, reference: str) -> None:
    assert toc(library, document_id=reference)["path"] == "reports/2024/annual.md"


def test_an_ambiguous_name_is_refused_with_the_candidates(library: ToolContext) -> None:
    with pytest.raises(NotFound) as raised:
        call_tool(library, "get_document_toc", {"document_id": "annual.md"})
    assert "reports/2023/annual.md" in str(raised.value)
    assert "reports/2024/annual.md" in str(raised.value)


def test_of_names_that_differ_by_case_the_one_written_alike_wins(library: ToolContext) -> None:
    assert toc(library, document_id="Annual.md")["path"] == "misc/Annual.md"


def test_an_exact_filename_beats_a_hash_prefix(empty_graph: DocumentGraph) -> None:
    for content, name in (("beef00000000", "other.md"), ("cafe00000000", "beef")):
        empty_graph.write(
            "MERGE (f:Folder {folder_id: 'f000', name: 'f', path: '/f'}) CREATE (f)-[:CONTAINS {path: $n, filename: $n}]->"
            "(:Document {content_hash: $c, markdown_hash: $c, filename: $n, path: $n})",
            {"c": content, "n": name},
        )
    context = ToolContext(empty_graph)
    assert call_tool(context, "get_document_toc", {"document_id": "beef"}).artifact["path"] == "beef"
    assert call_tool(context, "get_document_toc", {"document_id": "beef0"}).artifact["path"] == "other.md"


@pytest.mark.parametrize("reference", ["hadnbook.md", "abc", "zzz"])
def test_an_unknown_document_is_said_to_be_none_with_near_names(library: ToolContext, reference: str) -> None:
    result = call_tool(library, "get_document_toc", {"document_id": reference})
    assert result.content.startswith("No document found")
    assert reference in result.content
    if reference == "hadnbook.md":
        assert "handbook.md" in result.content


@pytest.mark.parametrize("reference", ["", "  "])
def test_an_empty_document_id_is_a_bad_argument(library: ToolContext, reference: str) -> None:
    with pytest.raises(BadArgument, match="document_id is an empty string"):
        call_tool(library, "get_document_toc", {"document_id": reference})


# get_section_content


def test_sections_come_in_the_order_asked_with_their_lines(library: ToolContext) -> None:
    crew, watches = section_id(library, "handbook", "Crew"), section_id(library, "handbook", "Watches")
    content = call_tool(library, "get_section_content", {"section_ids": f"{watches}, {crew}"}).content
    first, second = content.split("\n\n---\n\n")
    assert first == f"### [{watches}] Watches (lines 1-3 of 3)\n\n#### Watches\n\nFour hours each."
    assert second.startswith(f"### [{crew}] Crew (lines 1-3 of 3)\n\n## Crew\n\nWho does what.")
    as_list = call_tool(library, "get_section_content", {"section_ids": [watches, crew]})
    assert as_list.content == content
    assert [row["id"] for row in as_list.artifact["sections"]] == [watches, crew]


def test_the_hash_of_a_section_id_may_be_shortened(library: ToolContext) -> None:
    crew = section_id(library, "handbook", "Crew")
    prefix, sequence = crew.split("::")
    content = call_tool(library, "get_section_content", {"section_ids": f"{prefix[:4]}::{sequence}"}).content
    assert content.startswith(f"### [{crew}] Crew")


def test_a_shortened_hash_that_fits_two_documents_is_refused(empty_graph: DocumentGraph) -> None:
    for number in (1, 2):
        empty_graph.write(
            "MERGE (f:Folder {folder_id: 'f000', name: 'f', path: '/f'}) CREATE (f)-[:CONTAINS {path: $n, filename: $n}]->"
            "(:Document {content_hash: $c, markdown_hash: $c}) CREATE (:MarkdownSection {section_id: $c + '::0', markdown_hash: $c, text: 'x'})",
            {"c": f"abcd000{number}", "n": f"{number}.md"},
        )
    content = call_tool(ToolContext(empty_graph), "get_section_content", {"section_ids": "abcd::0"}).content
    assert "ambiguous" in content
    assert "abcd0001" in content
    assert "abcd0002" in content


def test_a_window_of_lines_applies_to_every_id(library: ToolContext) -> None:
    ids = [section_id(library, "handbook", "Crew"), section_id(library, "handbook", "Watches")]
    content = call_tool(
        library, "get_section_content", {"section_ids": ids, "start_line": 3, "max_lines": 1}
    ).content
    assert [block.split("\n\n")[1].strip() for block in content.split("\n\n---\n\n")] == [
        "Who does what.",
        "Four hours each.",
    ]
    assert "(line 3 of 3)" in content


def test_a_page_that_starts_inside_a_table_repeats_its_header_marked(library: ToolContext) -> None:
    figures = section_id(library, "handbook", "Figures")
    content = call_tool(
        library, "get_section_content", {"section_ids": figures, "start_line": 10, "max_lines": 2}
    ).content
    assert content.splitlines() == [
        f"### [{figures}] Figures (lines 10-11 of 68)", "",
        "<!-- table header repeated from line 5 -->", "| Year | Boats |", "|---|---|",
        "| 1903 | 3 |", "| 1904 | 4 |", "",
        "(57 more lines; go on with start_line=12)",
    ]  # fmt: skip
    outside = call_tool(
        library, "get_section_content", {"section_ids": figures, "start_line": 67, "max_lines": 2}
    ).content
    assert "repeated" not in outside


def test_pages_of_lines_put_together_give_the_whole_text(library: ToolContext) -> None:
    figures = section_id(library, "handbook", "Figures")
    whole = call_tool(library, "get_section_content", {"section_ids": figures}).artifact["sections"][0][
        "text"
    ]
    parts, line = [], 1
    while line:
        section = call_tool(
            library, "get_section_content", {"section_ids": figures, "start_line": line, "max_lines": 7}
        ).artifact["sections"][0]
        parts.append(section["text"])
        line = section["last_line"] + 1 if section["last_line"] < section["lines"] else 0
    assert "\n".join(parts) == whole
    assert whole.endswith("Source: the ledger.")


def test_past_the_end_says_how_many_lines_there_are(library: ToolContext) -> None:
    crew = section_id(library, "handbook", "Crew")
    assert (
        "This section has 3 lines"
        in call_tool(library, "get_section_content", {"section_ids": crew, "start_line": 99}).content
    )


def test_unknown_ids_are_listed_after_the_found_ones(library: ToolContext) -> None:
    crew = section_id(library, "handbook", "Crew")
    result = call_tool(
        library,
        "get_section_content",
        {"section_ids": ["0123456789::1", crew, crew[:16] + "::999", "nonsense"]},
    )
    blocks = result.content.strip().split("\n\n---\n\n")
    assert len(blocks) == 2
    assert blocks[0].startswith(f"### [{crew}]")
    assert blocks[1].startswith("Not found: 0123456789::1")
    assert "nonsense" in blocks[1]
    assert len(result.artifact["unknown"]) == 3
    nothing = call_tool(library, "get_section_content", {"section_ids": "0123456789::1"})
    assert nothing.content.startswith("No section found")


@pytest.mark.parametrize("ids", ["", " , ", []])
def test_no_section_ids_are_a_bad_argument(library: ToolContext, ids: str | list[str]) -> None:
    with pytest.raises(BadArgument, match="section_ids"):
        call_tool(library, "get_section_content", {"section_ids": ids})


def test_a_section_names_its_page(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE (:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.pdf', filename: 'a.pdf'}]->"
        "(:Document {content_hash: 'abcd0001', markdown_hash: 'abcd0002', filename: 'a.pdf', path: 'a.pdf'}) "
        "CREATE (:MarkdownSection {section_id: 'abcd0002::0', markdown_hash: 'abcd0002', title: 'A', text: 'one', page_start: 12, page_end: 12})"
    )
    content = call_tool(
        ToolContext(empty_graph), "get_section_content", {"section_ids": "abcd0002::0"}
    ).content
    assert content.startswith("### [abcd0002::0] A (line 1 of 1, p. 12)\n\none")


def test_a_huge_section_is_paged_and_a_huge_line_is_cut(empty_graph: DocumentGraph) -> None:
    empty_graph.write(
        "CREATE (:Folder {folder_id: 'f000', name: 'f', path: '/f'})-[:CONTAINS {path: 'a.md', filename: 'a.md'}]->"
        "(:Document {content_hash: 'abcd', markdown_hash: 'abcd'})"
    )
    texts = {
        "abcd::0": "\n".join(f"line number {at} of many" for at in range(1, 20_001)),
        "abcd::1": "word " * 200_000,
    }
    for name, text in texts.items():
        empty_graph.write(
            "CREATE (:MarkdownSection {section_id: $id, markdown_hash: 'abcd', title: 'T', text: $text})",
            {"id": name, "text": text},
        )
    context = ToolContext(empty_graph)
    paged = call_tool(context, "get_section_content", {"section_ids": "abcd::0"})
    assert output_tokens(paged.content) <= 6_000
    last = paged.artifact["sections"][0]["last_line"]
    assert f"({20_000 - last} more lines; go on with start_line={last + 1})" in paged.content
    asked = call_tool(context, "get_section_content", {"section_ids": "abcd::0", "max_lines": 3_000})
    assert asked.artifact["sections"][0]["last_line"] > last
    assert output_tokens(asked.content) <= 25_000
    cut = call_tool(context, "get_section_content", {"section_ids": "abcd::1"})
    assert output_tokens(cut.content) <= 6_100
    assert "Line 1 is cut: it has 1000000 characters" in cut.content
    statement = cut.content.split("read on: ")[1].rstrip(")\n") + ")"
    assert call_tool(context, "graph_query", {"cypher": statement}).content.count("word") > 1_000


def test_sections_beyond_the_bound_are_named_not_dropped(eips: ToolContext) -> None:
    document = call_tool(eips, "get_document_toc", {"document_id": "eip-1"}).artifact
    ids = [section["id"] for section in flat(document["sections"])]
    result = call_tool(eips, "get_section_content", {"section_ids": ids})
    assert output_tokens(result.content) <= 6_500
    assert [row["id"] for row in result.artifact["sections"]] + result.artifact["skipped"] == ids
    assert "Not shown for lack of room" in result.content


def test_texts_are_never_those_of_hidden_documents(empty_graph: DocumentGraph) -> None:
    """Sections are written before their document becomes visible."""
    empty_graph.write(
        "CREATE (:MarkdownSection {section_id: 'abcd0002::0', markdown_hash: 'abcd0002', title: 'A', text: 'hidden'})"
    )
    empty_graph.write(
        "CREATE (:Document {content_hash: 'abcd0001', markdown_hash: 'abcd0002', filename: 'a.md'})"
    )
    context = ToolContext(empty_graph)
    assert "hidden" not in call_tool(context, "get_section_content", {"section_ids": "abcd0002::0"}).content
    assert call_tool(context, "get_document_toc", {"document_id": "a.md"}).content.startswith(
        "No document found"
    )
    assert call_tool(context, "list_documents").content.startswith("No documents found")


def test_every_document_of_the_sample_lists_all_its_sections(sample: ToolContext) -> None:
    documents = call_tool(sample, "list_documents").artifact["documents"]
    assert (
        len(documents)
        == len([path for path in Path("evals/sets/sample/corpus").rglob("*") if path.is_file()]) - 1
    )
    for document in documents:
        outline = call_tool(sample, "get_document_toc", {"document_id": document["id"]}).artifact
        assert len(list(flat(outline["sections"]))) == document["sections"]
