"""One tree of exceptions; every message says what was wrong, with which value, and how to mend it.

GraphAgentError
 ├─ ConfigurationError        a setting, an option or an argument of the command line    (exit code 2)
 │   └─ EmbeddingMismatch     the model's vectors do not fit the graph's
 ├─ UnavailableError          something we depend on does not answer                     (exit code 3)
 │   ├─ EngineUnavailable     FalkorDB
 │   └─ ModelUnavailable      the chat, embedding or rerank model
 ├─ QueryError                FalkorDB answered that a query is wrong
 │   ├─ QueryRefused          our guard did not let it pass; `position` says where
 │   └─ QueryTimeout          it took longer than its limit
 ├─ RetryableError            the caller (often a model) may try again with other arguments
 │   ├─ BadArgument           an argument of a tool or of a search
 │   └─ NotFound              an identifier names nothing, or more than one thing
 └─ IngestError
     ├─ UnreadableFile        one file could not be taken; the others can
     └─ SyncInProgress        another process holds the sync of this graph

`RetryableError` is what a model may mend by itself; the others mean that the tool failed.
"""

from __future__ import annotations


class GraphAgentError(Exception):
    """Root of everything this package raises on purpose.

    Args:
        message: what was wrong, with the offending value, on one line.
        fix: what to do about it, on one line; appended to the message.
    """

    exit_code = 2

    def __init__(self, message: str, fix: str = "") -> None:
        self.message = message
        self.fix = fix
        super().__init__(f"{message} {fix}".strip())


class ConfigurationError(GraphAgentError):
    """A setting, option or file named by the user is not usable."""


class EmbeddingMismatch(ConfigurationError):
    """Vectors of another size or model than the graph holds; names both."""


class UnavailableError(GraphAgentError):
    """Something outside this process does not answer."""

    exit_code = 3


class EngineUnavailable(UnavailableError):
    """FalkorDB cannot be started or reached, or stopped answering."""


class ModelUnavailable(UnavailableError):
    """A chat, embedding or rerank model cannot be reached or refused the request."""


class QueryError(GraphAgentError):
    """FalkorDB refused a query as wrong; the message is the engine's own."""


class QueryRefused(QueryError):
    """The guard refused a query before the engine saw it.

    Attributes:
        position: offset in characters of the offending word in the query, or -1.
        word: the offending word as written, or "".
    """

    def __init__(self, message: str, fix: str = "", *, word: str = "", position: int = -1) -> None:
        super().__init__(message, fix)
        self.word = word
        self.position = position


class QueryTimeout(QueryError):
    """A query ran into its time limit and was stopped."""


class RetryableError(GraphAgentError):
    """The same call with other arguments may succeed."""


class BadArgument(RetryableError):
    """An argument is not allowed; the text names it, its value, what is allowed and the nearest value."""


class NotFound(RetryableError):
    """An identifier matches nothing, or more than one thing (then the candidates are listed)."""


class IngestError(GraphAgentError):
    """Documents could not be brought into the graph."""

    exit_code = 1


class UnreadableFile(IngestError):
    """One file could not be converted; `message` is the reason shown beside its name."""


class SyncInProgress(IngestError):
    """Another process is writing to this graph; names the holder."""

    exit_code = 2
