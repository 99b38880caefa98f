"""The HTTP side: reads requests off the socket and puts replies on it, the broken ones too."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from . import wire
from .received import Received
from .replies import Body, Completion, Hang

HOLD_LIMIT_S = 60.0
LOOK_EVERY_S = 0.02


class Owner(Protocol):
    """What the HTTP side asks of the scripted server."""

    def receive(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> Received:
        """Record a request."""

    def answer(self, request: Received) -> Completion | Body | Hang:
        """Choose the reply."""

    def fail(self, why: str, request: Received | None = None) -> Body:
        """Record a failure of the test and say it in a reply."""

    def state(self) -> dict[str, Any]:
        """All that was recorded, as JSON types."""


class Httpd(ThreadingHTTPServer):
    """A threaded server on loopback that can be stopped while connections are open."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, owner: Owner) -> None:
        self.owner = owner
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        super().__init__(("127.0.0.1", port), Handler)

    def server_bind(self) -> None:
        # HTTPServer's own looks the host's name up, which takes seconds where DNS does not answer.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def opened(self, connection: socket.socket) -> None:
        """Remember a connection and the thread that serves it."""
        with self._lock:
            self._open[connection] = threading.current_thread()

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._open.pop(connection, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Replaces a traceback on stderr by a recorded failure; called in the `except` of the base class."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self.owner.fail(f"the scripted server itself failed: {type(error).__name__}: {error}")

    def stop(self) -> None:
        """End the loop, close every connection, wait for the threads (a second each at most)."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        with self._lock:
            left = dict(self._open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in left.values():
            if thread is not threading.current_thread():
                thread.join(1.0)


class ClientLeft(ConnectionError):
    """The client closed the connection before it had the whole answer."""


class Handler(BaseHTTPRequestHandler):
    """Serves one connection, request after request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a chunk must not wait for the acknowledgement of the one before
    server: Httpd

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.closed(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class refuses by itself (a method, a malformed request line) fails the test too."""
        self.server.owner.fail(f"HTTP {int(code)} {message or ''} for {self.requestline!r}")
        super().send_error(code, message, explain)

    def serve(self) -> None:
        """Read one request, have it answered, send the answer."""
        raw = self._request_body()
        if raw is None:
            self.close_connection = True  # the client left before it had sent the whole request
            return
        path = self.path.partition("?")[0]
        if path == "/_scripted/state":
            self._whole(Body(200, json.dumps(self.server.owner.state()).encode()))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        body, fault = _parsed(raw)
        request = self.server.owner.receive(self.command, path, headers, body)
        reply = self.server.owner.fail(fault, request) if fault else self.server.owner.answer(request)
        try:
            self._send(reply, request)
        except ConnectionError:
            self.close_connection = True
            request.outcome = "client left"

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = serve

    def _request_body(self) -> bytes | None:
        """The whole body, of known length or in chunks; None when it ends too early."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            return raw if len(raw) == length else None
        raw = b""
        while size := int(self.rfile.readline().strip() or b"-1", 16):
            part = self.rfile.read(max(size, 0) + 2)
            if len(part) != size + 2:
                return None
            raw += part[:-2]
        self.rfile.readline()
        return raw

    def _send(self, reply: Completion | Body | Hang, request: Received) -> None:
        if isinstance(reply, Hang):
            self._pause(reply.seconds)
            self._drop(request)
        elif isinstance(reply, Body):
            self._answer(reply, request)
        elif request.stream:
            self._streamed(reply, request)
        else:
            self._pause(reply.first_delay)
            self._unstreamed(reply, request)

    def _unstreamed(self, reply: Completion, request: Received) -> None:
        how = reply.cut[1] if reply.cut else None
        if how == "error":
            self._answer(Body(502, json.dumps(wire.STREAM_ERROR).encode()), request)
            return
        data = wire.whole(reply, request)
        half = data[: len(data) // 2]
        if how == "drop":
            request.status = 200
            self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(data))}, half)
            self._drop(request)
            return
        self._answer(Body(200, half if how == "end" else data), request)

    def _streamed(self, reply: Completion, request: Received) -> None:
        request.status = 200
        self._pause(reply.first_delay)
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}
        self._head(200, headers, _chunk(wire.opening(reply, request)))
        cut_after, how = reply.cut or (-1, None)
        for sent, event in enumerate(wire.content_events(reply, request)):
            if sent == cut_after:
                break
            if sent:
                self._pause(reply.delay)
            if sent == 1 and reply.hold is not None:
                self._hold(reply.hold, request)
            request.chunk_times.append(time.time())
            self._write(_chunk(event))
        if how == "drop":
            self._drop(request)
            return
        if how == "error":
            self._write(_chunk(wire.event(wire.STREAM_ERROR)))
        elif how is None:
            self._write(b"".join(map(_chunk, wire.closing_events(reply, request))))
        request.outcome = "answered"
        self._write(b"0\r\n\r\n")

    def _answer(self, body: Body, request: Received) -> None:
        # Noted first: the test may look as soon as its client has the answer.
        request.status, request.outcome = body.status, "answered"
        self._whole(body)

    def _whole(self, body: Body) -> None:
        own = {"Content-Type": body.content_type, "Content-Length": str(len(body.data))}
        self._head(body.status, {**own, **body.headers}, body.data)

    def _head(self, status: int, headers: dict[str, str], data: bytes) -> None:
        """Status line, headers and the first data in one write, so that none waits for another."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self._headers_buffer: list[bytes]
        self._headers_buffer += [b"\r\n", data]
        self.flush_headers()

    def _write(self, data: bytes) -> None:
        if self._client_left():
            raise ClientLeft
        self.wfile.write(data)

    def _drop(self, request: Received) -> None:
        """Close without the end of the answer: what was sent still arrives, so tests can count on it."""
        self.close_connection = True
        request.outcome = "dropped"
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _hold(self, released: threading.Event, request: Received) -> None:
        until = time.monotonic() + HOLD_LIMIT_S
        while not released.is_set():
            if time.monotonic() > until:
                self.server.owner.fail(f"hold= was not set within {HOLD_LIMIT_S:g} s", request)
                return
            self._pause(LOOK_EVERY_S)

    def _pause(self, seconds: float) -> None:
        """Wait, but no longer than the client and the server stay."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.stopping.wait(min(left, LOOK_EVERY_S)) or self._client_left():
                raise ClientLeft

    def _client_left(self) -> bool:
        poll = select.poll()  # select() itself fails above 1,024 open files
        try:
            poll.register(self.connection, select.POLLIN)
            if not poll.poll(0):
                return False
            return not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True


def _parsed(raw: bytes) -> tuple[dict[str, Any], str]:
    """The body as a JSON object, and what is wrong with it or ""."""
    if not raw:
        return {}, ""
    try:
        body = json.loads(raw)
    except ValueError as error:
        return {}, f"the request's body is not JSON ({error}): {raw[:80]!r}"
    return (
        (body, "") if isinstance(body, dict) else ({}, f"the request's body is not an object: {raw[:80]!r}")
    )


def _chunk(data: bytes) -> bytes:
    """`data` in HTTP's chunked transfer coding."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
