"""Statements of the evaluations: sections against which gold evidence is looked up, and graphs loaded from files."""

from __future__ import annotations

SECTIONS = """
UNWIND $hashes AS hash
MATCH (s:MarkdownSection {markdown_hash: hash})
RETURN hash, s.section_id AS section_id, s.title AS title, s.text AS text, s.parent_section_id AS parent,
       s.sequence AS sequence
ORDER BY hash, sequence
"""

# A property graph out of nodes.jsonl and edges.jsonl. Labels and types come from the files: `named` quotes them.
COUNTS = "MATCH (n) WITH count(n) AS nodes OPTIONAL MATCH ()-[r]->() RETURN nodes, count(r) AS edges"
KEYED = "CREATE INDEX FOR (n:{label}) ON (n._key)"
# Nodes come in the order of their file, as ties of a LIMIT follow it; so labels are set afterwards.
NODES = "UNWIND $rows AS row CREATE (n) SET n = row.properties, n._key = row.key RETURN id(n) AS id"
LABELLED = "UNWIND $ids AS id MATCH (n) WHERE id(n) = id SET n:{labels}"
MOMENT = "MATCH (n:{label}) WHERE n.{name} IS NOT NULL SET n.{name} = localdatetime(n.{name})"
POINT = "MATCH (n:{label}) WHERE n.{name} IS NOT NULL SET n.{name} = point(n.{name})"
EDGES = """
UNWIND $rows AS row
MATCH (a:{start} {{_key: row.start}}), (b:{end} {{_key: row.end}})
CREATE (a)-[r:{type}]->(b) SET r = row.properties
"""
UNKEYED = "DROP INDEX FOR (n:{label}) ON (n._key)"
WITHOUT_KEYS = "MATCH (n) SET n._key = NULL"
UNREADY = "CALL db.indexes() YIELD label, status WHERE status <> 'OPERATIONAL' RETURN count(label)"


def named(name: str) -> str:
    """A label, type or property name as Cypher wants it, whatever characters it has."""
    return "`" + name.replace("`", "") + "`"
