"""An optional second opinion on the order: a rerank endpoint, or any LangChain document compressor.

Off unless GRAPH_AGENT_RERANK is set. It never costs more than its time limit and never fails a search:
then the fused order stays, and the explanation says so.
"""

from __future__ import annotations

import importlib
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from graph_agent.errors import ConfigurationError
from graph_agent.text import estimate_tokens

if TYPE_CHECKING:
    from graph_agent.settings import Settings

Reranker = Callable[[str, Sequence[str]], "tuple[list[int] | None, str]"]
_MAX_CHARS = 4_000
_MAX_ANSWER_BYTES = 4_000_000


def load_reranker(settings: Settings) -> Reranker | None:
    """The reranker that the settings name, None when none is.

    A reranker takes a query and texts and returns their order (positions, best first), or None and why
    not; and a note.

    Raises:
        ConfigurationError: the setting is neither an address nor an importable module:factory.
    """
    name = (settings.rerank or "").strip()
    if not name:
        return None
    if name.startswith(("http://", "https://")):
        address, _, model = name.partition("#")
        key = settings.rerank_key.get_secret_value() if settings.rerank_key else ""
        score = _endpoint(address, model, key, settings.rerank_timeout_s)
    else:
        score = _compressor(name)
    return _bounded(score, name.partition("#")[0], settings.rerank_timeout_s)


def _bounded(order: Callable[[str, Sequence[str]], list[int]], name: str, limit_s: float) -> Reranker:
    pool = ThreadPoolExecutor(4, thread_name_prefix="rerank")

    def run(query: str, texts: Sequence[str]) -> tuple[list[int] | None, str]:
        cut = [text[:_MAX_CHARS] for text in texts]
        job: Future[list[int]] = pool.submit(order, query, cut)
        try:
            found = job.result(timeout=limit_s)
        except FutureTimeout:
            job.cancel()
            return None, f"{name} took longer than {limit_s:g} s: fused order kept"
        except Exception as error:  # noqa: BLE001 - any provider's fault leaves the fused order standing
            return None, f"{name} failed ({_one_line(error)}): fused order kept"
        whole = list(dict.fromkeys(position for position in found if 0 <= position < len(texts)))
        rest = [position for position in range(len(texts)) if position not in set(whole)]
        return whole + rest, f"reranked by {name}, about {sum(map(estimate_tokens, cut))} tokens"

    return run


def _endpoint(
    address: str, model: str, key: str, limit_s: float
) -> Callable[[str, Sequence[str]], list[int]]:
    """POST {model, query, documents, top_n}, as Cohere, Jina, vLLM, llama.cpp and others take it."""

    def order(query: str, texts: Sequence[str]) -> list[int]:
        body = {"query": query, "documents": list(texts), "top_n": len(texts), "return_documents": False}
        if model:
            body["model"] = model
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")  # noqa: S310
        with urllib.request.urlopen(request, timeout=limit_s) as answer:  # noqa: S310 - http or https, set by the user
            data: Any = json.loads(answer.read(_MAX_ANSWER_BYTES))
        rows: list[Any] = (data.get("results") or data.get("data") or []) if isinstance(data, dict) else data
        scored = [
            (float(row.get("relevance_score", row.get("score", 0.0))), int(row["index"])) for row in rows
        ]
        return [position for _, position in sorted(scored, key=lambda item: (-item[0], item[1]))]

    return order


def _compressor(name: str) -> Callable[[str, Sequence[str]], list[int]]:
    module_name, _, factory_name = name.partition(":")
    try:
        factory = getattr(importlib.import_module(module_name), factory_name)
        compressor = factory()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"GRAPH_AGENT_RERANK={name} cannot be loaded: {_one_line(error)}.",
            "Give an http(s) address, or module:factory of a LangChain document compressor.",
        ) from None

    def order(query: str, texts: Sequence[str]) -> list[int]:
        from langchain_core.documents import Document

        documents = [Document(page_content=text, metadata={"position": at}) for at, text in enumerate(texts)]
        kept = compressor.compress_documents(documents, query)
        return [int(document.metadata["position"]) for document in kept]

    return order


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
