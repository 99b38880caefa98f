"""What the browser may do with an answer: the content policy, and a nonce for the page's own scripts."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_SCRIPT = re.compile(rb"<script(?=[\s>])")


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


def guarded(send: Send, path: str) -> Send:
    """Headers on every answer; on the page itself a nonce on its own scripts."""
    nonce = secrets.token_urlsafe(16)
    start: Message | None = None
    body = b""

    async def send_guarded(message: Message) -> None:
        nonlocal start, body
        if message["type"] == "http.response.start":
            given = [(key, value) for key, value in message["headers"] if key.lower() not in _REPLACED]
            is_page = any(key.lower() == b"content-type" and b"text/html" in value for key, value in given)
            message = {**message, "headers": [*given, *security_headers(nonce, path, message["status"])]}
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

    return send_guarded


_REPLACED = {b"content-security-policy", b"x-frame-options", b"referrer-policy", b"x-content-type-options"}


def security_headers(nonce: str, path: str, status: int) -> list[tuple[bytes, bytes]]:
    """What every answer carries; without a nonce, as for the login page, no script may run."""
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
