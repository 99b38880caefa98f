"""Text from documents and query results in a prompt: fenced, marked as data, and unable to end its fence.

The closing line carries a word made from the text itself, so nobody who writes a document can know it.
Prompts are put together by joining strings; text from outside never goes through a format string.
"""

from __future__ import annotations

import xxhash

# Markers by which chat templates part the speakers; within data they must not look like one.
_TEMPLATE_MARKS = (
    ("<|", "<\u200b|"),
    ("|>", "|\u200b>"),
    ("[INST]", "[\u200bINST]"),
    ("<<SYS>>", "<\u200b<SYS>>"),
)


def fence(kind: str, text: str) -> str:
    """`text` between two lines that only this function can write.

    Args:
        kind: what it is, one word: overview, passages, rows, conversation, error.
        text: anything.
    """
    shown = plain(text)
    word = _word(kind, shown)
    return f"<<data {kind} {word}>>\n{shown}\n<<end {word}>>"


def plain(text: str) -> str:
    """Text without the markers of chat templates, NUL and lone surrogates."""
    for mark, harmless in _TEMPLATE_MARKS:
        text = text.replace(mark, harmless)
    return text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")


def _word(kind: str, text: str) -> str:
    salt = 0
    while True:
        word = xxhash.xxh3_64_hexdigest(f"{kind}\n{salt}\n{text}".encode("utf-8", "replace"))[:10]
        if word not in text:
            return word
        salt += 1
