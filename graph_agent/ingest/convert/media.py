"""Transcripts (WebVTT, SubRip) to Markdown: windows of 120 seconds, with speakers."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.versions import VERSIONS
from graph_agent.ingest.convert.writing import Writer, clean, one_line, plain
from graph_agent.ingest.decoding import decode
from graph_agent.ingest.document import Converted

CONVERTER = VERSIONS["transcript"]

WINDOW_S = 120
"""Length of a section of a transcript in seconds."""

_STAMP = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"^\s*{_STAMP}\s*-->\s*{_STAMP}")
_VOICE = re.compile(r"<v(?:\.[^ \t>]*)?[ \t]+([^>]{1,100})>")
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,200}>|<\d[\d:.]{3,14}>|\{\\[^}]{0,100}\}")
_NAMED = re.compile(
    r"^(?:>>+\s*)?([A-Z\u00c0-\u00de][\w.'\u2019-]*(?: [A-Z\u00c0-\u00de(][\w.'\u2019()-]*){0,3}):\s+(?=\S)"
)


@dataclass(slots=True)
class _Cue:
    start: float
    end: float
    speaker: str
    text: str


def convert_transcript(data: bytes, name: str, kind: str) -> Converted:
    """Convert subtitles; each window is a block of kind "window" titled "00:02:00 - 00:04:00".

    A cue belongs to the window in which it starts; windows without a cue are left out. What one speaker
    says in a row is one paragraph, after the speaker's name.

    Args:
        data: the file.
        name: its name, for messages.
        kind: "vtt" or "srt".

    Raises:
        UnreadableFile: not text, or without a single cue.
    """
    decoded = decode(data)
    cues, language = _cues(clean(decoded.text))
    if not cues:
        raise UnreadableFile("no cue with a time was found in the transcript.")
    cues.sort(key=lambda cue: cue.start)
    writer = Writer()
    window = -1
    said: list[_Cue] = []
    for cue in cues:
        if int(cue.start // WINDOW_S) != window:
            _say(writer, said)
            window = int(cue.start // WINDOW_S)
            writer.block("window", f"{clock(window * WINDOW_S)} - {clock((window + 1) * WINDOW_S)}")
        elif said and (cue.speaker != said[-1].speaker or cue.start - said[-1].end > 8):
            _say(writer, said)
        said.append(cue)
    _say(writer, said)
    speakers = list(dict.fromkeys(cue.speaker for cue in cues if cue.speaker))
    length = max(cue.end for cue in cues)
    metadata: dict[str, str | int | float | bool | list[str]] = {
        "duration": clock(length),
        "duration_s": round(length),
    }
    if speakers:
        metadata["speakers"] = speakers[:100]
    warnings = [decoded.warning] if decoded.warning else []
    return writer.converted(kind, CONVERTER, language=language, metadata=metadata, warnings=warnings)


def clock(seconds: float) -> str:
    """Seconds as "HH:MM:SS"."""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _say(writer: Writer, said: list[_Cue]) -> None:
    if said:
        text = " ".join(dict.fromkeys(cue.text for cue in said)) if len(said) > 1 else said[0].text
        speaker = f"{said[0].speaker}: " if said[0].speaker else ""
        writer.add(plain(f"[{clock(said[0].start)}] {speaker}{text}"))
        said.clear()


def _cues(text: str) -> tuple[list[_Cue], str | None]:
    cues: list[_Cue] = []
    language = None
    match = re.search(r"^Language:\s*([A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*)\s*$", text[:2_000], re.MULTILINE)
    if text.startswith("WEBVTT") and match:
        language = match[1]
    lines = text.split("\n")
    index = 0
    speaker = ""
    while index < len(lines):
        timing = _TIMING.match(lines[index])
        index += 1
        if not timing:
            continue
        body: list[str] = []
        # SubRip files with blank lines inside a cue exist; a cue ends at a blank line as the standards say.
        while index < len(lines) and lines[index].strip() and not _TIMING.match(lines[index]):
            body.append(lines[index])
            index += 1
        if index < len(lines) and _TIMING.match(lines[index]) and body and body[-1].strip().isdigit():
            body.pop()  # the number of the next cue, when no blank line parts them
        start, end = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:])
        for who, said in _voices(body):
            speaker = who
            if said:
                cues.append(_Cue(start, max(end, start), speaker, said))
    return cues, language


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    return (
        int(hours or 0) * 3600
        + int(minutes or 0) * 60
        + int(seconds or 0)
        + int((fraction or "0").ljust(3, "0")) / 1000
    )


def _voices(body: list[str]) -> list[tuple[str, str]]:
    """(speaker, text) of a cue: by WebVTT voice tags, else by a name before a colon."""
    text = "\n".join(body)
    if "<v" in text:
        pieces = _VOICE.split(text)
        found = [("", _words(pieces[0]))] if _words(pieces[0]) else []
        for who, said in zip(pieces[1::2], pieces[2::2], strict=False):
            found.append((one_line(html.unescape(who)), _words(said)))
        return found
    found = []
    for line in body:
        said = _words(line)
        match = _NAMED.match(said)
        if match:
            found.append((match[1], said[match.end() :]))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {said}".strip())
        else:
            found.append(("", said))
    return found


def _words(text: str) -> str:
    return one_line(html.unescape(_TAG.sub("", text)))
