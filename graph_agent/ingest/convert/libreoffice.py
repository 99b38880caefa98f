"""Old and foreign office formats by way of LibreOffice, when it is installed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import MEGABYTE, Limits

ADDRESS_SPACE_MB = 4_096
_PROGRAMS = (
    "soffice",
    "libreoffice",
    "/usr/lib/libreoffice/program/soffice",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
)

# What LibreOffice may not do for a document: run its macros, fetch what it links to, follow its links to other files.
# The proxy on the discard port is for what the first settings leave open.
_SETTINGS: dict[str, dict[str, str]] = {
    "org.openoffice.Office.Common/Security/Scripting": {
        "BlockUntrustedRefererLinks": "true",
        "DisableActiveContent": "true",
        "DisableMacrosExecution": "true",
        "MacroSecurityLevel": "3",
    },
    "org.openoffice.Inet/Settings": {
        "ooInetProxyType": "1",
        "ooInetHTTPProxyName": "127.0.0.1",
        "ooInetHTTPProxyPort": "9",
        "ooInetHTTPSProxyName": "127.0.0.1",
        "ooInetHTTPSProxyPort": "9",
        "ooInetFTPProxyName": "127.0.0.1",
        "ooInetFTPProxyPort": "9",
        "ooInetNoProxy": "",
    },
    "org.openoffice.Office.Writer/Content/Update": {"Link": "0"},
    "org.openoffice.Office.Calc/Content/Update": {"Link": "1"},
}
_REGISTRY = "http://openoffice.org/2001/registry"


def via_libreoffice(data: bytes, name: str, kind: str, target: str, limits: Limits) -> bytes:
    """A document in another format, converted by a LibreOffice of its own profile, without network or macros.

    Args:
        data: the file.
        name: its name, for messages.
        kind: what it is: "doc", "xls", "rtf" ...
        target: "docx", "xlsx" or "pptx".
        limits: time; `office` False forbids it.

    Raises:
        UnreadableFile: LibreOffice is not installed, too slow, or cannot read the file.
    """
    program = (
        next((found for item in _PROGRAMS if (found := shutil.which(item))), None) if limits.office else None
    )
    if program is None:
        raise UnreadableFile(
            f".{kind} is read only by way of LibreOffice, which is not installed.",
            f"Install LibreOffice, or save the file as .{target} (or .pdf): soffice --headless --convert-to {target} FILE",
        )
    with tempfile.TemporaryDirectory(prefix="soffice-", ignore_cleanup_errors=True) as folder:
        source = Path(folder, f"source.{kind}")
        source.write_bytes(data)
        _make_profile(Path(folder, "profile"))
        _run(
            [
                program, "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
                f"-env:UserInstallation=file://{folder}/profile", "--convert-to", target, "--outdir", f"{folder}/out",
                str(source),
            ],
            folder,
            limits.timeout_s * 0.9,
        )  # fmt: skip
        result = Path(folder, "out", f"source.{target}")
        if not result.is_file():
            raise UnreadableFile(
                f"LibreOffice could not read this .{kind} file: it is damaged, or it has a password.",
                f"Open it in its program and save it as .{target} without a password.",
            )
        if result.stat().st_size > limits.unpacked_mb * MEGABYTE:
            raise UnreadableFile(
                f"LibreOffice made a file of {result.stat().st_size / MEGABYTE:,.0f} MB of it."
            )
        return result.read_bytes()


def _make_profile(profile: Path) -> None:
    items = "".join(
        f'<item oor:path="/{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, properties in _SETTINGS.items()
        for name, value in properties.items()
    )
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor="{_REGISTRY}">{items}</oor:items>\n',
        "utf-8",
    )


def _run(command: list[str], folder: str, seconds: float) -> None:
    environment = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL")}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**environment, "HOME": folder, "TMPDIR": folder},
        preexec_fn=_bounded,  # noqa: PLW1509 (the conversion process has one thread)
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise UnreadableFile(
            f"LibreOffice took longer than {seconds:.0f} s.",
            "Raise GRAPH_AGENT_FILE_TIMEOUT_S if the file is worth it.",
        ) from None
    finally:
        # Not a process group of its own: then it would outlive a conversion process that is killed.
        for number in [*_descendants(process.pid), process.pid] if process.returncode is None else ():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        process.wait()


def _descendants(process: int) -> list[int]:
    """What a process has started, and what that has started (Linux; elsewhere the program starts nothing)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int(entry.read_text("ascii", "replace").rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.parent.name))
    found = [process]
    for number in found:
        found += parents.get(number, [])
    return found[1:]


def _bounded() -> None:
    """LibreOffice maps more address space than a converter may use."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = ADDRESS_SPACE_MB * MEGABYTE
    resource.setrlimit(
        resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )
