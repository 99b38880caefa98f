"""How commands end: exit codes, what goes to which stream, and never a traceback."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from graph_agent.agent import GraphAgent
from graph_agent.agent.response import AgentResponse, Failure
from graph_agent.cli import main
from graph_agent.cli.questions import ask


def test_an_answer_that_an_outage_prevented_ends_with_its_code_and_its_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = AgentResponse(
        question="q",
        answer="The engine does not answer.",
        answered=False,
        mode="extractive",
        notes=["2 files could not be read."],
        error=Failure(kind="EngineUnavailable", message="The engine does not answer.", exit_code=3),
    )
    monkeypatch.setattr(GraphAgent, "ask", lambda *_, **__: failed)
    with CliRunner().isolation() as (out, err, _):
        code = ask.main(["q", "--data", str(tmp_path)], standalone_mode=False)
        assert code == 3
        assert b"The engine does not answer." in out.getvalue()
        assert b"2 files could not be read." in err.getvalue()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), sqlite3.Error("bad")])
def test_what_the_system_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr("graph_agent.cli.cli.main", refuse)
    with pytest.raises(SystemExit) as ended:
        main(["status"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("graph-agent: ")


def test_a_terminal_sees_the_stages_and_the_answer_stays_alone_on_standard_output(tmp_path: Path) -> None:
    watched, terminal = pty.openpty()
    run = subprocess.run(
        [sys.executable, "-c", "from graph_agent.cli import main; main()", "ask", "What is a lantern?", "--data", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}, timeout=120,
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while piece := _read(watched):
        shown += piece
    os.close(watched)
    assert run.returncode == 1
    assert b"verify" in shown
    assert run.stdout.decode().strip()
    assert b"verify" not in run.stdout


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # how Linux tells that the other end was closed
        return b""
