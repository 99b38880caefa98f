"""External servers: restarted, behind TLS, with users of few rights, of kinds that are not supported."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from folder_cases import command, quick, write
from servers import Server, tls_front

from graph_agent.embeddings import Embedder
from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext, call_tool

PASSWORD = "s3cr3t-Pässwörd/@:"
QUOTED = "s3cr3t-P%C3%A4ssw%C3%B6rd%2F%40%3A"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "server") as running:
        yield running


def at(url: str, folder: Path) -> Settings:
    return load_settings(data=folder / "data", falkordb_url=url, model="", embeddings="local")


def test_a_read_waits_for_a_server_that_is_restarted(server: Server, tmp_path: Path) -> None:
    with DocumentGraph.open(at(server.url, tmp_path)) as graph:
        graph.write("CREATE (:N)")
        server.kill()
        again = threading.Timer(2.0, server.start)
        again.start()
        began = time.monotonic()
        assert graph.read("RETURN 1").scalar() in (
            None,
            1,
        )  # this server keeps nothing: an empty graph, no error
        assert 1.5 < time.monotonic() - began < 15
        again.join()
        graph.write("CREATE (:N)")
        assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 1


def test_a_server_that_stays_away_is_told_in_time(server: Server, tmp_path: Path) -> None:
    with DocumentGraph.open(at(server.url, tmp_path)) as graph:
        graph.write("CREATE (:N)")
        server.kill()
        began = time.monotonic()
        with pytest.raises(EngineUnavailable, match="does not answer"):
            graph.read("RETURN 1")
        assert time.monotonic() - began < 40
        with pytest.raises(EngineUnavailable):
            graph.write("CREATE (:N)")


def test_tls_is_checked(server: Server, tmp_path: Path) -> None:
    with tls_front(tmp_path, server.port) as (port, certificate):
        trusted = f"falkors://localhost:{port}?ssl_ca_certs={certificate}"
        with DocumentGraph.open(at(trusted, tmp_path)) as graph:
            graph.write("CREATE (:N {text: $text})", {"text": "x" * 200_000})
            assert len(graph.read("MATCH (n:N) RETURN n.text").scalar()) == 200_000
        with pytest.raises(EngineUnavailable, match=r"(?i)certificate"):
            DocumentGraph.open(at(f"falkors://localhost:{port}", tmp_path))
        with pytest.raises(EngineUnavailable):
            DocumentGraph.open(at(f"falkors://localhost:{server.port}", tmp_path))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server whose users may: `agent` its graphs and keys, `reader` read only, nobody else anything."""
    rules = tmp_path / "users.acl"
    rules.write_text(
        "user default off\n"
        f"user agent on >{PASSWORD} ~documents* ~health-probe ~graph-agent:* +@all -@dangerous +info +module|list "
        "+graph.list +graph.delete\n"
        f"user reader on >{PASSWORD} ~documents ~health-probe +graph.ro_query +graph.list\n",
        encoding="utf-8",
    )
    with Server(tmp_path / "guarded", "--aclfile", str(rules)) as running:
        yield running


def test_a_user_with_the_rights_it_needs(guarded: Server, tmp_path: Path, embedder: Embedder) -> None:
    write(tmp_path, "corpus/a.md", "# A\n\nrefunds\n")
    url = f"falkor://agent:{QUOTED}@127.0.0.1:{guarded.port}"
    with DocumentGraph.open(at(url, tmp_path)) as graph:
        assert graph.engine.protected
        quick(graph, embedder, tmp_path / "corpus")
        assert graph.read("MATCH (d:Document) RETURN count(d)").scalar() == 1
    reader = f"falkor://reader:{QUOTED}@127.0.0.1:{guarded.port}"
    with DocumentGraph.open(at(reader, tmp_path)) as graph:
        context = ToolContext.open(graph, graph.settings)
        found = call_tool(context, "search_sections", {"query": "refunds", "mode": "bm25"})
        assert len(found.artifact["sections"]) == 1
        with pytest.raises(ConfigurationError, match="refused us"):
            graph.write("CREATE (:N)")


@pytest.mark.parametrize("login", ["agent:wrong@", "nobody:wrong@", ""])
def test_a_wrong_password_is_named_and_not_told(guarded: Server, tmp_path: Path, login: str) -> None:
    done = command("status", "--url", f"falkor://{login}127.0.0.1:{guarded.port}", data=tmp_path / "data")
    assert done.returncode == 2, done.stderr
    assert "refused us" in done.stderr
    assert "wrong" not in done.stderr.replace("WRONGPASS", "").replace("invalid username-password", "")


def test_status_recommends_a_password(server: Server, guarded: Server, tmp_path: Path) -> None:
    def problems(url: str) -> list[str]:
        with DocumentGraph.open(at(url, tmp_path)) as graph:
            return list(call_tool(ToolContext.open(graph, graph.settings), "status", {}).artifact["problems"])

    assert any("password" in problem for problem in problems(server.url))
    login = f"falkor://agent:{QUOTED}@127.0.0.1:{guarded.port}"
    assert not any("password" in problem for problem in problems(login))


@pytest.mark.parametrize("kind", ["cluster", "sentinel", "plain Redis"])
def test_what_is_not_supported_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / kind.replace(" ", "")
    folder.mkdir()
    arguments = {"cluster": ["--cluster-enabled", "yes"], "plain Redis": ["--save", ""]}.get(kind, [])
    if kind == "sentinel":
        (folder / "sentinel.conf").write_text("")
        arguments = [str(folder / "sentinel.conf"), "--sentinel"]
    with (
        Server(folder, *arguments, module=kind == "cluster") as running,
        pytest.raises(ConfigurationError) as caught,
    ):
        DocumentGraph.open(at(running.url, tmp_path))
    assert (kind if kind != "plain Redis" else "no FalkorDB") in str(caught.value)
    assert caught.value.exit_code == 2
