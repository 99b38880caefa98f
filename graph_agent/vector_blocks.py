"""All vectors of one document's text as one compact block, kept beside the graph for fast loading.

Half precision: a cosine moves by about 0.0002, far below what tells passages apart, and the block is a
twentieth of the same numbers as text. The block names the model, so that one left by another is not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

_FORMAT = "vectors-1"


def encode_block(vectors: npt.NDArray[np.float32], *, model: str, cut: str) -> bytes:
    """A block of vectors.

    Args:
        vectors: float32 [chunks, dimension] in the order of (section, index); all of the text's chunks.
        model: name of the embedding model.
        cut: how the text was cut into chunks (`Document.chunker`).
    """
    header = orjson.dumps({"format": _FORMAT, "model": model, "cut": cut, "shape": list(vectors.shape)})
    return len(header).to_bytes(4, "little") + header + vectors.astype("<f2").tobytes()


def decode_block(blob: bytes, *, model: str, cut: str, chunks: int) -> npt.NDArray[np.float32] | None:
    """The vectors of a block, float32 [chunks, dimension]; None when it is damaged or of something else."""
    try:
        start = 4 + int.from_bytes(blob[:4], "little")
        header: dict[str, Any] = orjson.loads(blob[4:start])
        if (header["format"], header["model"], header["cut"]) != (_FORMAT, model, cut):
            return None
        rows, dimension = (int(size) for size in header["shape"])
        if rows != chunks or dimension < 1:
            return None
        vectors = np.frombuffer(blob, dtype="<f2", count=rows * dimension, offset=start)
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    block = vectors.reshape(rows, dimension).astype(np.float32)
    return block if bool(np.isfinite(block).all()) else None
