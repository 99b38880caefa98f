"""Arithmetic for the model: one expression, evaluated by simpleeval, no code, no names but a few functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from graph_agent.errors import BadArgument

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

NAME = "calculate"
MAX_CHARACTERS = 500
MAX_DIGITS = 400
_FUNCTIONS: dict[str, Any] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}
_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/"})


def evaluate(expression: str) -> float | int:
    """Value of an arithmetic expression.

    Knows + - * / // % **, comparisons, parentheses, and abs, ceil, floor, max, min, round, sqrt, sum.
    `%` is the remainder of a division; a share of a hundred is written as / 100.

    Raises:
        BadArgument: it is too long, not arithmetic, or has no finite value; says which.
    """
    import ast

    from simpleeval import DEFAULT_OPERATORS, EvalWithCompoundTypes, InvalidExpression  # type: ignore[import-untyped]

    if not expression.strip():
        raise BadArgument("The expression is empty.", "Give one such as (1200 - 950) / 950 * 100.")
    if len(expression) > MAX_CHARACTERS:
        raise BadArgument(
            f"The expression has {len(expression)} characters; at most {MAX_CHARACTERS} are allowed.",
            "Split it into several.",
        )
    text = expression.replace("^", "**").translate(_SIGNS)
    evaluator = EvalWithCompoundTypes(
        functions={**_FUNCTIONS, "sum": _total}, names={}, operators={**DEFAULT_OPERATORS, ast.Pow: _power}
    )
    try:
        value = evaluator.eval(text)
    except (
        InvalidExpression,
        ArithmeticError,
        SyntaxError,
        TypeError,
        ValueError,
        RecursionError,
        MemoryError,
    ) as error:
        reason = str(error) or type(error).__name__
        raise BadArgument(
            f"The expression {expression!r} cannot be evaluated: {reason}.",
            "Use numbers without units or thousands commas, + - * / ** ( ), and abs, ceil, floor, max, min, "
            "round, sqrt, sum.",
        ) from None
    return _checked(value, expression)


def _power(base: Any, exponent: Any) -> Any:
    """Powers of integers are bounded before they are computed: a large one takes minutes."""
    if abs(exponent) * math.log10(max(2.0, abs(base))) > MAX_DIGITS:
        raise ValueError(f"a power with over {MAX_DIGITS} digits")
    return base**exponent


def _total(*values: Any) -> Any:
    """`sum(1, 2)` and `sum([1, 2])` alike: models write both."""
    return sum(values[0]) if len(values) == 1 and isinstance(values[0], list | tuple | set) else sum(values)


def _checked(value: Any, expression: str) -> float | int:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise BadArgument(
                f"The value of {expression!r} has over {MAX_DIGITS} digits.", "Use smaller numbers."
            )
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise BadArgument(
        f"The expression {expression!r} has no number as its value.",
        "Write arithmetic only, with a finite value.",
    )


def shown(value: float | int) -> str:
    """The value as a model should repeat it: at most 12 significant digits, no trailing zeros."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"


def build() -> BaseTool:
    """The tool `calculate`, for the reading loop only."""
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import BaseModel, Field

    class Arguments(BaseModel):
        expression: str = Field(
            description="arithmetic with plain numbers, e.g. (1234.5 - 987) / 987 * 100; no units, no thousands commas"
        )

    def run(expression: str) -> tuple[str, dict[str, str]]:
        try:
            result = shown(evaluate(expression))
        except BadArgument as error:
            raise ToolException(str(error)) from None
        return f"{expression} = {result}", {"expression": expression, "result": result}

    return StructuredTool.from_function(
        func=run,
        name=NAME,
        description="Evaluate arithmetic over figures you have read: sums, differences, ratios, percentages.",
        args_schema=Arguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
