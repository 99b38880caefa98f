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

_PROGRAMS = (
    "soffice",
    "libreoffice",
    "/usr/lib/libreoffice/program/soffice",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
)


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
            raise UnreadableFile(f"LibreOffice could not read this .{kind} file: it is probably damaged.")
        if result.stat().st_size > limits.unpacked_mb * MEGABYTE:
            raise UnreadableFile(
                f"LibreOffice made a file of {result.stat().st_size / MEGABYTE:,.0f} MB of it."
            )
        return result.read_bytes()


def _run(command: list[str], folder: str, seconds: float) -> None:
    environment = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL")}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**environment, "HOME": folder, "TMPDIR": folder},
        preexec_fn=_unbound,  # noqa: PLW1509 (the conversion process has one thread)
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise UnreadableFile(
            f"LibreOffice took longer than {seconds:.0f} s.",
            "Raise GRAPH_AGENT_FILE_TIMEOUT_S if the file is worth it.",
        ) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()


def _unbound() -> None:
    """LibreOffice maps more address space than a converter may use."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
