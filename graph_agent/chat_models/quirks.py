"""What an endpoint does not understand, learned from its refusals, and a model that leaves it out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_OPTIONAL = ("temperature", "stream_options", "max_completion_tokens", "max_tokens")


@dataclass
class Quirks:
    """What the endpoint does not understand.

    Attributes:
        structured: the best way to structured output that is not known to fail.
        tools: whether it takes tool schemas.
        without: optional parameters that it refused.
    """

    structured: str = "json_schema"
    tools: bool = True
    without: set[str] = field(default_factory=set)

    def bound(self, model: BaseChatModel, options: dict[str, Any]) -> Any:
        """The model with options (tools, tool_choice, response_format) and without what was refused."""
        chosen: Any = model
        if self.without:
            fields: dict[str, Any] = {
                name: None for name in self.without if name in type(chosen).model_fields
            }
            if "stream_options" in self.without:
                fields["stream_usage"] = False
            if "max_completion_tokens" in self.without:
                fields["max_tokens"] = None
            chosen = chosen.model_copy(update=fields)
        tools = options.get("tools")
        rest = {key: value for key, value in options.items() if key != "tools"}
        if tools:
            return chosen.bind_tools(tools, **rest)
        return chosen.bind(**rest) if rest else chosen

    def drop_parameter(self, error: Exception) -> bool:
        """Leave out an optional parameter that a refusal names; False when it names none."""
        text = str(error).lower()
        named = {name for name in _OPTIONAL if name in text or name.replace("_", " ") in text}
        if "max_tokens" in named:
            named.add("max_completion_tokens")
        fresh = named - self.without
        self.without |= fresh
        return bool(fresh)
