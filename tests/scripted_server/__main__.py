"""The scripted server in a process of its own: `python tests/scripted_server --script FILE [--port N]`.

Prints its base URL (OPENAI_BASE_URL) as the first line and serves until it is interrupted or terminated; then exits
with 1, the reasons on standard error, when something failed or steps are left, else with 0.
GET /_scripted/state shows what came so far.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path


def main() -> int:
    """Serve; returns the exit code."""
    from scripted_server import ScriptedServer, load_script

    options = argparse.ArgumentParser(prog="scripted_server", description=__doc__.partition("\n")[0])
    options.add_argument("--script", type=Path, required=True, help="Python, YAML or JSON file")
    options.add_argument("--port", type=int, default=0, help="default: a free one")
    given = options.parse_args()

    server = ScriptedServer(port=given.port)
    try:
        load_script(given.script, server)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with server:
            print(server.base_url, flush=True)
            ended.wait()
    except AssertionError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    # Run as a folder, the folder itself is on the path in place of its parent.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    sys.exit(main())
