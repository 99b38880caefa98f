"""Name and version of each converter; raise a version when the Markdown that its converter makes changes."""

from __future__ import annotations

VERSIONS: dict[str, str] = {
    name: f"{name}/{version}"
    for name, version in {
        "asciidoc": 1, "csv": 2, "docx": 1, "eml": 1, "epub": 1, "html": 1, "ipynb": 1, "json": 1, "org": 1, "pdf": 2,
        "pptx": 1, "rst": 1, "tsv": 2, "transcript": 1, "xlsx": 1,
    }.items()
}  # fmt: skip
"""Converter name to what `Converted.converter` holds, e.g. "pdf" to "pdf/1"."""

UNREAD = VERSIONS["pdf"].replace("pdf/", "pdf-unread/")
"""A PDF with scanned pages that were not read: it is made anew once they can be."""
