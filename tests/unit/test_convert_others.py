"""Transcripts, csv, json, notebooks, mail, e-books and other markups to Markdown."""

from __future__ import annotations

import io
import json
import time
import zipfile

import pytest

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.registry import convert
from graph_agent.ingest.document import Converted


def done(text: str | bytes, name: str) -> Converted:
    return convert(text.encode() if isinstance(text, str) else text, name)


# transcripts ---------------------------------------------------------------------------------------


def test_vtt_windows_and_speakers() -> None:
    found = done(
        "WEBVTT\nLanguage: en-US\n\nNOTE a comment\n\nid1\n00:00:05.000 --> 00:00:08.000 align:start\n<v Ann Lee>Hello <b>there</b>.\n\n"
        "00:08.500 --> 00:10.000\n<v Ann Lee>How are you?</v>\n\n00:01:59.000 --> 00:02:03.000\n<v Bob>Fine &amp; you?\n\n"
        "00:06:00.000 --> 00:06:01.000\nBye.\n",
        "a.vtt",
    )
    assert found.markdown == (
        "[00:00:05] Ann Lee: Hello there. How are you?\n\n[00:01:59] Bob: Fine & you?\n\n[00:06:00] Bye.\n"
    )
    assert [(block.kind, block.title) for block in found.blocks] == [
        ("window", "00:00:00 - 00:02:00"),
        ("window", "00:06:00 - 00:08:00"),
    ]
    assert found.markdown[found.blocks[1].start :] == "[00:06:00] Bye.\n"
    assert found.language == "en-US"
    assert found.metadata == {"duration": "00:06:01", "duration_s": 361, "speakers": ["Ann Lee", "Bob"]}


def test_srt_names_before_colons_and_missing_blank_lines() -> None:
    found = done(
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nMARY: Hi.\r\nSecond line\r\n2\r\n00:02:01,500 --> 00:02:03,000\r\n"
        "{\\an8}<i>Note: lower</i>\r\n\r\n3\r\n01:00:00,000 --> 01:00:01,000\r\nDr. Who: late\r\n",
        "a.srt",
    )
    assert (
        found.markdown
        == "[00:00:01] MARY: Hi. Second line\n\n[00:02:01] Note: lower\n\n[01:00:00] Dr. Who: late\n"
    )
    assert [block.title for block in found.blocks] == [
        "00:00:00 - 00:02:00",
        "00:02:00 - 00:04:00",
        "01:00:00 - 01:02:00",
    ]
    with pytest.raises(UnreadableFile, match="no cue"):
        done("WEBVTT\n\nnothing", "a.vtt")


# tables of characters ------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_delimiters_and_quotes(delimiter: str) -> None:
    rows = [["name", "note"], ["a", '"two\nlines"'], ["b|c", '"x; y, ""z"""']]
    if delimiter == "|":
        rows[2][0] = '"b|c"'
    found = done("\r\n".join(delimiter.join(row) for row in rows), "a.csv")
    assert found.markdown == '| name | note |\n| --- | --- |\n| a | two lines |\n| b\\|c | x; y, "z" |\n'
    assert found.metadata == {"rows": 2, "columns": 2}


def test_csv_ragged_blank_and_broken() -> None:
    assert (
        done("a,b\n1\n\n1,2,3\n", "a.csv").markdown
        == "| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 1 | 2 | 3 |\n"
    )
    with pytest.raises(UnreadableFile, match="blank"):
        done(",,\n,,\n", "a.csv")
    assert "a" in done('a,"b\n' + "x" * 2_000_000, "a.csv").markdown


# data and notebooks --------------------------------------------------------------------------------


def test_json_records_become_a_table_and_keys_headings() -> None:
    value = {
        "title": "Set",
        "rows": [{"a": 1, "b": "x"}, {"a": 2, "c": None}],
        "deep": {"k": {"x": [1, 2]}},
        "tags": ["p", "q"],
    }
    found = done(json.dumps(value), "a.json")
    assert found.markdown == (
        "- title: Set\n- tags: p, q\n\n# rows\n\n| a | b | c |\n| --- | --- | --- |\n| 1 | x |  |\n| 2 |  |  |\n\n"
        "# deep\n\n## k\n\n- x: 1, 2\n"
    )
    assert found.title == "Set"
    assert done('{"a": 1}\n{"a": 2}\n', "a.jsonl").markdown == "| a |\n| --- |\n| 1 |\n| 2 |\n"
    broken = done('{"a": 1,', "a.json")
    assert broken.markdown == '```json\n{"a": 1,\n```\n'
    assert broken.warnings == ("not valid JSON: kept as text",)
    assert done("[" * 50_000 + "]" * 50_000, "a.json").warnings


def test_notebook() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Head\n", "text"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["\x1b[31m1\x1b[0m\n"]}]},
        {"cell_type": "code", "source": "1/0", "outputs": [{"output_type": "error", "ename": "ZeroDivisionError", "evalue": "no"}]},
        {"cell_type": "code", "source": "f", "outputs": [{"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}}]},
    ]  # fmt: skip
    text = done(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}), "a.ipynb").markdown
    assert text == (
        "# Head\ntext\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\n```python\n1/0\n```\n\n```\nZeroDivisionError: no\n```\n\n"
        "```python\nf\n```\n\n```\n<Figure>\n```\n"
    )
    with pytest.raises(UnreadableFile, match="damaged notebook"):
        done("{", "a.ipynb")


# mail ----------------------------------------------------------------------------------------------


def test_mail_parts_and_attachments() -> None:
    mail = (
        "From: =?utf-8?q?Ann_M=C3=BCller?= <ann@x.org>\nTo: bob@x.org\nSubject: Budget\nDate: Fri, 1 Mar 2024 10:00:00 +0100\n"
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/html; charset=utf-8\n\n'
        "<p>Hello <a href='https://x.org'>site</a></p><script>x</script>\n--b\nContent-Type: application/pdf\n"
        'Content-Disposition: attachment; filename="plan.pdf"\n\nxx\n--b--\n'
    )
    found = done(mail, "a.eml")
    assert found.markdown == (
        "# Budget\n\nFrom: Ann Müller <ann@x.org>  \nTo: bob@x.org  \nDate: Fri, 01 Mar 2024 10:00:00 +0100\n\n"
        "Hello [site](https://x.org)\n\nAttachments: plan.pdf\n"
    )
    assert found.title == "Budget"
    assert found.metadata["sent"] == "2024-03-01"
    assert done("wombat\n   ", "a.eml").markdown == "wombat\n"


# books and markups ---------------------------------------------------------------------------------


def epub(chapters: dict[str, str], opf: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml", '<c><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></c>'
        )
        items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
        order = "".join(f'<itemref idref="{name}"/>' for name in reversed(list(chapters)))
        archive.writestr(
            "OPS/book.opf",
            opf
            or f'<package xmlns:dc="d"><metadata><dc:title>B</dc:title><dc:language>de</dc:language></metadata>'
            f"<manifest>{items}</manifest><spine>{order}</spine></package>",
        )
        for name, text in chapters.items():
            archive.writestr(f"OPS/{name}.xhtml", text)
    return buffer.getvalue()


def test_epub_chapters_in_reading_order() -> None:
    found = done(epub({"two": "<h1>Two</h1><p>b</p>", "one": "<h1>One</h1><p>a</p>"}), "a.epub")
    assert found.markdown == "# One\n\na\n\n# Two\n\nb\n"
    assert (found.title, found.language) == ("B", "de")
    with pytest.raises(UnreadableFile, match="declares XML entities"):
        done(epub({}, '<!DOCTYPE p [<!ENTITY x "y">]><package>&x;</package>'), "a.epub")


def test_rst() -> None:
    text = (
        "=====\nTitle\n=====\n\n:Author: Ann\n\nIntro with ``code`` and `a link <https://x.org>`_, :ref:`a role <target>`.\n\n"
        "Part\n----\n\n* one\n* two\n\nExample::\n\n    # not a heading\n    x = 1\n\n.. code-block:: python\n   :linenos:\n\n"
        "   y = 2\n\n.. note:: Careful.\n\n.. include:: /etc/passwd\n\n.. comment\n   hidden\n\nLast\n----\n\nEnd.\n"
    )
    assert done(text, "a.rst").markdown == (
        "# Title\n\nIntro with `code` and [a link](https://x.org), a role.\n\n## Part\n\n- one\n- two\n\nExample:\n\n"
        "```\n# not a heading\nx = 1\n```\n\n```python\ny = 2\n```\n\nNote: Careful.\n\n## Last\n\nEnd.\n"
    ).replace("# Title\n\nIntro", "# Title\n\n:Author: Ann\n\nIntro")


def test_org_and_asciidoc() -> None:
    assert done(
        "#+TITLE: T\n* TODO Head :tag:\ntext [[https://x.org][site]] and ~code~\n** Sub\n#+BEGIN_SRC sh\n# c\n#+END_SRC\n", "a.org"
    ).markdown == "# Head\n\ntext [site](https://x.org) and `code`\n\n## Sub\n\n```sh\n# c\n```\n"  # fmt: skip
    assert done(
        "= Doc\n:author: Ann\n\n== Part\n\nSee link:b.adoc[B].\n\n----\n= code\n----\n\n* a\n* b\n", "a.adoc"
    ).markdown == ("# Doc\n\n## Part\n\nSee [B](b.adoc).\n\n```\n= code\n```\n\n- a\n- b\n")


def test_blank_files_are_named() -> None:
    for data, name in (
        (b"", "a.md"),
        (b"", "a.pdf"),
        (b" \n\t\r\n", "a.txt"),
        (b"\xef\xbb\xbf", "a.md"),
        (b"<p> </p>", "a.html"),
    ):
        with pytest.raises(UnreadableFile, match=r"empty file|blank"):
            done(data, name)
    with pytest.raises(UnreadableFile, match="unknown binary content"):
        done(bytes(range(256)) * 8, "a.bin")


def test_long_and_hostile_lines_end_soon() -> None:
    started = time.monotonic()
    done("a" * 300_000, "a.rst")
    done("*" * 100_000 + "\n" + "`" * 100_000, "a.rst")
    done("[" * 50_000 + "](" * 50_000 + "a" * 100_000, "a.adoc")
    done("[[" * 50_000, "a.org")
    done("1\n00:00:01,000 --> 00:00:02,000\n" + "<" * 100_000, "a.srt")
    done('"' * 300_001, "a.csv")
    assert time.monotonic() - started < 5
