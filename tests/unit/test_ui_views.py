"""What the pages show: turns, tables and files of rows, words, pictures."""

from __future__ import annotations

import csv
import datetime
import io
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graph_agent.agent import events
from graph_agent.agent.response import AgentResponse, Citation, CypherRun, Passage
from graph_agent.ui.cells import cell_text, exported
from graph_agent.ui.figure import figure, positions, sizes
from graph_agent.ui.neighbourhood import Link, Node, Picture
from graph_agent.ui.results import KEPT, QueryResult, Results
from graph_agent.ui.turn import Turn
from graph_agent.ui.wording import ago, count, seconds

PASSAGE = Passage(
    n=1,
    section_id="ab::1",
    display_path="a/b.md",
    title="B",
    breadcrumb=["B", "Rules"],
    page=4,
    text="It is.",
)


def response(**fields: Any) -> AgentResponse:
    return AgentResponse(
        **{"question": "Is it?", "answer": "Yes [1] [2].\n\nSources:\na/b.md", "answered": True, "mode": "model",
           "passages": [PASSAGE], "citations": [Citation(n=1, verified=True), Citation(n=2)], **fields}
    )  # fmt: skip


def told(*given: events.AgentEvent) -> Turn:
    turn = Turn("t1", "Is it?")
    for event in given:
        turn.take(event)
    return turn


def test_steps_follow_the_events() -> None:
    turn = told(
        events.StageStarted(stage="skeleton"),
        events.StageFinished(stage="skeleton", seconds=0.004, counts={"nodes": 1_200, "relationships": 0}),
        events.StageSkipped(stage="labels", reason="the overview has them"),
        events.StageStarted(stage="cypher", reason="it counts"),
    )
    view = turn.view()
    assert view["summary"] == "Querying the graph…"
    assert "1,200 nodes" in view["steps"][0]["html"]
    assert "4 ms" in view["steps"][0]["html"]
    assert "it counts" in view["steps"][1]["html"]
    assert view["skipped"] == ""
    turn.take(events.StageFinished(stage="cypher", seconds=0.1, error="it failed"))
    turn.take(events.Finished(response=response()))
    view = turn.view()
    assert view["status"] == "done"
    assert 'class="step failed"' in view["steps"][1]["html"]
    assert "the overview has them" in view["skipped"]


def test_tokens_grow_the_answer_and_a_replacement_takes_its_place() -> None:
    turn = told(
        events.SourcesFound(passages=[PASSAGE], sources=[]),
        events.AnswerToken(text="Yes "),
        events.AnswerToken(text="[1]"),
    )
    assert 'data-n="1"' in turn.view()["answer"]
    turn.take(events.AnswerReplaced(text="No."))
    assert turn.view()["answer"] == "<p>No.</p>"


def test_the_end_marks_citations_and_lists_sources() -> None:
    view = told(events.Finished(response=response())).view()
    assert 'class="cite missing"' in view["answer"]
    assert "Sources:" not in view["answer"]
    assert view["copy"].endswith("Sources:\na/b.md")
    assert 'data-n="1"' in view["foot"]
    assert "a/b.md" in view["foot"]


def test_rows_of_a_query_come_to_its_step() -> None:
    run = CypherRun(query="RETURN 1 AS n", columns=["n"], rows=[{"n": 1}, {"n": None}], total=40)
    turn = told(
        events.StageStarted(stage="cypher"),
        events.StageFinished(
            stage="cypher", seconds=0.1, counts={"rows": 2}, detail={"query": "RETURN 1 AS n"}
        ),
        events.Finished(response=response(cypher=[run])),
    )
    html = turn.view()["steps"][0]["html"]
    assert "<td>1</td>" in html
    assert "20 more rows" in html
    assert 'data-query="RETURN 1 AS n"' in html


def test_a_turn_comes_back_as_it_was_kept() -> None:
    turn = told(events.StageStarted(stage="plan"), events.Finished(response=response()))
    kept = SimpleNamespace(
        id="t1", question="Is it?", status="done", state=json.loads(json.dumps(turn.as_json())),
        response=response().model_dump(mode="json"), feedback=1, reason="",
    )  # fmt: skip
    again = Turn.from_stored(kept)
    assert again.view()["answer"] == turn.view()["answer"]
    assert again.passage(1)[0] == PASSAGE
    assert again.passage(9) == (None, None)
    assert 'aria-pressed="true"' in again.view()["foot"]


def test_a_turn_that_was_running_when_its_server_ended_is_shown_as_stopped() -> None:
    kept = SimpleNamespace(
        id="t", question="x", status="running", state={}, response=None, feedback=None, reason=""
    )
    view = Turn.from_stored(kept).view()
    assert view["status"] == "stopped"
    assert "server was stopped" in view["foot"]


def test_everything_in_a_turn_is_escaped() -> None:
    bad = '"><script>alert(1)</script>'
    turn = told(
        events.StageStarted(stage="search", reason=bad),
        events.StageFinished(
            stage="search", seconds=1, reason=bad, error=bad,
            detail={"phrases": [bad], "query": bad, "hint": bad, "calls": [{"name": bad, "arguments": {bad: bad}}],
                    "findings": [{"sentence": bad, "problem": bad}], "other": bad},
        ),
        events.AgentWarning(message=bad),
    )  # fmt: skip
    turn.finish(
        response(notes=[bad], passages=[PASSAGE.model_copy(update={"title": bad, "display_path": bad})])
    )
    turn.scope = bad
    view = turn.view()
    assert "<script" not in view["steps"][0]["html"] + view["answer"] + view["foot"] + view["skipped"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (1.5, "1.5"),
        ("a\nb", "a b"),
        ({"labels": ["Document"], "properties": {"title": "T", "x": 1}, "id": 1}, "(Document T)"),
        ({"type": "HAS", "properties": {}, "source": 1, "target": 2}, "[HAS]"),
        ([1, "x"], '[1, "x"]'),
    ],
)
def test_cells(value: object, shown: str) -> None:
    assert cell_text(value) == shown


def test_files_of_rows_open_in_a_spreadsheet_without_running_anything() -> None:
    result = QueryResult(
        "q", ["a", "=b"], [{"a": "=1+1", "=b": -2}, {"a": "+x", "=b": ["y"]}, {"a": None, "=b": "-z"}]
    )
    data = result.as_csv()
    assert data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert rows == [["a", "'=b"], ["'=1+1", "-2"], ["'+x", '["y"]'], ["", "'-z"]]
    assert json.loads(result.as_json())["rows"][0] == {"a": "=1+1", "=b": -2}
    assert exported("@x") == "'@x"


def test_results_are_apart_and_bounded() -> None:
    results = Results()
    first = results.keep("ada", QueryResult("q", [], []))
    assert results.get("ada", first) is not None
    assert results.get("bo", first) is None
    for _ in range(KEPT):
        results.keep("bo", QueryResult("q", [], []))
    assert results.get("ada", first) is None


@pytest.mark.parametrize(
    ("value", "words"), [(0.0123, "12 ms"), (0.9999, "1.0 s"), (12.34, "12.3 s"), (125, "2 min 5 s")]
)
def test_seconds(value: float, words: str) -> None:
    assert seconds(value) == words


def test_counts_and_times() -> None:
    now = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    assert (count(1, "row"), count(2_000, "row"), count(0, "property", "properties")) == (
        "1 row",
        "2,000 rows",
        "0 properties",
    )
    told_now = {"2026-03-01T11:59:50+00:00": "just now", "2026-03-01T11:10:00+00:00": "50 min ago", "2026-03-01T02:00:00": "10 h ago",
                "2026-02-28T11:00:00+00:00": "yesterday", "2025-01-02T00:00:00+00:00": "2025-01-02", "nonsense": ""}  # fmt: skip
    assert {iso: ago(iso, now) for iso in told_now} == told_now


def picture(number: int, centre: str = "") -> Picture:
    nodes = tuple(Node(f"n{at}", "type", f"<b>{at}</b>", 10.0**at) for at in range(number))
    links = tuple(Link(f"n{at}", f"n{(at + 1) % number}", f"TO {at}") for at in range(number))
    return Picture("x", nodes, links, centre)


def test_the_layout_is_fixed_finite_and_apart() -> None:
    places = positions(picture(12))
    assert np.isfinite(places).all()
    assert np.abs(places).max() <= 1.0 + 1e-9
    assert (places == positions(picture(12))).all()
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2) + np.eye(12)
    assert apart.min() > 0.15
    assert positions(picture(5, "n2"))[2].tolist() == [0.0, 0.0]
    assert positions(Picture("x", (), ())).shape == (0, 2)
    assert positions(picture(1)).shape == (1, 2)


def test_the_figure_names_and_sizes_what_it_shows() -> None:
    shown = figure(picture(4), dark=True)
    names = [one["text"] for one in shown["layout"]["annotations"]]
    assert "&lt;b&gt;0&lt;/b&gt;" in names
    assert not any("<b>" in name for name in names)
    assert sizes(picture(4)) == sorted(sizes(picture(4)))
    assert shown["data"][1]["customdata"][0] == ["type", "n0"]
    loop = Picture(
        "x",
        (Node("a", "type", "A"), Node("b", "type", "B")),
        (Link("a", "a", "R 1"), Link("a", "b", "S"), Link("b", "a", "T")),
    )
    words = [one["text"] for one in figure(loop, dark=False)["layout"]["annotations"]]
    assert "R 1 ↻" in words
    assert "S<br>T ↩" in words
