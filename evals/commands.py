"""The commands below `graph-agent eval`; thin, and cheap to import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph_agent import terminal

if TYPE_CHECKING:
    from graph_agent.evals.comparison import Comparison
    from graph_agent.evals.questions import QuestionSet
    from graph_agent.evals.runner import Run
    from graph_agent.settings import Settings

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
OK, PARTLY = 0, 1


def eval_group(global_options: Decorator, settings: Callable[..., Settings]) -> click.Group:
    """The group `eval`.

    Args:
        global_options: decorator that adds --data, --graph, --url, --model, --verbose to a command.
        settings: gives the settings for the command that runs; takes fields as keywords.
    """
    group = click.Group("eval", help="Evaluate on question sets: run, list, show, compare, gate, report.")
    for command in (_run, _list, _show, _compare, _gate, _report, _judge, _sets):
        group.add_command(command(global_options, settings))
    return group


def _json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


_RUN_OPTIONS = (
    click.option("--mode", type=click.Choice(["retrieval", "answer", "cypher"]), default="retrieval", show_default=True, help="What is evaluated: search alone, the agent's answers, or its queries."),
    click.option("--limit", type=int, help="Ask at most so many questions."),
    click.option("--sample", type=int, metavar="SEED", help="Draw the questions at random, with this seed."),
    click.option("--type", "types", multiple=True, help="Only questions of this type or tag (repeatable)."),
    click.option("--id", "ids", multiple=True, help="Only this question (repeatable)."),
    click.option("--repeat", type=int, default=1, show_default=True, help="Ask every question so often."),
    click.option("--workers", type=int, help="Questions at a time (default: 2, with a model 4)."),
    click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value of a setting, or of mode, top_k, weights (repeatable)."),
    click.option("--grid", multiple=True, metavar="KEY=A,B,C", help="Run every combination of these values (repeatable)."),
    click.option("--judge", metavar="MODEL", help="A second model that grades the answers."),
    click.option("--choices/--no-choices", default=None, help="Show the options of multiple-choice questions (default: when a model answers)."),
    click.option("--max-cost", type=float, help="Stop when so much was spent (see GRAPH_AGENT_PRICE_INPUT)."),
    click.option("--max-tokens", type=int, help="Stop when so many tokens were used."),
    click.option("--no-ingest", is_flag=True, help="Ask the graph of --graph as it is, not one of the set's documents."),
    click.option("--corpus", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Documents to ingest, instead of the set's own."),
    click.option("--format", "form", help="Form of the question set (see `eval sets`); found by looking."),
    click.option("--option", "form_options", multiple=True, metavar="KEY=VALUE", help="An option of the form, such as a column of a CSV file."),
    click.option("--again", is_flag=True, help="Ask anew, even if this very run was made before."),
    click.option("--dry-run", is_flag=True, help="Tell what it would cost, and ask nothing."),
    click.option("--all", "every", is_flag=True, help="Show every metric."),
)  # fmt: skip


def _run(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("run")
    @click.argument("sets", nargs=-1, required=True)
    @_json
    @global_options
    def run(sets: tuple[str, ...], as_json: bool, **given: Any) -> int:
        """Ask the questions of SETS (files, folders, or `sample`); an interrupted run goes on."""
        return _run_sets(sets, settings(), as_json, given)

    for option in reversed(_RUN_OPTIONS):
        run = option(run)
    return run


def _run_sets(sets: tuple[str, ...], chosen: Settings, as_json: bool, given: dict[str, Any]) -> int:
    from graph_agent.evals.grid import run_grid, write_grid
    from graph_agent.evals.options import RunOptions, apply_overrides, parse_grid, parse_pairs
    from graph_agent.evals.report.terminal import print_run, print_several
    from graph_agent.evals.runner import run_set

    overrides, grid = parse_pairs(given["overrides"], "--set"), parse_grid(given["grid"])
    options = RunOptions(
        mode=given["mode"], limit=given["limit"], sample=given["sample"], types=given["types"], ids=given["ids"],
        repeat=given["repeat"], workers=given["workers"], ingest=not given["no_ingest"], choices=given["choices"],
        again=given["again"], judge=given["judge"], max_cost=given["max_cost"], max_tokens=given["max_tokens"],
    )  # fmt: skip
    chosen, options = apply_overrides(chosen, options, overrides)
    loaded = _loaded(sets, given, options.mode)
    if given["dry_run"]:
        return _tell_cost(loaded, chosen, options, as_json)
    announce = None if as_json else lambda estimate: terminal.note(str(estimate))
    runs: list[Run] = []
    for one in loaded:
        with terminal.TerminalProgress(quiet=as_json) as progress:
            if not grid:
                runs.append(run_set(one, chosen, options=options, progress=progress, announce=announce))
                continue
            made = run_grid(one, chosen, options, grid, progress=progress, announce=announce)
        page = write_grid(made, chosen)
        runs += [cell.run for cell in made.cells]
        if as_json:
            terminal.print_json(made.as_json())
        else:
            terminal.print_rows(made.columns(), made.rows(), title=one.name)
            terminal.note(f"Page: {page}")
    if grid:
        return _code(runs)
    if as_json:
        terminal.print_json(runs[0].as_json() if len(runs) == 1 else [run.as_json() for run in runs])
        return _code(runs)
    for run in runs:
        print_run(run, every=given["every"])
        for note in run.info.notes:
            terminal.note(note)
        terminal.note(f"Page: {run.folder.report}")
    if len(runs) > 1:
        print_several(runs)
    return _code(runs)


def _loaded(sets: tuple[str, ...], given: dict[str, Any], mode: str) -> list[QuestionSet]:
    """The sets that are named; of a folder of sets, those that fit the mode."""
    from dataclasses import replace

    from graph_agent.evals.adapters import find_sets, load_set
    from graph_agent.evals.options import parse_pairs

    form_options = parse_pairs(given["form_options"], "--option")
    loaded = []
    for reference in sets:
        below = find_sets(reference) if given["form"] is None else [reference]
        for one in below:
            made = load_set(one, form=given["form"], options=form_options)
            if len(below) > 1 and bool(made.graphs) != (mode == "cypher"):
                continue
            loaded.append(replace(made, corpus=given["corpus"], documents=None) if given["corpus"] else made)
    return loaded


def _tell_cost(loaded: list[QuestionSet], chosen: Settings, options: Any, as_json: bool) -> int:
    from graph_agent.evals.estimate import estimate_run

    count = sum(
        len(
            one.chosen(
                limit=options.limit, sample=options.sample, types=options.types, ids=options.ids
            ).questions
        )
        for one in loaded
    )
    workers = options.workers or (4 if chosen.model and options.mode != "retrieval" else 2)
    estimate = estimate_run(chosen, options.mode, count * options.repeat, workers)
    if as_json:
        terminal.print_json(estimate.as_json())
    else:
        click.echo(str(estimate))
    return OK


def _list(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("list")
    @_json
    @global_options
    def list_command(as_json: bool) -> int:
        """List the runs of the data folder, the latest first."""
        from graph_agent.evals.report.terminal import print_runs
        from graph_agent.evals.runner import list_runs

        infos = list_runs(settings())
        if as_json:
            terminal.print_json([info.model_dump(mode="json") for info in infos])
        else:
            print_runs(infos)
        return OK

    return list_command


def _show(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("show")
    @click.argument("run", default="latest")
    @click.option("--all", "every", is_flag=True, help="Every metric.")
    @click.option("--failures", "failed", type=int, default=10, show_default=True, help="How many failures.")
    @click.option("--records", is_flag=True, help="With --json: the records, too.")
    @_json
    @global_options
    def show(run: str, every: bool, failed: int, records: bool, as_json: bool) -> int:
        """Show the numbers of RUN (an id, its beginning, or `latest`)."""
        from graph_agent.evals.report.terminal import print_run
        from graph_agent.evals.runner import load_run

        found = load_run(settings(), run)
        if as_json:
            document = found.as_json()
            if records:
                document["records"] = [record.model_dump(mode="json") for record in found.records]
            terminal.print_json(document)
        else:
            print_run(found, every=every, failed=failed)
        return OK

    return show


def _compare(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("compare")
    @click.argument("before")
    @click.argument("after")
    @click.option("--metric", help="By which questions are right or wrong.")
    @click.option("--all", "every", is_flag=True, help="Every metric, not only the changed and main ones.")
    @_json
    @global_options
    def compare(before: str, after: str, metric: str | None, every: bool, as_json: bool) -> int:
        """Compare two runs question by question: what became better, what broke."""
        from graph_agent.evals.comparison import compare_runs
        from graph_agent.evals.runner import load_run

        chosen = settings()
        first, second = load_run(chosen, before), load_run(chosen, after)
        found = compare_runs(first, second, metric=metric)
        if as_json:
            terminal.print_json(found.as_json())
        else:
            _print_comparison(found, None if every else second.summary.headline)
        return OK

    return compare


def _print_comparison(found: Comparison, headline: tuple[str, ...] | None) -> None:
    for name, (before, after) in found.changed.items():
        terminal.note(f"{name}: {before} -> {after}")
    rows = [
        (
            one.metric,
            f"{one.before:.4g}",
            f"{one.after:.4g}",
            f"{one.change.value:+.4g}",
            f"{one.change.low:+.4g} to {one.change.high:+.4g}",
            str(one.change.n),
            "" if one.outcome == "unclear" else one.outcome,
        )
        for one in found.differences
        if headline is None or one.metric in headline or one.outcome != "unclear"
    ]
    terminal.print_rows(("metric", "before", "after", "change", "95 % interval", "n", ""), rows)
    flips = [
        (
            "better" if flip.better else "worse",
            flip.question,
            f"{flip.before:.2f} -> {flip.after:.2f}",
            flip.text[:90],
        )
        for flip in found.flips
    ]
    if flips:
        terminal.print_rows(("flipped", "id", found.metric, "question"), flips)
    if found.only_before or found.only_after:
        terminal.note(
            f"Not compared: {found.only_before} questions of the first, {found.only_after} of the second."
        )
    if any(found.errors):
        terminal.note(
            f"Errors are left out: {found.errors[0]} in the first, {found.errors[1]} in the second."
        )


def _gate(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("gate")
    @click.argument("run", default="latest")
    @click.option("--min", "minimum", multiple=True, metavar="METRIC=VALUE", help="At least (repeatable).")
    @click.option("--max", "maximum", multiple=True, metavar="METRIC=VALUE", help="At most (repeatable).")
    @click.option(
        "--max-errors", type=int, default=0, show_default=True, help="Questions that may have failed."
    )
    @_json
    @global_options
    def gate(
        run: str, minimum: tuple[str, ...], maximum: tuple[str, ...], max_errors: int, as_json: bool
    ) -> int:
        """Exit with 1 when RUN does not keep the bounds, for continuous integration."""
        from graph_agent.evals.comparison import check_gate
        from graph_agent.evals.runner import load_run

        found = load_run(settings(), run)
        breaches = check_gate(
            found, _bounds(minimum, "--min"), _bounds(maximum, "--max"), max_errors=max_errors
        )
        if as_json:
            terminal.print_json({"run": found.info.id, "passed": not breaches, "breaches": [vars(one) for one in breaches]})  # fmt: skip
        else:
            for breach in breaches:
                terminal.note(str(breach))
            click.echo(f"{found.info.id}: {'failed' if breaches else 'passed'}")
        return PARTLY if breaches else OK

    return gate


def _bounds(pairs: tuple[str, ...], option: str) -> dict[str, float]:
    from graph_agent.errors import ConfigurationError
    from graph_agent.evals.options import parse_pairs

    try:
        return {name: float(value) for name, value in parse_pairs(pairs, option).items()}
    except ValueError as error:
        raise ConfigurationError(f"{option}: {error}.", f"Write {option} section.recall@10=0.85.") from None


def _report(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("report")
    @click.argument("run", default="latest")
    @click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the page.")
    @global_options
    def report(run: str, out: Path | None) -> int:
        """Write the page of RUN: one HTML file with everything in it."""
        from graph_agent.evals.runner import load_run, write_report
        from graph_agent.evals.runs import write_whole

        found = load_run(settings(), run)
        path = write_report(found)
        if out is not None:
            write_whole(out, path.read_text(encoding="utf-8"))
        click.echo(str(out or path))
        return OK

    return report


def _judge(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("judge")
    @click.argument("run", default="latest")
    @click.option("--judge", "model", required=True, metavar="MODEL", help="The model that grades.")
    @_json
    @global_options
    def judge(run: str, model: str, as_json: bool) -> int:
        """Have the answers of RUN graded by a second model."""
        from graph_agent.evals.judge import judge_run
        from graph_agent.evals.report.terminal import print_run
        from graph_agent.evals.runner import load_run, write_report

        chosen = settings()
        with terminal.TerminalProgress(quiet=as_json) as progress:
            found = judge_run(load_run(chosen, run), chosen, model, progress=progress)
        write_report(found)
        if as_json:
            terminal.print_json(found.as_json())
        else:
            print_run(found)
        return PARTLY if found.summary.ungraded else OK

    return judge


def _sets(global_options: Decorator, settings: Callable[..., Settings]) -> click.Command:
    @click.command("sets")
    @_json
    @global_options
    def sets(as_json: bool) -> int:
        """List the forms of question sets that can be read."""
        from graph_agent.evals.adapters import adapters

        rows = [(one.name, one.description) for one in adapters().values()]
        if as_json:
            terminal.print_json([{"name": name, "description": text} for name, text in rows])
        else:
            terminal.print_rows(("form", "what it reads"), rows)
        return OK

    return sets


def _code(runs: list[Run]) -> int:
    """Done; or done but some questions failed or were not asked."""
    whole = all(run.info.state == "complete" and not run.summary.errors for run in runs)
    return OK if whole else PARTLY
