"""A run as one self-contained page: numbers with intervals, plots, and every failure with its trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graph_agent.evals.inspection import Case, cases, failures, main_metric, shown
from graph_agent.evals.report.charts import bars, curves, histogram, scatter
from graph_agent.evals.report.markup import block, fold, page, table, text
from graph_agent.evals.runner import Run
from graph_agent.evals.runs import Ranked
from graph_agent.evals.summary import Summary

FAILURES_SHOWN = 200
LEVELS = ("document", "section", "page", "span")


def run_page(run: Run) -> str:
    """The page of a run."""
    info = run.info
    where = f"{info.graph.get('documents', len(info.graph.get('graphs', {})))} documents"
    if info.graph.get("graphs"):
        where = f"{len(info.graph['graphs'])} graphs"
    facts = [
        info.mode,
        info.model or ("no model" if info.mode != "retrieval" else shown(info.options.get("mode", ""))),
        where,
        f"{info.done} of {info.questions} asked, {info.errors} errors, {info.state}",
        info.finished or info.started,
    ]
    body = [
        f"<h1>{text(info.set)}</h1>",
        f'<div class="quiet">{text(" · ".join(fact for fact in facts if fact))}</div>',
        _tiles(run.summary),
        "".join(f'<p class="bad">{text(note)}</p>' for note in info.notes),
        f'<h2>Plots</h2><div class="plots">{_plots(run)}</div>',
        "<h2>Metrics</h2>" + _metrics(run.summary),
        _judged(run.summary),
        _ways(run.summary),
        _failures(run),
        "<h2>How it was run</h2>" + block(_setting(run)),
    ]
    return page(f"{info.set}, {info.mode}", "\n".join(body))


def _tiles(summary: Summary) -> str:
    tiles = []
    for name in (*summary.headline[:5], "seconds.p50", "seconds.p95"):
        one = summary.value(name)
        if one is not None and one.n:
            interval = f"{one.low:.3f} to {one.high:.3f}, n {one.n}"
            tiles.append(
                f'<div class="tile">{text(name)}<b>{one.value:.3f}</b><span class="quiet">{interval}</span></div>'
            )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _plots(run: Run) -> str:
    summary, metric = run.summary, main_metric(run)
    kinds = [(kind, found[name]) for name in summary.headline[:1] for kind, found in summary.by_type.items() if name in found]  # fmt: skip
    head = [(name, summary.metrics[name]) for name in summary.headline]
    recall = {
        level: [
            (float(k), summary.metrics[name].value)
            for k in (1, 3, 5, 10, 20)
            if (name := f"{level}.recall@{k}") in summary.metrics
        ]
        for level in LEVELS
    }
    told = [case for case in cases(run) if case.score is not None and case.record.error is None]
    plots = [
        bars(head, title="main metrics with 95 % intervals", most=1.0),
        bars(kinds, title=f"{summary.headline[0] if summary.headline else metric} by type", most=1.0),
        curves(recall, title="recall of the first k", x="k", y="recall"),
        scatter(_tokens(told), title=f"input tokens against {metric}", x="input tokens", y=metric),
        histogram(
            [case.record.seconds for case in told], title="seconds per question", x="seconds", boxes=24
        ),
    ]
    return "".join(plots)


def _tokens(told: Iterable[Case]) -> list[tuple[float, float, str]]:
    return [
        (case.record.scores["usage.input_tokens"], case.score or 0.0, case.question.id)
        for case in told
        if case.record.scores.get("usage.input_tokens")
    ]


def _metrics(summary: Summary) -> str:
    rows = [
        (text(name), f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}", str(one.n))
        for name, one in {**summary.metrics, **summary.percentiles}.items()
    ]
    kinds = list(summary.by_type.items())
    by_type = table(
        ("type", *summary.headline),
        [
            (text(kind), *(f"{found[name].value:.3f} ({found[name].n})" if name in found else "" for name in summary.headline))
            for kind, found in kinds
        ],
        numbers=range(1, len(summary.headline) + 1),
    )  # fmt: skip
    every = table(("metric", "value", "95 % interval", "n"), rows, numbers=(1, 2, 3))
    return (f"<h3>By type</h3>{by_type}" if by_type else "") + fold(f"All {len(rows)} metrics", every)


def _judged(summary: Summary) -> str:
    if not summary.agreement:
        return ""
    parts = [
        f"agreed with the rules on {summary.agreement['share']:.0%} of {summary.agreement['n']:.0f} answers"
    ]
    if "kappa" in summary.agreement:
        parts.append(f"Cohen's kappa {summary.agreement['kappa']:.2f}")
    parts.append(f"{summary.ungraded} ungraded")
    return f"<h2>Judge</h2><p>{text(', '.join(parts))}</p>"


def _ways(summary: Summary) -> str:
    ways = table(("stages", "questions"), [(text(way), str(count)) for way, count in summary.paths.items()], numbers=(1,))  # fmt: skip
    kinds = table(("error", "questions"), [(text(kind), str(count)) for kind, count in summary.error_kinds.items()], numbers=(1,))  # fmt: skip
    return (f"<h2>Ways taken</h2>{ways}" if ways else "") + (f"<h2>Errors</h2>{kinds}" if kinds else "")


def _failures(run: Run) -> str:
    failed = failures(run)
    if not failed:
        return "<h2>Failures</h2><p>None.</p>"
    more = len(failed) - FAILURES_SHOWN
    rest = f"<p class='quiet'>{more} more stand in records.jsonl.</p>" if more > 0 else ""
    shown_cases = "".join(_case(case) for case in failed[:FAILURES_SHOWN])
    return f"<h2>Failures ({len(failed)})</h2>{shown_cases}{rest}"


def _case(case: Case) -> str:
    record = case.record
    mark = "error" if record.error else f"{case.score or 0.0:.2f}"
    title = (
        f'<span class="mark bad">{mark}</span> {text(case.question.question[:200])} '
        f'<span class="quiet">{text(case.question.id)} {text(case.question.type)}</span>'
    )
    parts = [
        "<h3>Question</h3>" + block(case.question.question),
        "<h3>Gold</h3>" + block(case.gold),
        "<h3>Answer</h3>" + block(case.answer),
    ]
    if case.judgement is not None:
        parts.append(f"<h3>Judge: {text(case.judgement.verdict)}</h3>{block(case.judgement.reason)}")
    if case.question.evidence:
        parts.append("<h3>Evidence</h3>" + _evidence(case))
    if record.missing:
        parts.append(f'<p class="bad">Not in the graph: {text("; ".join(record.missing))}</p>')
    if record.retrieved:
        parts.append("<h3>Ranking</h3>" + _ranking(record.retrieved))
    if record.response:
        parts.append(_trace(record.response))
    scores = ", ".join(f"{name} {value:.3g}" for name, value in record.scores.items())
    parts.append(f'<p class="quiet">{text(scores)}; {record.seconds:.2f} s</p>')
    return fold(title, "".join(parts))


def _evidence(case: Case) -> str:
    rows = [
        (
            text(each.doc),
            text(" or ".join(each.sections)),
            text(each.page if each.page is not None else ""),
            text(each.text or ""),
        )
        for each in case.question.evidence[:50]
    ]
    return table(("document", "section", "page", "text"), rows)


def _ranking(ranked: Iterable[Ranked]) -> str:
    rows = [
        (
            str(rank),
            text(one.path),
            text(one.title),
            "" if one.page is None else str(one.page),
            f"{one.score:.3f}",
            f'<span class="good">{text(", ".join(one.relevant))}</span>',
        )
        for rank, one in enumerate(ranked, start=1)
    ]
    return table(("rank", "document", "section", "page", "score", "relevant as"), rows, numbers=(0, 4))


def _trace(response: Mapping[str, Any]) -> str:
    """Stages, queries, citations and passages of an agent's response."""
    stages = table(
        ("stage", "seconds", "why", "what"),
        [
            (
                text(stage["name"]) + (" (skipped)" if stage.get("skipped") else ""),
                f"{stage.get('seconds', 0.0):.2f}",
                text(stage.get("reason", "")),
                block(stage["detail"]) if stage.get("detail") else "",
            )
            for stage in response.get("stages") or []
        ],
        numbers=(1,),
    )
    queries = "".join(
        block(run["query"])
        + (f'<p class="bad">{text(run["error"])}</p>' if run.get("error") else "")
        + (block(run["rows"][:10]) if run.get("rows") else "")
        for run in response.get("cypher") or []
    )
    cited = table(
        ("n", "document", "page", "line", "quote", "verified"),
        [
            (
                str(one["n"]),
                text(one.get("path", "")),
                text(one["page"] if one.get("page") is not None else ""),
                str(one.get("line", "")),
                text(one.get("quote", "")),
                "yes" if one.get("verified") else '<span class="bad">no</span>',
            )
            for one in response.get("citations") or []
        ],
    )
    read = table(
        ("n", "document", "section", "text"),
        [
            (
                str(one["n"]),
                text(one.get("display_path", "")),
                text(" › ".join(one.get("breadcrumb") or [])),
                text(one.get("text", "")[:400]),
            )
            for one in response.get("passages") or []
        ],
    )
    notes = "".join(f"<p>{text(note)}</p>" for note in response.get("notes") or [])
    parts = (
        ("Stages", stages),
        ("Queries", queries),
        ("Citations", cited),
        ("Passages", read),
        ("Notes", notes),
    )
    return fold("Trace", "".join(f"<h3>{name}</h3>{part}" for name, part in parts if part))


def _setting(run: Run) -> dict[str, Any]:
    info = run.info
    return {
        "run": info.id,
        "set": info.source,
        "settings": info.settings,
        "options": info.options,
        "prompts": info.prompts,
        "graph": info.graph,
        "versions": info.versions,
        "tokens": {"input": info.input_tokens, "output": info.output_tokens},
        "cost": info.cost,
        "seconds": info.seconds,
        "judge": info.judge,
    }
