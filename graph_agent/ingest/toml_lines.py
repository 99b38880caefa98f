"""On which line of a TOML file a key stands: tomllib reads values but does not tell."""

from __future__ import annotations

import re
import tomllib

_BLANKS = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_VALUE_PART = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'|#[^\n]*|[\[{]|[\]}]|\n",
    re.DOTALL,
)

KeyPath = tuple[str, ...]


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""The 1-based line of the first mention of each table and key.

    Keys inside inline tables are not listed: look for the key that holds the table.

    Args:
        text: TOML that `tomllib.loads` has accepted, lines ended by "\n" or "\r\n".
    """
    lines: dict[KeyPath, int] = {}
    prefix: KeyPath = ()
    position, counted, line = 0, 0, 1
    while (position := _end(_BLANKS, text, position)) < len(text):
        line += text.count("\n", counted, position)
        counted = position
        if text[position] == "[":
            start = position + (2 if text.startswith("[[", position) else 1)
            prefix, position = _keys(text, start)
            path = prefix
        else:
            keys, position = _keys(text, position)
            path = prefix + keys
        for length in range(1, len(path) + 1):
            lines.setdefault(path[:length], line)
        position = _after_value(text, position)
    return lines


def nearest_line(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of a key, or of the closest table above it that is written down; 1 if there is none."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _keys(text: str, position: int) -> tuple[KeyPath, int]:
    """A dotted key and the offset after it."""
    keys: list[str] = []
    while True:
        position = _end(_SPACE, text, position)
        for pattern in (_BASIC, _LITERAL, _BARE):
            if match := pattern.match(text, position):
                break
        else:
            return tuple(keys), position + 1
        raw = match[0]
        keys.append(raw if pattern is _BARE else str(tomllib.loads(f"key = {raw}")["key"]))
        position = _end(_SPACE, text, match.end())
        if not text.startswith(".", position):
            return tuple(keys), position
        position += 1


def _after_value(text: str, position: int) -> int:
    """The offset of the line end after a value or a table header, strings and brackets skipped."""
    depth = 0
    for match in _VALUE_PART.finditer(text, position):
        part = match[0]
        if part == "\n":
            if depth <= 0:
                return match.start()
        elif part in ("[", "{"):
            depth += 1
        elif part in ("]", "}"):
            depth -= 1
    return len(text)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
