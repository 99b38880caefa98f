"""Keeps the drawing of the machine in a Markdown file as the compiled graph is.

    python -m graph_agent.agent.drawing ARCHITECTURE.md [--check]

The drawing stands between two comments, `BEGIN` and `END`; everything else in the file stays as it is.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from graph_agent.agent.graph import draw
from graph_agent.errors import ConfigurationError

BEGIN = "<!-- agent drawing: made by `make drawing`, do not edit -->"
END = "<!-- end of the agent drawing -->"


def with_drawing(text: str, drawing: str) -> str:
    """A Markdown text with the drawing between its two comments.

    Args:
        text: the file.
        drawing: Mermaid.

    Raises:
        ConfigurationError: the comments are not there once each and in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ConfigurationError(
            "The text has no place for the drawing.", f"Put {BEGIN} and {END} where it belongs, once each."
        )
    return f"{before}{BEGIN}\n```mermaid\n{drawing.strip()}\n```\n{END}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Draw into a file, or with --check say whether its drawing is up to date (exit code 1 when it is not)."""
    parser = argparse.ArgumentParser(description="Draw the state machine into a Markdown file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    try:
        before = options.file.read_text(encoding="utf-8")
        after = with_drawing(before, draw())
    except (OSError, ConfigurationError) as error:
        sys.stderr.write(f"{options.file}: {error}\n")
        return 2
    if before == after:
        return 0
    if options.check:
        sys.stderr.write(f"{options.file}: the drawing is not up to date. Run: make drawing\n")
        return 1
    options.file.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
