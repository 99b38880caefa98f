"""A graph in FalkorDB: read-only and writing queries, its version, its plain keys."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

import numpy.typing as npt

from graph_agent.errors import QueryError
from graph_agent.settings import Settings
from graph_agent.store.connection import MISSING_GRAPH, SOCKET_GRACE_S, Connection, connect
from graph_agent.store.engine_info import EngineInfo
from graph_agent.store.keys import KeySpace
from graph_agent.store.queries import schema as statements
from graph_agent.store.values import parameter_header

WRITE_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Result:
    """Rows of a query.

    Attributes:
        columns: names as in RETURN.
        rows: one list per row; values are Python values, nodes and edges falkordb's objects.
        stats: what a write did, by the engine's own names ("Nodes created": 3).
    """

    columns: tuple[str, ...] = ()
    rows: list[list[Any]] = field(default_factory=list)
    stats: Mapping[str, float] = field(default_factory=dict)

    def dicts(self) -> list[dict[str, Any]]:
        """Rows as dicts by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def scalar(self, default: Any = None) -> Any:
        """The first value of the first row."""
        return self.rows[0][0] if self.rows and self.rows[0] else default


class DocumentGraph:
    """One named graph on one engine. Safe to share between threads; close it, or use `with`.

    A graph that does not exist yet reads as empty: no rows, no error.
    """

    def __init__(self, connection: Connection, settings: Settings, name: str, *, owns: bool = True) -> None:
        self._connection = connection
        self._owns = owns
        self.settings = settings
        self.name = name
        self.keys = KeySpace(connection.plain(), name)

    @classmethod
    def open(cls, settings: Settings, *, name: str | None = None) -> Self:
        """Find or start the engine and select a graph on it; nothing is created.

        Raises:
            ConfigurationError: an address, password or data folder that is not usable, or a graph that a newer
                program wrote (exit code 2).
            EngineUnavailable: no engine can be started or reached (exit code 3).
        """
        from graph_agent.store.maintenance import repair_after_crash
        from graph_agent.store.migrations import refuse_newer

        connection = connect(settings)
        graph = cls(connection, settings, name or settings.graph)
        try:
            connection.after_recovery = lambda: repair_after_crash(connection, graph)
            connection.after_recovery()
            for version, written_by in graph.read(statements.WRITTEN_BY).rows:
                if isinstance(version, int):
                    refuse_newer(f"The graph {graph.name!r}", version, str(written_by or ""))
        except BaseException:
            connection.close()
            raise
        return graph

    def select(self, name: str) -> DocumentGraph:
        """Another graph on the same connection, which stays this one's to close."""
        return DocumentGraph(self._connection, self.settings, name, owns=False)

    @property
    def engine(self) -> EngineInfo:
        """What we are connected to."""
        return self._connection.info

    @property
    def connection(self) -> Connection:
        """The connection below, for the administration of the engine."""
        return self._connection

    def read(
        self, cypher: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> Result:
        """Run a query by GRAPH.RO_QUERY: the engine itself refuses every write.

        Args:
            cypher: one of our own statements, or one that guard.approve() let pass.
            params: values for `$name`.
            timeout_ms: time limit in milliseconds; default the setting `internal_timeout_ms`.

        Raises:
            BadArgument: a parameter that cannot be passed faithfully.
            QueryError: the engine refused it. QueryTimeout: it took too long.
            EngineUnavailable: the engine does not answer, also after a restart.
        """
        limit = timeout_ms or self.settings.internal_timeout_ms
        text = parameter_header(params, None) + cypher
        return self._run(
            text, read_only=True, timeout_ms=limit, socket_timeout_s=limit / 1000 + SOCKET_GRACE_S
        )

    async def aread(
        self, cypher: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> Result:
        """`read` without blocking the event loop."""
        return await asyncio.to_thread(self.read, cypher, params, timeout_ms=timeout_ms)

    def write(
        self,
        cypher: str,
        params: Mapping[str, Any] | None = None,
        *,
        arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Result:
        """Run one of our own writing statements, sent exactly once.

        Args:
            cypher: a statement of store/queries.
            params: values for `$name`.
            arrays: numeric arrays for `$name`, for vectors.

        Raises:
            BadArgument: a parameter that cannot be passed faithfully.
            QueryError: refused, and nothing of it was done.
            EngineUnavailable: the connection broke; it may or may not have been done.
        """
        text = parameter_header(params, arrays) + cypher
        return self._run(text, read_only=False, timeout_ms=None, socket_timeout_s=WRITE_TIMEOUT_S)

    def version(self) -> int:
        """`graph_version` of GraphMeta: grows with every change of ours; 0 on an empty or foreign graph."""
        return int(self.read(statements.GRAPH_VERSION).scalar(0) or 0)

    def exists(self) -> bool:
        """Whether the graph is there at all."""
        names = self._connection.command("GRAPH.LIST")
        return self.name in [name.decode() if isinstance(name, bytes) else name for name in names]

    def drop(self) -> None:
        """Delete the whole graph; a graph that is not there is no error."""
        if self.exists():
            self._connection.command("GRAPH.DELETE", self.name)

    def close(self) -> None:
        """Let go of the connection, and of the embedded engine. May be called twice."""
        if self._owns:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, text: str, *, read_only: bool, timeout_ms: int | None, socket_timeout_s: float) -> Result:
        def once() -> Result:
            # A graph object of its own for each query: its cache of names would outlive a graph that
            # another process drops and makes again, and then name properties wrongly.
            graph = self._connection.falkordb(socket_timeout_s).select_graph(self.name)
            run = graph.ro_query if read_only else graph.query
            answer = run(text, timeout=timeout_ms)
            columns = tuple(str(column[1]) for column in answer.header)
            stats = {key: value for key, value in _statistics(answer).items() if value}
            return Result(columns, answer.result_set, stats)

        unanswered = None
        if read_only and timeout_ms is not None:
            unanswered = partial(self._connection.unanswered, text, timeout_ms / 1_000)
        try:
            return self._connection.call(once, repeat=read_only, unanswered=unanswered)
        except QueryError as error:
            if read_only and MISSING_GRAPH in str(error):
                return Result()
            raise


def _statistics(answer: Any) -> dict[str, float]:
    names = {
        "Nodes created": answer.nodes_created,
        "Nodes deleted": answer.nodes_deleted,
        "Relationships created": answer.relationships_created,
        "Relationships deleted": answer.relationships_deleted,
        "Properties set": answer.properties_set,
        "Labels added": answer.labels_added,
        "milliseconds": answer.run_time_ms,
    }
    return {name: float(value) for name, value in names.items()}
