"""The sample set's gold is exact: every quote, sum, link and label is checked against the corpus.

The headings are walked here with markdown-it-py alone, so that a fault of the ingest code cannot hide a
fault of the gold, nor the other way round.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from markdown_it import MarkdownIt

SET = Path(__file__).resolve().parents[2] / "evals" / "sets" / "sample"
CORPUS = SET / "corpus"

TYPES = {
    "span": 11,
    "number": 6,
    "list": 5,
    "table": 6,
    "cross-lingual": 6,
    "two-hop": 4,
    "conflict": 3,
    "arithmetic": 4,
    "metadata": 3,
    "count": 2,
    "outline": 2,
    "unanswerable": 8,
}
FIELDS = {"id", "question", "answer", "evidence", "type", "tags"}
OPTIONAL = {"tolerance", "unit"}
STRUCTURE = {
    "metadata",
    "count",
    "outline",
}  # answered from front matter, folders and headings, not from text
FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n(.*?)\n\1\n", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A heading with its own text, subsections left out."""

    title: str
    level: int
    text: str


@cache
def questions() -> list[dict[str, Any]]:
    lines = (SET / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def by_id(question_id: str) -> dict[str, Any]:
    return next(q for q in questions() if q["id"] == question_id)


def documents() -> list[str]:
    found = (p.relative_to(CORPUS).as_posix() for p in CORPUS.rglob("*") if p.is_file())
    return sorted(name for name in found if name != "classify.toml")


def source(doc: str) -> str:
    return (CORPUS / doc).read_text(encoding="utf-8")


def body(doc: str) -> str:
    return FRONT_MATTER.sub("", source(doc)) if doc.endswith(".md") else source(doc)


def front_matter(doc: str) -> dict[str, Any]:
    match = FRONT_MATTER.match(source(doc)) if doc.endswith(".md") else None
    if match is None:
        return {}
    loaded = tomllib.loads(match[2]) if match[1] == "+++" else yaml.safe_load(match[2])
    assert isinstance(loaded, dict), doc
    return loaded


@cache
def sections(doc: str) -> list[Section]:
    text = body(doc)
    lines = text.splitlines(keepends=True)
    tokens = MarkdownIt("commonmark").parse(text)
    heads = [
        (token.map[0], int(token.tag[1]), "".join(child.content for child in tokens[i + 1].children or []))
        for i, token in enumerate(tokens)
        if token.type == "heading_open" and token.map is not None and token.level == 0
    ]
    ends = [start for start, _, _ in heads[1:]] + [len(lines)]
    return [
        Section(title, level, "".join(lines[start:end]))
        for (start, level, title), end in zip(heads, ends, strict=True)
    ]


def section(doc: str, title: str) -> Section:
    named = [s for s in sections(doc) if s.title == title]
    assert len(named) == 1, f"{doc}: {len(named)} sections are titled {title!r}"
    return named[0]


def number(cell: str) -> float:
    """The number in a table cell or quote written in English: '1,234.5', '-237', '86.4 %'."""
    return float(re.sub(r"[^0-9.\-]", "", cell))


def table(doc: str, title: str) -> dict[str, list[str]]:
    """The rows of a section's table, first cell to the other cells, bold marks removed."""
    rows = [
        line.strip().strip("|").split("|")
        for line in section(doc, title).text.splitlines()
        if line.startswith("|")
    ]
    cells = [[cell.strip().replace("*", "") for cell in row] for row in rows[2:]]
    assert cells, f"{doc}: no table in {title!r}"
    return {row[0]: row[1:] for row in cells}


def value(doc: str, title: str, row: str, column: int = 0) -> float:
    return number(table(doc, title)[row][column])


def slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


# --- the lines -----------------------------------------------------------------------------------


def test_sixty_questions_of_the_stated_types() -> None:
    assert len(questions()) == 60
    assert Counter(q["type"] for q in questions()) == TYPES


def test_ids_and_wordings_are_unique() -> None:
    assert len({q["id"] for q in questions()}) == 60
    assert len({q["question"].casefold() for q in questions()}) == 60


def test_at_least_forty_have_a_gold_section_and_eight_are_german() -> None:
    texts = [q for q in questions() if q["type"] not in STRUCTURE | {"unanswerable"}]
    assert sum(any(e["section"] for e in q["evidence"]) for q in texts) >= 40
    assert sum("de" in q["tags"] for q in questions()) == 8


@pytest.mark.parametrize("q", questions(), ids=lambda q: q["id"])
def test_fields(q: dict[str, Any]) -> None:
    assert FIELDS <= set(q) <= FIELDS | OPTIONAL
    assert q["type"] in TYPES
    assert q["question"].strip() == q["question"]
    assert q["question"][-1] in "?."
    assert q["tags"]
    assert all(isinstance(tag, str) for tag in q["tags"])
    assert {"en", "de"} & set(q["tags"])
    if isinstance(q["answer"], int | float):
        assert q["tolerance"] >= 0
        assert q["unit"]
    elif q["answer"] is not None:
        assert not OPTIONAL & set(q)
        assert q["answer"]


@pytest.mark.parametrize("q", questions(), ids=lambda q: q["id"])
def test_unanswerable_exactly_when_there_is_no_evidence(q: dict[str, Any]) -> None:
    empty = q["type"] == "unanswerable"
    assert (q["answer"] is None) is empty
    assert (q["evidence"] == []) is empty


@pytest.mark.parametrize("q", [q for q in questions() if q["evidence"]], ids=lambda q: q["id"])
def test_the_quote_stands_in_the_named_section(q: dict[str, Any]) -> None:
    for evidence in q["evidence"]:
        assert set(evidence) == {"doc", "section", "text"}
        doc, title, text = evidence["doc"], evidence["section"], evidence["text"]
        assert doc in documents()
        if text is None:
            assert q["type"] in {"count", "outline"}
            assert title is None or section(doc, title)
        elif title is not None:
            assert text in section(doc, title).text
        elif doc.endswith(".md"):
            assert q["type"] in STRUCTURE  # only front matter has no section in a Markdown document
            match = FRONT_MATTER.match(source(doc))
            assert match is not None
            assert text in match[2].splitlines()
        else:
            assert source(doc).count(text) == 1


# --- the answers ---------------------------------------------------------------------------------

QUOTED = [q for q in questions() if q["type"] not in {"arithmetic", "count", "outline", "unanswerable"}]


@pytest.mark.parametrize("q", QUOTED, ids=lambda q: q["id"])
def test_the_answer_is_in_the_quotes(q: dict[str, Any]) -> None:
    quotes = " ".join(f"{e['doc']} {e['text']}" for e in q["evidence"])
    if isinstance(q["answer"], int | float):
        last = q["evidence"][-1]["text"]
        decimal = last.replace(",", ".") if "Prozent" in last else re.sub(r"(?<=\d),(?=\d{3}\b)", "", last)
        if q["evidence"][-1]["doc"].endswith(".csv"):
            decimal = last.replace(",", " ")
        assert q["answer"] in [float(n) for n in re.findall(r"\d+(?:\.\d+)?", decimal)]
        return
    answers = q["answer"] if isinstance(q["answer"], list) else [q["answer"]]
    words = [word for answer in answers for word in re.findall(r"[\w']{4,}", answer.casefold())]
    assert words
    missing = [word for word in words if word not in quotes.casefold()]
    assert not missing


def test_arithmetic_recomputed_from_the_tables() -> None:
    quarter = [f"reports/2025-q{n}.md" for n in (1, 2, 3, 4)]
    gold = {
        "sum-01": sum(value(doc, "Income", "Passenger tickets") for doc in quarter[1:3]),
        "sum-02": sum(value(doc, "Passengers by line", "Line 1") for doc in quarter),
        "ratio-01": 100
        * value(quarter[0], "Income", "District subsidy")
        / value(quarter[0], "Income", "Total"),
        "ratio-02": 100
        * (
            value(quarter[2], "Passengers by line", "Cable railway")
            / value(quarter[0], "Passengers by line", "Cable railway")
            - 1
        ),
    }
    assert set(gold) == {q["id"] for q in questions() if q["type"] == "arithmetic"}
    for question_id, expected in gold.items():
        q = by_id(question_id)
        assert q["answer"] == pytest.approx(expected, abs=max(q["tolerance"], 1e-9)), question_id


def test_table_answers_recomputed_from_the_tables() -> None:
    expected = {
        "table-01": value("reports/2025-q2.md", "Vehicles on Line 1", "Motorcycles"),
        "table-02": value("reports/2025-q4.md", "Spending and result", "Maintenance"),
        "table-03": value("reports/2025-q3.md", "Punctuality and cancellations", "Line 3"),
        "table-05": value("contracts/rope-inspection.md", "Results so far", "October 2024"),
        "table-06": value(
            "meetings/2025-11-20-betriebsversammlung.md", "Personalstand", "Werkstatt und Technik"
        ),
        "cross-04": value("policies/data-retention.md", "Periods", "Camera pictures, vessels"),
        "cross-06": value("reports/2025-q3.md", "Passengers by line", "Cable railway"),
        "hop-01": value(
            "contracts/voltmarin-drive-service.md", "Spare parts", "DC-link contactor, K series", column=1
        ),
        "hop-02": value(
            "meetings/2026-01-15-board.md", "2 Second electric ferry", "Loan, Tolmgau State Bank, 15 years"
        ),
    }
    fares = csv.DictReader(source("public/fares-2026.csv").splitlines())
    expected["table-04"] = next(
        float(row["return_eur"])
        for row in fares
        if (row["route"], row["category"]) == ("Cable railway", "adult")
    )
    assert {q["id"] for q in questions() if q["type"] == "table"} <= set(expected)
    assert {k: by_id(k)["answer"] for k in expected} == pytest.approx(expected)


def test_metadata_answers_from_the_front_matter() -> None:
    assert by_id("meta-01")["answer"] == front_matter("policies/data-retention.md")["owner"]
    superseded = {
        PurePosixPath(doc).name for doc in documents() if front_matter(doc).get("status") == "superseded"
    }
    assert set(by_id("meta-02")["answer"]) == superseded
    assert by_id("meta-03")["answer"] == front_matter("contracts/rope-inspection.md")["contract_no"]
    # What is asked as metadata stands nowhere in the text, or the question would be answerable by search.
    assert "Ekre" not in body("policies/data-retention.md")
    assert all("C-2023-004" not in body(doc) for doc in documents())


def test_count_answers_from_folders_and_front_matter() -> None:
    reports = {doc for doc in documents() if doc.startswith("reports/")}
    german = {doc for doc in documents() if front_matter(doc).get("language") == "de"}
    for question_id, gold in (("count-01", reports), ("count-02", german)):
        assert by_id(question_id)["answer"] == len(gold)
        assert {e["doc"] for e in by_id(question_id)["evidence"]} == gold


def test_outline_answers_from_the_headings() -> None:
    manual = sections("manuals/hochwarte-funicular.md")
    assert by_id("outline-01")["answer"] == [s.title for s in manual if s.level == 2]
    first = next(i for i, s in enumerate(manual) if s.title == "Evacuation") + 1
    last = next(i for i, s in enumerate(manual) if i >= first and s.level <= 2)
    assert by_id("outline-02")["answer"] == [s.title for s in manual[first:last] if s.level == 3]


# What must stand nowhere else, so that the gold section is the only right one: question, pattern, documents.
ONLY_IN = [
    ("number-02", r"0\.34 euro", 1),
    ("number-06", r"38,000", 1),
    ("span-08", "Staalberg", 1),
    ("table-02", r"\b803\b", 1),
    ("table-04", r"23\.80", 1),
    ("cross-01", r"\b70 Euro\b", 1),
    ("cross-02", r"\b9 km/h", 1),
    ("cross-05", r"14,200", 1),
    ("hop-01", r"\b16 \|", 1),
    ("hop-02", r"\b9\.4\b", 1),
    ("conflict-02", "upper charge limit is", 1),
    ("conflict-03", r"\b65 km/h", 1),
]


@pytest.mark.parametrize(("question_id", "pattern", "expected"), ONLY_IN)
def test_the_deciding_fact_stands_in_one_document(question_id: str, pattern: str, expected: int) -> None:
    holders = [doc for doc in documents() if re.search(pattern, source(doc))]
    assert len(holders) == expected
    assert holders[0] in {e["doc"] for e in by_id(question_id)["evidence"]}


# Words without which the unanswerable questions could not be answered.
ABSENT = {
    "none-01": r"salary|Gehalt",
    "none-02": r"Otter[^.|]*\b(?:knots|km/h)",
    "none-03": r"(?:first quarter|January to March) (?:of )?2024|2024-Q1",
    "none-04": r"insurer|underwriter|deductible|hull insurance",
    "none-05": r"[Mm]bit|megabit",
    "none-06": r"Schließfach|locker.{0,80}(?:euro|rent)",
    "none-07": r"\d+ weddings|weddings in 2025",
    "none-08": r"aground|grounding|auf Grund",
}


def test_nothing_answers_the_unanswerable() -> None:
    assert set(ABSENT) == {q["id"] for q in questions() if q["type"] == "unanswerable"}
    for question_id, pattern in ABSENT.items():
        assert [doc for doc in documents() if re.search(pattern, source(doc))] == [], question_id


# --- the corpus ----------------------------------------------------------------------------------

ADDING_UP = [
    *((f"reports/2025-q{n}.md", "Passengers by line", "All") for n in (1, 2, 3, 4)),
    *((f"reports/2025-q{n}.md", "Vehicles on Line 1", "All") for n in (1, 2, 3, 4)),
    *((f"reports/2025-q{n}.md", "Income", "Total") for n in (1, 2, 3, 4)),
    *((f"reports/2025-q{n}.md", "Spending and result", "Total") for n in (1, 2, 3, 4)),
    ("meetings/2025-11-20-betriebsversammlung.md", "Personalstand", "Gesamt"),
    ("meetings/2025-09-03-safety-committee.md", "3 Near misses, January to August", "All"),
]


@pytest.mark.parametrize(("doc", "title", "total"), ADDING_UP)
def test_tables_add_up(doc: str, title: str, total: str) -> None:
    rows = {name: number(cells[0]) for name, cells in table(doc, title).items()}
    parts = [amount for name, amount in rows.items() if name not in {total, "Result"}]
    assert sum(parts) == rows[total]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_quarter_agrees_with_itself(n: int) -> None:
    doc = f"reports/2025-q{n}.md"
    income, spending = value(doc, "Income", "Total"), value(doc, "Spending and result", "Total")
    assert value(doc, "Spending and result", "Result") == income - spending
    complaints = [int(x) for x in re.findall(r"\d+", section(doc, "Complaints").text.split(". Goodwill")[0])]
    if n == 2:
        complaints = complaints[:6]  # the sentences after the list speak of one day
    assert complaints[0] == sum(complaints[1:])
    cancelled = re.search(
        r"departures (\d+)\s+were\s+cancelled: ([^.]*)\.", section(doc, "Punctuality and cancellations").text
    )
    assert cancelled is not None
    assert int(cancelled[1]) == sum(int(x) for x in re.findall(r"\d+", cancelled[2]))


def test_the_year_agrees_with_its_quarters() -> None:
    used = [table(f"reports/2025-q{n}.md", "Energy used") for n in (1, 2, 3, 4)]
    litres, vessels, traction = (
        sum(number(t[name][0].removesuffix(" l").removesuffix(" MWh")) for t in used)
        for name in ("Diesel", "Shore power for vessels", "Traction of the cable railway")
    )
    german = "reports/nachhaltigkeit-2025.md"
    fuel = table(german, "Treibstoff und Treibhausgase")
    assert [float(x.replace(".", "")) for x in fuel["Diesel in Litern"]] == [561_800, litres]
    tonnes = [float(x.replace(".", "")) for x in fuel["CO2 aus Diesel in Tonnen"]]
    assert tonnes == [round(561_800 * 2.65 / 1000), round(litres * 2.65 / 1000)]
    assert f"{vessels:.0f} MWh" in section(german, "Strom").text
    assert f"{traction:.0f} MWh" in section(german, "Strom").text
    profit = sum(value(f"reports/2025-q{n}.md", "Spending and result", "Result") for n in (1, 2, 3, 4))
    assert round(profit / 1000, 1) == 3.5  # as the board was told
    money = [
        number(cells[0])
        for cells in table("meetings/2026-01-15-board.md", "2 Second electric ferry").values()
    ]
    assert sum(money) == pytest.approx(15.5)


def links(doc: str) -> list[str]:
    """Targets of the Markdown links of a document, as written."""
    tokens = MarkdownIt("commonmark").parse(body(doc))
    children = [child for token in tokens for child in token.children or []]
    return [str(c.attrGet("href")) for c in children if c.type == "link_open"]


def wiki_links(doc: str) -> list[str]:
    return re.findall(r"\[\[([^\]|#]+)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]", CODE.sub("", body(doc)))


MARKDOWN = [doc for doc in documents() if doc.endswith(".md")]


@pytest.mark.parametrize("doc", MARKDOWN)
def test_links_resolve(doc: str) -> None:
    for href in links(doc):
        path, _, anchor = unquote(href).partition("#")
        target = doc
        if path:
            resolved = (CORPUS / PurePosixPath(doc).parent / path).resolve()
            assert resolved.is_file(), f"{doc}: {href}"
            target = resolved.relative_to(CORPUS.resolve()).as_posix()
        if anchor:
            assert anchor in {slug(s.title) for s in sections(target)}, f"{doc}: {href}"
    stems = Counter(PurePosixPath(name).stem for name in documents())
    for name in wiki_links(doc):
        assert stems[name] == 1, f"{doc}: [[{name}]]"


def test_every_document_is_linked_to_or_links() -> None:
    assert sum(len(links(doc)) for doc in MARKDOWN) >= 50
    assert sum(len(wiki_links(doc)) for doc in MARKDOWN) >= 4
    targets = {
        (CORPUS / PurePosixPath(doc).parent / href.split("#")[0])
        .resolve()
        .relative_to(CORPUS.resolve())
        .as_posix()
        for doc in MARKDOWN
        for href in links(doc)
    }
    stems = {name for doc in MARKDOWN for name in wiki_links(doc)}
    lonely = [d for d in documents() if d not in targets and PurePosixPath(d).stem not in stems]
    assert set(lonely) <= {"index.md", *(doc for doc in MARKDOWN if links(doc))}


def test_front_matter_has_title_date_owner_and_status() -> None:
    for doc in MARKDOWN:
        assert {"title", "date", "owner", "department", "status", "language"} <= set(front_matter(doc)), doc


def test_transcript_cues_are_in_order_and_name_their_speakers() -> None:
    text = source("meetings/2025-10-08-battery-review.vtt")
    assert text.startswith("WEBVTT\n")
    times = [
        (int(h) * 60 + int(m)) * 60 + float(s)
        for h, m, s in re.findall(r"(\d\d):(\d\d):(\d\d\.\d{3})(?= |\n)", text)
    ]
    assert times == sorted(times)
    assert times[-1] > 600
    assert len(set(re.findall(r"<v ([^>]+)>", text))) == 5
    assert text.count(" --> ") == text.count("<v ") == len(times) / 2


def test_labels_file_matches_documents_and_front_matter() -> None:
    facets = tomllib.loads((CORPUS / "classify.toml").read_text(encoding="utf-8"))["facets"]
    assert set(facets) == {"kind", "department", "confidentiality", "state"}
    for facet in facets.values():
        assert set(facet) <= {"question", "within", "default", "values"}
        assert facet["question"].endswith("?")
        assert "default" not in facet or facet["default"] in facet["values"]
        assert all((CORPUS / prefix).is_dir() for prefix in facet.get("within", []))
        for name, entry in facet["values"].items():
            assert set(entry) <= {"description", "paths", "match"}
            assert entry["description"]
            for glob in entry.get("paths", []):
                assert any(p.is_file() for p in CORPUS.glob(glob.replace("/**", "/**/*"))), glob
            for key, wanted in entry.get("match", {}).items():
                assert any(front_matter(doc).get(key) == wanted for doc in documents()), (name, key, wanted)


def test_small_enough_to_be_embedded_in_a_minute() -> None:
    size = sum(len(source(doc)) for doc in documents())
    assert 80_000 <= size <= 130_000
    assert 25 <= len(documents()) <= 36
