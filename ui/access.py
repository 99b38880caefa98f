"""The door of the server: who may come in, which routes there are, and what the browser may load.

One ASGI layer around everything, so that no route can be forgotten: with logins nothing but the login page
answers a stranger, routes that the pages do not need do not exist, requests from other sites are refused, and
the content policy forbids the browser every address but this server's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from graph_agent.ui.policy import Application, Message, Receive, Scope, Send, guarded, security_headers
from graph_agent.ui.sessions import SESSION_S, Sessions, TooManyTries
from graph_agent.ui.templates import render

COOKIE = "graph_agent_session"
MAX_FORM = 8_192
USER = "graph_agent.user"

# What the pages need of Gradio. Its other routes (a proxy, run history, monitoring, code editing, files of
# the server) do not exist here.
_OPEN = re.compile(
    r"/(?:$|favicon\.ico$|theme\.css$|config/?$|manifest\.json$|assets/|static/|svelte/|pages/"
    r"|gradio_api/(?:theme\.css$|info/?$|queue/(?:join|data)/?$|run/|upload/?$|upload_progress/?$|cancel$|reset/?$"
    r"|heartbeat/|startup-events$|component_server/?$|app_id/?$))"
)
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


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
            await self.app(scope, self._until_closing(receive), guarded(send, path))

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
            await self._refuse_login(send, wait)
            return
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, "That is no login form.")
            return
        form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        try:
            token = await self._sessions.log_in(
                address, form.get("name", [""])[0].strip(), form.get("password", [""])[0]
            )
        except TooManyTries as error:
            await self._refuse_login(send, error.wait_s)
            return
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

    async def _refuse_login(self, send: Send, wait_s: float) -> None:
        await self._show_login(send, 429, f"Too many failed tries: wait {wait_s:.0f} s.")

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
                *security_headers("", "", status),
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
