"""The keyword index: BM25 as published, exact through every change."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from graph_agent.retrieval.keywords import K1, B, KeywordIndex, QueryTerm
from graph_agent.retrieval.vocabulary import Vocabulary
from graph_agent.text import terms
from graph_agent.text.postings import (
    ChunkText,
    DocumentPostings,
    build_postings,
    decode_postings,
    encode_postings,
    fingerprint,
)

WORDS = [
    "anchor",
    "boat",
    "cargo",
    "deck",
    "engine",
    "ferry",
    "gale",
    "harbour",
    "island",
    "jetty",
    "keel",
    "lake",
    "mast",
    "net",
    "oar",
    "pier",
]


def document(draw: random.Random, chunks: int) -> DocumentPostings:
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for _ in range(chunks)]
    return build_postings([ChunkText(0, at, text, ("Guide",)) for at, text in enumerate(texts)], "xx")


def as_bags(documents: list[DocumentPostings]) -> list[Counter[str]]:
    bags: list[Counter[str]] = []
    for postings in documents:
        own: list[Counter[str]] = [Counter() for _ in range(postings.chunks)]
        for number, term in enumerate(postings.terms):
            for at in range(postings.offsets[number], postings.offsets[number + 1]):
                own[postings.rows[at]][term] += int(postings.counts[at])
        bags += own
    return bags


def bm25(bags: list[Counter[str]], query: list[str]) -> list[float]:
    """The formula, word by word."""
    lengths = [sum(bag.values()) for bag in bags]
    average = sum(lengths) / len(lengths)
    scores = []
    for bag, length in zip(bags, lengths, strict=True):
        score = 0.0
        for term in query:
            frequency = sum(term in other for other in bags)
            idf = math.log(1 + (len(bags) - frequency + 0.5) / (frequency + 0.5))
            score += idf * bag[term] / (bag[term] + K1 * (1 - B + B * length / average))
        scores.append(score)
    return scores


def ask(index: KeywordIndex, query: list[str]) -> list[float]:
    scores = index.scores([QueryTerm(term, number) for number, term in enumerate(query)])
    return [float(score) for score in scores[index.live]]


def test_scores_are_those_of_the_formula() -> None:
    draw = random.Random(1)
    documents = [document(draw, 3) for _ in range(20)]
    index = KeywordIndex().changed(documents)
    for _ in range(20):
        query = draw.sample(WORDS, 3)
        assert ask(index, query) == pytest.approx(bm25(as_bags(documents), query), abs=1e-5)


def test_any_history_of_changes_gives_the_same_scores_as_building_anew() -> None:
    draw = random.Random(2)
    index = KeywordIndex()
    spans: list[tuple[range, DocumentPostings]] = []
    for step in range(60):
        fresh = [document(draw, draw.randint(0, 4)) for _ in range(draw.randint(0, 3))]
        gone = draw.sample(spans, min(len(spans), draw.randint(0, 2)))
        start = index.rows
        index = index.changed(fresh, [span for span, _ in gone])
        spans = [each for each in spans if each not in gone]
        for postings in fresh:
            spans.append((range(start, start + postings.chunks), postings))
            start += postings.chunks
        if step % 25 == 24:
            index, renumbered = index.compacted()
            spans = [
                (range(int(renumbered[span.start]), int(renumbered[span.start]) + len(span)), each)
                for span, each in spans
                if len(span)
            ]
        query = draw.sample(WORDS, 2)
        bags = as_bags([postings for _, postings in sorted(spans, key=lambda each: each[0].start)])
        if bags:
            assert ask(index, query) == pytest.approx(bm25(bags, query), abs=1e-4)
        assert index.count == len(bags)
        assert index.frequency("boat") == sum("boat" in bag for bag in bags)
    assert len(index.segments) <= 6


def test_an_older_index_is_not_disturbed_by_changes() -> None:
    draw = random.Random(3)
    before = KeywordIndex().changed([document(draw, 5)])
    scores = ask(before, ["boat", "keel"])
    before.changed([document(draw, 5)], [range(2)])
    assert ask(before, ["boat", "keel"]) == scores


def test_a_word_with_a_stem_per_language_is_not_rarer_for_it() -> None:
    english = build_postings([ChunkText(0, 0, "running far")], "en")
    german = build_postings([ChunkText(0, 0, "running weit")], "de")
    index = KeywordIndex().changed([english, german])
    both = index.scores([QueryTerm("run", 0), QueryTerm("running", 0)])
    assert float(both[0]) == pytest.approx(float(both[1]))


def test_groups_matched_and_their_weight() -> None:
    index = KeywordIndex().changed([build_postings([ChunkText(0, 0, "boat"), ChunkText(0, 1, "mast")], "xx")])
    query = [QueryTerm("boat", 0), QueryTerm("ship", 0, 0.5), QueryTerm("whale", 1)]
    held = index.groups_matched(query, np.asarray([0, 1]))
    assert held[0].tolist() == [True, False]
    assert held[1].tolist() == [False, False]
    assert index.group_idf(query)[1] > index.group_idf(query)[0]


def test_headings_are_searched() -> None:
    postings = build_postings([ChunkText(3, 0, "It is 4 m.", ("Reiher", "Draught"))], "en")
    assert {"reiher", "draught"} <= set(postings.terms)
    assert postings.lengths.tolist() == [len(terms("Reiher\nDraught")) + len(terms("It is 4 m."))]


def test_postings_survive_the_blob_and_nothing_else_does() -> None:
    postings = build_postings([ChunkText(0, 0, "boat mast boat"), ChunkText(2, 1, "现金流量表 \ud800")], "en")
    blob = encode_postings(postings, "cut-1")
    back = decode_postings(blob, "cut-1")
    assert back is not None
    assert back.terms == postings.terms
    for name in ("sequences", "indexes", "lengths", "fingerprints", "offsets", "rows", "counts"):
        assert getattr(back, name).tolist() == getattr(postings, name).tolist()
    assert decode_postings(blob, "cut-2") is None
    for cut in range(0, len(blob), 7):
        assert decode_postings(blob[:cut], "cut-1") is None
    draw = random.Random(4)
    for _ in range(300):
        broken = bytearray(blob)
        broken[draw.randrange(len(blob))] ^= 1 << draw.randrange(8)
        decode_postings(bytes(broken), "cut-1")  # never raises


def test_an_empty_document_is_fine() -> None:
    postings = build_postings([], "en")
    assert postings.chunks == 0
    assert decode_postings(encode_postings(postings)) is not None
    assert KeywordIndex().changed([postings]).count == 0


def test_fingerprints_ignore_marks_and_blanks() -> None:
    assert fingerprint("The  *Boat*, sank.") == fingerprint("the boat sank")
    assert fingerprint("the boat sank") != fingerprint("the boat sang")
    assert fingerprint("🎉 --") == 0
    assert fingerprint("## Rationale\n") != fingerprint("rationale")
    assert fingerprint("## Rationale\n\nIt works.") == fingerprint("rationale it works")


def test_vocabulary_looks_up_parts_of_compounds() -> None:
    words = Vocabulary()
    words.add(["donau", "dampf", "schifffahrt", "gesellschaft", "dampfmaschine", "schiff", "versicherung"])
    assert words.starting_with("dampf") == ["dampfmaschine"]
    assert words.ending_with("fahrt", longer_by=3) == ["schifffahrt"]
    assert words.split("donaudampfschifffahrt") == ["donau", "dampf", "schifffahrt"]
    assert words.split("schifffahrtsversicherung") == ["schifffahrt", "versicherung"]
    assert words.split("xylophon") == []
    words.add(["raddampfer"])
    assert words.ending_with("dampfer", longer_by=3) == ["raddampfer"]


def test_vocabulary_names_near_words() -> None:
    words = Vocabulary()
    words.add(["harbour", "harbourmaster", "island", "funicular"])
    assert words.near("harbor") == ["harbour"]
    assert "funicular" in words.near("phunicular")
    assert words.near("zzzzzz") == []
