"""Values of query results as short text, for tables and files."""

from __future__ import annotations

import json
from typing import Any

from graph_agent.ui.sanitise import clean
from graph_agent.ui.wording import shortened

# Properties that name a node best, tried in this order.
_CAPTIONS = ("title", "name", "filename", "value", "label", "path", "section_id", "content_hash", "id")


def cell_text(value: Any, limit: int = 200) -> str:
    """A value on one line.

    Args:
        value: JSON types; nodes and edges as the store's `plain` gives them.
        limit: characters at most.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value}"
    if isinstance(value, str):
        return shortened(value, limit)
    if isinstance(value, dict) and "labels" in value and "properties" in value:
        return shortened(f"({':'.join(value['labels'])} {caption(value['properties'])})", limit)
    if isinstance(value, dict) and "type" in value and "properties" in value:
        return shortened(f"[{value['type']}]", limit)
    return shortened(json.dumps(value, ensure_ascii=False, default=str), limit)


def caption(properties: dict[str, Any]) -> str:
    """What a node is called: its most telling property."""
    for name in _CAPTIONS:
        value = properties.get(name)
        if isinstance(value, str | int | float) and str(value).strip():
            return shortened(str(value), 60)
    return ""


def exported(value: Any) -> str:
    """A value for a CSV file. Text that a spreadsheet would take for a formula gets a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = clean(value)
        return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
    if isinstance(value, bool | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)
