"""Runs: resumed, killed, failing, stopped by a budget; compared, gated, judged, side by side; on the command line."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_cases import honest, plan, question_of, stage_of
from click.testing import CliRunner
from eval_cases import with_own_runs
from scripted_server import Received, Reply, ScriptedServer, status, structured, text

from graph_agent.errors import ConfigurationError, NotFound
from graph_agent.evals import (
    Question,
    QuestionSet,
    Run,
    RunOptions,
    check_gate,
    compare_runs,
    failures,
    judge_run,
    list_runs,
    load_run,
    load_set,
    run_grid,
    run_set,
)
from graph_agent.evals.runs import Record
from graph_agent.settings import Settings
from graph_agent.store import DocumentGraph

SOAK = bool(os.environ.get("GRAPH_AGENT_SOAK"))
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TIMES = {"seconds", "asked_at"}


@pytest.fixture
def eval_settings(engine_settings: Settings, tmp_path: Path) -> Settings:
    """The engine's settings with runs in the test's own folder; vectors are not computed again."""
    return with_own_runs(engine_settings, tmp_path)


@pytest.fixture
def ask(eval_settings: Settings, engine: DocumentGraph) -> Callable[..., Run]:
    """run_set on the test's engine and folder."""

    def asked(source: Any = "sample", settings: Settings | None = None, **options: Any) -> Run:
        return run_set(source, settings or eval_settings, base=engine, **options)

    return asked


@pytest.fixture
def model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    """The scripted server as the chat model of the environment."""
    for name, value in scripted_server.environment().items():
        monkeypatch.setenv(name, value)
    return scripted_server


def comparable(records: tuple[Record, ...]) -> list[dict[str, Any]]:
    """Records without what differs from one run to the next: times and random ids."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in TIMES | {"thread_id"}}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return [strip(record.model_dump(mode="json")) for record in records]


class Stopping:
    """A progress that stops the run after so many questions."""

    def __init__(self, after: int) -> None:
        self.stop, self.after, self.asked, self.total = threading.Event(), after, 0, 0

    def stage(self, name: str, total: int) -> None:
        if name.startswith("Asking"):
            self.total = total

    def advance(self, units: int = 1, detail: str = "") -> None:
        self.asked += units if self.total else 0
        if self.asked >= self.after:
            self.stop.set()


def test_a_run_goes_on_where_it_stopped(ask: Callable[..., Run]) -> None:
    whole = ask(mode="retrieval", again=True)
    progress = Stopping(20)
    cut = ask(mode="retrieval", progress=progress, stop=progress.stop)
    assert cut.info.state == "stopped"
    assert 20 <= cut.info.done < 60
    rest = Stopping(10_000)
    done = ask(mode="retrieval", progress=rest)
    assert rest.total == 60 - cut.info.done
    assert done.info.id == cut.info.id
    assert done.info.state == "complete"
    assert comparable(done.records) == comparable(whole.records)
    nothing = Stopping(10_000)
    assert ask(mode="retrieval", progress=nothing).info.id == done.info.id
    assert nothing.asked == 0


def test_what_bears_on_the_results_makes_another_run(
    ask: Callable[..., Run], eval_settings: Settings
) -> None:
    first = ask(mode="retrieval", limit=3)
    assert ask(mode="retrieval", limit=3, workers=1).info.id == first.info.id
    others = {
        ask(mode="retrieval", limit=4).info.id,
        ask(mode="retrieval", limit=3, sample=1).info.id,
        ask(mode="retrieval", limit=3, repeat=2).info.id,
        ask(mode="answer", limit=3).info.id,
        ask(
            settings=eval_settings.model_copy(update={"passage_tokens": 999}), mode="answer", limit=3
        ).info.id,
    }
    assert len(others | {first.info.id}) == 6
    elsewhere = eval_settings.model_copy(update={"port": 1, "log_format": "json"})
    assert ask(settings=elsewhere, mode="retrieval", limit=3).info.id == first.info.id


KILLED = """
    import sys
    from graph_agent.evals import run_set
    from graph_agent.settings import load_settings
    print("ready", flush=True)
    run = run_set("sample", load_settings(data=sys.argv[1], falkordb_url="", embeddings="local", model=""), mode="retrieval", workers=2)
    print(run.info.state, flush=True)
"""


@pytest.mark.soak
@pytest.mark.timeout(1_800 if SOAK else 300)
def test_killed_runs_end_as_uninterrupted_ones(engine_settings: Settings, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(KILLED))

    def start(data: Path) -> subprocess.Popen[str]:
        if not data.exists():
            with_own_runs(engine_settings, data)
        return subprocess.Popen([sys.executable, str(script), str(data)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

    def finished(data: Path) -> Run:
        out, errors = start(data).communicate(timeout=240)
        assert out.split() == ["ready", "complete"], errors
        return load_run(engine_settings.model_copy(update={"data": data}), "latest")

    whole = finished(tmp_path / "whole")
    draw, data, partly = random.Random(3), tmp_path / "killed", 0
    for _ in range(50 if SOAK else 3):
        process = start(data)
        deadline = time.monotonic() + 60
        wanted = draw.randint(1, 25)
        records = 0
        while process.poll() is None and time.monotonic() < deadline:
            found = list(data.glob("evals/*/records.jsonl"))
            records = found[0].read_bytes().count(b"\n") if found else 0
            if records % 60 >= wanted:
                break
            time.sleep(0.003)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        partly += 0 < records < 60
        if records >= 60:
            # Complete: begin again, so that there is something to kill.
            for path in data.glob("evals/*/*"):
                path.unlink()
        else:
            infos = list_runs(engine_settings.model_copy(update={"data": data}))
            assert [info.state for info in infos] in (["interrupted"], []), [
                (info.id, info.state, info.graph, info.versions) for info in infos
            ]
    assert partly >= 1
    again = finished(data)
    assert comparable(again.records) == comparable(whole.records)
    assert {name: one.value for name, one in again.summary.metrics.items() if name != "seconds"} == {name: one.value for name, one in whole.summary.metrics.items() if name != "seconds"}  # fmt: skip


def test_half_a_line_is_cut_off(ask: Callable[..., Run]) -> None:
    run = ask(mode="retrieval", limit=5)
    whole = run.folder.records.read_bytes()
    lines = whole.splitlines(keepends=True)
    run.folder.records.write_bytes(b"".join(lines[:3]) + lines[3][:50])
    again = ask(mode="retrieval", limit=5)
    assert comparable(again.records) == comparable(run.records)
    assert len(again.folder.records.read_bytes().splitlines()) == 5


def test_two_processes_do_not_make_the_same_run(ask: Callable[..., Run]) -> None:
    run = ask(mode="retrieval", limit=2)
    with run.folder.held():
        assert run.folder.read_info().state == "complete"
        with pytest.raises(ConfigurationError, match="another process"):
            ask(mode="retrieval", limit=2)


def failing(*, until: int) -> Callable[[Received], Reply]:
    """An honest model that refuses the first requests as a server does that is down."""
    honestly, count = honest(), [0]

    def respond(request: Received) -> Reply:
        count[0] += 1
        return status(401) if count[0] <= until else honestly(request)

    return respond


def with_model(settings: Settings, **fields: Any) -> Settings:
    return settings.model_copy(update={"model": "scripted", **fields})


def test_a_model_that_fails_is_an_error_and_asked_again(
    ask: Callable[..., Run], eval_settings: Settings, model: ScriptedServer
) -> None:
    model.respond(failing(until=2))
    settings = with_model(eval_settings, price_input=1.0, price_output=2.0)
    first = ask(settings=settings, mode="answer", limit=5, workers=1)
    errors = [record for record in first.records if record.status == "error"]
    assert 1 <= len(errors) <= 2
    assert {record.error.kind for record in errors if record.error} == {"ModelUnavailable"}
    assert first.summary.metrics["answer.correct"].n == 5 - len(errors)
    assert first.summary.error_kinds == {"ModelUnavailable": len(errors)}
    assert [str(one) for one in check_gate(first, {})] == [f"errors is {len(errors)}, wanted at most 0"]
    before = len(model.chats)
    second = ask(settings=settings, mode="answer", limit=5, workers=1)
    assert second.summary.errors == 0
    assert second.info.id == first.info.id
    assert len({question_of(request) for request in model.chats[before:]} - {""}) <= len(errors)
    assert second.info.cost is not None
    assert second.info.cost > 0
    assert second.records[-1].path.startswith("skeleton > plan")


def test_a_model_that_is_down_ends_the_run_soon(
    ask: Callable[..., Run], eval_settings: Settings, model: ScriptedServer
) -> None:
    model.respond(lambda request: status(401))
    run = ask(settings=with_model(eval_settings), mode="answer", workers=1)
    assert run.info.state == "stopped"
    assert run.info.done < 15
    assert "in a row failed" in run.info.notes[-1]
    assert not run.summary.metrics


def test_a_budget_stops_a_run(
    ask: Callable[..., Run], eval_settings: Settings, model: ScriptedServer
) -> None:
    model.respond(honest())
    settings = with_model(eval_settings, price_input=1.0, price_output=1.0)
    estimates: list[Any] = []
    run = ask(settings=settings, mode="answer", workers=1, max_cost=0.01, announce=estimates.append)
    assert run.info.state == "stopped"
    assert 0 < run.info.done < 30
    assert run.info.cost is not None
    assert run.info.cost >= 0.01
    assert "budget" in run.info.notes[-1]
    assert estimates[0].questions == 60
    assert estimates[0].cost > 0.01
    more = ask(
        settings=settings,
        mode="answer",
        workers=1,
        max_tokens=run.info.input_tokens + run.info.output_tokens + 9_000,
    )
    assert more.info.id == run.info.id
    assert more.info.done > run.info.done


# Queries


def gold_queries(change: Callable[[str], str]) -> Callable[[Received], Reply]:
    """A model that plans a query and answers with the gold one, changed."""
    gold = {
        question.question: question.gold_cypher or ""
        for question in load_set(SHARED / "text2cypher").questions
    }

    def asked(request: Received) -> str:
        return max((q for q in gold if f"Question: {q}" in request.user), key=len, default="")

    def respond(request: Received) -> Reply:
        stage = stage_of(request)
        if stage == "plan":
            return structured(plan(question=asked(request), kind="structure", cypher=True, search=False))
        if stage in {"cypher", "repair"}:
            return text(f"```cypher\n{change(gold[asked(request)])}\n```")
        return text("See the rows.")

    return respond


def renamed(query: str) -> str:
    """The query with one property called otherwise: one that it returns, else one that it filters by."""
    ordered = re.split(r"\bORDER BY\b", query, flags=re.IGNORECASE)[0]
    before, _, returned = ordered.rpartition("RETURN")
    used = r"\b[A-Za-z]\w*\.`?(\w+)|[{,]\s*`?(\w+)`?\s*:"
    names = [one or other for part in (returned, before) for one, other in re.findall(used, part)]
    return re.sub(rf"([.{{,]\s*`?){names[0]}\b", rf"\g<1>{names[0]}Renamed", query) if names else ""


def depends_on_a_property(question: Question) -> bool:
    """Whether other rows come when a property is missing: there is one, and the rows are not nothing anyway."""
    something = any(value not in (0, None) for row in question.rows or () for value in row)
    return something and bool(renamed(question.gold_cypher or ""))


@pytest.mark.soak
@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data comes with a development checkout only")
@pytest.mark.timeout(1_800 if SOAK else 300)
@pytest.mark.parametrize(("change", "wanted"), [(str, 1.0), (renamed, 0.0)], ids=["gold", "renamed"])
def test_execution_accuracy(
    change: Callable[[str], str],
    wanted: float,
    ask: Callable[..., Run],
    eval_settings: Settings,
    model: ScriptedServer,
) -> None:
    model.respond(gold_queries(change))
    whole = load_set(SHARED / "text2cypher")
    chosen = replace(whole, questions=tuple(filter(depends_on_a_property, whole.questions)))
    assert len(chosen.questions) > 0.85 * len(whole.questions)
    how_many = {} if SOAK else {"limit": 40, "sample": 5}
    run = ask(chosen if change is renamed else whole, with_model(eval_settings), mode="cypher", **how_many)
    assert run.summary.errors == 0
    wrong = [(case.question.gold_cypher, case.score) for case in failures(run)]
    assert run.summary.metrics["cypher.execution"].value == wanted, wrong[:3]


def test_queries_need_a_model_and_a_mode_its_set(ask: Callable[..., Run]) -> None:
    rows = Question.model_validate({"id": "q", "question": "How many?", "rows": [[34]]})
    asked = QuestionSet("rows", (rows,), corpus=load_set("sample").corpus)
    with pytest.raises(ConfigurationError, match="chat model"):
        ask(asked, mode="cypher")
    with pytest.raises(ConfigurationError, match="no rows to compare"):
        ask(mode="cypher", limit=1)
    with pytest.raises(ConfigurationError, match="--mode cypher"):
        ask(replace(asked, graphs={"g": Path("g")}), mode="answer")


def test_an_interrupt_keeps_what_was_answered(ask: Callable[..., Run], eval_settings: Settings) -> None:
    class Interrupting(Stopping):
        def advance(self, units: int = 1, detail: str = "") -> None:
            super().advance(units, detail)
            if self.asked == 7:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(mode="answer", limit=20, progress=Interrupting(10_000))
    (cut,) = list_runs(eval_settings)
    assert cut.state == "interrupted"
    assert cut.done == 7
    rest = Stopping(10_000)
    assert ask(mode="answer", limit=20, progress=rest).info.state == "complete"
    assert rest.total == 13


# Comparing, gating, judging


def test_comparing_two_runs(ask: Callable[..., Run], eval_settings: Settings) -> None:
    from graph_agent.evals import SearchOptions

    hybrid = ask(mode="retrieval")
    words = ask(mode="retrieval", search=SearchOptions(mode="bm25"))
    found = compare_runs(hybrid, words)
    by_name = {one.metric: one for one in found.differences}
    one = by_name["section.ndcg@10"]
    assert one.change.value == pytest.approx(one.after - one.before, abs=1e-9)
    assert one.change.low <= one.change.value <= one.change.high
    assert found.changed["options.mode"] == ("hybrid", "bm25")
    flipped = {flip.question for flip in found.flips}
    right = {run.info.id: {r.question for r in run.records if r.scores.get("section.recall@10", -1) >= 0.5} for run in (hybrid, words)}  # fmt: skip
    known = {r.question for r in hybrid.records if "section.recall@10" in r.scores}
    assert flipped == (right[hybrid.info.id] ^ right[words.info.id]) & known
    same = compare_runs(hybrid, hybrid)
    assert not same.flips
    assert not same.changed
    assert all(
        difference.change.value == 0 and difference.outcome == "unclear" for difference in same.differences
    )
    json.dumps(found.as_json(), allow_nan=False)
    other = ask(QuestionSet("other", (Question(id="zz", question="What is in force?"),)), mode="retrieval", ingest=False, settings=eval_settings.model_copy(update={"graph": str(hybrid.info.graph["name"])}))  # fmt: skip
    with pytest.raises(ConfigurationError, match="no question in common"):
        compare_runs(hybrid, other)


def test_gates(ask: Callable[..., Run]) -> None:
    run = ask(mode="retrieval", limit=10)
    assert check_gate(run, {"section.recall@10": 0.0}, {"seconds.p95": 60.0}) == []
    assert str(check_gate(run, {"section.recall@10": 1.1})[0]).startswith("section.recall@10 is")
    assert "is not there" in str(check_gate(run, {"section.recal@10": 0.1})[0])
    assert check_gate(run, {}, {"seconds.p50": 0.0})


def judging(request: Received) -> Reply:
    """A judge that finds the gold answer in the answer, or not, and fails on one question."""
    if "You grade one answer" not in request.system:
        return honest()(request)
    if "trade our duties" in request.user:
        return text("I would rather not say.")
    right = "not in the documents" not in request.user.partition("<<data gold")[2][:80]
    return structured(
        {"reason": "by rule", "verdict": "correct" if right else "incorrect", "grounded": "partly"}
    )


def test_a_judge_grades_and_its_failures_are_no_verdicts(
    ask: Callable[..., Run], eval_settings: Settings, model: ScriptedServer
) -> None:
    model.respond(judging)
    settings = with_model(eval_settings)
    run = ask(settings=settings, mode="answer", limit=6, judge="judge-model")
    assert {record.status for record in run.records} == {"ok"}
    assert run.summary.ungraded == 1
    assert run.summary.metrics["judge.correct"].n == 5
    assert run.summary.metrics["judge.grounded"].value == 0.5
    assert run.summary.agreement["n"] == 5
    assert {request.model for request in model.chats} == {"scripted", "judge-model"}
    before = len(model.chats)
    again = judge_run(run, settings, "judge-model")
    assert len(model.chats) - before <= 3  # only the ungraded answer is judged again
    assert again.summary.metrics["judge.correct"].n == 5
    assert again.info.state == "complete"


def test_a_verdict_does_not_outlive_its_answer(
    ask: Callable[..., Run], eval_settings: Settings, model: ScriptedServer
) -> None:
    model.respond(judging)
    run = ask(settings=with_model(eval_settings), mode="answer", limit=3, judge="judge-model")
    assert len(run.judgements) == 3
    changed = run.records[1].model_copy(deep=True)
    assert changed.response is not None
    changed.response["answer"] = "Something else."
    with run.folder.records.open("a", encoding="utf-8") as file:
        file.write(changed.model_dump_json() + "\n")
    assert len(load_run(eval_settings, run.info.id).judgements) == 2


def test_a_judge_needs_answers(ask: Callable[..., Run], eval_settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="no answers to judge"):
        judge_run(ask(mode="retrieval", limit=1), eval_settings, "judge-model")


# Side by side


def test_a_grid_shares_the_graph_of_what_is_only_asked_differently(eval_settings: Settings, engine: DocumentGraph, tmp_path: Path) -> None:  # fmt: skip
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for n in range(4):
        (corpus / f"{n}.md").write_text(
            f"# Lake {n}\n\n" + f"The lake number {n} is {n + 10} metres deep. " * 30
        )
    evidence = [{"doc": "2.md", "section": "Lake 2"}]
    question = Question.model_validate(
        {"id": "q", "question": "How deep is lake 2?", "answer": 12, "evidence": evidence}
    )
    settings = eval_settings.model_copy(update={"data": eval_settings.data})
    made = run_grid(
        QuestionSet("lakes", (question,), corpus=corpus),
        settings,
        RunOptions(),
        {"chunk_tokens": ["64", "128"], "mode": ["hybrid", "bm25"], "weights": ["auto", "0.5:0.5"]},
    )
    assert len(made.cells) == 8
    graphs = {cell.values["chunk_tokens"]: cell.run.info.graph["name"] for cell in made.cells}
    assert len({(cell.values["chunk_tokens"], cell.run.info.graph["name"]) for cell in made.cells}) == 2
    assert graphs["64"] != graphs["128"]
    chunks = {cell.values["chunk_tokens"]: cell.run.info.graph["chunks"] for cell in made.cells}
    assert chunks["64"] > chunks["128"]
    assert len(made.rows()) == 8
    assert all(len(row) == len(made.columns()) for row in made.rows())
    json.dumps(made.as_json(), allow_nan=False)
    with pytest.raises(ConfigurationError, match="did you mean 'chunk_tokens'"):
        run_grid(
            QuestionSet("lakes", (question,), corpus=corpus), settings, RunOptions(), {"chunk_token": ["1"]}
        )


def test_documents_that_a_set_brings_along(ask: Callable[..., Run], tmp_path: Path) -> None:
    root = tmp_path / "tiny"
    (root / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d/{n}", "title": name, "text": f"All about {name} and nothing else."} for n, name in enumerate(("anchovies", "bread", "cider"))]  # fmt: skip
    (root / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (root / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "cider"}))
    (root / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td/2\t2\n")
    run = ask(root, mode="retrieval")
    assert run.summary.metrics["document.ndcg@10"].value == 1.0
    assert run.info.graph["documents"] == 3


def test_evidence_that_is_not_there_is_told(ask: Callable[..., Run]) -> None:
    sample = load_set("sample")
    evidence = [
        {"doc": "no/such.md", "section": "X"},
        {"doc": "company/profile.md", "section": "No such heading"},
    ]
    question = Question.model_validate(
        {"id": "q", "question": "What is it?", "answer": "x", "evidence": evidence}
    )
    run = ask(QuestionSet("sample", (question,), corpus=sample.corpus), mode="retrieval")
    assert run.summary.missing == 1
    assert "document no/such.md" in run.records[0].missing
    assert any("No such heading" in one for one in run.records[0].missing)
    assert run.summary.metrics["section.recall@10"].value == 0.0


# Pages and commands


def test_the_page_holds_everything_and_runs_nothing(ask: Callable[..., Run]) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202e\x1b[31m"
    sample = load_set("sample")
    evidence = [{"doc": "company/profile.md", "text": hostile}]
    question = Question.model_validate(
        {"id": "<b>q</b>", "question": hostile, "answer": hostile, "evidence": evidence}
    )
    run = ask(QuestionSet("sample", (*sample.questions[:3], question), corpus=sample.corpus), mode="answer")
    page = run.folder.report.read_text("utf-8")
    assert "<script" not in page
    assert "onerror=alert" not in re.sub(r"&lt;.*?&gt;", "", page)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not re.search(
        r'(?:src|href)\s*=\s*["\']?(?:https?:|//|javascript:)', re.sub(r"&lt;.*?&gt;", "", page)
    )
    assert "default-src 'none'" in page
    assert page.count("<svg") >= 2
    for wanted in ("Trace", "Stages", "Citations", "answer.correct", "&lt;script&gt;"):
        assert wanted in page


def invoke(settings: Settings, *arguments: str) -> tuple[int, str, str]:
    from graph_agent.cli.evaluations import evaluations
    from graph_agent.errors import GraphAgentError

    result = CliRunner().invoke(
        evaluations, [*arguments, "--data", str(settings.data)], standalone_mode=False, obj={}
    )
    if isinstance(result.exception, GraphAgentError):
        return result.exception.exit_code, result.stdout, str(result.exception)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


@pytest.fixture
def own_engine(
    engine_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    """A data folder with an engine of its own, as a command line has it."""
    for name in ("GRAPH_AGENT_MODEL", "GRAPH_AGENT_FALKORDB_URL", "GRAPH_AGENT_EMBEDDINGS"):
        monkeypatch.delenv(name, raising=False)
    settings = with_own_runs(engine_settings, tmp_path / "cli")
    with DocumentGraph.open(settings):
        yield settings


def test_the_commands(own_engine: Settings, tmp_path: Path) -> None:
    code, out, _ = invoke(own_engine, "run", "sample", "--limit", "8", "--json")
    first = json.loads(out)
    assert code == 0
    assert first["summary"]["metrics"]["section.recall@10"]["n"] > 0
    code, out, _ = invoke(
        own_engine, "run", "sample", "--limit", "8", "--set", "mode=vector", "--set", "top_k=5", "--json"
    )
    second = json.loads(out)
    assert second["options"] == {"choices": None, "mode": "vector", "top_k": 5, "weights": None}
    assert [info["id"] for info in json.loads(invoke(own_engine, "list", "--json")[1])] == [
        second["id"],
        first["id"],
    ]
    assert first["id"] in invoke(own_engine, "list")[1]
    shown = json.loads(invoke(own_engine, "show", first["id"][:-3], "--records", "--json")[1])
    assert len(shown["records"]) == 8
    compared = json.loads(invoke(own_engine, "compare", first["id"], second["id"], "--json")[1])
    assert compared["changed"]["options.mode"] == ["hybrid", "vector"]
    assert "section.ndcg@10" in invoke(own_engine, "compare", first["id"], second["id"])[1]
    assert invoke(own_engine, "gate", first["id"], "--min", "section.recall@10=0")[0] == 0
    code, out, _ = invoke(own_engine, "gate", first["id"], "--min", "section.recall@10=1.01", "--json")
    assert code == 1
    assert json.loads(out)["breaches"][0]["metric"] == "section.recall@10"
    page = tmp_path / "page.html"
    assert invoke(own_engine, "report", "latest", "--out", str(page))[0] == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    code, out, _ = invoke(own_engine, "run", "sample", "--limit", "4", "--grid", "mode=bm25,vector", "--json")
    assert [cell["values"] for cell in json.loads(out)["cells"]] == [{"mode": "bm25"}, {"mode": "vector"}]
    assert "rust_book_quiz" in invoke(own_engine, "sets")[1]
    assert "60 questions" in invoke(own_engine, "run", "sample", "--dry-run")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run", "no-such-set"], 2, "no question set"),
        (["run", "sample", "--set", "mode=best"], 2, "no search mode 'best'"),
        (["run", "sample", "--set", "top_k"], 2, "KEY=VALUE"),
        (["run", "sample", "--set", "chunk_tokenz=3"], 2, "did you mean 'chunk_tokens'"),
        (["run", "sample", "--set", "chunk_tokens=3"], 2, "GRAPH_AGENT_CHUNK_TOKENS"),
        (["run", "sample", "--set", "weights=1"], 2, "two numbers"),
        (["run", "sample", "--mode", "answer", "--set", "top_k=3"], 2, "retrieval mode"),
        (["run", "sample", "--limit", "0"], 2, "limit is 0"),
        (["run", "sample", "--type", "novel"], 2, "no questions of type"),
        (["show", "nothing"], 2, "no run 'nothing'"),
        (["gate", "latest", "--min", "x=high"], 2, "no run 'latest'"),
    ],
)
def test_refusals_of_the_commands(
    arguments: list[str], code: int, told: str, eval_settings: Settings
) -> None:
    got, _, message = invoke(eval_settings, *arguments)
    assert got == code
    assert told in message


def test_an_unknown_run_is_told(eval_settings: Settings) -> None:
    with pytest.raises(NotFound, match="eval run sample"):
        load_run(eval_settings, "latest")
