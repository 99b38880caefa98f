"""Scanned pages: named as such while OCR is off, read by tesseract when it is on."""

from __future__ import annotations

import io
import shutil
import stat
import time
from pathlib import Path

import pypdfium2
import pytest
from documents.pdf import Page, pdf
from folder_cases import failures, quick, texts

from graph_agent.embeddings import Embedder
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.pdf import convert_pdf
from graph_agent.ingest.convert.versions import UNREAD, VERSIONS
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.store import DocumentGraph

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
LETTER = ("The harbour of Lisbon was closed in March", "because of the storm that came from the west.")
REPLY = ("The council answered on the next morning", "that all ships had to wait until Friday.")
PATIENT = Limits(timeout_s=60, ocr="eng")


def printed(*texts: str) -> Page:
    return Page().lines(72, 700, *texts, size=16, pitch=24)


def scan(*pages: bytes, turned: bool = False) -> bytes:
    """PDFs of one page each as one PDF of pictures."""
    made = pypdfium2.PdfDocument.new()
    for data in pages:
        source = pypdfium2.PdfDocument(data)
        bitmap = source[0].render(scale=2, rotation=180 if turned else 0)
        picture = pypdfium2.PdfImage.new(made)
        picture.set_bitmap(bitmap)
        picture.set_matrix(pypdfium2.PdfMatrix().scale(612, 792))
        page = made.new_page(612, 792)
        page.insert_obj(picture)
        page.gen_content()
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def mixed() -> bytes:
    """A page of text and a scanned one."""
    made = pypdfium2.PdfDocument(pdf(printed(*LETTER)))
    made.import_pages(pypdfium2.PdfDocument(scan(pdf(printed(*REPLY)))))
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def test_while_it_is_off_scans_are_named_with_the_way() -> None:
    with pytest.raises(UnreadableFile, match=r"no text layer: scanned \(1 page\); OCR is off") as caught:
        convert_pdf(scan(pdf(printed(*LETTER))), "a.pdf")
    assert "GRAPH_AGENT_OCR=true" in caught.value.fix
    partly = convert_pdf(mixed(), "a.pdf")
    assert partly.warnings == ("no text on page 2 (scanned?)",)
    assert (partly.page_count, "Lisbon" in partly.markdown) == (2, True)


def test_without_tesseract_that_is_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreadableFile, match="tesseract is not installed") as caught:
        convert_pdf(scan(pdf(printed(*LETTER))), "a.pdf", Limits(ocr="eng"))
    assert "apt-get install" in caught.value.fix


@needs_tesseract
def test_scanned_pages_are_read_with_their_numbers() -> None:
    with ConversionWorker(PATIENT) as worker:
        read = worker.convert(scan(pdf(printed(*LETTER)), pdf(printed(*REPLY))), "a.pdf")
        assert [(block.kind, block.page) for block in read.blocks] == [("page", 1), ("page", 2)]
        assert read.markdown == f"{' '.join(LETTER)}\n\n{' '.join(REPLY)}\n"
        assert read.warnings == ("the text of pages 1-2 was recognised (OCR) and may hold faults",)
        upside_down = worker.convert(scan(pdf(printed(*LETTER)), turned=True), "a.pdf")
        assert upside_down.markdown == f"{' '.join(LETTER)}\n"
        with pytest.raises(UnreadableFile, match="OCR found no text"):
            worker.convert(pdf(Page(image=True)), "black.pdf")


@needs_tesseract
def test_a_language_that_is_missing_is_named() -> None:
    with pytest.raises(UnreadableFile, match="has not the languages xyz") as caught:
        convert_pdf(scan(pdf(printed(*LETTER))), "a.pdf", Limits(ocr="xyz"))
    assert "GRAPH_AGENT_OCR_LANGUAGES" in caught.value.fix


@needs_tesseract
def test_switching_it_on_reads_what_was_left_out_and_nothing_else(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "scan.pdf").write_bytes(scan(pdf(printed(*REPLY))))
    (root / "mixed.pdf").write_bytes(mixed())
    (root / "text.pdf").write_bytes(pdf(printed(*LETTER)))
    assert "OCR is off" in failures(quick(empty_graph, embedder, root))["scan.pdf"]
    assert quick(empty_graph, embedder, root).unchanged == 2
    settings = empty_graph.settings.model_copy(update={"ocr": True, "file_timeout_s": 60.0})
    reading = DocumentGraph(empty_graph.connection, settings, empty_graph.name, owns=False)
    report = quick(reading, embedder, root)
    assert (report.added, report.changed, report.unchanged, report.failed) == (1, 1, 1, [])
    assert list(report.redone) == [f"converted by {UNREAD}, now {VERSIONS['pdf']}"]
    assert all("Friday" in texts(empty_graph)[name] for name in ("scan.pdf", "mixed.pdf"))
    assert not quick(reading, embedder, root).wrote
    assert not quick(empty_graph, embedder, root).wrote, "switched off again, what was read stays"


def test_one_that_hangs_costs_its_time_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\nexec sleep 300\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    began = time.monotonic()
    read = convert_pdf(mixed(), "a.pdf", Limits(timeout_s=0.2, ocr="eng"))
    assert time.monotonic() - began < 10
    assert "Lisbon" in read.markdown
    assert any("OCR ran out of time at page 2" in warning for warning in read.warnings)
