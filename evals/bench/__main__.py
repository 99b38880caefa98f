"""All benches with their bars: python -m graph_agent.evals.bench [--long] [--only NAME ...] [--results DIR].

Each bench is a program of its own (registry.py names them), run in a process of its own, one after another: what
one has in memory does not help or hinder the next. Numbers of a busy machine are the machine's; ratios are taken
in one process. DIR gets what each program wrote, a plot, and `bench.json` with every number beside its bar.
Peers are measured when they are installed (extra `bench`).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph_agent.evals.bench.measurement import Measurement
from graph_agent.evals.bench.registry import BENCHES, Bench

OK, MISSED, USAGE = 0, 1, 2


def run(bench: Bench, results: Path) -> tuple[list[Measurement], str]:
    """The numbers of one bench, and why there are none."""
    out = (results / f"{bench.name}.json").resolve()
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"graph_agent.evals.bench.{bench.module}", *bench.arguments]
    if _takes_json(bench):
        command += ["--json", str(out)]
    if bench.kept:
        command += ["--data", str(results / bench.kept)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, errors = process.communicate(timeout=60 * bench.minutes)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return [], f"took longer than {bench.minutes:g} minutes"
        raise
    if not out.is_file():
        out.write_text(printed, encoding="utf-8")
    try:
        return list(bench.read(json.loads(out.read_text(encoding="utf-8")))), ""
    except (ValueError, KeyError, TypeError) as error:
        last = [line for line in errors.splitlines() if line.strip()][-1:]
        return [], (last or [f"{type(error).__name__}: {error}"])[0][:200]


def _takes_json(bench: Bench) -> bool:
    """Whether a program knows --json; the others print their numbers as JSON."""
    source = Path(__file__).with_name(f"{bench.module}.py").read_text(encoding="utf-8")
    return '"--json"' in source or "bench.measurement import" in source


def chosen(only: Sequence[str], *, long: bool) -> list[Bench]:
    """The benches to run: the short ones, the long ones, or those that are named.

    Raises:
        KeyError: there is no bench of that name.
    """
    if not only:
        return [bench for bench in BENCHES if bench.long == long]
    known = {bench.name: bench for bench in BENCHES}
    return [known[name] for name in only]


def show(found: Sequence[Measurement]) -> None:
    """Print the numbers of one bench."""
    for one in found:
        mark = {True: "ok", False: "MISSED", None: ""}[one.ok]
        value = f"{one.value:,.0f}" if abs(one.value) >= 1_000 else f"{one.value:.4g}"
        line = f"  {one.name:<60} {value:>9} {one.unit:<5} {one.wanted:>9}  {mark:<6} {one.note}"
        print(line.rstrip(), flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run, print, write; 1 when a bar is missed or a bench gave no numbers."""
    parser = argparse.ArgumentParser(
        prog="python -m graph_agent.evals.bench", description=(__doc__ or "").splitlines()[0]
    )
    names = ", ".join(bench.name for bench in BENCHES)
    parser.add_argument("--long", action="store_true", help="the long ones instead of the short ones")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help=f"of {names}")
    parser.add_argument(
        "--results", type=Path, default=Path("build") / "bench", help="folder for the numbers"
    )
    options = parser.parse_args(arguments)
    try:
        benches = chosen(options.only, long=options.long)
    except KeyError as error:
        print(f"There is no bench {error}; there are {names}.", file=sys.stderr)
        return USAGE
    results: Path = options.results
    results.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "benches": {},
    }
    passed = True
    for bench in benches:
        entry = _measured(bench, results)
        passed = (
            passed and not entry["problem"] and all(one["ok"] is not False for one in entry["measurements"])
        )
        document["benches"][bench.name] = entry
        (results / "bench.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    print(f"Numbers: {results / 'bench.json'}; plot: {_plot(results)}.")
    return OK if passed else MISSED


def _measured(bench: Bench, results: Path) -> dict[str, Any]:
    """Run one bench and print its numbers."""
    began = time.perf_counter()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"{bench.name} (load {load:.1f})", flush=True)
    found, problem = run(bench, results)
    show(found)
    if problem:
        print(f"  no numbers: {problem}", flush=True)
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "load": round(load, 2),
        "problem": problem,
        "measurements": [one.as_json() for one in found],
    }


def _plot(results: Path) -> str:
    """One picture of quality and latency, of the latest numbers of either."""
    from graph_agent.evals.bench import plot

    quality, latency = (
        _latest(results, names) for names in (("retrieval-all", "retrieval"), ("search", "search-100k"))
    )
    if not quality or not latency:
        return "none, as search or retrieval was not measured"
    return plot.draw(quality, latency, results / "bench.png")


def _latest(results: Path, names: Sequence[str]) -> dict[str, Any]:
    for name in names:
        path = results / f"{name}.json"
        if path.is_file():
            try:
                return dict(json.loads(path.read_text(encoding="utf-8")))
            except ValueError:
                continue
    return {}


if __name__ == "__main__":
    raise SystemExit(main())
