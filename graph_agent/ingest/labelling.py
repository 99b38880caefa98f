"""LABELLED edges: the labels that `classify.toml` gives, brought in step after every sync.

Only differences are written and nothing is embedded again: a change of the file relabels in one pass. What
a model decided (see enriching.py) is kept as long as the rules still leave it open.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def relabel(graph: DocumentGraph, roots: Sequence[Root], report: SyncReport) -> int:
    """Label the documents of the given roots by their classification files.

    A file with a fault is reported with its line, and the old labels of its root stay.

    Returns:
        How many documents' labels changed.
    """
    rules: dict[str, Classification] = {}
    for root in roots:
        if not root.reachable or root.kind == "zip":
            continue
        try:
            rules[str(root.path).rstrip("/")] = load_classification(root.path)
        except ConfigurationError as error:
            report.failed.append(FileFailure(str(root.path / CLASSIFY_FILE), str(error)))
    if not rules:
        return 0
    present = _present(graph)
    if not any(classification.facets for classification in rules.values()) and not any(present.values()):
        return 0
    wanted: set[Label] = set()
    decided: set[str] = set()
    for row in graph.read(statements.LABEL_SUBJECTS).dicts():
        root_path = str(row["source"]).removesuffix("/" + str(row["path"]))
        classification = rules.get(root_path)
        if classification is None:
            continue
        content_hash = str(row["content_hash"])
        decided.add(content_hash)
        for facet, resolution in classification.resolve(row["path"], metadata_of(row["properties"])).items():
            values = {
                value.name for each in classification.facets if each.name == facet for value in each.values
            }
            known = {label for label in present.get(content_hash, set()) if label[2] in values}
            wanted |= _label(content_hash, facet, resolution, known)
    now = {label for content_hash in decided for label in present.get(content_hash, set())}
    stale, missing = sorted(now - wanted), sorted(wanted - now)
    for statement, rows in ((statements.DELETE_LABELS, stale), (statements.MERGE_LABELS, missing)):
        for start in range(0, len(rows), BATCH):
            graph.write(statement, {"rows": [[*row, None] for row in rows[start : start + BATCH]]})
    changed = len({row[0] for row in (*stale, *missing)})
    if changed:
        graph.write(statements.UNUSED_LABELS)
        graph.write(statements.BUMP_VERSION)
    _describe(graph, rules)
    return changed


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
