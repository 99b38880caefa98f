"""Conversion in a process that can be killed: time, memory, crashes, and what comes back."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.registry import convert
from graph_agent.ingest.convert.worker import ConversionWorker, from_wire, to_wire

CSV = b"a,b,c\n" + b"1,two,3\n" * 5
HEAVY = b"a,b,c,d,e,f,g,h\n" + b"1,2,3,4,5,6,7,8\n" * 190_000  # some seconds of work


def child_of(worker: ConversionWorker) -> int:
    assert worker._child is not None
    return worker._child.pid


def test_the_answer_equals_a_conversion_in_process() -> None:
    with ConversionWorker() as worker:
        for data, name in ((CSV, "a.csv"), (b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hi\n", "a.vtt")):
            assert worker.convert(data, name) == convert(data, name)
        assert from_wire(to_wire(convert(CSV, "a.csv"))) == convert(CSV, "a.csv")


def test_one_child_serves_many_files_and_text_needs_none() -> None:
    with ConversionWorker() as worker:
        assert worker.convert(b"# Title\n", "a.md").markdown == "# Title\n"
        assert worker._child is None
        worker.convert(CSV, "a.csv")
        first = child_of(worker)
        worker.convert(CSV, "b.csv")
        assert child_of(worker) == first
        assert 10 < worker.peak_mb < 500
    assert worker._child is None
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_reasons_come_back_with_their_fix() -> None:
    with ConversionWorker() as worker:
        with pytest.raises(UnreadableFile) as caught:
            worker.convert(b"PK\x03\x04 nothing", "a.docx")
        assert "damaged Word document" in caught.value.message
        assert caught.value.fix
        with pytest.raises(UnreadableFile, match="empty file"):
            worker.convert(b"", "a.pdf")
        assert worker.convert(CSV, "a.csv").media_type == "text/csv"


def test_a_late_conversion_is_killed_and_the_next_works() -> None:
    with ConversionWorker(Limits(timeout_s=1.0)) as worker:
        worker.convert(CSV, "a.csv")
        first = child_of(worker)
        started = time.monotonic()
        with pytest.raises(UnreadableFile, match="longer than 1 s") as caught:
            worker.convert(HEAVY, "heavy.csv") if not _stop(first) else None
        assert time.monotonic() - started < 6
        assert "GRAPH_AGENT_FILE_TIMEOUT_S" in caught.value.fix
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        assert worker.convert(CSV, "b.csv").markdown
        assert child_of(worker) != first


def _stop(pid: int) -> bool:
    """Make the child hang for sure, whatever the machine's speed; False, so that it reads as a condition."""
    os.kill(pid, signal.SIGSTOP)
    return False


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_is_a_fact_about_the_file(number: signal.Signals) -> None:
    with ConversionWorker(Limits(timeout_s=30)) as worker:
        worker.convert(CSV, "a.csv")
        killer = threading.Timer(0.15, os.kill, (child_of(worker), number))
        killer.start()
        with pytest.raises(UnreadableFile, match=rf"crashed on it \(signal {int(number)}\)"):
            worker.convert(HEAVY, "heavy.csv")
        killer.join()
        assert worker.convert(CSV, "b.csv").markdown


def test_a_child_that_died_between_two_files_is_replaced() -> None:
    with ConversionWorker() as worker:
        worker.convert(CSV, "a.csv")
        os.kill(child_of(worker), signal.SIGKILL)
        time.sleep(0.1)
        assert worker.convert(CSV, "b.csv").markdown


def test_memory_is_bounded() -> None:
    with ConversionWorker(Limits(timeout_s=60, memory_mb=300)) as worker:
        data = b'["' + b"x" * 40_000_000 + b'"]'
        with pytest.raises(UnreadableFile, match=r"memory|crashed"):
            worker.convert(data, "a.json")
        assert worker.convert(CSV, "b.csv").markdown


def test_several_threads_share_one_worker() -> None:
    results: list[str] = []
    with ConversionWorker() as worker:
        threads = [
            threading.Thread(
                target=lambda n=n: results.append(worker.convert(b"a,b\n%d,x\n" % n, "a.csv").markdown)
            )
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == sorted(f"| a | b |\n| --- | --- |\n| {n} | x |\n" for n in range(8))


def test_lone_surrogates_and_odd_names_do_not_break_the_frames() -> None:
    with ConversionWorker() as worker:
        result = worker.convert(b'{"a": "\\ud800 x"}', "caf\udce9\n.json")
        result.markdown.encode("utf-8")


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs /proc to read a process's environment"
)
def test_keys_and_passwords_are_kept_from_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("OPENAI_API_KEY", "GRAPH_AGENT_FALKORDB_URL", "GRAPH_AGENT_PASSWORDS", "SOME_CLOUD_TOKEN")
    for name in secrets:
        monkeypatch.setenv(name, "do-not-show-this")
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    with ConversionWorker() as worker:
        assert worker.convert(CSV, "a.csv") == convert(CSV, "a.csv")
        given = Path(f"/proc/{child_of(worker)}/environ").read_bytes()
    names = {entry.partition(b"=")[0].decode() for entry in given.split(b"\0")}
    assert b"do-not-show-this" not in given
    assert not names & set(secrets)
    assert {"PATH", "LC_CTYPE", "TMPDIR"} <= names
