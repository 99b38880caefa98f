"""All terms of an index with their numbers, and the look-ups that compounds need."""

from __future__ import annotations

import difflib
import threading
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# What joins the parts of a German compound, with the endings that stemming takes off the first part
_GLUE = ("", "s", "es", "n", "en", "e", "er", "ung", "ungs", "heits", "keits")


class Vocabulary:
    """Terms numbered in the order of their first appearance; grows, never shrinks; safe between threads."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._sorted: list[str] = []
        self._backwards: list[str] = []
        self._sorted_count = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, term: str) -> int:
        """Number of a term, -1 when it is unknown."""
        return self._numbers.get(term, -1)

    def add(self, terms: Sequence[str]) -> npt.NDArray[np.int32]:
        """Numbers of terms, new ones given to those that have none: int32 [len(terms)]."""
        numbers = self._numbers
        with self._lock:
            found = [numbers.setdefault(term, len(numbers)) for term in terms]
        return np.asarray(found, dtype=np.int32)

    def starting_with(self, prefix: str, *, longer_by: int = 1) -> list[str]:
        """Terms that begin with a prefix and are longer by so many characters at least."""
        self._sort()
        return [term for term in _range(self._sorted, prefix) if len(term) >= len(prefix) + longer_by]

    def ending_with(self, suffix: str, *, longer_by: int = 1) -> list[str]:
        """Terms that end with a suffix and are longer by so many characters at least."""
        self._sort()
        found = _range(self._backwards, suffix[::-1])
        return [term[::-1] for term in found if len(term) >= len(suffix) + longer_by]

    def near(self, word: str, *, count: int = 8) -> list[str]:
        """Terms that begin like a word, or are spelt nearly like it: for a query that found nothing."""
        if len(word) < 4:
            return []
        self._sort()
        found = (
            _range(self._sorted, word)[:count]
            or _range(self._sorted, word[: max(4, (2 * len(word) + 2) // 3)])[:200]
        )
        alike = difflib.get_close_matches(word, found or (), n=count, cutoff=0.7)
        if not alike:
            # Misspelt in its beginning: compare with words of about its length that share its first letter or its end
            pool = [
                *_range(self._sorted, word[0]),
                *(term[::-1] for term in _range(self._backwards, word[:-4:-1])),
            ]
            pool = [term for term in pool if abs(len(term) - len(word)) <= 2][:4_000]
            alike = difflib.get_close_matches(word, pool, n=count, cutoff=0.78)
        return list(dict.fromkeys(alike))

    def split(self, word: str, *, shortest: int = 4) -> list[str]:
        """The known words that a compound is made of; [] when it is not made of known words alone.

        The longest known head is tried first, and up to two joints; a joint such as s or en may
        stand between parts.
        """
        return self._split(word, shortest, 2)

    def _split(self, word: str, shortest: int, joints: int) -> list[str]:
        for end in range(len(word) - shortest, shortest - 1, -1):
            head = word[:end]
            if head not in self._numbers:
                continue
            for glue in _GLUE:
                tail = word[end + len(glue) :] if word.startswith(glue, end) else ""
                if len(tail) < shortest:
                    continue
                if tail in self._numbers:
                    return [head, tail]
                rest = self._split(tail, shortest, joints - 1) if joints > 1 else []
                if rest:
                    return [head, *rest]
        return []

    def _sort(self) -> None:
        """Sorted views, rebuilt when the vocabulary has grown."""
        with self._lock:
            if self._sorted_count == len(self._numbers):
                return
            words = [term for term in self._numbers if not term.isdigit()]
            self._backwards = sorted(term[::-1] for term in words if len(term) > 4)
            self._sorted = sorted(words)
            self._sorted_count = len(self._numbers)


def _range(ordered: list[str], prefix: str) -> list[str]:
    start = bisect_left(ordered, prefix)
    end = bisect_left(ordered, prefix + "\U0010ffff", lo=start)
    return ordered[start:end]
