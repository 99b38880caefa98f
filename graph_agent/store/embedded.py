"""A client's side of the embedded engine: find it or start it, hold a share of it, let go of it.

Files in `<data>/engine/`: `users.lock` (held shared by every client), `start.lock` (who may start it),
`owner.lock` (held by the watchdog), the engine's AOF, its log and its Unix socket. See watchdog.py.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.store.binaries import Binaries, check_needs, find_binaries
from graph_agent.store.engine_files import check_files

# sun_path holds 108 bytes on Linux and 104 on macOS, the closing NUL included.
SOCKET_PATH_LIMIT = 100
STOP_TIMEOUT_S = 35.0
HANG_S = 8.0  # silence of a running engine
LOAD_S = 600.0  # silence of one that loads its file and builds indexes on the way


class EngineLease:
    """This process's share of the engine of one data folder; the last one to close stops it."""

    def __init__(self, folder: Path, socket_path: Path, users: IO[bytes]) -> None:
        self.folder = folder
        self.socket_path = socket_path
        self._users: IO[bytes] | None = users

    def release(self) -> None:
        """Give the share back; stops the engine when nobody else holds one. May be called twice."""
        users, self._users = self._users, None
        if users is None:
            return
        try:
            fcntl.flock(users, fcntl.LOCK_UN)
            # Whoever gets the exclusive lock is the last; newcomers wait for it until the engine is down.
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            users.close()
            return
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self.folder / "watchdog.pid").read_text()), signal.SIGTERM)
        _wait_until_free(self.folder / "owner.lock", STOP_TIMEOUT_S)
        users.close()

    def process_id(self) -> int | None:
        """The engine's process id, None while it is down."""
        try:
            return int((self.folder / "engine.pid").read_text())
        except (OSError, ValueError):
            return None

    def loading(self) -> bool:
        """Whether the engine is reading its file; it may be silent for minutes then, building indexes."""
        return (self.folder / "loading").exists() and not _is_free(self.folder / "owner.lock")

    def restart(self) -> None:
        """Kill the engine, which its watchdog starts again; what was acknowledged is kept."""
        process = self.process_id()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def failure(self) -> str | None:
        """Why the watchdog gave up, None while it has not."""
        try:
            return (self.folder / "failed").read_text().strip()
        except OSError:
            return None

    def take_unclean_mark(self) -> bool:
        """True once after a start that followed a crash: indexes must be built again."""
        try:
            (self.folder / "unclean").unlink()
        except OSError:
            return False
        return True

    def revive(self) -> None:
        """Start the watchdog again if it is gone (killed); does nothing while it lives."""
        with _exclusive(self.folder / "start.lock"):
            _start_if_absent(self.folder, self.socket_path, None)


def lease_engine(data: Path, *, query_memory_mb: int) -> EngineLease:
    """Take a share of the engine of a data folder, starting it when nobody runs it.

    The engine may still be loading when this returns: connect with patience.

    Raises:
        ConfigurationError: the data folder cannot be used.
        EngineUnavailable: the engine cannot run on this machine; says what is missing.
    """
    folder = _engine_folder(data)
    check_files(folder)
    socket_path = _socket_path(folder)
    users = open(folder / "users.lock", "ab")  # noqa: SIM115 - the lock lives as long as the file is open
    fcntl.flock(users, fcntl.LOCK_SH)
    try:
        with _exclusive(folder / "start.lock"):
            _start_if_absent(folder, socket_path, query_memory_mb)
    except BaseException:
        users.close()
        raise
    return EngineLease(folder, socket_path, users)


def _start_if_absent(folder: Path, socket_path: Path, query_memory_mb: int | None) -> None:
    if not _is_free(folder / "owner.lock"):
        return
    config = folder / "watchdog.json"
    if query_memory_mb is not None:
        binaries = find_binaries()
        check_needs(binaries)
        _stop_orphan(folder)
        command = engine_command(binaries, folder, socket_path, query_memory_mb)
        config.write_text(
            json.dumps(
                {
                    "folder": str(folder),
                    "socket": str(socket_path),
                    "command": command,
                    "hang_s": HANG_S,
                    "load_s": LOAD_S,
                }
            )
        )
    (folder / "failed").unlink(missing_ok=True)
    with open(folder / "engine.log", "ab") as log:
        subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("watchdog.py")), str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=folder,
        )
    deadline = time.monotonic() + 10.0
    while _is_free(folder / "owner.lock"):
        if time.monotonic() > deadline:
            raise EngineUnavailable(
                f"The engine's watchdog did not start within 10 s (log: {folder / 'engine.log'}).",
                "Look at the end of that log.",
            )
        time.sleep(0.01)


def engine_command(binaries: Binaries, folder: Path, socket_path: Path, query_memory_mb: int) -> list[str]:
    """The command line of redis-server with the module: no TCP port, a private socket, an append-only file."""
    threads = max(4, os.cpu_count() or 1)
    return [
        str(binaries.server),
        *("--port", "0", "--unixsocket", str(socket_path), "--unixsocketperm", "700"),
        *("--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"),
        # Rewritten by us, at a moment without a vector index (see maintenance.py).
        *("--auto-aof-rewrite-percentage", "0"),
        # A tail cut by a crash is dropped with a log line instead of refusing to start.
        *("--aof-load-truncated", "yes", "--protected-mode", "yes", "--daemonize", "no"),
        *("--maxmemory-policy", "noeviction", "--loglevel", "warning", "--shutdown-timeout", "20"),
        "--loadmodule",
        str(binaries.module),
        # More workers than cores: one slow reader must not hold up the others.
        *("THREAD_COUNT", str(threads), "CACHE_SIZE", "100"),
        # Log what a query changed, not its text: replaying the text of vectors takes many times as long.
        *("EFFECTS_THRESHOLD", "0"),
        *("QUERY_MEM_CAPACITY", str(query_memory_mb * 1024 * 1024)),
        # LOAD CSV reads below this folder only; it stays empty.
        *("IMPORT_FOLDER", str(folder / "import") + "/"),
    ]


def _engine_folder(data: Path) -> Path:
    folder = data / "engine"
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "import").mkdir(exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        probe = folder / f"write-probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"The data folder {data} cannot be written ({error.strerror}).",
            "Give yourself write permission, or choose another with --data or GRAPH_AGENT_DATA.",
        ) from None
    return folder


def _socket_path(folder: Path) -> Path:
    path = folder / "engine.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    private = Path(tempfile.gettempdir()) / f"graph-agent-{os.getuid()}-{name}"
    private.mkdir(mode=0o700, exist_ok=True)
    if private.is_symlink() or private.stat().st_uid != os.getuid():
        raise ConfigurationError(
            f"The folder {private} for the engine's socket belongs to somebody else.",
            "Choose a shorter data folder with --data or GRAPH_AGENT_DATA.",
        )
    private.chmod(0o700)
    return private / "engine.sock"


def _stop_orphan(folder: Path) -> None:
    """End an engine that outlived its watchdog (possible where the kernel has no parent-death signal)."""
    try:
        process = int((folder / "engine.pid").read_text())
        os.kill(process, 0)
        # A process id may have been given to a stranger since.
        command = subprocess.run(
            ["ps", "-o", "command=", "-p", str(process)],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        ).stdout
        if "redis-server" not in command:
            return
        os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while time.monotonic() < deadline:
            os.kill(process, 0)
            time.sleep(0.05)
        os.kill(process, signal.SIGKILL)
    except (OSError, ValueError, subprocess.SubprocessError):
        return


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_free(path: Path) -> bool:
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def _wait_until_free(path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not _is_free(path) and time.monotonic() < deadline:
        time.sleep(0.02)
