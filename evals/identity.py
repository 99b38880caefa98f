"""What makes a run the run it is: everything that bears on its results, in one key."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import graph_agent
from graph_agent.evals.options import RunOptions, bearing_settings
from graph_agent.evals.prepare import Prepared, slug
from graph_agent.evals.questions import QuestionSet, digest_of
from graph_agent.evals.runs import RunInfo
from graph_agent.evals.scoring import SCORING

if TYPE_CHECKING:
    from graph_agent.settings import Settings

# What answers and finds; the pages, the command line and the evaluations themselves only show it.
PARTS = ("agent", "embeddings.py", "ingest", "retrieval", "store", "text", "tools")


def describe(chosen: QuestionSet, settings: Settings, options: RunOptions, ready: Prepared) -> RunInfo:
    """The manifest of a run that has not begun. Its key stands for everything that bears on the results."""
    from graph_agent.prompts import NAMES, load

    bearing = bearing_settings(settings, options.mode)
    prompts = (
        {} if options.mode == "retrieval" else {name: load(name, settings.prompts).hash for name in NAMES}
    )
    said = options.bearing()
    engine = ready.graph.engine
    key = digest_of(
        [
            SCORING,
            code_digest(),
            chosen.name,
            chosen.digest,
            options.mode,
            bearing,
            said,
            prompts,
            ready.facts,
            options.repeat,
        ]
    )
    return RunInfo(
        id=f"{slug(chosen.name)}-{options.mode}-{key[:10]}",
        key=key,
        set=chosen.name,
        source=str(chosen.source or ""),
        digest=chosen.digest,
        mode=options.mode,
        model=None if options.mode == "retrieval" else settings.model,
        settings=bearing,
        options=said,
        prompts=prompts,
        graph=ready.facts,
        versions={
            "graph-agent": graph_agent.__version__,
            "code": code_digest(),
            "python": platform.python_version(),
            "engine": f"{engine.kind} {engine.version}",
        },
        questions=len(chosen.questions) * options.repeat,
        repeat=options.repeat,
        notes=list(ready.notes),
    )


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Stands for the code that answers and finds: who changes it, evaluates something else. 10 hex digits."""
    home = Path(graph_agent.__file__).parent
    digest = hashlib.sha256()
    for part in PARTS:
        path = home / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(str(file.relative_to(home)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:10]
