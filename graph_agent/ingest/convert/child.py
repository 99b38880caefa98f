"""The process that `worker.ConversionWorker` starts: reads files from standard input, answers with JSON."""

from __future__ import annotations

from typing import Any

from graph_agent.ingest.child_process import Channel, bound_memory, give_up_after, peak_mb, reason_of
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.worker import limits_from_wire, to_wire

GRACE_S = 5.0


def main() -> None:
    """Serve until standard input ends."""
    channel = Channel()
    message = channel.read()
    if message is None:
        return
    limits = limits_from_wire(message[0])
    bound_memory(limits.memory_mb)
    from graph_agent.ingest.convert import registry  # noqa: F401 - imported before a file's clock starts

    channel.write({"ready": True})
    while (message := channel.read()) is not None:
        header, data = message
        give_up_after(limits.seconds_for(data) + GRACE_S)
        channel.write(answer(data, str(header["name"]), limits))
        give_up_after(0)


def answer(data: bytes, name: str, limits: Limits) -> dict[str, Any]:
    """A file converted, or why it cannot be."""
    from graph_agent.ingest.convert.registry import convert

    made = reason_of(lambda: {"converted": to_wire(convert(data, name, limits))})
    return {**made, "peak_mb": peak_mb()}


if __name__ == "__main__":
    main()
