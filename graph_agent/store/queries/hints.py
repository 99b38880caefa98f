"""Statements that look whether a name or a value of a query exists; names are quoted by the caller."""

from __future__ import annotations

ANY_NODE_WITH = "MATCH (n:{label}) WHERE n.{property} IS NOT NULL RETURN 1 LIMIT 1"
ANY_EDGE_WITH = "MATCH ()-[n:{type}]->() WHERE n.{property} IS NOT NULL RETURN 1 LIMIT 1"
PROPERTY_KEYS = "CALL db.propertyKeys()"

# Values that hold the text looked for, or that it holds, whatever the case.
SIMILAR_VALUES = """
MATCH (n:{label}) WHERE typeOf(n.{property}) = 'String'
WITH DISTINCT n.{property} AS value
WITH value, toLower(value) AS lower
WHERE lower CONTAINS $lower OR (size(lower) > 2 AND $lower CONTAINS lower)
RETURN value ORDER BY size(value), value LIMIT $values
"""
SOME_VALUES = """
MATCH (n:{label}) WHERE typeOf(n.{property}) = 'String'
WITH DISTINCT n.{property} AS value LIMIT $values RETURN left(value, 200) AS value
"""
# `operator` is one of =, CONTAINS, STARTS WITH and ENDS WITH.
ANY_MATCH = "MATCH (n:{label}) WHERE n.{property} {operator} $value RETURN 1 LIMIT 1"
