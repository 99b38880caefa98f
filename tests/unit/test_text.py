"""Text analysis: the same terms for the same words, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.text import (
    STOP_WORDS,
    detect_language,
    estimate_tokens,
    fold,
    numbers,
    passage_text,
    query_terms,
    same_number,
    shorten_breadcrumb,
    terms,
    tokens,
    words,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("München", "Mu\u0308nchen"),
        ("MÜNCHEN", "munchen"),
        ("Straße", "STRASSE"),
        ("ﬁnal", "final"),
        ("ＡＢＣ１２", "abc12"),
        ("الكِتَاب", "الكتاب"),
        ("שָׁלוֹם", "שלום"),
        ("Донaуэ́", "донaуэ"),
        ("soft\u00adhyphen", "softhyphen"),
        ("Ελλάδα", "ελλαδα"),
        ("ﾃｽﾄ", "テスト"),
    ],
)
def test_fold_makes_equal_what_reads_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("мои", "мой"), ("हिन्दी", "हन्द"), ("か", "が"), ("resume", "resumed"), ("1.5", "15")]
)
def test_fold_keeps_apart_what_differs(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text(max_size=200))
def test_fold_is_stable_and_encodable(text: str) -> None:
    once = fold(text)
    assert fold(once) == once
    once.encode("utf-8")


def test_fold_takes_surrogates_and_nul() -> None:
    assert fold("a\ud800b\x00C").split() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("EIP-1559", {"eip1559", "eip", "1559"}),
        ("EIP1559", {"eip1559", "eip", "1559"}),
        ("std::vector<int>", {"stdvector", "std", "vector", "int"}),
        ("Q3-2024", {"q3.2024", "q3", "2024"}),
        ("a/b", {"ab", "a", "b"}),
        ("snake_case", {"snake", "case"}),
        ("bob@example.com", {"bobexamplecom", "bob", "com"}),
        ("FY2018", {"fy2018", "fy", "2018"}),
        ("getStorageAt", {"getstorageat", "get", "at"}),
        ("32,000", {"32000"}),
        ("v1.2", {"v1.2"}),
        ("C++ and C#", {"c++", "c#", "c"}),
        ("Rollo's", {"rollo"}),
        ("现金流量表", {"现金", "金流", "流量", "量表"}),
        ("水", {"水"}),
        ("한국어", {"한국", "국어"}),
        ("東京タワー", {"東京", "京タ", "ワー"}),
    ],
)
def test_terms_hold_wholes_and_parts(text: str, wanted: set[str]) -> None:
    assert wanted <= set(terms(text, "en"))


def test_numbers_with_and_without_a_point_are_different_terms() -> None:
    assert "15" not in terms("1.5")
    assert "1.5" not in terms("15")


def test_hashes_are_not_taken_apart() -> None:
    assert terms("0x3f2a9b1c") == ["0x3f2a9b1c"]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "running", "runs"),
        ("de", "Häusern", "Haus"),
        ("de", "München", "Muenchen"),
        ("fr", "mangés", "manges"),
        ("ru", "большой", "большая"),
        ("es", "canciones", "canción"),
    ],
)
def test_stems_meet(language: str, one: str, other: str) -> None:
    assert terms(one, language) == terms(other, language)


def test_unknown_language_is_not_stemmed() -> None:
    assert terms("running", "xx") == ["running"]


def test_query_terms_drop_stop_words_unless_nothing_else_is_there() -> None:
    assert query_terms("what is the cash flow?") == ["cash", "flow"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert query_terms("the") == ["the"]
    assert query_terms("Wie hoch ist die Rendite?", stemmed="de") == ["hoch", "rendit"]


@pytest.mark.parametrize("text", ["", "  ", "\x00", "\ud800", "🎉🎉", "_", "| |", '()_"', "->", "\u200b"])
def test_nothing_to_look_up_gives_no_terms(text: str) -> None:
    assert terms(text) == []
    assert query_terms(text) == []


@given(st.text(max_size=120), st.sampled_from(["en", "de", "zh", "ar", "xx"]))
@settings(max_examples=300)
def test_tokens_cover_the_same_terms_and_lie_in_the_text(text: str, language: str) -> None:
    found = list(tokens(text, language))
    for token in found:
        assert 0 <= token.start < token.end <= len(text)
    assert sorted(term for token in found for term in token.terms) == sorted(terms(text, language))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which player was criticised for not jumping?", "en"),
        ("Welcher Spieler wurde kritisiert, weil er nicht sprang?", "de"),
        ("Quel est le rendement de cette année ?", "fr"),
        ("¿Dónde está la biblioteca de la ciudad?", "es"),
        ("Quanto costa il biglietto per la funicolare?", "it"),
        ("Hoeveel kost het kaartje voor de boot?", "nl"),
        ("哪位球员因为没有冲进人堆里重新接球而受到批评？", "zh"),
        ("これは東京のペンです", "ja"),
        ("한국의 수도는 어디입니까", "ko"),
        ("Сколько стоит билет на корабль", "ru"),
        ("Скільки коштує квиток і хто його має", "uk"),
        ("كم سعر التذكرة إلى المدينة", "ar"),
        ("12345 ___", "und"),
    ],
)
def test_detect_language(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_code_does_not_decide_the_language() -> None:
    text = (
        "Der Wert wird so gelesen:\n```\nfor x in the_list: if x is not None and x in that: return x\n```\n"
    )
    assert detect_language(text) == "de"


def test_stop_words_are_folded() -> None:
    assert "fur" in STOP_WORDS["de"]
    assert STOP_WORDS["xx"] == frozenset()


def test_words_keep_indic_vowel_signs() -> None:
    assert words("नमस्ते, दुनिया!") == ["नमस्ते", "दुनिया"]


@pytest.mark.parametrize(
    ("text", "low", "high"), [("", 0, 0), ("a", 1, 1), ("word " * 100, 100, 150), ("现金流量" * 10, 40, 40)]
)
def test_estimate_tokens(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


def test_breadcrumb_keeps_both_ends() -> None:
    trail = shorten_breadcrumb(["Report", "report", *("middle " * 12 for _ in range(5)), "Own title"])
    assert trail[0] == "Report"
    assert trail[-1] == "Own title"
    assert sum(map(len, trail)) <= 240
    assert passage_text(["A", "B\n C"], "text") == "A > B C\ntext"
    assert passage_text([], "text") == "text"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234.5", [1234.5]),
        ("1.234,5", [1234.5]),
        ("1 234,5", [1234.5]),
        ("1'234.50", [1234.5]),
        ("12 %", [0.12]),
        ("12.5 percent", [0.125]),
        ("a loss of (123)", [-123.0]),
        ("-5 and \u22125", [-5.0, -5.0]),
        ("3.2 million", [3.2e6]),
        ("$4bn", [4e9]),
        ("5 Mio. Euro, 3 Mrd.", [5e6, 3e9]),
        ("3万", [30000.0]),
        ("1e-5", [1e-5]),
        ("2024-01-31", [2024.0, 1.0, 31.0]),
        ("10-12", [10.0, 12.0]),
        ("none", []),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers(text)] == values


def test_number_places_and_readings() -> None:
    found = numbers("costs $1,500 today")[0]
    assert "costs $1,500 today"[found.start : found.end] == found.text == "$1,500"
    assert set(numbers("1.234")[0].readings) == {1.234, 1234.0}
    assert same_number(numbers("1.234")[0], numbers("1,234")[0])
    assert same_number(numbers("12 %")[0], numbers("12")[0])
    assert not same_number(numbers("12 %")[0], numbers("13")[0])


@given(st.text(alphabet="0123456789.,%() -+eEkmbn'\u00a0", max_size=60))
def test_numbers_never_raise(text: str) -> None:
    for number in numbers(text):
        assert 0 <= number.start < number.end <= len(text)
