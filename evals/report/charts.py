"""Plots as inline SVG: no script, no font, no file besides. Colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from graph_agent.evals.metrics.statistics import Estimate

WIDTH = 640
_LABEL = 190
_ROW = 26
_PLOT_HEIGHT = 240
_LEFT, _BOTTOM, _TOP, _RIGHT = 52, 40, 12, 16
SHADES = 5  # classes s0 to s4 of the style sheet, then again from s0


def bars(rows: Sequence[tuple[str, Estimate]], *, title: str, most: float | None = None) -> str:
    """Horizontal bars with their intervals.

    Args:
        rows: (label, value) from top to bottom.
        title: read by screen readers, and shown above.
        most: right end of the scale; default the largest value.
    """
    known = [(label, one) for label, one in rows if one.n and math.isfinite(one.value)]
    if not known:
        return ""
    top = most if most is not None else max(one.high for _, one in known) or 1.0
    room = WIDTH - _LABEL - 150
    height = _ROW * len(known) + 8
    parts = []
    for at, (label, one) in enumerate(known):
        y = at * _ROW + 5
        x = [_LABEL + room * max(0.0, min(value / top, 1.0)) if top else _LABEL for value in (one.value, one.low, one.high)]  # fmt: skip
        middle = y + 8
        parts.append(
            f'<text x="{_LABEL - 8}" y="{y + 12}" text-anchor="end">{escape(_short(label, 28))}'
            f"<title>{escape(label)}</title></text>"
            f'<rect class="track" x="{_LABEL}" y="{y}" width="{room}" height="16" rx="2"/>'
            f'<rect class="bar" x="{_LABEL}" y="{y}" width="{x[0] - _LABEL:.1f}" height="16" rx="2"/>'
            f'<path class="whisker" d="M{x[1]:.1f} {middle}H{x[2]:.1f}M{x[1]:.1f} {y + 4}V{y + 12}M{x[2]:.1f} {y + 4}V{y + 12}"/>'
            f'<text class="value" x="{WIDTH - 142}" y="{y + 12}">{_number(one.value)} <tspan class="quiet">'
            f"{_number(one.low)} to {_number(one.high)}, n {one.n}</tspan></text>"
        )
    return _figure(title, height, "".join(parts))


def curves(series: Mapping[str, Sequence[tuple[float, float]]], *, title: str, x: str, y: str) -> str:
    """Lines through points, one per name, over a scale from 0 to 1."""
    drawn = {name: points for name, points in series.items() if points}
    if not drawn:
        return ""
    most = max(point[0] for points in drawn.values() for point in points)
    parts = [_axes(x, y, most, 1.0)]
    for at, (name, points) in enumerate(drawn.items()):
        shade = f"s{at % SHADES}"
        places = [(_x(px, most), _y(py, 1.0)) for px, py in points]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in places)
        parts.append(f'<path class="line {shade}" d="M{path}"/>')
        parts += [
            f'<circle class="dot {shade}" cx="{px:.1f}" cy="{py:.1f}" r="3"><title>{escape(name)}: {_number(value)} at {_number(k)}</title></circle>'
            for (px, py), (k, value) in zip(places, points, strict=True)
        ]
        parts.append(
            f'<text class="legend {shade}" x="{WIDTH - _RIGHT - 4}" y="{_PLOT_HEIGHT - _BOTTOM - 10 - 16 * at}" '
            f'text-anchor="end">{escape(_short(name, 40))}</text>'
        )
    return _figure(title, _PLOT_HEIGHT, "".join(parts))


def scatter(points: Sequence[tuple[float, float, str]], *, title: str, x: str, y: str) -> str:
    """Points (x, y from 0 to 1, label); equal places are parted a little so that all can be seen."""
    if not points:
        return ""
    most = max(point[0] for point in points) or 1.0
    parts = [_axes(x, y, most, 1.0)]
    seen: dict[tuple[float, float], int] = {}
    for px, py, label in points:
        place = (round(_x(px, most)), round(_y(py, 1.0)))
        times = seen[place] = seen.get(place, -1) + 1
        parts.append(
            f'<circle class="point" cx="{place[0] + 2.5 * (times % 4):.1f}" cy="{place[1] - 2.5 * (times // 4 % 12):.1f}" r="3.5">'
            f"<title>{escape(label)}</title></circle>"
        )
    return _figure(title, _PLOT_HEIGHT, "".join(parts))


def histogram(values: Sequence[float], *, title: str, x: str, boxes: int = 24) -> str:
    """How many values lie in each of some equal ranges from 0 on."""
    if not values:
        return ""
    most = max(values) or 1.0
    counts = [0] * boxes
    for value in values:
        counts[min(boxes - 1, int(value / most * boxes))] += 1
    tallest = max(counts)
    parts = [_axes(x, "questions", most, float(tallest))]
    width = (WIDTH - _LEFT - _RIGHT) / boxes
    for at, count in enumerate(counts):
        if count:
            top = _y(count, tallest)
            parts.append(
                f'<rect class="bar" x="{_LEFT + at * width + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" '
                f'height="{_PLOT_HEIGHT - _BOTTOM - top:.1f}"><title>{count} between {_number(most * at / boxes)} and {_number(most * (at + 1) / boxes)}</title></rect>'
            )
    return _figure(title, _PLOT_HEIGHT, "".join(parts))


def _axes(x: str, y: str, most_x: float, most_y: float) -> str:
    parts = []
    for step in range(5):
        share = step / 4
        level = _y(share * most_y, most_y)
        place = _x(share * most_x, most_x)
        parts.append(
            f'<path class="grid" d="M{_LEFT} {level:.1f}H{WIDTH - _RIGHT}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{level + 4:.1f}" text-anchor="end">{_tick(share * most_y)}</text>'
            f'<text class="tick" x="{place:.1f}" y="{_PLOT_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{_tick(share * most_x)}</text>'
        )
    parts.append(
        f'<text class="tick" x="{(WIDTH + _LEFT) / 2}" y="{_PLOT_HEIGHT - 6}" text-anchor="middle">{escape(x)}</text>'
        f'<text class="tick" x="12" y="{_PLOT_HEIGHT / 2 - 14}" text-anchor="middle" '
        f'transform="rotate(-90 12 {_PLOT_HEIGHT / 2 - 14})">{escape(y)}</text>'
    )
    return "".join(parts)


def _x(value: float, most: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * (value / most if most else 0.0)


def _y(value: float, most: float) -> float:
    return _PLOT_HEIGHT - _BOTTOM - (_PLOT_HEIGHT - _BOTTOM - _TOP) * (value / most if most else 0.0)


def _figure(title: str, height: float, body: str) -> str:
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg">{body}</svg></figure>'
    )


def _number(value: float) -> str:
    if value and abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 10 else f"{value:.2f}"


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
