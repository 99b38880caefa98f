"""How good answers without a model are: is the gold passage cited, and is "not in the documents" said when it is so?

    python -m graph_agent.evals.bench.extractive_quality [--data DIR] [--limit N] [--json FILE] [--calibrate]

Three corpora are ingested into DIR (kept and reused when given): the sample, and from ../shared/data the Rust book
and the XQuAD passages. Measured are, through GraphAgent.ask as a user would:

* sample: a gold section among the citations, for the questions that have an answer (for evidence without a
  section, such as front matter, a .txt or .csv file: the gold document); all pieces of evidence; refusals;
* rust_book_quiz: the gold document among the first five citations; false refusals;
* xquad_md: the gold document and passage among the citations; false refusals;
* unanswerable by construction: Rust questions over XQuAD, XQuAD questions over the Rust book: how many are refused.

`--calibrate` fits the weights of agent/signals.py by logistic regression on a half of the questions and reports the
rates on the other half.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graph_agent.agent import AgentResponse, GraphAgent
from graph_agent.embeddings import load_embedder
from graph_agent.ingest import SyncOptions, sync
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph
from graph_agent.tools import ToolContext

HERE = Path(__file__).resolve().parents[1]
DATA = HERE.parents[1] / "shared" / "data"
SEED = 11
FIRST = 5


@dataclass
class Asked:
    """One question over one corpus, and what came back.

    Attributes:
        own: whether the corpus holds the answer.
        section, every, document, first: gold section cited; all gold sections; gold document; gold document among
            the first five citations.
        signals: of agent/signals.py.
    """

    corpus: str
    questions: str
    id: str
    own: bool
    answered: bool
    section: bool = False
    every: bool = False
    document: bool = False
    first: bool = False
    seconds: float = 0.0
    kind: str = ""
    signals: dict[str, float] = field(default_factory=dict)


def load_questions(path: Path) -> list[dict[str, Any]]:
    """Questions of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def corpora() -> dict[str, tuple[Path, list[dict[str, Any]]]]:
    """Folder and questions by name; those whose data are not there are left out."""
    places = {
        "sample": (HERE / "sets" / "sample" / "corpus", HERE / "sets" / "sample" / "questions.jsonl"),
        "rust": (DATA / "rust_book_quiz" / "corpus", DATA / "rust_book_quiz" / "dev" / "questions.jsonl"),
        "xquad": (DATA / "xquad_md" / "corpus", DATA / "xquad_md" / "dev" / "questions.jsonl"),
    }
    return {
        name: (root, load_questions(questions))
        for name, (root, questions) in places.items()
        if root.is_dir() and questions.is_file()
    }


def cites(response: AgentResponse, evidence: dict[str, Any], titles: dict[str, str]) -> tuple[bool, bool]:
    """Whether the citations hold the gold section, and the gold document. Markup in titles is not compared."""
    documents = [citation for citation in response.citations if same_file(citation.path, evidence["doc"])]
    if not evidence.get("section"):
        return bool(documents), bool(documents)
    wanted = plain(str(evidence["section"]))
    return any(plain(titles.get(one.section_id, "")) == wanted for one in documents), bool(documents)


def same_file(path: str, doc: str) -> bool:
    """Whether a display path names a file of the question set."""
    return path == doc or path.endswith("/" + doc) or doc.endswith("/" + path)


def plain(title: str) -> str:
    """A heading without markup and case."""
    return " ".join("".join(char for char in title if char not in "`*_\\").lower().split())


def asked(
    agent: GraphAgent, corpus: str, questions: str, entry: dict[str, Any], titles: dict[str, str]
) -> Asked:
    """Ask one question and compare the citations with the gold."""
    began = time.perf_counter()
    response = agent.ask(entry["question"])
    seconds = time.perf_counter() - began
    evidence = entry.get("evidence") or []
    signals = next((stage.detail for stage in response.stages if stage.name == "answer"), {})
    made = Asked(
        corpus=corpus,
        questions=questions,
        id=str(entry["id"]),
        own=corpus == questions and bool(evidence),
        answered=response.answered,
        seconds=seconds,
        kind=str(entry.get("type", "")),
        signals={key: value for key, value in signals.items() if isinstance(value, float)},
    )
    if not made.own:
        return made
    pairs = [cites(response, one, titles) for one in evidence]
    made.section = any(section for section, _ in pairs)
    made.every = all(section for section, _ in pairs)
    made.document = any(document for _, document in pairs)
    made.first = any(
        same_file(citation.path, one["doc"]) for one in evidence for citation in response.citations[:FIRST]
    )
    return made


def measured(settings: Settings, limit: int, only: Sequence[str]) -> list[Asked]:
    """Ask every question of every set over its own corpus, and the foreign ones over Rust and XQuAD."""
    known = corpora()
    rng = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    picked = {
        name: rng.sample(rows, min(limit, len(rows))) if limit else rows for name, (_, rows) in known.items()
    }
    crossed = {"rust": "xquad", "xquad": "rust"}
    results: list[Asked] = []
    for name, (root, _) in known.items():
        if only and name not in only:
            continue
        with prepared(settings, name, root) as graph:
            context = ToolContext(graph, settings=settings)
            titles = section_titles(graph)
            with GraphAgent(graph, settings, tool_context=context, checkpointer=False) as agent:
                sets = [name, *([crossed[name]] if name in crossed and crossed[name] in known else [])]
                for questions in sets:
                    results += [asked(agent, name, questions, entry, titles) for entry in picked[questions]]
                    print(
                        f"{name}: {len(picked[questions])} questions of {questions}",
                        file=sys.stderr,
                        flush=True,
                    )
    return results


def prepared(settings: Settings, name: str, root: Path) -> DocumentGraph:
    """The graph of a corpus, ingested when it is not there yet."""
    graph = DocumentGraph.open(settings, name=f"bench-{name}")
    sync(graph, load_embedder(settings), [root], SyncOptions())
    return graph


def section_titles(graph: DocumentGraph) -> dict[str, str]:
    """Titles by section id."""
    rows = graph.read("MATCH (s:MarkdownSection) RETURN s.section_id AS id, s.title AS title").dicts()
    return {str(row["id"]): str(row["title"] or "") for row in rows}


def share(values: Sequence[bool]) -> float:
    """Percentage that is true; nan without any."""
    return 100.0 * sum(values) / len(values) if values else float("nan")


def report(results: Sequence[Asked]) -> list[tuple[str, float, str]]:
    """Rows (what, percentage or seconds, bar)."""
    own = {name: [r for r in results if r.corpus == name and r.own] for name in ("sample", "rust", "xquad")}
    none = [r for r in results if r.corpus == r.questions == "sample" and not r.own]
    crossed = {
        pair: [r for r in results if (r.questions, r.corpus) == pair]
        for pair in (("rust", "xquad"), ("xquad", "rust"))
    }
    return [
        ("sample: a gold section cited", share([r.section for r in own["sample"]]), ">= 85"),
        ("sample: every gold section cited", share([r.every for r in own["sample"]]), ""),
        ("sample: refused though answerable", share([not r.answered for r in own["sample"]]), "<= 5"),
        ("sample: unanswerable and refused", share([not r.answered for r in none]), ""),
        ("rust_book_quiz: gold document in the first 5", share([r.first for r in own["rust"]]), ">= 85"),
        ("rust_book_quiz: refused", share([not r.answered for r in own["rust"]]), "<= 5"),
        ("xquad_md: gold section cited", share([r.section for r in own["xquad"]]), ""),
        ("xquad_md: gold document in the first 5", share([r.first for r in own["xquad"]]), ""),
        ("xquad_md: refused", share([not r.answered for r in own["xquad"]]), "<= 5"),
        (
            "rust questions over xquad: refused",
            share([not r.answered for r in crossed["rust", "xquad"]]),
            ">= 80",
        ),
        (
            "xquad questions over the rust book: refused",
            share([not r.answered for r in crossed["xquad", "rust"]]),
            ">= 80",
        ),
        ("seconds a question, median", statistics.median([r.seconds for r in results]), ""),
    ]


def calibrated(results: Sequence[Asked]) -> list[tuple[str, float, str]]:
    """Logistic regression of "is about it" on the three signals, fitted on one half and judged on the other."""
    rows = [
        r
        for r in results
        if {"held", "cosine", "unknown"} <= set(r.signals) and (r.own or r.corpus != r.questions)
    ]
    random.Random(SEED).shuffle(rows)  # noqa: S311 - a split, not a secret
    x = np.array([[r.signals["held"], r.signals["cosine"], r.signals["unknown"], 1.0] for r in rows])
    y = np.array([r.own for r in rows], dtype=float)
    # own and foreign questions count the same in all, whatever their numbers
    weight = np.where(y > 0, 0.5 / max(1.0, y.sum()), 0.5 / max(1.0, (1 - y).sum())) * len(y)
    half = len(rows) // 2
    w = np.zeros(4)
    for _ in range(4_000):
        p = 1.0 / (1.0 + np.exp(-np.clip(x[:half] @ w, -30, 30)))
        w += 2.0 * x[:half].T @ (weight[:half] * (y[:half] - p)) / half
    found = [
        (f"weight of {name}", float(value), "")
        for name, value in zip(("held", "cosine", "unknown", "1"), w, strict=True)
    ]
    scores = x @ w
    for percent in (2.0, 4.0, 5.0):
        limit = float(np.quantile(scores[:half][y[:half] > 0], percent / 100))
        other = scores[half:]
        found.append((f"threshold at {percent:g} % false refusals", limit, ""))
        found.append(
            ("  false refusals on the other half", 100 * float((other[y[half:] > 0] < limit).mean()), "")
        )
        found.append(
            ("  foreign refused on the other half", 100 * float((other[y[half:] == 0] < limit).mean()), "")
        )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="data folder to keep the ingested corpora in")
    parser.add_argument("--limit", type=int, default=0, help="questions of each set at most (0: all)")
    parser.add_argument("--only", nargs="*", default=[], help="corpora: sample, rust, xquad")
    parser.add_argument("--json", type=Path, help="file for the single results")
    parser.add_argument("--calibrate", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=arguments.data or Path(folder))
        results = measured(settings, arguments.limit, arguments.only)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8")
    rows = report(results) + (calibrated(results) if arguments.calibrate else [])
    for what, value, bar in rows:
        print(f"{what:<52} {value:8.2f}  {bar}")


if __name__ == "__main__":
    main()
