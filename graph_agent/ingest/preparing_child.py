"""The process that `preparing.Preparer` starts: a file's bytes come in, a document ready to be written goes out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from graph_agent.ingest.child_process import Channel, bound_memory, give_up_after, peak_mb, reason_of
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.worker import limits_from_wire
from graph_agent.ingest.rows import Cutting, Origin, Prepared, prepare
from graph_agent.ingest.wordpieces import WordPieces

GRACE_S = 5.0


def main() -> None:
    """Serve until standard input ends."""
    channel = Channel()
    message = channel.read()
    if message is None:
        return
    limits = limits_from_wire(message[0]["limits"])
    cutting = Cutting(**message[0]["cutting"])
    bound_memory(limits.memory_mb)
    from graph_agent.embeddings import local_tokenizer
    from graph_agent.ingest.convert import registry  # noqa: F401 - imported before a file's clock starts

    tokenizer = WordPieces(local_tokenizer())
    channel.write({"ready": True})
    while (message := channel.read()) is not None:
        header, data = message
        answer, postings = _answer(channel, data, Origin(**header["origin"]), limits, cutting, tokenizer)
        channel.write({**answer, "peak_mb": peak_mb()}, postings)
        give_up_after(0)


def _answer(
    channel: Channel, data: bytes, origin: Origin, limits: Limits, cutting: Cutting, tokenizer: WordPieces
) -> tuple[dict[str, Any], bytes]:
    """Convert and cut one file; between the two the parent is told how much text there is to cut."""
    made: list[Prepared] = []

    def work() -> dict[str, Any]:
        from graph_agent.ingest.convert.registry import convert

        give_up_after(limits.seconds_for(data) + GRACE_S)
        converted = convert(data, origin.path, limits)
        channel.write({"characters": len(converted.markdown)})
        give_up_after(0)
        made.append(prepare(converted, origin, cutting, tokenizer))
        return {}

    answer = reason_of(work)
    if not made:
        return answer, b""
    document = asdict(made[0])
    postings: bytes = document.pop("postings")
    return {"document": document}, postings


if __name__ == "__main__":
    main()
