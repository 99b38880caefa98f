"""Which running queries may be ended when a read gets no answer."""

from __future__ import annotations

import pytest

from graph_agent.store.connection import _writes


@pytest.mark.parametrize(
    ("query", "writes"),
    [
        ("CYPHER rows=[1] UNWIND $rows AS row MERGE (d:Document {content_hash: row})", True),
        ("MATCH (c:SectionChunk) SET c.embedding = vecf32([1])", True),
        ("MATCH (l:Label) WHERE NOT (l)<-[:LABELLED]-() DELETE l", True),
        ("UNWIND range(1, 300000000) AS x RETURN count(x)", False),
        ("MATCH (n) WHERE n.created > 1 RETURN n.settings", False),
    ],
)
def test_our_writes_are_told_from_reads(query: str, writes: bool) -> None:
    assert _writes(query) is writes
