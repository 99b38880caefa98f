"""What a tool gives back, and how a tool fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_core.tools import ToolException

from graph_agent.errors import GraphAgentError, QueryError, RetryableError


@dataclass(frozen=True)
class ToolResult:
    """An answer twice: as text for a model, and as data for programs.

    Attributes:
        content: text, at most about 6,000 tokens unless more was asked for.
        artifact: the same facts in plain JSON types, never None, without vectors.
    """

    content: str
    artifact: Any


class ToolFailure(ToolException, GraphAgentError):
    """A tool that could not answer, as LangChain expects it; the text says what is wrong and how to mend it.

    Attributes:
        error: what went wrong, in this package's own words (BadArgument, NotFound, EngineUnavailable ...).
        retryable: whether a model may mend it by calling again with other arguments.
    """

    def __init__(self, error: GraphAgentError) -> None:
        GraphAgentError.__init__(self, error.message, error.fix)
        self.error = error
        self.exit_code = error.exit_code
        self.retryable = isinstance(error, RetryableError | QueryError)
