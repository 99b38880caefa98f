"""Files to documents ready to be written: here when they are few and small, else in processes of their own.

Conversion, parsing, cutting and indexing are Python's work for all of a core, and a file may be made to hang
or to fill memory. So a child process does it for a file at a time, one child for each core; one that is
late, dies or grows is killed and replaced at the next file.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.child_process import ChildLost, ChildProcess
from graph_agent.ingest.convert.detect import detect
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.registry import IN_PROCESS, convert
from graph_agent.ingest.convert.worker import RECYCLE_MB, limits_to_wire, start_child, why_lost
from graph_agent.ingest.rows import Cutting, Origin, Prepared, Tokenizer, prepare

CHILD = "graph_agent.ingest.preparing_child"
MOST_CHILDREN = 4
FEW_BYTES = 200_000  # of text: done in a fraction of the time that a child takes to start
CUTTING_S_PER_MB = 10.0  # five times what it takes

log = logging.getLogger(__name__)


class Preparer:
    """Converts and cuts files. Safe between threads; use as a context manager.

    Args:
        limits: time and memory of one file, passwords.
        cutting: how documents are cut.
        tokenizer: the embedding model's.
        children: how many processes work at a time; 0 for text to be prepared in this one.
    """

    def __init__(self, limits: Limits, cutting: Cutting, tokenizer: Tokenizer, *, children: int) -> None:
        self._limits = limits
        self._cutting = cutting
        self._tokenizer = tokenizer
        self.width = max(children, 1)
        self._here = children == 0
        self._heavy = threading.Lock()  # binary formats one at a time: each may take hundreds of megabytes
        self._free: SimpleQueue[ChildProcess | None] = SimpleQueue()
        for _ in range(self.width):
            self._free.put(None)
        self._busy: set[ChildProcess] = set()
        self._closed = False
        self.peak_mb = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        for _ in range(self.width):
            child = self._free.get()
            if child is not None:
                child.kill()

    def stop(self) -> None:
        """End what is being done, from any thread; who waits for it gets an `UnreadableFile`."""
        self._closed = True
        for child in list(self._busy):
            child.stop()

    def prepare(self, data: bytes, origin: Origin) -> Prepared:
        """Convert and cut one file.

        Raises:
            UnreadableFile: as the converter says, or it took too long, too much memory, or crashed.
        """
        light = not data or detect(data, origin.name) in IN_PROCESS
        if light and (self._here or not data):
            return prepare(convert(data, origin.path, self._limits), origin, self._cutting, self._tokenizer)
        if light:
            return self._elsewhere(data, origin)
        with self._heavy:
            return self._elsewhere(data, origin)

    def _elsewhere(self, data: bytes, origin: Origin) -> Prepared:
        child = self._free.get()
        try:
            if self._closed:
                raise UnreadableFile("reading was stopped.")
            if child is None or not child.alive:
                if child is not None:
                    child.kill()
                    child = None
                child = self._start()
            self._busy.add(child)
            try:
                answer, postings = self._ask(child, data, origin)
            except BaseException as error:
                code, child = child.kill(), None
                if isinstance(error, ChildLost):
                    raise why_lost(error, code, self._limits.seconds_for(data)) from None
                raise
            finally:
                self._busy = {one for one in self._busy if one is not child and one.alive}
            self.peak_mb = max(self.peak_mb, float(answer.get("peak_mb", 0.0)))
            if answer.get("restart") or float(answer.get("peak_mb", 0.0)) > RECYCLE_MB:
                child.kill()
                child = None
        finally:
            self._free.put(child)
        if "error" in answer:
            raise UnreadableFile(str(answer["error"]), str(answer.get("fix", "")))
        return Prepared(**answer["document"], postings=postings)

    def _ask(self, child: ChildProcess, data: bytes, origin: Origin) -> tuple[dict[str, Any], bytes]:
        deadline = time.monotonic() + self._limits.seconds_for(data)
        answer, postings = child.ask({"origin": asdict(origin)}, data, deadline)
        if "characters" in answer:
            allowed = self._limits.timeout_s + CUTTING_S_PER_MB * answer["characters"] / 1e6
            answer, postings = child.receive(time.monotonic() + allowed)
        return answer, postings

    def _start(self) -> ChildProcess:
        setup = {"limits": limits_to_wire(self._limits), "cutting": asdict(self._cutting)}
        # One file, one core: threads of the tokenizer would only take time from the next child.
        return start_child(CHILD, setup, {"TOKENIZERS_PARALLELISM": "false"})


def children_for(sizes: Sequence[int]) -> int:
    """How many child processes some files are worth, given their sizes in bytes."""
    if sum(sizes) <= FEW_BYTES:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_CHILDREN, len(sizes) // 8))
