"""Search on a real graph: what is visible is found, what is not never is, and no query breaks it."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graph_agent.embeddings import Embedder, load_embedder
from graph_agent.errors import BadArgument, EmbeddingMismatch, EngineUnavailable, GraphAgentError, NotFound
from graph_agent.ingest import SyncOptions, sync
from graph_agent.retrieval import MODES, Hit, Mode, Retriever
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph
from graph_agent.store.schema import rebuild_vector_index

SOAK = bool(os.environ.get("GRAPH_AGENT_SOAK"))
SAMPLE = Path(__file__).resolve().parents[2] / "evals" / "sets" / "sample" / "corpus"
LANGUAGES = {
    "zh.md": "# 年报\n\n公司的现金流量表显示，经营活动产生的现金净额为三百万元。\n",
    "ja.md": "# 案内\n\n東京タワーの展望台は午前九時に開きます。水族館もあります。\n",
    "ko.md": "# 안내\n\n서울의 지하철은 새벽 다섯 시에 운행을 시작합니다.\n",
    "ar.md": "# دليل\n\nيفتح المتحف أبوابه في الساعة التاسعة صباحًا كل يوم.\n",
    "de.md": "# Handbuch\n\nDie Donaudampfschifffahrtsgesellschaft prüft die Notbremse in Mu\u0308nchen.\n",
    "fr.md": "# Guide\n\nL'été dernier, les élèves ont visité le musée de l'Hôtel-Dieu.\n",
    "th.md": "# คู่มือ\n\nเรือออกจากท่าเวลาแปดโมงเช้าทุกวัน\n",
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(data=tmp_path_factory.mktemp("retrieval"))


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[DocumentGraph]:
    with DocumentGraph.open(settings) as graph:
        yield graph


@pytest.fixture(scope="module")
def embedder(settings: Settings) -> Embedder:
    return load_embedder(settings)


@pytest.fixture
def graph(engine: DocumentGraph, request: pytest.FixtureRequest) -> Iterator[DocumentGraph]:
    chosen = engine.select(request.node.name[:100])
    yield chosen
    chosen.drop()


@pytest.fixture(scope="module")
def sample(engine: DocumentGraph, embedder: Embedder, settings: Settings) -> Retriever:
    chosen = engine.select("sample")
    sync(chosen, embedder, [SAMPLE])
    return Retriever(chosen, embedder, settings)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def found(retriever: Retriever, query: str, mode: Mode = "bm25", **options: Any) -> list[str]:
    return [hit.path for hit in retriever.search(query, mode=mode, **options).hits]


def test_every_passage_finds_itself(sample: Retriever, engine: DocumentGraph) -> None:
    rows = engine.select("sample").read("MATCH (c:SectionChunk) RETURN c.chunk_id, c.text").rows
    assert len(rows) > 200
    near = 0
    for name, text in rows:
        first = sample.search(text, mode="bm25", limit=1, per="chunk").hits[0]
        assert first.chunk_id == name or " ".join(first.text.split()) == " ".join(text.split())
        hits = sample.search(text, mode="vector", limit=3, per="chunk").hits
        near += any(hit.chunk_id == name or hit.text == text for hit in hits)
    assert near >= 0.99 * len(rows)


def test_hits_tell_where_they_stand(sample: Retriever, engine: DocumentGraph) -> None:
    hit = sample.search('"silence is not consent"', limit=3).hits[0]
    assert hit.path == "policies/rest-and-shift-swaps.md"
    assert hit.section_title == "Swapping a shift"
    assert hit.breadcrumb[-1] == "Swapping a shift"
    assert "**Silence**" in hit.snippet
    assert len(hit.snippet) <= 240
    assert hit.ranks["bm25"] == 1
    assert hit.source == str(SAMPLE / hit.path)
    line = (SAMPLE / hit.path).read_text("utf-8").splitlines()[int(hit.start_line or 0) - 1]
    assert line.strip() in hit.text
    row = engine.select("sample").read(
        "MATCH (:MarkdownSection {section_id: $id})-[:HAS_CHUNK]->(c) RETURN collect(c.chunk_id)",
        {"id": hit.section_id},
    )
    assert hit.chunk_id in row.scalar([])


def test_one_row_per_section_or_one_per_passage(sample: Retriever) -> None:
    sections = sample.search("battery charge limit of the ferry", limit=30).hits
    assert len({hit.section_id for hit in sections}) == len(sections) == 30
    passages = sample.search("battery charge limit of the ferry", limit=60, per="chunk").hits
    assert len({hit.chunk_id for hit in passages}) == len(passages) == 60
    scores = [hit.score for hit in sections]
    assert all(0 < score <= 1 for score in scores)


def test_the_order_is_the_same_every_time_and_is_explained(
    sample: Retriever, engine: DocumentGraph, settings: Settings, embedder: Embedder
) -> None:
    other = Retriever(engine.select("sample"), embedder, settings)
    one, two = (each.search("Who approves a shift swap?", limit=20) for each in (sample, other))
    assert [hit.chunk_id for hit in one.hits] == [hit.chunk_id for hit in two.hits]
    account = one.explanation["queries"][0]
    assert account["weights"]["bm25"] + account["weights"]["vector"] == pytest.approx(1.0)
    assert account["reasons"]
    json.dumps(one.explanation)


def test_several_phrasings_count_together(sample: Retriever) -> None:
    result = sample.search(["animals left on board", "lost property animal shelter"], limit=5)
    assert "policies/lost-property.txt" in [hit.path for hit in result.hits][:2]
    assert len(result.explanation["queries"]) == 2


def test_scopes_act_before_ranking(sample: Retriever) -> None:
    scope = sample.scope(folder="incidents")
    for mode in MODES:
        hits = sample.search("the ferry lost power on the lake", mode=mode, limit=8, scope=scope).hits
        assert hits
        assert {hit.path.split("/")[0] for hit in hits} == {"incidents"}
    nothing = sample.scope(paths="no/such/place")
    result = sample.search("ferry", scope=nothing)
    assert result.hits == ()
    assert "no ingested document" in result.explanation["problem"]


def test_searching_by_containment(sample: Retriever) -> None:
    whole = sample.search("SILENCE consent", mode="cypher")
    assert [hit.section_title for hit in whole.hits] == ["Swapping a shift"]
    assert whole.relaxed is None
    some = sample.search("silence hovercraft", mode="cypher")
    assert some.hits
    assert "No section contains all 2 words" in str(some.relaxed)


def test_misspelt_words_are_relaxed_and_said_so(sample: Retriever) -> None:
    result = sample.search("funiculaar", mode="bm25")
    assert result.hits
    assert "funiculaar" in str(result.relaxed)
    missing = sample.search('"consent is never silence here"', mode="bm25")
    assert "word for word" in str(missing.relaxed)


def test_bad_arguments_name_what_is_allowed(sample: Retriever) -> None:
    with pytest.raises(BadArgument, match=r"Nearest: vector\. Modes: hybrid, vector, bm25, cypher"):
        sample.search("x", mode="vectors")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="limit 0"):
        sample.search("x", limit=0)
    with pytest.raises(BadArgument, match="query is empty"):
        sample.search(["", " \x00"])
    with pytest.raises(NotFound):
        sample.scope(document="nothing-like-it")


HOSTILE = [
    "ap-erp", "_", 'a/b (c) _ "x', "x | | y", "50%", "bob@example.com", "std::vector<int>", "the", "🎉🎉", "a\x00b",
    "x\ud800y", "word " * 5_000, '"', "'; MATCH (n) DETACH DELETE n //", "$x `y` {z}", "\\u0000 \\", "* AND OR NOT -",
    "現金", "(" * 500, "a" * 20_000, "\u202e\u200b", "%%%", "@title:x", "=>{$weight:5}", "\n\n\n", "1.5e308 NaN",
]  # fmt: skip


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mode", MODES)
def test_no_query_breaks_a_search(sample: Retriever, mode: Mode) -> None:
    for query in HOSTILE:
        try:
            result = sample.search(query, mode=mode, limit=5)
        except BadArgument:
            assert not any(
                char.isprintable() and not char.isspace()
                for char in query.replace("\u202e", "").replace("\u200b", "")
            )
            continue
        for hit in result.hits:
            json.dumps(hit.snippet)
    draw = random.Random(5)
    alphabet = "abcde ÄÖß現金流量😀\u0301\u200d\x00\ud800'\"`\\|&(){}[]<>*%$#@!:;,./?-_=+~^\n\t0123"
    for _ in range(500 if SOAK else 60):
        query = "".join(draw.choices(alphabet, k=draw.randint(1, 60)))
        try:
            sample.search(query, mode=mode, limit=3)
        except BadArgument:
            assert not any(char.isalnum() for char in query)


def test_identifiers_are_found_where_there_is_sense(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    files = {
        "erp.md": "# Systems\n\nThe AP-ERP interface is run by bob@example.com at a load of 50%.\n",
        "cpp.md": "# Code\n\nUse std::vector<int> and a/b testing, see EIP-1559 and Q3-2024.\n",
        "eip.md": "# Others\n\nThe EIP numbered 20 differs from 1559 things. Vector and std are words. Quarter three.\n",
        **LANGUAGES,
    }
    sync(graph, embedder, [write(tmp_path, files)], SyncOptions(vectors=False))
    retriever = Retriever(graph, embedder, settings)
    for query, path in {
        "ap-erp": "erp.md", "bob@example.com": "erp.md", "50%": "erp.md", "std::vector<int>": "cpp.md", "a/b": "cpp.md",
        "EIP-1559": "cpp.md", "eip1559": "cpp.md", "Q3-2024": "cpp.md",
        "现金": "zh.md", "现金流量表": "zh.md", "東京タワー": "ja.md", "水": "ja.md", "지하철": "ko.md", "المتحف": "ar.md",
        "المُتْحَف": "ar.md", "Schifffahrtsgesellschaft": "de.md", "Donau": "de.md", "München": "de.md", "munchen": "de.md",
        "Muenchen": "de.md", "Notbremsen": "de.md", "ete": "fr.md", "hotel-dieu": "fr.md", "élève": "fr.md", "ท่าเวลา": "th.md",
    }.items():  # fmt: skip
        assert found(retriever, query)[:1] == [path], query


def test_words_only_until_vectors_are_there_and_it_says_so(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    sync(
        graph,
        embedder,
        [write(tmp_path, {"a.md": "# Salt\n\nCover the anchovies in coarse salt.\n"})],
        SyncOptions(vectors=False),
    )
    retriever = Retriever(graph, embedder, settings)
    result = retriever.search("anchovies")
    assert [hit.path for hit in result.hits] == ["a.md"]
    assert "no passage in scope has a vector yet" in str(result.degraded)
    assert (result.coverage.with_vectors, result.coverage.complete) == (0, False)
    assert retriever.search("anchovies", mode="vector").hits == ()
    sync(graph, embedder, [tmp_path])
    result = retriever.search("preserving small fish")
    assert result.degraded is None
    assert result.coverage.complete
    assert [hit.path for hit in result.hits] == ["a.md"]
    assert (
        Retriever(graph, None, settings).search("anchovies").degraded
        == "keywords only: no embedding model is set"
    )


def test_edits_moves_and_deletions_are_followed_at_once(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    root = write(
        tmp_path / "r", {"a.md": "# A\n\nThe walrus sleeps.\n", "b.md": "# B\n\nThe heron fishes.\n"}
    )
    sync(graph, embedder, [root])
    retriever = Retriever(graph, embedder, settings)
    assert found(retriever, "walrus") == ["a.md"]
    write(root, {"a.md": "# A\n\nThe pelican dives.\n"})
    sync(graph, embedder, [root])
    assert found(retriever, "walrus", "cypher") == []
    assert all(
        "walrus" not in hit.text for mode in MODES for hit in retriever.search("walrus", mode=mode).hits
    )
    assert found(retriever, "pelican") == ["a.md"]
    (root / "sub").mkdir()
    shutil.move(root / "b.md", root / "sub" / "moved.md")
    sync(graph, embedder, [root])
    assert found(retriever, "heron") == ["sub/moved.md"]
    (root / "a.md").unlink()
    sync(graph, embedder, [root])
    assert found(retriever, "pelican", "hybrid") == ["sub/moved.md"]
    assert retriever.corpus().coverage.chunks == 1


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_forty_syncs_leave_every_passage_findable(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    draw = random.Random(6)
    words = [
        "anchor",
        "ballast",
        "cargo",
        "davit",
        "ensign",
        "fender",
        "galley",
        "halyard",
        "inlet",
        "jib",
        "keelson",
        "lanyard",
        "mizzen",
        "nadir",
        "oakum",
    ]

    def text() -> str:
        return "# Log\n\n" + "\n\n".join(
            f"## Part {part}\n\n{' '.join(draw.choices(words, k=25))}." for part in range(3)
        )

    root = write(tmp_path, {f"{number}.md": text() for number in range(12)})
    retriever = Retriever(graph, embedder, settings)
    for _ in range(40 if SOAK else 10):
        for path in draw.sample(sorted(root.glob("*.md")), 2):
            path.write_text(text(), encoding="utf-8")
        draw.choice(sorted(root.glob("*.md"))).unlink()
        write(root, {f"n{draw.randrange(10_000)}.md": text()})
        sync(graph, embedder, [root])
        retriever.search("anchor")
    rows = graph.read("MATCH (c:SectionChunk) RETURN c.chunk_id, c.text").rows
    for other in (retriever, Retriever(graph, embedder, settings)):
        near = 0
        for name, own in rows:
            assert other.search(own, mode="bm25", limit=1, per="chunk").hits[0].text == own, name
            near += own in [hit.text for hit in other.search(own, mode="vector", limit=3, per="chunk").hits]
        assert near >= 0.99 * len(rows)
        assert other.corpus().coverage.chunks == len(rows)


def test_equal_texts_share_passages_and_the_scope_decides_whose_they_are(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    same = "# Notice\n\nThe harbour closes at nine.\n"
    sync(
        graph,
        embedder,
        [
            write(
                tmp_path,
                {
                    "one/a.md": same,
                    "two/b.md": same,
                    "two/c.txt": same,
                    "d.md": "# D\n\nThe harbour opens.\n",
                },
            )
        ],
    )
    retriever = Retriever(graph, embedder, settings)
    assert found(retriever, "harbour closes nine")[0] == "one/a.md"
    inside = retriever.search("harbour closes nine", scope=retriever.scope(folder="two"))
    assert {hit.path.split("/")[0] for hit in inside.hits} == {"two"}
    (tmp_path / "one" / "a.md").unlink()
    sync(graph, embedder, [tmp_path])
    assert found(retriever, "harbour closes nine")[0].startswith("two/")


def test_repeats_do_not_fill_the_list_but_are_not_lost(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    files = {
        f"{number}.md": f"# Proposal {number}\n\n## Copyright\n\nCopyright and related rights waived via CC0.\n"
        for number in range(8)
    }
    files["law.md"] = "# Law\n\nCopyright law protects authors of works for seventy years.\n"
    sync(graph, embedder, [write(tmp_path, files)])
    retriever = Retriever(graph, embedder, settings)
    assert "law.md" in found(retriever, "copyright rights waived", "hybrid", limit=3)
    every = retriever.search("copyright rights waived", mode="bm25", limit=30).hits
    assert {hit.path for hit in every} >= set(files)
    assert any(len(hit.repeats) >= 7 for hit in every)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_a_scope_of_thirty_matches_gives_all_thirty(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    draw = random.Random(8)
    few = {
        f"few/{number}.md": f"# Buoy {number}\n\nThe buoy number {number} blinks green.\n"
        for number in range(30)
    }
    many = {
        f"many/{number}.md": "\n\n".join(
            f"## Buoy {part}\n\nA buoy blinks {draw.choice(['red', 'white'])} at {draw.random()}."
            for part in range(40)
        )
        for number in range(25 if not SOAK else 250)
    }
    sync(graph, embedder, [write(tmp_path, few | many)])
    for limit in (settings.mirror_limit, 0):
        retriever = Retriever(graph, embedder, settings.model_copy(update={"mirror_limit": limit}))
        scope = retriever.scope(folder="few")
        for mode in MODES:
            hits = retriever.search("buoy blinks", mode=mode, limit=30, scope=scope).hits
            assert {hit.path for hit in hits} == set(few), (mode, limit)


def test_a_fact_deep_in_one_document_is_found(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    parts = [
        f"## Day {number}\n\nThe log of day {number} says that the sea was calm. "
        + "Nothing else happened. " * 5
        for number in range(500)
    ]
    parts[433] += "The mate found a silver astrolabe under the keelson."
    sync(
        graph,
        embedder,
        [
            write(
                tmp_path,
                {"log.md": "# Log\n\n" + "\n\n".join(parts), "other.md": "# O\n\nThe sea was calm.\n"},
            )
        ],
        SyncOptions(vectors=False),
    )
    hit = Retriever(graph, embedder, settings).search("Where was the astrolabe?", mode="bm25").hits[0]
    assert hit.section_title == "Day 433"
    assert "**astrolabe**" in hit.snippet


def test_the_engine_searches_what_memory_may_not_hold(
    sample: Retriever,
    engine: DocumentGraph,
    embedder: Embedder,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = engine.select("sample")
    small = Retriever(graph, embedder, settings.model_copy(update={"mirror_limit": 0}))
    questions = [
        "Who approves a shift swap?",
        "battery charge limit",
        "lost animals",
        "Wer haftet für Gepäck?",
        "fares 2026",
    ]

    def names(retriever: Retriever, question: str, **options: Any) -> list[str]:
        return [
            hit.chunk_id
            for hit in retriever.search(question, mode="vector", limit=10, per="chunk", **options).hits
        ]

    for question in questions:
        assert names(small, question) == names(sample, question)
        scope = sample.scope(folder="policies")
        assert names(small, question, scope=scope) == names(sample, question, scope=scope)
        assert small.search(question).explanation["queries"][0]["vectors"] == "scan"
    rebuild_vector_index(graph, embedder.dimension, wait=True)
    monkeypatch.setattr("graph_agent.retrieval.vectors.SCAN_LIMIT", 10)
    for question in questions:
        assert small.search(question).explanation["queries"][0]["vectors"] == "index"
        assert len(set(names(small, question)) & set(names(sample, question))) >= 9
        one, two = (each.search(question, limit=5).hits for each in (small, sample))
        assert one[0].section_id == two[0].section_id


def test_a_model_of_another_size_is_refused_by_name_and_number(
    sample: Retriever, engine: DocumentGraph, settings: Settings
) -> None:
    class Wide:
        name = "wide-model"
        max_tokens = 512
        dimension: int | None = 768

        def query(self, text: str) -> list[float]:
            return [1.0] * 768

        def passages(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] * 768 for _ in texts]

    retriever = Retriever(engine.select("sample"), Embedder(Wide()), settings)  # type: ignore[arg-type]
    with pytest.raises(EmbeddingMismatch, match=r"384.*wide-model.*768"):
        retriever.search("ferry", mode="vector")
    result = retriever.search("ferry")
    assert result.hits
    assert "768" in str(result.degraded)


def test_caches_are_shared_and_never_trusted_blindly(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    sync(
        graph,
        embedder,
        [write(tmp_path, {"a.md": "# A\n\nThe walrus sleeps.\n", "b.md": "# B\n\nThe heron fishes.\n"})],
    )
    assert found(Retriever(graph, embedder, settings), "walrus") == ["a.md"]
    for key in ("postings", "vectors"):
        names = graph.keys.hkeys(key)
        assert len(names) == 2
        graph.keys.hset(key, {names[0]: b"damaged", names[1]: graph.keys.hmget(key, [names[1]])[0][:-5]})  # type: ignore[index]
    fresh = Retriever(graph, embedder, settings)
    assert found(fresh, "walrus") == ["a.md"]
    assert found(fresh, "heron") == ["b.md"]
    assert fresh.corpus().coverage.complete
    graph.keys.delete("postings", "vectors")
    assert found(Retriever(graph, embedder, settings), "heron", "vector")[0] == "b.md"


def test_vectors_that_are_not_usable_do_not_break_a_search(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    sync(
        graph,
        embedder,
        [write(tmp_path, {"a.md": "# A\n\nThe walrus sleeps.\n", "b.md": "# B\n\nThe heron fishes.\n"})],
    )
    graph.keys.delete("vectors")
    graph.write("MATCH (c:SectionChunk) WHERE c.text CONTAINS 'walrus' SET c.embedding = vecf32([1.0, 2.0])")
    retriever = Retriever(graph, embedder, settings)
    result = retriever.search("walrus")
    assert result.hits[0].path == "a.md"
    assert result.coverage.with_vectors == 1


def test_an_empty_or_foreign_graph_has_nothing_and_says_so(
    graph: DocumentGraph, embedder: Embedder, settings: Settings
) -> None:
    retriever = Retriever(graph, embedder, settings)
    result = retriever.search("anything")
    assert result.hits == ()
    assert result.explanation["problem"]
    graph.write("CREATE (:Person {name: 'Ines'})-[:KNOWS]->(:Person {name: 'Ada'})")
    for mode in MODES:
        assert retriever.search("Ines", mode=mode).hits == ()
    assert retriever.corpus().documents == ()


def test_an_engine_that_is_gone_is_an_error_and_not_an_empty_answer(
    embedder: Embedder, tmp_path: Path
) -> None:
    settings = load_settings(data=tmp_path / "data")
    graph = DocumentGraph.open(settings)
    sync(
        graph,
        embedder,
        [write(tmp_path / "r", {"a.md": "# A\n\nThe walrus sleeps.\n"})],
        SyncOptions(vectors=False),
    )
    retriever = Retriever(graph, embedder, settings)
    assert found(retriever, "walrus") == ["a.md"]
    graph.close()
    with pytest.raises(EngineUnavailable):
        retriever.search("walrus")


def test_eight_threads_at_once(
    sample: Retriever, engine: DocumentGraph, embedder: Embedder, settings: Settings
) -> None:
    fresh = Retriever(engine.select("sample"), embedder, settings)
    questions = [f"battery {number}" for number in range(4)] + ["ferry", "refund", "shift swap", "Seilbahn"]
    expected = {question: [hit.chunk_id for hit in sample.search(question).hits] for question in questions}
    failures: list[str] = []

    def run(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(25):
            question = draw.choice(questions)
            try:
                if [hit.chunk_id for hit in fresh.search(question).hits] != expected[question]:
                    failures.append(question)
            except GraphAgentError as error:
                failures.append(str(error))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert failures == []


class _Reranker(BaseHTTPRequestHandler):
    answer: Any = None
    delay = threading.Event()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen = body
        if self.answer == "slow":
            type(self).delay.wait(5)
        order = [(len(text), number) for number, text in enumerate(body["documents"])]
        results = [{"index": number, "relevance_score": float(length)} for length, number in order]
        data = b"not json" if self.answer == "broken" else json.dumps({"results": results}).encode()
        self.send_response(500 if self.answer == "error" else 200)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def reranker() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Reranker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Reranker.answer, _Reranker.delay = None, threading.Event()
    yield f"http://127.0.0.1:{server.server_port}/v1/rerank#small-model"
    _Reranker.delay.set()
    server.shutdown()
    server.server_close()


def test_a_reranker_changes_the_order_and_its_failure_does_not(
    sample: Retriever, engine: DocumentGraph, embedder: Embedder, settings: Settings, reranker: str
) -> None:
    def ask() -> tuple[Hit, ...]:
        chosen = settings.model_copy(update={"rerank": reranker, "rerank_timeout_s": 1.0})
        result = Retriever(engine.select("sample"), embedder, chosen).search(
            "ferry battery", limit=5, per="chunk"
        )
        notes.append(result.explanation["rerank"])
        return result.hits

    notes: list[str] = []
    plain = sample.search("ferry battery", limit=5, per="chunk").hits
    ordered = ask()
    assert [hit.chunk_id for hit in ordered] != [hit.chunk_id for hit in plain]
    longest_first = sorted(_Reranker.seen["documents"], key=len, reverse=True)  # type: ignore[attr-defined]
    assert all(hit.text.strip() in text for hit, text in zip(ordered, longest_first, strict=False))
    assert _Reranker.seen["model"] == "small-model"  # type: ignore[attr-defined]
    assert "reranked by" in notes[-1]
    for answer, note in (("error", "failed"), ("broken", "failed"), ("slow", "longer than 1 s")):
        _Reranker.answer = answer
        assert [hit.chunk_id for hit in ask()] == [hit.chunk_id for hit in plain]
        assert note in notes[-1]
        assert "fused order kept" in notes[-1]


def make_reverser() -> Any:
    """A document compressor that turns the order round; named by the test below as module:factory."""
    from langchain_core.documents import BaseDocumentCompressor

    class Reverser(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return list(reversed(documents))

    return Reverser()


def test_any_langchain_compressor_can_rerank(
    sample: Retriever,
    engine: DocumentGraph,
    embedder: Embedder,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys
    import types

    module = types.ModuleType("reverser_for_test")
    module.make = make_reverser  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "reverser_for_test", module)
    chosen = settings.model_copy(update={"rerank": "reverser_for_test:make"})
    turned = Retriever(engine.select("sample"), embedder, chosen).search("ferry", limit=40, per="chunk").hits
    plain = sample.search("ferry", limit=40, per="chunk").hits
    assert turned[0].chunk_id != plain[0].chunk_id
    assert np.isfinite([hit.score for hit in turned]).all()
    with pytest.raises(GraphAgentError, match="no_such_module:x cannot be loaded"):
        Retriever(
            engine.select("sample"), embedder, settings.model_copy(update={"rerank": "no_such_module:x"})
        )


def test_of_texts_that_differ_in_marks_only_the_one_asked_for_is_first(
    graph: DocumentGraph, embedder: Embedder, settings: Settings, tmp_path: Path
) -> None:
    for name, text in (("a", "None."), ("b", "None"), ("c", "None!")):
        (tmp_path / f"{name}.md").write_text(f"# Costs\n\n{text}\n", encoding="utf-8")
    sync(graph, embedder, [tmp_path])
    retriever = Retriever(graph, embedder, settings)
    for name, text in (("a", "None."), ("b", "None"), ("c", "None!")):
        (first,) = retriever.search(f"# Costs\n\n{text}", mode="bm25", limit=1, per="chunk").hits
        assert first.path == f"{name}.md"
