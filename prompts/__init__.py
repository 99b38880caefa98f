"""The prompts: one Markdown file per call to a model, and `load`.

A file of the same name in the user's own folder (GRAPH_AGENT_PROMPTS) takes the place of ours. Prompts hold
no placeholders: what varies is put behind them as fenced data, so no brace in a document can break one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import xxhash

from graph_agent.errors import ConfigurationError

NAMES = ("plan", "cypher", "repair", "read", "answer", "rewrite")
"""Of the agent."""

INGEST_NAMES = ("enrich", "label")
"""Of `ingest --enrich`."""

MAX_CHARACTERS = 40_000
_HOME = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of a prompt, and its version: the first 12 hex digits of the xxh3-64 of the text."""

    name: str
    text: str
    hash: str


def load(name: str, overrides: Path | None = None) -> Prompt:
    """A prompt by name; a file `<name>.md` in the folder `overrides` wins over the built-in one.

    Raises:
        ConfigurationError: there is no such prompt, or the user's file is not readable, empty or too long.
    """
    known = (*NAMES, *INGEST_NAMES)
    if name not in known:
        raise ConfigurationError(f"There is no prompt {name!r}.", f"The prompts are {', '.join(known)}.")
    own = overrides / f"{name}.md" if overrides is not None else None
    if own is not None and own.is_file():
        return _prompt(name, _own_text(own))
    return _built_in(name)


@lru_cache(maxsize=len(NAMES) + len(INGEST_NAMES))
def _built_in(name: str) -> Prompt:
    return _prompt(name, (_HOME / f"{name}.md").read_text(encoding="utf-8"))


def _own_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The prompt {path} cannot be read: {error}.", "Mend the file or remove it."
        ) from None
    if not text.strip() or len(text) > MAX_CHARACTERS:
        raise ConfigurationError(
            f"The prompt {path} has {len(text.strip())} characters.",
            f"Give it 1 to {MAX_CHARACTERS:,}, or remove the file.",
        )
    return text


def _prompt(name: str, text: str) -> Prompt:
    text = text.strip()
    return Prompt(name, text, xxhash.xxh3_64_hexdigest(text.encode())[:12])
