"""Conversations in Postgres: as tidy as in a file, and taken up again after the server was restarted."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from graph_agent.agent import GraphAgent
from graph_agent.agent.checkpoints import TidySaver, open_saver, sqlite_saver
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext


def programs() -> Path | None:
    """The folder of Postgres' own programs, with one that makes a database."""
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).parent if found else installed[-1].parent if installed else None


class Server:
    """A Postgres server of the test's own."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self._folder, self._bin = folder, bin_folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._user = {"user": "nobody"} if os.getuid() == 0 else {}  # it refuses to run as root
        if self._user:
            shutil.chown(folder, "nobody")
        self._run("initdb", "-D", str(folder / "data"), "-U", "test", "-A", "trust")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://test@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c fsync=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", "immediate", "stop")

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(self._bin / name), *arguments]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **self._user
        )


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("langgraph.checkpoint.postgres", exc_type=ImportError)
    found = programs()
    if found is None:
        pytest.skip("this system has no Postgres")
    # Not pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        running = Server(Path(folder), found)
        yield running
        running.stop()


def count(saver: Any, table: str) -> int:
    with saver._cursor() as cursor:
        return int(cursor.execute(f"SELECT count(*) AS n FROM {table}").fetchone()["n"])


def test_a_conversation_in_postgres(
    server: Server, sample_graph: DocumentGraph, sample: ToolContext, engine_settings: Settings
) -> None:
    settings = engine_settings.model_copy(update={"checkpoints": SecretStr(server.url)})
    with GraphAgent(sample_graph, settings, tool_context=sample) as agent:
        saver: Any = agent._saver
        agent.ask("Who gets forgotten pets?", "talk")
        blobs = count(saver, "checkpoint_blobs")
        for question in ("And umbrellas?", "Who gets forgotten pets?"):
            agent.ask(question, "talk")
        assert len(agent.turns("talk")) == 3
        assert count(saver, "checkpoints") == 1
        assert count(saver, "checkpoint_writes") <= 3
        assert count(saver, "checkpoint_blobs") <= blobs + 5
        server.stop()
        server.start()
        agent.ask("And umbrellas?", "talk")
        assert len(agent.turns("talk")) == 4
        agent.ask("Hello", "talk.2")
        agent.forget("talk", derived=True)
        assert saver.threads() == []
        assert count(saver, "checkpoint_blobs") == 0
    assert saver.conn.closed


def test_both_savers_are_tidy(server: Server, engine_settings: Settings, tmp_path: Path) -> None:
    for saver in (
        open_saver(engine_settings.model_copy(update={"checkpoints": SecretStr(server.url)})),
        sqlite_saver(tmp_path / "talks.sqlite"),
    ):
        assert isinstance(saver, TidySaver)
        saver.close()
        saver.close()
