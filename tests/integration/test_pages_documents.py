"""Uploaded documents without a page: what is deleted of them, and when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from graph_agent.errors import SyncInProgress
from graph_agent.store import DocumentGraph
from graph_agent.store.locking import sync_lock
from graph_agent.ui.documents import DocumentsPage
from graph_agent.ui.workspace import Workspace


@pytest.fixture
def workspace(engine: DocumentGraph, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with two uploaded documents."""
    graph = engine.select("pages-documents")
    with closing(Workspace(graph.settings.model_copy(update={"data": tmp_path}), graph)) as made:
        made.uploads.mkdir()
        for name in ("a", "b"):
            (made.uploads / f"{name}.md").write_text(f"# Title {name}\n\nText of {name}.\n", encoding="utf-8")
        made.ingestion.sync([made.uploads], "uploads")
        made.ingestion.wait(60)
        assert made.ingestion.job.report, made.ingestion.job.error
        yield made
    graph.drop()


def named(workspace: Workspace, filename: str) -> dict[str, str]:
    row = next(row for row in workspace.corpus().documents if row.filename == filename)
    return {"document": row.content_hash}


def test_a_removed_document_is_deleted_with_its_file(workspace: Workspace) -> None:
    DocumentsPage(workspace).take_away(named(workspace, "a.md"))
    workspace.ingestion.wait(60)
    assert workspace.ingestion.job.state == "done"
    assert [path.name for path in workspace.uploads.iterdir()] == ["b.md"]
    assert [row.filename for row in workspace.corpus().documents] == ["b.md"]


@pytest.mark.parametrize("what", ["document", "folder"])
def test_no_file_is_deleted_when_the_removal_cannot_run(workspace: Workspace, what: str) -> None:
    page = DocumentsPage(workspace)
    data = (
        named(workspace, "a.md")
        if what == "document"
        else {"folder": workspace.corpus().folders[0].folder_id}
    )
    with sync_lock(workspace.graph):
        page.take_away(data)
        workspace.ingestion.wait(60)
    assert workspace.ingestion.job.state == "failed"
    assert sorted(path.name for path in workspace.uploads.iterdir()) == ["a.md", "b.md"]
    assert len(workspace.corpus().documents) == 2


def test_no_file_is_deleted_while_another_job_runs(workspace: Workspace) -> None:
    page, data = DocumentsPage(workspace), named(workspace, "a.md")
    with sync_lock(workspace.graph):
        workspace.ingestion.sync([workspace.uploads], "uploads")
        with pytest.raises(SyncInProgress):
            page.take_away(data)
        assert (workspace.uploads / "a.md").exists()
    workspace.ingestion.wait(60)
