"""How tools put facts into text: YAML that reads back equal, bounds, tables, openings, near names."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.tools.bounds import fitting, one_line, output_tokens
from graph_agent.tools.markdown_tables import cells, find_tables
from graph_agent.tools.near_names import nearest
from graph_agent.tools.openings import opening
from graph_agent.tools.table_text import table_text
from graph_agent.tools.yaml_text import yaml_text

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.sampled_from(
        ["yes", "No", "null", "~", "1e3", "0x1F", "2024-01-31", "12:30", "a: b", "- x", "#", "a #b", "", " a", "a ",
         "568acd8b::3", "0123456789012345", "1_000", ".5", "a\u2028b", "\ufeffx", "a\nb", "'", '"', "\\", "\x85", "!", "<<", "=",
         "n", "Y", "inf", ".inf", "nan", "None", "true."]
    )
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), inner, max_size=4)
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300)
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(one[key], other[key]) for key in one)
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return bool(type(one) is type(other) and one == other)


@given(values)
def test_yaml_reads_back_equal(value: Any) -> None:
    assert same(value, yaml.safe_load(yaml_text(value)))


def test_yaml_of_an_outline_looks_like_one() -> None:
    sections = [
        {
            "id": "568acd8b::0",
            "title": "Fares",
            "pages": 3,
            "sections": [{"id": "568acd8b::1", "tags": ["a", "b c"]}],
        }
    ]
    assert yaml_text({"sections": sections}) == (
        'sections:\n  - id: "568acd8b::0"\n    title: Fares\n    pages: 3\n    sections:\n'
        '      - id: "568acd8b::1"\n        tags: [a, b c]\n'
    )


# Tokens by the o200k encoding, counted with bpe-openai.
COUNTED = [
    (", ".join(f"Lab{i} {20 + i}" for i in range(300)), 1499),
    ("\n".join(f"- (:Lab{i})-[:R{i % 40}]->(:Lab{i + 1}) {i * 20}" for i in range(100)), 1649),
    ("- id: 568acd8b12345678::3\n  title: Specification\n  level: 2\n  description: The precompile takes an input of 213 bytes\n" * 30, 1170),
    ("d.title | d.created | d.status\nEIP-1: Purpose and Guidelines | 2015-10-27 | Living\n" * 30, 840),
    ("根据维基百科，现金流量表 是财务报表的三个基本报告之一。" * 20, 400),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_tokens_are_never_counted_too_low_and_not_much_too_high(text: str, tokens: int) -> None:
    assert tokens <= output_tokens(text) <= 1.4 * tokens


def test_fitting_takes_the_first_and_stops_at_the_bound() -> None:
    assert fitting([(1, "word " * 50), (2, "word"), (3, "word " * 50), (4, "word")], 60)[0] == [1, 2]
    assert fitting([(1, "word " * 500)], 10)[0] == [1]


def test_a_line_is_cut_at_a_word() -> None:
    assert one_line("The  quick\nbrown fox jumps", 20) == "The quick brown fox…"
    assert one_line("short", 20) == "short"


TABLE = "before\n\n| a | b \\| c |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |\n\n```\n| no | table |\n|---|---|\n```\n~~~~\n```\n| x |\n|---|\n~~~~\nc | d\n--|--\n"


def test_tables_are_found_outside_of_code() -> None:
    tables = find_tables(TABLE.split("\n"))
    assert [(table.start, table.end, table.rows, table.header) for table in tables] == [
        (2, 6, 2, ("a", "b | c")),
        (16, 18, 0, ("c", "d")),
    ]


def test_a_delimiter_row_of_another_width_makes_no_table() -> None:
    assert find_tables(["| a | b |", "|---|", "| 1 | 2 |"]) == []
    assert cells("| a || c |") == ["a", "", "c"]


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("## Abstract\n\nA **new** [fee](x.md) market. It burns.\n", "Abstract", "A new fee market."),
        ("Fares\n=====\n\n- first item, long\n", "Fares", "first item, long"),
        ("# T\n\n| a |\n|---|\n| 1 |\n\nAfter the table.\n", "T", "After the table."),
        ("```python\ncode = 1\n```\n\nProse at last.\n", "", "Prose at last."),
        ("![logo](x.png)\n\n<img src=x onerror=alert(1)>\n\n", "", ""),
        ("## 概要\n\n这是第一句。这是第二句。\n", "概要", "这是第一句。"),
        (None, "", ""),
    ],
)
def test_the_first_sentence_of_prose_describes_a_section(text: str | None, title: str, expected: str) -> None:
    assert opening(text, title) == expected


@pytest.mark.parametrize(
    ("name", "known", "best"),
    [
        ("fullName", ["title", "name", "born"], "name"),
        ("Persn", ["Movie", "Person"], "Person"),
        ("MOVIE", ["Movie", "Person"], "Movie"),
        ("ActedIn", ["DIRECTED", "ACTED_IN"], "ACTED_IN"),
        ("birthYear", ["birth_year", "year"], "birth_year"),
    ],
)
def test_near_names_know_spelling_case_and_shared_words(name: str, known: list[str], best: str) -> None:
    assert nearest(name, known)[0] == best


def test_names_that_are_not_near_are_not_suggested() -> None:
    assert nearest("salary", ["title", "released"]) == []


def test_a_table_keeps_its_columns_and_cuts_cells_before_rows() -> None:
    rows = [[f"name {at}", "word " * 400] for at in range(40)]
    text, shown = table_text(["name", "long"], rows)
    lines = text.split("\n")
    assert lines[0] == "name | long"
    assert shown == 40
    assert len(lines) == 41
    assert "…(2000 characters)" in lines[1]
    assert output_tokens(text) <= 6_000


def test_a_table_too_long_for_the_bound_is_cut_and_counted() -> None:
    text, shown = table_text(["n"], [[f"row number {at} of many"] for at in range(5_000)], tokens=500)
    assert 10 < shown < 200
    assert text.count("\n") == shown


def test_cells_stay_on_one_line_and_cannot_forge_columns() -> None:
    node = {"id": 1, "labels": ["Movie"], "properties": {"title": "A\nB"}}
    edge = {"id": 2, "type": "IN", "source": 1, "target": 3, "properties": {}}
    text, _ = table_text(["a", "b", "c", "d"], [["x | y\nz", node, edge, [1, None, "q"]]])
    assert text == 'a | b | c | d\nx \\| y\\nz | (:Movie {title: "A\\nB"}) | [:IN {}] | [1, null, "q"]'


def test_a_single_text_is_given_raw() -> None:
    assert table_text(["s.text"], [["# T\n\n| a |\n"]]) == ("s.text\n# T\n\n| a |\n", 1)


def test_a_path_shows_arrows_as_stored() -> None:
    nodes = [{"id": at, "labels": [label], "properties": {}} for at, label in enumerate("AB")]
    edge = {"id": 7, "type": "R", "source": 1, "target": 0, "properties": {}}
    text, _ = table_text(["p"], [[{"nodes": nodes, "edges": [edge]}]])
    assert text == "p\n(:A {})<-[:R {}]-(:B {})"
