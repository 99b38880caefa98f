"""Statements of the agent: whole sections of the passages that were found, and the place of a section's text."""

from __future__ import annotations

# One row per section; only of documents that are visible. The time of a file says nothing about what it holds.
SECTIONS = """
UNWIND $ids AS id
MATCH (s:MarkdownSection {section_id: id})
OPTIONAL MATCH (d:Document {markdown_hash: s.markdown_hash})<-[:CONTAINS]-(:Folder)
WITH s, d ORDER BY d.path
WITH s, head(collect(d)) AS d
WHERE d IS NOT NULL
RETURN s.section_id AS section_id, s.title AS title, s.level AS level, s.kind AS kind, s.text AS text,
       s.start_line AS start_line, s.page_start AS page, s.breadcrumb AS breadcrumb, s.token_count AS tokens,
       d.content_hash AS document_id, d.path AS path, d.title AS document,
       CASE WHEN d.date_source = 'file_time' THEN NULL ELSE d.date END AS date
"""
