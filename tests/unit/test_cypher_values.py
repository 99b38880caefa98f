"""Values as Cypher text."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent.store.cypher_values import literal, with_values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        ("it's", "'it\\'s'"),
        ("back\\slash", "'back\\\\slash'"),
        (["a", 1, [False]], "['a', 1, [false]]"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert literal(value) == text


def test_only_known_parameters_are_written_out_and_only_outside_of_strings() -> None:
    query = "MATCH (d) WHERE d.a = $a AND d.b = '$a' AND d.c = $`a` AND d.d = $other RETURN d // $a"
    assert with_values(query, {"a": "x"}) == (
        "MATCH (d) WHERE d.a = 'x' AND d.b = '$a' AND d.c = 'x' AND d.d = $other RETURN d // $a"
    )
