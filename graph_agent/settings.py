"""Every setting in one place: environment variables with the prefix GRAPH_AGENT_, a .env file, options.

Nothing is read at import; `load_settings()` reads the environment once and gives a frozen object.
"""

from __future__ import annotations

import difflib
import logging
import os
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from graph_agent.errors import ConfigurationError

PREFIX = "GRAPH_AGENT_"
_FOR_TESTS = {PREFIX + name for name in ("SOAK", "FUZZ", "SEED", "LOAD_S", "TEST_ENGINE")}

log = logging.getLogger(__name__)
_told: set[str] = set()


class Settings(BaseSettings):
    """What a user can set; each field is `GRAPH_AGENT_<FIELD>` in the environment.

    The chat model's key and address are OpenAI's own variables, OPENAI_API_KEY and OPENAI_BASE_URL,
    which langchain-openai reads by itself.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    # Where things are
    data: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("graph-agent", appauthor=False)),
        description="data folder: the embedded engine's files, conversations, caches",
    )
    graph: str = Field("documents", min_length=1, max_length=200, description="name of the graph")
    falkordb_url: SecretStr | None = Field(
        None, description="external server: falkor://, falkors://, redis://, rediss:// or unix://"
    )

    # The engine
    query_timeout_ms: int = Field(5_000, ge=1, le=600_000, description="limit of a model's or user's query")
    internal_timeout_ms: int = Field(60_000, ge=100, description="limit of our own queries")
    row_cap: int = Field(200, ge=1, le=100_000, description="rows that graph_query returns at most")
    query_memory_mb: int = Field(2_048, ge=64, description="embedded engine: memory one query may take")

    # Embeddings and chunks
    embeddings: str = Field(
        "local",
        description="local, multilingual, or an init_embeddings string such as openai:text-embedding-3-small",
    )
    chunk_tokens: int = Field(220, ge=32, le=8_000, description="chunk size in the embedding model's tokens")
    chunk_overlap: int = Field(20, ge=0, le=1_000, description="overlap of neighbouring chunks in tokens")

    # Retrieval
    mirror_limit: int = Field(
        250_000,
        ge=0,
        description="chunks whose vectors are held in memory for exact search; above, the index serves",
    )
    rerank: str | None = Field(
        None, description="rerank endpoint (http...) or module:factory of a compressor"
    )
    rerank_key: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("GRAPH_AGENT_RERANK_KEY", "RERANK_API_KEY"),
        description="key of the rerank endpoint; RERANK_API_KEY is taken, too",
    )
    rerank_timeout_s: float = Field(3.0, gt=0, le=60)

    # Ingest
    include: tuple[str, ...] = Field((), description="globs of files to take (default: every readable kind)")
    exclude: tuple[str, ...] = Field((), description="globs of files to leave out")
    file_timeout_s: float = Field(10.0, gt=0, le=3_600, description="time one file's conversion may take")
    max_file_mb: int = Field(200, ge=1)
    passwords: tuple[SecretStr, ...] = Field((), description="tried on encrypted documents")
    ocr: bool = Field(False, description="read scanned pages by tesseract, when it is installed")
    ocr_languages: str = Field("eng", min_length=1, description="its languages, e.g. eng+deu")

    # The agent
    model: str | None = Field(
        None, description="chat model: a name for the OpenAI-compatible endpoint, or provider:name"
    )
    max_model_calls: int = Field(8, ge=1, le=100)
    max_tool_calls: int = Field(6, ge=0, le=100, description="tool calls of the reading loop")
    max_input_tokens: int = Field(
        20_000, ge=1_000, description="input tokens of all model calls for one question"
    )
    max_seconds: float = Field(120.0, gt=0, description="wall time of one question")
    passage_tokens: int = Field(6_000, ge=200, description="tokens of passages given to the answering call")
    model_timeout_s: float = Field(60.0, gt=0)
    price_input: float | None = Field(None, description="price of a million input tokens, any currency")
    price_output: float | None = Field(None, description="price of a million output tokens")
    prompts: Path | None = Field(None, description="folder whose *.md files override the built-in prompts")
    checkpoints: SecretStr | None = Field(
        None, description="Postgres URL for conversations; default SQLite in the data folder"
    )

    # The chat
    host: str = "127.0.0.1"
    port: int = Field(7860, ge=0, le=65_535)
    upload_mb: int = Field(100, ge=1)

    # The MCP server
    mcp_token: SecretStr | None = Field(None, description="bearer token of `graph-agent mcp --http`")

    # Logging
    log_format: Literal["text", "json"] = "text"

    @field_validator("data", mode="after")
    @classmethod
    def _expand(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator(
        "model", "rerank", "falkordb_url", "checkpoints", "prompts", "rerank_key", "mcp_token", mode="before"
    )
    @classmethod
    def _blank_is_unset(cls, value: Any) -> Any:
        """`GRAPH_AGENT_MODEL=` in a .env file means no model, not a model named ''."""
        return None if isinstance(value, str) and not value.strip() else value


def load_settings(**overrides: Any) -> Settings:
    """Read the environment and .env; `overrides` that are not None win.

    Raises:
        ConfigurationError: a value is not usable; names the variable, the value's fault and the fix.
    """
    _warn_of_unknown()
    try:
        return Settings(**{key: value for key, value in overrides.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = PREFIX + "_".join(str(part) for part in first["loc"][:1]).upper()
        raise ConfigurationError(
            f"{name} is not usable: {first['msg']} (value {_shown(first.get('input'))}).",
            f"Correct {name} in the environment, in .env or on the command line.",
        ) from None


def _warn_of_unknown() -> None:
    """Tell once of each GRAPH_AGENT_ name that means nothing: a misspelt one is else silently without effect."""
    from dotenv import dotenv_values

    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in (*os.environ, *dotenv_values(".env", encoding="utf-8")):
        wanted = name.upper()
        if not wanted.startswith(PREFIX) or wanted in known | _FOR_TESTS or wanted in _told:
            continue
        _told.add(wanted)
        nearest = difflib.get_close_matches(wanted, known, 1)
        meant = f" Did you mean {nearest[0]}?" if nearest else ""
        log.warning("%s is no setting and has no effect.%s", name, meant)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
