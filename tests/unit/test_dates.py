"""A document's date: from the right place, never guessed, never from the body (issue: dates)."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.ingest.dates import document_date


def found(
    metadata: dict[str, object] | None = None, text: str = "", name: str = ""
) -> tuple[str | None, str | None]:
    return document_date(metadata or {}, text, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2024-01-02", "2024-01-02"), ("2024-01-02T10:00:00+02:00", "2024-01-02"), ("2024-1-5 10:00:00 +0200", "2024-01-05"),
        ("March 5, 2024", "2024-03-05"), ("Tue, 5 Mar 2024 10:11:12 +0100", "2024-03-05"), (20240305, "2024-03-05"),
        ("5. März 2024", "2024-03-05"), ("5 de marzo de 2024", "2024-03-05"), ("2024年3月5日", "2024-03-05"), ("31/12/2023", "2023-12-31"),
        ("12/31/2023", "2023-12-31"), ("05.05.2024", "2024-05-05"), (2021, "2021-01-01"), ("2021-03", "2021-03-01"),
        ("03/04/2024", None), ("soon", None), ("2024-13-45", None), ("", None), (True, None), (["2024-01-02"], None), (7, None),
    ],
)  # fmt: skip
def test_front_matter(value: object, date: str | None) -> None:
    assert found({"date": value}) == (date, "front_matter" if date else None)


def test_front_matter_keys_have_an_order() -> None:
    assert (
        found({"updated": "2024-05-05", "Created": "2020-01-01", "published": "2021-01-01"})[0]
        == "2021-01-01"
    )
    assert found({"last-modified": "2024-05-05"})[0] == "2024-05-05"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("# Title\n\nDate: 5 March 2024\n\ntext", "2024-03-05"), ("# T\n\n**Date:** January 5, 2024", "2024-01-05"),
        ("# T\n\n*5. März 2024*\n", "2024-03-05"), ("Stand: 15.03.2024", "2024-03-15"), ("Published on March 5th, 2024", "2024-03-05"),
        ("日期：2024年3月5日", "2024-03-05"), ("| Date | 2024-03-05 |", "2024-03-05"), ("Last updated 2024-03-05 14:00", "2024-03-05"),
        ("Date: Mon, 5 Mar 2024 10:00:00 +0000 (UTC)", "2024-03-05"), ("# T\r\rDate: 2024-01-02\r", "2024-01-02"),
        ("Stand: 05.03.2024", None), ("# T\n\nOn 5 March 2024 we met.\n", None), ("Date of birth: 1990-01-01", None),
        ("Due date: 2024-01-01", None), ("x\n" * 20 + "Date: 2024-01-01", None), ("# 2024 in review", None),
        ("```\nDate: 2024-01-01\n```", None), ("From 2024-01-01 to 2024-02-01", None), ("Date: 2024-01-01 to 2024-02-01", None),
        ("# T\n\nThe deadline moved.\n\n2024-01-01 was a holiday, and the date was kept.\n", None),
    ],
)  # fmt: skip
def test_date_line(text: str, date: str | None) -> None:
    assert found(text=text) == (date, "date_line" if date else None)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("report-2024-03-05.pdf", "2024-03-05"), ("2024_3_5 Protokoll.md", "2024-03-05"), ("2024.03.05.md", "2024-03-05"),
        ("31-12-2023 minutes.docx", "2023-12-31"), ("13.02.2024 Bericht.pdf", "2024-02-13"), ("12-31-2023.txt", "2023-12-31"),
        ("20240305_notes.md", "2024-03-05"), ("IMG_20240305103000.md", "2024-03-05"), ("20240305T1030.md", "2024-03-05"),
        ("notes 5 March 2024.md", "2024-03-05"), ("5-Mar-2024.md", "2024-03-05"), ("Minutes of March 5, 2024.docx", "2024-03-05"),
        ("2024 March 5.md", "2024-03-05"), ("2024-03-05/2024-03-06.md", "2024-03-06"), ("会议 2024年3月5日.md", "2024-03-05"),
        ("05-03-2024.txt", None), ("2024-01-01_2024-03-31.md", None), ("20241305.md", None), ("12345678.md", None),
        ("2024-01-01/x.md", None), ("v2.10.2023.md", None), ("abc20240305def.md", None), ("1202403051.md", None), ("2024.md", None),
        ("4512-10-11.md", None), ("0203-04-05.md", None), ("IMG_1234.md", None), ("q3-2024.md", None),
    ],
)  # fmt: skip
def test_filename(name: str, date: str | None) -> None:
    assert found(name=name) == (date, "filename" if date else None)


def test_order_of_sources() -> None:
    text, name = "Date: 2022-02-02", "x 2023-03-03.md"
    assert document_date({"date": "2021-01-01"}, text, name, 0.0) == ("2021-01-01", "front_matter")
    assert document_date({"date": "?"}, text, name, 0.0) == ("2022-02-02", "date_line")
    assert document_date({}, "", name, 0.0) == ("2023-03-03", "filename")
    assert document_date({}, "", "x", 1_709_640_000.0) == ("2024-03-05", "file_time")
    assert document_date({}, "", "x", 1e30) == (None, None)
    assert document_date({}, "", "x") == (None, None)


def test_properties_of_office_files_come_after_the_filename() -> None:
    properties: dict[str, object] = {"created": "D:20200101120000+01'00'"}
    assert document_date(properties, "", "x 2023-03-03.pdf", media_type="application/pdf") == (
        "2023-03-03",
        "filename",
    )  # type: ignore[arg-type]
    assert document_date(properties, "", "x.pdf", 0.0, media_type="application/pdf") == (
        "2020-01-01",
        "properties",
    )  # type: ignore[arg-type]


@given(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)))
def test_written_dates_are_read_back(date: dt.date) -> None:
    iso = date.isoformat()
    for form in (
        iso,
        f"{date:%Y%m%d}",
        f"{date.day} {date:%B} {date.year}",
        f"{date:%B} {date.day}, {date.year}",
    ):
        assert found({"date": form})[0] == iso
        assert found(name=f"x {form}.md")[0] == iso
    assert found(text=f"Date: {date:%A}, {date.day} {date:%b} {date.year}")[0] == iso
    assert found(name=f"{date:%d-%m-%Y}.md")[0] in (iso, None)


@given(st.text(max_size=200), st.text(max_size=60))
def test_never_fails(text: str, name: str) -> None:
    date, source = document_date({"date": text, "created": name}, text, name)
    assert (date is None) == (source is None)
    if date:
        dt.date.fromisoformat(date)


@pytest.mark.parametrize("unit", ["1", "1 ", "1-", "1.", "5 may", "-", " ", "a", "Date: ", "2024-"])
def test_linear_time(unit: str) -> None:
    started = time.process_time()
    found({"date": unit * 5_000}, unit * 5_000, unit * 5_000)
    assert time.process_time() - started < 2
