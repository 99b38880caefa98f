"""Name and version of each converter; raise a version when the Markdown that its converter makes changes."""

from __future__ import annotations

VERSIONS: dict[str, str] = {
    name: f"{name}/1"
    for name in (
        "asciidoc", "csv", "docx", "eml", "epub", "html", "ipynb", "json", "org", "pdf", "pptx", "rst", "tsv",
        "transcript", "xlsx",
    )
}  # fmt: skip
"""Converter name to what `Converted.converter` holds, e.g. "pdf" to "pdf/1"."""
