"""Statements that look at any graph's make-up; each is bounded in rows, and run with a time limit.

Labels, types and property names of a stranger's graph cannot be parameters in Cypher, so they are pasted
here and nowhere else, quoted by `quoted`: FalkorDB knows no name with a backtick in it.
"""

from __future__ import annotations

STATISTICS = "CALL db.meta.stats()"
INDEXES = "CALL db.indexes() YIELD label, types, entitytype, options"
PROPERTY_KEYS = "CALL db.propertyKeys()"

ALL_TRIPLES = (
    "MATCH (a)-[r]->(b) RETURN labels(a) AS source, type(r) AS type, labels(b) AS target, count(*) AS count"
)

# Finds the ends of a label's range of node ids without reading the label: see survey._windows.
NODE_FROM = "MATCH (n:{label}) WHERE id(n) >= $first RETURN id(n) AS id LIMIT 1"

TRIPLES_FROM = """
MATCH (a:{label}) WHERE id(a) >= $first WITH a LIMIT $nodes
MATCH (a)-[r]->(b) WITH a, r, b LIMIT $edges
RETURN labels(a) AS source, type(r) AS type, labels(b) AS target, count(*) AS count
"""
TRIPLES_OF_TYPE = """
MATCH (a)-[:{type}]->(b) WITH a, b LIMIT $edges
RETURN labels(a) AS source, labels(b) AS target, count(*) AS count
"""

_NODES_FROM = "MATCH (n:{label}) WHERE id(n) >= $first WITH n LIMIT $nodes"
_EDGES_FROM = "MATCH (:{label})-[n:{type}]->() WITH n LIMIT $nodes"
_TYPES = " UNWIND keys(n) AS k RETURN k AS name, typeOf(n[k]) AS type, count(*) AS count"
# Text is cut before it is compared and sent: a property may hold megabytes.
_STRINGS = (
    " UNWIND keys(n) AS k WITH k, n[k] AS v WHERE typeOf(v) = 'String' "
    "RETURN k AS name, collect(DISTINCT left(v, $chars))[..$distinct] AS examples"
)
_OTHERS = (
    " UNWIND keys(n) AS k WITH k, n[k] AS v "
    "WHERE typeOf(v) IN ['Integer', 'Float', 'Boolean', 'Date', 'Time', 'Datetime', 'Duration', 'Point'] "
    "RETURN k AS name, collect(DISTINCT v)[..$distinct] AS examples"
)
_LISTS = (
    " UNWIND keys(n) AS k WITH k, n[k] AS v WHERE typeOf(v) = 'List' "
    "WITH k, v[..3] AS v RETURN k AS name, collect(DISTINCT v)[..3] AS examples"
)
NODE_TYPES, EDGE_TYPES = _NODES_FROM + _TYPES, _EDGES_FROM + _TYPES
NODE_STRINGS, EDGE_STRINGS = _NODES_FROM + _STRINGS, _EDGES_FROM + _STRINGS
NODE_OTHERS, EDGE_OTHERS = _NODES_FROM + _OTHERS, _EDGES_FROM + _OTHERS
NODE_LISTS, EDGE_LISTS = _NODES_FROM + _LISTS, _EDGES_FROM + _LISTS

DISTINCT_VALUES = """
MATCH (n:{label}) WHERE n.{property} IS NOT NULL
WITH DISTINCT n.{property} AS value LIMIT $distinct RETURN collect(left(value, $chars)) AS values
"""


def quoted(name: str) -> str:
    """A label, type or property name as Cypher reads it literally.

    Raises:
        ValueError: the name holds a backtick, which no name in FalkorDB can.
    """
    if "`" in name or not name:
        raise ValueError(f"{name!r} cannot be a name in FalkorDB")
    return f"`{name}`"
