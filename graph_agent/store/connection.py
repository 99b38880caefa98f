"""One connection to FalkorDB, embedded or a server: opening, health, errors in our own words.

No command is ever sent twice by the client library: its retries are off (redis-py's default would send
a slow write up to eleven times). Reads are repeated here, once, after the engine is known to be back.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import redis
from falkordb import FalkorDB
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from graph_agent.errors import (
    ConfigurationError,
    EngineUnavailable,
    GraphAgentError,
    QueryError,
    QueryTimeout,
)
from graph_agent.settings import Settings
from graph_agent.store.addresses import checked_url, shown_url
from graph_agent.store.embedded import EngineLease, lease_engine
from graph_agent.store.engine_files import note_engine, why_it_fails
from graph_agent.store.engine_info import EngineInfo

START_TIMEOUT_S = 600.0  # a large append-only file takes its time to load
SILENT_START_TIMEOUT_S = 20.0
RECOVERY_TIMEOUT_S = 20.0
CONNECT_TIMEOUT_S = 5.0
SOCKET_GRACE_S = 3.0  # what a query may take beyond its limit before it counts as one that cannot be stopped
MAX_CONNECTIONS = 64
LONGEST_S = 75.0  # no query of ours has a limit as long as this
PROBE_GRAPH = "health-probe"
_WRITING = re.compile(r"\b(?:CREATE|MERGE|SET|DELETE|REMOVE|DROP)\b")
MISSING_GRAPH = "Invalid graph operation on empty key"

_CANNOT_WRITE: tuple[tuple[str | type[RedisError], str], ...] = (
    (
        "MISCONF",
        "Free space on the disk of its data folder (see also the end of its log); what was written is kept.",
    ),
    (OutOfMemoryError, "Raise the server's maxmemory."),
    (ReadOnlyError, "Point GRAPH_AGENT_FALKORDB_URL at the primary server, not at a replica."),
)

T = TypeVar("T")
log = logging.getLogger(__name__)


class _Client(FalkorDB):  # type: ignore[misc,unused-ignore]
    """FalkorDB's client on a connection of ours.

    Its own constructor asks the server for INFO, which a user of few rights may not, and follows a Sentinel or
    cluster by connections whose time-outs and retries are not ours.
    """

    def __init__(self, connection: redis.Redis) -> None:
        self.connection = connection
        self.flushdb = connection.flushdb
        self.execute_command = connection.execute_command


class Connection:
    """Clients for one engine, by socket time-out; safe to share between threads."""

    def __init__(self, url: str, lease: EngineLease | None) -> None:
        self._url = url
        self.lease = lease
        self._clients: dict[float | None, FalkorDB] = {}
        self._plain: redis.Redis | None = None
        self._lock = threading.Lock()
        self.closed = False
        self.after_recovery: Callable[[], None] = lambda: None
        self.info = EngineInfo("embedded" if lease else "server", 0, "", shown_url(url))

    def falkordb(self, socket_timeout_s: float | None) -> FalkorDB:
        """A client whose commands give up waiting after `socket_timeout_s` seconds (None: never)."""
        with self._lock:
            if self.closed:
                raise EngineUnavailable("This connection is closed.", "Open the graph again.")
            client = self._clients.get(socket_timeout_s)
            if client is None:
                client = _Client(
                    redis.Redis.from_url(self._url, decode_responses=True, **self._options(socket_timeout_s))
                )
                self._clients[socket_timeout_s] = client
            return client

    def plain(self) -> redis.Redis:
        """A client for plain keys; values are bytes."""
        with self._lock:
            if self._plain is None:
                self._plain = redis.Redis.from_url(self._url, **self._options(30.0))
            return self._plain

    def command(self, *arguments: str, timeout_s: float | None = None) -> Any:
        """An administrative command, sent once; `timeout_s` for those that may take long."""
        try:
            if timeout_s is not None:
                return self.falkordb(timeout_s).execute_command(*arguments)
            return self.plain().execute_command(*arguments)
        except RedisError as error:
            raise self.translate(error) from error

    def call(
        self, run: Callable[[], T], *, repeat: bool, unanswered: Callable[[], Exception] | None = None
    ) -> T:
        """Run one command; with `repeat` (reads only) once more after the engine has come back.

        Args:
            run: sends the command.
            repeat: whether it may be sent again after the connection broke.
            unanswered: asked for the error when no answer came in time; such a command is not sent again.

        Raises:
            EngineUnavailable: no answer, or the connection broke.
            QueryTimeout, QueryError: the engine's own verdict on the query.
        """
        try:
            return run()
        except RedisError as error:
            if unanswered is not None and isinstance(error, RedisTimeoutError):
                raise unanswered() from error
            translated = self.translate(error)
            if not repeat or not isinstance(translated, EngineUnavailable):
                raise translated from error
            self.recover()
        try:
            return run()
        except RedisError as error:
            raise self.translate(error) from error

    def unanswered(self, text: str, limit_s: float) -> Exception:
        """What to say of a read that got no answer within its limit and the grace after it.

        Limits are not looked at inside one expression (FalkorDB 4.16: a huge range, deep nesting), so such a query
        goes on, and with a writer waiting it stops every reader of its graph. The embedded engine is then started
        again, which ends it; of a server it is only told.
        """
        try:
            running, waiting = self._at_work()
        except GraphAgentError:  # no answer at all: its watchdog, or its administrator, sees to it
            if self.lease is not None:
                self.recover()
            return EngineUnavailable(
                f"FalkorDB at {self.info.address} did not answer within {limit_s:.0f} s.", "Try again."
            )
        overdue = any(
            seconds > limit_s + 1 if query == text else seconds > LONGEST_S and not _writes(query)
            for query, seconds in running
        )
        if not overdue:
            return QueryTimeout(
                f"The engine was too busy to answer within {limit_s:.0f} s "
                f"({len(running)} queries at work, {waiting} waiting).",
                "Try again in a moment.",
            )
        if self.lease is None:
            return QueryTimeout(
                "The query cannot be stopped by its time limit; the server still works on it.",
                "Ask for less at once. The server's administrator can restart it.",
            )
        log.warning("A query could not be stopped by its time limit; the embedded engine is started again.")
        self.lease.restart()
        self.recover()
        return QueryTimeout(
            "The query could not be stopped by its time limit, so the engine was restarted; nothing was lost.",
            "Ask for less at once.",
        )

    def _at_work(self) -> tuple[list[tuple[str, float]], int]:
        """Text and seconds of every query that is running, and how many wait; told by the engine's main thread."""
        answer = self.command("GRAPH.INFO", timeout_s=CONNECT_TIMEOUT_S)
        running = [
            (_text(facts["Query"]), float(facts["Execution duration"]) / 1_000)
            for facts in (
                {_text(key): value for key, value in zip(row[::2], row[1::2], strict=False)}
                for row in answer[1]
            )
        ]
        return running, len(answer[3])

    def recover(self) -> None:
        """Wait until the engine answers a graph query again, waking its watchdog if that is gone.

        Raises:
            EngineUnavailable: it does not come back.
        """
        if self.lease is not None:
            self.lease.revive()
        self.wait_until_ready(RECOVERY_TIMEOUT_S)
        self.after_recovery()

    def wait_until_ready(self, silent_timeout_s: float) -> None:
        """Wait for an answer to a graph query; loading counts as life, silence does not.

        Raises:
            ConfigurationError: wrong user or password, or no FalkorDB behind the address.
            EngineUnavailable: no answer in time.
        """
        began = time.monotonic()
        silent_until = began + silent_timeout_s
        pause = 0.005
        while True:
            try:
                self.probe()
                return
            except BusyLoadingError:
                silent_until = time.monotonic() + silent_timeout_s
            except (RedisConnectionError, RedisTimeoutError) as error:
                translated = self.translate(error)
                if isinstance(translated, ConfigurationError):
                    raise translated from None
                failure = self.lease.failure() if self.lease else None
                if failure is not None:
                    raise why_it_fails(cast(EngineLease, self.lease).folder, failure) from None
                if self.lease is not None and self.lease.loading():
                    silent_until = time.monotonic() + silent_timeout_s
                if time.monotonic() > silent_until:
                    raise translated from None
            except RedisError as error:
                raise self.translate(error) from None
            if time.monotonic() - began > START_TIMEOUT_S:
                raise EngineUnavailable(
                    f"The engine is still loading after {START_TIMEOUT_S:.0f} s.", "Wait and try again."
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def probe(self) -> None:
        """One graph query; PING would also answer while the module hangs."""
        try:
            self.falkordb(CONNECT_TIMEOUT_S).execute_command("GRAPH.RO_QUERY", PROBE_GRAPH, "RETURN 1")
        except ResponseError as error:
            if isinstance(error, BusyLoadingError | AuthenticationError | NoPermissionError):
                raise
            if "unknown command" in str(error).lower():
                self._refuse_mode()
                raise ConfigurationError(
                    f"There is no FalkorDB at {self.info.address}: the server does not know GRAPH.RO_QUERY.",
                    "Point GRAPH_AGENT_FALKORDB_URL at a FalkorDB server.",
                ) from None
            # "Invalid graph operation on empty key": the module itself answered, which is what was asked.

    def identify(self) -> None:
        """Fill `info`; refuse server arrangements that are not supported."""
        client = self.plain()
        server = self._refuse_mode()
        self.info = EngineInfo(
            self.info.kind,
            self._module_version(client),
            str(server.get("redis_version", "unknown")),
            self.info.address,
            protected=self.lease is not None
            or self._url.startswith("unix:")
            or bool(urlsplit(self._url).password),
        )
        if self.lease is not None:
            note_engine(self.lease.folder, f"{self.info.version_text} on Redis {self.info.redis_version}")

    def _refuse_mode(self) -> dict[str, Any]:
        """The server's facts about itself; a cluster or Sentinel is refused by name."""
        try:
            server = self.plain().info("server")
        except NoPermissionError:
            return {}
        except RedisError as error:
            raise self.translate(error) from error
        mode = str(server.get("redis_mode", "standalone"))
        if mode != "standalone":
            raise ConfigurationError(
                f"The server at {self.info.address} runs as {mode}, which is not supported.",
                "Use the address of a standalone FalkorDB server.",
            )
        return server

    def translate(self, error: RedisError) -> Exception:
        """A client library's error in our own words."""
        text = " ".join(str(error).split())
        where = self.info.address
        if isinstance(error, AuthenticationError | NoPermissionError) or text.startswith(
            ("NOAUTH", "WRONGPASS")
        ):
            return ConfigurationError(
                f"The server at {where} refused us: {text}.",
                "Check user and password in GRAPH_AGENT_FALKORDB_URL and the rights of that user.",
            )
        if isinstance(error, BusyLoadingError):
            return EngineUnavailable("The engine is still loading its data.", "Wait a moment and try again.")
        if isinstance(error, RedisConnectionError | RedisTimeoutError):
            fix = (
                "It is restarted by itself; try again."
                if self.lease
                else "Start it, or correct GRAPH_AGENT_FALKORDB_URL; without it the embedded engine is used."
            )
            return EngineUnavailable(f"FalkorDB at {where} does not answer ({text}).", fix)
        if (refusal := refused_to_write(error)) is not None:
            return refusal
        if "timed out" in text:
            return QueryTimeout("The query ran into its time limit and was stopped.", "Ask for less at once.")
        return QueryError(f"FalkorDB refused the query: {text}")

    def close(self) -> None:
        """Close every socket and give back the share of the embedded engine. May be called twice."""
        with self._lock:
            self.closed = True
            clients = [client.connection for client in self._clients.values()]
            if self._plain is not None:
                clients.append(self._plain)
            self._clients.clear()
        for client in clients:
            with contextlib.suppress(RedisError):
                client.close()
                client.connection_pool.disconnect()
        if self.lease is not None:
            self.lease.release()

    def _options(self, socket_timeout_s: float | None) -> dict[str, Any]:
        return {
            "socket_timeout": socket_timeout_s,
            "socket_connect_timeout": CONNECT_TIMEOUT_S,
            "retry": Retry(NoBackoff(), 0),
            "max_connections": MAX_CONNECTIONS,
            "protocol": 2,
        }

    @staticmethod
    def _module_version(client: redis.Redis) -> int:
        try:
            modules = cast("list[Any]", client.module_list())
        except RedisError:
            return 0  # the access rules of a shared server may forbid the question
        for module in modules:
            facts = {_text(key): value for key, value in module.items()}
            if _text(facts.get("name")).lower() == "graph":
                return int(facts.get("ver", 0))
        return 0


def connect(settings: Settings) -> Connection:
    """Connect to the configured server, or to the embedded engine of the data folder.

    Raises:
        ConfigurationError: an address, password or folder that is not usable.
        EngineUnavailable: nothing answers.
    """
    if settings.falkordb_url is not None:
        connection = Connection(checked_url(settings.falkordb_url.get_secret_value()), None)
        patience = CONNECT_TIMEOUT_S
    else:
        lease = lease_engine(settings.data, query_memory_mb=settings.query_memory_mb)
        connection = Connection(f"unix://{lease.socket_path}", lease)
        patience = SILENT_START_TIMEOUT_S
    try:
        connection.wait_until_ready(patience)
        connection.identify()
    except BaseException:
        connection.close()
        raise
    return connection


def refused_to_write(error: RedisError) -> EngineUnavailable | None:
    """What an engine says that takes no writes at all now, in our own words; None for any other error."""
    text = " ".join(str(error).split())
    for sign, fix in _CANNOT_WRITE:
        if isinstance(error, sign) if isinstance(sign, type) else text.startswith(sign):
            return EngineUnavailable(f"The engine cannot write now ({text}).", fix)
    return None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _writes(query: str) -> bool:
    """Whether a running query may be one of our writes: these may take minutes, and end by themselves."""
    return _WRITING.search(query) is not None
