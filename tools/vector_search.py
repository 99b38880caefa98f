"""Search by meaning over whichever vectors a graph has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from graph_agent.errors import EmbeddingMismatch, QueryError
from graph_agent.retrieval.results import Hit, SearchResult
from graph_agent.store import survey
from graph_agent.store.queries import navigation
from graph_agent.store.queries import vectors as statements
from graph_agent.store.queries.overview import quoted
from graph_agent.store.values import plain
from graph_agent.tools.bounds import OUTPUT_TOKENS, fitting, one_line
from graph_agent.tools.context import ToolContext
from graph_agent.tools.listing import nothing_ingested
from graph_agent.tools.result import ToolResult
from graph_agent.tools.search_sections import remarks
from graph_agent.tools.spec import tool
from graph_agent.tools.vectors_out import vector_names, without_vectors
from graph_agent.tools.yaml_text import yaml_text

MAX_TOP_K = 100
SCANNED = 20_000  # nodes up to which an exact scan is quick
RIGHT_INDEX = 42_200  # FalkorDB version from which the index keeps all results after changes
TEXT_CHARS = 1_500
NOTE_TOKENS = 300
TEXT_NAMES = ("text", "content", "body", "description", "summary", "title", "name")


@tool("documents", reading=False)
def vector_search(
    context: ToolContext,
    query: Annotated[
        str, Field(description="what to look for, in words; it is embedded and compared by meaning")
    ],
    top_k: Annotated[int, Field(ge=1, description="how many nodes, 1 to 100")] = 5,
) -> ToolResult:
    """Semantic search: the nodes whose text is closest in meaning to the query, on any graph with a vector index.

    Use it for facts in text when no exact condition is known; for ingested documents query_documents also
    weighs exact terms and takes filters. Returns [{id, labels, text, score, properties}], best first; score
    from 0 to 1; id is the node's id(n) in Cypher. Without vectors it answers by keywords and says so; vectors
    of another size than the embedding model's are an error that names both sizes.
    """
    limit = min(top_k, MAX_TOP_K)
    told = (
        [f"top_k {top_k} is more than {MAX_TOP_K}: the best {MAX_TOP_K} are shown."] if top_k > limit else []
    )
    if context.listing.current().documents:
        rows, more = _passages(context, query, limit)
    else:
        rows, more = _nodes(context, query, limit)
    told += more
    if not rows:
        return ToolResult(" ".join(told) or f"No nodes found for {query[:200]!r}.", [])
    shown = [{**row, "text": one_line(row["text"], TEXT_CHARS)} for row in rows]
    kept, _ = fitting(((row, yaml_text([row])) for row in shown), OUTPUT_TOKENS - NOTE_TOKENS)
    if len(kept) < len(rows):
        ids = ", ".join(str(row["id"]) for row in rows[len(kept) :])
        told.append(
            f"{len(rows) - len(kept)} more are left out; graph_query reads them: "
            f"MATCH (n) WHERE id(n) IN [{ids}] RETURN n"
        )
    notes = {"note": " ".join(told)} if told else {}
    return ToolResult(yaml_text({**notes, "nodes": kept}), rows)


def _passages(context: ToolContext, query: str, limit: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Our own graph: passages by meaning, or by keywords where there are no vectors, which is said."""
    retriever = context.retriever
    result = retriever.search(query, mode="vector", limit=limit, per="chunk")
    degraded = result.degraded
    if not result.hits and degraded:
        result = retriever.search(query, mode="bm25", limit=limit, per="chunk")
        reason = degraded.split(": ", 1)[-1]
        degraded = f"keywords only: {reason}"
    rows = _rows(context, result, degraded)
    told = [degraded[0].upper() + degraded[1:] + "."] if degraded else remarks(result)
    if not rows:
        told.insert(0, f"No passages found for {query[:200]!r} in {result.searched}.")
    return rows, told


def _rows(context: ToolContext, result: SearchResult, degraded: str | None) -> list[dict[str, Any]]:
    ids = [hit.chunk_id for hit in result.hits]
    nodes = (
        {row["id"]: row for row in context.graph.read(navigation.CHUNK_NODES, {"ids": ids}).dicts()}
        if ids
        else {}
    )
    return [
        {
            "id": nodes.get(hit.chunk_id, {}).get("node"),
            "labels": nodes.get(hit.chunk_id, {}).get("labels") or ["SectionChunk"],
            "text": hit.text,
            "score": hit.score,
            "properties": _properties(hit),
            **({"degraded": degraded} if degraded else {}),
        }
        for hit in result.hits
    ]


def _properties(hit: Hit) -> dict[str, Any]:
    facts = {
        "chunk_id": hit.chunk_id,
        "section_id": hit.section_id,
        "section_title": hit.section_title,
        "document": hit.path,
        "document_id": hit.content_hash,
        "line": hit.start_line,
        "page": hit.page,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


@dataclass(frozen=True)
class _Index:
    label: str
    attribute: str
    dimension: int
    function: str

    @property
    def name(self) -> str:
        return f"{self.label}.{self.attribute}"


def _nodes(context: ToolContext, query: str, limit: int) -> tuple[list[dict[str, Any]], list[str]]:
    """A graph that is not ours: every vector index whose dimension fits the embedding model."""
    indexes = _indexes(context)
    if not indexes:
        counts = survey.count(context.graph)
        if not counts.nodes:
            return [], [nothing_ingested(context.graph.name)]
        return [], [
            f"No nodes found: the graph {context.graph.name!r} has no vector index. "
            "Search its text with graph_query: MATCH (n:Label) WHERE toLower(n.name) CONTAINS 'word' RETURN n LIMIT 20"
        ]
    embedder = context.embedder
    vector = embedder.embed_query(query)
    fitting_indexes = [index for index in indexes if index.dimension == len(vector)]
    if not fitting_indexes:
        sizes = ", ".join(f"{index.name} has {index.dimension}" for index in indexes)
        raise EmbeddingMismatch(
            f"No vector index fits the embedding model {embedder.name}, whose vectors have {len(vector)} numbers: {sizes}.",
            "Set GRAPH_AGENT_EMBEDDINGS to the model that made the graph's vectors.",
        )
    found: list[dict[str, Any]] = []
    for index in fitting_indexes:
        found += _nearest(context, index, [float(number) for number in vector], limit)
    found.sort(key=lambda row: (-row["score"], row["id"]))
    if not found:
        return [], [
            f"No nodes found: none of {', '.join(index.name for index in fitting_indexes)} holds a vector."
        ]
    return found[:limit], []


def _indexes(context: ToolContext) -> list[_Index]:
    found = []
    for row in context.graph.read(statements.INDEXES).dicts():
        if row["entitytype"] != "NODE":
            continue
        for name, kinds in (row["types"] or {}).items():
            options = (row["options"] or {}).get(name) or {}
            if "VECTOR" in kinds:
                function = str(options.get("similarityFunction") or "cosine")
                found.append(_Index(row["label"], name, int(options.get("dimension") or 0), function))
    return sorted(found, key=lambda index: index.name)


def _nearest(context: ToolContext, index: _Index, vector: list[float], limit: int) -> list[dict[str, Any]]:
    names = {"label": quoted(index.label), "property": quoted(index.attribute)}
    count = survey.count(context.graph).labels.get(index.label, 0)
    parameters = {"k": limit, "v": vector}
    result = None
    if count <= SCANNED and context.graph.engine.version < RIGHT_INDEX:
        statement = statements.SCAN.format(
            **names, distance="euclidean" if index.function == "euclidean" else "cosine"
        )
        try:
            result = context.graph.read(statement, parameters)
        except QueryError:
            result = None  # one node with a vector of another size spoils a scan; the index leaves it out
    if result is None:
        escaped = {
            key: value.strip("`").replace("\\", "\\\\").replace("'", "\\'") for key, value in names.items()
        }
        result = context.graph.read(statements.NEAREST.format(**escaped), parameters)
    rows = []
    vectors = vector_names(context)
    for node, distance in result.rows:
        facts = without_vectors(plain(node), vectors)
        score = 1.0 / (1.0 + distance) if index.function == "euclidean" else 1.0 - distance
        rows.append(
            {
                "id": facts["id"],
                "labels": facts["labels"],
                "text": _text(facts["properties"]),
                "score": round(min(1.0, max(0.0, score)), 4),
                "properties": {
                    name: value for name, value in facts["properties"].items() if name != index.attribute
                },
            }
        )
    return rows


def _text(properties: dict[str, Any]) -> str:
    """The property that reads like the node's text: by its usual names, else the longest."""
    texts = {name: value for name, value in properties.items() if isinstance(value, str) and value.strip()}
    for name in TEXT_NAMES:
        if name in texts:
            return str(texts[name])
    return max(texts.values(), key=len, default="")
