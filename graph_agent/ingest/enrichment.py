"""What a description by a chat model will take, and what it took."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from graph_agent.settings import Settings


@dataclass(frozen=True)
class Estimate:
    """What an enrichment will take, before anything is sent.

    Attributes:
        sections, documents, labels: items that a model will be asked about.
        from_cache: items answered before, which cost nothing.
        calls: requests.
        input_tokens, output_tokens: estimated, four characters a token.
        cost: in the currency of the settings' prices; None when they are not set.
    """

    sections: int = 0
    documents: int = 0
    labels: int = 0
    from_cache: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be asked."""
        return not (self.sections or self.documents or self.labels)

    def summary(self) -> str:
        """One line for people."""
        if self.is_empty:
            return "Nothing is left to describe; no request to the model is needed."
        price = "" if self.cost is None else f", about {self.cost:,.2f} by the prices set"
        return (
            f"{self.sections:,} sections, {self.documents:,} documents and {self.labels:,} labels: "
            f"about {self.calls:,} requests, {self.input_tokens:,} tokens in and {self.output_tokens:,} out{price}."
        )


@dataclass
class EnrichReport:
    """What an enrichment did.

    Attributes:
        sections, documents, labels: written.
        from_cache: of them, answered before.
        failed: items that the model gave no usable answer for; they are asked again in the next run.
        calls, input_tokens, output_tokens: spent.
        cost: in the currency of the settings' prices; None when they are not set.
        seconds: wall time.
    """

    sections: int = 0
    documents: int = 0
    labels: int = 0
    from_cache: int = 0
    failed: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    def summary(self) -> str:
        """One line for people."""
        price = "" if self.cost is None else f", {self.cost:,.2f} by the prices set"
        failed = f", {self.failed:,} without a usable answer" if self.failed else ""
        return (
            f"{self.sections:,} sections and {self.documents:,} documents described, {self.labels:,} labels given"
            f"{failed}; {self.calls:,} requests, {self.input_tokens:,} tokens in, {self.output_tokens:,} out{price}."
        )


def price(settings: Settings, input_tokens: int, output_tokens: int) -> float | None:
    """What tokens cost by the prices in the settings; None when neither is set."""
    if settings.price_input is None and settings.price_output is None:
        return None
    return (input_tokens * (settings.price_input or 0) + output_tokens * (settings.price_output or 0)) / 1e6
