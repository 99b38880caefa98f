"""Settings from the environment and .env, and names that mean nothing."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path

import pytest

from graph_agent import settings as module
from graph_agent.retrieval.rerank import load_reranker
from graph_agent.settings import load_settings


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_told", set())
    for name in ("RERANK_API_KEY", "GRAPH_AGENT_RERANK_KEY", "GRAPH_AGENT_MCP_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["RERANK_API_KEY", "GRAPH_AGENT_RERANK_KEY"])
def test_a_reranker_gets_its_key_from_a_file_of_settings(tmp_path: Path, name: str) -> None:
    seen: list[str | None] = []

    class Endpoint(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            seen.append(self.headers["Authorization"])
            body = json.dumps({"results": [{"index": 0, "relevance_score": 1.0}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        (tmp_path / ".env").write_text(
            f"GRAPH_AGENT_RERANK=http://127.0.0.1:{server.server_port}/rerank\n{name}=key-of-file\n"
        )
        settings = load_settings()
        rerank = load_reranker(settings)
        assert rerank is not None
        rerank("q", ["text"])
    assert seen == ["Bearer key-of-file"]
    assert "key-of-file" not in repr(settings)


def test_the_token_of_the_tools_server_is_read_from_a_file_of_settings(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GRAPH_AGENT_MCP_TOKEN=token-of-sixteen-letters\n")
    token = load_settings().mcp_token
    assert token is not None
    assert token.get_secret_value() == "token-of-sixteen-letters"


def test_misspelt_names_are_told_once_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".env").write_text("GRAPH_AGENT_EMBEDDING=local\n")
    monkeypatch.setenv("GRAPH_AGENT_MODELL", "x")
    monkeypatch.setenv("GRAPH_AGENT_DATA", str(tmp_path))
    for _ in range(2):
        load_settings()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert any("GRAPH_AGENT_MODELL is no setting" in line and "GRAPH_AGENT_MODEL?" in line for line in told)
    assert any("GRAPH_AGENT_EMBEDDINGS?" in line for line in told)
