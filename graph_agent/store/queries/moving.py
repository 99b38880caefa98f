"""Statements that read a whole graph in parts and write it again elsewhere, whatever its labels are."""

from __future__ import annotations

COUNT = "MATCH (n) RETURN count(n)"
SIZES = "MATCH (n) WITH count(n) AS nodes OPTIONAL MATCH ()-[e]->() RETURN nodes, count(e)"
SPAN = "MATCH (n) RETURN max(id(n))"

# Types that the client's values do not tell apart (a vector from a list of floats), or that JSON lacks.
_KINDS = (
    "[k IN keys({0}) WHERE NOT typeOf({0}[k]) IN ['String', 'Integer', 'Float', 'Boolean', 'List'] "
    "| [k, typeOf({0}[k])]]"
)
_TEXTS = "[k IN keys({0}) WHERE typeOf({0}[k]) IN ['Date', 'Datetime', 'Time', 'Duration'] | [k, toString({0}[k])]]"

NODES = f"""
MATCH (n) WHERE id(n) >= $start AND id(n) < $end
RETURN id(n) AS id, labels(n) AS labels, properties(n) AS properties,
       {_KINDS.format("n")} AS kinds, {_TEXTS.format("n")} AS texts
ORDER BY id
"""

EDGES = f"""
MATCH (a) WHERE id(a) >= $start AND id(a) < $end
MATCH (a)-[e]->(b)
RETURN id(e) AS id, type(e) AS type, id(a) AS source, id(b) AS target, properties(e) AS properties,
       {_KINDS.format("e")} AS kinds, {_TEXTS.format("e")} AS texts
ORDER BY id
"""

# Filled in with names that were checked and quoted, see rebuilding.py. Node ids are found in one step only
# when they stand in a variable of their own (FalkorDB 4.16 scans all nodes for `id(a) = row.a`).
CREATE_NODES = "UNWIND $rows AS r CREATE (n{labels}) SET n = r.p{more} RETURN r.id, id(n)"
CREATE_EDGES = """
UNWIND $rows AS r
WITH r, r.a AS source, r.b AS target
MATCH (a) WHERE id(a) = source
MATCH (b) WHERE id(b) = target
CREATE (a)-[e:{type}]->(b)
SET e = r.p{more}
"""

SET_VERSION = "MATCH (m:GraphMeta) SET m.graph_version = $version"
