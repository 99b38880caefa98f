"""Chunks: within the window, cut at good places, nothing lost, tables with their headers."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.embeddings import local_tokenizer
from graph_agent.ingest.boundaries import is_grapheme_break
from graph_agent.ingest.chunks import chunk_section, fit_breadcrumb
from graph_agent.ingest.convert.text import convert_text
from graph_agent.ingest.document import Chunk, Section
from graph_agent.ingest.sections import section_tree
from graph_agent.ingest.tokens import measure
from graph_agent.text import passage_text
from graph_agent.text.sentences import sentences

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def tokenize(text: str) -> Sequence[tuple[int, int]]:
    """The default embedding model's own tokens."""
    return local_tokenizer().encode(text, add_special_tokens=False).offsets


def section(text: str, *breadcrumb: str, line: int = 1, start: int = 0) -> Section:
    return Section(
        0,
        "T",
        1,
        "heading",
        text,
        start,
        start + len(text),
        line,
        None,
        None,
        None,
        breadcrumb or ("Doc", "T"),
    )


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def check(made: Section, size: int, overlap: int = 0) -> list[Chunk]:
    """Chunk, and check what holds for all text: exact limits, nothing blank, no word lost, slices."""
    chunks = chunk_section(made, tokenize, size, overlap)
    breadcrumb = fit_breadcrumb(made.breadcrumb, tokenize, size)
    assert bool(chunks) == bool(made.text.strip())
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.text.strip()
        assert chunk.token_count == len(tokenize(passage_text(breadcrumb, chunk.text)))
        assert chunk.token_count <= max(size, 16)
        own = made.text[chunk.start - made.start :]
        body = chunk.text if own.startswith(chunk.text) else chunk.text[-len(chunk.text.splitlines()[-1]) :]
        assert body in made.text
        assert chunk.start_line == made.start_line + len(
            re.findall(r"\r\n?|\n", made.text[: chunk.start - made.start])
        )
    return chunks


def texts(made: Section, size: int, overlap: int = 0) -> list[str]:
    return [chunk.text for chunk in check(made, size, overlap)]


SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank today. "
SENTENCE_TOKENS = len(tokenize(SENTENCE))


def test_a_short_section_is_one_chunk_as_it_stands() -> None:
    assert texts(section("\n\n## T\n\nsome text\n\n"), 64) == ["## T\n\nsome text"]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n"])
def test_blank_text_has_no_chunk(text: str) -> None:
    assert check(section(text), 64) == []


def test_the_breadcrumb_counts() -> None:
    text = "word " * 50
    assert len(check(section(text, "A"), 60)) == 1
    assert len(check(section(text, "A", "a rather long title of a section that takes up room"), 60)) == 2


def test_a_breadcrumb_that_would_fill_the_window_is_shortened() -> None:
    long = ("书名" * 60, "中间" * 60, "一个很长的章节标题" * 20)
    fitted = fit_breadcrumb(long, tokenize, 60)
    assert len(tokenize(passage_text(fitted, ""))) <= 20
    check(section("内容。" * 200, *long), 60)
    assert fit_breadcrumb(("Doc", "A", "B"), tokenize, 60) == ("Doc", "A", "B")
    assert fit_breadcrumb(("x" * 5_000,), tokenize, 60)


def test_paragraphs_stay_whole() -> None:
    paragraph = SENTENCE * 3
    made = "\n\n".join(f"{n} {paragraph.strip()}" for n in range(6)) + "\n"
    chunks = texts(section(made), 2 * 3 * SENTENCE_TOKENS + 12)
    assert all(chunk.endswith("today.") and chunk[0].isdigit() for chunk in chunks)


def test_list_items_stay_whole() -> None:
    made = "".join(f"- item {n}: {SENTENCE}\n" for n in range(20))
    chunks = texts(section(made), 5 * SENTENCE_TOKENS)
    assert len(chunks) > 3
    assert all(chunk.startswith("- item") for chunk in chunks)


def test_a_long_paragraph_is_cut_between_sentences_with_overlap() -> None:
    made = " ".join(f"Sentence number {n} ends here, Mr. Smith." for n in range(60))
    size = 80
    plain = texts(section(made), size)
    assert all(chunk.endswith("Smith.") and chunk.startswith("Sentence") for chunk in plain)
    overlapping = check(section(made), size, 20)
    for one, two in pairwise(overlapping):
        assert two.start < one.start + len(one.text)
        shared = one.text[two.start - one.start :]
        assert shared.startswith("Sentence")
        assert 0 < len(tokenize(shared)) <= 20


def test_no_overlap_between_paragraphs_lists_tables_and_code() -> None:
    made = "\n\n".join([SENTENCE.strip()] * 12 + ["- " + SENTENCE.strip()] * 12)
    made += (
        "\n\n| a |\n|---|\n"
        + f"| {SENTENCE.strip()} |\n" * 10
        + "\n```\n"
        + "code line here.\n" * 60
        + "```\n"
    )
    chunks = check(section(made), 100, 25)
    for one, two in pairwise(chunks):
        assert two.start >= one.start + len(one.text) - len("| a |\n|---|\n")


def test_a_heading_is_not_parted_from_its_text() -> None:
    made = "## T\n\n" + SENTENCE * 30
    assert all(len(chunk) > 60 for chunk in texts(section(made), 100))


def test_code_stays_whole_when_it_fits() -> None:
    code = "```python\n" + "x = call(1)\n\n" * 8 + "```"
    made = f"{SENTENCE * 4}\n\n{code}\n\n{SENTENCE * 4}"
    chunks = texts(section(made), len(tokenize(code)) + 12)
    assert any(chunk.strip() == code for chunk in chunks) or any(code in chunk for chunk in chunks)


def test_code_that_does_not_fit_is_cut_between_lines() -> None:
    code = "```\n" + "".join(f"line_{n} = {n}\n" for n in range(200)) + "```"
    chunks = texts(section(code), 80)
    assert all(re.fullmatch(r"```|line_\d+ = \d+", line) for chunk in chunks for line in chunk.split("\n"))


def test_an_unclosed_fence_is_code_to_the_end() -> None:
    check(section("~~~\n" + "a b c\n\n" * 300), 50)


def test_tables_are_cut_between_rows_and_repeat_their_header() -> None:
    header = "| Name | Amount |\n|------|-------:|\n"
    rows = "".join(f"| row {n} | {n * 1_000} |\n" for n in range(100))
    chunks = texts(section(f"## T\n\nBefore the table.\n\n{header}{rows}\nAfter the table.\n"), 120)
    assert len(chunks) > 5
    in_table = [chunk for chunk in chunks if "row" in chunk]
    assert all(header in chunk for chunk in in_table)
    found = [line for chunk in chunks for line in chunk.split("\n") if line.startswith("| row")]
    assert found == rows.strip().split("\n")


def test_a_repeated_header_does_not_move_the_line() -> None:
    text = "| a | b |\n|---|---|\n" + "| some words | more words |\n" * 60
    chunks = check(section(text, line=10), 60)
    assert chunks[1].text.startswith("| a | b |\n|---|---|\n| some")
    assert chunks[1].start_line == 12 + chunks[0].text.count("| some")


def test_wide_tables_and_long_rows() -> None:
    wide = "|" + " column |" * 200 + "\n|" + "---|" * 200 + "\n" + ("|" + " x |" * 200 + "\n") * 5
    check(section(wide), 100)
    check(section("| a |\n|---|\n| " + SENTENCE * 60 + " |\n"), 100)


def test_a_line_without_blanks_is_cut_hard() -> None:
    for text in ("x" * 20_000, "0123456789abcdef" * 1_500, "a1-b2/" * 4_000):
        chunks = check(section(text), 100)
        assert "".join(chunk.text for chunk in chunks) == text
        assert all(len(chunk.text) <= 1_200 for chunk in chunks)


def test_chinese_and_japanese_are_cut_at_sentence_ends() -> None:
    text = "这是第一句话，内容不多也不少。真的吗？是的！" * 60
    assert all(chunk[-1] in "。？！" for chunk in texts(section(text), 100))


def test_characters_are_never_split() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    for unit in (
        family,
        "e\u0301\u0323",
        "\U0001f1e9\U0001f1ea",
        "\u0915\u094d\u0937\u093f",
        "\u1112\u1161\u11ab",
        "\U0001f44d\U0001f3fd",
    ):
        for chunk in check(section(unit * 700), 40):
            assert len(chunk.text) % len(unit) == 0


def test_grapheme_breaks_agree_with_unicode() -> None:
    regex = pytest.importorskip("regex", reason="the package regex knows UAX 29")
    text = "a\r\nb e\u0301 \U0001f469\u200d\U0001f466 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 \u1100\u1161\u11a8 \u0915\u094d\u0937 \ufe0f"
    for chars in (text, "".join(chr(code) for code in range(0x300, 0x3000)), "\U0001f44d\U0001f3fd" * 3):
        breaks = {match.start() for match in regex.finditer(r"\X", chars)}
        ours = {offset for offset in range(len(chars)) if is_grapheme_break(chars, offset)}
        odd = {unicodedata.category(chars[offset]) for offset in ours - breaks}
        assert odd <= {"Lo", "Cn"}, "only characters newer than this Python's Unicode may be parted"


def test_pages() -> None:
    text = "\n\n".join([SENTENCE * 3] * 10)
    pages = ((0, 3), (700, 4), (1_400, 5))
    chunks = chunk_section(section(text, start=0), tokenize, 80, 0, pages)
    assert [chunk.page for chunk in chunks] == [3 + chunk.start // 700 for chunk in chunks]
    assert {chunk.page for chunk in chunks} == {3, 4, 5}


def test_offsets_from_a_batch_give_the_same() -> None:
    made = section(SENTENCE * 40)
    assert chunk_section(made, tokenize, 80, 20) == chunk_section(
        made, tokenize, 80, 20, offsets=tokenize(made.text)
    )


def test_wordless_pieces_are_no_chunks_of_their_own() -> None:
    made = section("\n\n".join([SENTENCE * 5, "-" * 300, SENTENCE * 5]))
    assert all(any(map(str.isalnum, chunk.text)) for chunk in chunk_section(made, tokenize, 90))
    assert len(check(section("---"), 64)) == 1


def test_many_small_regions_take_linear_time() -> None:
    text = "| a | b |\n|---|---|\n| c | d |\n\n```\nx\n```\n\ntext\n\n" * 6_000
    started = time.process_time()
    assert len(chunk_section(section(text), tokenize, 100, 20)) > 1_000
    assert time.process_time() - started < 15


@pytest.mark.skipif(not (DATA / "parser_files").is_dir(), reason=f"sample files are not at {DATA}")
@pytest.mark.parametrize("size", [32, 220])
def test_sample_files(size: int) -> None:
    for path in sorted((DATA / "parser_files" / "corpus").glob("m*/*.md")):
        if path.stat().st_size > 100_000:
            continue
        converted = convert_text(path.read_bytes(), path.name)
        for made in section_tree(converted, path.name):
            chunks = check(made, size, 10)
            lost = words(made.text) - set().union(*(words(chunk.text) for chunk in chunks))
            assert not {word for word in lost if len(word) < 30}, path.name


pieces = st.lists(
    st.one_of(
        st.sampled_from(
            ["word ", "Sentence one. ", "\n", "\n\n", "\r\n", "- item\n", "  - sub\n", "1. one\n", "```\n", "~~~ py\n", "## H\n",
             "| a | b |\n|---|---|\n", "| c | d |\n", "> quote\n", "这是一句话。", "e\u0301", "\U0001f1e9\U0001f1ea", "\u200d", "x" * 150,
             "http://a.b/c?d=e&f=g ", "\t", "\u3000", "\x0c", "\u2028", "***", "a_b_c ", "$1,234.56 "]
        ),
        st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30),
    ),
    max_size=60,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    pieces, st.integers(16, 120), st.integers(0, 60), st.lists(st.text(max_size=60), min_size=1, max_size=4)
)
def test_whatever_the_text(parts: list[str], size: int, overlap: int, breadcrumb: list[str]) -> None:
    text = "".join(parts)
    made = section(text, *breadcrumb, line=3)
    chunks = check(made, size, overlap)
    covered = [False] * len(text)
    for chunk in chunks:
        own = chunk.text if text.startswith(chunk.text, chunk.start) else chunk.text[-1:]
        end = chunk.start + len(own)
        if own != chunk.text:  # a repeated header stands before the slice
            cut = next(n for n in range(len(chunk.text)) if text.startswith(chunk.text[n:], chunk.start))
            end = chunk.start + len(chunk.text) - cut
        covered[chunk.start : end] = [True] * (end - chunk.start)
        assert is_grapheme_break(text, chunk.start) or not text[: chunk.start].strip()
    left = "".join(char for char, seen in zip(text, covered, strict=True) if not seen)
    assert not any(map(str.isalnum, left))


def test_numbers_with_a_full_stop_are_ordinals_or_ends() -> None:
    text = "Die Sitzung war am 3. Mai 2025. Es kamen 12. Danach war Schluss, max. 5 Euro und 3 Mio. Euro.\n1. Find it. Keep it."
    assert [text[start:end] for start, end in sentences(text)] == [
        "Die Sitzung war am 3. Mai 2025.", "Es kamen 12.", "Danach war Schluss, max. 5 Euro und 3 Mio. Euro.",
        "1. Find it.", "Keep it.",
    ]  # fmt: skip


def test_sentences() -> None:
    text = 'Dr. Smith paid $3.50, e.g. for No. 5. Then he left! "Really?" Yes... no. Ünder J. Doe: i.e. B. 这是。好的！\n\nnew para'
    assert [text[start:end] for start, end in sentences(text)] == [
        "Dr. Smith paid $3.50, e.g. for No. 5.", "Then he left!", '"Really?"', "Yes... no.", "Ünder J. Doe: i.e. B.", "这是。", "好的！",
        "new para",
    ]  # fmt: skip


def test_measuring_many_texts_gives_what_measuring_one_gives() -> None:
    texts = ["", "short", SENTENCE * 1_500, "x" * 120_000, "last", "no blanks 字" * 9_000]
    sizes: list[int] = []

    def tokenize_many(batch: list[str]) -> list[Sequence[tuple[int, int]]]:
        sizes.append(sum(map(len, batch)))
        return [tokenize(text) for text in batch]

    spans = measure(texts, tokenize_many)
    assert [list(found) for found in spans if len(found) < 100] == [
        tokenize("") or [],
        tokenize("short"),
        [*spans[3]],
        tokenize("last"),
    ]
    assert list(spans[2]) == list(tokenize(texts[2]))
    assert spans[2][3:5] == tokenize(texts[2])[3:5]
    assert max(sizes) < 500_000
    for text, found in zip(texts, spans, strict=True):
        assert chunk_section(section(text), tokenize, 64, 10, offsets=found) == chunk_section(
            section(text), tokenize, 64, 10
        )
