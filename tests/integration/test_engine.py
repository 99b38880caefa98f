"""The embedded engine: started once, shared, restarted after a kill, stopped by its last user."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graph_agent.errors import (
    BadArgument,
    ConfigurationError,
    EngineUnavailable,
    QueryError,
    QueryTimeout,
    SyncInProgress,
)
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph, embedded
from graph_agent.store.maintenance import compact
from graph_agent.store.schema import drop_vector_index, has_vector_index, rebuild_vector_index


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data=tmp_path / "data")


@pytest.fixture
def graph(settings: Settings) -> Iterator[DocumentGraph]:
    with DocumentGraph.open(settings) as opened:
        yield opened


def engine_pid(graph: DocumentGraph) -> int:
    assert graph.connection.lease is not None
    pid = graph.connection.lease.process_id()
    assert pid is not None
    return pid


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: object, timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def in_process(settings: Settings, body: str) -> subprocess.Popen[str]:
    """Another process with a graph open on the same data folder."""
    program = f"""
        from graph_agent.settings import load_settings
        from graph_agent.store import DocumentGraph
        import os, signal, sys, time
        graph = DocumentGraph.open(load_settings(data={str(settings.data)!r}))
        print("open", graph.connection.lease.process_id(), flush=True)
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program) + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


def test_an_unknown_graph_reads_as_empty(graph: DocumentGraph) -> None:
    assert graph.read("MATCH (n) RETURN n").rows == []
    assert graph.version() == 0
    assert not graph.exists()


def test_what_is_written_is_there_after_a_clean_stop(settings: Settings) -> None:
    with DocumentGraph.open(settings) as graph:
        graph.write("CREATE (:N {i: 1})")
        pid = engine_pid(graph)
    assert not alive(pid)
    with DocumentGraph.open(settings) as graph:
        assert graph.read("MATCH (n:N) RETURN n.i").rows == [[1]]
        assert not (settings.data / "engine" / "unclean").exists()


def test_two_processes_share_one_engine_and_the_last_one_stops_it(
    settings: Settings, graph: DocumentGraph
) -> None:
    pid = engine_pid(graph)
    other = in_process(settings, "sys.stdin.readline(); graph.close(); print('closed', flush=True)")
    assert other.stdout is not None
    assert other.stdout.readline().split() == ["open", str(pid)]
    graph.close()
    assert alive(pid), "the other process still uses it"
    other.communicate("go\n", timeout=20)
    assert wait_until(lambda: not alive(pid))


def test_a_killed_user_leaves_no_engine_behind(settings: Settings) -> None:
    other = in_process(settings, "time.sleep(60)")
    assert other.stdout is not None
    pid = int(other.stdout.readline().split()[1])
    other.kill()
    other.wait()
    assert wait_until(lambda: not alive(pid)), "the watchdog stops an engine that nobody uses"


def test_two_openings_at_once_start_one_engine(settings: Settings) -> None:
    pids: list[int] = []
    others = [in_process(settings, "sys.stdin.readline()") for _ in range(4)]
    for other in others:
        assert other.stdout is not None
        pids.append(int(other.stdout.readline().split()[1]))
    for other in others:
        other.communicate("\n", timeout=20)
    assert len(set(pids)) == 1


def test_a_read_after_a_kill_is_answered_and_nothing_is_lost(graph: DocumentGraph) -> None:
    graph.write("UNWIND range(1, 500) AS i CREATE (:N {i: i})")
    killed = engine_pid(graph)
    os.kill(killed, signal.SIGKILL)
    assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 500
    assert engine_pid(graph) != killed


def test_a_read_after_a_kill_of_the_watchdog_is_answered(graph: DocumentGraph, settings: Settings) -> None:
    graph.write("CREATE (:N)")
    os.kill(int((settings.data / "engine" / "watchdog.pid").read_text()), signal.SIGKILL)
    time.sleep(0.5)
    assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 1


def test_a_hung_engine_is_noticed_and_restarted_within_ten_seconds(graph: DocumentGraph) -> None:
    graph.write("CREATE (:N)")
    pid = engine_pid(graph)
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    assert wait_until(lambda: not alive(pid), 10.0)
    assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 1
    assert time.monotonic() - began < 12.0


def test_a_query_that_no_limit_ends_is_ended_within_ten_seconds(
    settings: Settings, graph: DocumentGraph, caplog: pytest.LogCaptureFixture
) -> None:
    """Limits are not looked at inside one expression: all the engine's workers are held, and nobody is answered."""
    graph.write("CREATE (:N)")
    pid = engine_pid(graph)
    told: list[tuple[float, Exception]] = []

    def ask() -> None:
        began = time.monotonic()
        try:
            graph.read("UNWIND range(1, 3000000000) AS x RETURN count(x)", timeout_ms=2_000)
        except (QueryTimeout, EngineUnavailable) as error:
            told.append((time.monotonic() - began, error))

    askers = [threading.Thread(target=ask) for _ in range(6)]
    for asker in askers:
        asker.start()
    time.sleep(0.5)
    assert wait_until(lambda: not alive(pid), 10.0)
    for asker in askers:
        asker.join()
    assert len(told) == 6
    assert any("restarted" in str(error) for _, error in told)
    assert graph.read("MATCH (n:N) RETURN count(n)").scalar() == 1
    assert (settings.data / "engine" / "engine.log").read_text().count("watchdog: engine ended") <= 2


def test_an_engine_that_builds_indexes_while_it_loads_is_left_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is silent for longer than a hang may be; killed each time, it would never start again."""
    monkeypatch.setattr(embedded, "HANG_S", 2.2)  # more than the time between two questions
    with DocumentGraph.open(settings) as graph:
        vectors = np.random.default_rng(1).normal(size=(6_000, 384)).astype(np.float32)
        for start in range(0, 6_000, 500):
            graph.write(
                "UNWIND range(0, 499) AS i CREATE (:SectionChunk {i: i, embedding: vecf32($v[i])})",
                arrays={"v": vectors[start : start + 500]},
            )
        rebuild_vector_index(graph, 384, wait=True)
        compact(graph.connection)
        os.kill(engine_pid(graph), signal.SIGKILL)
        assert graph.read("MATCH (c:SectionChunk) RETURN count(c)").scalar() == 6_000
    log = (settings.data / "engine" / "engine.log").read_text()
    assert "did not answer" not in log
    assert not (settings.data / "engine" / "loading").exists()


def test_a_write_is_never_sent_twice(graph: DocumentGraph) -> None:
    """The engine dies while it works on a write: the caller hears of it, and nothing repeats it."""
    graph.write("CREATE (:Start)")
    pid = engine_pid(graph)
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(EngineUnavailable):
        graph.write("UNWIND range(1, 20000000) AS i WITH i WHERE i % 1000000 = 0 CREATE (:Slow {i: i})")
    killer.join()
    assert graph.read("MATCH (n:Slow) RETURN count(n)").scalar() in (0, 20)


def test_reading_statements_cannot_write(graph: DocumentGraph) -> None:
    graph.write("CREATE (:N)")
    with pytest.raises(QueryError, match="read-only"):
        graph.read("CREATE (:N)")
    assert graph.read("MATCH (n) RETURN count(n)").scalar() == 1


def test_a_slow_query_is_stopped(graph: DocumentGraph) -> None:
    graph.write("UNWIND range(1, 2000) AS i CREATE (:N {i: i})")
    with pytest.raises(QueryTimeout):
        graph.read("MATCH (a:N), (b:N), (c:N) RETURN count(*)", timeout_ms=300)
    assert graph.read("RETURN 1").scalar() == 1


@pytest.mark.parametrize(
    "value",
    ['quote " and \\ back', "newline\n tab\t", "$x {y} `z`", "emoji 🌲", "'; MATCH (n) DETACH DELETE n //", "\u2028", "",
     [1, [2, "x"]], {"a b": {"c": [True, None]}}, 2**63 - 1, -(2**63), 1e-320, 0.1],
)  # fmt: skip
def test_parameters_come_back_as_they_were(graph: DocumentGraph, value: object) -> None:
    graph.write("CREATE (:N)")
    assert graph.read("RETURN $value", {"value": value}).scalar() == value


@pytest.mark.parametrize(
    "value", ["nul \x00", "half \ud800", float("nan"), float("inf"), 2**64, b"bytes", {1, 2}, {"`": 1}]
)
def test_parameters_that_would_be_garbled_are_refused(graph: DocumentGraph, value: object) -> None:
    with pytest.raises(BadArgument, match=r"\$value"):
        graph.read("RETURN $value", {"value": value})


def test_vectors_are_written_exactly(graph: DocumentGraph) -> None:
    vectors = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
    graph.write(
        "UNWIND range(0, 2) AS i CREATE (:V {i: i, e: vecf32($vectors[i])})", arrays={"vectors": vectors}
    )
    rows = graph.read("MATCH (v:V) RETURN v.e ORDER BY v.i").rows
    assert np.allclose(np.array([row[0] for row in rows], dtype=np.float32), vectors, atol=1e-6)


def test_the_socket_and_the_folder_are_private(graph: DocumentGraph, settings: Settings) -> None:
    assert graph.connection.lease is not None
    assert stat.S_IMODE((settings.data / "engine").stat().st_mode) == 0o700
    assert stat.S_IMODE(graph.connection.lease.socket_path.stat().st_mode) == 0o700


def test_a_long_data_path_still_gets_a_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60) / ("y" * 60)
    with DocumentGraph.open(load_settings(data=deep)) as graph:
        graph.write("CREATE (:N)")
        assert graph.read("MATCH (n) RETURN count(n)").scalar() == 1


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_data_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        DocumentGraph.open(load_settings(data=tmp_path / "data"))


def test_a_data_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        DocumentGraph.open(load_settings(data=tmp_path / "data"))


@pytest.mark.parametrize("url", ["http://localhost:6379", "falkor://", "localhost", "falkor://host:port"])
def test_an_address_that_is_none_is_refused(settings: Settings, url: str) -> None:
    with pytest.raises(ConfigurationError, match="GRAPH_AGENT_FALKORDB_URL"):
        DocumentGraph.open(load_settings(data=settings.data, falkordb_url=url))


def test_an_unreachable_server_is_unavailable_and_its_password_is_not_told(settings: Settings) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        DocumentGraph.open(load_settings(data=settings.data, falkordb_url="falkor://user:s3cret@127.0.0.1:9"))
    assert "127.0.0.1:9" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_lock_names_its_holder_and_a_dead_holder_gives_way(graph: DocumentGraph) -> None:
    with graph.keys.lock("sync-lock", "process 1 on elsewhere (a)"):
        with (
            pytest.raises(SyncInProgress, match="process 1 on elsewhere"),
            graph.keys.lock("sync-lock", "me (b)"),
        ):
            pass
        with graph.keys.lock("sync-lock", "me (c)", is_gone=lambda holder: "elsewhere" in holder):
            pass


def test_an_index_that_is_being_built_is_dropped_without_holding_up_the_engine(graph: DocumentGraph) -> None:
    vectors = np.random.default_rng(2).normal(size=(4_000, 384)).astype(np.float32)
    for start in range(0, 4_000, 500):
        graph.write(
            "UNWIND range(0, 499) AS i CREATE (:SectionChunk {i: i, embedding: vecf32($v[i])})",
            arrays={"v": vectors[start : start + 500]},
        )
    rebuild_vector_index(graph, 384)
    waits: list[float] = []
    done = threading.Event()

    def ping() -> None:
        while not done.is_set():
            began = time.monotonic()
            graph.connection.plain().ping()
            waits.append(time.monotonic() - began)
            time.sleep(0.02)

    pinging = threading.Thread(target=ping)
    pinging.start()
    drop_vector_index(graph)
    done.set()
    pinging.join()
    assert max(waits) < 1.0
    assert not has_vector_index(graph)
