"""A line that tells what a text is about, when nobody has written one: its first sentence."""

from __future__ import annotations

import re

from graph_agent.tools.bounds import one_line

_BLOCK = re.compile(
    r"^\s*(#{1,6}\s|=+\s*$|-{3,}\s*$|\*{3,}\s*$|\||```|~~~|<!--|!\[|\[[^\]]+\]:|<[/a-zA-Z]|:::|\$\$)"
)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"(\*\*|__|`|~~|^\s*(?:[-*+]|\d+[.)]|>)\s+)", re.MULTILINE)
_TAG = re.compile(r"<[^>]{1,200}>")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def opening(text: str | None, title: str = "", *, characters: int = 110) -> str:
    """The first sentence of prose in a Markdown text, on one line; "" when there is none.

    Args:
        text: the beginning of a section.
        title: of the section; a heading line that repeats it is skipped.
        characters: how long it may be.
    """
    lines: list[str] = []
    fenced = False
    for line in (text or "").splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            if lines:
                break
            continue
        if fenced:
            continue
        if not line.strip():
            if lines:
                break
            continue
        if _BLOCK.match(line) or line.strip().casefold() == title.casefold():
            if lines:
                break
            continue
        lines.append(line)
    flat = _TAG.sub("", _MARKUP.sub("", _LINK.sub(r"\1", "\n".join(lines))))
    sentence = _SENTENCE.split(" ".join(flat.split()), 1)[0]
    return one_line(sentence, characters)
