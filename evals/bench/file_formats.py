"""What a folder of every format costs: files taken and named, the slowest file, peak memory, headings found.

    python -m graph_agent.evals.bench.file_formats [--json FILE]

The parser corpus (214 files, some of them broken on purpose) through the converters one by one and through a
whole sync, and the headings of the 949 proposals against their gold.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from graph_agent.embeddings import load_embedder
from graph_agent.errors import UnreadableFile
from graph_agent.evals.bench.corpora import DATA
from graph_agent.evals.bench.measurement import Measurement, hand_over, parser
from graph_agent.ingest import SyncOptions, sync
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.text import convert_text
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.ingest.sections import section_tree
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph

FILE_CAP_S = 10.0


def one_by_one(corpus: Path) -> list[Measurement]:
    """Each file through the converter, in the process that can be killed."""
    slowest, slowest_name, taken, named, unclear = 0.0, "", 0, 0, 0
    with ConversionWorker(Limits(timeout_s=FILE_CAP_S)) as worker:
        for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
            data = path.read_bytes()
            began = time.perf_counter()
            try:
                worker.convert(data, path.name)
                taken += 1
            except UnreadableFile as error:
                named += 1
                unclear += any(word in error.message for word in ("crashed", "stopped", "not understood"))
            seconds = time.perf_counter() - began
            if seconds > slowest:
                slowest, slowest_name = seconds, path.name
    return [
        Measurement("parser_files: taken", taken, "files", note=f"{named} named with their reason"),
        Measurement("parser_files: crashed, stopped or not understood", unclear, "files", 0.0),
        Measurement("parser_files: slowest file", round(slowest, 2), "s", FILE_CAP_S, note=slowest_name),
        Measurement("parser_files: memory of the converting process", round(worker.peak_mb), "MB", 500.0),
    ]


def whole_sync(corpus: Path, data: Path) -> list[Measurement]:
    """The corpus through a sync, without vectors; then again."""
    settings = Settings(data=data, graph="parser-files")
    embedder = load_embedder(settings)
    with DocumentGraph.open(settings) as graph:
        report = sync(graph, embedder, [corpus], SyncOptions(vectors=False))
        peak = _peak_mb(resource.RUSAGE_SELF) + _peak_mb(resource.RUSAGE_CHILDREN)
        again = sync(graph, embedder, [corpus], SyncOptions(vectors=False))
    note = f"{report.added} documents, {len(report.failed)} named"
    return [
        Measurement("parser_files: sync", round(report.seconds, 1), "s", note=note),
        Measurement("parser_files: peak memory", round(peak), "MB", 1_000.0, note="this process and its largest child"),
        Measurement("parser_files: second sync writes", float(again.wrote), "", 0.0),
    ]  # fmt: skip


def headings(corpus: Path) -> list[Measurement]:
    """Files whose headings (level, title, line) are not those of the gold."""
    gold = json.loads((corpus.parent / "headings_gold.json").read_text("utf-8"))
    gold.pop("_notes", None)
    wrong = 0
    for name, expected in gold.items():
        sections = section_tree(convert_text((corpus / name).read_bytes(), name), name)
        wrong += [[s.level, s.title, s.start_line] for s in sections if s.kind == "heading"] != expected
    return [Measurement(f"eips: files of {len(gold)} with other headings than gold", wrong, "files", 0.0)]


def _peak_mb(who: int) -> float:
    peak = resource.getrusage(who).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    options = parser(__doc__ or "").parse_args(arguments)
    corpus, proposals = DATA / "parser_files" / "corpus", DATA / "eips" / "corpus"
    if not corpus.is_dir() or not proposals.is_dir():
        print(f"There is no data at {DATA}: it comes with a development checkout.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="graph-agent-bench-") as folder:
        found = whole_sync(corpus, Path(folder))
    return hand_over([*one_by_one(corpus), *found, *headings(proposals)], options.json)


if __name__ == "__main__":
    raise SystemExit(main())
