"""What a run can be told: which questions, how often, how to search, when to stop; and `KEY=VALUE` overrides."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from graph_agent.errors import ConfigurationError
from graph_agent.evals.runs import Mode
from graph_agent.settings import Settings, load_settings

# Settings that say where things are or how they are shown, but not what comes out.
BESIDE_THE_POINT = frozenset(
    {
        "data", "graph", "falkordb_url", "host", "port", "upload_mb", "log_format", "checkpoints", "passwords",
        "internal_timeout_ms", "query_memory_mb", "price_input", "price_output", "prompts", "mirror_limit",
    }
)  # fmt: skip
# Settings that decide what the ingested graph looks like: another value is another graph.
OF_THE_GRAPH = ("embeddings", "chunk_tokens", "chunk_overlap", "include", "exclude", "max_file_mb", "file_timeout_s", "ocr")  # fmt: skip
SEARCH_MODES = ("hybrid", "vector", "bm25", "cypher")


@dataclass(frozen=True)
class SearchOptions:
    """How retrieval mode searches.

    Attributes:
        mode: hybrid, vector, bm25, cypher.
        top_k: how many sections are asked for; the rank measures go no deeper.
        weights: None, or fixed weights of keywords and vectors ("0.3:0.7"), whose two rankings are then fused
            by reciprocal rank (k = 60) in place of the weights that hybrid search decides for each question.
    """

    mode: str = "hybrid"
    top_k: int = 20
    weights: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in SEARCH_MODES:
            raise ConfigurationError(
                f"There is no search mode {self.mode!r}.", f"The modes are {', '.join(SEARCH_MODES)}."
            )
        if not 1 <= self.top_k <= 1_000:
            raise ConfigurationError(f"top_k is {self.top_k}.", "It is 1 to 1000.")
        _ = self.fixed_weights

    @property
    def fixed_weights(self) -> tuple[float, float] | None:
        """Weights of keywords and vectors.

        Raises:
            ConfigurationError: they are not two numbers of which one is above 0.
        """
        if self.weights is None:
            return None
        try:
            words, meaning = (float(part) for part in self.weights.split(":"))
        except ValueError:
            words = meaning = -1.0
        if words < 0 or meaning < 0 or words + meaning <= 0:
            raise ConfigurationError(
                f"weights is {self.weights!r}.",
                "Write two numbers for keywords and vectors, such as 0.3:0.7.",
            )
        return words, meaning


@dataclass(frozen=True)
class RunOptions:
    """How a run goes.

    Attributes:
        mode: retrieval, answer or cypher.
        search: of retrieval mode.
        limit, sample, types, ids: which questions, see QuestionSet.chosen.
        repeat: how often each is asked.
        workers: questions at a time; None chooses by mode.
        ingest: bring the set's documents into a graph of their own first; False asks the settings' graph.
        choices: show the options of a multiple-choice question with it; None does so when a model answers.
        again: ask everything anew, even when this very run was made before.
        judge: chat model that grades the answers.
        max_cost: stop when so much was spent, in the currency of the prices; max_tokens: input and output.
    """

    mode: Mode = "retrieval"
    search: SearchOptions = SearchOptions()
    limit: int | None = None
    sample: int | None = None
    types: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    repeat: int = 1
    workers: int | None = None
    ingest: bool = True
    choices: bool | None = None
    again: bool = False
    judge: str | None = None
    max_cost: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("limit", "repeat", "workers", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}.", "It is at least 1.")

    def bearing(self) -> dict[str, Any]:
        """The options that bear on results, as JSON types."""
        bearing: dict[str, Any] = {"choices": self.choices}
        if self.mode == "retrieval":
            bearing |= asdict(self.search)
        return bearing


def bearing_settings(settings: Settings, mode: Mode) -> dict[str, Any]:
    """The settings that bear on results, as JSON types.

    A model and its limits play no part in retrieval mode.
    """
    kept = {
        name: value
        for name, value in settings.model_dump(mode="json").items()
        if name not in BESIDE_THE_POINT
    }
    if mode == "retrieval":
        agent = ("model", "max_model_calls", "max_tool_calls", "max_input_tokens", "max_seconds", "passage_tokens", "model_timeout_s", "row_cap", "query_timeout_ms")  # fmt: skip
        kept = {name: value for name, value in kept.items() if name not in agent}
    return kept


def parse_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`KEY=VALUE` arguments.

    Raises:
        ConfigurationError: one has no `=`.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"{option} {pair!r} is no KEY=VALUE.", f"Write {option} top_k=10.")
        found[key.strip()] = value.strip()
    return found


def apply_overrides(
    settings: Settings, options: RunOptions, overrides: Mapping[str, str]
) -> tuple[Settings, RunOptions]:
    """Settings and options with some values replaced.

    Keys are the fields of Settings (`chunk_tokens`), and of SearchOptions (`mode`, `top_k`, `weights`), with or
    without `search.` before them.

    Raises:
        ConfigurationError: a key is unknown or a value not usable; proposes the nearest key.
    """
    search_fields = {field.name for field in fields(SearchOptions)}
    for key, text in overrides.items():
        name = key.removeprefix("search.")
        if name in search_fields and name != "model":
            if options.mode != "retrieval":
                raise ConfigurationError(
                    f"{key} bears on retrieval mode, and this is {options.mode} mode.",
                    "Use --mode retrieval.",
                )
            options = replace(options, search=replace(options.search, **{name: _search_value(name, text)}))
        elif name in Settings.model_fields and key == name:
            settings = _changed(settings, name, text)
        else:
            known = sorted({*search_fields, *Settings.model_fields})
            near = difflib.get_close_matches(name, known, 1)
            raise ConfigurationError(
                f"There is no setting {key!r}" + (f", did you mean {near[0]!r}?" if near else "."),
                "Settings are those of .env.example without their prefix, and mode, top_k, weights.",
            )
    return settings, options


def parse_grid(arguments: Sequence[str]) -> dict[str, list[str]]:
    """`KEY=A,B,C` arguments.

    Raises:
        ConfigurationError: a key without values.
    """
    grid: dict[str, list[str]] = {}
    for key, text in parse_pairs(arguments, "--grid").items():
        values = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
        if not values:
            raise ConfigurationError(f"--grid {key} has no values.", f"Write --grid {key}=A,B.")
        grid[key] = values
    return grid


def _search_value(name: str, text: str) -> Any:
    if name != "top_k":
        return None if text.lower() in {"", "none", "auto"} else text
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"top_k is {text!r}.", "It is a whole number.") from None


def _changed(settings: Settings, name: str, text: str) -> Settings:
    value: Any = text
    if text.lower() in {"", "none"}:
        value = Settings.model_fields[name].get_default(call_default_factory=True)
    elif text[:1] in "[{":
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            raise ConfigurationError(
                f"{name} is {text!r}, which is no JSON.", "Check its brackets."
            ) from None
    return load_settings(**{**dict(settings), name: value})
