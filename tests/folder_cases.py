"""What the tests of ingest share: folders that change, and graphs compared as readers see them."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from graph_agent.embeddings import Embedder
from graph_agent.ingest import SyncOptions, SyncReport, sync
from graph_agent.store import DocumentGraph
from graph_agent.text import passage_text


def write(root: Path, name: str, text: str) -> Path:
    """Write a file below a folder, making the folders on its way."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def quick(graph: DocumentGraph, embedder: Embedder, *paths: Path | str, **options: Any) -> SyncReport:
    """A sync without vectors."""
    return sync(graph, embedder, list(paths), SyncOptions(vectors=False, **options))


def texts(graph: DocumentGraph) -> dict[str, str]:
    """What a reader can reach: place -> all its text, joined in order."""
    rows = graph.read(
        """
        MATCH (:Folder)-[e:CONTAINS]->(d:Document)
        OPTIONAL MATCH (d)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection)
        WITH e.path AS path, s ORDER BY path, s.sequence
        RETURN path, collect(s.text)
        """
    ).rows
    return {path: "".join(parts) for path, parts in rows}


def failures(report: SyncReport) -> dict[str, str]:
    """Reasons of the files that were not taken, by file name."""
    return {Path(failure.path).name: failure.reason for failure in report.failed}


def picture(graph: DocumentGraph) -> set[str]:
    """The whole graph in comparable form, times, versions and absolute places left out."""
    kept = set()
    for label, node in graph.read("MATCH (n) RETURN labels(n)[0], n").rows:
        facts = {
            key: value
            for key, value in node.properties.items()
            if key not in {"ingested_at", "graph_version", "embedding", "source"}
            and not (label == "Folder" and key == "path")
        }
        kept.add(f"{label} {sorted((key, repr(value)) for key, value in facts.items())}")
    edges = graph.read(
        """
        MATCH (a)-[r]->(b)
        RETURN type(r), coalesce(a.folder_id, a.content_hash, a.section_id), r.path, r.filename, r.text,
               coalesce(b.folder_id, b.content_hash, b.section_id, b.chunk_id, b.value), count(*)
        """
    ).rows
    return kept | set(map(repr, edges))


def edit_at_random(root: Path, rng: random.Random) -> None:
    """Add, edit, delete or rename one file; some have no heading, so that their name is their title."""
    present = sorted(root.glob("*.md"))
    body = f"edition {rng.random()}\n\n## Part\n\nmore {rng.random()}\n"
    match rng.choice(["add", "edit", "delete", "rename"]):
        case "add":
            heading = rng.choice(["# New\n\n", ""])
            write(
                root, f"new{rng.randrange(9)}.md", heading + (body if heading else f"plain {rng.random()}\n")
            )
        case "edit":
            rng.choice(present).write_text("# Edited\n\n" + body)
        case "delete" if len(present) > 2:
            rng.choice(present).unlink()
        case _:
            path = rng.choice(present)
            path.rename(path.with_name(f"moved{rng.randrange(99)}.md"))


def wrong_vectors(graph: DocumentGraph, embedder: Embedder) -> list[str]:
    """Visible chunks without a vector, or whose vector is not that of their passage."""
    rows = graph.read(
        """
        MATCH (:Folder)-[:CONTAINS]->(d:Document)
        WITH DISTINCT d.markdown_hash AS hash
        MATCH (s:MarkdownSection {markdown_hash: hash})-[:HAS_CHUNK]->(c:SectionChunk)
        RETURN c.chunk_id, s.breadcrumb, c.text, c.embedding
        """
    ).rows
    if not rows:
        return []
    expected = embedder.embed_passages([passage_text(crumbs or [], text) for _, crumbs, text, _ in rows])
    return [
        str(row[0])
        for row, vector in zip(rows, expected, strict=True)
        if row[3] is None or float(np.dot(np.asarray(row[3], dtype=np.float32), vector)) < 0.999
    ]


def not_found_by_index(graph: DocumentGraph, embedder: Embedder, limit: int = 40) -> list[str]:
    """Chunks that the engine's vector index does not find by their own passage in the top 3, up to equal text."""
    rows = graph.read(
        """
        MATCH (s:MarkdownSection)-[:HAS_CHUNK]->(c:SectionChunk)
        RETURN c.chunk_id, s.breadcrumb, c.text ORDER BY c.chunk_id LIMIT $limit
        """,
        {"limit": limit},
    ).rows
    missed = []
    for chunk_id, crumbs, text in rows:
        vector = embedder.embed_passages([passage_text(crumbs or [], text)])[0]
        found = graph.read(
            "CALL db.idx.vector.queryNodes('SectionChunk', 'embedding', 3, vecf32($v)) YIELD node "
            "RETURN node.chunk_id, node.text",
            {"v": [float(x) for x in vector]},
        ).rows
        if not any(name == chunk_id or found_text == text for name, found_text in found):
            missed.append(str(chunk_id))
    return missed


def give_up_rights() -> None:
    """Make root an ordinary user for files, in this process and all that it starts (Linux; else nothing).

    As `preexec_fn` of a subprocess: permission bits then count for it as they do for anybody else.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, twice 32 bits each
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for index in range(3):
        sets[index] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


def command(*arguments: str | Path, data: Path) -> subprocess.CompletedProcess[str]:
    """Run `graph-agent` as an ordinary user would, with a data folder of the test's own."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from graph_agent.cli import main; main()",
            *map(str, arguments),
            "--data",
            str(data),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=give_up_rights,
    )
