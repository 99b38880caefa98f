"""Plain JSON types as YAML, item by item, so that an output can stop when it is long enough.

A YAML library reads it back to equal values; writing it by one would take ten times as long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Plain scalars that no YAML reader takes for a number, a date, a boolean, null or markup.
_PLAIN = re.compile(r"[A-Za-z\u00c0-\u024f][\w\u00c0-\u024f ./()+-]*", re.ASCII)
_WORDS = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|nan|inf|infinity")
# Control characters, line and paragraph separators, lone surrogates, byte order mark.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_INDENT = "  "


def yaml_text(value: Any, depth: int = 0) -> str:
    """YAML of dicts, lists and scalars, ending with a line feed; `depth` indents it by two blanks each.

    None values and empty containers in a dict are written, not left out: the caller decides.
    """
    return "".join(line + "\n" for line in _lines(value, _INDENT * depth))


def _lines(value: Any, indent: str) -> list[str]:
    if isinstance(value, Mapping) and value:
        lines: list[str] = []
        for key, item in value.items():
            lines += _entry(f"{indent}{_scalar(str(key))}:", item, indent)
        return lines
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        lines = []
        for item in value:
            inner = _lines(item, indent + _INDENT)
            lines.append(f"{indent}- {inner[0][len(indent) + 2 :]}")
            lines += inner[1:]
        return lines
    return [indent + _scalar(value)]


def _entry(head: str, item: Any, indent: str) -> list[str]:
    nested = isinstance(item, Mapping | list | tuple) and bool(item)
    if not nested:
        return [f"{head} {_scalar(item)}"]
    if not isinstance(item, Mapping) and all(not isinstance(part, Mapping | list | tuple) for part in item):
        return [f"{head} [{', '.join(_scalar(part) for part in item)}]"]
    return [head, *_lines(item, indent + _INDENT)]


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        text = json.dumps(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text  # YAML wants the dot
    if isinstance(value, Mapping):
        return "{}"
    if not isinstance(value, str):
        return "[]"
    if _PLAIN.fullmatch(value) and not value.endswith(" ") and not _WORDS.fullmatch(value):
        return value
    # A JSON string is a YAML double-quoted one, but for characters that YAML does not print raw.
    return _UNPRINTABLE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
