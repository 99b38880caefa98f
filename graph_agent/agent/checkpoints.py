"""Conversations on disk: SQLite in the data folder, or Postgres by URL."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.sqlite import SqliteSaver

from graph_agent.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )

    from graph_agent.settings import Settings

FILE = "conversations.sqlite"
BUSY_S = 30.0
CONNECTIONS = 4
CONNECT_S = 10.0
T = TypeVar("T")


@runtime_checkable
class TidySaver(Protocol):
    """What our own savers can do beside LangGraph's."""

    def forget_steps(self, thread_id: str) -> None:
        """Keep only the last checkpoint of a conversation."""

    def threads(self) -> list[str]:
        """Names of the conversations, the latest first."""

    def close(self) -> None:
        """Let go of the file or of the connections."""


class ConversationSaver(SqliteSaver):
    """LangGraph's SQLite saver with async methods, which run in threads and are bound to no event loop.

    One connection serves every loop of the process, so the same conversation can be asked sync and async.
    """

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name is the base class's
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        def listed() -> list[CheckpointTuple]:
            return list(self.list(config, filter=filter, before=before, limit=limit))

        for one in await asyncio.to_thread(listed):
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        # One stage runs at a time, and the checkpoint right behind it holds what it wrote: kept twice, it would
        # cost a commit a stage. What stands in no checkpoint (an interrupt, an error) is kept.
        if any(channel in WRITES_IDX_MAP for channel, _ in writes):
            await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    def forget_steps(self, thread_id: str) -> None:
        """Keep only the last checkpoint of a conversation: the steps before it are of no use once it is done."""
        newest = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
        with self.cursor() as cursor:
            for table in ("checkpoints", "writes"):
                cursor.execute(
                    f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id < ({newest})",  # noqa: S608
                    (thread_id, thread_id),
                )

    def threads(self) -> list[str]:
        """Names of the conversations, the latest first."""
        query = "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY max(checkpoint_id) DESC"
        with self.cursor(transaction=False) as cursor:
            return [str(row[0]) for row in cursor.execute(query).fetchall()]

    def close(self) -> None:
        """Close the file. May be called twice."""
        self.conn.close()


async def thread_names(saver: BaseCheckpointSaver[Any]) -> set[str]:
    """Names of all conversations that a saver keeps."""
    if isinstance(saver, TidySaver):
        return set(await asyncio.to_thread(saver.threads))
    return {str(one.config["configurable"]["thread_id"]) async for one in saver.alist(None)}


def open_saver(settings: Settings) -> BaseCheckpointSaver[Any]:
    """The saver that the settings name.

    Raises:
        ConfigurationError: the data folder is not writable, or Postgres' package is missing or its URL wrong.
    """
    if settings.checkpoints is not None:
        return _postgres(settings.checkpoints.get_secret_value())
    return sqlite_saver(settings.data / FILE)


def sqlite_saver(path: Path) -> ConversationSaver:
    """A saver in one file, which only its owner may read.

    Raises:
        ConfigurationError: the file cannot be made, or is no database.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.close(descriptor)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=BUSY_S)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        saver = ConversationSaver(connection, serde=_serializer())
        saver.setup()
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"Conversations cannot be kept in {path}: {error}.",
            "Make the data folder writable, name another with --data, or move the broken file away.",
        ) from None
    return saver


def _serializer() -> Any:
    """Plain JSON types only: our state has nothing else, and a changed file then cannot make objects."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    return JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)


def _postgres(url: str) -> BaseCheckpointSaver[Any]:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver  # type: ignore[import-not-found,unused-ignore]
        from psycopg.rows import dict_row  # type: ignore[import-not-found,unused-ignore]
        from psycopg_pool import ConnectionPool  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ConfigurationError(
            "GRAPH_AGENT_CHECKPOINTS needs the package langgraph-checkpoint-postgres.",
            "Install it with: pip install langgraph-checkpoint-postgres 'psycopg[binary]'",
        ) from None
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    # Checked when it is taken: a connection that broke, as when the server was restarted, is replaced.
    pool = ConnectionPool(
        url,
        min_size=1,
        max_size=CONNECTIONS,
        kwargs=options,
        check=ConnectionPool.check_connection,
        open=False,
    )
    try:
        pool.open(wait=True, timeout=CONNECT_S)
        saver = tidy(threaded(PostgresSaver))(pool)
        saver.setup()
    except Exception as error:  # noqa: BLE001 - psycopg is not a dependency of ours
        pool.close()
        kind = type(error).__name__
        raise ConfigurationError(
            f"The Postgres server of GRAPH_AGENT_CHECKPOINTS is not usable ({kind}).",
            "Check the URL and that it runs.",
        ) from None
    return saver  # type: ignore[no-any-return]


def threaded(saver: Any) -> Any:
    """A subclass of a sync saver whose async methods run the sync ones in threads."""

    def in_thread(name: str) -> Callable[..., Any]:
        async def run(self: Any, *arguments: Any, **options: Any) -> Any:
            return await asyncio.to_thread(getattr(self, name), *arguments, **options)

        return run

    async def alist(self: Any, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        def listed() -> Iterator[Any]:
            return iter(list(self.list(*arguments, **options)))

        for one in await asyncio.to_thread(listed):
            yield one

    methods = {f"a{name}": in_thread(name) for name in ("get_tuple", "put", "put_writes", "delete_thread")}
    return type(f"Threaded{saver.__name__}", (saver,), {**methods, "alist": alist})


_NEWEST = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = ''"
_STEPS = "thread_id = %(thread)s AND checkpoint_ns = ''"
POSTGRES_FORGET = (
    f"DELETE FROM checkpoint_writes WHERE {_STEPS} AND checkpoint_id < ({_NEWEST})",  # noqa: S608
    f"DELETE FROM checkpoints WHERE {_STEPS} AND checkpoint_id < ({_NEWEST})",  # noqa: S608
    # Values stand apart from the checkpoints that name them, one row for each version of a channel.
    f"DELETE FROM checkpoint_blobs AS blob WHERE {_STEPS} AND NOT EXISTS (SELECT 1 FROM checkpoints AS kept "  # noqa: S608
    "WHERE kept.thread_id = blob.thread_id AND kept.checkpoint_ns = '' "
    "AND kept.checkpoint -> 'channel_versions' ->> blob.channel = blob.version)",
)
POSTGRES_THREADS = "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY max(checkpoint_id) DESC"


def tidy(saver: Any) -> Any:
    """A subclass of the Postgres saver that is a `TidySaver`."""

    def forget_steps(self: Any, thread_id: str) -> None:
        with self._cursor() as cursor:
            for statement in POSTGRES_FORGET:
                cursor.execute(statement, {"thread": thread_id})

    def threads(self: Any) -> list[str]:
        with self._cursor() as cursor:
            return [str(row["thread_id"]) for row in cursor.execute(POSTGRES_THREADS).fetchall()]

    def close(self: Any) -> None:
        self.conn.close()

    return type(
        f"Tidy{saver.__name__}", (saver,), {"forget_steps": forget_steps, "threads": threads, "close": close}
    )
