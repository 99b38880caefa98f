"""Conversion in a process of its own that can be killed: a bad file costs its time limit, never the sync.

A child that is late, dies or grows is killed with its process group and replaced at the next file.
"""

from __future__ import annotations

import signal
import threading
import time
from types import TracebackType
from typing import Any

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.child_process import ChildLost, ChildProcess
from graph_agent.ingest.convert.detect import detect
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.registry import IN_PROCESS, convert
from graph_agent.ingest.document import Block, Converted

CHILD = "graph_agent.ingest.convert.child"
RECYCLE_MB = 600  # libraries fragment memory: a child that once grew is not kept


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
        self._child: ChildProcess | None = None
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
            except ChildLost as lost:
                raise why_lost(lost, self._kill(), self.limits.seconds_for(data)) from None
            except BaseException:
                self._kill()  # Ctrl-C in the middle: the child's answer would be taken for the next file's
                raise
            self._peak_mb = max(self._peak_mb, float(answer.get("peak_mb", 0.0)))
            if answer.get("restart") or answer.get("peak_mb", 0.0) > RECYCLE_MB:
                self._kill()
        if "error" in answer:
            raise UnreadableFile(str(answer["error"]), str(answer.get("fix", "")))
        return from_wire(answer["converted"])

    def close(self) -> None:
        """End the child and remove its temporary files; the worker can be used again."""
        with self._lock:
            self._kill()

    def _ask(self, data: bytes, name: str) -> dict[str, Any]:
        if self._child is None or not self._child.alive:
            self._kill()
            self._child = start_child(CHILD, limits_to_wire(self.limits))
        header = {"name": name.encode("utf-8", "replace").decode()}
        return self._child.ask(header, data, time.monotonic() + self.limits.seconds_for(data))[0]

    def _kill(self) -> int | None:
        """End the child and all it started; its exit code if it had ended by itself."""
        child, self._child = self._child, None
        return None if child is None else child.kill()


def start_child(
    module: str, setup: dict[str, Any], environment: dict[str, str] | None = None
) -> ChildProcess:
    """Start a child for files.

    Raises:
        UnreadableFile: it does not start; no file is to blame.
    """
    try:
        return ChildProcess(module, setup, environment)
    except (ChildLost, OSError) as error:
        raise UnreadableFile(
            f"the process that reads documents does not start ({error}).",
            "Free memory and processes of this machine, and ingest again.",
        ) from None


def why_lost(lost: ChildLost, code: int | None, timeout_s: float) -> UnreadableFile:
    """What a lost child says about the file that it was working on."""
    if lost.late:
        return UnreadableFile(
            f"conversion took longer than {timeout_s:g} s and was stopped.",
            "Raise GRAPH_AGENT_FILE_TIMEOUT_S if the file is worth it.",
        )
    if code == -signal.SIGALRM:
        return UnreadableFile(f"conversion took longer than {timeout_s:g} s and was stopped.")
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return UnreadableFile(f"the converter crashed on it ({how}); the file is probably damaged.")


def limits_to_wire(limits: Limits) -> dict[str, Any]:
    """Limits as JSON types."""
    return {
        "memory_mb": limits.memory_mb,
        "timeout_s": limits.timeout_s,
        "unpacked_mb": limits.unpacked_mb,
        "ratio": limits.ratio,
        "passwords": list(limits.passwords),
        "office": limits.office,
        "ocr": limits.ocr,
    }


def limits_from_wire(answer: dict[str, Any]) -> Limits:
    """The `Limits` of `limits_to_wire`."""
    return Limits(**{**answer, "passwords": tuple(answer["passwords"])})


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
