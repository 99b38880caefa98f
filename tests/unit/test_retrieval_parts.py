"""The pure parts of retrieval: queries, phrases, fusion, blocks of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from graph_agent.retrieval.fusion import Evidence, Weights, combine_queries, decide_weights, fuse
from graph_agent.retrieval.keywords import KeywordIndex
from graph_agent.retrieval.phrases import is_repeat, likeness, longest_run, verbatim_share
from graph_agent.retrieval.query import clean_query, parse_query, quoted_phrases
from graph_agent.retrieval.vectors import top_positions
from graph_agent.text import words
from graph_agent.text.postings import ChunkText, build_postings
from graph_agent.vector_blocks import decode_block, encode_block


def index_of(*texts: str, language: str = "en") -> KeywordIndex:
    chunks = [ChunkText(0, at, text) for at, text in enumerate(texts)]
    return KeywordIndex().changed([build_postings(chunks, language)])


def looked_up(text: str, index: KeywordIndex, *languages: str) -> dict[str, float]:
    return {item.term: item.weight for item in parse_query(text, index, languages).terms}


def test_clean_query_takes_anything() -> None:
    assert clean_query("a\x00b\ud800c\x07") == "a b c"
    assert clean_query(" \x00 ") == ""
    assert len(clean_query("word " * 50_000)) <= 60_000


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('find "cash flow statement" please', ["cash flow statement"]),
        ("„Schweigen ist kein“ und «c'est la vie»", ["Schweigen ist kein", "c'est la vie"]),
        ("「現金流量表」", ["現金流量表"]),
        ('an inch is 1" and 2" wide', []),
        ('"word"', []),
        ("plain", []),
    ],
)
def test_quoted_phrases(text: str, phrases: list[str]) -> None:
    assert quoted_phrases(text) == phrases


def test_a_query_has_a_stem_per_language_in_one_group() -> None:
    query = parse_query("running", index_of("x"), ["en", "de"])
    assert [(item.term, item.group) for item in query.terms] == [("run", 0), ("running", 0)]


def test_a_compound_that_no_document_holds_is_split_into_words_that_they_hold() -> None:
    index = index_of("Eine Versicherung für Schiffe", "Die Gesellschaft", language="de")
    found = looked_up("Versicherungsgesellschaften", index, "de")
    assert 0 < found["versicher"] < 1
    assert 0 < found["gesellschaft"] < 1


def test_compounds_are_found_by_their_first_and_last_part() -> None:
    index = index_of("Die Donau", "Die Donauschifffahrt und die Kanalschifffahrt", language="de")
    found = looked_up("Donau", index, "de")
    assert found["donau"] == 1.0
    assert 0 < found["donauschifffahrt"] < 1
    assert {"donauschifffahrt", "kanalschifffahrt"} <= set(looked_up("Schifffahrt", index, "de"))
    assert set(looked_up("Donau", index, "en")) == {"donau"}


def test_a_lone_character_finds_longer_runs() -> None:
    index = index_of("水資源の管理", language="ja")
    assert "水資" in looked_up("水", index, "ja")


def test_long_queries_are_bounded() -> None:
    query = parse_query(" ".join(f"w{number}" for number in range(5_000)), index_of("w7 w8"), ["en"])
    assert 100 < len(query.surfaces) <= 1_500


def told(text: str) -> tuple[str, ...]:
    return tuple(words(text))


def test_longest_run() -> None:
    text = " the boat sank in the lake at night "
    assert longest_run(words("a boat sank in the lake"), text) == 5
    assert longest_run(words("nothing of it"), text) == 0


def test_verbatim_share_wants_long_runs_or_quotes() -> None:
    passage = "Silence is not consent, says the book of rules; the roster office answers."
    assert verbatim_share(told("is not"), [], passage) == 0
    assert verbatim_share(told("silence is not consent says the book"), [], passage) == 1
    assert (
        verbatim_share(
            words("where does it say silence is not consent"),
            [told("silence is not consent")],
            passage,
        )
        == 1
    )
    assert verbatim_share(told("x"), [told("consent is not silence")], passage) == 0
    assert verbatim_share(told("现金流量表是公司的重要报表"), [], "我们说，现金流量表是公司的重要报表。") == 1


def test_near_repeats_are_seen() -> None:
    base = (
        "Copyright and related rights are waived under the licence of the commons in every country of the world "
        * 3
    )
    assert is_repeat(likeness(base), likeness(base + " today"))
    assert not is_repeat(
        likeness(base), likeness("Something else altogether stands in this passage of the text")
    )
    assert not is_repeat(likeness("same start"), likeness("same end"))
    edition = base + "within {} days"
    assert not is_repeat(likeness(edition.format(14)), likeness(edition.format(30)))


def test_top_positions_are_stable() -> None:
    scores = np.asarray([1.0, 3.0, 2.0, 3.0, 2.0], dtype=np.float32)
    assert top_positions(scores, 3).tolist() == [1, 3, 2]
    assert top_positions(scores, 9).tolist() == [1, 3, 2, 4, 0]
    assert top_positions(scores, 0).tolist() == []


def test_weights_follow_the_evidence() -> None:
    good = decide_weights(Evidence(coverage=1.0, model="all-MiniLM-L6-v2"))
    poor = decide_weights(Evidence(coverage=0.2, model="all-MiniLM-L6-v2"))
    assert good.vector < 0.3 < 0.5 < poor.vector
    assert decide_weights(Evidence(coverage=0.0)).vector == 1.0
    foreign = Evidence(coverage=0.1, language="de", document_languages=("en",), model="multilingual-e5-small")
    assert decide_weights(foreign).vector >= 0.75
    unknown = Evidence(
        coverage=0.1, language="de", document_languages=("en",), model="all-MiniLM-L6-v2-onnx-int8"
    )
    assert decide_weights(unknown).vector <= 0.2
    german = Evidence(coverage=0.1, language="en", document_languages=("de",), model="all-MiniLM-L6-v2")
    assert decide_weights(german).vector <= 0.2
    rare = Evidence(coverage=0.3, identifier_share=0.6)
    assert decide_weights(rare).vector <= 0.25
    for evidence in (foreign, unknown, rare):
        weights = decide_weights(evidence)
        assert weights.bm25 + weights.vector == pytest.approx(1.0)
        assert weights.reasons


def test_fusion_prefers_agreement_and_keeps_to_the_unit_interval() -> None:
    bm25 = np.asarray([10.0, 9.0, 0.0, 1.0])
    vector = np.asarray([0.1, 0.8, 0.85, -0.2])
    scores = fuse(bm25, vector, vector_floor=0.1, weights=Weights(0.5, 0.5, ()), coverage=0.9)
    assert scores.argmax() == 1
    assert ((scores > 0) & (scores <= 1)).all()
    assert scores.argmin() == 3


def test_a_passage_far_ahead_in_one_leg_stays_ahead() -> None:
    bm25 = np.asarray([20.0, 5.0, 4.0])
    vector = np.asarray([0.2, 0.5, 0.49])
    scores = fuse(bm25, vector, vector_floor=0.2, weights=Weights(0.7, 0.3, ()), coverage=1.0)
    assert scores.argmax() == 0


def test_fusion_of_nothing_scores_low() -> None:
    scores = fuse(
        np.zeros(2), np.asarray([0.1, 0.09]), vector_floor=0.05, weights=Weights(0.0, 1.0, ()), coverage=0.0
    )
    assert scores.max() < 0.2
    assert (
        fuse(np.zeros(0), np.zeros(0), vector_floor=0.0, weights=Weights(0.5, 0.5, ()), coverage=0.0).size
        == 0
    )


def test_several_phrasings() -> None:
    one, two = np.asarray([0.9, 0.1, 0.5]), np.asarray([0.1, 0.2, 0.6])
    combined = combine_queries([one, two])
    assert combined.argmax() == 0
    assert combined[2] > combined[1]
    assert combine_queries([one]) is one


def test_vector_blocks_know_what_they_are() -> None:
    vectors = np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    blob = encode_block(vectors, model="m", cut="c")
    back = decode_block(blob, model="m", cut="c", chunks=5)
    assert back is not None
    assert np.abs((back * vectors).sum(axis=1) - 1).max() < 1e-3
    assert decode_block(blob, model="other", cut="c", chunks=5) is None
    assert decode_block(blob, model="m", cut="other", chunks=5) is None
    assert decode_block(blob, model="m", cut="c", chunks=6) is None
    for cut in range(len(blob)):
        assert decode_block(blob[:cut], model="m", cut="c", chunks=5) is None
    assert (
        decode_block(encode_block(vectors * np.inf, model="m", cut="c"), model="m", cut="c", chunks=5) is None
    )
