"""What a run will cost, told before it starts: from what earlier runs cost, else from what a question may cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from graph_agent.evals.runs import Mode, Record, RunFolder, RunInfo, runs_folder
from graph_agent.settings import Settings

# Where no run is known: what scripted scenarios are allowed to take on average.
CALLS, INPUT_TOKENS, OUTPUT_TOKENS = 4.0, 12_000.0, 500.0
SECONDS = {"model": 12.0, "extractive": 0.5, "retrieval": 0.1}
RUNS_LOOKED_AT = 5


@dataclass(frozen=True)
class Estimate:
    """What is expected of a run.

    Attributes:
        questions: still to be asked.
        cost: in the currency of the prices; None without a model or without prices.
        seconds: wall time with the workers given.
        basis: what it is taken from, in words.
    """

    questions: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float
    basis: str

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    def __str__(self) -> str:
        parts = [f"{self.questions:,} questions, about {_duration(self.seconds)}"]
        if self.model_calls:
            parts.append(
                f"{self.model_calls:,} model calls, {self.input_tokens:,} input and {self.output_tokens:,} output tokens"
            )
        if self.cost is not None:
            parts.append(f"cost about {self.cost:,.2f}")
        return "; ".join(parts) + f" ({self.basis})"


def estimate_run(settings: Settings, mode: Mode, questions: int, workers: int) -> Estimate:
    """The cost of asking so many questions in a mode with the settings' model."""
    with_model = mode != "retrieval" and bool(settings.model)
    records, basis = _earlier(settings, mode)
    if records:
        calls, tokens_in, tokens_out = (
            _mean(records, name)
            for name in ("usage.model_calls", "usage.input_tokens", "usage.output_tokens")
        )
        seconds = sum(record.seconds for record in records) / len(records)
    else:
        calls, tokens_in, tokens_out = (CALLS, INPUT_TOKENS, OUTPUT_TOKENS) if with_model else (0.0, 0.0, 0.0)
        seconds = SECONDS["retrieval" if mode == "retrieval" else "model" if with_model else "extractive"]
        basis = "no earlier run: the most that is allowed on average" if with_model else "no earlier run"
    input_tokens, output_tokens = round(tokens_in * questions), round(tokens_out * questions)
    return Estimate(
        questions=questions,
        model_calls=round(calls * questions),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=price(settings, input_tokens, output_tokens) if with_model else None,
        seconds=seconds * questions / max(1, workers),
        basis=basis,
    )


def price(settings: Settings, input_tokens: int, output_tokens: int) -> float | None:
    """What tokens cost by the settings' prices per million; None without prices."""
    if settings.price_input is None and settings.price_output is None:
        return None
    return (
        input_tokens * (settings.price_input or 0.0) + output_tokens * (settings.price_output or 0.0)
    ) / 1_000_000


def _earlier(settings: Settings, mode: Mode) -> tuple[list[Record], str]:
    """Records of the latest runs of this mode and model."""
    model = None if mode == "retrieval" else settings.model
    infos = [(info, folder) for folder, info in _known(settings) if (info.mode, info.model) == (mode, model)]
    infos.sort(key=lambda pair: pair[0].started, reverse=True)
    records: list[Record] = []
    names = []
    for info, folder in infos[:RUNS_LOOKED_AT]:
        found = [record for record in folder.read_records() if record.status == "ok"]
        if found:
            records += found
            names.append(info.id)
    return records, f"from {', '.join(names[:2])}{' and others' if len(names) > 2 else ''}"


def _known(settings: Settings) -> Iterable[tuple[RunFolder, RunInfo]]:
    from graph_agent.errors import ConfigurationError

    for manifest in runs_folder(settings).glob("*/manifest.json"):
        folder = RunFolder(manifest.parent)
        try:
            yield folder, folder.read_info()
        except ConfigurationError:
            continue


def _mean(records: list[Record], metric: str) -> float:
    values = [record.scores[metric] for record in records if metric in record.scores]
    return sum(values) / len(values) if values else 0.0


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"
