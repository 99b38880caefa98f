"""FalkorDB servers of a test's own: the embedded engine's binaries on a TCP port, and a TLS front for them."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from graph_agent.store.binaries import find_binaries


def free_port() -> int:
    """A free port that leaves room for a cluster's second one, 10,000 above."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(20_000, 50_000)))
            return int(probe.getsockname()[1])


class Server:
    """redis-server with the FalkorDB module; `arguments` as on its command line."""

    def __init__(self, folder: Path, *arguments: str, module: bool = True, port: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port = folder, port or free_port()
        binaries = find_binaries()
        self._command = [str(binaries.server), *arguments, "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--dir", str(folder), "--save", "", "--appendonly", "no"] if module else []
        self._command += ["--loadmodule", str(binaries.module), "THREAD_COUNT", "4"] if module else []
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"falkor://127.0.0.1:{self.port}"

    def start(self) -> Self:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()[-500:]
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


@contextlib.contextmanager
def tls_front(folder: Path, port: int) -> Iterator[tuple[int, Path]]:
    """A TLS port in front of a server (the binaries have no TLS of their own), and the certificate to trust."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(raw,), daemon=True).start()

    def serve(raw: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            context.wrap_socket(raw, server_side=True) as outside,
            socket.create_connection(("127.0.0.1", port)) as inside,
        ):
            threading.Thread(target=relay, args=(inside, outside), daemon=True).start()
            relay(outside, inside)

    def relay(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1], certificate
    finally:
        listener.close()


def resident_mb(process: int) -> float:
    """Resident memory of a process (Linux)."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
