"""Labels of documents by `classify.toml`, the file in a corpus's root that names facets and their values.

[facets.kind]
question = "What kind of document is this?"
within = ["reports", "minutes"]        # only documents below these folders; without it, all
default = "other"
model = true                           # ask the chat model about what the rules leave open

[facets.kind.values.annual]
description = "An annual report."
paths = ["reports/annual/**", "**/*-annual.pdf"]   # globs as in .gitignore, from the root
match = { type = "annual", status = ["final", "draft"] }   # front matter, all keys must fit

[facets.kind.values.other]
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from graph_agent.errors import ConfigurationError
from graph_agent.ingest import ignore
from graph_agent.ingest.decoding import clean_text
from graph_agent.ingest.document import MetaValue
from graph_agent.ingest.toml_lines import KeyPath, key_lines, nearest_line

CLASSIFY_FILE = "classify.toml"
MAX_BYTES = 1 << 20

LabelSource: TypeAlias = Literal["path", "front_matter", "default", "model", "none"]

_FACET_KEYS = ("question", "within", "default", "model", "values")
_VALUE_KEYS = ("description", "paths", "match")
_WILDCARD = re.compile(r"[*?\[\]]")
_LINE_IN_ERROR = re.compile(r"\s*\(at line (\d+), column \d+\)|\s*\(at end of document\)")


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a facet.

    Attributes:
        name: the value.
        description: what it means, for people and for the model; may be "".
        paths: globs of documents that have it, relative to the root.
        match: (front-matter key, accepted values in lower case); all keys must fit.
    """

    name: str
    description: str = ""
    paths: tuple[str, ...] = ()
    match: tuple[tuple[str, frozenset[str]], ...] = ()
    rules: tuple[tuple[ignore.Rule, ...], ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Facet:
    """A question that each document answers with one of some values.

    Attributes:
        name: of the facet.
        question: in words; may be "".
        within: folders, relative to the root, outside which the facet does not apply; empty means everywhere.
        default: the value of documents that no rule speaks of.
        model: whether the chat model may decide what the rules leave open.
        values: in the order of the file.
    """

    name: str
    question: str
    within: tuple[str, ...]
    default: str | None
    model: bool
    values: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The value of one facet for one document.

    Attributes:
        value: the value, or None if nothing decided.
        source: what decided; "model" with value None: the chat model should be asked; "none": nobody can.
    """

    value: str | None
    source: LabelSource


@dataclass(frozen=True, slots=True)
class Classification:
    """A parsed `classify.toml`; the empty one labels nothing.

    Attributes:
        facets: in the order of the file.
        text: the file's content, to tell whether it changed.
    """

    facets: tuple[Facet, ...] = ()
    text: str = field(default="", repr=False)

    def resolve(self, path: str, metadata: Mapping[str, MetaValue]) -> dict[str, Resolution]:
        """The labels of a document by the rules; a facet that does not apply to its folder is absent.

        The longest path pattern that matches wins (counted without wildcards; of equals, the first in the
        file), then front matter (most keys first), then the default, then the model is left to be asked.

        Args:
            path: relative to the root, with "/".
            metadata: front matter or document properties, raw.
        """
        lowered = {key.strip().casefold(): _accepted(value) for key, value in metadata.items()}
        return {
            facet.name: _resolve(facet, path, lowered)
            for facet in self.facets
            if not facet.within
            or any(path == folder or path.startswith(folder + "/") for folder in facet.within)
        }


def load_classification(root: Path) -> Classification:
    """The classification of a corpus; the empty one if its root has no `classify.toml`.

    Raises:
        ConfigurationError: the file cannot be read or used; names file and line.
    """
    file = root / CLASSIFY_FILE
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigurationError(f"{file} is larger than 1 MB.", "It should only name facets and values.")
        data = file.read_bytes()
    except FileNotFoundError:
        return Classification()
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be read: {error.strerror}.", "Check its permissions."
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{file}:{line}: not UTF-8.", "Save the file as UTF-8.") from None
    return parse_classification(text, str(file))


def parse_classification(text: str, name: str = CLASSIFY_FILE) -> Classification:
    """Read the content of a `classify.toml`.

    Raises:
        ConfigurationError: unknown keys, duplicate values, bad globs, wrong types, a default that is no value;
            the message begins with file and line and counts further faults.
    """
    text = text.replace("\r\n", "\n")
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _LINE_IN_ERROR.search(str(error))
        line = found[1] if found and found[1] else text.count("\n") + 1
        reason = _LINE_IN_ERROR.sub("", str(error)).rstrip(".")
        if "twice" in reason or "overwrite" in reason:
            reason = f"duplicate key or table ({reason})"
        raise ConfigurationError(f"{name}:{line}: {reason}.", "Correct the TOML on that line.") from None
    reader = _Reader(key_lines(text))
    facets = reader.facets(raw)
    if reader.faults:
        line_number, message, fix = min(reader.faults)
        more = f" ({len(reader.faults) - 1} more)" if len(reader.faults) > 1 else ""
        raise ConfigurationError(f"{name}:{line_number}: {message}{more}.", fix)
    return Classification(facets, text)


def _resolve(facet: Facet, path: str, metadata: Mapping[str, frozenset[str]]) -> Resolution:
    by_path = [
        (len(_WILDCARD.sub("", pattern)), len(pattern), -order, value.name)
        for order, value in enumerate(facet.values)
        for pattern, rules in zip(value.paths, value.rules, strict=True)
        if ignore.matches(rules, path)
    ]
    if by_path:
        return Resolution(max(by_path)[3], "path")
    by_front_matter = [
        (len(value.match), -order, value.name)
        for order, value in enumerate(facet.values)
        if value.match
        and all(not accepted.isdisjoint(metadata.get(key, ())) for key, accepted in value.match)
    ]
    if by_front_matter:
        return Resolution(max(by_front_matter)[2], "front_matter")
    if facet.default is not None:
        return Resolution(facet.default, "default")
    return Resolution(None, "model" if facet.model else "none")


def _accepted(value: Any) -> frozenset[str]:
    """A value, or each of a list, as text that compares without case; True as "true"."""
    items = value if isinstance(value, list | tuple) else [value]
    return frozenset(str(item).strip().casefold() for item in items)


class _Reader:
    """Checks the parsed TOML and collects every fault as (line, message, fix)."""

    def __init__(self, lines: dict[KeyPath, int]) -> None:
        self._lines = lines
        self.faults: list[tuple[int, str, str]] = []

    def facets(self, raw: Mapping[str, Any]) -> tuple[Facet, ...]:
        self._known(raw, ("facets",), ())
        tables = self._table(raw.get("facets", {}), ("facets",))
        self._unique(tables, ("facets",), "facet")
        return tuple(self._facet(name, table) for name, table in tables.items())

    def _facet(self, name: str, raw: Any) -> Facet:
        path = ("facets", name)
        table = self._table(raw, path)
        self._known(table, _FACET_KEYS, path)
        self._name(name, path)
        raw_values = self._table(table.get("values", {}), (*path, "values"))
        self._unique(raw_values, (*path, "values"), "value")
        values = tuple(self._value(key, value, (*path, "values", key)) for key, value in raw_values.items())
        if not values:
            self._fault(path, f"facet {name!r} has no values", f"Add a table [facets.{name}.values.NAME].")
        self._shared_patterns(values, path)
        default = self._text(table, "default", path)
        names = [value.name for value in values]
        if default is not None and default not in names:
            self._fault(
                (*path, "default"), f"default {default!r} is no value of {name!r}", _hint(default, names)
            )
        model = table.get("model", False)
        if not isinstance(model, bool):
            self._fault(
                (*path, "model"), f"'model' must be true or false, not {model!r}", "Write model = true."
            )
        within = tuple(self._folder(folder, path) for folder in self._texts(table, "within", path))
        return Facet(
            name,
            self._text(table, "question", path) or "",
            () if "" in within else within,
            default,
            model is True,
            values,
        )

    def _value(self, name: str, raw: Any, path: KeyPath) -> FacetValue:
        table = self._table(raw, path)
        self._known(table, _VALUE_KEYS, path)
        self._name(name, path)
        paths = self._texts(table, "paths", path)
        rules = tuple(self._glob(pattern, path) for pattern in paths)
        match = self._table(table.get("match", {}), (*path, "match"))
        accepted = []
        for key, value in match.items():
            items = value if isinstance(value, list) else [value]
            if not items or any(isinstance(item, dict | list) for item in items):
                self._fault((*path, "match"), f"'match' wants a value or a list of values for {key!r}", "")
                continue
            texts = [item.isoformat() if hasattr(item, "isoformat") else item for item in items]
            accepted.append((key.strip().casefold(), _accepted(texts)))
        description = self._text(table, "description", path) or ""
        return FacetValue(name, description, paths, tuple(accepted), rules)

    def _glob(self, pattern: str, path: KeyPath) -> tuple[ignore.Rule, ...]:
        fault = _glob_fault(pattern)
        if fault:
            self._fault(
                (*path, "paths"),
                f"bad glob {pattern!r}: {fault}",
                "Write paths from the root, as in .gitignore.",
            )
            return ()
        return ignore.parse([pattern])

    def _folder(self, folder: str, path: KeyPath) -> str:
        parts = [part for part in folder.replace("\\", "/").split("/") if part not in ("", ".")]
        if ".." in parts or _WILDCARD.search(folder):
            self._fault(
                (*path, "within"), f"'within' wants folders, not {folder!r}", 'Write within = ["folder/sub"].'
            )
        return "/".join(parts)

    def _shared_patterns(self, values: Sequence[FacetValue], path: KeyPath) -> None:
        seen: dict[str, str] = {}
        for value in values:
            for pattern in value.paths:
                other = seen.setdefault(pattern, value.name)
                if other != value.name:
                    where = (*path, "values", value.name, "paths")
                    self._fault(
                        where,
                        f"{pattern!r} stands for both {other!r} and {value.name!r}",
                        "Keep one of the two.",
                    )

    def _unique(self, table: Mapping[str, Any], path: KeyPath, what: str) -> None:
        seen: dict[str, str] = {}
        for name in table:
            other = seen.setdefault(name.strip().casefold(), name)
            if other != name:
                self._fault(
                    (*path, name), f"duplicate {what} {name!r} (there is {other!r})", "Keep one of the two."
                )

    def _name(self, name: str, path: KeyPath) -> None:
        if (
            not name.strip()
            or len(name) > 200
            or clean_text(name) != name
            or any(ord(char) < 32 for char in name)
        ):
            self._fault(path, f"{name!r} cannot be a name", "Use letters, digits, blanks and hyphens.")

    def _known(self, table: Mapping[str, Any], known: Sequence[str], path: KeyPath) -> None:
        for key in table:
            if key not in known:
                where = f" in [{'.'.join(path)}]" if path else ""
                self._fault((*path, key), f"unknown key {key!r}{where}", _hint(key, known))

    def _table(self, value: Any, path: KeyPath) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        self._fault(path, f"{'.'.join(path)} must be a table, not {value!r}", f"Write [{'.'.join(path)}].")
        return {}

    def _text(self, table: Mapping[str, Any], key: str, path: KeyPath) -> str | None:
        value = table.get(key)
        if value is None or isinstance(value, str):
            return value if value is None else clean_text(value)
        self._fault((*path, key), f"{key!r} must be text, not {value!r}", f'Write {key} = "...".')
        return None

    def _texts(self, table: Mapping[str, Any], key: str, path: KeyPath) -> tuple[str, ...]:
        value = table.get(key, [])
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(items)
        self._fault(
            (*path, key), f"{key!r} must be a list of texts, not {value!r}", f'Write {key} = ["..."].'
        )
        return ()

    def _fault(self, path: KeyPath, message: str, fix: str) -> None:
        self.faults.append((nearest_line(self._lines, path), message, fix))


def _glob_fault(pattern: str) -> str:
    if not pattern.strip("/ "):
        return "it is empty"
    if pattern[0] in "!#":
        return f"it begins with {pattern[0]!r}"
    if "\\" in pattern:
        return "folders are parted by '/'"
    if ".." in pattern.split("/"):
        return "'..' leads out of the corpus"
    if "***" in pattern:
        return "'***' means nothing"
    opened = pattern.find("[")
    while opened >= 0:
        closed = pattern.find("]", opened + 2)
        if closed < 0:
            return "'[' is never closed"
        opened = pattern.find("[", closed)
    return "" if ignore.parse([pattern]) else "it matches nothing"


def _hint(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    allowed = ", ".join(known) or "none"
    return f"Did you mean {near[0]!r}?" if near else f"Allowed: {allowed}."
