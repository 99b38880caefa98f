"""A picture of circles and lines as a Plotly figure; the layout is ours, the drawing Plotly's.

The figure is plain JSON of Plotly's schema: Gradio's own files bring Plotly's script, so nothing else is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from graph_agent.ui.neighbourhood import Picture

ROUNDS = 220
MAX_WORDS = 24  # relationships whose names are written on their lines
SEED = 7  # the same picture for the same graph
Positions = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme; text on the page's ground is AA."""

    text: str
    soft: str
    line: str
    ground: str
    kinds: dict[str, str]


LIGHT = Palette(
    "#1d1f21", "#5a5f66", "#b9bcb6", "#ffffff",
    {"type": "#0b6b62", "document": "#0b6b62", "section": "#5d8f89", "folder": "#8a6d3b", "label": "#6a5d8f"},
)  # fmt: skip
DARK = Palette(
    "#e8e9ea", "#a9afb6", "#4a5158", "#1b1e21",
    {"type": "#5cc9bb", "document": "#5cc9bb", "section": "#8fbfb8", "folder": "#d9b26a", "label": "#b5a6df"},
)  # fmt: skip


def positions(picture: Picture) -> Positions:
    """Places of the nodes, [nodes, 2], about within -1 to 1.

    Forces after Fruchterman and Reingold (Software: Practice and Experience 21, 1991): all nodes repel each
    other, linked ones attract; the steps get smaller. A centre stays at the origin.
    """
    number = len(picture.nodes)
    if number == 0:
        return np.zeros((0, 2))
    keys = {node.key: at for at, node in enumerate(picture.nodes)}
    pairs = np.array(
        [(keys[link.source], keys[link.target]) for link in picture.links if link.source != link.target],
        dtype=np.intp,
    ).reshape(-1, 2)
    angles = np.linspace(0, 2 * math.pi, number, endpoint=False)
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places += np.random.default_rng(SEED).normal(0, 0.02, places.shape)
    fixed = keys.get(picture.centre, -1)
    ideal = 1.1 / math.sqrt(number)
    for step in range(ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        push = (apart / distance[..., None] * (ideal**2 / distance)[..., None]).sum(axis=1)
        if len(pairs):
            along = places[pairs[:, 1]] - places[pairs[:, 0]]
            pull = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal)
            np.add.at(push, pairs[:, 0], pull)
            np.add.at(push, pairs[:, 1], -pull)
        push -= places * 0.25  # towards the middle, so that parts without links do not drift away
        length = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-9)
        places += push / length * np.minimum(length, 0.12 * (1 - step / ROUNDS))
        if fixed >= 0:
            places -= places[fixed]
    # Each direction by itself, so that the picture fills its page.
    scaled: Positions = places / np.maximum(np.abs(places).max(axis=0), 1e-6)
    return scaled


def figure(picture: Picture, *, dark: bool) -> dict[str, Any]:
    """The figure as JSON types."""
    colours = DARK if dark else LIGHT
    places = positions(picture)
    at = {node.key: places[number] for number, node in enumerate(picture.nodes)}
    lines_x: list[float | None] = []
    lines_y: list[float | None] = []
    words: list[dict[str, Any]] = []
    told: set[tuple[str, tuple[str, ...]]] = set()
    for (one, other), captions in _bundles(picture).items():
        start, end = at[one], at[other]
        if one == other:
            # A relationship of a label to itself stands above its circle; the name stands below.
            words.append(
                _words(start[0], start[1], "<br>".join(captions), colours, lift=34 + 7 * len(captions))
            )
            continue
        lines_x += [float(start[0]), float(end[0]), None]
        lines_y += [float(start[1]), float(end[1]), None]
        ends = {(one, tuple(captions)), (other, tuple(captions))}
        # Around one node many lines mean the same: it is written on the first of them.
        if len(picture.links) <= MAX_WORDS and not (picture.centre and ends & told):
            told |= ends
            middle = (start + end) / 2
            words.append(_words(middle[0], middle[1], "<br>".join(captions), colours))
    lines = {
        "type": "scatter", "mode": "lines", "x": lines_x, "y": lines_y, "hoverinfo": "skip",
        "line": {"color": colours.line, "width": 1.4},
    }  # fmt: skip
    diameters = sizes(picture)
    # Names are annotations as well: these lie above the words on the lines.
    words += [
        _words(
            place[0], place[1], _escaped(_short(node.caption)), colours, lift=-diameter / 2 - 11, name=True
        )
        for node, place, diameter in zip(picture.nodes, places, diameters, strict=True)
    ]
    circles = {
        "type": "scatter", "mode": "markers",
        "x": [float(place[0]) for place in places], "y": [float(place[1]) for place in places],
        "hovertext": [_escaped(f"{node.caption} {f'({node.detail})' if node.detail else ''}") for node in picture.nodes],
        "hoverinfo": "text", "customdata": [[node.kind, node.id or node.key] for node in picture.nodes],
        "marker": {
            "size": diameters, "color": [colours.kinds[node.kind] for node in picture.nodes],
            "line": {"color": colours.ground, "width": 2}, "opacity": 1,
        },
    }  # fmt: skip
    axis = {"visible": False, "range": [-1.25, 1.25], "fixedrange": False}
    layout = {
        "showlegend": False, "hovermode": "closest", "dragmode": "pan", "annotations": words,
        "xaxis": axis, "yaxis": dict(axis), "margin": {"l": 8, "r": 8, "t": 8, "b": 24},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.text, "family": "system-ui, sans-serif"},
        "hoverlabel": {"bgcolor": colours.ground, "bordercolor": colours.line, "font": {"color": colours.text}},
    }  # fmt: skip
    return {"data": [lines, circles], "layout": layout,
            "config": {"displayModeBar": False, "scrollZoom": True, "displaylogo": False}}  # fmt: skip


def _bundles(picture: Picture) -> dict[tuple[str, str], list[str]]:
    """Captions of the links between each two nodes, in one order of the two; an arrow shows the other way."""
    found: dict[tuple[str, str], list[str]] = {}
    for link in picture.links:
        pair = (link.source, link.target)
        turned = (link.target, link.source)
        if pair not in found and turned in found:
            found[turned].append(f"{_escaped(link.caption)} ↩")
        else:
            found.setdefault(pair, []).append(
                _escaped(link.caption) + (" ↻" if link.source == link.target else "")
            )
    return found


def sizes(picture: Picture) -> list[float]:
    """Diameters in pixels: areas grow with the logarithm of the counts, which span many magnitudes."""
    top = max((math.log1p(node.weight) for node in picture.nodes), default=1.0) or 1.0
    low, high = (16.0, 58.0) if not picture.centre else (13.0, 30.0)
    return [low + (high - low) * math.sqrt(math.log1p(node.weight) / top) for node in picture.nodes]


def _words(
    x: float, y: float, text: str, colours: Palette, *, lift: float = 0, name: bool = False
) -> dict[str, Any]:
    return {
        "x": float(x), "y": float(y), "text": text, "showarrow": False, "yshift": lift, "borderpad": 1,
        "font": {"size": 13 if name else 12, "color": colours.text if name else colours.soft},
        "bgcolor": "rgba(0,0,0,0)" if name else colours.ground,
    }  # fmt: skip


def _short(caption: str) -> str:
    return caption if len(caption) <= 30 else caption[:29].rstrip() + "…"


def _escaped(text: str) -> str:
    """Plotly reads a few HTML tags in text; none of a document's may be among them."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
