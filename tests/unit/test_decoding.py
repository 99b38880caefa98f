"""Bytes to text: marks, encodings, binary data, characters that the graph refuses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.decoding import clean_text, decode, line_starts

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "parser_files" / "corpus"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"sample files are not at {DATA}")

GERMAN = "Die Prüfung der Verträge für das Geschäftsjahr ergab größere Abweichungen."
FRENCH = "L'été dernier, la société a présenté ses résultats à l'assemblée générale."
SPANISH = "El niño señaló que la reunión será mañana a las diez; ¿quién asistirá?"
POLISH = "Zażółć gęślą jaźń. Spółka przedstawiła wyniki za rok obrotowy."
CZECH = "Společnost představila výsledky za uplynulý rok, ve kterém vzrostly příjmy."
TURKISH = "Şirket geçen yılın sonuçlarını ortaklarına açıkladı ve bütçeyi görüştü."
RUSSIAN = "Совет директоров утвердил отчёт о результатах деятельности компании за прошлый год."
GREEK = "Η εταιρεία παρουσίασε τα αποτελέσματα της χρονιάς στους μετόχους της."
HEBREW = "החברה הציגה את תוצאות השנה לבעלי המניות שלה בישיבה השנתית."
ARABIC = "عرضت الشركة نتائج السنة على المساهمين في الاجتماع السنوي العام."
JAPANESE = "会社は昨年の業績を株主総会で発表しました。売上高は前年より増加しています。"
CHINESE = "公司在年度股东大会上公布了去年的业绩，营业收入比上年有所增长。"
TAIWANESE = "公司在年度股東大會上公布了去年的業績，營業收入比上年有所增長。"
KOREAN = "회사는 주주총회에서 지난해 실적을 발표했다. 매출은 전년보다 증가했다."
THAI = "บริษัทได้ประกาศผลประกอบการของปีที่ผ่านมาต่อที่ประชุมผู้ถือหุ้น"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (GERMAN, "latin-1"), (GERMAN, "cp1252"), (FRENCH, "latin-1"), (SPANISH, "cp1252"), (POLISH, "cp1250"),
        (POLISH, "iso8859_2"), (CZECH, "cp1250"), (TURKISH, "cp1254"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"),
        (GREEK, "cp1253"), (HEBREW, "cp1255"), (ARABIC, "cp1256"), (JAPANESE, "cp932"), (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"), (CHINESE, "gb18030"), (TAIWANESE, "big5"), (KOREAN, "cp949"), (THAI, "cp874"),
        ("It’s a “quoted” text – with dashes… and €5", "cp1252"), ("## können\n\näöüß\n", "latin-1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("repeats", [1, 50])
def test_old_code_pages_are_recognised(text: str, codec: str, repeats: int) -> None:
    whole = "\n".join([text] * repeats)
    assert decode(whole.encode(codec)).text == whole


@pytest.mark.parametrize(
    "codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_unicode_encodings_with_and_without_mark(codec: str) -> None:
    text = "# Überschrift\r\n\r\nplain text that goes on for a while, and a 表\r\n"
    decoded = decode(text.encode(codec))
    assert decoded.text == text
    assert not decoded.warning


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_mark_needs_no_ascii(codec: str) -> None:
    assert decode(("\ufeff" + CHINESE).encode(codec)).text == CHINESE


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), min_size=1)
)
def test_utf_8_round_trip(text: str) -> None:
    data = text.encode()
    try:
        assert decode(data).text == text
    except UnreadableFile:
        controls = sum(1 for char in text if ord(char) < 32 or char == "\x7f")
        assert controls > 1, "only text with control characters may be refused"


@given(st.binary(max_size=300))
def test_never_a_nul_or_lone_surrogate_and_never_another_error(data: bytes) -> None:
    try:
        text = decode(data).text
    except UnreadableFile:
        return
    assert "\x00" not in text
    text.encode("utf-8")  # fails on a lone surrogate


def test_nul_bytes_inside_text_are_replaced_in_place() -> None:
    decoded = decode(b"# A\x00B\n\nsome more text that is quite harmless\n")
    assert decoded.text.startswith("# A\ufffdB\n")
    assert "replaced" in decoded.warning


def test_broken_utf_8_keeps_what_is_whole() -> None:
    data = "äöü ÄÖÜ ß é è".encode() + b" \xff"
    assert decode(data).text == "äöü ÄÖÜ ß é è \ufffd"
    assert "1 bytes" in decode(data).warning


def test_a_mark_before_something_else_is_not_believed() -> None:
    assert decode(b"\xef\xbb\xbf" + GERMAN.encode("cp1252")).text == GERMAN


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 4,
        random.Random(1).randbytes(4_000),
        b"\xff\xfe" + random.Random(2).randbytes(4_000),
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        b"text" + bytes(100),
    ],
)
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="binary"):
        decode(data)


def test_clean_text_keeps_every_offset() -> None:
    assert clean_text("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert clean_text("fine \U0001f600") == "fine \U0001f600"


def test_lines_end_at_newlines_only() -> None:
    text = "a\nb\r\nc\rd\x0ce\u2028f\x85g\x0bh\u2029i"
    assert [text[start : start + 1] for start in line_starts(text)] == ["a", "b", "c", "d"]


@needs_data
@pytest.mark.parametrize(
    ("name", "encoding", "holds"),
    [
        ("md/unstructured__umlauts-non-utf8.md", "cp1252", "## können"),
        ("csv/markitdown__test_mskanji.csv", "cp932", "佐藤太郎"),
        ("html/unstructured__fake-html-cp1252.html", "cp1252", "köstlich"),
        ("txt/unstructured__fake-text-utf-16-le.txt", "utf-16-le", "This is a test document"),
        ("txt/unstructured__fake-text-utf-32.txt", "utf-32-le", "This is a test document"),
        ("made/utf16be_bom.md", "utf-16-be", "Überschrift"),
    ],
)
def test_sample_files(name: str, encoding: str, holds: str) -> None:
    decoded = decode((DATA / name).read_bytes())
    assert decoded.encoding == encoding
    assert holds in decoded.text


@needs_data
@pytest.mark.parametrize(
    "name", ["bin/markitdown__random.bin", "xls/markitdown__test.xls", "doc/unstructured__fake.doc"]
)
def test_sample_binaries_are_refused(name: str) -> None:
    with pytest.raises(UnreadableFile):
        decode((DATA / name).read_bytes())
