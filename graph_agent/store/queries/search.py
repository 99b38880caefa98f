"""Statements of search: what is visible, texts of passages, vectors, containment."""

from __future__ import annotations

# Everything visible, one row per place of a document.
PLACES = """
MATCH (f:Folder)-[e:CONTAINS]->(d:Document)
RETURN d.content_hash AS content_hash, d.markdown_hash AS markdown_hash, f.folder_id AS folder_id, e.path AS path,
       e.filename AS filename, e.source AS source, d.path AS first_path, d.filename AS first_filename,
       d.title AS title, d.date AS date, d.language AS language, d.media_type AS media_type,
       d.description AS description, d.token_count AS token_count, d.section_count AS section_count,
       d.page_count AS page_count, d.chunker AS chunker
"""
FOLDERS = """
MATCH (f:Folder)
OPTIONAL MATCH (p:Folder)-[:CONTAINS]->(f)
RETURN f.folder_id AS folder_id, f.name AS name, f.path AS path, f.kind AS kind, p.folder_id AS parent_id
"""
LABELS = "MATCH (d:Document)-[:LABELLED]->(l:Label) RETURN d.content_hash AS content_hash, l.facet AS facet, l.value AS value"

# Chunks of whole texts, for the keyword index. A chunk of an older graph may have no section.
CHUNK_TEXTS = """
UNWIND $hashes AS hash
MATCH (c:SectionChunk {markdown_hash: hash})
OPTIONAL MATCH (s:MarkdownSection)-[:HAS_CHUNK]->(c)
RETURN hash, c.chunk_id AS chunk_id, c.text AS text, s.breadcrumb AS breadcrumb, s.title AS title
"""

# One row per passage that is shown.
PASSAGES = """
UNWIND $ids AS id
MATCH (c:SectionChunk {chunk_id: id})
OPTIONAL MATCH (s:MarkdownSection)-[:HAS_CHUNK]->(c)
RETURN id, c.text AS text, c.start_line AS start_line, c.page AS page, s.section_id AS section_id, s.title AS title,
       s.level AS level, s.kind AS kind, s.breadcrumb AS breadcrumb, s.page_start AS page_start
"""

EMBEDDING_MODEL = "MATCH (m:GraphMeta) RETURN m.embedding_model AS model, m.dimension AS dimension LIMIT 1"
VECTOR_COUNTS = """
UNWIND $hashes AS hash
MATCH (c:SectionChunk {markdown_hash: hash})
WHERE c.embedding IS NOT NULL
RETURN hash, count(c) AS present
"""
VECTORS = """
UNWIND $ids AS id
MATCH (c:SectionChunk {chunk_id: id})
WHERE c.embedding IS NOT NULL
RETURN id, c.embedding AS embedding
"""
SCAN_VECTORS = """
UNWIND $hashes AS hash
MATCH (c:SectionChunk {markdown_hash: hash})
WHERE c.embedding IS NOT NULL
WITH c.chunk_id AS chunk_id, vec.cosineDistance(c.embedding, vecf32($v)) AS distance
ORDER BY distance
LIMIT $k
RETURN chunk_id, distance
"""
COSINES_OF = """
UNWIND $ids AS id
MATCH (c:SectionChunk {chunk_id: id})
WHERE c.embedding IS NOT NULL
RETURN id, vec.cosineDistance(c.embedding, vecf32($v)) AS distance
"""
NEAREST = """
CALL db.idx.vector.queryNodes('SectionChunk', 'embedding', $k, vecf32($v)) YIELD node, score
RETURN node.chunk_id AS chunk_id, score AS distance
"""

# Containment: how many of the words stand in the title and in the text. $hashes narrows to a scope.
CONTAINING = """
UNWIND $hashes AS hash
MATCH (s:MarkdownSection {markdown_hash: hash})
WITH s, toLower(s.title) AS title, toLower(s.text) AS text
WITH s, size([w IN $words WHERE title CONTAINS w]) AS in_title, size([w IN $words WHERE text CONTAINS w]) AS in_text,
     size([w IN $words WHERE title CONTAINS w OR text CONTAINS w]) AS matched
WHERE matched > 0
RETURN s.section_id AS section_id, matched, in_title, in_text
ORDER BY matched DESC, in_title DESC, in_text DESC
LIMIT $limit
"""
