"""The process that `worker.ConversionWorker` starts: reads files from standard input, answers with JSON."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, BinaryIO

import orjson

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import MEGABYTE, Limits
from graph_agent.ingest.convert.worker import FRAME, to_wire

_GRACE_S = 5.0


def main() -> None:
    """Serve until standard input ends."""
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # A library that prints, or that reads standard input, must not touch the frames.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    header, _ = _read(source)
    if header is None:
        return
    _bound_memory(int(header.pop("memory_mb")))
    limits = Limits(**{**header, "passwords": tuple(header["passwords"])})
    from graph_agent.ingest.convert.registry import convert

    _write(answers, {"ready": True})
    while True:
        header, data = _read(source)
        if header is None:
            return
        # Should the parent be gone when this file hangs, the alarm's default action ends us.
        signal.setitimer(signal.ITIMER_REAL, limits.timeout_s + _GRACE_S)
        _write(answers, _answer(convert, data, header["name"], limits))
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(convert: Any, data: bytes, name: str, limits: Limits) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = {"converted": to_wire(convert(data, name, limits))}
    except UnreadableFile as error:
        answer = {"error": error.message, "fix": error.fix}
    except MemoryError:
        answer = {"error": "conversion needs more memory than the limit allows.", "restart": True}
    except RecursionError:
        answer = {"error": "nested too deeply to be converted."}
    except Exception as error:  # noqa: BLE001 (any fault of a parser is a fact about the file)
        answer = {"error": f"damaged or not understood: {type(error).__name__}: {str(error)[:200]}"}
    answer["peak_mb"] = _peak_mb()
    return answer


def _bound_memory(megabytes: int) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * MEGABYTE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    # Only the soft limit: LibreOffice, started from here, lifts it again for itself.
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _peak_mb() -> float:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MEGABYTE if sys.platform == "darwin" else 1_024)


def _read(source: BinaryIO) -> tuple[dict[str, Any] | None, bytes]:
    frame = source.read(FRAME.size)
    if len(frame) < FRAME.size:
        return None, b""
    header, body = FRAME.unpack(frame)
    return orjson.loads(source.read(header)), source.read(body)


def _write(answers: BinaryIO, answer: dict[str, Any]) -> None:
    try:
        payload = orjson.dumps(answer)
    except (TypeError, UnicodeError) as error:
        payload = orjson.dumps({"error": f"the converted text is not valid Unicode: {error}"})
    answers.write(FRAME.pack(len(payload), 0) + payload)
    answers.flush()


if __name__ == "__main__":
    main()
