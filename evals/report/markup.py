"""Pieces of pages: everything that comes from outside is escaped, nothing is loaded, nothing runs."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

MOST_CHARACTERS = 6_000  # of one text that is shown
_TURNING = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"


def page(title: str, body: str) -> str:
    """A whole page. Its policy forbids scripts and every request, whatever a document's text may hold."""
    style = resources.files("graph_agent.evals.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>{text(title)}</title><style>{style}</style></head>\n<body>{body}</body></html>\n"
    )


def text(value: Any) -> str:
    """Any value as text of a page: escaped, bounded, no control characters."""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(written) > MOST_CHARACTERS:
        written = f"{written[:MOST_CHARACTERS]}… ({len(written) - MOST_CHARACTERS:,} more characters)"
    return escape("".join("\ufffd" if _is_control(char) else char for char in written))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """A table of cells that are markup already; the columns `numbers` are set to the right."""
    cells = [f'<th class="n">{text(name)}</th>' if at in numbers else f"<th>{text(name)}</th>" for at, name in enumerate(head)]  # fmt: skip
    lines = [
        "<tr>"
        + "".join(
            f'<td class="n">{cell}</td>' if at in numbers else f"<td>{cell}</td>"
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    ]
    rows_of_page = "".join(lines)
    made = f"<table><thead><tr>{''.join(cells)}</tr></thead><tbody>{rows_of_page}</tbody></table>"
    return f'<div class="wide">{made}</div>' if lines else ""


def fold(title: str, body: str, *, opened: bool = False) -> str:
    """Something that opens on a click; both arguments are markup."""
    return f"<details{' open' if opened else ''}><summary>{title}</summary>{body}</details>"


def block(value: Any) -> str:
    """A longer text as it is, line breaks kept."""
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return f"<pre>{text(value)}</pre>"


def _is_control(char: str) -> bool:
    """Control characters, and marks that turn the direction of text that follows."""
    if char in "\n\t":
        return False
    return unicodedata.category(char) in {"Cc", "Cs"} or char in _TURNING
