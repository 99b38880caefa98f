"""Files to prepared documents, in order, as many at work at a time as there are processes for it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.identity import hash_bytes
from graph_agent.ingest.plan import Source
from graph_agent.ingest.preparing import Preparer
from graph_agent.ingest.rows import Origin, Prepared

AHEAD = 4
AHEAD_BYTES = 32_000_000


def read_documents(
    todo: Sequence[Source], preparer: Preparer
) -> Iterator[tuple[Source, Prepared | UnreadableFile]]:
    """Convert and cut files; what cannot be read comes back as the error that says why.

    The source that comes back has the hash of the bytes that were read: a file may have changed since it was
    planned.
    """
    waiting: deque[tuple[Source, Future[tuple[Source, Prepared]]]] = deque()
    ahead = 0
    rest = iter(todo)
    source = next(rest, None)
    executor = ThreadPoolExecutor(preparer.width, thread_name_prefix="document-reader")
    try:
        while source is not None or waiting:
            while source is not None and _has_room(len(waiting), ahead + source.file.size, preparer.width):
                waiting.append((source, executor.submit(_read, source, preparer)))
                ahead += source.file.size
                source = next(rest, None)
            planned, future = waiting.popleft()
            try:
                document: tuple[Source, Prepared | UnreadableFile] = future.result()
            except UnreadableFile as error:
                document = planned, error
            ahead -= planned.file.size
            yield document
    finally:
        for _, future in waiting:
            future.cancel()
        if waiting:
            preparer.stop()
        executor.shutdown()


def _has_room(waiting: int, size: int, width: int) -> bool:
    return not waiting or (waiting < AHEAD * width and size <= AHEAD_BYTES)


def _read(source: Source, preparer: Preparer) -> tuple[Source, Prepared]:
    now = time.time()
    data = source.file.read()
    read = replace(source, content_hash=hash_bytes(data), read_at=now)
    return read, preparer.prepare(data, Origin(source.path, source.file.path, source.file.mtime))
