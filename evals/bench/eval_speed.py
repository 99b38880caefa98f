"""How long an evaluation of search takes: 500 questions over the English XQuAD passages, vectors cached.

python -m graph_agent.evals.bench.eval_speed [--questions 500] [--data DIR] [--json FILE]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import platformdirs

from graph_agent.evals.adapters import load_set
from graph_agent.evals.bench.corpora import DATA
from graph_agent.evals.bench.measurement import Measurement, hand_over, parser
from graph_agent.evals.runner import run_set
from graph_agent.settings import Settings

BAR_S = 60.0


def main(arguments: list[str] | None = None) -> int:
    """Evaluate twice, so that vectors are cached, and print the second time."""
    made = parser(__doc__ or "")
    made.add_argument("--questions", type=int, default=500)
    made.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("graph-agent", False)))
    options = made.parse_args(arguments)
    source = DATA / "xquad_md"
    if not source.is_dir():
        print(f"There is no data at {source}: it comes with a development checkout.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="graph-agent-bench-") as folder:
        settings = Settings(data=Path(folder))
        kept = options.cache / "bench-vectors.sqlite"
        cache = settings.data / "cache" / "vectors.sqlite"
        cache.parent.mkdir()
        if kept.is_file():
            shutil.copy(kept, cache)
        chosen = load_set(f"{source}:en")
        run_set(chosen, settings, mode="retrieval", limit=1)
        began = time.perf_counter()
        run = run_set(chosen, settings, mode="retrieval", limit=options.questions)
        seconds = time.perf_counter() - began
    if run.summary.errors:
        raise AssertionError(run.summary.error_kinds)
    score = run.summary.metrics["section.ndcg@10"]
    name = f"eval, retrieval mode, {run.info.questions} questions"
    found = [
        Measurement(name, round(seconds, 1), "s", BAR_S, note="engine, re-sync, scores and page included"),
        Measurement(f"{name}: section nDCG@10", round(score.value, 4), "", None, note=str(score)),
    ]
    return hand_over(found, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
