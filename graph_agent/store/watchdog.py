"""The embedded engine's parent process: starts redis-server, restarts it, stops it with its last user.

Runs as `python -I -S watchdog.py CONFIG.json` and imports the standard library only, so that it is up in
a few milliseconds and no fault of ours can take it down. It lives in a session of its own:

* `owner.lock` is held for its whole life: never two engines on one data folder.
* `users.lock` is held shared by every client process; the kernel frees it however a client ends. When an
  exclusive lock can be had, nobody uses the engine, and it is stopped.
* The engine gets SIGTERM from the kernel when this process dies (Linux), so no orphan stays.
* Every few seconds a graph query is asked of the engine (PING lies when the module hangs); no answer in
  `hang_s` seconds means kill and start again. AOF keeps every acknowledged write. While the engine loads its
  file it may be silent for as long as building the indexes of a graph takes (13 s were seen for one vector index
  of 15,000 chunks): until its first real answer, work counts as an answer, for `load_s` seconds at most. The
  file `loading` says so to clients.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

TICK_S = 0.25
PROBE_EVERY_S = 1.5
RESTARTS_PER_MINUTE = 5
PR_SET_PDEATHSIG = 1
PROBE = b"*3\r\n$14\r\nGRAPH.RO_QUERY\r\n$12\r\nhealth-probe\r\n$8\r\nRETURN 1\r\n"


class Watchdog:
    """One engine of one data folder, for as long as somebody uses it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.folder = Path(config["folder"])
        self.command: list[str] = config["command"]
        self.socket_path: str = config["socket"]
        self.hang_s = float(config["hang_s"])
        self.load_s = float(config["load_s"])
        self.loading = True
        self.started = 0.0
        self.ticks = 0
        self.child: subprocess.Popen[bytes] | None = None
        self.stopping = False
        self.restarts: list[float] = []
        self.last_answer = time.monotonic()
        self.last_probe = 0.0
        self.probe: socket.socket | None = None

    def run(self) -> int:
        owner = _locked(self.folder / "owner.lock", fcntl.LOCK_EX | fcntl.LOCK_NB)
        if owner is None:
            return 0  # another watchdog was faster; its engine serves
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        (self.folder / "watchdog.pid").write_text(str(os.getpid()))
        self._start()
        try:
            return self._watch()
        finally:
            self._end_child()
            owner.close()

    def _watch(self) -> int:
        users = open(self.folder / "users.lock", "ab")  # noqa: SIM115 - held until the process ends
        while not self.stopping:
            time.sleep(TICK_S)
            child = self.child
            if (
                child is not None
                and child.poll() is not None
                and not self._restart(f"exit code {child.returncode}")
            ):
                return 1
            self._probe()
            if self.loading and self._at_work():
                self.last_answer = time.monotonic()
            if time.monotonic() - self.last_answer > self.hang_s and not self._hung():
                return 1
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            return 0  # no user left; the lock is kept until the engine is down
        return 0

    def _start(self) -> None:
        marker = self.folder / "running"
        if marker.exists():
            # The last engine was not stopped cleanly: after a replay its indexes may miss nodes.
            (self.folder / "unclean").touch()
        marker.touch()
        self.loading = True
        (self.folder / "loading").touch()
        Path(self.socket_path).unlink(missing_ok=True)
        log = open(self.folder / "engine.log", "ab")  # noqa: SIM115 - given to the child
        self.child = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
        )
        log.close()
        (self.folder / "engine.pid").write_text(str(self.child.pid))
        self.started = self.last_answer = time.monotonic()

    def _at_work(self) -> bool:
        """Whether a silent engine is loading: it uses the processor or waits for its disk."""
        if self.child is None or time.monotonic() - self.started > self.load_s:
            return False
        try:
            facts = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return sys.platform != "linux"  # no such file there
        before, self.ticks = self.ticks, int(facts[11]) + int(facts[12])
        return self.ticks != before or facts[0] == "D"

    def _restart(self, reason: str) -> bool:
        now = time.monotonic()
        self.restarts = [moment for moment in self.restarts if now - moment < 60.0] + [now]
        self._note(f"engine ended ({reason}); start {len(self.restarts)} in this minute")
        if len(self.restarts) > RESTARTS_PER_MINUTE:
            (self.folder / "failed").write_text(reason)
            return False
        self._close_probe()
        self._start()
        return True

    def _hung(self) -> bool:
        self._note(f"engine did not answer a graph query for {self.hang_s:.0f} s; it is killed")
        if self.child is not None:
            self.child.kill()
            self.child.wait()
        return self._restart("hang")

    def _probe(self) -> None:
        """Ask for `RETURN 1` without waiting; any reply, an error or LOADING included, is a sign of life."""
        try:
            if self.probe is not None:
                try:
                    if answer := self.probe.recv(4096):
                        self.last_answer = time.monotonic()
                        self._note_answer(answer)
                        self.probe.setblocking(False)
                        self.last_probe = time.monotonic()
                        self._pending = False
                    else:
                        self._close_probe()
                except BlockingIOError:
                    pass
            now = time.monotonic()
            if self.probe is None:
                probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                probe.settimeout(0.2)
                probe.connect(self.socket_path)
                probe.setblocking(False)
                self.probe, self._pending = probe, False
            if not self._pending and now - self.last_probe >= (TICK_S if self.loading else PROBE_EVERY_S):
                self.probe.send(PROBE)
                self._pending, self.last_probe = True, now
        except OSError:
            self._close_probe()

    _pending = False

    def _note_answer(self, answer: bytes) -> None:
        if self.loading and not answer.startswith(b"-LOADING"):
            self.loading = False
            (self.folder / "loading").unlink(missing_ok=True)

    def _close_probe(self) -> None:
        if self.probe is not None:
            self.probe.close()
        self.probe, self._pending = None, False

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def _end_child(self) -> None:
        self._close_probe()
        child = self.child
        if child is None:
            return
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if child.returncode == 0:
            (self.folder / "running").unlink(missing_ok=True)
        for name in ("engine.pid", "watchdog.pid", "loading"):
            (self.folder / name).unlink(missing_ok=True)
        Path(self.socket_path).unlink(missing_ok=True)

    def _note(self, text: str) -> None:
        with open(self.folder / "engine.log", "a", encoding="utf-8") as log:
            log.write(f"watchdog: {text}\n")


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _locked(path: Path, how: int) -> BinaryIO | None:
    file = open(path, "ab")  # noqa: SIM115 - the lock lives as long as the file is open
    try:
        fcntl.flock(file, how)
    except OSError:
        file.close()
        return None
    return file


if __name__ == "__main__":
    sys.exit(Watchdog(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).run())
