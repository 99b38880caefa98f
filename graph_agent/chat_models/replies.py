"""What a model sends, made usable: thinking taken out, loops stopped, JSON found, tool names mended."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

_OPENING = re.compile(r"<\s*(think|thinking|thought|reasoning|reflection)\s*>", re.IGNORECASE)
_CLOSING = re.compile(r"<\s*/\s*(think|thinking|thought|reasoning|reflection)\s*>", re.IGNORECASE)
_LEFTOVER = re.compile(r"<\|[a-z_]{2,20}\|>|</?s>|<end_of_turn>", re.IGNORECASE)
_LONGEST_TAG = 16
_LONGEST_UNIT = 400
_LOOPED = 320  # characters of pure repetition that no honest answer has
_TABLE = frozenset("-=_|:*. \n\t#+~")


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of blocks of which only text blocks count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and block.get("type") in {"text", "output_text"}:
            parts.append(str(block.get("text") or ""))
    return "".join(parts)


def without_thinking(text: str) -> str:
    """A whole reply without the model's thinking and template markers."""
    cleaner = ThinkingFilter()
    shown, dropped = cleaner.feed(text)
    rest, dropped_late = cleaner.finish()
    return rest.strip() if dropped_late and not dropped else (shown + rest).strip()


class ThinkingFilter:
    """Takes thinking out of a stream, whatever way the tags are cut into pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._closed = False  # blank lines behind thinking go with it

    def feed(self, piece: str) -> tuple[str, bool]:
        """Text to show, and whether everything shown before was thinking (its opening tag was missing)."""
        self._held += piece
        return self._drain(final=False)

    def finish(self) -> tuple[str, bool]:
        """What is left at the end; thinking that was never closed is dropped."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> tuple[str, bool]:
        shown: list[str] = []
        unopened = False
        while True:
            mark = (_CLOSING if self._thinking else _either()).search(self._held)
            if mark is None:
                break
            if self._thinking:
                self._thinking, self._closed = False, True
            elif _CLOSING.fullmatch(mark[0]):
                shown, unopened, self._closed = [], True, True
            else:
                shown.append(self._open(self._held[: mark.start()]))
                self._thinking = True
            self._held = self._held[mark.end() :]
        keep = 0 if final else _open_tail(self._held)
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        if not self._thinking:
            shown.append(self._open(ready))
        return _LEFTOVER.sub("", "".join(shown)), unopened

    def _open(self, text: str) -> str:
        if self._closed:
            text = text.lstrip("\n")
            self._closed = not text
        return text


def _either() -> re.Pattern[str]:
    return _EITHER


_EITHER = re.compile(f"{_OPENING.pattern}|{_CLOSING.pattern}", re.IGNORECASE)


def _open_tail(text: str) -> int:
    """How many characters at the end could be the beginning of a tag."""
    at = text.rfind("<", max(0, len(text) - _LONGEST_TAG))
    return len(text) - at if at >= 0 and ">" not in text[at:] else 0


def loop_start(text: str) -> int:
    """Where a text begins to repeat one unit over and over until its end, -1 when it does not.

    The unit has at most 400 characters; the repetition at least 320 and three whole units. The first unit
    is what may be kept: the position is just behind it.
    """
    tail = text[-4 * _LONGEST_UNIT :]
    for period in range(1, _LONGEST_UNIT + 1):
        needed = max(_LOOPED, 2 * period)
        if len(tail) < needed + period:
            break
        if tail[-needed:] != tail[-needed - period : -period]:
            continue
        if set(tail[-period:]) <= _TABLE and needed < 3 * _LOOPED and len(tail) < 4 * _LONGEST_UNIT:
            continue  # a long rule of a table
        start = len(text) - needed
        while start - period - 1 >= 0 and text[start - 1] == text[start - 1 - period]:
            start -= 1
        return start
    return -1


def find_json(text: str) -> Any:
    """The first JSON object in a text: bare, fenced, after prose, or cut short (then closed where possible).

    Returns:
        The object, or None when there is none.
    """
    text = without_thinking(text)
    decoder = json.JSONDecoder(strict=False)
    for match in re.finditer(r"\{", text):
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    start = text.find("{")
    return _closed(text[start:]) if start >= 0 else None


def _closed(text: str) -> Any:
    """A JSON object that was cut: strings, lists and objects closed, a dangling piece dropped."""
    for end in range(len(text), max(0, len(text) - 400), -1):
        stack, in_string = _open_brackets(text[:end])
        if stack is None:
            continue
        candidate = text[:end] + ('"' if in_string else "")
        candidate = candidate.rstrip().rstrip(",:") + "".join(reversed(stack))
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _open_brackets(text: str) -> tuple[list[str] | None, bool]:
    stack: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]" and (not stack or stack.pop() != char):
            return None, False
    return (None if escaped else stack), in_string


def known_name(name: str, names: Collection[str]) -> str | None:
    """The tool that a model means by `name`: `searchsearchsearch`, `functions.search` and `search()` are search."""
    name = name.strip().removesuffix("()")
    for candidate in (
        name,
        name.rpartition(".")[2],
        name.rpartition(":")[2],
        name.lower(),
        name.replace("-", "_"),
    ):
        if candidate in names:
            return candidate
    for known in sorted(names, key=len, reverse=True):
        if known and name and name == known * (len(name) // len(known)):
            return known
    return None
