"""Values between Python and FalkorDB: what may be a parameter, and results as plain JSON types."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from falkordb import Edge, Node, Path
from falkordb.helpers import stringify_param_value

from graph_agent.errors import BadArgument

INT64_MAX = 2**63 - 1
MAX_NESTING = 100
PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parameter_header(params: Mapping[str, Any] | None, arrays: Mapping[str, npt.NDArray[Any]] | None) -> str:
    """The `CYPHER name=value ...` prefix of a query.

    Args:
        params: values of JSON types; strings may hold anything but NUL and lone surrogates.
        arrays: one- or two-dimensional numeric arrays, written as lists by orjson: about thirty times
            faster than number by number.

    Raises:
        BadArgument: a value that FalkorDB would store wrongly or read as something else.
    """
    parts: list[str] = []
    for name, value in (params or {}).items():
        _check_name(name)
        _check(name, value, 0)
        parts.append(f"{name}={stringify_param_value(value)}")
    for name, array in (arrays or {}).items():
        _check_name(name)
        if not np.isfinite(array).all():
            raise BadArgument(
                f"The array ${name} holds NaN or infinity.", "Check the numbers before writing them."
            )
        contiguous = np.ascontiguousarray(array)
        parts.append(f"{name}={orjson.dumps(contiguous, option=orjson.OPT_SERIALIZE_NUMPY).decode('ascii')}")
    return f"CYPHER {' '.join(parts)} " if parts else ""


def plain(value: Any) -> Any:
    """A result value as JSON types: nodes and edges as dicts, temporal values as ISO text, no vectors."""
    match value:
        case Node():
            return {
                "id": value.id,
                "labels": list(value.labels or []),
                "properties": _properties(value.properties),
            }
        case Edge():
            return {
                "id": value.id,
                "type": value.relation,
                "source": _node_id(value.src_node),
                "target": _node_id(value.dest_node),
                "properties": _properties(value.properties),
            }
        case Path():
            return {
                "nodes": [plain(node) for node in value.nodes()],
                "edges": [plain(edge) for edge in value.edges()],
            }
        case Mapping():
            return {str(key): plain(item) for key, item in value.items() if not _is_vector(item)}
        case list() | tuple():
            return None if _is_vector(value) else [plain(item) for item in value]
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)


def _properties(properties: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: plain(item) for key, item in (properties or {}).items() if not _is_vector(item)}


def _is_vector(value: Any) -> bool:
    """A long list of floats only: what an embedding looks like once the client has read it."""
    return isinstance(value, list) and len(value) >= 32 and all(type(item) is float for item in value)


def _node_id(node: Any) -> int | None:
    identifier: int | None = node.id if isinstance(node, Node) else node
    return identifier


def _check_name(name: str) -> None:
    if not PARAMETER_NAME.fullmatch(name):
        raise BadArgument(
            f"The parameter name {name!r} is not usable.", "Use letters, digits and underscores."
        )


def _check(name: str, value: Any, depth: int) -> None:
    """Refuse what the client would paste raw, clamp or garble; see the table in ARCHITECTURE.md."""
    if depth > MAX_NESTING:
        raise BadArgument(f"The parameter ${name} is nested deeper than {MAX_NESTING} levels.", "Flatten it.")
    if isinstance(value, str):
        if "\x00" in value:
            raise BadArgument(f"The parameter ${name} holds a NUL character.", "Remove it.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise BadArgument(f"The parameter ${name} holds half a surrogate pair.", "Remove it.") from None
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        if not -INT64_MAX - 1 <= value <= INT64_MAX:
            raise BadArgument(f"The parameter ${name} is {value}, more than 64 bits.", "Pass it as text.")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise BadArgument(f"The parameter ${name} is {value}.", "Pass a finite number.")
    elif isinstance(value, list | tuple):
        for item in value:
            _check(name, item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not key or "`" in key:
                raise BadArgument(
                    f"The parameter ${name} has the map key {key!r}.", "Use a name without backticks."
                )
            _check(name, key, depth + 1)
            _check(name, item, depth + 1)
    else:
        raise BadArgument(
            f"The parameter ${name} is a {type(value).__name__}.",
            "Pass text, numbers, booleans, lists or maps.",
        )
