"""Readers beside the first sync of a graph: relationship types are new to the engine then."""

from __future__ import annotations

import threading
from pathlib import Path

from folder_cases import quick, texts, write

from graph_agent.embeddings import Embedder
from graph_agent.store import DocumentGraph
from graph_agent.store.queries.schema import RELATIONSHIPS
from graph_agent.store.schema import ensure_schema

GRAPHS = 12  # on a busy machine one in five showed a place without a path, before the types were made first


def test_all_relationship_types_are_there_before_anything_is_related(
    empty_graph: DocumentGraph, embedder: Embedder
) -> None:
    ensure_schema(empty_graph, embedding_model=embedder.name, dimension=embedder.dimension)
    known = {row[0] for row in empty_graph.read("CALL db.relationshipTypes()").rows}
    assert known == set(RELATIONSHIPS)
    assert empty_graph.read("MATCH ()-[r]->() RETURN count(r)").rows == [[0]]
    assert empty_graph.read("MATCH (n) RETURN labels(n)").rows == [[["GraphMeta"]]]


def test_every_place_has_a_path_from_the_first_moment(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    for number in range(6):
        parts = [f"# H{part}\n\ntext {number} {part}\n\n" for part in range(20)]
        write(tmp_path, f"d{number}.md", "".join(parts))
    wrong: list[str] = []

    def read(graph: DocumentGraph, stop: threading.Event) -> None:
        while not stop.is_set():
            found = texts(graph)
            wrong.extend(f"{graph.name}: {sorted(map(str, found))}" for path in found if path is None)

    for number in range(GRAPHS):
        graph, stop = empty_graph.select(f"{empty_graph.name}-{number}"), threading.Event()
        readers = [threading.Thread(target=read, args=(graph, stop)) for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            quick(graph, embedder, tmp_path)
        finally:
            stop.set()
            for reader in readers:
                reader.join()
            graph.drop()
    assert wrong == []
