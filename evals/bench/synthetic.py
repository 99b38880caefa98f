"""Large corpora made of a real one: eips repeated with changed words, vectors perturbed.

Not a corpus to judge answers by: it has the sizes, word frequencies and neighbourhoods that speed depends
on. Every fifth word of a repeated passage is replaced by another word of the corpus, drawn by its
frequency; its vector is a real passage's vector with noise, so that nearest neighbours stay near.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graph_agent.embeddings import Embedder
from graph_agent.evals.bench.corpora import DATA, SEED, build
from graph_agent.retrieval.mirror import Passage
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements
from graph_agent.store.schema import ensure_schema
from graph_agent.text import passage_text
from graph_agent.text.postings import ChunkText, build_postings, encode_postings
from graph_agent.vector_blocks import encode_block

PER_DOCUMENT = 16
_CUT = "synthetic/1"
_SHOW = """
MATCH (f:Folder {folder_id: 'root'})
UNWIND $documents AS row
CREATE (d:Document)
SET d = row.properties
CREATE (f)-[e:CONTAINS]->(d)
SET e = row.place
WITH d, row
MATCH (s:MarkdownSection {section_id: row.first_section})
CREATE (d)-[:HAS_SECTION]->(s)
"""
_EMBEDDED = 600  # real passages that are embedded; all vectors are made from these
_NOISE = 0.35  # length of the noise added to a unit vector
_WORD = re.compile(r"[A-Za-z]{4,}")

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Synthetic:
    """Passages in documents of 16, and a vector for each: float32 [passages, dimension]."""

    passages: list[Passage]
    vectors: Float32

    @property
    def documents(self) -> int:
        """Number of documents."""
        return -(-len(self.passages) // PER_DOCUMENT)


def make(count: int, embedder: Embedder) -> Synthetic:
    """`count` passages made of eips."""
    root = DATA / "eips" / "corpus"
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*.md"))
    real = [passage for passage in build(root, files, None).passages if len(passage.text) > 80]
    draw = random.Random(SEED)  # noqa: S311 - a fixed corpus
    sample = real[:: max(1, len(real) // _EMBEDDED)][:_EMBEDDED]
    base = embedder.embed_passages([passage_text(each.breadcrumb, each.text) for each in sample])
    vocabulary = [word for passage in real[::7] for word in _WORD.findall(passage.text)]
    passages: list[Passage] = []
    for number in range(count):
        origin = real[number % len(real)]
        text = origin.text if number < len(real) else _changed(origin.text, vocabulary, draw)
        document, place = divmod(number, PER_DOCUMENT)
        name = f"{document:016x}"
        title = origin.section_title or "Part"
        passages.append(
            Passage(
                chunk_id=f"{name}::{place}::0",
                text=text,
                section_id=f"{name}::{place}",
                section_title=title,
                level=2,
                kind="heading",
                breadcrumb=(f"Proposal {document}", title),
                start_line=1 + 40 * place,
            )
        )
    rng = np.random.default_rng(SEED)
    vectors = base[rng.integers(0, len(base), count)]
    noise = rng.normal(size=vectors.shape).astype(np.float32)
    noise *= _NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    vectors = vectors + noise
    return Synthetic(passages, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32))


def _changed(text: str, vocabulary: list[str], draw: random.Random) -> str:
    count = 0

    def swap(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return draw.choice(vocabulary) if count % 5 == 0 else match[0]

    return _WORD.sub(swap, text)


def questions(synthetic: Synthetic, count: int) -> list[str]:
    """Questions of 4 to 9 words taken from the passages: each finds something, none finds one thing only."""
    draw = random.Random(SEED + 1)  # noqa: S311
    found = []
    for _ in range(count):
        words = _WORD.findall(draw.choice(synthetic.passages).text) or ["proposal"]
        start = draw.randrange(max(1, len(words) - 9))
        found.append("How does " + " ".join(words[start : start + draw.randint(4, 9)]) + "?")
    return found


def write(graph: DocumentGraph, synthetic: Synthetic, model: str) -> None:
    """Write the corpus into an empty graph as ingest would: sections and chunks, vectors, documents last."""
    dimension = synthetic.vectors.shape[1]
    ensure_schema(graph, embedding_model=model, dimension=dimension)
    graph.write(
        statements.MERGE_FOLDERS,
        {
            "folders": [
                {"folder_id": "root", "name": "root", "path": "/root", "kind": "root", "parent_id": None},
            ]
        },
    )
    for rows in _batches(synthetic.passages, 400):
        graph.write(statements.CREATE_SECTIONS, {"sections": [_section(passage) for passage in rows]})
    for start in range(0, len(synthetic.passages), 500):
        part = synthetic.passages[start : start + 500]
        graph.write(
            statements.SET_VECTORS,
            {"ids": [passage.chunk_id for passage in part], "texts": [passage.text for passage in part]},
            arrays={"vectors": synthetic.vectors[start : start + 500]},
        )
    for start in range(0, len(synthetic.passages), PER_DOCUMENT):
        _keep_blocks(graph, synthetic, start, model)
    for rows in _batches(synthetic.passages[::PER_DOCUMENT], 200):
        graph.write(_SHOW, {"documents": [_document(passage) for passage in rows]})
    graph.write(statements.BUMP_VERSION)


def _keep_blocks(graph: DocumentGraph, synthetic: Synthetic, start: int, model: str) -> None:
    """The postings and vectors of one document beside the graph, as ingest keeps them."""
    own = synthetic.passages[start : start + PER_DOCUMENT]
    name = own[0].section_id.split("::")[0]
    chunks = [ChunkText(at, 0, passage.text, passage.breadcrumb) for at, passage in enumerate(own)]
    graph.keys.hset("postings", {name: encode_postings(build_postings(chunks, "en"), _CUT)})
    vectors = synthetic.vectors[start : start + PER_DOCUMENT]
    graph.keys.hset("vectors", {name: encode_block(vectors, model=model, cut=_CUT)})


def _batches(passages: list[Passage], size: int) -> Iterator[list[Passage]]:
    for start in range(0, len(passages), size):
        yield passages[start : start + size]


def _section(passage: Passage) -> dict[str, object]:
    name, sequence = passage.section_id.split("::")
    return {
        "section_id": passage.section_id, "markdown_hash": name, "sequence": int(sequence),
        "title": passage.section_title, "level": passage.level, "kind": passage.kind, "text": passage.text,
        "token_count": len(passage.text) // 4, "start_line": passage.start_line, "page_start": None, "page_end": None,
        "description": None, "breadcrumb": list(passage.breadcrumb), "parent_section_id": None, "links": None,
        "chunks": [
            {
                "chunk_id": passage.chunk_id, "index": 0, "text": passage.text, "token_count": len(passage.text) // 4,
                "start_line": passage.start_line, "page": None,
            }
        ],
    }  # fmt: skip


def _document(passage: Passage) -> dict[str, object]:
    name = passage.section_id.split("::")[0]
    filename = f"{name}.md"
    path = f"{name[:13]}/{filename}"
    return {
        "place": {"path": path, "filename": filename, "source": f"/root/{path}"},
        "first_section": passage.section_id,
        "properties": {
            "content_hash": name,
            "markdown_hash": name,
            "title": passage.breadcrumb[0],
            "language": "en",
            "path": path,
            "filename": filename,
            "chunker": _CUT,
        },
    }
