"""Parts of the evaluations that need no service: options, scores of places, files of runs, plots, bench numbers."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from graph_agent.agent.response import CypherRun
from graph_agent.errors import ConfigurationError, NotFound
from graph_agent.evals.bench.__main__ import chosen, show
from graph_agent.evals.bench.measurement import Measurement, hand_over, read_back
from graph_agent.evals.bench.registry import BENCHES, read_probe, read_retrieval, read_search, read_tools
from graph_agent.evals.estimate import estimate_run
from graph_agent.evals.gold import Gold, Need, Place
from graph_agent.evals.metrics.statistics import mean
from graph_agent.evals.options import (
    BESIDE_THE_POINT,
    OF_THE_GRAPH,
    RunOptions,
    SearchOptions,
    apply_overrides,
    bearing_settings,
    parse_grid,
    parse_pairs,
)
from graph_agent.evals.questions import Question
from graph_agent.evals.report.charts import bars, curves, histogram, scatter
from graph_agent.evals.report.markup import block, page, text
from graph_agent.evals.runs import Judgement, LineWriter, Record, RunFolder, RunInfo, find_run, write_whole
from graph_agent.evals.scoring import citation_scores, cypher_scores, retrieval_scores
from graph_agent.evals.summary import lower_is_better, summarise
from graph_agent.settings import Settings, load_settings

# Options


def settings_in(folder: Path, **fields: Any) -> Settings:
    return load_settings(data=folder, **fields)


def test_overrides_reach_settings_and_search(tmp_path: Path) -> None:
    given = {
        "chunk_tokens": "128",
        "search.mode": "bm25",
        "top_k": "7",
        "rerank": "none",
        "include": '["*.md"]',
    }
    settings, options = apply_overrides(settings_in(tmp_path), RunOptions(), given)
    assert (settings.chunk_tokens, settings.rerank, settings.include) == (128, None, ("*.md",))
    assert options.search == SearchOptions(mode="bm25", top_k=7)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"chunk_tokns": "128"}, "did you mean 'chunk_tokens'"),
        ({"chunk_tokens": "many"}, "GRAPH_AGENT_CHUNK_TOKENS"),
        ({"mode": "magic"}, "hybrid, vector, bm25, cypher"),
        ({"top_k": "0"}, "1 to 1000"),
        ({"top_k": "x"}, "whole number"),
        ({"weights": "0:0"}, "two numbers"),
        ({"weights": "1:2:3"}, "two numbers"),
        ({"include": "[1"}, "no JSON"),
    ],
)
def test_refused_overrides(given: dict[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        apply_overrides(settings_in(tmp_path), RunOptions(), given)


def test_pairs_and_grids() -> None:
    assert parse_pairs(["a=b=c", "d = e"], "--set") == {"a": "b=c", "d": "e"}
    assert parse_grid(["mode=hybrid, bm25,hybrid"]) == {"mode": ["hybrid", "bm25"]}
    for wrong in (["mode"], ["mode="]):
        with pytest.raises(ConfigurationError):
            parse_grid(wrong)


def test_every_setting_is_either_told_or_beside_the_point(tmp_path: Path) -> None:
    known = set(Settings.model_fields)
    assert known >= BESIDE_THE_POINT
    assert known >= set(OF_THE_GRAPH)
    told = bearing_settings(settings_in(tmp_path, model="m"), "answer")
    assert set(told) == known - BESIDE_THE_POINT
    assert "model" not in bearing_settings(settings_in(tmp_path, model="m"), "retrieval")
    assert "data" not in json.dumps(told)  # a run does not depend on where it is made


# Scores of places


def gold(**levels: Any) -> Gold:
    return Gold({level: tuple(needs) for level, needs in levels.items()})  # type: ignore[misc]


def test_levels_rank_each_thing_once() -> None:
    wanted = gold(
        document=[Need(frozenset({"d2"}))],
        section=[Need(frozenset({"d2::1", "d2::2"}))],
        page=[Need(frozenset({("d2", 3)}))],
        span=[Need(frozenset({"d2"}), "the lake is twelve metres deep")],
    )
    found = [
        Place("d1", "d1::0", 1, "nothing"),
        Place("d1", "d1::4", 1, "nothing"),
        Place("d2", "d2::9", 2, "nothing"),
        Place("d2", "d2::2", 3, "They say the lake is twelve metres deep there."),
    ]
    scores = retrieval_scores(wanted, found)
    assert scores["document.mrr@10"] == 1 / 2  # two sections of d1 are one document
    assert scores["section.mrr@10"] == 1 / 4
    assert scores["page.mrr@10"] == 1 / 3  # two sections of one page are one page
    assert scores["span.mrr@10"] == 1 / 4
    assert retrieval_scores(Gold(), found) == {}


def test_citations() -> None:
    wanted = gold(
        document=[Need(frozenset({"a"})), Need(frozenset({"b"}))],
        section=[Need(frozenset({"a::1"})), Need(frozenset({"b::1"}))],
    )
    scores = citation_scores(wanted, [Place("a", "a::1"), Place("a", "a::2"), Place("c", "c::1")])
    assert scores["citation.precision"] == pytest.approx(1 / 3)
    assert scores["citation.recall"] == 0.5
    assert (scores["citation.section"], scores["citation.document@5"]) == (1.0, 1.0)
    late = [Place("x")] * 5 + [Place("a", "a::1")]
    assert citation_scores(wanted, late)["citation.document@5"] == 0.0
    nothing = citation_scores(wanted, [])
    assert nothing["citation.recall"] == nothing["citation.section"] == 0.0
    assert "citation.precision" not in nothing  # nothing cited is not wrongly cited
    assert citation_scores(Gold(), [Place("a")]) == {}


# Numbers of a run


def record(name: str, score: float | None, repeat: int = 0, **fields: Any) -> Record:
    scores = {} if score is None else {"answer.correct": score}
    return Record(question=name, repeat=repeat, scores=scores, seconds=1.0, **fields)


def test_errors_are_in_no_mean() -> None:
    failed = Record.model_validate({"question": "c", "status": "error", "error": {"kind": "ModelUnavailable", "message": "x"}, "scores": {"answer.correct": 0.0}})  # fmt: skip
    questions = [Question.model_validate({"id": name, "question": "?", "answer": "x", "type": kind}) for name, kind in (("a", "s"), ("b", "t"), ("c", "t"))]  # fmt: skip
    found = summarise("answer", questions, [record("a", 1.0), record("b", 0.0), failed])
    assert found.metrics["answer.correct"].value == 0.5
    assert (found.records, found.errors, found.error_kinds) == (3, 1, {"ModelUnavailable": 1})
    assert found.percentiles["seconds.p50"].n == 2
    assert {kind: one["answer.correct"].n for kind, one in found.by_type.items()} == {"s": 1, "t": 1}
    json.dumps(found.as_json(), allow_nan=False)


def test_a_run_of_nothing_but_errors_has_numbers_that_are_json() -> None:
    failed = Record.model_validate(
        {"question": "a", "status": "error", "error": {"kind": "X", "message": "x"}}
    )
    json.dumps(summarise("answer", [], [failed]).as_json(), allow_nan=False)
    json.dumps(summarise("answer", [], []).as_json(), allow_nan=False)


def test_repeats_are_one_question() -> None:
    found = summarise("answer", [], [record("a", 1.0), record("a", 0.0, 1), record("b", 1.0)])
    assert found.metrics["answer.correct"].n == 2
    assert found.metrics["answer.correct"].value == 0.75


def test_the_judge_is_held_against_the_rules() -> None:
    records = [record(name, score) for name, score in (("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 0.0))]
    verdicts: Any = [("a", "correct"), ("b", "partial"), ("c", "correct"), ("d", "ungraded")]
    found = summarise(
        "answer", [], records, [Judgement(question=name, verdict=verdict) for name, verdict in verdicts]
    )
    assert found.ungraded == 1
    assert found.metrics["judge.correct"].n == 3
    assert found.metrics["judge.correct"].value == pytest.approx(2.5 / 3)
    assert found.agreement["share"] == pytest.approx(2 / 3, abs=1e-6)
    json.dumps(found.as_json(), allow_nan=False)


def test_what_is_spent_is_better_when_lower() -> None:
    assert all(map(lower_is_better, ("seconds", "usage.input_tokens", "abstention.false")))
    assert not any(map(lower_is_better, ("answer.correct", "abstention", "abstention.recall")))


# Files of runs


def test_lines_are_whole_whoever_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    writer = LineWriter(path)

    def write(thread: int) -> None:
        for n in range(50):
            writer.append(Record(question=f"{thread}-{n}", path="x" * 20_000))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert len({Record.model_validate_json(line).question for line in path.read_bytes().splitlines()}) == 200


def test_the_later_record_counts_and_half_a_line_does_not(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    writer = LineWriter(folder.records)
    writer.append(record("a", 0.0))
    writer.append(record("b", 0.0))
    writer.append(record("a", 1.0))
    writer.close()
    with folder.records.open("ab") as file:
        file.write(b'{"question": "c", "scor')
    assert {one.question: one.scores["answer.correct"] for one in folder.read_records()} == {
        "a": 1.0,
        "b": 0.0,
    }
    LineWriter(folder.records).close()
    assert folder.records.read_bytes().endswith(b"}\n")


def info(name: str, **fields: Any) -> RunInfo:
    return RunInfo(id=name, key="k", set="s", **fields)


def test_finding_runs(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with pytest.raises(NotFound, match="eval run sample"):
        find_run(settings, "latest")
    for name, started in (("s-1abc", "2026-01-01"), ("s-1abd", "2026-01-03"), ("t-9", "2026-01-02")):
        RunFolder(tmp_path / "evals" / name).write_info(info(name, started=started, state="complete"))
    assert find_run(settings, "latest").path.name == "s-1abd"
    assert find_run(settings, "t").path.name == "t-9"
    assert find_run(settings, tmp_path / "evals" / "t-9").path.name == "t-9"
    with pytest.raises(NotFound, match="More than one"):
        find_run(settings, "s-1")


def test_a_run_that_nobody_holds_was_interrupted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "evals" / "r")
    folder.write_info(info("r", state="running"))
    assert folder.read_info().state == "interrupted"
    with folder.held():
        assert folder.read_info().state == "running"
    assert folder.path.stat().st_mode & 0o077 == 0o055 or folder.path.stat().st_mode & 0o077 == 0


def test_a_broken_manifest_is_told(tmp_path: Path) -> None:
    write_whole(tmp_path / "manifest.json", "{")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        RunFolder(tmp_path).read_info()


def test_cost_is_told_before_a_run(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, model="m", price_input=2.0, price_output=10.0)
    first = estimate_run(settings, "answer", 100, 4)
    assert first.cost == pytest.approx((1_200_000 * 2 + 50_000 * 10) / 1e6)
    assert "no earlier run" in first.basis
    folder = RunFolder(tmp_path / "evals" / "r")
    folder.write_info(info("r", mode="answer", model="m", started="2026"))
    scores = {"usage.model_calls": 3.0, "usage.input_tokens": 1_000.0, "usage.output_tokens": 100.0}
    writer = LineWriter(folder.records)
    writer.append(Record(question="a", scores=scores, seconds=2.0))
    writer.close()
    second = estimate_run(settings, "answer", 100, 4)
    assert (second.model_calls, second.input_tokens, second.seconds) == (300, 100_000, 50.0)
    assert second.cost == pytest.approx(0.3)
    assert estimate_run(settings, "retrieval", 10, 2).cost is None


# Pages


def test_plots_are_whole_svg() -> None:
    import xml.etree.ElementTree as tree

    one = mean([0.0, 1.0, 1.0])
    plots = [
        bars([("a <b>", one), ("x" * 99, one)], title="t & t", most=1.0),
        curves({"recall": [(1, 0.2), (10, 0.9)], "none": []}, title="t", x="k", y="r"),
        scatter([(0.0, 0.0, "<i>"), (0.0, 0.0, "b"), (1e6, 1.0, "c")], title="t", x="x", y="y"),
        histogram([0.0, 0.1, 3.0], title="t", x="s"),
        histogram([0.0], title="t", x="s"),
    ]
    for plot in plots:
        root = tree.fromstring(plot)
        assert root.tag == "figure"
        assert "nan" not in plot.lower().replace("nano", "")
    assert bars([], title="t") == curves({}, title="t", x="", y="") == histogram([], title="t", x="") == ""
    assert scatter([], title="t", x="", y="") == ""


def test_pages_escape_and_bound_everything() -> None:
    assert text("<a href='x'>\x00\x1b\u202e\ud800") == "&lt;a href=&#x27;x&#x27;&gt;\ufffd\ufffd\ufffd\ufffd"
    assert "more characters" in text("x" * 10_000)
    assert text({"a": "<"}) == "{&quot;a&quot;: &quot;&lt;&quot;}"
    assert block(["a\n"]).startswith("<pre>")
    whole = page("<t>", "body")
    assert "<title>&lt;t&gt;</title>" in whole
    assert "default-src 'none'" in whole
    whole.encode("utf-8")


# Benches


def test_bars_are_kept_or_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Measurement("speed", 9.0, "ms", 10.0),
        Measurement("quality", 0.8, "", 0.85, "at least"),
        Measurement("told", 5.0),
    ]
    assert [one.ok for one in found] == [True, False, None]
    assert hand_over(found, tmp_path / "x.json") == 1
    assert hand_over(found[:1], None) == 0
    assert read_back(json.loads((tmp_path / "x.json").read_text())) == found
    show(found)
    printed = capsys.readouterr().out
    assert "MISSED" in printed
    assert ">= 0.85" in printed


def test_every_bench_is_a_program() -> None:
    home = Path(__file__).parents[2] / "evals" / "bench"
    assert all((home / f"{bench.module}.py").is_file() for bench in BENCHES)
    assert len({bench.name for bench in BENCHES}) == len(BENCHES)
    assert {bench.long for bench in chosen([], long=False)} == {False}
    assert [bench.name for bench in chosen(["import", "self-probe"], long=False)] == ["import", "self-probe"]
    with pytest.raises(KeyError):
        chosen(["nothing"], long=False)


def test_what_programs_write_is_read_against_the_bars() -> None:
    row = {"set": "x", "hybrid": 0.8, "bm25": 0.7, "vector": 0.75, "difference": 0.05, "low": -0.02, "differences": [0.1, 0.0]}  # fmt: skip
    quality = {one.name: one.ok for one in read_retrieval({"sets": [row]})}
    assert list(quality.values()) == [None, False, True]
    times = {"median_ms": 95.0, "p95_ms": 120.0}
    search = {"chunks": 10_000, "engine": "embedded 41603", "query_embedding": times, "ours": {"hybrid": times, "in one document": times}, "peers": {"LanceDB hybrid": {"median_ms": 70.0}}}  # fmt: skip
    assert [one.ok for one in read_search(search)] == [False, False, True]
    tools = read_tools({"get_node_labels": {"median_ms": 3.0, "p95_ms": 4.0, "bar_ms": 20.0}})
    assert [one.ok for one in tools] == [True]
    assert [one.ok for one in read_probe({"fresh": {"sampled": 500, "keywords": 1.0, "vectors": 0.98}})] == [
        True,
        False,
    ]


def test_rows_that_tie_may_be_those_of_the_gold_query_here() -> None:
    question = Question.model_validate({"id": "q", "question": "The two largest?", "rows": [["a"], ["b"]]})
    run = CypherRun(query="MATCH ...", columns=["n"], rows=[{"n": "a"}, {"n": "c"}])
    assert cypher_scores(question, [run])["cypher.execution"] == 0.0
    assert cypher_scores(question, [run], [["a"], ["c"]])["cypher.execution"] == 1.0
    assert cypher_scores(question, [run], [["a"], ["d"]])["cypher.execution"] == 0.0
