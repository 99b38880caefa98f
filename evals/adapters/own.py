"""Our own form: a folder with questions.jsonl (and corpus/), or a JSONL file. Asked last."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graph_agent.evals.adapters.layout import corpus_of, first_row, questions_file, set_name
from graph_agent.evals.adapters.registry import adapter, allowed
from graph_agent.evals.questions import QuestionSet, questions_from, read_json_lines


def _is_own(path: Path) -> bool:
    found = questions_file(path)
    return found is not None and (found.name == "questions.jsonl" or "question" in first_row(found))


@adapter("own", "questions.jsonl in the form of evals/README.md, documents in corpus/", detect=_is_own)
def own(path: Path, options: Mapping[str, str]) -> QuestionSet:
    """A set in our own form."""
    allowed(options)
    questions = questions_file(path) or path
    # The headings of an outline are asked for in their order.
    rows = (
        (number, {"ordered": True, **row} if row.get("type") == "outline" else row)
        for number, row in read_json_lines(questions)
    )
    made = questions_from(rows, questions)
    return QuestionSet(set_name(questions), made, corpus=corpus_of(questions), source=path)
