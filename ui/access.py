"""The door of the server: who may come in, which routes there are, and what the browser may load.

One ASGI layer around everything, so that no route can be forgotten: with logins nothing but the login page
answers a stranger, routes that the pages do not need do not exist, requests from other sites are refused, and
the content policy forbids the browser every address but this server's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from graph_agent.ui.templates import render
from graph_agent.ui.users import Users

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "graph_agent_session"
SESSION_S = 12 * 3_600.0
MAX_SESSIONS = 10_000
MAX_FORM = 8_192
FREE_TRIES = 5  # failed logins of one address before it has to wait
WAIT_S = 30.0
USER = "graph_agent.user"

# What the pages need of Gradio. Its other routes (a proxy, run history, monitoring, code editing, files of
# the server) do not exist here.
_OPEN = re.compile(
    r"/(?:$|favicon\.ico$|theme\.css$|config/?$|manifest\.json$|assets/|static/|svelte/|pages/"
    r"|gradio_api/(?:theme\.css$|info/?$|queue/(?:join|data)/?$|run/|upload/?$|upload_progress/?$|cancel$|reset/?$"
    r"|heartbeat/|startup-events$|component_server/?$|app_id/?$))"
)
_SCRIPT = re.compile(rb"<script(?=[\s>])")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


@dataclass
class _Session:
    user: str
    until: float


class Sessions:
    """Who is logged in; kept in memory, so a restart asks everybody again."""

    def __init__(self, users: Users) -> None:
        self.users = users
        self._sessions: dict[str, _Session] = {}
        self._failures: dict[str, tuple[int, float]] = {}
        self._hashing = asyncio.Semaphore(2)  # each try takes 32 MiB and 0.1 s of a core

    async def log_in(self, address: str, name: str, password: str) -> str | None:
        """A session's token, or None for a wrong name or password."""
        async with self._hashing:
            fits = await asyncio.to_thread(self.users.check, name, password)
        if not fits:
            count, _ = self._failures.get(address, (0, 0.0))
            self._failures[address] = (count + 1, time.monotonic())
            return None
        self._failures.pop(address, None)
        self._forget_old()
        token = secrets.token_urlsafe(32)
        self._sessions[token] = _Session(name, time.monotonic() + SESSION_S)
        return token

    def seconds_to_wait(self, address: str) -> float:
        """How long an address that failed too often has to wait before its next try."""
        count, last = self._failures.get(address, (0, 0.0))
        over = count - FREE_TRIES
        if over < 0:
            return 0.0
        pause: float = min(WAIT_S * 2 ** min(over, 5), 900.0)
        return max(0.0, last + pause - time.monotonic())

    def user(self, token: str) -> str | None:
        """Whose session this is; using it prolongs it."""
        session = self._sessions.get(token)
        if session is None:
            return None
        if session.until < time.monotonic() or not self.users.knows(session.user):
            self._sessions.pop(token, None)
            return None
        session.until = time.monotonic() + SESSION_S
        return session.user

    def log_out(self, token: str) -> None:
        """End a session."""
        self._sessions.pop(token, None)

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._sessions = {token: entry for token, entry in self._sessions.items() if entry.until > now}
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        self._failures = {name: entry for name, entry in self._failures.items() if entry[1] > now - 3_600}


class Door:
    """The layer itself.

    Args:
        app: what is behind it.
        sessions: logins; None lets everybody in.
        root_path: prefix of a proxy, such as "/docs"; "" without one.
        only_local: answer only requests that call this machine by a local name: a page of another site could
            otherwise point its own name at it.
    """

    def __init__(
        self,
        app: Application,
        *,
        sessions: Sessions | None = None,
        root_path: str = "",
        only_local: bool = True,
    ) -> None:
        self.app = app
        self._sessions = sessions
        self._root = root_path.rstrip("/")
        self._only_local = only_local
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Tell every open stream that its client has gone, so that the server can end in peace."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path = self._path(scope)
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        problem = self._refusal(scope["method"], headers)
        if problem:
            await _answer(send, 403, problem)
            return
        token = _cookie(headers.get("cookie", ""))
        user = "" if self._sessions is None else self._sessions.user(token)
        if self._sessions is not None and path in {"/login", "/logout"}:
            await self._log_in_or_out(path, token, user, headers, scope, receive, send)
        elif user is None:
            await self._ask_to_log_in(scope["method"], path, headers, send)
        elif not _OPEN.match(path) or ".." in path:
            await _answer(send, 404, "There is no such page.")
        else:
            scope = {**scope, "path": path, "raw_path": path.encode(), USER: user}
            await self.app(scope, self._until_closing(receive), _guarded(send, path))

    def _until_closing(self, receive: Receive) -> Receive:
        async def received() -> Message:
            if self._closing.is_set():
                return {"type": "http.disconnect"}
            message = asyncio.ensure_future(receive())
            closing = asyncio.ensure_future(self._closing.wait())
            try:
                await asyncio.wait({message, closing}, return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                closing.cancel()
                if not message.done():
                    message.cancel()

        return received

    def _path(self, scope: Scope) -> str:
        """The path within the application, whether the proxy takes its prefix off or not."""
        path = str(scope["path"])
        if self._root and (path == self._root or path.startswith(self._root + "/")):
            path = path[len(self._root) :] or "/"
        return path

    def _refusal(self, method: str, headers: dict[str, str]) -> str:
        host = _host(headers.get("host", ""))
        if self._only_local and host not in _LOCAL_NAMES:
            return (
                "This server answers to localhost only. Start it with --auth to serve it under other names."
            )
        origin = headers.get("origin")
        if method not in {"GET", "HEAD", "OPTIONS"} and origin is not None:
            forwarded = headers.get("x-forwarded-host", "").split(",")[0].strip()
            if urlsplit(origin).netloc.lower() not in {headers.get("host", "").lower(), forwarded.lower()} - {
                ""
            }:
                return "Requests from other sites are refused."
        return ""

    async def _ask_to_log_in(self, method: str, path: str, headers: dict[str, str], send: Send) -> None:
        if method in {"GET", "HEAD"} and "text/html" in headers.get("accept", "") and path == "/":
            await _answer(send, 303, "", headers=[(b"location", f"{self._root}/login".encode())])
        else:
            await _answer(send, 401, "Log in first.")

    async def _log_in_or_out(
        self,
        path: str,
        token: str,
        user: str | None,
        headers: dict[str, str],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        home = (b"location", f"{self._root}/".encode())
        assert self._sessions is not None  # noqa: S101 - the caller has looked
        if scope["method"] == "GET" and path == "/login":
            if user is not None:
                await _answer(send, 303, "", headers=[home])
            else:
                await self._show_login(send, 200, "")
        elif scope["method"] != "POST":
            await _answer(send, 405, "Use the form.")
        elif path == "/logout":
            self._sessions.log_out(token)
            ended = f"{COOKIE}=; Path={self._root or '/'}; Max-Age=0; HttpOnly; SameSite=Lax"
            await _answer(
                send,
                303,
                "",
                headers=[(b"location", f"{self._root}/login".encode()), (b"set-cookie", ended.encode())],
            )
        else:
            await self._log_in(headers, scope, receive, send)

    async def _log_in(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        assert self._sessions is not None  # noqa: S101 - the caller has looked
        address = str((scope.get("client") or ("",))[0])
        wait = self._sessions.seconds_to_wait(address)
        if wait > 0:
            await self._show_login(send, 429, f"Too many failed tries: wait {wait:.0f} s.")
            return
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, "That is no login form.")
            return
        form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        token = await self._sessions.log_in(
            address, form.get("name", [""])[0].strip(), form.get("password", [""])[0]
        )
        if token is None:
            await self._show_login(send, 401, "Name or password is wrong.")
            return
        secure = (
            "; Secure"
            if scope.get("scheme") == "https" or headers.get("x-forwarded-proto") == "https"
            else ""
        )
        cookie = f"{COOKIE}={token}; Path={self._root or '/'}; Max-Age={SESSION_S:.0f}; HttpOnly; SameSite=Lax{secure}"
        await _answer(
            send,
            303,
            "",
            headers=[(b"location", f"{self._root}/".encode()), (b"set-cookie", cookie.encode())],
        )

    async def _show_login(self, send: Send, status: int, problem: str) -> None:
        page = render("login.html", action=f"{self._root}/login", problem=problem)
        await _answer(send, status, str(page), kind="text/html")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    if host in {"localhost", "localhost.localdomain"}:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def content_policy(nonce: str) -> str:
    """The content policy of a page: nothing from elsewhere, and no script but ours and Gradio's files.

    Without a nonce, as for the login page, no script at all.

    `unsafe-eval` is for gr.HTML, which makes functions of templates (ours are constants); inline handlers and
    inline scripts stay forbidden.
    """
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'" if nonce else "script-src 'none'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-src 'none'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


def _guarded(send: Send, path: str) -> Send:
    """Headers on every answer; on the page itself a nonce on its own scripts."""
    nonce = secrets.token_urlsafe(16)
    start: Message | None = None
    body = b""

    async def guarded(message: Message) -> None:
        nonlocal start, body
        if message["type"] == "http.response.start":
            given = [(key, value) for key, value in message["headers"] if key.lower() not in _REPLACED]
            is_page = any(key.lower() == b"content-type" and b"text/html" in value for key, value in given)
            message = {**message, "headers": [*given, *_headers(nonce, path, message["status"])]}
            if is_page:
                start = message
                return
            await send(message)
            return
        if start is None or message["type"] != "http.response.body":
            await send(message)
            return
        body += message.get("body", b"")
        if message.get("more_body"):
            return
        page = _SCRIPT.sub(f'<script nonce="{nonce}"'.encode(), body)
        kept = [(key, value) for key, value in start["headers"] if key.lower() != b"content-length"]
        await send({**start, "headers": [*kept, (b"content-length", str(len(page)).encode())]})
        await send({"type": "http.response.body", "body": page})

    return guarded


_REPLACED = {b"content-security-policy", b"x-frame-options", b"referrer-policy", b"x-content-type-options"}


def _headers(nonce: str, path: str, status: int) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"content-security-policy", content_policy(nonce).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"same-origin"),
    ]
    if status == 200 and path.startswith(
        "/assets/"
    ):  # Gradio's files have their content's hash in their name
        headers.append((b"cache-control", b"private, max-age=31536000, immutable"))
    return headers


async def _answer(
    send: Send,
    status: int,
    text: str,
    *,
    kind: str = "text/plain",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    body = text.encode()
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", f"{kind}; charset=utf-8".encode()),
                (b"content-length", str(len(body)).encode()),
                (b"cache-control", b"no-store"),
                *_headers("", "", status),
                *(headers or []),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Receive) -> bytes | None:
    """A small request body; None when it is too large, or the client went away."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += bytes(message.get("body", b""))
        if len(body) > MAX_FORM:
            return None
        if not message.get("more_body"):
            return body


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _host(header: str) -> str:
    host = header.strip().lower()
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0]
