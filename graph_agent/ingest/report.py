"""What a sync tells while it runs and when it is done."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from graph_agent.ingest.found import Failure

if TYPE_CHECKING:
    from graph_agent.ingest.enrichment import EnrichReport


class Progress(Protocol):
    """Where a sync shows how far it is; a terminal, a page or nothing at all."""

    def stage(self, name: str, total: int) -> None:
        """A new stage begins; `total` units of work lie ahead."""

    def advance(self, units: int = 1, detail: str = "") -> None:
        """So much more is done."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage, unseen."""

    def advance(self, units: int = 1, detail: str = "") -> None:
        """Advance, unseen."""


@dataclass(frozen=True)
class FileFailure:
    """A file that could not be taken, and why."""

    path: str
    reason: str


@dataclass
class SyncReport:
    """What one sync did; its JSON form is what `ingest --json` prints and `status` shows as the last sync.

    Attributes:
        finished_at: UTC time in ISO form.
        added, changed, moved, deleted, unchanged: files; `moved` counts new names of known content.
        redone: of the changed ones, those whose file is as it was, by reason: another converter or chunk size.
        relabelled: documents whose labels changed.
        failed: files that could not be taken, with reasons.
        warnings: things taken but not whole.
        skipped: files left out on purpose, by reason.
        sections, chunks: written.
        vectors: embedded in this run; `vectors_pending`: still to come.
        vectors_per_second: speed of embedding.
        vectors_reused: of those, known from an equal text; `tokens_saved`: what the model did not have to read.
        left: files that were to be read when the sync was stopped; the next run goes on with them.
        enrichment: what a chat model added, when it was asked to.
        seconds: wall time; `seconds_to_search`: until keywords and tables of contents were ready.
    """

    finished_at: str = ""
    added: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    redone: dict[str, int] = field(default_factory=dict)
    relabelled: int = 0
    failed: list[FileFailure] = field(default_factory=list)
    warnings: list[FileFailure] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    left: int = 0
    documents: int = 0
    sections: int = 0
    chunks: int = 0
    vectors: int = 0
    vectors_pending: int = 0
    vectors_per_second: float = 0.0
    vectors_reused: int = 0
    tokens_saved: int = 0
    seconds: float = 0.0
    seconds_to_search: float = 0.0
    enrichment: EnrichReport | None = None

    @property
    def wrote(self) -> bool:
        """Whether the graph was changed."""
        return bool(self.added or self.changed or self.moved or self.deleted or self.relabelled)

    def add_failure(self, failure: Failure | FileFailure) -> None:
        """Note a file that could not be taken."""
        self.failed.append(FileFailure(failure.path, failure.reason))

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    def summary(self) -> str:
        """One line for people."""
        parts = [
            f"{count} {word}"
            for count, word in (
                (self.added, "added"),
                (self.changed, "changed"),
                (self.moved, "moved"),
                (self.deleted, "deleted"),
                (self.relabelled, "relabelled"),
                (self.unchanged, "unchanged"),
                (len(self.failed), "failed"),
            )
            if count
        ]
        return ", ".join(parts) or "nothing to do"
