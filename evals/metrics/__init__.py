"""Measures that need no model: rankings, answers, citations, rows of queries, and their statistics."""
