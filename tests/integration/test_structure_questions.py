"""Questions about structure and front matter: one query template a kind answers each of them exactly.

The table below is also the documentation of how to ask our graph such questions with graph_query.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_agent.tools import ToolContext, call_tool

QUESTIONS = Path(__file__).parents[3] / "shared" / "data" / "eips" / "dev" / "questions.jsonl"
NAME = "replace(replace(d.filename, '.md', ''), 'eip', 'EIP')"
SECTIONS = "(d:Document {filename: $file})-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->"
REQUIRED = "split(toString(d.requires), ',')"

Shape = Callable[[list[list[Any]]], Any]


def column(rows: list[list[Any]]) -> list[Any]:
    return [row[0] for row in rows]


def single(rows: list[list[Any]]) -> Any:
    assert len(rows) == 1
    return rows[0][0]


def absent(rows: list[list[Any]]) -> None:
    assert rows == []


def names(rows: list[list[Any]]) -> list[str]:
    return sorted(column(rows), key=lambda name: int(name.split("-")[1]))


def document_and(field: str) -> Shape:
    return lambda rows: {"document": single([row[:1] for row in rows]), field: rows[0][1]}


def authors(rows: list[list[Any]]) -> list[str]:
    """`Ada L. (@ada), Bob <bob@x.org>` as names."""
    return [re.sub(r"\s*[(<].*", "", part).strip() for part in re.split(r",\s*(?![^(<]*[)>])", single(rows))]


# kind: (the question, the query, what its rows mean)
TABLE: list[tuple[str, str, str, Shape]] = [
    ("toc-children", r'In (?P<file>EIP-\d+), which subsections are directly under the section "(?P<title>.+)"\?',
     f"MATCH {SECTIONS}(s {{title: $title}})-[:HAS_SUBSECTION]->(c) RETURN c.title ORDER BY c.sequence", column),
    ("toc-top", r"List the top-level sections of (?P<file>EIP-\d+) in document order",
     "MATCH (d:Document {filename: $file})-[:HAS_SECTION]->(s {kind: 'heading'}) RETURN s.title ORDER BY s.sequence", column),
    ("section-parent", r'A section titled "(?P<title>.+)" exists in exactly one document',
     "MATCH (p:MarkdownSection)-[:HAS_SUBSECTION]->(s:MarkdownSection {title: $title}) "
     f"MATCH (d:Document {{markdown_hash: s.markdown_hash}}) RETURN {NAME}, p.title", document_and("parent")),
    ("heading-set", r'Which EIPs have a section titled exactly "(?P<title>.+)"\?',
     "MATCH (s:MarkdownSection {title: $title, kind: 'heading'}) MATCH (d:Document {markdown_hash: s.markdown_hash}) "
     f"RETURN DISTINCT {NAME}", names),
    ("count", r'How many documents have a section titled exactly "(?P<title>.+)"\?',
     "MATCH (s:MarkdownSection {title: $title, kind: 'heading'}) MATCH (d:Document {markdown_hash: s.markdown_hash}) "
     "RETURN count(DISTINCT d)", single),
    ("count", r"How many headings of level (?P<level>\d) are there",
     "MATCH (s:MarkdownSection {kind: 'heading', level: $level}) RETURN count(s)", single),
    ("count", r"How many documents have no headings at all\?",
     "MATCH (d:Document) WHERE NOT (d)-[:HAS_SECTION]->(:MarkdownSection {kind: 'heading'}) RETURN count(d)", single),
    ("count", r'How many documents have the status "(?P<status>.+)"\?',
     "MATCH (d:Document {status: $status}) RETURN count(d)", single),
    ("metadata", r"What is the status of EIP-(?P<eip>\d+)\?", "MATCH (d:Document {eip: $eip}) RETURN d.status", single),
    ("metadata", r"What is the title of EIP-(?P<eip>\d+)\?", "MATCH (d:Document {eip: $eip}) RETURN d.title", single),
    ("metadata", r"On which date was EIP-(?P<eip>\d+) created\?", "MATCH (d:Document {eip: $eip}) RETURN d.created", single),
    ("metadata", r"Which category does EIP-(?P<eip>\d+) belong to\?", "MATCH (d:Document {eip: $eip}) RETURN d.category", single),
    ("metadata", r"Who are the authors of EIP-(?P<eip>\d+)\?", "MATCH (d:Document {eip: $eip}) RETURN d.author", authors),
    ("reverse-reference", r"Which EIPs list EIP-(?P<number>\d+) among the EIPs they require\?",
     f"MATCH (d:Document) WHERE any(r IN {REQUIRED} WHERE trim(r) = $number) RETURN {NAME}", names),
    ("author-set", r"Which EIPs name the GitHub user (?P<handle>@\S+) as an author\?",
     f"MATCH (d:Document) WHERE d.author CONTAINS '(' + $handle + ')' RETURN {NAME}", names),
    ("two-hop", r"Which EIPs are required by the EIPs that EIP-(?P<eip>\d+) requires",
     f"MATCH (d:Document {{eip: $eip}}) UNWIND {REQUIRED} AS first MATCH (e:Document {{eip: toInteger(trim(first))}}) "
     "UNWIND split(toString(e.requires), ',') AS second RETURN DISTINCT toInteger(trim(second)) AS eip ORDER BY eip", column),
    ("argmax", r"Which document has the most headings, and how many\?",
     "MATCH (s:MarkdownSection {kind: 'heading'}) WITH s.markdown_hash AS hash, count(*) AS n ORDER BY n DESC LIMIT 1 "
     f"MATCH (d:Document {{markdown_hash: hash}}) RETURN {NAME}, n", document_and("count")),
    ("argmax", r"Which five documents have the most headings\?",
     "MATCH (s:MarkdownSection {kind: 'heading'}) WITH s.markdown_hash AS hash, count(*) AS n ORDER BY n DESC LIMIT 5 "
     f"MATCH (d:Document {{markdown_hash: hash}}) RETURN {NAME} AS name, n ORDER BY n DESC", column),
    ("argmax", r"Which documents use level-(?P<level>\d) headings\?",
     "MATCH (s:MarkdownSection {kind: 'heading', level: $level}) MATCH (d:Document {markdown_hash: s.markdown_hash}) "
     f"RETURN DISTINCT {NAME}", names),
    ("unanswerable", r"What is the status of EIP-(?P<eip>\d+)\?", "MATCH (d:Document {eip: $eip}) RETURN d.status", absent),
]  # fmt: skip
KINDS = sorted({kind for kind, _, _, _ in TABLE})


def parameters(match: re.Match[str]) -> dict[str, Any]:
    found: dict[str, Any] = dict(match.groupdict())
    if "file" in found:
        found["file"] = found["file"].lower() + ".md"
    return {key: int(value) if key in {"eip", "level"} else value for key, value in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_one_template_a_kind_gives_exactly_the_gold(eips: ToolContext, kind: str) -> None:
    asked: Counter[str] = Counter()
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if question["type"] != kind:
            continue
        fitting = [
            (match, cypher, shape)
            for own, pattern, cypher, shape in TABLE
            if own == kind and (match := re.search(pattern, question["question"]))
        ]
        assert len(fitting) == 1, question["question"]
        match, cypher, shape = fitting[0]
        result = call_tool(eips, "graph_query", {"cypher": cypher, "params": parameters(match)})
        rows = [list(row.values()) for row in result.artifact["rows"]]
        assert not result.artifact["truncated"] or kind == "heading-set"
        assert shape(rows) == question["answer"], (question["question"], cypher)
        asked[kind] += 1
    assert asked[kind] > 0


def test_toc_children_and_parents_are_in_the_outline_as_well(eips: ToolContext) -> None:
    """The same questions by a tool call: no query needed."""
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if question["type"] not in {"toc-children", "toc-top"}:
            continue
        document = re.search(r"EIP-\d+", question["question"])
        assert document is not None
        outline = call_tool(eips, "get_document_toc", {"document_id": f"{document[0].lower()}.md"}).artifact
        sections = [section for section in outline["sections"] if section["level"] > 0]
        if question["type"] == "toc-children":
            title = question["evidence"][0]["section"]
            sections = next(section for section in walk(sections) if section["title"] == title)["sections"]
        assert [section["title"] for section in sections] == question["answer"]


def walk(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [inner for section in sections for inner in (section, *walk(section.get("sections", [])))]
