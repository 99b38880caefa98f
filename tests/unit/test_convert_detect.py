"""The kind of a document is told by its content, then by its name."""

from __future__ import annotations

import io
import random
import zipfile

import pytest

from graph_agent.ingest.convert.detect import detect


def package(*names: str, mimetype: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


def ole(stream: str) -> bytes:
    return bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500) + stream.encode("utf-16-le") + bytes(500)


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7\n...", "a.docx", "pdf"),
        (b"\n\n junk %PDF-1.4", "a.pdf", "pdf"),
        (b"The header is %PDF-1.4", "a.txt", "text"),
        (b"# Title", "a.pdf", "markdown"),
        (b"plain words", "a.pdf", "text"),
        (b"<html><h1>x</h1></html>", "a.docx", "html"),
        (b"<!-- c --><!DOCTYPE html>", "a.txt", "html"),
        (b"<html> in markdown", "a.md", "markdown"),
        (b"WEBVTT\n\n", "a.txt", "vtt"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nHi\n", "a.txt", "srt"),
        (b'{"cells": [], "nbformat": 4}', "noending", "ipynb"),
        (b"From: a@b\nTo: c@d\nSubject: x\n\nbody", "mail", "eml"),
        (b"a,b\n1,2", "a.csv", "csv"),
        (b"a\tb", "a.tsv", "tsv"),
        (b"{\\rtf1 x}", "a.doc", "rtf"),
        (b"\xff\xfea\x00b\x00", "a.txt", "text"),
        ("hello wide".encode("utf-16-le"), "a.txt", "text"),
        ("Grüße aus Köln".encode("latin-1"), "a.md", "markdown"),
        ("名前は佐藤太郎です".encode("shift_jis"), "a.txt", "text"),
        ("Съешь ещё этих мягких булок".encode("cp1251"), "a.txt", "text"),
        (b"text with one \x00 NUL", "a.md", "markdown"),
        (b"\x89PNG\r\n\x1a\n....", "a.md", "binary"),
        (random.Random(1).randbytes(2_000), "a.txt", "binary"),
        (random.Random(2).randbytes(2_000), "", "binary"),
        (package("[Content_Types].xml", "word/document.xml"), "a.pdf", "docx"),
        (package("[Content_Types].xml", "ppt/presentation.xml"), "a", "pptx"),
        (package("[Content_Types].xml", "xl/workbook.xml"), "a.zip", "xlsx"),
        (package("[Content_Types].xml", "xl/workbook.bin"), "a.xlsb", "xlsb"),
        (package("META-INF/container.xml", mimetype="application/epub+zip"), "a", "epub"),
        (package("content.xml", mimetype="application/vnd.oasis.opendocument.text"), "a", "odt"),
        (package("a.md"), "a.docx", "zip"),
        (b"PK\x03\x04 cut", "a.docx", "docx"),
        (ole("EncryptedPackage"), "a.xlsx", "encrypted-office"),
        (ole("WordDocument"), "a", "doc"),
        (ole("Workbook"), "a", "xls"),
        (ole("__substg1.0_0037001F"), "a", "msg"),
    ],
)  # fmt: skip
def test_kind(data: bytes, name: str, kind: str) -> None:
    assert detect(data, name) == kind


def test_a_packed_mimetype_is_not_unpacked_whole() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", bytes(50_000_000))
    assert detect(buffer.getvalue(), "a.epub") == "zip"
