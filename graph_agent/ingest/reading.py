"""Files to prepared documents, in order, two at work at a time.

Conversion, parsing and tokenizing of the next file go on while this one is cut into chunks: the tokenizer
works outside Python's global lock, and the converters of binary formats in a process of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from graph_agent.embeddings import Embedder
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.ingest.plan import Source
from graph_agent.ingest.rows import Outline, Prepared, outline, prepare

AHEAD = 4


def read_documents(
    todo: Sequence[Source], worker: ConversionWorker, embedder: Embedder, *, size: int, overlap: int
) -> Iterator[tuple[Source, Prepared | UnreadableFile]]:
    """Convert and cut files; what cannot be read comes back as the error that says why.

    Args:
        size: tokens of a chunk with its breadcrumb.
        overlap: tokens that neighbouring chunks share.
    """

    def first_half(source: Source) -> Outline:
        return outline(source, worker.convert(source.file.read(), source.path), embedder)

    waiting: deque[tuple[Source, Future[Outline]]] = deque()
    rest = iter(todo)
    with ThreadPoolExecutor(1, thread_name_prefix="document-reader") as executor:
        try:
            while True:
                while len(waiting) < AHEAD and (source := next(rest, None)) is not None:
                    waiting.append((source, executor.submit(first_half, source)))
                if not waiting:
                    return
                source, future = waiting.popleft()
                try:
                    document: Prepared | UnreadableFile = prepare(
                        future.result(), embedder, size=size, overlap=overlap
                    )
                except UnreadableFile as error:
                    document = error
                yield source, document
        finally:
            for _, future in waiting:
                future.cancel()
