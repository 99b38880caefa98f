"""How long `import graph_agent` takes, and whether it opens anything but code.

    python -m graph_agent.evals.bench.import_time [--json FILE]

Medians of fresh interpreters.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from graph_agent.evals.bench.measurement import Measurement, hand_over, parser

RUNS = 5
BAR_S = 0.5
_PROGRAM = """
import json, sys, time
events = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        writes = isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        # Code, and what installed packages read of themselves, is no input.
        own = arguments[0].startswith((sys.prefix, sys.base_prefix)) or arguments[0].endswith((".py", ".pyc"))
        if writes or not own:
            events.append(arguments[0])
    elif event in {"socket.connect", "socket.bind", "subprocess.Popen"}:
        events.append(event)
sys.addaudithook(watch)
began = time.perf_counter()
import %s
print(json.dumps({"seconds": time.perf_counter() - began, "opened": events}))
"""
_MODULES = {
    "graph_agent": BAR_S,
    "graph_agent.tools": None,
    "graph_agent.agent": None,
    "graph_agent.cli": None,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    options = parser(__doc__ or "").parse_args(arguments)
    found = []
    opened: list[str] = []
    for module, bar in _MODULES.items():
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", _PROGRAM % module], capture_output=True, check=True
                ).stdout
            )
            for _ in range(RUNS)
        ]
        seconds = statistics.median(run["seconds"] for run in runs)
        found.append(Measurement(f"import {module}", round(seconds, 4), "s", bar))
        opened += [name for run in runs for name in run["opened"]]
    note = ", ".join(sorted(set(opened))[:3])
    found.append(
        Measurement("opened at import: files, sockets, processes", float(len(set(opened))), "", 0, note=note)
    )
    return hand_over(found, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
