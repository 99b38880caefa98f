"""How soon the page shows something: the first step of a question, the first words of an answer, a second load.

    python -m graph_agent.evals.bench.page_speed [--questions 12] [--json FILE]

The real page in Chromium (of the system, driven by Playwright), over the sample documents, answered by a model
server on this machine that writes at once. Times are read in the page by a MutationObserver; page and model
server share one clock. Words of an answer count from the moment at which the model server wrote them.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from graph_agent.embeddings import load_embedder
from graph_agent.evals.bench.agent_overhead import PLAN
from graph_agent.evals.bench.corpora import SAMPLE
from graph_agent.evals.bench.measurement import Measurement, hand_over, parser
from graph_agent.ingest import sync
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph

STEP_MS, TOKEN_MS, LOAD_S = 300.0, 200.0, 3.0
_QUESTION = "Who decides on a shift swap, and what does silence mean?"
_PIECES = ("The roster office ", "decides; silence ", "is not consent [1].")
_WATCH = """() => {
  window.seen = {};
  const turns = () => document.querySelectorAll('.turn');
  document.addEventListener('keydown', event => {
    if (event.key === 'Enter') window.seen = { before: turns().length, sent: Date.now() };
  }, true);
  new MutationObserver(() => {
    const seen = window.seen, turn = turns()[turns().length - 1];
    if (!seen.sent || turns().length <= seen.before) return;
    if (!seen.step && turn.querySelector('.step')) seen.step = Date.now();
    if (!seen.words && (turn.querySelector('.answer')?.textContent || '').trim()) seen.words = Date.now();
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


class Model(ThreadingHTTPServer):
    """A chat model that plans a search and answers at once; `wrote` is when the last answer began, in s."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Reply)
        self.wrote = 0.0

    @property
    def url(self) -> str:
        """Base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Reply(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked.get("stream"):
            self._head("text/event-stream", {"Connection": "close"})
            self.server.wrote = time.time()
            for piece in _PIECES:
                self._send(_event({"delta": {"role": "assistant", "content": piece}}))
            self._send(_event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n")
            return
        message = {"role": "assistant", "content": json.dumps(PLAN)}
        data = json.dumps(_body({"message": message, "finish_reason": "stop"}, "chat.completion")).encode()
        self._head("application/json", {"Content-Length": str(len(data))})
        self._send(data)

    def _head(self, kind: str, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""


def _event(choice: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(_body(choice, 'chat.completion.chunk'))}\n\n".encode()


def _body(choice: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "x", "object": kind, "created": 0, "model": "bench", "choices": [{"index": 0, **choice}]}


@contextmanager
def served(folder: Path, model: Model) -> Iterator[str]:
    """The page over the sample documents; its address."""
    import os

    from graph_agent.ui.server import PageServer
    from graph_agent.ui.workspace import Workspace

    os.environ |= {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
    settings = Settings(data=folder, embeddings="local", falkordb_url="", model="bench", port=0)
    with DocumentGraph.open(settings) as graph:
        sync(graph, load_embedder(settings), [SAMPLE / "corpus"])
        workspace = Workspace(settings, graph)
        with PageServer(workspace) as server:
            workspace.warm()
            yield server.url
        workspace.close()


def measure(page: Any, url: str, model: Model, questions: int) -> list[Measurement]:
    """Ask one question some times, then load the page again."""
    steps, words = [], []
    _load(page, url)
    page.evaluate(_WATCH)
    for number in range(questions + 1):
        page.fill("#question textarea", _QUESTION)
        page.press("#question textarea", "Enter")
        page.wait_for_function("() => window.seen.words")
        seen = page.evaluate("() => window.seen")
        page.wait_for_function("() => document.querySelectorAll('.turn[data-status=running]').length === 0")
        if number:  # the first one warms up
            steps.append(seen["step"] - seen["sent"])
            words.append(seen["words"] - 1_000 * model.wrote)
    loads = []
    for _ in range(3):
        began = time.perf_counter()
        _load(page, url)
        loads.append(time.perf_counter() - began)
    note = f"median of {questions}"
    return [
        Measurement("first step after sending", statistics.median(steps), "ms", STEP_MS, note=note),
        Measurement("first words after the model wrote them", statistics.median(words), "ms", TOKEN_MS, note=note),
        Measurement("second load until a question can be typed", statistics.median(loads), "s", LOAD_S),
    ]  # fmt: skip


def _load(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("#question textarea:enabled")
    page.wait_for_selector("#welcome .welcome, .turn", state="attached")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    options = parser(__doc__ or "")
    options.add_argument("--questions", type=int, default=12)
    chosen = options.parse_args(arguments)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("There is no Chromium: apt-get install chromium")
        return 2
    from playwright.sync_api import sync_playwright

    model = Model()
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with (
        tempfile.TemporaryDirectory(prefix="graph-agent-page-") as folder,
        served(Path(folder), model) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        found = measure(browser.new_page(), url, model, chosen.questions)
        browser.close()
    model.shutdown()
    return hand_over(found, chosen.json)


if __name__ == "__main__":
    raise SystemExit(main())
