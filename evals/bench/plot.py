"""One picture of a bench run: quality per set and mode, latency against peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MODES = ("bm25", "vector", "hybrid")
COLOURS = {"bm25": "#8aa4c8", "vector": "#c8b48a", "hybrid": "#2f6f4f", "peer": "#b0b0b0"}


def draw(quality: dict[str, Any], latency: dict[str, Any], path: Path) -> str:
    """Write the plot; returns where it is, or why there is none."""
    try:
        import matplotlib as mpl
    except ImportError:
        return "none (matplotlib is not installed: pip install 'graph-agent[bench]')"
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5), width_ratios=(3, 1), layout="constrained")
    _quality(left, quality.get("sets", []))
    _latency(right, latency)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return str(path)


def _quality(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, mode in enumerate(MODES):
        places = [at + 0.27 * (number - 1) for at in range(len(rows))]
        axes.bar(places, [row[mode] for row in rows], width=0.26, color=COLOURS[mode], label=mode)
    for at, row in enumerate(rows):
        for name, value in row.get("peers", {}).items():
            if isinstance(value, float) and name.startswith("lancedb"):
                axes.plot([at - 0.4, at + 0.4], [value, value], color="black", linewidth=1)
    axes.set_xticks(range(len(rows)), [row["set"] for row in rows], rotation=25, ha="right")
    axes.set_ylabel("nDCG@10")
    axes.set_ylim(0, 1.05)
    axes.set_title("Search quality by set (line: LanceDB hybrid, same passages and vectors)")
    axes.legend(loc="upper right")


def _latency(axes: Any, found: dict[str, Any]) -> None:
    ours = found.get("ours", {})
    bars = [
        (name, ours[name]["median_ms"], COLOURS["hybrid"])
        for name in ("hybrid", "in one document", "again, embedding cached")
        if name in ours
    ]
    for name, row in found.get("peers", {}).items():
        if isinstance(row, dict):
            bars.append((name, row["median_ms"], COLOURS["peer"]))
    axes.barh(
        [name for name, _, _ in bars],
        [value for _, value, _ in bars],
        color=[colour for _, _, colour in bars],
    )
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds, median")
    axes.set_title(f"A search among {found.get('chunks', 0):,} passages")
