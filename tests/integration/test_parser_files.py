"""Every file of the parser corpus: taken with its text, or named with its reason; no crash, no hang.

`chars` in the manifest is the length that another extractor (PyMuPDF) measured, line ends and blanks
included. Extractors place those differently, so lengths are compared after white space is made single;
Markdown marks that we add (table bars, heading signs, escapes) are taken off, and running heads that we
leave out on purpose are put back, as pdfium's plain text has them.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.ingest.discover import discover
from graph_agent.ingest.document import Converted

DATA = Path(__file__).parents[3] / "shared/data/parser_files"
FILE_TIMEOUT_S = 10.0

pytestmark = pytest.mark.skipif(not (DATA / "manifest.json").is_file(), reason=f"no parser corpus at {DATA}")

UNREADABLE = {
    r"ENCRYPTED|encrypted, password|AES|RC4": "encrypted",
    r"(?i)scanned|image only|images only|JBIG2|no text layer|PyMuPDF finds no text": "no text layer",
    r"(?i)zero bytes": "empty file",
    r"(?i)white space only|blank page|^empty$|nearly empty": r"blank",
    r"cut off": "damaged",
    r"RANDOM BYTES": "unknown binary content",
    r"^(?:old binary \.doc|RTF|ODT|old XLS)$": "LibreOffice",
    r"Outlook": "Outlook",
}
"""What the manifest says of a file -> what our reason must say. LibreOffice is switched off for the test."""

OPENS_ANYWAY = ("owner password only", "without a password")


def entries() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((DATA / "manifest.json").read_text("utf-8"))
    return loaded


def expected_reason(entry: dict[str, Any]) -> str | None:
    special = entry["special"]
    if special == "encrypted without /ID; opens without a password, PyMuPDF finds no text":
        return "no text"
    if any(part in special for part in OPENS_ANYWAY):
        return None
    return next((reason for pattern, reason in UNREADABLE.items() if re.search(pattern, special)), None)


@pytest.fixture(scope="module")
def results() -> dict[str, Converted | UnreadableFile]:
    """Each file once, through the worker, with its seconds checked."""
    found: dict[str, Converted | UnreadableFile] = {}
    with ConversionWorker(Limits(timeout_s=FILE_TIMEOUT_S, office=False)) as worker:
        for entry in entries():
            data = (DATA / "corpus" / entry["file"]).read_bytes()
            started = time.monotonic()
            try:
                found[entry["file"]] = worker.convert(data, entry["file"])
            except UnreadableFile as error:
                found[entry["file"]] = error
            assert time.monotonic() - started < FILE_TIMEOUT_S + 2, entry["file"]
        found["peak"] = UnreadableFile(f"{worker.peak_mb}")
    return found


def test_every_file_is_taken_or_named(results: dict[str, Converted | UnreadableFile]) -> None:
    wrong = []
    for entry in entries():
        result, reason = results[entry["file"]], expected_reason(entry)
        if reason is None and isinstance(result, UnreadableFile):
            wrong.append(f"{entry['file']} ({entry['special']}): refused: {result.message}")
        elif reason is not None and not isinstance(result, UnreadableFile):
            wrong.append(f"{entry['file']} ({entry['special']}): taken, but it should be named: {reason}")
        elif (
            reason is not None
            and isinstance(result, UnreadableFile)
            and not re.search(reason, result.message)
        ):
            wrong.append(f"{entry['file']}: {result.message!r} does not say {reason!r}")
    assert not wrong, "\n".join(wrong)


def test_nothing_crashed_or_was_stopped(results: dict[str, Converted | UnreadableFile]) -> None:
    messages = [str(result) for result in results.values() if isinstance(result, UnreadableFile)]
    assert not [
        message for message in messages if re.search("crashed|stopped|memory|not understood", message)
    ]


def test_peak_memory_is_below_a_gigabyte(results: dict[str, Converted | UnreadableFile]) -> None:
    """Of the conversion itself; what other tests of this process have loaded is not its doing."""
    assert 10 < float(str(results["peak"])) < 500


def text_of(markdown: str) -> str:
    """The document's own characters: without the marks that Markdown adds."""
    text = re.sub(r"(?m)^\|(?: --- \|)+$", "", markdown)
    text = re.sub(r"(?m)^#{1,6} |^```.*$|^- ", "", text)
    text = re.sub(r"\\([#>|<+*=`~-])", r"\1", re.sub(r"(?<!\\)\|", " ", text))
    return " ".join(text.split())


def repeated_lines(data: bytes, password: str | None) -> int:
    """Characters of lines that stand on three pages or more, digits aside, and of page numbers alone."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data, password=password)
    pages = [
        [" ".join(line.split()) for line in page.get_textpage().get_text_range().splitlines()]
        for page in document
    ]
    document.close()
    signs = [[re.sub(r"\d+", "#", line) for line in lines if line] for lines in pages]
    often = {sign for lines in signs for sign in lines if sum(sign in other for other in signs) >= 3}
    return sum(
        len(sign) + 1 for lines in signs for sign in lines if sign in often or re.fullmatch("#|[ivx]+", sign)
    )


def test_pdf_text_pages_and_order_of_length(results: dict[str, Converted | UnreadableFile]) -> None:
    passwords = tuple(
        sorted({entry["pdf"]["password"] for entry in entries() if entry.get("pdf", {}).get("password")})
    )
    wrong, measured = [], 0
    with ConversionWorker(Limits(passwords=passwords)) as worker:
        for entry in entries():
            facts = entry.get("pdf") or {}
            result = results[entry["file"]]
            if not facts.get("chars") or entry["file"] == "made/not_a_pdf.pdf":
                continue
            data = (DATA / "corpus" / entry["file"]).read_bytes()
            if isinstance(result, UnreadableFile):
                result = worker.convert(data, entry["file"])  # a setting gives the password
            measured += 1
            if result.page_count != facts["pages"] or len(result.pages) != facts["pages"]:
                wrong.append(f"{entry['file']}: {result.page_count} pages, not {facts['pages']}")
            length, wanted = len(text_of(result.markdown)), facts["chars"]
            if wanted < SMALL and entry["file"] not in OTHER_COUNT:
                wrong += odd_glyphs(entry, data, result)
                continue
            low, high = 0.95 * wanted - repeated_lines(data, facts.get("password")) - 1, 1.05 * wanted + 1
            low, high = OTHER_COUNT.get(entry["file"], (low, high))
            if not low <= length <= high:
                wrong.append(f"{entry['file']}: {length} characters, not {wanted}")
    assert not wrong, "\n".join(wrong)
    assert measured > 40


OTHER_COUNT: dict[str, tuple[float, float]] = {
    # PyMuPDF writes a blank or a line end after each character of the vertical text; there are 880 of them.
    "pdf/pdfminersix__jo.pdf": (880, 980),
    # A form that holds itself: PyMuPDF reads "Hello world" twice, pdfium's plain text 40 times.
    "pdf/pdfminersix__issue-1113-evil-xobjects.pdf": (22, 24),
}
"""Files whose measured length counts layout rather than text."""


SMALL = 300
"""Below this many characters, the line ends that extractors count differently are more than 5 percent."""


def odd_glyphs(entry: dict[str, Any], data: bytes, result: Converted) -> list[str]:
    """For a small file, all of its characters but white space must be there, bullets aside."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data, password=entry["pdf"].get("password"))
    plain = "".join(page.get_textpage().get_text_range() for page in document)
    document.close()
    running = repeated_lines(data, entry["pdf"].get("password"))
    wanted = Counter(
        char for char in plain if char.isprintable() and not char.isspace() and char not in "\u2022\ufffe"
    )
    wanted.subtract(char for char in text_of(result.markdown) if not char.isspace())
    lost, added = sum(n for n in wanted.values() if n > 0), -sum(n for n in wanted.values() if n < 0)
    allowed = 0.05 * len(plain)
    if lost > allowed + running or added > allowed:
        return [f"{entry['file']}: {lost} characters lost, {added} added"]
    return []


def test_rotated_pages_read_like_their_upright_twins(results: dict[str, Converted | UnreadableFile]) -> None:
    base = "pdf/pdfplumber__nics-background-checks-2015-11"
    upright, rotated = results[f"{base}.pdf"], results[f"{base}-rotated.pdf"]
    assert isinstance(upright, Converted)
    assert isinstance(rotated, Converted)
    assert rotated.markdown == upright.markdown
    turned = results["pdf/sample-files__habibi-rotated.pdf"]
    single = results["pdf/sample-files__habibi.pdf"]
    assert isinstance(turned, Converted)
    assert isinstance(single, Converted)
    words = sorted(single.markdown.split())
    assert [sorted(part.split()) for part in pages_of(turned)] == [words] * 4


def pages_of(result: Converted) -> list[str]:
    starts = [start for start, _ in result.pages]
    return [result.markdown[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]


def test_two_columns_are_in_reading_order(results: dict[str, Converted | UnreadableFile]) -> None:
    result = results["pdf/sample-files__multicolumn.pdf"]
    assert isinstance(result, Converted)
    order = ["Abstract", "Nam dui ligula", "Fusce mauris", "Suspendisse vel felis"]
    places = [result.markdown.index(words) for words in order]
    assert places == sorted(places)
    paper = results["pdf/unstructured__multi-column-2p.pdf"]
    assert isinstance(paper, Converted)
    titles = [block.title for block in paper.blocks]
    wanted = ["Abstract", "1 Introduction", "2 Background", "3 Dense Passage Retriever (DPR)", "3.1 Overview"]
    assert [title for title in titles if title in wanted] == wanted


def test_outlines_give_sections_with_pages(results: dict[str, Converted | UnreadableFile]) -> None:
    result = results["pdf/docling__bookmark_sample.pdf"]
    assert isinstance(result, Converted)
    assert [(block.level, block.title, block.page) for block in result.blocks] == [
        (1, "PART I - DEFINITIONS", 1),
        (2, "1. Interpretation", 1),
        (2, "2. Construction of Terms", 1),
        (1, "PART II - OBLIGATIONS", 2),
        (2, "3. Payment Terms", 2),
        (3, "3.1 Payment Schedule", 2),
        (2, "4. Termination", 3),
        (1, "PART III - MISCELLANEOUS", 3),
    ]


def test_the_whole_folder_is_found_without_a_loss() -> None:
    found = discover([DATA / "corpus"])
    on_disk = {
        path.relative_to(DATA / "corpus").as_posix()
        for path in (DATA / "corpus").rglob("*")
        if path.is_file()
    }
    named = {failure.relative_path for failure in found.failures}
    assert {file.relative_path for file in found.files} | named == on_disk
    assert named == {"bin/markitdown__random.bin"}
