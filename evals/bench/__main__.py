"""Everything that is measured, in one go: `make bench` (under ten minutes) and `make bench-long`.

    python -m graph_agent.evals.bench [--long] [--results DIR]

Each part is a program of its own and can be run alone; numbers go to DIR as JSON, with a table and a plot.
Peers are measured when they are installed (extra `bench`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph_agent.evals.bench import plot, retrieval_quality, search_latency, self_probe, tool_latency
from graph_agent.evals.bench.corpora import DATA


def main(arguments: list[str] | None = None) -> int:
    """Run the parts one after another; the exit code is 1 when one misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="100,000 chunks, the vector index, 40 syncs, too")
    parser.add_argument("--results", type=Path, default=Path("bench-results"))
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        print(f"There is no data at {DATA}: it comes with a development checkout.", file=sys.stderr)
        return 2
    results: Path = options.results
    results.mkdir(parents=True, exist_ok=True)
    parts: list[tuple[str, Callable[[list[str]], int], list[str]]] = [
        ("search latency", search_latency.main, ["--peers", "--json", str(results / "latency.json")]),
        ("tool latency", tool_latency.main, ["--json", str(results / "tools.json")]),
        ("retrieval quality", retrieval_quality.main, ["--peers", "--json", str(results / "quality.json")]),
    ]
    if options.long:
        parts += [
            (
                "search latency at 100,000 chunks",
                search_latency.main,
                ["--chunks", "100000", "--peers", "--index", "--json", str(results / "latency-100000.json")],
            ),
            ("every passage finds itself", self_probe.main, []),
        ]
    failed = [name for name, run, given in parts if not _run(name, run, given)]
    written = plot.draw(
        _read(results / "quality.json"), _read(results / "latency.json"), results / "bench.png"
    )
    print(f"\nNumbers in {results}; plot: {written}.")
    if failed:
        print(f"Missed: {', '.join(failed)}.")
    return 1 if failed else 0


def _run(name: str, run: Callable[[list[str]], int], given: list[str]) -> bool:
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    passed = run(given) == 0
    print(f"-- {name}: {'ok' if passed else 'MISSED'} in {time.perf_counter() - began:.0f} s", flush=True)
    return passed


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


if __name__ == "__main__":
    raise SystemExit(main())
