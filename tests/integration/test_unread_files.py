"""Files that could not be read are owned up to, whatever else is synced after them."""

from __future__ import annotations

from pathlib import Path

from folder_cases import quick, write

from graph_agent.agent import GraphAgent
from graph_agent.embeddings import Embedder
from graph_agent.ingest import remove
from graph_agent.store import DocumentGraph
from graph_agent.store.keys import LAST_SYNC, UNREAD
from graph_agent.store.unread import unread
from graph_agent.tools import ToolContext, call_tool


def names(graph: DocumentGraph) -> list[str]:
    return sorted(Path(one["path"]).name for one in unread(graph.keys))


def test_a_sync_of_one_folder_forgets_nothing_of_another(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root in (one, two):
        write(root, "a.md", f"# Refunds\n\nThe shop {root.name} pays refunds.\n")
    for number in range(3):
        (one / f"bad{number}.pdf").write_bytes(b"%PDF-1.7\nno pdf")
    quick(empty_graph, embedder, one)
    quick(empty_graph, embedder, two)
    assert names(empty_graph) == ["bad0.pdf", "bad1.pdf", "bad2.pdf"]
    shown = call_tool(ToolContext(empty_graph), "status", {}).artifact["lastSync"]["failed"]
    assert len(shown) == 3
    assert shown[0]["reason"]
    with GraphAgent(empty_graph, empty_graph.settings) as agent:
        assert agent.ask("Who pays refunds?").coverage.unreadable == 3
    (one / "bad0.pdf").unlink()
    quick(empty_graph, embedder, one)
    assert names(empty_graph) == ["bad1.pdf", "bad2.pdf"]
    remove(empty_graph, [one])
    assert names(empty_graph) == []
    empty_graph.keys.delete(UNREAD)


def test_the_report_of_an_older_program_is_still_told(empty_graph: DocumentGraph) -> None:
    empty_graph.keys.set(LAST_SYNC, b'{"failed": [{"path": "/x/bad.pdf", "reason": "damaged"}]}')
    assert names(empty_graph) == ["bad.pdf"]
    empty_graph.keys.set(LAST_SYNC, b"{broken")
    assert names(empty_graph) == []
