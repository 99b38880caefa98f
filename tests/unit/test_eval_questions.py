"""Question sets: what is wrong in a file is told by line, and every form comes out as the same questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from graph_agent.errors import ConfigurationError
from graph_agent.evals.adapters import adapter, adapters, find_sets, load_set
from graph_agent.evals.adapters import registry as adapter_registry
from graph_agent.evals.adapters.public import figure_or_text, file_name
from graph_agent.evals.questions import Question, QuestionSet, load_questions

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(
    not SHARED.is_dir(), reason="../shared/data comes with a development checkout only"
)


def lines(path: Path, *rows: Mapping[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n", "utf-8"
    )
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_questions(path)
    return str(caught.value)


GOOD = {"id": "a", "question": "How high?", "answer": 3, "tolerance": 0.5, "unit": "m"}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "b", "answer": 1}, "line 3: question: Field required"),
        ({**GOOD, "id": "b", "evidnce": []}, "line 3: unknown field 'evidnce', did you mean 'evidence'?"),
        ({**GOOD, "id": "b", "evidence": [{"doc": "x.md", "page": 0}]}, "line 3: evidence.0.page"),
        ({**GOOD, "id": "b", "evidence": [{"dock": "x.md"}]}, "evidence.0.dock"),
        ({**GOOD, "id": "b", "question": "  "}, "line 3: question: is blank"),
        ({**GOOD, "id": "b", "answer": "three"}, "tolerance stands beside an answer that is no number"),
        (
            {"id": "b", "question": "Which?", "answer": "C", "options": ["A", "B"]},
            "'C' is none of the options",
        ),
        (GOOD, "line 3: the id 'a' stands in line 1, too"),
        ("{'id': 'b'}", "line 3: not JSON"),
        ("[1, 2]", "line 3: a JSON list, not an object"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, row: Mapping[str, Any] | str, told: str) -> None:
    assert told in refusal(lines(tmp_path / "q.jsonl", GOOD, "", row))


def test_several_faults_are_told_at_once_and_counted(tmp_path: Path) -> None:
    told = refusal(lines(tmp_path / "q.jsonl", *({"id": str(n)} for n in range(9))))
    assert "line 1:" in told
    assert "line 5:" in told
    assert "and 4 more" in told


def test_an_empty_file_and_a_missing_one_are_told(tmp_path: Path) -> None:
    assert "holds no questions" in refusal(lines(tmp_path / "q.jsonl", ""))
    assert "cannot be read" in refusal(tmp_path / "none.jsonl")


def test_line_separators_inside_a_text_do_not_part_lines(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({**GOOD, "question": "a\u2028b\x85c"}, ensure_ascii=False), "utf-8")
    assert load_questions(path)[0].question == "a\u2028b\x85c"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"answer": None}, "unanswerable"),
        ({}, "open"),
        ({"answer": 3.5}, "number"),
        ({"answer": True}, "text"),
        ({"answer": "3"}, "text"),
        ({"answer": ["a", "b"]}, "list"),
        ({"answer": {"document": "x", "count": 2}}, "fields"),
        ({"answer": "a", "options": ["a", "b"]}, "option"),
        ({"rows": [[1, "x"]]}, "rows"),
        ({"rows": []}, "rows"),
    ],
)
def test_kind_and_json_round_trip(fields: dict[str, Any], kind: str) -> None:
    question = Question.model_validate({"id": "q", "question": "?", **fields})
    assert question.kind == kind
    again = Question.model_validate(json.loads(json.dumps(question.as_json())))
    assert again == question
    assert again.kind == kind


def some(count: int) -> QuestionSet:
    made = [Question.model_validate({"id": str(n), "question": "?", "type": "even" if n % 2 == 0 else "odd"}) for n in range(count)]  # fmt: skip
    return QuestionSet("some", tuple(made))


def test_choosing_questions() -> None:
    whole = some(50)
    assert [q.id for q in whole.chosen(limit=3).questions] == ["0", "1", "2"]
    drawn = whole.chosen(limit=10, sample=1)
    assert drawn.questions == whole.chosen(limit=10, sample=1).questions
    assert drawn.questions != whole.chosen(limit=10, sample=2).questions
    ids = [int(q.id) for q in drawn.questions]
    assert ids == sorted(ids)
    assert ids != list(range(10))
    assert {q.type for q in whole.chosen(types=["odd"]).questions} == {"odd"}
    assert [q.id for q in whole.chosen(ids=["7"]).questions] == ["7"]
    with pytest.raises(ConfigurationError, match="no question 'x'"):
        whole.chosen(ids=["x"])
    with pytest.raises(ConfigurationError, match="even, odd"):
        whole.chosen(types=["neither"])


def test_the_digest_tells_sets_apart() -> None:
    assert some(5).digest == some(5).digest
    assert some(5).digest != some(6).digest


def test_sample_set() -> None:
    loaded = load_set("sample")
    kinds = Counter(question.kind for question in loaded.questions)
    assert len(loaded.questions) == 60
    assert kinds["unanswerable"] == 8
    assert loaded.corpus is not None
    assert (loaded.corpus / "index.md").is_file()
    assert {q.ordered for q in loaded.questions if q.type == "outline"} == {True}
    assert {q.ordered for q in loaded.questions if q.type == "list"} == {False}


def test_unknown_sets_and_forms_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="sample"):
        load_set("no-such-set")
    (tmp_path / "odd.bin").write_bytes(b"\x00")
    with pytest.raises(ConfigurationError, match="no form"):
        load_set("sample", form="parchment")
    with pytest.raises(ConfigurationError, match="no form of question sets that is known"):
        load_set(tmp_path / "odd.bin")
    with pytest.raises(ConfigurationError, match="no option 'variant'"):
        load_set("sample", options={"variant": "x"})


@needs_data
def test_proposals() -> None:
    loaded = load_set(SHARED / "eips")
    assert (loaded.name, len(loaded.questions)) == ("eips", 94)
    toc = next(q for q in loaded.questions if q.type == "toc-top")
    assert toc.ordered
    assert toc.kind == "list"
    assert next(q for q in loaded.questions if q.type == "known-item").kind == "fields"
    assert loaded.corpus is not None


@needs_data
def test_quizzes() -> None:
    loaded = load_set(SHARED / "rust_book_quiz")
    assert Counter(q.kind for q in loaded.questions) == {"option": 77, "text": 9}
    assert all(q.evidence[0].sections for q in loaded.questions)


@needs_data
def test_languages() -> None:
    whole = load_set(SHARED / "xquad_md")
    german, across = load_set(f"{SHARED / 'xquad_md'}:de"), load_set(f"{SHARED / 'xquad_md'}:de-en")
    assert len(german.questions) == len(across.questions) < len(whole.questions)
    assert german.name == "xquad_md:de"
    assert german.corpus is not None
    assert german.corpus.name == "de"
    assert across.corpus is not None
    assert across.corpus.name == "en"
    for question in across.questions:
        assert (across.corpus / question.evidence[0].doc).is_file()
        assert question.kind == "open"
    with pytest.raises(ConfigurationError, match="de, en, zh"):
        load_set(f"{SHARED / 'xquad_md'}:de-fr")


@needs_data
def test_cypher_questions() -> None:
    loaded = load_set(SHARED / "text2cypher")
    assert set(loaded.graphs) == {"fincen", "movies", "northwind"}
    assert all(q.kind == "rows" and q.gold_cypher for q in loaded.questions)


@needs_data
def test_a_folder_of_sets() -> None:
    assert len(find_sets(SHARED)) == 4


def test_financebench(tmp_path: Path) -> None:
    row = {
        "financebench_id": "financebench_id_00001", "company": "3M", "doc_name": "3M_2018_10K",
        "question_type": "metrics-generated", "question": "What was the capital expenditure?", "answer": "$1577.00",
        "evidence": [{"evidence_text": "Purchases of property 1,577", "doc_name": "3M_2018_10K", "evidence_page_num": 59}],
    }  # fmt: skip
    lines(tmp_path / "data" / "financebench_open_source.jsonl", row)
    (tmp_path / "pdfs").mkdir()
    loaded = load_set(tmp_path)
    question = loaded.questions[0]
    assert loaded.name == "financebench"
    assert loaded.corpus == tmp_path / "pdfs"
    assert (question.answer, question.kind) == (1577.0, "number")
    assert question.evidence[0].page == 60  # counted from 0 there
    assert question.evidence[0].doc == "3M_2018_10K"


@pytest.mark.parametrize(
    ("text", "answer", "unit"),
    [("$1577.00", 1577.0, None), ("1.9%", 1.9, "percent"), ("Yes, 24.5%.", "Yes, 24.5%.", None), ("Best Buy", "Best Buy", None)],
)  # fmt: skip
def test_figures_among_text_answers(text: str, answer: Any, unit: str | None) -> None:
    made = figure_or_text(text)
    assert made["answer"] == answer
    assert made.get("unit") == unit


def long_rows() -> list[dict[str, Any]]:
    common = {"doc_id": "report.pdf", "doc_type": "Research report", "evidence_sources": "['Chart']"}
    return [
        {
            **common,
            "question": "How many?",
            "answer": "12",
            "evidence_pages": "[3, 5]",
            "answer_format": "Int",
        },
        {
            **common,
            "question": "Which?",
            "answer": "['a', 'b']",
            "evidence_pages": "[1]",
            "answer_format": "List",
        },
        {
            **common,
            "question": "Why?",
            "answer": "Not answerable",
            "evidence_pages": "[]",
            "answer_format": "None",
        },
    ]


def check_long(loaded: QuestionSet) -> None:
    first, second, third = loaded.questions
    assert (first.answer, first.document) == (12.0, "report.pdf")
    assert [evidence.page for evidence in first.evidence] == [3, 5]
    assert second.answer == ("a", "b")
    assert third.kind == "unanswerable"


def test_long_documents(tmp_path: Path) -> None:
    path = tmp_path / "data" / "samples.json"
    path.parent.mkdir()
    path.write_text(json.dumps(long_rows()))
    (tmp_path / "data" / "documents").mkdir()
    loaded = load_set(tmp_path)
    assert loaded.corpus == tmp_path / "data" / "documents"
    check_long(loaded)


def test_long_documents_as_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is part of the extra `evals`")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "train.parquet"
    parquet.write_table(arrow.Table.from_pylist(long_rows()), path)
    check_long(load_set(path))


def test_squad(tmp_path: Path) -> None:
    context = "The tower was built in 1889. It is 330 metres high and stands in Paris, the capital of France."
    asked = [
        {"id": "1", "question": "How high?", "answers": [{"text": "330 metres", "answer_start": context.index("330")}, {"text": "330", "answer_start": context.index("330")}]},
        {"id": "2", "question": "Who?", "answers": [], "is_impossible": True},
    ]  # fmt: skip
    data = {"data": [{"title": "Eiffel_Tower", "paragraphs": [{"context": context, "qas": asked}]}]}
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(data))
    loaded = load_set(path)
    first, second = loaded.questions
    assert (first.answer, first.alternatives) == ("330 metres", ("330",))
    assert first.evidence[0].text is not None
    assert "330 metres" in first.evidence[0].text
    assert second.kind == "unanswerable"
    assert loaded.documents is not None
    documents = dict(loaded.documents())
    assert list(documents) == [first.evidence[0].doc] == ["Eiffel_Tower.md"]
    assert "## Passage 1" in documents["Eiffel_Tower.md"]
    assert first.evidence[0].text in documents["Eiffel_Tower.md"]


def test_beir(tmp_path: Path) -> None:
    root = tmp_path / "tiny"
    lines(
        root / "corpus.jsonl",
        *({"_id": name, "title": f"T{name}", "text": f"Text {name}"} for name in ("d1", "d2", "d/3", "d4")),
    )
    lines(
        root / "queries.jsonl",
        {"_id": "q1", "text": "one?"},
        {"_id": "q2", "text": "unjudged?"},
        {"_id": "q3", "text": "none?"},
    )
    (root / "qrels").mkdir()
    (root / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td/3\t1\nq3\td2\t0\n")
    loaded = load_set(root)
    assert [q.id for q in loaded.questions] == ["q1"]
    assert {e.gain for e in loaded.questions[0].evidence} == {1.0, 2.0}
    assert loaded.questions[0].kind == "open"
    assert loaded.documents is not None
    documents = dict(loaded.documents())
    assert {e.doc for e in loaded.questions[0].evidence} < set(documents)
    assert len(documents) == 4
    fewer = load_set(root, options={"documents": "0"}).documents
    assert fewer is not None
    assert len(list(fewer())) == 3  # the judged ones stay
    with pytest.raises(ConfigurationError, match="It has test"):
        load_set(root, options={"split": "dev"})
    (root / "qrels" / "test.tsv").write_text("q1\td1\n")
    with pytest.raises(ConfigurationError, match=r"test.tsv, line 1"):
        load_set(root)


def test_file_names_are_safe_and_do_not_meet() -> None:
    names = [file_name(name, ".txt") for name in ("a", "../a", "a/b", "a b", "a_b", "", "." * 300, "x" * 300)]
    assert len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 120 for name in names)


def test_columns(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(
        "Nr;Frage;Lösung;Datei;Seite\n"
        "1;Wie hoch?;12,5;a.pdf;3\n"
        "1;;;b.pdf;4\n"
        '2;Welche?;"[""x"", ""y""]";a.pdf;\n'
        "3;Wann?;weiß man nicht;;\n"
        "4;Wo?;7;;\n",
        "utf-8",
    )
    options = {"id": "Nr", "question": "Frage", "answer": "Lösung", "doc": "Datei", "page": "Seite", "unanswerable": "weiß man nicht"}  # fmt: skip
    first, second, third, fourth = load_set(path, options=options).questions
    assert first.answer == "12,5"
    assert [(e.doc, e.page) for e in first.evidence] == [("a.pdf", 3), ("b.pdf", 4)]
    assert second.answer == ("x", "y")
    assert third.kind == "unanswerable"
    assert fourth.answer == 7
    with pytest.raises(ConfigurationError, match="no column 'question'"):
        load_set(path)


def test_an_adapter_is_one_function(tmp_path: Path) -> None:
    path = tmp_path / "tickets.txt"
    path.write_text("What?|That\n")

    @adapter("tickets", "what | answer", detect=lambda found: found.name == "tickets.txt")
    def tickets(found: Path, options: Mapping[str, str]) -> QuestionSet:
        rows = [line.split("|") for line in found.read_text().splitlines()]
        made = [Question(id=str(n), question=a, answer=b, answerable=True) for n, (a, b) in enumerate(rows)]
        return QuestionSet("tickets", tuple(made), source=found)

    try:
        assert load_set(path).questions[0].answer == "That"
        assert "tickets" in adapters()
    finally:
        adapter_registry._registered.pop("tickets")
