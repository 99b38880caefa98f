"""The pages in Chromium: one browser, one engine with the sample documents, servers on free ports.

Every page records what it asks for and what goes wrong in it: at its end nothing may have left this machine, no
script may have failed, and no dialog may have opened.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import ARGUMENTS, WIDE, Serving, Site, Watched, open_page
from scripted_server import ScriptedServer

from graph_agent.embeddings import load_embedder
from graph_agent.ingest import sync
from graph_agent.settings import Settings, load_settings
from graph_agent.store import DocumentGraph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "evals" / "sets" / "sample" / "corpus"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed: pip install playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of an engine of its own, without a model, whatever the environment says."""
    return load_settings(
        data=tmp_path_factory.mktemp("pages"),
        embeddings="local",
        falkordb_url="",
        model="",
        port=0,
        host="127.0.0.1",
    )


@pytest.fixture(scope="session")
def sample(settings: Settings) -> Iterator[DocumentGraph]:
    """The sample documents, with vectors. For reading only."""
    with DocumentGraph.open(settings) as graph:
        sync(graph, load_embedder(settings), [SAMPLE])
        yield graph


Serve = Callable[..., "Site"]


@pytest.fixture(scope="session")
def serve_forever() -> Iterator[Serve]:
    """Start servers that live until the last test."""
    with ExitStack() as stack:
        yield lambda graph, **options: stack.enter_context(Serving(graph, **options))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that live as long as the test."""
    with ExitStack() as stack:
        yield lambda graph, **options: stack.enter_context(Serving(graph, **options))


@pytest.fixture(scope="session")
def site(sample: DocumentGraph, serve_forever: Serve) -> Site:
    """The sample documents, answered by extracts."""
    return serve_forever(sample)


@pytest.fixture
def model_site(
    sample: DocumentGraph, serve: Serve, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Site:
    """The sample documents, answered by a scripted model; the test says what it replies."""
    monkeypatch.setenv("OPENAI_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    return serve(sample, settings={"model": "scripted-model"})


@pytest.fixture
def watched(browser: Browser, serve: Serve) -> Iterator[Watched]:
    """A context of its own, 1280 by 800; closed before the servers of the test stop, or its pages would miss them."""
    context = browser.new_context(viewport=WIDE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    found = Watched(context)
    yield found
    context.close()
    found.check()


@pytest.fixture
def page(watched: Watched, site: Site) -> Page:
    """The chat over the sample documents, ready to be asked."""
    return open_page(watched, site.url)
