"""LABELLED edges: the labels that `classify.toml` gives, brought in step after every sync.

Only differences are written and nothing is embedded again: a change of the file relabels in one pass. What
a model decided (see enriching.py) is kept as long as the rules still leave it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.errors import ConfigurationError
from graph_agent.ingest.found import Root
from graph_agent.ingest.labels import CLASSIFY_FILE, Classification, Resolution, load_classification
from graph_agent.ingest.report import FileFailure, SyncReport
from graph_agent.store import DocumentGraph
from graph_agent.store.queries import ingest as statements

BATCH = 2_000
RENAMED = "fm_"  # front-matter keys that are ours are stored under this prefix

Label = tuple[str, str, str, str]
"""Content hash, facet, value, and what decided it."""


@dataclass
class LabelChanges:
    """What classification files ask for against what documents are labelled with.

    Attributes:
        stale, missing: labels to take away, and to give.
        failures: files with a fault; the labels of their roots stay.
        rules: those in force, by root.
        paths: of the documents that were looked at, by content hash.
    """

    stale: list[Label] = field(default_factory=list)
    missing: list[Label] = field(default_factory=list)
    failures: list[FileFailure] = field(default_factory=list)
    rules: dict[str, Classification] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    @property
    def documents(self) -> list[str]:
        """Content hashes of the documents that change."""
        return sorted({label[0] for label in (*self.stale, *self.missing)})


def label_changes(graph: DocumentGraph, roots: Sequence[Root]) -> LabelChanges:
    """Compare the labels of the documents of the given roots with their classification files; writes nothing."""
    changes = LabelChanges()
    for root in roots:
        if not root.reachable or root.kind == "zip":
            continue
        try:
            changes.rules[str(root.path).rstrip("/")] = load_classification(root.path)
        except ConfigurationError as error:
            changes.failures.append(FileFailure(str(root.path / CLASSIFY_FILE), str(error)))
    present = _present(graph) if changes.rules else {}
    if not any(rules.facets for rules in changes.rules.values()) and not any(present.values()):
        return changes
    wanted: set[Label] = set()
    for row in graph.read(statements.LABEL_SUBJECTS).dicts():
        root_path = str(row["source"]).removesuffix("/" + str(row["path"]))
        classification = changes.rules.get(root_path)
        if classification is None:
            continue
        content_hash = str(row["content_hash"])
        changes.paths[content_hash] = str(row["path"])
        for facet, resolution in classification.resolve(row["path"], metadata_of(row["properties"])).items():
            values = {
                value.name for each in classification.facets if each.name == facet for value in each.values
            }
            known = {label for label in present.get(content_hash, set()) if label[2] in values}
            wanted |= _label(content_hash, facet, resolution, known)
    now = {label for content_hash in changes.paths for label in present.get(content_hash, set())}
    changes.stale, changes.missing = sorted(now - wanted), sorted(wanted - now)
    return changes


def relabel(graph: DocumentGraph, roots: Sequence[Root], report: SyncReport) -> int:
    """Label the documents of the given roots by their classification files.

    A file with a fault is reported with its line, and the old labels of its root stay.

    Returns:
        How many documents' labels changed.
    """
    changes = label_changes(graph, roots)
    report.failed += changes.failures
    for statement, rows in (
        (statements.DELETE_LABELS, changes.stale),
        (statements.MERGE_LABELS, changes.missing),
    ):
        for start in range(0, len(rows), BATCH):
            graph.write(statement, {"rows": [[*row, None] for row in rows[start : start + BATCH]]})
    if changes.documents:
        graph.write(statements.UNUSED_LABELS)
        graph.write(statements.BUMP_VERSION)
    if changes.rules:
        _describe(graph, changes.rules)
    return len(changes.documents)


def _label(content_hash: str, facet: str, resolution: Resolution, present: set[Label]) -> set[Label]:
    if resolution.value is not None:
        return {(content_hash, facet, resolution.value, resolution.source)}
    if resolution.source == "model":
        return {label for label in present if label[1] == facet and label[3] == "model"}
    return set()


def _present(graph: DocumentGraph) -> dict[str, set[Label]]:
    found: dict[str, set[Label]] = {}
    for row in graph.read(statements.PRESENT_LABELS).dicts():
        label = (row["content_hash"], row["facet"], row["value"], row["source"] or "")
        found.setdefault(label[0], set()).add(label)
    return found


def metadata_of(properties: dict[str, Any]) -> dict[str, Any]:
    """A document's front matter under the names that its author used."""
    return properties | {
        key.removeprefix(RENAMED): value for key, value in properties.items() if key.startswith(RENAMED)
    }


def _describe(graph: DocumentGraph, rules: dict[str, Classification]) -> None:
    """Keep what facets ask and values mean beside the labels, for people and models that filter by them."""
    wanted = {
        (facet.name, value.name): (value.description, facet.question)
        for classification in rules.values()
        for facet in classification.facets
        for value in facet.values
    }
    rows = [
        [row["facet"], row["value"], *wanted[row["facet"], row["value"]]]
        for row in graph.read(statements.LABELS).dicts()
        if (row["facet"], row["value"]) in wanted
        and (row["description"] or "", row["question"] or "") != wanted[row["facet"], row["value"]]
    ]
    if rows:
        graph.write(statements.DESCRIBE_LABELS, {"rows": rows})
