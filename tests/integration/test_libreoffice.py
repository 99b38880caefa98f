"""Old and foreign office formats by way of LibreOffice: what comes out, and what a document cannot make it do."""

from __future__ import annotations

import io
import os
import shutil
import socket
import stat
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from folder_cases import failures, quick, texts

from graph_agent.embeddings import Embedder
from graph_agent.errors import UnreadableFile
from graph_agent.ingest.convert.limits import Limits
from graph_agent.ingest.convert.registry import convert
from graph_agent.ingest.convert.worker import ConversionWorker
from graph_agent.store import DocumentGraph

SOFFICE = shutil.which("soffice")
needs_soffice = pytest.mark.skipif(SOFFICE is None, reason="LibreOffice is not installed")
PATIENT = Limits(timeout_s=60)
RTF = (
    rb"{\rtf1\ansi{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2\outlinelevel1 heading 2;}}"
    rb"{\pard\s1\outlinelevel0 Report\par}{\pard\s0 The yield was 42 percent.\par}"
    rb"{\pard\s2\outlinelevel1 Outlook\par}{\pard\s0 Fair.\par}}"
)

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "presentation")
) + (
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    ' xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" office:version="1.2"'
)


def opendocument(kind: str, body: str) -> bytes:
    """An OpenDocument file of kind "text", "spreadsheet" or "presentation"."""
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", media_type)
        archive.writestr(
            "META-INF/manifest.xml",
            f'<m:manifest xmlns:m="{manifest}"><m:file-entry m:full-path="/" m:media-type="{media_type}"/>'
            '<m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>',
        )
        archive.writestr(
            "content.xml",
            f"<office:document-content {NAMESPACES}><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
        )
    return buffer.getvalue()


def slide(title: str, body: str) -> str:
    """A slide of an OpenDocument presentation."""
    frame = (
        '<draw:frame presentation:class="{}" svg:x="1cm" svg:y="{}cm" svg:width="20cm" svg:height="3cm">'
        "<draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    )
    return f"<draw:page>{frame.format('title', 1, title)}{frame.format('outline', 6, body)}</draw:page>"


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A port on loopback, and what came in there."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(200))

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)


@needs_soffice
def test_old_formats_keep_headings_tables_slides_and_sheets(
    empty_graph: DocumentGraph, embedder: Embedder, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    made = {
        "odt": opendocument(
            "text",
            "".join(
                f'<text:h text:outline-level="{level}">{title}</text:h><text:p>{body}</text:p>'
                for level, title, body in (
                    (1, "Report", "The yield was 42 percent."),
                    (2, "Outlook", "Fair."),
                )
            ),
        ),
        "ods": opendocument(
            "spreadsheet",
            '<table:table table:name="Costs"><table:table-row>'
            + "".join(f'<table:table-cell office:value-type="float" office:value="{n}"/>' for n in (17, 18))
            + "</table:table-row></table:table>",
        ),
        "odp": opendocument(
            "presentation", slide("First slide", "Body of it") + slide("Second slide", "More")
        ),
    }
    for kind, data in made.items():
        (root / f"a.{kind}").write_bytes(data)
    (root / "a.rtf").write_bytes(RTF)
    patient = DocumentGraph(
        empty_graph.connection,
        empty_graph.settings.model_copy(update={"file_timeout_s": 60.0}),
        empty_graph.name,
        owns=False,
    )
    report = quick(patient, embedder, root)
    assert failures(report) == {}
    found = texts(empty_graph)
    assert set(found) == {"a.odt", "a.rtf", "a.ods", "a.odp"}
    for name in ("a.odt", "a.rtf"):
        assert found[name] == "# Report\n\nThe yield was 42 percent.\n\n## Outlook\n\nFair.\n", name
    assert "| 17 | 18 |" in found["a.ods"]
    kinds = empty_graph.read(
        "MATCH (:Folder)-[e:CONTAINS]->(d:Document)-[:HAS_SECTION]->(s) "
        "RETURN e.path, d.media_type, s.kind, s.title ORDER BY e.path, s.sequence"
    ).rows
    assert kinds == [
        ["a.odp", "application/vnd.oasis.opendocument.presentation", "slide", "Slide 1"],
        ["a.odp", "application/vnd.oasis.opendocument.presentation", "slide", "Slide 2"],
        ["a.ods", "application/vnd.oasis.opendocument.spreadsheet", "sheet", "Costs"],
        ["a.odt", "application/vnd.oasis.opendocument.text", "heading", "Report"],
        ["a.rtf", "application/rtf", "heading", "Report"],
    ]
    assert "Second slide" in found["a.odp"]
    assert quick(patient, embedder, root).unchanged == 4


@needs_soffice
def test_a_document_makes_it_fetch_nothing(tmp_path: Path, listener: tuple[int, list[bytes]]) -> None:
    port, heard = listener
    secret = tmp_path / "secret.txt"
    secret.write_text("TOPSECRET words\n")
    frame = '<draw:frame svg:width="2cm" svg:height="2cm"><draw:image xlink:type="simple" xlink:href="{}"/></draw:frame>'
    section = '<text:section text:name="{}"><text:section-source xlink:type="simple" xlink:href="{}"/><text:p>x</text:p></text:section>'
    text = opendocument(
        "text",
        f"<text:p>Hello{frame.format(f'http://127.0.0.1:{port}/a.png')}</text:p>"
        + section.format("one", f"http://127.0.0.1:{port}/b.odt")
        + section.format("two", secret.as_uri()),
    )
    cell = '<table:table-cell table:formula="of:={}WEBSERVICE(&quot;{}&quot;)"/>'
    sheet = opendocument(
        "spreadsheet",
        '<table:table table:name="S"><table:table-row><table:table-cell><text:p>plain</text:p></table:table-cell>'
        + "".join(
            cell.format(prefix, address)
            for prefix in ("", "COM.MICROSOFT.")
            for address in (f"http://127.0.0.1:{port}/w", secret.as_uri())
        )
        + '</table:table-row></table:table><table:table table:name="L"><table:table-source xlink:type="simple" '
        f'xlink:href="{secret.as_uri()}" table:filter-name="Text - txt - csv (StarCalc)"/><table:table-row>'
        "<table:table-cell><text:p>old</text:p></table:table-cell></table:table-row></table:table>",
    )
    rtf = (
        rf'{{\rtf1\ansi Hello {{\field{{\*\fldinst INCLUDEPICTURE "http://127.0.0.1:{port}/c.png" \\d}}'
        rf'{{\fldrslt x}}}} {{\field{{\*\fldinst INCLUDETEXT "{secret}"}}{{\fldrslt y}}}}}}'
    )
    with ConversionWorker(PATIENT) as worker:
        for data, name in ((text, "a.odt"), (sheet, "a.ods"), (rtf.encode(), "a.rtf")):
            markdown = worker.convert(data, name).markdown
            assert "Hello" in markdown or "plain" in markdown
            assert "TOPSECRET" not in markdown
    assert heard == []


@needs_soffice
def test_a_damaged_file_is_named() -> None:
    for data, name in (
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "a.doc"),
        (b"PK\x03\x04" + b"x" * 99, "a.odt"),
    ):
        with pytest.raises(UnreadableFile, match=r"LibreOffice could not read|damaged"):
            convert(data, name, PATIENT)


def test_one_that_hangs_is_ended_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "soffice"
    program.write_text(f'#!/bin/sh\nsleep 300 &\necho $! > "{tmp_path}/started"\nwait\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with ConversionWorker(Limits(timeout_s=2)) as worker:
        with pytest.raises(UnreadableFile, match="LibreOffice took longer"):
            worker.convert(b"{\\rtf1 hello}", "a.rtf")
        started = int((tmp_path / "started").read_text())
        deadline = time.monotonic() + 5
        while _runs(started):
            assert time.monotonic() < deadline, "it goes on after its time"
            time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
