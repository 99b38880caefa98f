"""What documents and folders are known by."""

from __future__ import annotations

import xxhash


def hash_bytes(data: bytes) -> str:
    """xxh3-64 as 16 hexadecimal digits: key of documents (of the bytes) and sections (of the Markdown)."""
    return xxhash.xxh3_64_hexdigest(data)


def folder_id(root_key: str, relative: str) -> str:
    """Key of a folder: xxh3-64 of its root's key, a slash, and the path below the root."""
    return hash_bytes(f"{root_key}/{relative}".encode("utf-8", "replace"))
