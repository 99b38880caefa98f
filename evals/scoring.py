"""From what came back for a question to its scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graph_agent.evals.gold import LEVELS, Gold, Level, Place
from graph_agent.evals.metrics.answers import answer_scores
from graph_agent.evals.metrics.ranking import ranking_measures
from graph_agent.evals.metrics.rows import rows_hold, same_rows
from graph_agent.evals.questions import Question

if TYPE_CHECKING:
    from graph_agent.agent.response import AgentResponse, CypherRun

SCORING = 2  # changes when the same answer gets other scores, so that runs are not mixed
FIRST_CITATIONS = 5

Rows = Sequence[Sequence[Any]]


def retrieval_scores(gold: Gold, found: Sequence[Place]) -> dict[str, float]:
    """Ranking measures at each level that the gold speaks of, as `section.ndcg@10`."""
    scores: dict[str, float] = {}
    for level in LEVELS:
        needs = gold.needs.get(level, ())
        if not needs:
            continue
        places = _ranked(found, level)
        satisfied = [
            [at for at, need in enumerate(needs) if place.satisfies(need, level)] for place in places
        ]
        measures = ranking_measures(satisfied, [need.gain for need in needs])
        scores |= {f"{level}.{name}": value for name, value in measures.items()}
    return scores


def _ranked(found: Sequence[Place], level: Level) -> list[Place]:
    """The ranking at a level: each document, section or page once, at its best place."""
    if level == "span":
        return list(found)
    best: dict[Any, Place] = {}
    for at, place in enumerate(found):
        if level == "document":
            key: Any = place.document
        elif level == "section":
            key = place.section or at
        else:
            key = at if place.page is None else (place.document, place.page)
        best.setdefault(key, place)
    return list(best.values())


def citation_scores(gold: Gold, cited: Sequence[Place]) -> dict[str, float]:
    """Citations against the gold evidence.

    `citation.precision` is the share of citations that point at gold evidence, `citation.recall` the share
    of evidence that is cited, both at the finest level that the gold names (section, page, document);
    `citation.section` and the like: whether any gold evidence is cited at that level.
    """
    finest = gold.finest
    if finest is None:
        return {}
    needs = gold.needs[finest]
    scores = {
        "citation.recall": sum(any(p.satisfies(need, finest) for p in cited) for need in needs) / len(needs)
    }
    if cited:
        right = sum(any(place.satisfies(need, finest) for need in needs) for place in cited)
        scores["citation.precision"] = right / len(cited)
    for level in LEVELS[:3]:
        at_level = gold.needs.get(level, ())
        if at_level:
            scores[f"citation.{level}"] = float(_any(cited, at_level, level))
    first = cited[:FIRST_CITATIONS]
    scores[f"citation.document@{FIRST_CITATIONS}"] = float(_any(first, gold.needs["document"], "document"))
    return scores


def _any(places: Sequence[Place], needs: Sequence[Any], level: Level) -> bool:
    return any(place.satisfies(need, level) for place in places for need in needs)


def response_scores(
    question: Question, gold: Gold, response: AgentResponse, rows_here: Rows | None = None
) -> dict[str, float]:
    """Everything that can be said of an agent's response without a model.

    Args:
        question: what was asked.
        gold: where its evidence stands.
        response: what came.
        rows_here: what the question's gold query gives on this graph, where it was run.
    """
    scores = answer_scores(question, response.answer, response.answered)
    read = [Place(p.document_id, p.section_id, p.page, p.text) for p in response.passages]
    scores |= {
        f"read.{name}": value for name, value in retrieval_scores(gold, read).items() if _telling(name)
    }
    cited = [Place(c.document, c.section_id, c.page, c.quote) for c in response.citations]
    scores |= citation_scores(gold, cited)
    if cited:
        scores["citation.verified"] = sum(citation.verified for citation in response.citations) / len(cited)
    if response.verdict.checked:
        failed = min(len(response.verdict.findings), response.verdict.checked)
        scores["groundedness"] = 1.0 - failed / response.verdict.checked
    if question.rows is not None:
        scores |= cypher_scores(question, response.cypher, rows_here)
    return scores | usage_scores(response)


def _telling(name: str) -> bool:
    """Of what was read, the order says little: whether it was there does."""
    return name.endswith((".recall@10", ".recall@20", ".hit@10", ".precision@10"))


def cypher_scores(
    question: Question, runs: Sequence[CypherRun], rows_here: Rows | None = None
) -> dict[str, float]:
    """Execution accuracy of the last query that ran (Yu et al. 2018): its rows are the gold's.

    `cypher.execution`: equal as multisets of rows, in order when the question asks for one; `cypher.loose`:
    the gold's columns are among those returned, in any place; `cypher.valid`: a query ran at all;
    `cypher.first`: the first query was it already, without repair. Where rows tie at an ORDER BY with a LIMIT the
    engine may choose others than when the gold was recorded: what the gold query gives here counts as well.
    """
    golds = [question.rows or (), *([rows_here] if rows_here is not None else [])]
    ran = [run for run in runs if not run.error]
    last = ran[-1] if ran else None

    def right(run: CypherRun | None) -> bool:
        return run is not None and any(
            same_rows(gold, rows_of(run), ordered=question.ordered) for gold in golds
        )

    return {
        "cypher.execution": float(right(last)),
        "cypher.loose": float(
            last is not None
            and any(rows_hold(gold, rows_of(last), ordered=question.ordered) for gold in golds)
        ),
        "cypher.valid": float(last is not None),
        "cypher.first": float(bool(runs) and not runs[0].error and right(runs[0])),
        "answer.correct": float(right(last)),
    }


def rows_of(run: CypherRun) -> list[list[Any]]:
    """A query's rows as lists in the order of its columns."""
    return [[row.get(name) for name in run.columns] for row in run.rows]


def usage_scores(response: AgentResponse) -> dict[str, float]:
    """What the question cost, as metrics."""
    usage = response.usage
    scores = {
        "usage.model_calls": float(usage.model_calls),
        "usage.tool_calls": float(usage.tool_calls),
        "usage.input_tokens": float(usage.input_tokens),
        "usage.output_tokens": float(usage.output_tokens),
    }
    return scores if usage.cost is None else {**scores, "usage.cost": usage.cost}


def stage_path(response: AgentResponse) -> str:
    """The stages that ran, in order: `skeleton > plan > search > answer > verify`."""
    return " > ".join(stage.name for stage in response.stages if not stage.skipped)
