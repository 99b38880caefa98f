"""The scripted server: the script, what was recorded, what failed."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from . import protocol, vectors
from .http_side import Httpd
from .received import Received
from .replies import Body, Completion, Hang, Reply, status
from .steps import Step, reply

Responder = Callable[[Received], Reply]
AnyResponder = TypeVar("AnyResponder", bound=Responder)
SHOWN_FAILURES = 5


@dataclass(frozen=True)
class Failure:
    """Something that a test did not foresee: what was wrong, and the request it happened to."""

    why: str
    request: Received | None

    def __str__(self) -> str:
        return f"{self.why}\n    came: {self.request.describe()}" if self.request else self.why


class ScriptedServer:
    """An OpenAI-compatible server on loopback that answers by a script and fails loudly.

    A request that is not the expected one, comes after the script's end, or would be refused by OpenAI
    gets HTTP 500 or 400 with the reason, and is recorded; `assert_done()` raises for it. As a context manager
    it starts, stops, and asserts when the block itself raised nothing.

    Args:
        port: 0 takes a free one.
        strict: refuse chat requests that OpenAI would refuse (see protocol.py).
    """

    def __init__(self, *steps: Step | Reply, port: int = 0, strict: bool = True) -> None:
        self.models = ["scripted"]
        self.strict = strict
        self.embedding_dimension = 8
        self._port = port
        self._changed = threading.Condition(threading.RLock())
        self._steps: list[Step] = []
        self._position = 0
        self._responder: Responder | None = None
        self._embed: vectors.Embed | None = None
        self._score: vectors.Score = vectors.shared_words
        self._faults: dict[str, deque[Reply]] = {"embeddings": deque(), "rerank": deque(), "models": deque()}
        self._key: str | None = None
        self._received: list[Received] = []
        self._failures: list[Failure] = []
        self._httpd: Httpd | None = None
        self.script(*steps)

    # What to answer

    def script(self, *steps: Step | Reply) -> None:
        """Add steps for chat requests; they are taken in order, each by one request."""
        made = [step if isinstance(step, Step) else reply(step) for step in steps]
        with self._changed:
            for step in made:
                self._steps += [step] * step.count

    def respond(self, responder: AnyResponder) -> AnyResponder:
        """Answer chat requests by a function once the script is used up; it runs in parallel, unlocked.

        Can be used as a decorator.
        """
        self._responder = responder
        return responder

    def embed_with(self, embed: vectors.Embed) -> None:
        """Compute embeddings by `embed(text)` in place of hashed words."""
        self._embed = embed

    def score_with(self, score: vectors.Score) -> None:
        """Compute rerank scores by `score(query, text)` in place of shared words."""
        self._score = score

    def embeddings_fail(self, *faults: Reply) -> None:
        """Answer the next embeddings requests by these."""
        self._faults["embeddings"].extend(faults)

    def rerank_fails(self, *faults: Reply) -> None:
        """Answer the next rerank requests by these."""
        self._faults["rerank"].extend(faults)

    def models_fail(self, *faults: Reply) -> None:
        """Answer the next requests for the list of models by these."""
        self._faults["models"].extend(faults)

    def require_key(self, key: str) -> None:
        """Answer 401 to any other API key; that is no failure of the test and uses no step."""
        self._key = key

    # What came

    @property
    def requests(self) -> list[Received]:
        """All requests so far, in the order of receipt."""
        with self._changed:
            return list(self._received)

    @property
    def chats(self) -> list[Received]:
        """Chat requests so far."""
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    @property
    def embedded(self) -> list[str]:
        """Texts of all embeddings requests so far."""
        return [text for r in self.requests if r.path == "/v1/embeddings" for text in r.texts]

    @property
    def failures(self) -> list[Failure]:
        """Failures so far."""
        with self._changed:
            return list(self._failures)

    @property
    def remaining(self) -> int:
        """Steps not yet used."""
        with self._changed:
            return len(self._steps) - self._position

    def wait_for_requests(self, count: int, timeout: float = 10.0) -> list[Received]:
        """Wait until `count` requests came in all; returns them.

        Raises:
            AssertionError: fewer came within `timeout` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._received) >= count, timeout):
                raise AssertionError(f"{len(self._received)} of {count} requests came within {timeout:g} s")
            return list(self._received)

    def assert_done(self) -> None:
        """Assert that nothing failed and every step was used.

        Raises:
            AssertionError: names each failure, its step, what was expected and what came.
        """
        with self._changed:
            lines = [str(failure) for failure in self._failures[:SHOWN_FAILURES]]
            if len(self._failures) > SHOWN_FAILURES:
                lines.append(f"and {len(self._failures) - SHOWN_FAILURES} more failures")
            if self.remaining:
                step = self._steps[self._position]
                lines.append(
                    f"{self.remaining} of {len(self._steps)} steps were not used; the next is "
                    f"step {self._position + 1}: {step.describe()}"
                )
        if lines:
            raise AssertionError("scripted server:\n- " + "\n- ".join(lines))

    def assert_failed(self, *parts: str) -> None:
        """Assert that `assert_done()` would raise with all `parts` in its message; then begin with an empty script.

        For tests that want the failure. The requests stay recorded.

        Raises:
            AssertionError: nothing failed, or a part is missing.
        """
        with self._changed:
            try:
                self.assert_done()
            except AssertionError as error:
                missing = [part for part in parts if part not in str(error)]
                if missing:
                    raise AssertionError(f"{missing} not in: {error}") from None
            else:
                raise AssertionError("nothing failed and every step was used")
            self._failures.clear()
            self._steps, self._position = [], 0

    # Running

    def start(self) -> ScriptedServer:
        """Listen, and serve in a thread."""
        if self._httpd is not None:
            raise RuntimeError("the scripted server runs already")
        self._httpd = Httpd(self._port, self)
        loop = {"poll_interval": 0.02}
        self._loop = threading.Thread(
            target=self._httpd.serve_forever, kwargs=loop, name="scripted", daemon=True
        )
        self._loop.start()
        return self

    def stop(self) -> None:
        """Break all connections and stop; again does nothing."""
        httpd, self._httpd = self._httpd, None
        if httpd is not None:
            httpd.stop()
            self._loop.join(1.0)

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self.assert_done()

    @property
    def root_url(self) -> str:
        """http://127.0.0.1:PORT.

        Raises:
            RuntimeError: it does not run.
        """
        if self._httpd is None:
            raise RuntimeError("the scripted server does not run: call start() or use it in a `with`")
        return f"http://127.0.0.1:{self._httpd.server_port}"

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL is to be: the root and /v1."""
        return self.root_url + "/v1"

    def environment(self, key: str = "sk-scripted") -> dict[str, str]:
        """Variables that send a child process here."""
        loopback = "127.0.0.1,localhost"
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": self._key or key,
            "NO_PROXY": loopback,
            "no_proxy": loopback,
        }

    # Called by the HTTP side

    def receive(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> Received:
        """Record a request."""
        with self._changed:
            request = Received(len(self._received) + 1, method, path, headers, body, time.time())
            self._received.append(request)
            self._changed.notify_all()
            return request

    def answer(self, request: Received) -> Completion | Body | Hang:
        """The reply to send for `request`."""
        if self._key is not None and request.api_key != self._key:
            return status(401)
        try:
            return self._routed(request)
        except Exception as error:
            return self.fail(f"the reply could not be made: {type(error).__name__}: {error}", request)

    def fail(self, why: str, request: Received | None = None, code: int = 500) -> Body:
        """Record a failure and put it into an error body; clients are told not to try again."""
        failure = Failure(why, request)
        with self._changed:
            self._failures.append(failure)
        return status(code, f"scripted server: {failure}", headers={"x-should-retry": "false"})

    def state(self) -> dict[str, Any]:
        """What was recorded, for a test in another process (GET /_scripted/state)."""
        shown = (
            "index",
            "method",
            "path",
            "body",
            "received_at",
            "chunk_times",
            "status",
            "outcome",
            "input_tokens",
        )
        return {
            "requests": [
                {name: getattr(request, name) for name in shown} | {"api_key": request.api_key}
                for request in self.requests
            ],
            "failures": [str(failure) for failure in self.failures],
            "remaining": self.remaining,
        }

    def _routed(self, request: Received) -> Completion | Body | Hang:
        route = (request.method, request.path)
        if route == ("POST", "/v1/chat/completions"):
            return self._chat(request)
        if route == ("POST", "/v1/embeddings"):
            return self._side_route("embeddings", request, vectors.embeddings_problem(request.body))
        if request.method == "POST" and request.path in {"/v1/rerank", "/v2/rerank", "/rerank"}:
            return self._side_route("rerank", request, vectors.rerank_problem(request.body))
        if route == ("GET", "/v1/models"):
            return self._side_route("models", request, None)
        return self.fail(f"there is no {request.method} {request.path} here", request, 404)

    def _side_route(self, name: str, request: Received, problem: str | None) -> Completion | Body | Hang:
        if problem is not None:
            return self.fail(f"a bad {name} request: {problem}", request, 400)
        with self._changed:
            fault = self._faults[name].popleft() if self._faults[name] else None
        if fault is not None:
            return fault.resolve(request)[0]
        if name == "embeddings":
            dimension = int(request.body.get("dimensions") or self.embedding_dimension)
            embed = self._embed or (lambda text: vectors.words_vector(text, dimension))
            return _json(vectors.embeddings_body(request, embed))
        if name == "rerank":
            return _json(vectors.rerank_body(request, self._score))
        models = [
            {"id": model, "object": "model", "created": 0, "owned_by": "tests"} for model in self.models
        ]
        return _json({"object": "list", "data": models})

    def _chat(self, request: Received) -> Completion | Body | Hang:
        problem = protocol.problem(request.body) if self.strict else None
        if problem is not None:
            return self.fail(f"OpenAI would refuse this request: {problem}", request, 400)
        with self._changed:
            if self._position < len(self._steps):
                return self._from_script(request)
        if self._responder is None:
            count = len(self._steps)
            return self.fail(f"the script is exhausted: all of its {count} steps are used", request)
        made = self._responder(request)
        if not isinstance(made, Reply):
            return self.fail(f"the responder returned {made!r}, which is not a reply", request)
        return made.resolve(request)[0]

    def _from_script(self, request: Received) -> Completion | Body | Hang:
        step = self._steps[self._position]
        faults = step.faults(request)
        if faults:
            # The step stays: a request too many is one failure, not one for every step after it.
            number = f"step {self._position + 1} of {len(self._steps)}"
            return self.fail(
                f"{number} is not what came\n    expected: {step.describe()}\n    but {'; '.join(faults)}",
                request,
            )
        sent, used = step.answer.resolve(request)
        self._position += used
        return sent


def _json(value: dict[str, Any]) -> Body:
    return Body(200, json.dumps(value).encode())
