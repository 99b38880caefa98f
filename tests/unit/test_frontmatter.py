"""Front matter: where it ends, what it means, what it may not overwrite (case 25)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.ingest.document import RESERVED_PROPERTIES
from graph_agent.ingest.frontmatter import safe_metadata, split_frontmatter


def read(yaml: str) -> dict[str, object]:
    found = split_frontmatter(f"---\n{yaml}\n---\nbody")
    assert found.error is None
    return dict(found.metadata)


def test_yaml_scalars_and_lists() -> None:
    assert read('title: "Colon: in title"\ntags: [a, 2, true]\n# comment\ndate: 2024-01-02\neip: 20\nx: 1.5\ny: true') == {
        "title": "Colon: in title", "tags": ["a", "2", "true"], "date": "2024-01-02", "eip": 20, "x": 1.5, "y": True,
    }  # fmt: skip


def test_yaml_does_not_guess() -> None:
    assert read("country: NO\ntime: 12:30\nzip: 01234\nversion: 1_0\nday: 2020-13-45\nempty:\nnone: ~") == {
        "country": "NO", "time": "12:30", "zip": "01234", "version": "1_0", "day": "2020-13-45",
    }  # fmt: skip


def test_toml() -> None:
    text = '+++\ntitle = "T"\nday = 2024-01-02\nat = 2024-01-02T10:00:00Z\n[extra]\nk = 1\n+++\n\n# Body'
    found = split_frontmatter(text)
    assert found.metadata == {"title": "T", "day": "2024-01-02", "at": "2024-01-02T10:00:00+00:00"}
    assert found.dropped == ("extra",)
    assert text[found.body_start :] == "\n# Body"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("fence", ["---", "..."])
def test_line_ends_and_both_closings(end: str, fence: str) -> None:
    text = end.join(["---", "title: x", fence, "body"])
    found = split_frontmatter(text)
    assert found.metadata == {"title": "x"}
    assert text[found.body_start :] == "body"


def test_broken_yaml_is_no_text_and_no_metadata() -> None:
    text = "---\ntitle: [unclosed\n  bad: : :\n---\n# Body"
    found = split_frontmatter(text)
    assert found.metadata == {}
    assert found.error is not None
    assert "not valid YAML" in found.error
    assert text[found.body_start :] == "# Body"


@pytest.mark.parametrize(
    "text",
    [
        "---\n\n# First\n\ntext\n\n---\n\n## Second",
        "---\nFoo\n---\nBar\n---\nBaz\n",
        "---\nNote: prose here.\n\nMore prose.\n---\nx",
        "---\n- a\n- b\n---\n",
        "---\n---\n",
        "---\ntitle: never closed\n",
        " ---\ntitle: x\n---\n",
        "text\n---\ntitle: x\n---\n",
        "+++\n",
        "",
    ],
)
def test_what_is_no_front_matter(text: str) -> None:
    assert split_frontmatter(text).body_start == 0
    assert split_frontmatter(text).metadata == {}


@pytest.mark.parametrize(
    "yaml",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: &a {k: v}\nb: {<<: *a}",
        "a: " + "[" * 30_000,
        "a: !!python/object/apply:os.system [ls]",
        "a: !custom x",
    ],
)
def test_bombs_and_foreign_objects_are_refused(yaml: str) -> None:
    started = time.monotonic()
    found = split_frontmatter(f"---\n{yaml}\n---\nbody")
    assert found.metadata == {}
    assert found.error is not None
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("filler", [" ", "\n", "a: b\n", "- ", "---", "a", '"'])
def test_long_openings_take_linear_time(filler: str) -> None:
    started = time.monotonic()
    split_frontmatter("---\nk" + filler * 100_000)
    split_frontmatter("+++\nk" + filler * 100_000)
    assert time.monotonic() - started < 1


def test_front_matter_over_the_cap_stays_text() -> None:
    text = "---\ntitle: x\nlong: " + "y" * 70_000 + "\n---\nbody"
    assert split_frontmatter(text).body_start == 0


def test_reserved_names_cannot_overwrite_ours() -> None:
    raw = read("text: evil\nembedding: [1, 2]\ncontent_hash: x\nauthor: me\ntitle: T\ndate: 2024-01-02")
    safe = safe_metadata(raw)  # type: ignore[arg-type]
    assert not RESERVED_PROPERTIES & safe.keys()
    assert safe == {
        "fm_text": "evil", "fm_embedding": ["1", "2"], "fm_content_hash": "x", "author": "me", "fm_date": "2024-01-02",
    }  # fmt: skip


def test_values_that_the_graph_refuses_are_made_harmless() -> None:
    raw = read(
        'a: 99999999999999999999\nb: 1e999\nc: "\\0x"\n"back`tick": 1\n"tab\\tkey": 2\n1: one\nnull: x'
    )
    safe = safe_metadata(raw)  # type: ignore[arg-type]
    assert safe["a"] == "99999999999999999999"
    assert safe["b"] == "inf"
    assert safe["c"] == "\ufffdx"
    assert {"back_tick", "tab_key", "1"} <= safe.keys()


def test_two_keys_that_get_the_same_name_are_both_kept() -> None:
    assert sorted(map(str, safe_metadata({"text": "a", "fm_text": "b"}).values())) == ["a", "b"]


metadata = st.dictionaries(
    st.text(max_size=20),
    st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text())),
    max_size=20,
)


@given(metadata)
def test_safe_metadata_is_always_storable(raw: dict[str, object]) -> None:
    for key, value in safe_metadata(raw).items():  # type: ignore[arg-type]
        assert key
        assert key not in RESERVED_PROPERTIES
        assert "`" not in key
        assert "\x00" not in key + str(value)
        (key + str(value)).encode()
        if isinstance(value, int):
            assert -(2**63) <= value < 2**63
        if isinstance(value, float):
            assert abs(value) < float("inf")


@given(st.text())
def test_never_fails_and_the_body_is_a_suffix(text: str) -> None:
    found = split_frontmatter(text)
    assert 0 <= found.body_start <= len(text)
    found = split_frontmatter("---\n" + text + "\n---\n")
    assert found.body_start >= 0
