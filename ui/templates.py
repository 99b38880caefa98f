"""The pages' HTML: Jinja templates in the folder html, every value escaped unless it is Markup already."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment


def render(name: str, /, **values: Any) -> Markup:
    """A template filled in.

    Args:
        name: file name in the folder html.
        values: what the template names; an unknown name in a template is an error.
    """
    return Markup(_environment().get_template(name).render(**values))  # noqa: S704 - autoescaped by Jinja


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from graph_agent.ui import wording

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(wording.FILTERS)
    return environment
