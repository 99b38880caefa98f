"""Sample queries for the model: fixed ones for our own graph model, made from the schema for any other graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graph_agent.store.cypher_values import literal
from graph_agent.text import query_terms

CHOSEN = 6
EXAMPLE = 60  # characters of an example value


class Sample(NamedTuple):
    """A question and the query that answers it."""

    question: str
    cypher: str


DOCUMENT_SAMPLES = (
    Sample(
        "How many documents are there?",
        "MATCH (:Folder)-[:CONTAINS]->(d:Document) RETURN count(DISTINCT d) AS documents",
    ),
    Sample(
        "How many documents are in the folder reports?",
        "MATCH (f:Folder)-[:CONTAINS*0..]->(:Folder)-[:CONTAINS]->(d:Document) "
        "WHERE toLower(f.name) = 'reports' RETURN count(DISTINCT d) AS documents",
    ),
    Sample(
        "Which documents have a section titled Rationale?",
        "MATCH (d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection) "
        "WHERE toLower(s.title) = 'rationale' RETURN DISTINCT d.path AS document ORDER BY document",
    ),
    Sample(
        "How many documents have a section Security but no section Rationale?",
        "MATCH (d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection) "
        "WITH d, collect(toLower(s.title)) AS titles WHERE 'security' IN titles AND NOT 'rationale' IN titles "
        "RETURN count(d) AS documents",
    ),
    Sample(
        "How many documents have the status final?",
        "MATCH (d:Document) WHERE toLower(d.status) = 'final' RETURN count(d) AS documents",
    ),
    Sample(
        "Who is the author of guide.md?",
        "MATCH (d:Document) WHERE toLower(d.filename) STARTS WITH 'guide' RETURN d.path AS document, d.author AS author",
    ),
    Sample(
        "Which document has the most headings?",
        "MATCH (d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection) "
        "WHERE s.level > 0 RETURN d.path AS document, count(DISTINCT s) AS headings ORDER BY headings DESC LIMIT 5",
    ),
    Sample(
        "List the top-level sections of handbook.md in order",
        "MATCH (d:Document)-[:HAS_SECTION]->(s:MarkdownSection) WHERE toLower(d.filename) STARTS WITH 'handbook' "
        "RETURN s.title AS section ORDER BY s.sequence",
    ),
    Sample(
        "Which subsections are directly under Specification in handbook.md?",
        "MATCH (d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(p:MarkdownSection)"
        "-[:HAS_SUBSECTION]->(s:MarkdownSection) WHERE toLower(d.filename) STARTS WITH 'handbook' "
        "AND toLower(p.title) = 'specification' RETURN s.title AS section ORDER BY s.sequence",
    ),
    Sample(
        "Which documents link to policy.md?",
        "MATCH (d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(:MarkdownSection)"
        "-[:LINKS_TO]->(t:Document) WHERE toLower(t.filename) STARTS WITH 'policy' RETURN DISTINCT d.path AS document",
    ),
    Sample(
        "How many documents does each label department have?",
        "MATCH (d:Document)-[:LABELLED]->(l:Label) WHERE l.facet = 'department' "
        "RETURN l.value AS department, count(d) AS documents ORDER BY documents DESC",
    ),
    Sample(
        "Which documents are from the year 2025?",
        "MATCH (d:Document) WHERE d.date STARTS WITH '2025' RETURN d.path AS document, d.date AS date ORDER BY date",
    ),
    Sample(
        "Which document is the longest?",
        "MATCH (d:Document) RETURN d.path AS document, d.token_count AS tokens ORDER BY tokens DESC LIMIT 1",
    ),
    Sample(
        "How many documents are in German?",
        "MATCH (d:Document) WHERE d.language = 'de' RETURN count(d) AS documents",
    ),
    Sample(
        "How many PDF files are there?",
        "MATCH (d:Document) WHERE d.media_type = 'application/pdf' RETURN count(d) AS documents",
    ),
)


def samples_for(
    question: str, facts: Mapping[str, Any], properties: Sequence[Mapping[str, Any]], *, documents: bool
) -> list[Sample]:
    """The six samples that share most with a question; ties keep the order of the list."""
    pool = list(DOCUMENT_SAMPLES) if documents else schema_samples(facts, properties)
    wanted = set(query_terms(question, "en"))
    ranked = sorted(pool, key=lambda sample: -len(wanted & set(query_terms(sample.question, "en"))))
    return ranked[:CHOSEN]


def schema_samples(facts: Mapping[str, Any], properties: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """Samples in a graph's own names: counts, look-ups, the most related, paths, filters, rankings."""
    labels = [name for name in facts.get("labels", {}) if name]
    text = _property_of(properties, "String")
    number = _property_of(properties, "Integer", "Float")
    found: list[Sample] = []
    for label in labels[:3]:
        found.append(
            Sample(f"How many {label} are there?", f"MATCH (n:{quoted(label)}) RETURN count(n) AS count")
        )
        if label in text:
            name, example = text[label]
            found.append(
                Sample(
                    f"Find the {label} called {example}",
                    f"MATCH (n:{quoted(label)}) WHERE toLower(n.{quoted(name)}) CONTAINS {literal(str(example).lower()[:EXAMPLE])} "
                    f"RETURN n.{quoted(name)} AS {quoted(name)} LIMIT 10",
                )
            )
        if label in number:
            name, example = number[label]
            shown = f"n.{quoted(text[label][0])}" if label in text else "id(n)"
            found.append(
                Sample(
                    f"Which {label} has the highest {name}?",
                    f"MATCH (n:{quoted(label)}) WHERE n.{quoted(name)} IS NOT NULL RETURN {shown} AS {quoted(label.lower())}, "
                    f"n.{quoted(name)} AS {quoted(name)} ORDER BY n.{quoted(name)} DESC LIMIT 1",
                )
            )
    for source, kind, target, _ in list(facts.get("triples", []))[:4]:
        found += _relation_samples(source, kind, target, text)
    return found


def _relation_samples(
    source: str, kind: str, target: str, text: Mapping[str, tuple[str, Any]]
) -> list[Sample]:
    one, other = source.split(":", maxsplit=1)[0], target.split(":", maxsplit=1)[0]
    if not one or not other:
        return []
    left = f"a.{quoted(text[one][0])}" if one in text else "id(a)"
    right = f"b.{quoted(text[other][0])}" if other in text else "id(b)"
    pattern = f"(a:{quoted(one)})-[:{quoted(kind)}]->(b:{quoted(other)})"
    return [
        Sample(
            f"Which {one} has the most {kind.lower().replace('_', ' ')} {other}?",
            f"MATCH {pattern} RETURN {left} AS {quoted(one.lower())}, count(DISTINCT b) AS count ORDER BY count DESC LIMIT 5",
        ),
        Sample(
            f"List {other} by {kind.lower().replace('_', ' ')} of {one}",
            f"MATCH {pattern} RETURN DISTINCT {left} AS {quoted(one.lower())}, {right} AS {quoted(other.lower() + '_')} LIMIT 20",
        ),
    ]


def _property_of(properties: Sequence[Mapping[str, Any]], *types: str) -> dict[str, tuple[str, Any]]:
    """For each label its first property of a type, with an example; names before other texts."""
    found: dict[str, tuple[str, Any]] = {}
    for row in properties:
        owner, name = str(row.get("owner")), str(row.get("property") or row.get("name"))
        if row.get("owner_kind", "node") != "node" or not set(types) & set(row.get("types") or []):
            continue
        example = next(iter(row.get("examples") or row.get("values") or []), "x")
        if owner not in found or (
            name.lower() in {"name", "title"} and found[owner][0].lower() not in {"name", "title"}
        ):
            found[owner] = (name, example)
    return found


def quoted(name: str) -> str:
    """A name as Cypher takes it: bare when it can be, else in backticks."""
    return name if name.isascii() and name.isidentifier() else "`" + name.replace("`", "") + "`"
