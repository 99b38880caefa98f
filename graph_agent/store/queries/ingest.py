"""Statements of ingest: what is known, writing sections, the one step that makes documents visible, cleaning up."""

from __future__ import annotations

KNOWN_ROOTS = (
    "MATCH (f:Folder {kind: 'root'}) RETURN f.folder_id AS folder_id, f.name AS name, f.path AS path"
)

# Everything below one root, one row per place of a document.
KNOWN_PLACES = """
MATCH (r:Folder {folder_id: $root_id})-[:CONTAINS*0..]->(f:Folder)-[e:CONTAINS]->(d:Document)
RETURN f.folder_id AS folder_id, e.path AS path, e.modified_at AS modified_at, e.size AS size,
       d.content_hash AS content_hash, d.markdown_hash AS markdown_hash, d.converter AS converter,
       d.chunker AS chunker, d.date_source AS date_source, e.read_at AS read_at
"""

PRESENT_DOCUMENTS = """
UNWIND $hashes AS hash
MATCH (d:Document {content_hash: hash})<-[e:CONTAINS]-(:Folder)
RETURN d.content_hash AS content_hash, d.chunker AS chunker, d.title AS title, d.filename AS filename,
       count(e) AS places
"""

PRESENT_MARKDOWN = """
UNWIND $hashes AS hash
MATCH (d:Document {markdown_hash: hash})<-[:CONTAINS]-(:Folder)
RETURN DISTINCT d.markdown_hash AS markdown_hash
"""

MERGE_FOLDERS = """
UNWIND $folders AS row
MERGE (f:Folder {folder_id: row.folder_id})
ON CREATE SET f.name = row.name, f.path = row.path, f.kind = row.kind
WITH f, row
WHERE row.parent_id IS NOT NULL
MATCH (p:Folder {folder_id: row.parent_id})
MERGE (p)-[:CONTAINS]->(f)
"""

# Explicit CREATE, never MERGE and SET: on FalkorDB 4.16 a SET on a label with a vector index costs results,
# and the unique constraint turns a write sent twice into an error that changes nothing.
CREATE_SECTIONS = """
UNWIND $sections AS s
CREATE (n:MarkdownSection {section_id: s.section_id, markdown_hash: s.markdown_hash, sequence: s.sequence,
  title: s.title, level: s.level, kind: s.kind, text: s.text, token_count: s.token_count,
  start_line: s.start_line, page_start: s.page_start, page_end: s.page_end, description: s.description,
  description_source: s.description_source, breadcrumb: s.breadcrumb, parent_section_id: s.parent_section_id, links: s.links})
WITH n, s
UNWIND s.chunks AS c
CREATE (n)-[:HAS_CHUNK]->(:SectionChunk {chunk_id: c.chunk_id, index: c.index, markdown_hash: s.markdown_hash,
  text: c.text, token_count: c.token_count, start_line: c.start_line, page: c.page})
"""

LINK_SUBSECTIONS = """
UNWIND $pairs AS pair
MATCH (p:MarkdownSection {section_id: pair[0]}), (s:MarkdownSection {section_id: pair[1]})
CREATE (p)-[:HAS_SUBSECTION]->(s)
"""

ADD_CHUNKS = """
UNWIND $sections AS s
MATCH (n:MarkdownSection {section_id: s.section_id})
UNWIND s.chunks AS c
CREATE (n)-[:HAS_CHUNK]->(:SectionChunk {chunk_id: c.chunk_id, index: c.index, markdown_hash: s.markdown_hash,
  text: c.text, token_count: c.token_count, start_line: c.start_line, page: c.page})
"""

# What a change of places leaves to be done is noted in the same step, so that a killed run's is not forgotten:
# `unsettled`: documents' names, links; `untidy`: the vector index.
MARKS = "MATCH (m:GraphMeta) RETURN m.unsettled AS unsettled, m.untidy AS untidy"
MARK_UNTIDY = "MATCH (m:GraphMeta) SET m.untidy = true, m.graph_version = m.graph_version + 1"
MARK_SETTLED = "MATCH (m:GraphMeta) SET m.unsettled = false"
MARK_TIDY = "MATCH (m:GraphMeta) SET m.untidy = false"

# One query, so one step: before it nothing of the new text can be found, after it nothing of the old.
_MOVE_PLACES = """
MATCH (m:GraphMeta)
SET m.graph_version = m.graph_version + 1, m.unsettled = true, m.untidy = true
WITH m
UNWIND $documents AS row
OPTIONAL MATCH (:Folder {folder_id: row.old_folder_id})-[old:CONTAINS {path: row.old_path}]->(:Document)
DELETE old
WITH row
MATCH (f:Folder {folder_id: row.folder_id})
MERGE (d:Document {content_hash: row.content_hash})
MERGE (f)-[e:CONTAINS {path: row.path}]->(d)
SET e.filename = row.filename, e.modified_at = row.modified_at, e.size = row.size, e.read_at = row.read_at,
    e.source = row.source
"""
SHOW_PLACES = _MOVE_PLACES
# A document that was made anew from the same bytes must not keep a property, or a section, of its old text.
SHOW_DOCUMENTS = (
    _MOVE_PLACES
    + """
WITH d, row
SET d = row.properties
WITH d, row
OPTIONAL MATCH (d)-[stale:HAS_SECTION]->(s:MarkdownSection)
WHERE s.markdown_hash <> row.properties.markdown_hash
DELETE stale
WITH DISTINCT d, row
UNWIND row.top_sections AS section_id
MATCH (s:MarkdownSection {section_id: section_id})
MERGE (d)-[:HAS_SECTION]->(s)
"""
)

HIDE_PLACES = """
MATCH (m:GraphMeta)
SET m.graph_version = m.graph_version + 1, m.unsettled = true, m.untidy = true
WITH m
UNWIND $places AS place
MATCH (:Folder {folder_id: place.folder_id})-[e:CONTAINS {path: place.path}]->(:Document)
DELETE e
"""

TOUCH_PLACES = """
UNWIND $places AS place
MATCH (:Folder {folder_id: place.folder_id})-[e:CONTAINS {path: place.path}]->(:Document)
SET e.modified_at = place.modified_at, e.size = place.size, e.read_at = place.read_at
"""

ORPHAN_DOCUMENTS = (
    "MATCH (d:Document) WHERE NOT (d)<-[:CONTAINS]-(:Folder) RETURN d.content_hash AS content_hash"
)
COUNT_DOCUMENTS = "MATCH (:Folder)-[:CONTAINS]->(d:Document) RETURN count(DISTINCT d)"
SET_DATES = """
UNWIND $rows AS row
MATCH (d:Document {content_hash: row.content_hash})
SET d.date = row.date
"""
DELETE_DOCUMENTS = "UNWIND $hashes AS hash MATCH (d:Document {content_hash: hash}) DETACH DELETE d"
WRITTEN_MARKDOWN = "MATCH (s:MarkdownSection) RETURN DISTINCT s.markdown_hash AS markdown_hash"
VISIBLE_MARKDOWN = """
MATCH (:Folder)-[:CONTAINS]->(d:Document) RETURN DISTINCT d.markdown_hash AS markdown_hash
"""
DELETE_CHUNKS = "MATCH (c:SectionChunk {markdown_hash: $hash}) WITH c LIMIT 2000 DELETE c"
DELETE_SECTIONS = "MATCH (s:MarkdownSection {markdown_hash: $hash}) WITH s LIMIT 2000 DELETE s"
EMPTY_FOLDERS = "MATCH (f:Folder) WHERE NOT (f)-[:CONTAINS]->() DELETE f"
UNUSED_LABELS = "MATCH (l:Label) WHERE NOT (l)<-[:LABELLED]-() DELETE l"

DOCUMENT_PLACES = """
MATCH (:Folder)-[e:CONTAINS]->(d:Document)
WITH d, e.path AS path, e.filename AS filename, e.source AS source, e.modified_at AS modified_at
ORDER BY path, source
WITH d, collect({path: path, filename: filename, source: source, modified_at: modified_at})[0] AS first
WHERE d.path <> first.path OR d.source <> first.source
RETURN d.content_hash AS content_hash, first.path AS path, first.filename AS filename, first.source AS source,
       first.modified_at AS modified_at, d.filename AS old_filename, d.title AS title, d.date AS date,
       d.date_source AS date_source
"""
SET_PLACES = """
UNWIND $rows AS row
MATCH (d:Document {content_hash: row.content_hash})
SET d.path = row.path, d.filename = row.filename, d.source = row.source, d.title = row.title,
    d.date = row.date, d.date_source = row.date_source
"""

BUMP_VERSION = "MATCH (m:GraphMeta) SET m.graph_version = m.graph_version + 1"
# Links
LINK_SOURCES = """
MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection)
WHERE s.links IS NOT NULL
RETURN DISTINCT s.section_id AS section_id, s.links AS links, e.path AS path, e.source AS source
"""
LINK_TARGETS = """
MATCH (:Folder)-[e:CONTAINS]->(d:Document)
RETURN d.content_hash AS content_hash, d.markdown_hash AS markdown_hash, e.path AS path, e.source AS source,
       d.title AS title
"""
SECTION_TITLES = """
UNWIND $hashes AS hash
MATCH (s:MarkdownSection {markdown_hash: hash})
RETURN s.markdown_hash AS markdown_hash, s.section_id AS section_id, s.title AS title, s.sequence AS sequence
ORDER BY s.markdown_hash, s.sequence
"""
PRESENT_LINKS = """
MATCH (s:MarkdownSection)-[l:LINKS_TO]->(t)
RETURN s.section_id AS section_id, l.text AS text, t.content_hash AS document, t.section_id AS section
"""
CREATE_DOCUMENT_LINKS = """
UNWIND $rows AS row
MATCH (s:MarkdownSection {section_id: row[0]}), (d:Document {content_hash: row[1]})
CREATE (s)-[:LINKS_TO {text: row[2]}]->(d)
"""
CREATE_SECTION_LINKS = """
UNWIND $rows AS row
MATCH (s:MarkdownSection {section_id: row[0]}), (t:MarkdownSection {section_id: row[1]})
CREATE (s)-[:LINKS_TO {text: row[2]}]->(t)
"""
DELETE_DOCUMENT_LINKS = """
UNWIND $rows AS row
MATCH (s:MarkdownSection {section_id: row[0]})-[l:LINKS_TO {text: row[2]}]->(d:Document {content_hash: row[1]})
DELETE l
"""
DELETE_SECTION_LINKS = """
UNWIND $rows AS row
MATCH (s:MarkdownSection {section_id: row[0]})-[l:LINKS_TO {text: row[2]}]->(t:MarkdownSection {section_id: row[1]})
DELETE l
"""

# Labels
PRESENT_LABELS = """
MATCH (d:Document)-[r:LABELLED]->(l:Label)
RETURN d.content_hash AS content_hash, l.facet AS facet, l.value AS value, r.source AS source
"""
LABEL_SUBJECTS = """
MATCH (:Folder)-[:CONTAINS]->(d:Document)
RETURN DISTINCT d.content_hash AS content_hash, d.path AS path, d.source AS source, properties(d) AS properties
"""
LABELS = """
MATCH (l:Label) RETURN l.facet AS facet, l.value AS value, l.description AS description, l.question AS question
"""
MERGE_LABELS = """
UNWIND $rows AS row
MERGE (l:Label {facet: row[1], value: row[2]})
WITH l, row
MATCH (d:Document {content_hash: row[0]})
MERGE (d)-[r:LABELLED]->(l)
SET r.source = row[3], r.confidence = row[4]
"""
DELETE_LABELS = """
UNWIND $rows AS row
MATCH (d:Document {content_hash: row[0]})-[r:LABELLED]->(:Label {facet: row[1], value: row[2]})
DELETE r
"""
DESCRIBE_LABELS = """
UNWIND $rows AS row
MATCH (l:Label {facet: row[0], value: row[1]})
SET l.description = row[2], l.question = row[3]
"""

# Descriptions by a model
DESCRIBER = "MATCH (m:GraphMeta) RETURN m.described_by"
SET_DESCRIBER = "MATCH (m:GraphMeta) SET m.described_by = $name"
DOCUMENTS_TO_DESCRIBE = """
MATCH (:Folder)-[:CONTAINS]->(d:Document)
WITH DISTINCT d
RETURN d.content_hash AS content_hash, d.markdown_hash AS markdown_hash, d.path AS path, d.title AS title,
       d.token_count AS token_count, d.enriched AS enriched,
       d.fm_description IS NOT NULL OR d.fm_summary IS NOT NULL AS has_own
ORDER BY path, content_hash
"""
SECTIONS_TO_DESCRIBE = """
MATCH (s:MarkdownSection {markdown_hash: $hash})
RETURN s.section_id AS section_id, s.title AS title, s.level AS level, s.text AS text, s.breadcrumb AS breadcrumb,
       s.token_count AS token_count, s.description AS description, s.enriched AS enriched
ORDER BY s.sequence
"""
DESCRIBE_SECTIONS = """
UNWIND $rows AS row
MATCH (s:MarkdownSection {section_id: row.target})
SET s.description = row.description, s.description_source = 'model', s.summary = row.summary,
    s.keywords = row.keywords, s.enriched = row.key
"""
DESCRIBE_DOCUMENTS = """
UNWIND $rows AS row
MATCH (d:Document {content_hash: row.target})
SET d.summary = row.summary, d.keywords = row.keywords, d.enriched = row.key,
    d.description = CASE WHEN row.has_own THEN d.description ELSE row.description END,
    d.description_source = CASE WHEN row.has_own THEN d.description_source ELSE 'model' END
"""

# Vectors
WITHOUT_VECTORS = """
MATCH (:Folder)-[e:CONTAINS]->(d:Document)
WITH d.markdown_hash AS hash, min(e.path) AS path, min(d.chunker) AS chunker
MATCH (c:SectionChunk {markdown_hash: hash})
WHERE c.embedding IS NULL
RETURN hash, count(c) AS missing, chunker, path
ORDER BY path, hash
"""
CHUNKS_TO_EMBED = """
MATCH (s:MarkdownSection {markdown_hash: $hash})-[:HAS_CHUNK]->(c:SectionChunk)
RETURN c.chunk_id AS chunk_id, c.text AS text, s.breadcrumb AS breadcrumb, c.token_count AS token_count,
       c.embedding IS NULL AS missing
ORDER BY s.sequence, c.index
"""
# The text is compared: while a vector was computed, another process may have cut the document otherwise.
SET_VECTORS = """
UNWIND range(0, size($ids) - 1) AS i
MATCH (c:SectionChunk {chunk_id: $ids[i]})
WHERE c.text = $texts[i]
SET c.embedding = vecf32($vectors[i])
"""
CLEAR_VECTORS = (
    "MATCH (c:SectionChunk) WHERE c.embedding IS NOT NULL WITH c LIMIT 2000 SET c.embedding = NULL"
)
SET_EMBEDDING_MODEL = """
MATCH (m:GraphMeta)
SET m.embedding_model = $embedding_model, m.dimension = $dimension, m.graph_version = m.graph_version + 1
"""
