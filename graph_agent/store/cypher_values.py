"""Values as Cypher text, for queries that are shown or copied. What is run gets its values as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph_agent.store.cypher_tokens import tokenize


def literal(value: Any) -> str:
    """A value as a literal: null, a boolean, a number, a string, or a list of them."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case list() | tuple():
            return "[" + ", ".join(literal(one) for one in value) + "]"
        case _:
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def with_values(query: str, params: Mapping[str, Any]) -> str:
    """A query that stands alone: parameters whose values are known are written out.

    Raises:
        QueryRefused: the query cannot be read.
    """
    return "".join(
        literal(params[token.name]) if token.kind == "param" and token.name in params else token.text
        for token in tokenize(query)
    )
