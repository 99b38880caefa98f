"""The embedding model's tokens, a word at a time: three times as fast as its tokenizer on text of known words.

BERT's tokenizers (the default model's, and so ours for measuring) part text at blanks and at every sign that
is no letter or digit, and cut each word by itself: what a word gives once, it gives everywhere. So each word
is asked for once. Text with anything but printable ASCII goes to the tokenizer itself, which folds accents,
parts Chinese characters, drops control characters and knows special tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graph_agent.ingest.tokens import Offsets, TokenSpans

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WORDS = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_UNUSUAL = r"[^\t\n\r -~]"
_MOST_KNOWN = 500_000


class WordPieces:
    """Where tokens stand; what `Embedder.token_offsets` gives. Not safe between threads.

    Args:
        tokenizer: a BERT word piece tokenizer that lowers case, without truncation or padding.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        special = [re.escape(token.content) for token in tokenizer.get_added_tokens_decoder().values()]
        self._unusual = re.compile("|".join([_UNUSUAL, *special]))  # "[SEP]" in a text is one token
        # The pieces of a word that gives several, as (start, end); None for a word that is one token.
        self._known: dict[str, tuple[tuple[int, int], ...] | None] = {}

    def token_offsets(self, text: str) -> Offsets:
        """[start, end) in characters of each token of a text, special tokens left out."""
        return self.token_offsets_of((text,))[0]

    def token_offsets_of(self, texts: Sequence[str]) -> list[Offsets]:
        """The same of many texts."""
        odd = [index for index, text in enumerate(texts) if self._unusual.search(text)]
        found: list[Offsets] = [()] * len(texts)
        if odd:
            encodings = self._tokenizer.encode_batch(
                [texts[index] for index in odd], add_special_tokens=False
            )
            for index, encoding in zip(odd, encodings, strict=True):
                found[index] = encoding.offsets
        plain = sorted(set(range(len(texts))) - set(odd))
        self._learn(texts[index] for index in plain)
        for index in plain:
            found[index] = self._spans(texts[index])
        return found

    def _spans(self, text: str) -> TokenSpans:
        starts: list[int] = []
        ends: list[int] = []
        known = self._known
        for match in _WORDS.finditer(text):
            pieces = known[match[0]]
            begin, end = match.span()
            if pieces is None:
                starts.append(begin)
                ends.append(end)
            else:
                for first, last in pieces:
                    starts.append(begin + first)
                    ends.append(begin + last)
        return TokenSpans.of(starts, ends)

    def _learn(self, texts: Iterable[str]) -> None:
        """Ask for the words that are not known yet, all at once: they stand in a row, parted by blanks."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        words: set[str] = set()
        for text in texts:
            words.update(_WORDS.findall(text))
        fresh = [word for word in words if word not in self._known]
        if not fresh:
            return
        offsets = self._tokenizer.encode(" ".join(fresh), add_special_tokens=False).offsets
        position = token = 0
        for word in fresh:
            end = position + len(word)
            pieces = []
            while token < len(offsets) and offsets[token][1] <= end:
                first, last = offsets[token]
                pieces.append((first - position, last - position))
                token += 1
            self._known[word] = None if pieces == [(0, len(word))] else tuple(pieces)
            position = end + 1
