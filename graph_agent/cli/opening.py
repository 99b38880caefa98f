"""From the options of a command line to settings, and to what is opened with them.

Packages are imported when a command needs them: `graph-agent --help` opens and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from graph_agent import terminal
from graph_agent.settings import Settings, load_settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from graph_agent.embeddings import Embedder
    from graph_agent.store import DocumentGraph
    from graph_agent.tools import ToolContext


def settings_of_context(**overrides: Any) -> Settings:
    """The settings of this call: environment and .env, then the global options, then `overrides`; sets up logging.

    Raises:
        ConfigurationError: a value that cannot be.
    """
    given = dict(click.get_current_context().find_object(dict) or {})
    verbose = bool(given.pop("verbose", False))
    if (url := given.pop("url", None)) is not None:
        given["falkordb_url"] = url
    settings = load_settings(**{**given, **overrides})
    terminal.set_up_logging(verbose=verbose, json_lines=settings.log_format == "json")
    return settings


@contextmanager
def open_graph(settings: Settings) -> Iterator[DocumentGraph]:
    """The document graph, closed at the end; the engine is started when none runs."""
    from graph_agent.store import DocumentGraph

    with DocumentGraph.open(settings) as graph:
        yield graph


@contextmanager
def open_tools() -> Iterator[ToolContext]:
    """What the tools need, on the graph of this call."""
    from graph_agent.tools import ToolContext

    settings = settings_of_context()
    with open_graph(settings) as graph:
        yield ToolContext.open(graph, settings)


def open_embedder(settings: Settings) -> Embedder:
    """The embedding model of the settings."""
    from graph_agent.embeddings import load_embedder

    return load_embedder(settings)


def open_chat_model(settings: Settings) -> BaseChatModel:
    """The chat model of the settings; a clear error when none is named."""
    from graph_agent.chat_models.models import chat_model

    return chat_model(settings)
