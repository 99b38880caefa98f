"""The skeleton kept at hand: built in the background, shared on the server, never long out of date.

Who changes the graph through us raises `graph_version`, and the next look builds the skeleton anew. What
others change is noticed by the engine's counts, looked at every `COUNTS_S` seconds at most, and everything
else about a graph without `graph_version` is looked at again after `FOREIGN_S` seconds.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from graph_agent.errors import GraphAgentError
from graph_agent.store import survey
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.skeleton import PropertyFact, Skeleton

KEY = "skeleton"
COUNTS_S = 5.0
FOREIGN_S = 30.0
# Looking at a huge graph takes seconds: at most one part in twenty of the time is spent on it.
COST_FACTOR = 20.0
WAIT_S = 3.0
KEPT_S = 7 * 86_400.0

log = logging.getLogger(__name__)


class Overview:
    """The skeleton of one graph. Safe to share between threads.

    Args:
        graph: the graph; it stays the caller's to close.
        clock: seconds; for tests.
    """

    def __init__(self, graph: DocumentGraph, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._clock = clock
        self._lock = threading.Lock()
        self._known: Skeleton | None = None
        self._looked_at = self._counted_at = -math.inf  # by our clock: at everything, at the counts
        self._cost_s = 0.0
        self._building: Future[Skeleton] | None = None
        self._keys_usable: bool | None = None

    def warm(self) -> None:
        """Start building in the background when nothing is known yet; returns at once, raises nothing."""
        with self._lock:
            if self._known is None and self._building is None:
                self._start()

    def current(self, *, wait_s: float = WAIT_S) -> Skeleton:
        """The skeleton as it is now.

        Args:
            wait_s: seconds to wait for one that has to be built; after them the last one is given with
                today's counts, or, when there was none, the counts alone (`pending`).

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        version = self._graph.version()
        known = self._known
        if known is None:
            known = self._from_server(version)
        now = self._clock()
        if known is not None and known.version == version and now - self._counted_at < COUNTS_S:
            return known
        counts = survey.count(self._graph)
        if known is None or known.version != version or not known.same_names(counts):
            return self._built(wait_s, version, known, counts)
        known = known.with_counts(counts)
        with self._lock:
            self._known, self._counted_at = known, now
            rest_s = max(FOREIGN_S, COST_FACTOR * self._cost_s)
            if version == 0 and now - self._looked_at >= rest_s and self._building is None:
                self._start()
        return known

    def properties(self, owner: str | None = None, *, wait_s: float = WAIT_S) -> tuple[PropertyFact, ...]:
        """Properties of every label and type, or of those named `owner`, also when there was no time for it."""
        skeleton = self.current(wait_s=wait_s)
        if owner is None:
            return skeleton.properties
        facts = tuple(fact for fact in skeleton.properties if fact.owner == owner)
        if facts or not (skeleton.pending or owner in skeleton.unsampled):
            return facts
        look = survey.Survey(self._graph, skeleton)
        found = look.properties_of_label(owner) if owner in skeleton.labels else []
        source = survey.sources_of(skeleton).get(owner)
        if owner in skeleton.edge_types and source is not None:
            found += look.properties_of_type(owner, source)
        return tuple(found)

    def _built(self, wait_s: float, version: int, known: Skeleton | None, counts: Skeleton) -> Skeleton:
        """A new skeleton of at least this version, or what is known of it when `wait_s` is over."""
        deadline = time.monotonic() + wait_s
        while True:
            with self._lock:
                future = self._building or self._start()
            try:
                built = future.result(timeout=max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                return counts if known is None else replace(known.with_counts(counts), pending=True)
            # One that was begun before the last change does not show it: build once more.
            if built.version >= version and built.same_names(counts):
                return built
            counts = survey.count(self._graph)

    def _start(self) -> Future[Skeleton]:
        """Build in a thread of its own; the caller holds the lock."""
        future: Future[Skeleton] = Future()
        self._building = future
        # A daemon: a program that ends does not wait for a map that nobody will read.
        threading.Thread(target=self._build, args=(future,), name="skeleton", daemon=True).start()
        return future

    def _build(self, future: Future[Skeleton]) -> None:
        try:
            began = self._clock()
            # Read before looking: what changes meanwhile makes the result old, not wrongly new.
            version = self._graph.version()
            skeleton = survey.build(self._graph, version)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            with self._lock:
                self._building = None
            log.debug("the skeleton of %s was not built: %s", self._graph.name, error)
            future.set_exception(error)
            return
        with self._lock:
            self._known = skeleton
            self._looked_at = self._counted_at = self._clock()
            self._cost_s = self._looked_at - began
            self._building = None
        future.set_result(skeleton)
        self._to_server(skeleton)

    def _from_server(self, version: int) -> Skeleton | None:
        """What another process built for this version; its counts are checked before it is used."""
        try:
            data = self._graph.keys.get(KEY) if self._may_use_keys() else None
        except GraphAgentError:
            return None
        skeleton = Skeleton.from_json(data) if data else None
        if skeleton is None or skeleton.version != version:
            return None
        with self._lock:
            age = max(0.0, time.time() - skeleton.built_at)
            self._looked_at = self._clock() - age
        return skeleton

    def _to_server(self, skeleton: Skeleton) -> None:
        try:
            if self._may_use_keys():
                self._graph.keys.set(KEY, skeleton.to_json(), ttl_s=KEPT_S)
        except Exception as error:  # noqa: BLE001 - a connection closed under it fails in odd ways; nobody waits for this
            log.debug("the skeleton of %s was not shared: %s", self._graph.name, error)

    def _may_use_keys(self) -> bool:
        if self._keys_usable is None:
            self._keys_usable = self._graph.keys.available
        return self._keys_usable
