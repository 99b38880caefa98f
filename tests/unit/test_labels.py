"""classify.toml: resolution in its order, and every fault named with file and line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.errors import ConfigurationError
from graph_agent.ingest.labels import Classification, load_classification, parse_classification
from graph_agent.ingest.toml_lines import key_lines, nearest_line

TEXT = """# labels of our corpus
[facets.kind]
question = "What kind of document is this?"
within = ["reports/", "./minutes"]
default = "other"

[facets.kind.values.annual]
description = \"\"\"An annual report.
[facets.not_a_table]
x = 1\"\"\"
paths = [
  "reports/annual/**", # ] "
  "**/*-annual.pdf",
]
match = { type = "Annual", status = ["final", "draft"] }

[facets.kind.values."board minutes"]
paths = "minutes"
match.type = "minutes"

[facets.kind.values.other]

[facets.confidential]
model = true
values.yes = { match = { draft = true } }
values.no.paths = ["public/**", "public/press/*.md"]
"""


def resolved(path: str, **metadata: object) -> dict[str, tuple[str | None, str]]:
    labels = parse_classification(TEXT).resolve(path, metadata)  # type: ignore[arg-type]
    return {facet: (found.value, found.source) for facet, found in labels.items()}


def test_the_parts_of_a_file() -> None:
    kind, confidential = parse_classification(TEXT).facets
    assert kind.question == "What kind of document is this?"
    assert kind.within == ("reports", "minutes")
    assert [value.name for value in kind.values] == ["annual", "board minutes", "other"]
    assert kind.values[0].description.startswith("An annual report.")
    assert (kind.default, kind.model) == ("other", False)
    assert (confidential.default, confidential.model) == (None, True)


@pytest.mark.parametrize(
    ("path", "metadata", "expected"),
    [
        ("reports/annual/2024/a.md", {}, ("annual", "path")),
        ("reports/x-annual.pdf", {}, ("annual", "path")),
        ("minutes/deep/down/a.md", {}, ("board minutes", "path")),
        ("minutes/2024-annual.pdf", {}, ("annual", "path")),
        ("reports/a.md", {"type": "annual", "status": "FINAL"}, ("annual", "front_matter")),
        ("reports/a.md", {"Type": ["x", " annual "], "STATUS": "draft"}, ("annual", "front_matter")),
        ("reports/a.md", {"type": "annual"}, ("other", "default")),
        ("reports/a.md", {"type": "minutes"}, ("board minutes", "front_matter")),
        ("reports/annual/a.md", {"type": "minutes"}, ("annual", "path")),
        ("reports/a.md", {}, ("other", "default")),
        ("reports2/annual/a.md", {}, None),
        ("a/reports/annual/a.md", {}, None),
    ],
)
def test_resolution(path: str, metadata: dict[str, object], expected: tuple[str, str] | None) -> None:
    assert resolved(path, **metadata).get("kind") == expected


def test_what_the_rules_leave_open_is_left_to_the_model_or_to_nobody() -> None:
    assert resolved("x.md")["confidential"] == (None, "model")
    assert resolved("x.md", draft=True)["confidential"] == ("yes", "front_matter")
    assert resolved("x.md", draft="true")["confidential"] == ("yes", "front_matter")
    assert resolved("public/press/a.md")["confidential"] == ("no", "path")
    found = parse_classification("[facets.a.values.v]\n").resolve("x", {})
    assert (found["a"].value, found["a"].source) == (None, "none")


def test_the_longest_pattern_wins_then_the_first() -> None:
    text = '[facets.f.values.a]\npaths = ["x/**"]\n[facets.f.values.b]\npaths = ["x/y/**"]\n[facets.f.values.c]\npaths = ["x/*/z.md"]\n'
    found = parse_classification(text)
    assert found.resolve("x/q.md", {})["f"].value == "a"
    assert found.resolve("x/y/q.md", {})["f"].value == "b"
    assert found.resolve("x/y/z.md", {})["f"].value == "c"
    equal = '[facets.f.values.a]\npaths = ["x/*.md"]\n[facets.f.values.b]\npaths = ["x/?.md"]\n'
    assert parse_classification(equal).resolve("x/q.md", {})["f"].value == "a"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x = 1\n", 1, "unknown key 'x'"),
        ('[facets.a]\n\nquestoin = "x"\n[facets.a.values.v]\n', 3, "Did you mean 'question'"),
        (
            "[facets.a.values.v]\n\n[facets.a.values.w]\ncolour = 1\n",
            4,
            "unknown key 'colour' in [facets.a.values.w]",
        ),
        ("[facets.a]\n[facets.a.values.v]\n\n[facets.a.values.v]\n", 4, "duplicate"),
        ("[facets.a.values.v]\n[facets.a.values.V]\n", 2, "duplicate value 'V'"),
        ("[facets.a.values.v]\n[facets.A.values.v]\n", 2, "duplicate facet 'A'"),
        ('[facets.a.values.v]\n\n\npaths = ["[a"]\n', 4, "bad glob '[a'"),
        ('[facets.a.values.v]\npaths = ["a", "../b"]\n', 2, "leads out"),
        ('[facets.a.values.v]\npaths = [""]\n', 2, "empty"),
        ('[facets.a.values.v]\npaths = ["!x"]\n', 2, "begins with '!'"),
        ('[facets.a.values.v]\npaths = ["a\\\\b"]\n', 2, "parted by '/'"),
        (
            '[facets.a.values.v]\npaths = ["x"]\n[facets.a.values.w]\n# c\npaths = ["x"]\n',
            5,
            "both 'v' and 'w'",
        ),
        ('[facets.a]\ndefault = "vv"\n[facets.a.values.v]\n', 2, "default 'vv' is no value"),
        ("[facets.a]\n", 1, "has no values"),
        ('[facets.a]\nmodel = "yes"\n[facets.a.values.v]\n', 2, "must be true or false"),
        ('[facets.a]\nwithin = ["x/*"]\n[facets.a.values.v]\n', 2, "wants folders"),
        ("[facets.a]\nwithin = 3\n[facets.a.values.v]\n", 2, "list of texts"),
        ("[facets.a.values.v]\nmatch = 1\n", 2, "must be a table"),
        ("[facets.a.values.v]\nmatch = { x = [] }\n", 2, "'match' wants"),
        ("facets = 3\n", 1, "must be a table"),
        ("[facets.a\n", 1, "Expected"),
        ('[facets.a]\nx = """\n', 3, "Unterminated"),
        ("[facets.a]\r\n\r\nquestion = 1\r\n[facets.a.values.v]\r\n", 3, "must be text"),
        ('[facets.a.values."a\\nb"]\n', 1, "cannot be a name"),
    ],
)
def test_faults_are_named_with_file_and_line(text: str, line: int, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_classification(text, "corpus/classify.toml")
    assert str(caught.value).startswith(f"corpus/classify.toml:{line}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_further_faults_are_counted() -> None:
    with pytest.raises(ConfigurationError, match=r":2: .*\(2 more\)"):
        parse_classification("[facets.a]\nb = 1\nc = 2\nd = 3\n[facets.a.values.v]\n")


def test_files(tmp_path: Path) -> None:
    assert load_classification(tmp_path) == Classification()
    assert load_classification(tmp_path).resolve("x", {}) == {}
    file = tmp_path / "classify.toml"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert load_classification(tmp_path) == parse_classification(TEXT)
    file.write_bytes(b"# one\n# two \xff\n")
    with pytest.raises(ConfigurationError, match=r"classify\.toml:2: not UTF-8"):
        load_classification(tmp_path)
    file.write_text(TEXT.replace("default", "defualt"))
    with pytest.raises(ConfigurationError, match=r"classify\.toml:5: unknown key 'defualt'.*'default'"):
        load_classification(tmp_path)


def test_lines_of_keys() -> None:
    text = 'a = """\n[x]\n"""\n"q.r" = \'\'\'\nb = 1\n\'\'\'\n# [y]\n[t."u v".w]\nk = [\n  { z = "]" },\n]\nl.m = 1\n[[list]]\nn = 2\n'
    lines = key_lines(text)
    assert lines == {
        ("a",): 1, ("q.r",): 4, ("t",): 8, ("t", "u v"): 8, ("t", "u v", "w"): 8, ("t", "u v", "w", "k"): 9,
        ("t", "u v", "w", "l"): 12, ("t", "u v", "w", "l", "m"): 12, ("list",): 13, ("list", "n"): 14,
    }  # fmt: skip
    assert nearest_line(lines, ("t", "u v", "w", "k", "z")) == 9
    assert nearest_line(lines, ("nowhere",)) == 1


@given(st.text(alphabet="[]{}=\"'.#\n ab_-,1", max_size=80))
def test_never_another_error(text: str) -> None:
    with contextlib.suppress(ConfigurationError):
        parse_classification(text)
