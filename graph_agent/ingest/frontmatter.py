"""Front matter: where it ends, what it says, and under which names that may become properties.

YAML between `---` lines (closed by `---` or `...`) and TOML between `+++` lines, at the very beginning of
the text. YAML is read by the rules of version 1.2's core schema: `no` and `12:30` stay text. Aliases are
refused, so that a few lines cannot grow into gigabytes.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from graph_agent.ingest.decoding import clean_text
from graph_agent.ingest.document import RESERVED_PROPERTIES, MetaValue, Scalar

MAX_CHARS = 65_536
MAX_KEYS = 200
MAX_DEPTH = 40
RESERVED_PREFIX = "fm_"

_FENCE = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)")
_CLOSING = {
    "---": re.compile(r"(?:^|(?<=[\r\n]))(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"),
    "+++": re.compile(r"(?:^|(?<=[\r\n]))\+\+\+[ \t]*(?:\r\n?|\n|\Z)"),
}
_YAML_KEY = re.compile(
    r"""[ \t]*(?:"[^"\r\n]*"[ \t]*|'[^'\r\n]*'[ \t]*|[^\s#:\[\]{},&*!|>'"%@`-][^:\r\n]*):(?:\s|\Z)"""
)
_TOML_KEY = re.compile(r"""[ \t]*(?:\[\[?[^\r\n]+\]|(?:"[^"\r\n]*"[ \t]*|'[^'\r\n]*'[ \t]*|[\w.\- \t]+)=)""")
_SKIPPED_LINES = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))*")
_BLANK_LINE = re.compile(r"(?:\A|\r\n?|\n)[ \t]*(?:\r\n?|\n)[ \t]*\S")
_ALIAS = re.compile(r"(?:^|[\s:\[{,-])\*[^\s*]", re.MULTILINE)
_KEY_UNSAFE = re.compile("[`\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands before the text.

    Attributes:
        metadata: scalars and lists of strings by key, as written; empty when there is none or it is broken.
        body_start: offset in characters where the text starts; 0 without front matter.
        error: one line if it could not be read, else None. The broken lines are still no text.
        dropped: keys whose value is neither a scalar nor a list of scalars.
    """

    metadata: dict[str, MetaValue] = field(default_factory=dict)
    body_start: int = 0
    error: str | None = None
    dropped: tuple[str, ...] = ()


def split_frontmatter(text: str) -> FrontMatter:
    """Find and read the front matter of a text; never fails.

    A thematic break with prose after it is no front matter: the first line inside must look like a key.

    Args:
        text: the whole text, without byte order mark.
    """
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter()
    kind = opening[1]
    closing = _CLOSING[kind].search(text, opening.end(), opening.end() + MAX_CHARS)
    if closing is None:
        return FrontMatter()
    source = text[opening.end() : closing.start()]
    lines = _SKIPPED_LINES.match(source)
    key = _YAML_KEY if kind == "---" else _TOML_KEY
    if not key.match(source, lines.end() if lines else 0):
        return FrontMatter()
    try:
        raw = _read_yaml(source) if kind == "---" else tomllib.loads(re.sub(r"\r\n?", "\n", source))
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        if kind == "---" and _BLANK_LINE.search(source):
            return FrontMatter()  # paragraphs between two thematic breaks
        name = "YAML" if kind == "---" else "TOML"
        return FrontMatter({}, closing.end(), f"front matter is not valid {name}: {_one_line(error)}")
    metadata, dropped = _flat(raw)
    return FrontMatter(metadata, closing.end(), None, dropped)


def safe_metadata(metadata: Mapping[str, MetaValue]) -> dict[str, MetaValue]:
    """Metadata under names that can be set on a Document without touching our own properties.

    A reserved name gets the prefix `fm_`; characters that Cypher cannot quote are replaced; what FalkorDB
    cannot store (NUL, lone surrogates, NaN, integers beyond 64 bit) becomes text that it can. `title` is
    left out: it is the document's title. At most 200 keys are kept.
    """
    safe: dict[str, MetaValue] = {}
    for key, value in metadata.items():
        name = _KEY_UNSAFE.sub("_", clean_text(key)).strip()[:100]
        if not name or (name == "title" and isinstance(value, str)):
            continue
        if name in RESERVED_PROPERTIES:
            name = RESERVED_PREFIX + name
        while name in safe:
            name = RESERVED_PREFIX + name
        plain = [clean_text(item) for item in value] if isinstance(value, list) else _scalar(value)
        if plain is not None and plain not in ("", []):
            safe[name] = plain
        if len(safe) >= MAX_KEYS:
            break
    return safe


def _flat(raw: Mapping[Any, Any]) -> tuple[dict[str, MetaValue], tuple[str, ...]]:
    metadata: dict[str, MetaValue] = {}
    dropped: list[str] = []
    for key, value in raw.items():
        name = clean_text(str(key))
        if isinstance(value, list | tuple | set):
            items = [_scalar(item) for item in value]
            if any(
                item is None and raw_item is not None for item, raw_item in zip(items, value, strict=True)
            ):
                dropped.append(name)
            elif texts := [_as_text(item) for item in items if item is not None and item != ""]:
                metadata[name] = texts
        elif value is not None:
            scalar = _scalar(value)
            if scalar is None:
                dropped.append(name)
            else:
                metadata[name] = scalar
    return metadata, tuple(dropped)


def _scalar(value: object) -> Scalar | None:
    """A value that FalkorDB takes, or None if it is not one scalar."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dt.date | dt.time):  # a datetime is a date
        return value.isoformat()
    return None


def _as_text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(error: BaseException) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        where = f" (line {error.problem_mark.line + 2})" if error.problem_mark else ""
        return " ".join(error.problem.split()) + where
    return " ".join(str(error).split())[:200] or type(error).__name__


def _read_yaml(source: str) -> dict[Any, Any]:
    """A YAML mapping; an empty one for blank text.

    Raises:
        yaml.YAMLError: not YAML, not a mapping, aliases, or nested too deeply.
    """
    loader = _loader_class()
    if _ALIAS.search(source) or _nests_deeply(source):
        _refuse_bombs(source)
    value = yaml.load(source, Loader=loader)  # noqa: S506 - a subclass of SafeLoader
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise yaml.YAMLError("it is not a mapping of keys to values")
    return value


def _nests_deeply(source: str) -> bool:
    return source.count("[") + source.count("{") + source.count("- ") > MAX_DEPTH


def _refuse_bombs(source: str) -> None:
    depth = 0
    for event in yaml.parse(source, Loader=_loader_class()):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read in front matter")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f"it is nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@functools.cache
def _loader_class() -> type[yaml.SafeLoader]:
    """SafeLoader (libyaml's where it was built) with the scalars of YAML 1.2's core schema, and dates."""
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class FrontMatterLoader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's API

    def add(tag: str, pattern: str, first: str) -> None:
        FrontMatterLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))

    add("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
    add("int", r"^(?:[-+]?(?:0|[1-9][0-9]{0,4000})|0x[0-9a-fA-F]{1,4000})$", "-+0123456789")
    add("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", "-+.0123456789")
    add("null", r"^(?:~|null|Null|NULL|)$", "~nN")
    add("null", r"^$", " ")
    FrontMatterLoader.yaml_implicit_resolvers.setdefault("", []).append(
        ("tag:yaml.org,2002:null", re.compile(r"^$"))
    )
    add(
        "timestamp",
        r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9][0-9:.]*[ \t]*(?:Z|[-+][0-9:]+)?)?$",
        "0123456789",
    )
    FrontMatterLoader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)
    FrontMatterLoader.add_constructor("tag:yaml.org,2002:float", _float)
    return FrontMatterLoader


def _float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


def _timestamp(loader: Any, node: Any) -> Any:
    """A date or time; what only looks like one (2020-13-45) stays text instead of spoiling the rest."""
    try:
        return loader.construct_yaml_timestamp(node)
    except (ValueError, AttributeError, TypeError):
        return loader.construct_scalar(node)
