"""From the schema of an older program to this one's, a step at a time; a newer schema is refused.

Schema 1: the graph as ARCHITECTURE.md describes it.
Schema 2: GraphMeta says what a killed sync still owes (`unsettled`, `untidy`) and which program wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping

from graph_agent.errors import ConfigurationError
from graph_agent.store.graph import DocumentGraph
from graph_agent.store.program import program_version
from graph_agent.store.queries import schema as statements

STEPS: Mapping[int, tuple[str, ...]] = {1: (statements.OWE_EVERYTHING,)}
"""What leads from a version to the next. Each may be cut anywhere and run again."""


def migrate(graph: DocumentGraph, version: int, written_by: str = "") -> bool:
    """Bring a graph from `version` to this program's schema.

    Returns:
        Whether there was anything to do.

    Raises:
        ConfigurationError: it is of a newer schema.
    """
    refuse_newer(f"The graph {graph.name!r}", version, written_by)
    for number in range(version, statements.SCHEMA_VERSION):
        for statement in STEPS.get(number, ()):
            graph.write(statement)
        graph.write(
            statements.SET_SCHEMA_VERSION, {"schema_version": number + 1, "written_by": program_version()}
        )
    return version < statements.SCHEMA_VERSION


def refuse_newer(what: str, version: int, written_by: str = "") -> None:
    """Stop at what a newer program wrote.

    Raises:
        ConfigurationError: names the version that is needed.
    """
    if version > statements.SCHEMA_VERSION:
        needed = (
            f"graph-agent {written_by} or newer"
            if written_by
            else f"a graph-agent that knows schema {version}"
        )
        raise ConfigurationError(
            f"{what} has schema version {version}; graph-agent {program_version()} knows versions up to "
            f"{statements.SCHEMA_VERSION}.",
            f"It takes {needed}: pip install --upgrade graph-agent",
        )
