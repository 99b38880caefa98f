"""What every test may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# `from scripted_server import ...` in tests: pytest's importlib mode puts nothing on the path by itself.
# Last, so that no folder of tests can hide an installed package.
sys.path.append(str(Path(__file__).parent))

from scripted_server import ScriptedServer


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """A running server with an empty script; at the end nothing may have failed and no step be left."""
    with ScriptedServer() as server:
        yield server


SOAK_TIMEOUT_S = 3_600  # of a long form that names none
ORDER = ("unit", "integration", "browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first; browser tests last, for Playwright's own event loop then runs until the end."""
    root = Path(__file__).parent
    items.sort(key=lambda item: ORDER.index(item.path.relative_to(root).parts[0]))
    if os.environ.get("GRAPH_AGENT_SOAK"):
        for item in items:
            if item.get_closest_marker("soak") and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SOAK_TIMEOUT_S))
