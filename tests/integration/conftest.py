"""One embedded engine for all integration tests, and the graphs that several of them read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_agent.embeddings import Embedder, load_embedder
from graph_agent.ingest import SyncOptions, sync
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
SAMPLE_CORPUS = ROOT / "evals" / "sets" / "sample" / "corpus"
FOREIGN = ("movies", "northwind", "fincen")


@pytest.fixture(scope="session")
def engine_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of an embedded engine in a folder of its own, whatever the environment says."""
    return load_settings(
        data=tmp_path_factory.mktemp("engine"), embeddings="local", falkordb_url="", model=""
    )


@pytest.fixture(scope="session")
def engine(engine_settings: Settings) -> Iterator[DocumentGraph]:
    """The engine, by way of a graph that nobody writes to; `select` another."""
    with DocumentGraph.open(engine_settings, name="unused") as graph:
        yield graph


@pytest.fixture(scope="session")
def embedder(engine_settings: Settings) -> Embedder:
    return load_embedder(engine_settings)


@pytest.fixture
def empty_graph(engine: DocumentGraph, request: pytest.FixtureRequest) -> Iterator[DocumentGraph]:
    """A graph of the test's own that does not exist yet."""
    graph = engine.select(f"test-{request.node.nodeid[-150:]}")
    yield graph
    graph.drop()
    graph.keys.delete("skeleton", "postings", "vectors", "last-sync", "sync-lock")


@pytest.fixture(scope="session")
def sample_graph(engine: DocumentGraph, embedder: Embedder) -> DocumentGraph:
    """The sample corpus, ingested with vectors. For reading only."""
    graph = engine.select("sample")
    sync(graph, embedder, [SAMPLE_CORPUS])
    return graph


@pytest.fixture(scope="session")
def sample(sample_graph: DocumentGraph) -> ToolContext:
    """Tools over the sample corpus."""
    return ToolContext(sample_graph)


@pytest.fixture(scope="session")
def eips_graph(engine: DocumentGraph, embedder: Embedder) -> DocumentGraph:
    """949 proposals, 9,500 sections, without vectors. For reading only."""
    corpus = SHARED / "eips" / "corpus"
    if not corpus.is_dir():
        pytest.skip("../shared/data/eips is not here")
    graph = engine.select("eips")
    sync(graph, embedder, [corpus], SyncOptions(vectors=False))
    return graph


@pytest.fixture(scope="session")
def eips(eips_graph: DocumentGraph) -> ToolContext:
    """Tools over the proposals."""
    return ToolContext(eips_graph)


@pytest.fixture(scope="session")
def foreign_graphs(engine: DocumentGraph) -> dict[str, DocumentGraph]:
    """Graphs that are not ours, by name. For reading only."""
    corpus = SHARED / "text2cypher" / "corpus"
    if not corpus.is_dir():
        pytest.skip("../shared/data/text2cypher is not here")
    graphs = {}
    for name in FOREIGN:
        graphs[name] = engine.select(name)
        load_foreign(graphs[name], corpus / name)
    return graphs


@pytest.fixture(params=FOREIGN)
def foreign_graph(foreign_graphs: dict[str, DocumentGraph], request: pytest.FixtureRequest) -> DocumentGraph:
    """Each of the foreign graphs in turn."""
    return foreign_graphs[request.param]


@pytest.fixture(scope="session")
def movies(foreign_graphs: dict[str, DocumentGraph]) -> ToolContext:
    """Tools over the movies graph."""
    return ToolContext(foreign_graphs["movies"])


def load_foreign(graph: DocumentGraph, folder: Path) -> None:
    """Write nodes.jsonl and edges.jsonl into a new graph, nodes in the order of the file: ties follow it."""
    nodes = [json.loads(line) for line in (folder / "nodes.jsonl").read_text(encoding="utf-8").splitlines()]
    edges = [json.loads(line) for line in (folder / "edges.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [
        {"p": {**_plain(node["props"]), "_k": position}, **_special(node["props"])}
        for position, node in enumerate(nodes)
    ]
    _write(graph, f"UNWIND $rows AS r CREATE (n) SET n = r.p{_assignments(nodes, 'n')}", rows)
    ids = {node["key"]: position for position, node in enumerate(nodes)}
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for node in nodes:
        groups[tuple(node["labels"])].append({"id": ids[node["key"]]})
    for labels, members in groups.items():
        _write(graph, f"UNWIND $rows AS r MATCH (n) WHERE id(n) = r.id SET n:`{'`:`'.join(labels)}`", members)
    first_label = {node["key"]: node["labels"][0] for node in nodes}
    for label in sorted(set(first_label.values())):
        graph.write(f"CREATE INDEX FOR (n:`{label}`) ON (n._k)")
    pairs: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for edge in edges:
        pairs[first_label[edge["from"]], first_label[edge["to"]], edge["type"]].append(edge)
    for (source, target, kind), members in sorted(pairs.items()):
        rows = [
            {
                "f": ids[edge["from"]],
                "t": ids[edge["to"]],
                "p": _plain(edge["props"]),
                **_special(edge["props"]),
            }
            for edge in members
        ]
        statement = (
            f"UNWIND $rows AS r MATCH (a:`{source}` {{_k: r.f}}), (b:`{target}` {{_k: r.t}}) "
            f"CREATE (a)-[e:`{kind}`]->(b) SET e = r.p{_assignments(members, 'e')}"
        )
        _write(graph, statement, rows)
    for label in sorted(set(first_label.values())):
        graph.write(f"DROP INDEX ON :`{label}`(_k)")
    graph.write("MATCH (n) SET n._k = NULL")


def _plain(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in properties.items() if value is not None and not isinstance(value, dict)
    }


def _special(properties: dict[str, Any]) -> dict[str, Any]:
    """Times and points: maps in the file, made by functions in Cypher."""
    return {
        "s": {
            key: value.get("$localdatetime", value)
            for key, value in properties.items()
            if isinstance(value, dict)
        }
    }


def _assignments(members: list[dict[str, Any]], variable: str) -> str:
    kinds = {
        key: "localdatetime" if "$localdatetime" in value else "point"
        for member in members
        for key, value in member["props"].items()
        if isinstance(value, dict)
    }
    return "".join(f", {variable}.`{key}` = {kind}(r.s.`{key}`)" for key, kind in kinds.items())


def _write(graph: DocumentGraph, statement: str, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), 1_000):
        graph.write(statement, {"rows": rows[start : start + 1_000]})
