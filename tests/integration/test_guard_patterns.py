"""Patterns that kill an engine: refused before it sees them, with a remedy that runs; and patterns drawn at random."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

import pytest
import redis
from scratch_engine import Engine

from graph_agent.errors import QueryRefused
from graph_agent.store.guard import approve

V416, V422 = 41603, 42201
# (the versions that die, the query, what to write instead)
KILLERS = [
    ({V416}, "MATCH (a:N)-[:R*1..2]->(a:Q) RETURN 1", "MATCH (a:N)-[:R*1..2]->(a) WHERE a:Q RETURN 1"),
    ({V416}, "MATCH (a)-[:R*]-(a:N:M) RETURN 1", "MATCH (a)-[:R*]-(a:N) WHERE a:M RETURN 1"),
    ({V416}, "MATCH (a:N) MATCH (a)-[:R*1..2]->(a:M) RETURN 1", "MATCH (a:N) MATCH (a)-[:R*1..2]->(a) WHERE a:M RETURN 1"),
    ({V416}, "MATCH (a:N:M)-[:R*2 {w: 1}]->() RETURN a", "MATCH (a:N)-[:R*2 {w: 1}]->() WHERE a:M RETURN a"),
    ({V416}, "MATCH (a:N:M)-[r:R*2]->() WHERE all(x IN r WHERE x.w = 1) RETURN a",
     "MATCH (a:N)-[r:R*2]->() WHERE a:M AND all(x IN r WHERE x.w = 1) RETURN a"),
    ({V416}, "MATCH p = (b)<-[:R*2]-(a:N:M) RETURN p", "MATCH p = (b)<-[:R*2]-(a:N) WHERE a:M RETURN p"),
    ({V416}, "MATCH (a:N:M) WHERE (a)-->() RETURN a", "MATCH (a:N) WHERE a:M AND (a)-->() RETURN a"),
    ({V416}, "MATCH (a:N:M) WHERE NOT ()-[:R]->(a:N) RETURN a", "MATCH (a:N) WHERE a:M AND NOT ()-[:R]->(a) RETURN a"),
    ({V416}, "MATCH (a:M {i: 2})--() OPTIONAL MATCH (a:N)--() RETURN 1", "MATCH (a:M {i: 2})--() WITH a OPTIONAL MATCH (a:N)--() RETURN 1"),
    ({V416, V422}, "MATCH (n) RETURN [(:N)<-[s:R]-(a)<-[s:R]-(:Q) | 1] AS l", "MATCH (n) RETURN [(:N)<-[s:R]-(a)<-[t:R]-(:Q) | 1] AS l"),
    ({V416}, "MATCH (c:N:M)-[s:R*2]-(b) RETURN [({i: 1})-[s*2]->(b {i: 1}) | 1] AS l", "MATCH (c:N)-[s:R*2]-(b) WHERE c:M RETURN [({i: 1})-[t:R*1..2]->(b {i: 1}) | 1] AS l"),
    ({V416}, "MATCH (a:M {i: 2})<--(b) WHERE (a:N)-->(b) RETURN count(*)", "MATCH (a:M {i: 2})<--(b) WHERE a:N AND (a)-->(b) RETURN count(*)"),
    ({V416}, "MATCH (a:N:M)-[s:R*2]->() WITH * RETURN [()--() | 1] AS l", "MATCH (a:N)-[s:R*2]->() WHERE a:M WITH * RETURN [()--() | 1] AS l"),
    ({V422}, "MATCH ()-[*2]-(:M)--() RETURN 1", "MATCH ()-[:R*2]-(:M)--() RETURN 1"),
]  # fmt: skip
HARMLESS = [
    "MATCH (a:N:M) RETURN a", "MATCH (a:N:M)-->(b) RETURN b", "MATCH (a:N:M)-[:R*1..3]->(b:N) RETURN b",
    "MATCH p = (a:N:M)-[:R*1..3]-(b) RETURN nodes(p)", "MATCH (a:N)-[:R*1..3]->(a) RETURN a", "MATCH (a:N)-[:R*]->(a:N) RETURN a",
    "MATCH (a:N)-[:R*1..2 {w: 1}]->(b:M) RETURN b", "MATCH (a:N) OPTIONAL MATCH (a:N)-->(b) RETURN b",
    "MATCH (a:N) WITH a OPTIONAL MATCH (a:M) RETURN a", "MATCH (a:N)-[:R*2]->(b) RETURN b",
    "MATCH (a:N:M) RETURN size([(a)-->(b) | b]) AS n", "MATCH (a:N:M) WITH a.i AS i, a WHERE i > 1 RETURN i",
    "MATCH (n) RETURN [(n)-[s:R]->(a)-[t:R]->(b) | b.i] AS l",
]  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    started = Engine(tmp_path_factory.mktemp("e"))
    yield started
    started.stop()


@pytest.mark.parametrize(("versions", "query", "remedy"), KILLERS)
def test_what_kills_is_refused_with_a_remedy_that_runs(
    engine: Engine, versions: set[int], query: str, remedy: str
) -> None:
    for version in (*versions, None):
        with pytest.raises(QueryRefused, match="kills this FalkorDB") as raised:
            approve(query, engine_version=version)
        assert raised.value.fix
        assert query[raised.value.position] in "(["
    assert engine.run(approve(remedy, engine_version=engine.version).cypher) is not None


def run_often(victim: Engine, query: str) -> None:
    """Some read memory that is no longer theirs, which does not kill each time."""
    for _ in range(20):
        victim.graph.ro_query(query, timeout=10_000)


@pytest.mark.soak
@pytest.mark.parametrize(("versions", "query", "remedy"), KILLERS)
def test_what_is_refused_kills(
    tmp_path_factory: pytest.TempPathFactory, versions: set[int], query: str, remedy: str
) -> None:
    """When an engine mends one of these, this test says so, and the refusal can go."""
    victim = Engine(tmp_path_factory.mktemp("v"))
    if victim.version not in versions:
        victim.stop()
        pytest.skip("another version's fault")
    with pytest.raises((redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)):
        run_often(victim, query)
    victim.process.kill()
    victim.stop()


@pytest.mark.parametrize("query", HARMLESS)
def test_their_harmless_cousins_run(engine: Engine, query: str) -> None:
    assert engine.run(approve(query).cypher) is not None


class Patterns:
    """Queries of patterns that share variables, labels and relationships more than any person's would."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def node(self) -> str:
        name = self.pick("a", "b", "c", "a", "b", "")
        label = self.pick("", "", ":N", ":M", ":N:M", ":Q")
        return f"({name}{label}{self.pick('', '', ' {i: 1}', ' {i: 2}')})"

    def edge(self) -> str:
        inner = self.pick("", "r", "s", "") + self.pick(":R", ":R", ":Q", ":R|Q", "")
        inner += self.pick("", "", "*", "*1..2", "*0..1", "*2", "*..3") + self.pick("", "", " {w: 1}")
        return self.pick("-[%s]->", "<-[%s]-", "-[%s]-") % inner

    def pattern(self, longest: int = 3) -> str:
        return self.node() + "".join(self.edge() + self.node() for _ in range(self.draw.randint(0, longest)))

    def condition(self) -> str:
        expression = self.pick("a:M", "a.i > 1", "a = b", "NOT a:N AND b.i = 2", "a:N OR b:M")
        bare = self.node() + self.edge() + self.node()
        return self.pick(
            "", "", f" WHERE {expression}", f" WHERE {bare}", f" WHERE NOT {bare}", f" WHERE EXISTS({bare})"
        )

    def clause(self) -> str:
        path = self.pick("", "", "p = ")
        return f"{self.pick('MATCH', 'MATCH', 'OPTIONAL MATCH')} {path}{self.pattern()}{self.condition()}"

    def query(self) -> str:
        middle = self.pick("", "", " WITH a", " WITH a, b", " WITH *", " WITH a, count(*) AS k")
        again = self.pick("", f" {self.clause()}")
        end = self.pick(
            "1",
            "count(*)",
            "a",
            "DISTINCT b",
            "*",
            "p",
            f"[{self.node()}{self.edge()}{self.node()} | 1] AS l",
        )
        return f"{self.clause()}{middle}{again} RETURN {end}"


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_random_patterns_never_kill(tmp_path_factory: pytest.TempPathFactory) -> None:
    patterns = Patterns(int(os.environ.get("GRAPH_AGENT_SEED", "7")))
    engine = Engine(tmp_path_factory.mktemp("e"))
    deaths: list[str] = []
    ran = 0
    for _ in range(30_000 if os.environ.get("GRAPH_AGENT_SOAK") else 800):
        text = patterns.query()
        try:
            cypher = approve(text, engine_version=engine.version, extract=False).cypher
        except QueryRefused:
            continue
        began = time.monotonic()
        try:
            ran += bool(engine.graph.ro_query(cypher, timeout=2_000))
        except redis.exceptions.ResponseError:
            continue
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            deaths.append(text)
            engine.process.kill()
            engine.stop()
            engine = Engine(tmp_path_factory.mktemp("e"))
        assert time.monotonic() - began < 10, text
    engine.stop()
    assert not deaths, "\n".join(deaths)
    assert ran > 20
