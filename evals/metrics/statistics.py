"""Means and percentiles with bootstrap intervals, and agreement between two graders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DRAWS = 2_000
SEED = 20_240_607
_BLOCK = 2_000_000  # numbers drawn at a time, so that memory stays bounded

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval.

    Attributes:
        value: of the questions that were asked.
        low, high: between the 2.5th and 97.5th percentile of resampled questions (Efron 1979).
        n: how many questions it is over.
    """

    value: float
    low: float
    high: float
    n: int

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types, rounded to six digits."""
        return {
            "value": round(self.value, 6), "low": round(self.low, 6), "high": round(self.high, 6), "n": self.n,
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean(values: Sequence[float]) -> Estimate:
    """Mean with its bootstrap interval; the interval of fewer than two values is the value itself."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    center = float(data.mean())
    low, high = _interval(data, lambda drawn: drawn.mean(axis=1))
    return Estimate(center, low, high, len(data))


def percentile(values: Sequence[float], rank: float) -> Estimate:
    """A percentile (0 to 100, linear interpolation) with its bootstrap interval."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    low, high = _interval(data, lambda drawn: np.percentile(drawn, rank, axis=1))
    return Estimate(float(np.percentile(data, rank)), low, high, len(data))


def _interval(data: Floats, statistic: Any) -> tuple[float, float]:
    if len(data) < 2 or np.ptp(data) == 0.0:
        return float(data[0]), float(data[0])
    generator = np.random.default_rng(SEED)
    rows = max(1, min(DRAWS, _BLOCK // len(data)))
    parts: list[Floats] = []
    for start in range(0, DRAWS, rows):
        picks = generator.integers(0, len(data), (min(rows, DRAWS - start), len(data)))
        parts.append(statistic(data[picks]))
    low, high = np.percentile(np.concatenate(parts), [2.5, 97.5])
    return float(low), float(high)


def by_question(values: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The mean of each question's repeats, in order of first appearance: questions are what is resampled."""
    found: dict[str, list[float]] = {}
    for question, value in values:
        found.setdefault(question, []).append(value)
    return {question: sum(repeats) / len(repeats) for question, repeats in found.items()}


def paired(before: Mapping[str, float], after: Mapping[str, float]) -> Estimate:
    """Mean of `after - before` over the questions that both have, with its interval."""
    return mean([after[name] - before[name] for name in before if name in after])


def agreement(one: Sequence[bool], other: Sequence[bool]) -> tuple[float, float]:
    """Share of equal verdicts, and Cohen's kappa (1960): agreement beyond chance, 1 at most.

    Kappa is not a number when both graders always say the same one thing, as chance then explains all.
    """
    if not one:
        return float("nan"), float("nan")
    equal = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
    p, q = sum(one) / len(one), sum(other) / len(other)
    chance = p * q + (1 - p) * (1 - q)
    return equal, (equal - chance) / (1 - chance) if chance < 1 else float("nan")
