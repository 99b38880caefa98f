"""Drives the pages in a browser for tests: servers to drive, pages that are watched, the common gestures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request

    from graph_agent.store import DocumentGraph
    from graph_agent.ui.server import PageServer
    from graph_agent.ui.workspace import Workspace

SCREENSHOTS = Path(__file__).parents[1] / "build" / "screenshots"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 30_000
# What Chromium says of its own accord.
HARMLESS = ("Autofocus processing was blocked", "net::ERR_ABORTED", "net::ERR_NETWORK_CHANGED")
# What Gradio says of a stream that a reload cuts off.
CUT_OFF = ("AbortError: signal is aborted", "Connection errored out")


class Site:
    """A running server and what is behind it."""

    def __init__(self, server: PageServer, workspace: Workspace) -> None:
        self.server = server
        self.workspace = workspace
        self.url = server.url


class Serving:
    """A server for as long as the `with` lasts; options are the workspace's and the server's."""

    def __init__(self, graph: DocumentGraph, **options: Any) -> None:
        from graph_agent.ui.workspace import Workspace

        changes = options.pop("settings", {})
        workspace_options = {name: options.pop(name) for name in ("sample", "shared") if name in options}
        settings = graph.settings.model_copy(update=changes)
        self._workspace = Workspace(settings, graph, **workspace_options)
        self._options = options

    def __enter__(self) -> Site:
        from graph_agent.ui.server import PageServer

        self._server = PageServer(self._workspace, **self._options).start()
        self._workspace.warm()
        return Site(self._server, self._workspace)

    def __exit__(self, *error: object) -> None:
        self._server.stop()
        self._workspace.close()


class Watched:
    """What happened in the pages of one context."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.dialogs: list[str] = []
        self.expected: list[str] = []
        self.visits: list[Page] = []
        context.on("request", self._requested)
        context.on("page", self._watch)

    def _requested(self, request: Request) -> None:
        self.requests.append(request.url)
        if request.is_navigation_request():
            self.visits.append(request.frame.page)

    def _watch(self, page: Page) -> None:
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on(
            "console", lambda message: self.problems.append(message.text) if message.type == "error" else None
        )
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def outside(self) -> list[str]:
        """Requests to anywhere but this machine."""
        return [
            url
            for url in self.requests
            if urlsplit(url).scheme not in {"data", "blob", "about"} and urlsplit(url).hostname != "127.0.0.1"
        ]

    def check(self) -> None:
        """Nothing left this machine, nothing failed, nothing opened."""
        assert self.outside == []
        assert self.dialogs == []
        left = len(self.visits) > len(set(self.visits))  # some page was reloaded, or went elsewhere
        known = (*HARMLESS, *self.expected, *(CUT_OFF if left else ()))
        unknown = [problem for problem in self.problems if not any(part in problem for part in known)]
        assert not unknown, "\n".join(unknown)


def open_page(watched: Watched, url: str) -> Page:
    """A new page that is ready."""
    made = watched.context.new_page()
    made.goto(url)
    made.wait_for_selector("#question textarea")
    made.wait_for_selector("#welcome .welcome, .turn", state="attached")
    return made


def ask(page: Page, question: str, *, wait: bool = True) -> None:
    """Type a question and send it with Enter."""
    before = page.locator(".turn").count()
    page.fill("#question textarea", question)
    page.press("#question textarea", "Enter")
    page.wait_for_function("n => document.querySelectorAll('.turn').length > n", arg=before)
    if wait:
        answered(page)


def answered(page: Page) -> None:
    """Wait until the last question is answered."""
    page.wait_for_function(
        "() => { const t = [...document.querySelectorAll('.turn')].pop(); return t && t.dataset.status !== 'running' }"
    )


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for what only the server knows."""
    for _ in range(WAIT_MS // 100):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not come about")


def turn_to(page: Page, name: str) -> None:
    """Open another tab of the page."""
    page.get_by_role("tab", name=name, exact=True).click()
