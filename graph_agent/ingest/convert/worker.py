"""Conversion in a process of its own that can be killed: a bad file costs its time limit, never the sync.

The parent writes a request (a JSON header and the file's bytes) to the child's standard input and reads a
JSON answer from its standard output; both are framed by lengths and have a deadline. Nothing that comes
back is unpickled or executed. A child that is late, dies or grows is killed with its process group and
replaced at the next file.
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
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

import graph_agent
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.detect import detect
from graph_agent.ingest.convert.limits import MEGABYTE, Limits
from graph_agent.ingest.convert.registry import IN_PROCESS, convert
from graph_agent.ingest.document import Block, Converted

FRAME = struct.Struct(">IQ")
"""Lengths of the JSON header and of the bytes after it."""

_START_S = 20.0  # a cold child imports lxml and pdfium; charged to no file
_MAX_ANSWER = 256 * MEGABYTE
_RECYCLE_MB = 600  # libraries fragment memory: a child that once grew is not kept
_PIPE = 1 << 18


class _ChildLost(Exception):
    """The child closed its pipe or missed a deadline."""

    def __init__(self, late: bool) -> None:
        self.late = late
        super().__init__("late" if late else "gone")


class ConversionWorker:
    """Converts documents in a persistent child process; safe to use from several threads, one file at a time.

    Use as a context manager. The child starts at the first file that needs it. Markdown and plain text
    are converted in the calling process.

    Args:
        limits: time and memory of one file, passwords.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._peak_mb = 0.0

    def __enter__(self) -> ConversionWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def peak_mb(self) -> float:
        """Largest resident memory of any child so far, in MiB, as the child reported it."""
        return self._peak_mb

    def convert(self, data: bytes, name: str) -> Converted:
        """Convert one document (see `registry.convert`).

        Raises:
            UnreadableFile: as the converter says, or the conversion took too long, too much memory, or
                crashed.
        """
        if not data or detect(data, name) in IN_PROCESS:
            return convert(data, name, self.limits)
        with self._lock:
            try:
                answer = self._ask(data, name)
            except _ChildLost as lost:
                code = self._kill()
                raise self._lost(lost, code) from None
            except BaseException:
                self._kill()  # Ctrl-C in the middle: the child's answer would be taken for the next file's
                raise
            self._peak_mb = max(self._peak_mb, float(answer.get("peak_mb", 0.0)))
            if answer.get("restart") or answer.get("peak_mb", 0.0) > _RECYCLE_MB:
                self._kill()
        if "error" in answer:
            raise UnreadableFile(str(answer["error"]), str(answer.get("fix", "")))
        return from_wire(answer["converted"])

    def close(self) -> None:
        """End the child and remove its temporary files; the worker can be used again."""
        with self._lock:
            self._kill()

    # the child -------------------------------------------------------------------------------------

    def _ask(self, data: bytes, name: str) -> dict[str, Any]:
        child = self._running()
        header = orjson.dumps(
            {"name": name.encode("utf-8", "replace").decode(), "timeout_s": self.limits.timeout_s}
        )
        deadline = time.monotonic() + self.limits.timeout_s
        _send(child, FRAME.pack(len(header), len(data)) + header, deadline)
        _send(child, data, deadline)
        return _receive(child, deadline)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._kill()
        self._folder = tempfile.TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True)
        environment = {**os.environ, "TMPDIR": self._folder.name, "OMP_NUM_THREADS": "1"}
        home = str(Path(graph_agent.__file__).parent.parent)  # found also when run from a checkout
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), home]))
        command = [sys.executable, "-P", "-m", "graph_agent.ingest.convert.child"]
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=self._folder.name,
            start_new_session=True,  # so that Ctrl-C is ours to handle, and its children die with it
        )
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        deadline = time.monotonic() + max(_START_S, self.limits.timeout_s)
        setup = orjson.dumps(
            {
                "memory_mb": self.limits.memory_mb,
                "timeout_s": self.limits.timeout_s,
                "unpacked_mb": self.limits.unpacked_mb,
                "ratio": self.limits.ratio,
                "passwords": list(self.limits.passwords),
                "office": self.limits.office,
            }
        )
        _send(self._child, FRAME.pack(len(setup), 0) + setup, deadline)
        _receive(self._child, deadline)  # "ready": the imports are done before a file's clock starts
        return self._child

    def _kill(self) -> int | None:
        """End the child and all it started; its exit code if it had ended by itself."""
        child, self._child = self._child, None
        code = None
        if child is not None:
            code = child.poll()
            if code is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = child.wait(0.05)  # a crash may be a moment ahead of its exit code
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            child.wait()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        return code

    def _lost(self, lost: _ChildLost, code: int | None) -> UnreadableFile:
        if lost.late:
            return UnreadableFile(
                f"conversion took longer than {self.limits.timeout_s:g} s and was stopped.",
                "Raise GRAPH_AGENT_FILE_TIMEOUT_S if the file is worth it.",
            )
        if code == -signal.SIGALRM:
            return UnreadableFile(f"conversion took longer than {self.limits.timeout_s:g} s and was stopped.")
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return UnreadableFile(f"the converter crashed on it ({how}); the file is probably damaged.")


def _send(child: subprocess.Popen[bytes], data: bytes, deadline: float) -> None:
    if child.stdin is None:
        raise _ChildLost(late=False)
    view = memoryview(data)
    descriptor = child.stdin.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_WRITE)
        while view:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not selector.select(remaining):
                raise _ChildLost(late=True)
            try:
                view = view[os.write(descriptor, view[:_PIPE]) :]
            except BlockingIOError:
                continue
            except OSError:
                raise _ChildLost(late=False) from None


def _receive(child: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
    buffer = bytearray()
    _read_into(child, buffer, FRAME.size, deadline)
    header, body = FRAME.unpack(bytes(buffer))
    if header + body > _MAX_ANSWER:
        raise _ChildLost(late=False)
    del buffer[:]
    _read_into(child, buffer, header + body, deadline)
    answer = orjson.loads(buffer)
    return answer if isinstance(answer, dict) else {}


def _read_into(child: subprocess.Popen[bytes], buffer: bytearray, size: int, deadline: float) -> None:
    if child.stdout is None:
        raise _ChildLost(late=False)
    descriptor = child.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while len(buffer) < size:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not selector.select(remaining):
                raise _ChildLost(late=True)
            try:
                block = os.read(descriptor, min(_PIPE, size - len(buffer)))
            except BlockingIOError:
                continue
            if not block:
                raise _ChildLost(late=False)
            buffer += block


def to_wire(result: Converted) -> dict[str, Any]:
    """A `Converted` as JSON types."""
    return {
        "markdown": result.markdown,
        "media_type": result.media_type,
        "converter": result.converter,
        "title": result.title,
        "language": result.language,
        "page_count": result.page_count,
        "metadata": dict(result.metadata),
        "blocks": [[b.start, b.end, b.kind, b.title, b.level, b.page] for b in result.blocks],
        "pages": [list(page) for page in result.pages],
        "body_start": result.body_start,
        "warnings": list(result.warnings),
    }


def from_wire(answer: dict[str, Any]) -> Converted:
    """The `Converted` of `to_wire`."""
    return Converted(
        **{
            **answer,
            "blocks": tuple(Block(*block) for block in answer["blocks"]),
            "pages": tuple((int(start), int(number)) for start, number in answer["pages"]),
            "warnings": tuple(answer["warnings"]),
        }
    )
