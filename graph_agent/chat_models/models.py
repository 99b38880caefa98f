"""The chat model that the settings name, and what its errors mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graph_agent.errors import ConfigurationError, ModelUnavailable
from graph_agent.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# Providers that init_chat_model knows; any other `a:b` is the name of a model on the endpoint, as in llama3:8b.
_PROVIDER_NAMES = (
    "anthropic azure_ai azure_openai bedrock bedrock_converse cohere deepseek fireworks "
    "google_anthropic_vertex google_genai google_vertexai groq huggingface ibm mistralai nvidia ollama "
    "openrouter perplexity together upstage xai "
)
PROVIDERS = frozenset(_PROVIDER_NAMES.split())
Trouble = Literal["retry", "connection", "context", "parameter", "refused", "fatal"]
_CONTEXT_SIGNS = (
    "context_length",
    "context length",
    "maximum context",
    "too many tokens",
    "prompt is too long",
    "n_ctx",
)
_NO_KEY = "unused"
MAX_OUTPUT_TOKENS = 4_000


class ContextTooLong(ModelUnavailable):
    """The request was longer than the model can read; smaller passages may fit."""


class BadReply(ModelUnavailable):
    """The model answered, but with nothing usable: empty, cut, garbage, or one phrase over and over."""


def chat_model(settings: Settings) -> BaseChatModel:
    """The model of GRAPH_AGENT_MODEL; nothing is sent yet.

    A plain name is asked of OPENAI_BASE_URL with OPENAI_API_KEY (environment or .env); `provider:name` goes
    through LangChain's init_chat_model, `openai:name` is the same as the plain name.

    Raises:
        ConfigurationError: no model is set, its key is missing, or its package is not installed.
    """
    name = (settings.model or "").strip()
    if not name:
        raise ConfigurationError("No chat model is set.", "Set GRAPH_AGENT_MODEL, e.g. to gpt-4o-mini.")
    provider, _, rest = name.partition(":")
    if provider == "openai" and rest:
        return _openai(rest, settings)
    if provider in PROVIDERS and rest:
        return _by_provider(name, provider, settings)
    return _openai(name, settings)


def _openai(name: str, settings: Settings) -> BaseChatModel:
    from langchain_openai import ChatOpenAI
    from openai import Timeout
    from pydantic import SecretStr

    base_url = endpoint_variable("OPENAI_BASE_URL") or endpoint_variable("OPENAI_API_BASE")
    key = endpoint_variable("OPENAI_API_KEY")
    if not key and not base_url:
        raise ConfigurationError(
            f"GRAPH_AGENT_MODEL is {name!r}, but OPENAI_API_KEY is not set.",
            "Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own that needs no key.",
        )
    try:
        return ChatOpenAI(
            model=name,
            api_key=SecretStr(key or _NO_KEY),
            base_url=base_url or None,
            temperature=0.0,
            max_retries=0,  # retried here, within the question's budget
            # As an object, not a number: langchain-openai would share one client between event loops.
            timeout=Timeout(settings.model_timeout_s),
            max_completion_tokens=MAX_OUTPUT_TOKENS,
            stream_usage=True,
            stream_chunk_timeout=None,
            use_responses_api=False,
        )
    except Exception as error:  # noqa: BLE001 - every provider has exceptions of its own
        raise ConfigurationError(
            f"The chat model {name!r} cannot be set up: {one_line(error)}.",
            "Check OPENAI_BASE_URL and the model's name.",
        ) from None


def endpoint_variable(name: str) -> str:
    """A variable of the OpenAI client, from the environment or, like our own settings, from .env."""
    value = os.environ.get(name, "").strip()
    if value or not Path(".env").is_file():
        return value
    from dotenv import dotenv_values

    return (dotenv_values(".env").get(name) or "").strip()


def _by_provider(name: str, provider: str, settings: Settings) -> BaseChatModel:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise ConfigurationError(
            f"GRAPH_AGENT_MODEL={name} needs the package langchain and the one of {provider}.",
            f"Install them with: pip install langchain langchain-{provider.replace('_', '-')}",
        ) from None
    try:
        made: BaseChatModel = init_chat_model(
            name, temperature=0.0, max_retries=0, timeout=settings.model_timeout_s
        )
    except ImportError as error:
        raise ConfigurationError(
            f"GRAPH_AGENT_MODEL={name} needs a package that is not installed: {one_line(error)}.",
            "Install the package that it names, or use an OpenAI-compatible endpoint.",
        ) from None
    except Exception as error:  # noqa: BLE001 - every provider has exceptions of its own
        raise ConfigurationError(
            f"GRAPH_AGENT_MODEL={name} is not usable: {one_line(error)}.",
            f"Check the name and the key of {provider}.",
        ) from None
    return made


def trouble(error: BaseException) -> Trouble:
    """What kind of failure a model client's exception is.

    retry: 408, 409, 429, 5xx and time-outs; connection: nobody listens, or the line broke; context: too long;
    parameter: 400, 404, 422 and the like about a parameter of the request, which may go without it;
    refused: key or right missing, unknown model; fatal: anything else.
    """
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "retry"
    status = _status(error)
    text = str(error).lower()
    if any(sign in text for sign in _CONTEXT_SIGNS) and (status is None or status in {400, 413, 422, 500}):
        return "context"
    if status is None:
        return "connection" if _is_connection(error) else "fatal"
    if status in {401, 402, 403} or (status == 404 and "model" in text):
        return "refused"
    if status in {408, 409, 425, 429} or status >= 500:
        return "retry"
    return "parameter"


def is_form_refusal(error: BaseException) -> bool:
    """Whether a server refused the form of a request, or broke on it: another form may do.

    HTTP 400, 404 and 422 about a parameter, and 500 and 501, with which some servers answer what they do not know.
    """
    return trouble(error) == "parameter" or _status(error) in {500, 501}


def unavailable(error: BaseException, name: str) -> ModelUnavailable:
    """The failure in our own words, with the fix; never holds a key."""
    status = _status(error)
    said = one_line(error)
    if isinstance(error, ModelUnavailable):
        return error
    kind = trouble(error)
    if kind == "context":
        return ContextTooLong(
            f"The request was too long for the model {name}: {said}.", "Lower GRAPH_AGENT_PASSAGE_TOKENS."
        )
    if status in {401, 403}:
        return ModelUnavailable(
            f"The model's server refused the key (HTTP {status}).", "Check OPENAI_API_KEY."
        )
    if kind == "refused":
        return ModelUnavailable(f"The model {name} was refused: {said}.", "Check GRAPH_AGENT_MODEL.")
    if kind == "connection":
        return ModelUnavailable(
            f"The model's server cannot be reached: {said}.", "Check OPENAI_BASE_URL, and that it runs."
        )
    if kind == "retry" and status is None:
        return ModelUnavailable(
            f"The model {name} did not answer in time.", "Try again, or raise GRAPH_AGENT_MODEL_TIMEOUT_S."
        )
    return ModelUnavailable(f"The model {name} failed: {said}.", "Try again.")


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asked to wait, None when it did not."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return max(0.0, float(headers["retry-after"])) if headers and "retry-after" in headers else None
    except (TypeError, ValueError):
        return None


def one_line(error: BaseException, limit: int = 240) -> str:
    """An exception's text on one line, bounded, without anything that looks like a key."""
    import re

    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(r"\b(?:sk|key|Bearer)[-_ ][A-Za-z0-9_\-*.]{6,}", "***", text)
    text = re.sub(r"(?<=//)[^/@\s]+@", "***@", text)
    return (text[: limit - 1] + "…" if len(text) > limit else text).rstrip(".")


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _is_connection(error: BaseException) -> bool:
    seen: Any = error
    for _ in range(5):
        if seen is None:
            return False
        name = type(seen).__name__
        if (
            isinstance(seen, OSError)
            or "Connect" in name
            or "Protocol" in name
            or name in {"ReadError", "WriteError"}
        ):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
