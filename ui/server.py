"""The web server: one port, one process; the pages behind the door of access.py."""

from __future__ import annotations

import errno
import os
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from graph_agent.errors import ConfigurationError
from graph_agent.ui.access import Door, is_loopback
from graph_agent.ui.sessions import Sessions
from graph_agent.ui.users import Users

if TYPE_CHECKING:
    from graph_agent.settings import Settings
    from graph_agent.ui.workspace import Workspace

ASSETS = Path(__file__).parent / "assets"
GOODBYE_S = 3


class PageServer:
    """Serves the pages of a workspace; use it with `with`, or start and stop it.

    Args:
        workspace: what the pages show; it stays the caller's to close.
        users: logins; None lets everybody in who reaches the port.
        root_path: prefix of a proxy.
        host, port: where to listen, instead of the settings'; port 0 takes any free one.

    Raises:
        ConfigurationError: the address may not or cannot be used; says how to mend it.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        users: Users | None = None,
        root_path: str = "",
        host: str | None = None,
        port: int | None = None,
    ) -> None:
        settings = workspace.settings
        self._host = settings.host if host is None else host
        self._root = checked_root_path(root_path)
        check_address(self._host, users)
        self._socket = listening_socket(self._host, settings.port if port is None else port)
        self._workspace = workspace
        self._users = users
        self._server: Any = None
        self._door: Any = None
        self._thread: threading.Thread | None = None

    @property
    def application(self) -> Any:
        """What stands behind the door, once the server runs."""
        return self._door.app

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the page."""
        host = "127.0.0.1" if self._host in {"0.0.0.0", "::", ""} else self._host  # noqa: S104 - shown, not bound
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self._socket.getsockname()[1]}{self._root}/"

    def run(self) -> None:
        """Serve until interrupted."""
        self._built().run(sockets=[self._socket])

    def start(self) -> Self:
        """Serve in a thread; returns when the first request can come."""
        server = self._built()
        server.install_signal_handlers = lambda: None
        self._thread = threading.Thread(target=server.run, args=([self._socket],), name="pages", daemon=True)
        self._thread.start()
        waited = threading.Event()
        while not server.started and self._thread.is_alive():
            waited.wait(0.02)
        return self

    def stop(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(GOODBYE_S + 5.0)
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _built(self) -> Any:
        import uvicorn

        sessions = Sessions(self._users) if self._users else None
        door = self._door = application(self._workspace, sessions=sessions, root_path=self._root)

        class Server(uvicorn.Server):
            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                door.close()  # open pages hold streams that would otherwise be cut off after a wait
                await super().shutdown(sockets)

        config = uvicorn.Config(
            door,
            log_level="warning",
            access_log=False,
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=GOODBYE_S,
        )
        self._server = Server(config)
        return self._server


def application(workspace: Workspace, *, sessions: Sessions | None = None, root_path: str = "") -> Door:
    """The whole application as ASGI: the door, the files of the pages, downloads, and Gradio's own."""
    quiet_gradio(workspace.settings)
    import gradio
    from fastapi import FastAPI
    from fastapi.staticfiles import StaticFiles

    from graph_agent.ui.access import USER
    from graph_agent.ui.app import build
    from graph_agent.ui.appearance import HEAD, theme
    from graph_agent.ui.downloads import add_downloads

    api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    api.mount("/pages/assets", StaticFiles(directory=ASSETS))
    add_downloads(api, workspace)
    gradio.mount_gradio_app(
        api,
        build(workspace),
        path="/",
        root_path=root_path,
        # The door has looked already; this only tells Gradio the name. "" would mean "nobody" to it.
        auth_dependency=(lambda request: request.scope[USER]) if sessions is not None else None,
        allowed_paths=[],
        blocked_paths=["/"],
        favicon_path=str(ASSETS / "favicon.svg"),
        footer_links=[],
        run_history=False,
        show_error=True,
        max_file_size=workspace.settings.upload_mb * 1024 * 1024,
        enable_monitoring=False,
        pwa=False,
        ssr_mode=False,
        mcp_server=False,
        theme=theme(),
        head=HEAD,
    )
    # With a proxy's prefix and no logins the proxy decides who comes, under whatever name.
    return Door(api, sessions=sessions, root_path=root_path, only_local=sessions is None and not root_path)


def quiet_gradio(settings: Settings) -> None:
    """Settings that Gradio takes from the environment only: no message home, uploads into the data folder."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["GRADIO_TEMP_DIR"] = str(settings.data / "cache" / "uploads")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")


def check_address(host: str, users: Users | None) -> None:
    """Refuse to serve others without logins.

    Raises:
        ConfigurationError: the address can be reached from elsewhere, and nobody has to log in.
    """
    if users is None and not is_loopback(host):
        raise ConfigurationError(
            f"{host} can be reached from other machines, and no users file is given.",
            "Make one with `graph-agent user add NAME` and name it with --auth, or listen on 127.0.0.1.",
        )


def checked_root_path(root_path: str) -> str:
    """The proxy's prefix with one slash in front and none behind.

    Raises:
        ConfigurationError: it is not a path.
    """
    path = root_path.strip()
    if path in {"", "/"}:
        return ""
    if not path.startswith("/") or "//" in path or any(character in path for character in "?#\\ \t\n\"'<>"):
        raise ConfigurationError(
            f"The root path {root_path!r} is not usable.", "Give the proxy's prefix, such as /documents."
        )
    return path.rstrip("/")


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ConfigurationError: the port is taken or may not be used, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host.strip("[]"), port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise _bind_problem(error, host, port) from None
    return made


def _bind_problem(error: OSError, host: str, port: int) -> ConfigurationError:
    if error.errno == errno.EADDRINUSE:
        return ConfigurationError(
            f"Port {port} on {host} is in use.",
            f"Choose another with --port {port + 1 if port < 65_535 else 7_860}, or stop what uses it.",
        )
    if error.errno == errno.EACCES:
        return ConfigurationError(
            f"This user may not listen on port {port}.", "Choose one above 1023 with --port."
        )
    return ConfigurationError(
        f"Cannot listen on {host}:{port}: {error.strerror or error}.", "Check --host and --port."
    )
