"""Statements about the graph's own make-up: labels, indexes, constraints, version."""

from __future__ import annotations

SCHEMA_VERSION = 2
"""Of the graphs that this program writes; migrations.py says what each version brought."""
VECTOR_LABEL = "SectionChunk"
VECTOR_PROPERTY = "embedding"

GRAPH_VERSION = "MATCH (m:GraphMeta) RETURN m.graph_version LIMIT 1"

WRITTEN_BY = "MATCH (m:GraphMeta) RETURN m.schema_version, m.written_by LIMIT 1"

META = """
MATCH (m:GraphMeta)
RETURN m.schema_version AS schema_version, m.embedding_model AS embedding_model, m.dimension AS dimension,
       m.graph_version AS graph_version, m.chunk_tokens AS chunk_tokens, m.chunk_overlap AS chunk_overlap,
       m.written_by AS written_by
LIMIT 1
"""

CREATE_META = """
MERGE (m:GraphMeta)
ON CREATE SET m.schema_version = $schema_version, m.graph_version = 1, m.embedding_model = $embedding_model,
  m.dimension = $dimension, m.chunk_tokens = $chunk_tokens, m.chunk_overlap = $chunk_overlap,
  m.written_by = $written_by
"""

SET_SCHEMA_VERSION = "MATCH (m:GraphMeta) SET m.schema_version = $schema_version, m.written_by = $written_by"

# Schema 2: graphs remember what a killed sync still owes. Older ones did not, so they may owe all of it.
OWE_EVERYTHING = """
MATCH (m:GraphMeta)
SET m.unsettled = coalesce(m.unsettled, true), m.untidy = coalesce(m.untidy, true)
"""

RELATIONSHIPS = ("CONTAINS", "HAS_SECTION", "HAS_SUBSECTION", "HAS_CHUNK", "LINKS_TO", "LABELLED")
# A query that was planned before a relationship type existed, and waits while the first of the type are written, gives
# null for their properties (FalkorDB 4.16.3: in 12 of 60 first syncs with readers). So all types are there from
# the start: what this makes and deletes in one step nobody sees.
CREATE_TYPES = (
    "CREATE (a), (b) "
    + " ".join(f"CREATE (a)-[:{kind}]->(b)" for kind in RELATIONSHIPS)
    + " WITH a, b DELETE a, b"
)

INDEXES = "CALL db.indexes() YIELD label, properties, types, status, entitytype"
CONSTRAINTS = "CALL db.constraints() YIELD type, label, properties, status"
STATISTICS = "CALL db.meta.stats()"

# Range indexes: (label, property). Those that are keys get a unique constraint as well.
KEYS = (
    ("Folder", "folder_id"),
    ("Document", "content_hash"),
    ("MarkdownSection", "section_id"),
    ("SectionChunk", "chunk_id"),
)
RANGES = (
    *KEYS,
    ("Document", "markdown_hash"),
    ("MarkdownSection", "markdown_hash"),
    ("SectionChunk", "markdown_hash"),
    ("Label", "facet"),
)
CREATE_RANGE = "CREATE INDEX FOR (n:{label}) ON (n.{property})"

FULL_TEXT_LABEL = "MarkdownSection"
FULL_TEXT_PROPERTIES = ("title", "text")
CREATE_FULL_TEXT = "CREATE FULLTEXT INDEX FOR (n:MarkdownSection) ON (n.title, n.text)"

# M and efConstruction as measured at 100,000 chunks; efRuntime 50 finds all of the true top ten there.
CREATE_VECTOR = (
    "CREATE VECTOR INDEX FOR (n:SectionChunk) ON (n.embedding) "
    "OPTIONS {{dimension: {dimension}, similarityFunction: 'cosine', M: 16, efConstruction: 200, efRuntime: 50}}"
)
DROP_VECTOR = "DROP VECTOR INDEX FOR (n:SectionChunk) ON (n.embedding)"

COUNT_VECTORS = "MATCH (c:SectionChunk) WHERE c.embedding IS NOT NULL RETURN count(c)"
