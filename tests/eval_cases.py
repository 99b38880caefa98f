"""What the tests of evaluations share."""

from __future__ import annotations

from pathlib import Path

from graph_agent.settings import Settings


def with_own_runs(settings: Settings, folder: Path) -> Settings:
    """Settings whose runs lie in a folder of the test's own; vectors that are known are not computed again."""
    cache = settings.data / "cache"
    cache.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    (folder / "cache").symlink_to(cache)
    return settings.model_copy(update={"data": folder})
