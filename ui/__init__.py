"""The pages in a browser: chat, documents, graph, console, evaluations. Gradio is loaded when they are served."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_agent.settings import Settings

__all__ = ["serve"]


def serve(
    settings: Settings, users: Path | None = None, root_path: str = "", sample: Path | None = None
) -> None:
    """Serve the pages until interrupted.

    Args:
        settings: host, port, graph, model.
        users: users file of `graph-agent user add`; then everybody has to log in.
        root_path: prefix of the proxy in front, such as "/documents".
        sample: documents to begin with when the graph is empty; read behind the page.

    Raises:
        ConfigurationError: the address is refused or taken, the users file or the data folder not usable.
        EngineUnavailable: the engine cannot be started or reached.
    """
    from graph_agent.store import DocumentGraph
    from graph_agent.terminal import note
    from graph_agent.ui.server import PageServer
    from graph_agent.ui.users import Users
    from graph_agent.ui.workspace import Workspace

    logins = Users(users) if users is not None else None
    with DocumentGraph.open(settings) as graph:
        workspace = Workspace(settings, graph, sample=sample, shared=logins is not None)
        try:
            server = PageServer(workspace, users=logins, root_path=root_path)
            if sample is not None and workspace.is_empty():
                workspace.load_sample()
            workspace.warm()
            note(f"The chat is at {server.url} (Ctrl-C ends it).")
            server.run()
        finally:
            workspace.close()
