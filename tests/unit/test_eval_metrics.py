"""Measures: rankings against trec_eval, answers by their rules, rows, spans, intervals."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.evals.metrics.answers import answer_scores, chosen_options, said, stated_items
from graph_agent.evals.metrics.ranking import ndcg, precision, ranking_measures, recall, reciprocal_rank
from graph_agent.evals.metrics.rows import comparable, rows_hold, same_rows
from graph_agent.evals.metrics.statistics import agreement, by_question, mean, paired, percentile
from graph_agent.evals.metrics.wording import contains, span_coverage, token_f1, tokens
from graph_agent.evals.questions import Question

# Rankings


def random_ranking(draw: random.Random) -> tuple[list[str], dict[str, int]]:
    documents = [f"d{n}" for n in range(draw.randint(1, 60))]
    judged = draw.sample(documents, draw.randint(1, len(documents)))
    ranked = draw.sample(documents, draw.randint(0, len(documents)))
    return ranked, {name: draw.choice([0, 1, 1, 2, 3]) for name in judged}


def test_measures_equal_those_of_trec_eval_on_1000_random_rankings() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is a development dependency")
    draw = random.Random(11)
    cutoffs = (1, 3, 5, 10, 20)
    measures = {f"{kind}.{k}" for kind in ("recall", "P", "ndcg_cut", "success") for k in cutoffs} | {
        "recip_rank"
    }
    compared = 0
    while compared < 1_000:
        ranked, judged = random_ranking(draw)
        relevant = [name for name, grade in judged.items() if grade > 0]
        if not relevant or not ranked:
            continue
        run = {name: float(-rank) for rank, name in enumerate(ranked)}
        theirs = pytrec_eval.RelevanceEvaluator({"q": judged}, measures).evaluate({"q": run})["q"]
        satisfied = [[relevant.index(name)] if name in relevant else [] for name in ranked]
        gains = [float(judged[name]) for name in relevant]
        for k in cutoffs:
            assert recall(satisfied, len(gains), k) == pytest.approx(theirs[f"recall_{k}"], abs=1e-9)
            assert precision(satisfied, k) == pytest.approx(theirs[f"P_{k}"], abs=1e-9)
            assert ndcg(satisfied, gains, k) == pytest.approx(theirs[f"ndcg_cut_{k}"], abs=1e-9)
        assert reciprocal_rank(satisfied, 1_000) == pytest.approx(theirs["recip_rank"], abs=1e-9)
        ours = ranking_measures(satisfied, gains)
        assert ours["hit@5"] == theirs["success_5"]
        assert ours["recall@20"] == pytest.approx(theirs["recall_20"])
        compared += 1


def test_a_need_gains_once_and_any_of_its_places_will_do() -> None:
    twice = ranking_measures([[0], [0], []], [1.0])
    assert (twice["recall@3"], twice["ndcg@5"], twice["precision@5"]) == (1.0, 1.0, 0.4)
    both = ranking_measures([[0, 1]], [1.0, 1.0])
    assert both["recall@1"] == 1.0
    assert both["ndcg@5"] < 1.0


def test_nothing_to_find_gives_no_measures() -> None:
    assert ranking_measures([[]], []) == {}
    assert ranking_measures([], [1.0])["recall@10"] == 0.0


@given(st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=30))
def test_measures_stay_in_their_range(satisfied: list[list[int]]) -> None:
    values = ranking_measures(satisfied, [1.0, 2.0, 0.5, 1.0, 3.0])
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in values.values())
    assert values["recall@1"] <= values["recall@3"] <= values["recall@10"]


# Answers


def correct(answer: Any, text: str, **fields: Any) -> float:
    question = Question.model_validate({"id": "q", "question": "?", "answer": answer, **fields})
    return answer_scores(question, text, True)["answer.correct"]


@pytest.mark.parametrize(
    ("gold", "fields", "text", "right"),
    [
        (118, {"unit": "bar"}, "Both cars must show more than 118 bar [1].", True),
        (118, {"unit": "bar"}, "See [118].", False),
        (1400, {}, "1,400 cubic metres", True),
        (1400, {}, "1.400 Kubikmeter", True),
        (4.2, {"unit": "percent"}, "um 4,2 Prozent", True),
        (4.2, {"unit": "percent"}, "a share of 0.042", True),
        (4.2, {"unit": "percent"}, "420 %", False),
        (12.5, {"unit": "percent"}, "1250 %", False),
        (0.125, {}, "12.5 %", True),
        (88, {"unit": "percent"}, "88 %", True),
        (88, {"unit": "percent"}, "0.88 %", False),
        (9.4, {"unit": "million euro"}, "The bank lends 9.4 million euro.", True),
        (9.4, {"unit": "million euro"}, "9,400,000 euro", True),
        (803, {"unit": "thousand euro"}, "803,000 euro", True),
        (803, {"unit": "thousand euro"}, "8.03 million", False),
        (15.2, {"unit": "percent", "tolerance": 0.1}, "15.24 %", True),
        (15.2, {"unit": "percent", "tolerance": 0.1}, "15.4 %", False),
        (5, {}, "There are five documents.", True),
        (5, {}, "Es sind fünf Dokumente.", True),
        (1, {}, "One of them is here.", False),
        (-3.5, {}, "a loss of (3.5)", True),
        (16, {}, "about sixteen or so, in 2016", False),
        (2016, {}, "in 2016", True),
    ],
)
def test_numbers(gold: float, fields: dict[str, Any], text: str, right: bool) -> None:
    assert correct(gold, text, **fields) == float(right)


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("No: silence is not consent", "Silence is not consent.", True),
        ("rustup", "It is `rustup` [1].", True),
        ("rustup", "It is cargo.", False),
        ("2019-02-25", "It was created on 25 February 2019.", True),
        ("2019-02-25", "created: February 25, 2019", True),
        ("2019-02-25", "am 25. Februar 2019", True),
        ("2019-02-25", "am 25.02.2019", True),
        ("2019-02-25", "on 26 February 2019", False),
        ("with a notary in Harmsund", "The source code lies with a notary in Harmsund.", True),
        ("with a notary in Harmsund", "A notary.", False),
        ("北京", "答案是北京市。", True),
        ("北京", "答案是上海。", False),
        ("a potato", "Potato", True),
    ],
)
def test_texts(gold: str, text: str, right: bool) -> None:
    assert correct(gold, text) == float(right)


def test_alternatives_are_as_right() -> None:
    assert correct("330 metres", "It has 330 m.", alternatives=["330 m"]) == 1.0


def test_the_list_of_sources_is_no_part_of_the_answer() -> None:
    answer = "It is 12 [1].\n\nSources:\nreports/2025-q1.md"
    assert said(answer) == "It is 12."
    assert correct(2025, answer) == 0.0


def list_f1(gold: list[str], text: str, **fields: Any) -> float:
    question = Question.model_validate({"id": "q", "question": "?", "answer": gold, **fields})
    return answer_scores(question, text, True)["answer.list_f1"]


def test_lists() -> None:
    gold = ["Wednesday", "Saturday", "Sunday"]
    assert list_f1(gold, "On Wednesday, Saturday and Sunday [1].") == 1.0
    assert list_f1(gold, "- Sunday\n- Saturday\n- Wednesday") == 1.0
    assert list_f1(gold, "- Sunday\n- Saturday") == pytest.approx(0.8)
    assert list_f1(gold, "- Sunday\n- Saturday\n- Wednesday\n- Monday") == pytest.approx(6 / 7)
    assert list_f1(gold, "Never.") == 0.0
    assert correct(gold, "- Sunday\n- Saturday\n- Wednesday\n- Monday") == 0.0


def test_ordered_lists() -> None:
    gold = ["Abstract", "Motivation", "Rationale"]
    assert list_f1(gold, "1. Abstract\n2. Motivation\n3. Rationale", ordered=True) == 1.0
    assert list_f1(gold, "1. Rationale\n2. Motivation\n3. Abstract", ordered=True) == pytest.approx(0.5)
    assert correct(gold, "1. Motivation\n2. Abstract\n3. Rationale", ordered=True) == 0.0


def test_items_of_a_table() -> None:
    assert stated_items("| id | n |\n|---|---|\n| EIP-1 | 2 |\n| EIP-7 | 3 |") == ["EIP-1", "EIP-7"]


def test_options() -> None:
    options = ["`u64`", "`64`", "It does not compile"]
    assert chosen_options(options, "**A)** because") == [0]
    assert chosen_options(options, "The answer is C.") == [2]
    assert chosen_options(options, "It prints `u64`.") == [0]
    assert chosen_options(options, "B and A.") == chosen_options(options, "(B), then (A)") == [0, 1]
    assert chosen_options(options, "C") == [2]
    assert chosen_options(options, "A closure is a function") == []
    assert chosen_options(options, "I do not know") == []
    assert correct("It does not compile", "C) It does not compile", options=options) == 1.0
    assert correct("It does not compile", "A) or C)", options=options) == 0.0
    assert correct(["`u64`", "It does not compile"], "A) and C)", options=options) == 1.0


def test_fields() -> None:
    gold = {"document": "EIP-1474", "count": 247}
    assert correct(gold, "eip-1474.md has 247 headings") == 1.0
    question = Question.model_validate({"id": "q", "question": "?", "answer": gold})
    assert answer_scores(question, "EIP-1474", True)["answer.fields"] == 0.5


def test_abstention() -> None:
    no, yes = (Question.model_validate({"id": "q", "question": "?", "answer": gold}) for gold in (None, "x"))
    assert answer_scores(no, "It is not in the documents.", False) == {"abstention": 1.0, "abstention.recall": 1.0, "answer.correct": 1.0}  # fmt: skip
    assert answer_scores(no, "It is x.", True)["answer.correct"] == 0.0
    refused = answer_scores(yes, "x is not in the documents", False)
    assert (refused["abstention"], refused["abstention.false"], refused["answer.correct"]) == (0.0, 1.0, 0.0)
    assert answer_scores(Question(id="q", question="?"), "x", True) == {}


def test_token_f1_is_that_of_squad() -> None:
    assert token_f1("the Baker", "The baker!") == 1.0
    assert token_f1("called the Baker by all", "the Baker") == pytest.approx(0.4)
    assert token_f1("", "") == 1.0
    assert token_f1("x", "") == 0.0


@given(st.text(max_size=80), st.text(max_size=80))
def test_wording_takes_any_text(one: str, other: str) -> None:
    assert 0.0 <= token_f1(one, other) <= 1.0
    assert 0.0 <= span_coverage(one, other) <= 1.0
    assert isinstance(contains(one, other), bool)
    if tokens(one):
        assert span_coverage(one, one) == 1.0
        assert contains(f"{one}", one)


def test_spans_survive_line_breaks_markup_and_chunk_borders() -> None:
    quote = "Source code of the transfer logic is deposited\nwith a notary in Harmsund."
    assert (
        span_coverage(
            "... Source code of the *transfer* logic is deposited with a notary in Harmsund. And", quote
        )
        == 1.0
    )
    half = "Source code of the transfer logic is deposited with a"
    assert 0.5 <= span_coverage(half, quote) < 0.9
    assert span_coverage("Something else of the transfer logic entirely", quote) == 0.0


# Rows


def test_rows_are_multisets_in_order_when_asked() -> None:
    gold = [["Latvia", 499], ["Russia", 486], ["Russia", 486]]
    assert same_rows(gold, [["Russia", 486.0], ["Latvia", 499], ["Russia", 486]])
    assert not same_rows(gold, [["Russia", 486], ["Latvia", 499]])
    assert not same_rows(gold, [["Russia", 486], ["Latvia", 499], ["Russia", 486]], ordered=True)
    assert same_rows([], [])
    assert not same_rows([], [[None]])
    assert not same_rows([[1]], [[True]])
    assert not same_rows([["1"]], [[1]])
    assert same_rows([[37.979167], [1.5]], [[1.5], [37.9791666666667]])
    assert not same_rows([[37.979167], [37.979167]], [[37.9791666666667], [37.98]])
    assert not same_rows([[2721000000]], [[2721000001]])
    assert same_rows([["a", 0.1], ["a", 0.2]], [["a", 0.2], ["a", 0.1000001]])


def test_values_mean_the_same() -> None:
    node = {"labels": ["B", "A"], "name": "x"}
    assert comparable(node) == comparable({"id": 7, "labels": ["A", "B"], "properties": {"name": "x"}})
    assert comparable(node) != comparable({"id": 7, "labels": ["A"], "properties": {"name": "x"}})
    assert comparable({"type": "OF", "since": 2}) == comparable({"id": 1, "type": "OF", "source": 1, "target": 2, "properties": {"since": 2}})  # fmt: skip
    assert comparable("2014-09-02 00:00:00+00:00") == comparable("2014-09-02T00:00:00")
    assert comparable("2014-09-02T02:00:00+02:00") == comparable("2014-09-02T00:00:00Z")
    assert comparable(0.1 + 0.2) == comparable(0.3)
    assert comparable(1.0001) != comparable(1.0002)
    assert comparable([1, 2]) != comparable([2, 1])
    assert hash(comparable({"a": [1, {"b": None}]})) is not None


def test_further_columns_and_other_places_are_loosely_right() -> None:
    gold = [["a", 1], ["b", 2]]
    assert rows_hold(gold, [[2, "x", "b"], [1, "y", "a"]])
    assert not same_rows(gold, [[2, "x", "b"], [1, "y", "a"]])
    assert not rows_hold(gold, [[1, "b"], [2, "a"]])  # both columns are there, the rows are not
    assert not rows_hold(gold, [["a"], ["b"]])
    assert not rows_hold(gold, [["a", 1]])
    assert rows_hold([], [])
    assert not rows_hold(gold, [["b", 2], ["a", 1]], ordered=True)
    assert rows_hold([[1, 1]], [[1, 1, 1]])


# Statistics


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        one = mean(generator.normal(0.6, 0.3, 60).tolist())
        covered += one.low <= 0.6 <= one.high
    assert 0.90 <= covered / 300 <= 0.99


def test_means_and_percentiles() -> None:
    one = mean([0.0, 1.0, 1.0, 0.0])
    assert one.value == 0.5
    assert one.low < 0.5 < one.high
    assert mean([0.7]).low == mean([0.7]).high == 0.7
    assert mean([]).n == 0
    assert percentile([float(n) for n in range(101)], 95).value == 95.0
    assert mean([0.2, 0.9, 0.4]) == mean([0.2, 0.9, 0.4])


def test_repeats_count_as_one_question() -> None:
    assert by_question([("a", 1.0), ("b", 0.0), ("a", 0.0)]) == {"a": 0.5, "b": 0.0}


def test_paired_differences_are_over_common_questions() -> None:
    one = paired({"a": 0.0, "b": 1.0, "c": 5.0}, {"a": 1.0, "b": 1.0, "d": 9.0})
    assert (one.value, one.n) == (0.5, 2)


def test_agreement() -> None:
    share, kappa = agreement([True, True, False, False], [True, False, False, False])
    assert share == 0.75
    assert kappa == pytest.approx(0.5)
    assert np.isnan(agreement([True, True], [True, True])[1])
    assert np.isnan(agreement([], [])[0])
