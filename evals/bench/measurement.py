"""One number of a bench with its bar, and how a bench program hands its numbers over."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Measurement:
    """A number.

    Attributes:
        name: what was measured. unit: of the value ("s", "ms", "%", "ratio").
        bar: the bound it has to keep, None when it is only told; side: on which side of it.
        note: how it was measured, in a few words.
    """

    name: str
    value: float
    unit: str = ""
    bar: float | None = None
    side: Literal["at most", "at least"] = "at most"
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the bar is kept; None without one."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.side == "at most" else self.value >= self.bar

    @property
    def wanted(self) -> str:
        """The bar in words."""
        return "" if self.bar is None else f"{'<=' if self.side == 'at most' else '>='} {self.bar:g}"

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "ok": self.ok}


def parser(description: str) -> argparse.ArgumentParser:
    """Arguments that every bench program of ours takes."""
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument("--json", type=Path, help="write the numbers there")
    return made


def hand_over(found: Sequence[Measurement], path: Path | None) -> int:
    """Print the numbers, write them where they are asked for; 1 when a bar is not kept."""
    for one in found:
        mark = {True: "ok", False: "MISSED", None: ""}[one.ok]
        print(f"{one.name:<56} {one.value:10.4g} {one.unit:<6} {one.wanted:<10} {mark}")
    if path is not None:
        path.write_text(json.dumps({"measurements": [one.as_json() for one in found]}, indent=1))
    return int(any(one.ok is False for one in found))


def read_back(found: dict[str, Any]) -> list[Measurement]:
    """Measurements as `hand_over` wrote them."""
    return [
        Measurement(**{key: value for key, value in row.items() if key != "ok"})
        for row in found["measurements"]
    ]
