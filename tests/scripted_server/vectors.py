"""Answers of the embeddings and rerank routes: small, deterministic, and nearer for texts that share words."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

from .received import Received

Embed = Callable[[str], list[float]]
Score = Callable[[str, str], float]


def words_vector(text: str, dimension: int) -> list[float]:
    """Hashed bag of words, of length 1; the first unit vector for a text without words."""
    vector = [0.0] * dimension
    for word in _words(text):
        vector[zlib.crc32(word.encode()) % dimension] += 1.0
    length = math.sqrt(sum(value * value for value in vector))
    if length == 0:
        return [1.0] + [0.0] * (dimension - 1)
    return [value / length for value in vector]


def shared_words(query: str, text: str) -> float:
    """Share of the query's distinct words that stand in `text`, 0 to 1."""
    asked = set(_words(query))
    return len(asked & set(_words(text))) / len(asked) if asked else 0.0


def embeddings_body(request: Received, embed: Embed) -> dict[str, Any]:
    """Vectors in the encoding that was asked for; base64 is 32-bit floats, little-endian."""
    encode = _base64 if request.body.get("encoding_format") == "base64" else list
    data = [
        {"object": "embedding", "index": index, "embedding": encode(embed(text))}
        for index, text in enumerate(request.texts)
    ]
    tokens = {"prompt_tokens": request.input_tokens, "total_tokens": request.input_tokens}
    return {"object": "list", "data": data, "model": request.model, "usage": tokens}


def rerank_body(request: Received, score: Score) -> dict[str, Any]:
    """Results in Cohere's and Jina's form, best first, equal scores in the order given."""
    query = str(request.body["query"])
    texts = [
        str(item.get("text", "")) if isinstance(item, dict) else str(item)
        for item in request.body["documents"]
    ]
    results = [{"index": index, "relevance_score": score(query, text)} for index, text in enumerate(texts)]
    results.sort(key=lambda result: -result["relevance_score"])
    wanted = request.body.get("top_n")
    return {"id": f"rerank-{request.id}", "model": request.model, "results": results[:wanted]}


def embeddings_problem(body: dict[str, Any]) -> str | None:
    """Why a compatible server refuses the request, or None."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        return f"'input' must be a text or a list of texts, not {given!r}"
    if not all(isinstance(text, str) for text in texts):
        return "'input' holds token numbers; most compatible servers take texts only"
    if "" in texts:
        return "'input' holds an empty text"
    return None if body.get("model") else "you must provide a model parameter"


def rerank_problem(body: dict[str, Any]) -> str | None:
    """Why a rerank server refuses the request, or None."""
    if not body.get("query") or not isinstance(body["query"], str):
        return f"'query' must be a text, not {body.get('query')!r}"
    documents = body.get("documents")
    if not isinstance(documents, list) or not documents:
        return f"'documents' must be a list with at least one document, not {documents!r}"
    return None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
