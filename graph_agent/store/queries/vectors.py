"""Statements of vector search over whichever vector index a graph has; names are quoted by the caller."""

from __future__ import annotations

INDEXES = "CALL db.indexes() YIELD label, types, options, status, entitytype"

NEAREST = "CALL db.idx.vector.queryNodes('{label}', '{property}', $k, vecf32($v)) YIELD node, score RETURN node, score"

# The engine's index loses results after a SET or DELETE on its label (FalkorDB 4.16): a scan is exact.
SCAN = """
MATCH (n:{label}) WHERE n.{property} IS NOT NULL
WITH n, vec.{distance}Distance(n.{property}, vecf32($v)) AS score
ORDER BY score, id(n) LIMIT $k
RETURN n AS node, score
"""
