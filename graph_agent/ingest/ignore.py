"""Which paths a list of patterns means, by the rules of gitignore(5); also used for include and exclude globs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern.

    Attributes:
        regex: matches a path relative to the folder of the rule, without a slash at either end.
        negated: the pattern began with "!" and takes a path back in.
        folders_only: the pattern ended with "/".
    """

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


def parse(lines: Iterable[str]) -> tuple[Rule, ...]:
    """Rules of an ignore file's lines; comments and blank lines are none. Never fails: git has no bad pattern."""
    return tuple(rule for line in lines if (rule := _rule(line)) is not None)


def verdict(rules: Iterable[Rule], path: str, *, folder: bool) -> bool | None:
    """Whether the rules take `path` out (True), back in (False), or do not speak of it (None).

    Args:
        rules: in file order; the last that matches decides.
        path: POSIX path relative to the folder that the rules stand in.
        folder: whether the path is a folder.
    """
    answer: bool | None = None
    for rule in rules:
        if (folder or not rule.folders_only) and rule.regex.fullmatch(path):
            answer = not rule.negated
    return answer


def matches(rules: Iterable[Rule], path: str) -> bool:
    """Whether a file is meant by globs: its path, or a folder above it, matches one of them."""
    rules = tuple(rules)
    parts = path.split("/")
    for length in range(1, len(parts)):
        if verdict(rules, "/".join(parts[:length]), folder=True):
            return True
    return bool(verdict(rules, path, folder=False))


def _rule(line: str) -> Rule | None:
    line = line.rstrip("\r\n")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    if negated:
        line = line[1:]
    folders_only = line.endswith("/")
    pattern = line.rstrip("/")
    if not pattern:
        return None
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    body = _translate(pattern)
    return Rule(re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL), negated, folders_only)


def _translate(pattern: str) -> str:
    """A glob as a regular expression: "*" and "?" stop at slashes, "**" between slashes does not."""
    out: list[str] = []
    index = 0
    while index < len(pattern):
        rest = pattern[index:]
        if rest.startswith("**/") and (index == 0 or pattern[index - 1] == "/"):
            out.append("(?:[^/]+/)*")
            index += 3
        elif rest == "**" and index > 0 and pattern[index - 1] == "/":
            out.append(".+")
            index += 2
        elif rest[0] == "*":
            while index < len(pattern) and pattern[index] == "*":
                index += 1
            out.append("[^/]*")
        elif rest[0] == "?":
            out.append("[^/]")
            index += 1
        elif rest[0] == "[" and (bracket := _bracket(rest)) is not None:
            out.append(bracket[0])
            index += bracket[1]
        else:
            literal = rest[1] if rest[0] == "\\" and len(rest) > 1 else rest[0]
            out.append(re.escape(literal))
            index += 2 if rest[0] == "\\" and len(rest) > 1 else 1
    return "".join(out)


def _bracket(rest: str) -> tuple[str, int] | None:
    """A character class and its length in the pattern, or None if the bracket is never closed."""
    start = 2 if rest[1:2] in ("!", "^") else 1
    end = rest.find("]", start + 1)
    if end < 0:
        return None
    inside = (
        rest[start:end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("&&", "&\\&")
    )
    expression = f"(?!/)[{'^' if start == 2 else ''}{inside}]"
    try:
        re.compile(expression)
    except re.error:
        return None
    return expression, end + 1
