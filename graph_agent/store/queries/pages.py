"""Statements of the pages: a section with its place and neighbours, outlines, neighbourhoods, what can be asked."""

from __future__ import annotations

# One row when the section is visible. Several documents may share a text; the first place names it.
SECTION = """
MATCH (s:MarkdownSection {section_id: $section_id})
MATCH (:Folder)-[e:CONTAINS]->(d:Document {markdown_hash: s.markdown_hash})
WITH s, d, e ORDER BY e.path
WITH s, collect({document_id: d.content_hash, path: e.path, source: e.source, title: d.title,
                 filename: e.filename, media_type: d.media_type, page_count: d.page_count, date: d.date}) AS places
RETURN s.section_id AS section_id, s.markdown_hash AS markdown_hash, s.sequence AS sequence, s.title AS title,
       s.level AS level, s.kind AS kind, s.text AS text, s.start_line AS start_line, s.page_start AS page_start,
       s.page_end AS page_end, s.breadcrumb AS breadcrumb, s.token_count AS token_count, places
"""

NEIGHBOURS = """
MATCH (s:MarkdownSection {markdown_hash: $markdown_hash})
WHERE s.sequence IN [$sequence - 1, $sequence + 1]
RETURN s.section_id AS section_id, s.sequence AS sequence, s.title AS title
ORDER BY s.sequence
"""

# Where the links of some sections lead, by the words of the link.
LINKS = """
UNWIND $section_ids AS section_id
MATCH (:MarkdownSection {section_id: section_id})-[l:LINKS_TO]->(t)
RETURN l.text AS text, t.content_hash AS document_id, t.section_id AS section_id
LIMIT 500
"""

OUTLINE = """
MATCH (s:MarkdownSection {markdown_hash: $markdown_hash})
RETURN s.section_id AS section_id, s.sequence AS sequence, s.title AS title, s.level AS level, s.kind AS kind,
       s.parent_section_id AS parent_id, s.page_start AS page, s.token_count AS tokens, size(s.text) AS characters
ORDER BY s.sequence
LIMIT $limit
"""

SECTION_TEXTS = """
MATCH (s:MarkdownSection {markdown_hash: $markdown_hash})
WHERE s.sequence >= $first AND s.sequence < $first + $count
RETURN s.section_id AS section_id, s.title AS title, s.level AS level, s.kind AS kind, s.text AS text,
       s.sequence AS sequence, s.page_start AS page_start, s.start_line AS start_line
ORDER BY s.sequence
"""

# Titles that a first question can be made of: sections at the top of documents, long enough to say something.
QUESTION_SEEDS = """
MATCH (:Folder)-[:CONTAINS]->(d:Document)-[:HAS_SECTION]->(t:MarkdownSection)
OPTIONAL MATCH (t)-[:HAS_SUBSECTION]->(s:MarkdownSection)
WITH d, coalesce(s, t) AS section
WHERE size(section.text) > 120 AND section.title IS NOT NULL
RETURN d.content_hash AS document_id, d.title AS document, d.language AS language, section.title AS title,
       section.kind AS kind, section.section_id AS section_id
LIMIT 400
"""

KNOWN_ROOTS = """
MATCH (f:Folder {kind: 'root'})
RETURN f.name AS name, f.path AS path, f.kind AS kind, f.folder_id AS folder_id
ORDER BY f.path
"""

ANY_DOCUMENT = "MATCH (:Folder)-[:CONTAINS]->(d:Document) RETURN 1 LIMIT 1"

# Neighbourhoods for the picture of the graph: one row per relationship, captions instead of whole nodes.
_END = """
       CASE WHEN n:Document THEN 'document' WHEN n:MarkdownSection THEN 'section' WHEN n:Folder THEN 'folder'
            ELSE 'label' END AS kind,
       coalesce(n.content_hash, n.section_id, n.folder_id, n.facet + '=' + n.value) AS id,
       coalesce(n.title, n.name, n.facet + ': ' + n.value, n.filename, '') AS caption
"""
DOCUMENT_AROUND = f"""
MATCH (c:Document {{content_hash: $id}})-[r:CONTAINS|HAS_SECTION|LABELLED]-(n)
WITH type(r) AS type, n LIMIT $limit
RETURN type, {_END}
"""
DOCUMENT_SUBSECTIONS = f"""
MATCH (c:Document {{content_hash: $id}})-[:HAS_SECTION]->(p:MarkdownSection)-[r:HAS_SUBSECTION]->(n:MarkdownSection)
WITH p, type(r) AS type, n ORDER BY n.sequence LIMIT $limit
RETURN type, 'section ' + p.section_id AS source, {_END}
"""
# Documents that this one links to, or that link to it, with how often.
DOCUMENT_LINKS_OUT = f"""
MATCH (c:Document {{content_hash: $id}})
MATCH (s:MarkdownSection {{markdown_hash: c.markdown_hash}})-[:LINKS_TO]->(t)
MATCH (n:Document)<-[:CONTAINS]-(:Folder)
WHERE n.markdown_hash = coalesce(t.markdown_hash, '') AND n.content_hash <> c.content_hash
WITH DISTINCT n LIMIT $limit
RETURN 'LINKS_TO' AS type, {_END}
"""
DOCUMENT_LINKS_IN = f"""
MATCH (c:Document {{content_hash: $id}})
MATCH (s:MarkdownSection)-[:LINKS_TO]->(c)
MATCH (n:Document {{markdown_hash: s.markdown_hash}})<-[:CONTAINS]-(:Folder)
WHERE n.content_hash <> c.content_hash
WITH DISTINCT n LIMIT $limit
RETURN 'LINKS_TO' AS type, {_END}
"""
SECTION_AROUND = f"""
MATCH (c:MarkdownSection {{section_id: $id}})-[r:HAS_SECTION|HAS_SUBSECTION|LINKS_TO]-(n)
WITH type(r) AS type, n LIMIT $limit
RETURN type, {_END}
"""
FOLDER_AROUND = f"""
MATCH (c:Folder {{folder_id: $id}})-[r:CONTAINS]-(n)
WITH type(r) AS type, n LIMIT $limit
RETURN type, {_END}
"""
LABEL_AROUND = f"""
MATCH (c:Label {{facet: $facet, value: $value}})<-[r:LABELLED]-(n:Document)<-[:CONTAINS]-(:Folder)
WITH DISTINCT type(r) AS type, n LIMIT $limit
RETURN type, {_END}
"""
CAPTIONS = {
    "document": "MATCH (n:Document {content_hash: $id}) RETURN coalesce(n.title, n.filename) AS caption",
    "section": "MATCH (n:MarkdownSection {section_id: $id}) RETURN n.title AS caption",
    "folder": "MATCH (n:Folder {folder_id: $id}) RETURN n.name AS caption",
}
