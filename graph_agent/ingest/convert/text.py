"""Markdown and plain text: the file itself is the Markdown; only front matter and structure are found."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from graph_agent.ingest.decoding import decode, line_starts
from graph_agent.ingest.document import Block, Converted
from graph_agent.ingest.frontmatter import FrontMatter, split_frontmatter
from graph_agent.ingest.markdown import parse

CONVERTER = "text/1"

_ENDINGS = {".md": "text/markdown", ".markdown": "text/markdown", ".mdown": "text/markdown",
            ".mkd": "text/markdown", ".mdx": "text/mdx"}  # fmt: skip
_ATX = re.compile(r"[ ]{0,3}#{1,6}[ \t]+\S")
_SAMPLE = 400_000
_UNDERLINED = re.compile(
    r"(?:\A|(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r))(?P<title>[^\s=~-][^\r\n]{0,99})(?:\r\n?|\n)"
    r"(?P<line>=+|-+|~+)[ \t]*(?=\r|\n|\Z)"
)
_LEVELS = {"=": 1, "-": 2, "~": 3}


def convert_text(data: bytes, name: str) -> Converted:
    """A Markdown, MDX or plain text file.

    A .txt file that is written in Markdown is treated as such ("text/markdown"); in others only titles
    underlined with =, - or ~ make sections.

    Args:
        data: the file's bytes.
        name: its name or path; the ending decides between Markdown, MDX and plain text.

    Raises:
        UnreadableFile: the bytes are not text.
    """
    decoded = decode(data)
    text = decoded.text
    front = split_frontmatter(text)
    media_type = _ENDINGS.get(PurePosixPath(name.replace("\\", "/")).suffix.lower(), "text/plain")
    if media_type == "text/plain" and _is_markdown(text[front.body_start :]):
        media_type = "text/markdown"
    blocks = _underlined(text, front.body_start) if media_type == "text/plain" else ()
    language = front.metadata.get("language", front.metadata.get("lang"))
    return Converted(
        markdown=text,
        media_type=media_type,
        converter=CONVERTER,
        language=language.strip() or None if isinstance(language, str) else None,
        metadata=front.metadata,
        blocks=blocks,
        body_start=front.body_start,
        warnings=_warnings(decoded.warning, front),
    )


def _warnings(decoding: str, front: FrontMatter) -> tuple[str, ...]:
    warnings = [decoding] if decoding else []
    if front.error:
        warnings.append(front.error)
    if front.dropped:
        warnings.append(f"front matter: nested values are not kept ({', '.join(front.dropped[:10])})")
    return tuple(warnings)


def _is_markdown(text: str) -> bool:
    """Whether most ATX headings stand alone, as those of a document do and the comments of a script do not."""
    sample = text[:_SAMPLE]
    if "# " not in sample:
        return False
    starts = line_starts(sample)
    lines = [sample[start:end].strip() for start, end in zip(starts, [*starts[1:], len(sample)], strict=True)]
    headings = [
        heading.line for heading in parse(sample).headings if _ATX.match(sample, starts[heading.line])
    ]
    alone = sum(1 for line in headings if line + 1 == len(lines) or not lines[line + 1])
    return len(headings) >= 2 and alone > 0.6 * len(headings)


def _underlined(text: str, body_start: int) -> tuple[Block, ...]:
    """Sections of plain text: a line after a blank one, with a line of the same length drawn below it."""
    found = [
        match
        for match in _UNDERLINED.finditer(text, body_start)
        if len(match["line"]) >= 3 and abs(len(match["line"]) - len(match["title"].rstrip())) <= 3
    ]
    if not found:
        return ()
    ends = [match.start() for match in found[1:]] + [len(text)]
    return tuple(
        Block(match.start(), end, "heading", match["title"].strip(), _LEVELS[match["line"][0]])
        for match, end in zip(found, ends, strict=True)
    )
