"""Statements of the document navigation tools: outlines, openings, section texts."""

from __future__ import annotations

_OUTLINE = """
RETURN s.section_id AS section_id, s.sequence AS sequence, s.title AS title, s.level AS level, s.kind AS kind,
       s.parent_section_id AS parent_id, s.page_start AS page_start, s.page_end AS page_end,
       s.description AS description, left(s.text, 600) AS opening
"""
_MORE = """,
       s.summary AS summary, s.keywords AS keywords, s.token_count AS tokens,
       CASE WHEN s.text CONTAINS '|' THEN s.text ELSE NULL END AS table_text
"""
_IN_ORDER = " ORDER BY s.sequence, s.section_id"
_BY_TEXT = "MATCH (s:MarkdownSection {markdown_hash: $markdown_hash})"
# Graphs of an older schema: sections that only the edges tie to their document.
_BY_EDGES = """
MATCH (d:Document {content_hash: $content_hash})-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s)
WITH DISTINCT s
"""
OUTLINE = _BY_TEXT + _OUTLINE + _IN_ORDER
OUTLINE_WITH_SUMMARIES = _BY_TEXT + _OUTLINE + _MORE + _IN_ORDER
OUTLINE_BY_EDGES = _BY_EDGES + _OUTLINE + _IN_ORDER
OUTLINE_BY_EDGES_WITH_SUMMARIES = _BY_EDGES + _OUTLINE + _MORE + _IN_ORDER

# The first sections of documents, for a line about each.
OPENINGS = """
UNWIND $hashes AS hash
MATCH (s:MarkdownSection {markdown_hash: hash})
WHERE s.sequence < 3
RETURN hash, s.sequence AS sequence, left(s.text, 600) AS opening
ORDER BY hash, sequence
"""

SECTION_TEXTS = """
UNWIND $ids AS id
MATCH (s:MarkdownSection {section_id: id})
RETURN id, s.title AS title, s.level AS level, s.kind AS kind, s.text AS text, s.start_line AS start_line,
       s.page_start AS page_start, s.page_end AS page_end, s.markdown_hash AS markdown_hash
"""

LABEL_DESCRIPTIONS = "MATCH (l:Label) RETURN l.facet AS facet, l.value AS value, l.description AS description, l.question AS question"
COUNT_VECTORS = "MATCH (c:SectionChunk) WHERE c.embedding IS NOT NULL RETURN count(c)"

# The nodes of passages, and the vector index of a graph that is not ours.
CHUNK_NODES = (
    "UNWIND $ids AS id MATCH (c:SectionChunk {chunk_id: id}) RETURN id, id(c) AS node, labels(c) AS labels"
)
