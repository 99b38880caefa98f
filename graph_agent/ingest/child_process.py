"""A child process that works on files and can be killed: both ends of its pipes.

A message is a JSON header and bytes after it, framed by their lengths; each has a deadline. Nothing that
comes back is unpickled or executed. A child ends by itself when its standard input ends, and with its
whole process group when it is killed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import orjson

import graph_agent
from graph_agent.ingest.convert.limits import MEGABYTE

FRAME = struct.Struct(">IQ")
"""Lengths of the JSON header and of the bytes after it."""

START_S = 20.0  # a cold child imports its parsers; charged to no file
_INHERITED = {
    *("PATH", "HOME", "LANG", "LANGUAGE", "TZ"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"),
    "TESSDATA_PREFIX",
}
"""What a child gets of this process's environment, with LC_*: what starts programs and finds their files."""
_MAX_HEADER = 1_024 * MEGABYTE
_PIPE = 1 << 18

Message: TypeAlias = tuple[dict[str, Any], bytes]


class ChildLost(Exception):
    """The child closed its pipe or missed a deadline (`late`)."""

    def __init__(self, *, late: bool) -> None:
        self.late = late
        super().__init__("late" if late else "gone")


class ChildProcess:
    """The parent's end. Not safe between threads.

    Args:
        module: run with `python -m`; it calls `serve`.
        setup: sent first; the child answers when it is ready to work.
        environment: variables besides those of this process that are harmless: it reads files that nobody
            vouches for, so keys and passwords are kept from it.
        patience_s: how long the start may take.

    Raises:
        ChildLost: it does not start.
    """

    def __init__(
        self,
        module: str,
        setup: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        *,
        patience_s: float = START_S,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True)
        variables = {
            **{name: value for name, value in os.environ.items() if _is_harmless(name)},
            "TMPDIR": self._folder.name,
            "OMP_NUM_THREADS": "1",
            **(environment or {}),
        }
        home = str(Path(graph_agent.__file__).parent.parent)  # found also when run from a checkout
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), home]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            cwd=self._folder.name,
            start_new_session=True,  # so that Ctrl-C is ours to handle, and its children die with it
        )
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        deadline = time.monotonic() + patience_s
        try:
            self.send(setup, b"", deadline)
            self.receive(deadline)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def send(self, header: Mapping[str, Any], body: bytes, deadline: float) -> None:
        """Send a message before `deadline`, a time of time.monotonic().

        Raises:
            ChildLost: the child is gone, or does not take it in time.
        """
        packed = orjson.dumps(header)
        self._write(FRAME.pack(len(packed), len(body)) + packed, deadline)
        self._write(body, deadline)

    def receive(self, deadline: float) -> Message:
        """The child's next message.

        Raises:
            ChildLost: the child is gone, or does not answer before `deadline`.
        """
        frame = self._read(FRAME.size, deadline)
        header, body = FRAME.unpack(frame)
        if header > _MAX_HEADER or body > _MAX_HEADER:
            raise ChildLost(late=False)
        answer = orjson.loads(self._read(header, deadline))
        return (answer if isinstance(answer, dict) else {}), self._read(body, deadline)

    def ask(self, header: Mapping[str, Any], body: bytes, deadline: float) -> Message:
        """Send a message and wait for the answer.

        Raises:
            ChildLost: no answer before `deadline`.
        """
        self.send(header, body, deadline)
        return self.receive(deadline)

    def stop(self) -> None:
        """End the child from another thread: the one that waits for it gets a `ChildLost`, and has to `kill`."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> int | None:
        """End the child and all it started; its exit code if it had ended by itself."""
        child = self._process
        code = child.poll()
        if code is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = child.wait(0.05)  # a crash may be a moment ahead of its exit code
        self.stop()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        child.wait()
        self._folder.cleanup()
        return code

    def _write(self, data: bytes, deadline: float) -> None:
        if self._process.stdin is None or self._process.stdin.closed:
            raise ChildLost(late=False)
        view = memoryview(data)
        descriptor = self._process.stdin.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_WRITE)
            while view:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not selector.select(remaining):
                    raise ChildLost(late=True)
                try:
                    view = view[os.write(descriptor, view[:_PIPE]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise ChildLost(late=False) from None

    def _read(self, size: int, deadline: float) -> bytes:
        if self._process.stdout is None or self._process.stdout.closed:
            raise ChildLost(late=False)
        buffer = bytearray()
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while len(buffer) < size:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not selector.select(remaining):
                    raise ChildLost(late=True)
                try:
                    block = os.read(descriptor, min(_PIPE, size - len(buffer)))
                except BlockingIOError:
                    continue
                if not block:
                    raise ChildLost(late=False)
                buffer += block
        return bytes(buffer)


def _is_harmless(name: str) -> bool:
    return name in _INHERITED or name.startswith("LC_")


class Channel:
    """The child's end: reads requests from standard input, writes answers to standard output.

    Libraries that print, or that read standard input, must not touch the frames: while a channel is open
    both lead to nowhere.
    """

    def __init__(self) -> None:
        self._source: BinaryIO = os.fdopen(os.dup(0), "rb")
        self._answers: BinaryIO = os.fdopen(os.dup(1), "wb")
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)

    def read(self) -> Message | None:
        """The next message; None when the parent is gone."""
        frame = self._source.read(FRAME.size)
        if len(frame) < FRAME.size:
            return None
        header, body = FRAME.unpack(frame)
        return orjson.loads(self._source.read(header)), self._source.read(body)

    def write(self, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message; one that is no valid Unicode becomes an error about the file."""
        try:
            packed = orjson.dumps(header)
        except (TypeError, UnicodeError) as error:
            packed = orjson.dumps({"error": f"the converted text is not valid Unicode: {error}"})
        self._answers.write(FRAME.pack(len(packed), len(body)) + packed)
        self._answers.write(body)
        self._answers.flush()


def give_up_after(seconds: float) -> None:
    """End this process after a time, 0 for never: should the parent be gone when a file hangs."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def bound_memory(megabytes: int) -> None:
    """Limit the address space; only the soft limit, which LibreOffice, started from here, lifts for itself."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * MEGABYTE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def peak_mb() -> float:
    """Largest resident memory of this process so far, in MiB.

    Linux counts in `ru_maxrss` what the parent held when it started this process (getrusage(2) keeps the mark
    over exec), so a large parent would make every child look large: there the kernel's own mark of this
    program is read.
    """
    import resource

    with (
        contextlib.suppress(OSError, StopIteration, ValueError),
        open("/proc/self/status", encoding="ascii") as status,
    ):
        return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) / 1_024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MEGABYTE if sys.platform == "darwin" else 1_024)


def reason_of(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer of some work on a file, or what went wrong with it as a fact about the file."""
    from graph_agent.errors import UnreadableFile

    try:
        return work()
    except UnreadableFile as error:
        return {"error": error.message, "fix": error.fix}
    except MemoryError:
        return {"error": "conversion needs more memory than the limit allows.", "restart": True}
    except RecursionError:
        return {"error": "nested too deeply to be converted."}
    except Exception as error:  # noqa: BLE001 (any fault of a parser is a fact about the file)
        return {"error": f"damaged or not understood: {type(error).__name__}: {str(error)[:200]}"}
