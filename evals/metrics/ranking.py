"""Measures of a ranking: hit, recall, precision, reciprocal rank, nDCG, as trec_eval defines them.

A need is one thing that has to be found (a document, a section, a quoted span). A ranked item satisfies some
needs. Where every item satisfies one need at most and every need has one item, the values are trec_eval's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

HITS = (1, 3, 5, 10)
RECALLS = (1, 3, 5, 10, 20)
PRECISIONS = (1, 5, 10)
GAINS = (5, 10)


def ranking_measures(satisfied: Sequence[Collection[int]], gains: Sequence[float]) -> dict[str, float]:
    """All measures of one ranking; empty when there is nothing to find.

    Args:
        satisfied: for each ranked item, best first, the needs (positions in `gains`) that it satisfies.
        gains: how relevant each need is, above 0.
    """
    if not gains:
        return {}
    measures = {f"hit@{k}": float(any(satisfied[:k])) for k in HITS}
    measures |= {f"recall@{k}": recall(satisfied, len(gains), k) for k in RECALLS}
    measures |= {f"precision@{k}": precision(satisfied, k) for k in PRECISIONS}
    measures |= {f"ndcg@{k}": ndcg(satisfied, gains, k) for k in GAINS}
    measures["mrr@10"] = reciprocal_rank(satisfied, 10)
    return measures


def recall(satisfied: Sequence[Collection[int]], needs: int, k: int) -> float:
    """Share of the needs that the first k items satisfy."""
    return len({need for item in satisfied[:k] for need in item}) / needs


def precision(satisfied: Sequence[Collection[int]], k: int) -> float:
    """Share of k places that hold an item which satisfies some need."""
    return sum(1 for item in satisfied[:k] if item) / k


def reciprocal_rank(satisfied: Sequence[Collection[int]], k: int) -> float:
    """1 / place of the first item that satisfies some need; 0 when none of the first k does."""
    return next((1.0 / place for place, item in enumerate(satisfied[:k], start=1) if item), 0.0)


def ndcg(satisfied: Sequence[Collection[int]], gains: Sequence[float], k: int) -> float:
    """Normalised discounted cumulative gain of the first k items (Järvelin and Kekäläinen 2002), gains linear.

    A need gains once, at the first item that satisfies it; an item gains by one need, the most relevant.
    """
    left = set(range(len(gains)))
    total = 0.0
    for place, item in enumerate(satisfied[:k], start=1):
        need = max((one for one in item if one in left), key=lambda one: (gains[one], -one), default=None)
        if need is not None:
            left.discard(need)
            total += gains[need] / math.log2(place + 1)
    best = sum(
        gain / math.log2(place + 1) for place, gain in enumerate(sorted(gains, reverse=True)[:k], start=1)
    )
    return total / best
