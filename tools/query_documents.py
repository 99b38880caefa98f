"""Search that returns passages with the documents they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from graph_agent.errors import BadArgument
from graph_agent.retrieval.corpus import Corpus
from graph_agent.retrieval.documents import Unresolved
from graph_agent.retrieval.results import Hit, SearchResult
from graph_agent.store.queries import navigation as statements
from graph_agent.tools.bounds import OUTPUT_TOKENS, output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.listing import nothing_ingested
from graph_agent.tools.result import ToolResult
from graph_agent.tools.search_sections import remarks
from graph_agent.tools.spec import tool

MAX_TOP_K = 100
PARENT_CHARS = 4_000
SHORT_PARENT_CHARS = 600
RESYNC = (
    "Some passages have no section (parentId null): they were indexed before sections existed. "
    "Re-sync to fill them in: graph-agent ingest FOLDER"
)

LabelFilter = dict[str, str | list[str]]


@tool("documents", reading=False)
def query_documents(
    context: ToolContext,
    query: Annotated[
        str, Field(description="a question or phrase, in any language; exact terms count extra")
    ],
    topK: Annotated[int, Field(ge=1, description="how many passages, 1 to 100")] = 8,  # noqa: N803
    scope: Annotated[
        str | list[str] | None,
        Field(description="search only below these paths, or in this folder or document (id, name or path)"),
    ] = None,
    labels: Annotated[
        LabelFilter | None,
        Field(
            description="{facet: value or [values]} as status lists them; values of a facet are alternatives"
        ),
    ] = None,
    dateFrom: Annotated[str | None, Field(description="first day, YYYY-MM-DD, included")] = None,  # noqa: N803
    dateTo: Annotated[str | None, Field(description="last day, YYYY-MM-DD, included")] = None,  # noqa: N803
) -> ToolResult:
    """Hybrid search by meaning and exact terms; returns passages, their sources and the sections they sit in.

    JSON: results (passages best first: text, source, title, chunkIndex, score, parentId, page), sources
    (distinct documents in rank order, with hits and a displayPath to show the user; source stays absolute),
    parents (parentId -> the section: title, text, kind, page; long ones are cut around the match). When
    nothing matches because nothing could, notice says why. filterCounts tells how many documents in scope
    were left out only for having no label or no date. A facet, value or date that is not valid is an error
    that lists what is. Use search_sections for a ranked overview, and graph_query to count or list exactly.

    Cite what you take: end your answer, in whatever language, with a Sources list, one line per document
    you used, each just its displayPath copied verbatim. Plain text: no [n] markers, links or file://.
    """
    notices: list[str] = []
    if topK > MAX_TOP_K:
        notices.append(f"topK {topK} is more than {MAX_TOP_K}: the best {MAX_TOP_K} are returned.")
    limit = min(topK, MAX_TOP_K)
    retriever = context.retriever
    corpus = retriever.corpus()
    if not corpus.documents:
        return _empty(nothing_ingested(context.graph.name))
    chosen = None
    if scope is not None or labels or dateFrom or dateTo:
        try:
            chosen = retriever.scope(paths=scope, labels=labels, date_from=dateFrom, date_to=dateTo)
        except (Unresolved, BadArgument) as error:
            return _empty(_nowhere(context, corpus, labels, error))
    counts = {"unlabelled": 0, "undated": 0, **(chosen.left_out if chosen else {})}
    if chosen is not None and chosen.is_empty:
        return _empty(f"No passages found: {chosen.problem or 'the scope is empty'}.", counts)
    result = retriever.search(query, limit=limit, scope=chosen, per="chunk")
    if not result.hits:
        why = result.explanation.get("problem") or "none holds these words"
        return _empty(
            f"No passages found in {result.searched}: {why}. Try other words.", counts, remarks(result)
        )
    return _found(context, corpus, result, counts, notices)


def _nowhere(
    context: ToolContext, corpus: Corpus, labels: LabelFilter | None, error: Unresolved | BadArgument
) -> str:
    """What to say when a restriction leaves nothing; raises the error again when it is a mistake."""
    if isinstance(error, Unresolved):
        if error.is_absent:
            return f"No passages found: {error.message} {error.fix}"
    elif uncarried := _uncarried(context, corpus, labels):
        return f"No passages found: no document carries {', '.join(uncarried)}."
    raise error


def _found(
    context: ToolContext, corpus: Corpus, result: SearchResult, counts: dict[str, int], notices: list[str]
) -> ToolResult:
    parents, missing = _parents(context, result.hits)
    if missing:
        notices.append(RESYNC)
    artifact = {
        "results": [_result(hit, parents) for hit in result.hits],
        "sources": _sources(result.hits, corpus),
        "parents": parents,
        "notice": " ".join(notices) or None,
        "filterCounts": counts,
        "degraded": result.degraded,
        "remarks": remarks(result),
        "scoreKind": result.explanation.get("score_kind"),
        "searched": result.searched,
    }
    return ToolResult(_content(artifact, result.hits), artifact)


def _uncarried(context: ToolContext, corpus: Corpus, labels: LabelFilter | None) -> list[str]:
    """Labels asked for that exist and that no document carries, when there is nothing else among them."""
    known = {
        (row["facet"], row["value"]) for row in context.graph.read(statements.LABEL_DESCRIPTIONS).dicts()
    }
    found: list[str] = []
    for facet, given in (labels or {}).items():
        values = [given] if isinstance(given, str) else given
        if all((facet, value) in known and value not in corpus.facets.get(facet, {}) for value in values):
            found += [f"{facet}={value}" for value in values]
    return found


def _empty(notice: str, counts: dict[str, int] | None = None, told: Sequence[str] = ()) -> ToolResult:
    artifact = {
        "results": [],
        "sources": [],
        "parents": {},
        "notice": " ".join([notice, *told]),
        "filterCounts": counts or {"unlabelled": 0, "undated": 0},
        "degraded": None,
        "remarks": list(told),
        "scoreKind": None,
        "searched": None,
    }
    return ToolResult(
        _json({key: artifact[key] for key in ("results", "sources", "parents", "notice", "filterCounts")}),
        artifact,
    )


def _result(hit: Hit, parents: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": hit.text,
        "source": hit.source or hit.path,
        "title": hit.title,
        "chunkIndex": hit.index,
        "score": hit.score,
        "parentId": hit.section_id if hit.section_id in parents else None,
        "page": hit.page,
        "line": hit.start_line,
        "chunkId": hit.chunk_id,
        "displayPath": hit.path,
        "documentId": hit.content_hash,
    }


def _sources(hits: Sequence[Hit], corpus: Corpus) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for hit in hits:
        document = corpus.by_hash.get(hit.content_hash)
        row = rows.setdefault(
            hit.content_hash,
            {
                "source": hit.source or hit.path,
                "displayPath": hit.path,
                "hits": 0,
                "labels": {facet: list(values) for facet, values in document.labels.items()}
                if document
                else {},
                "date": document.date if document else None,
            },
        )
        row["hits"] += 1
    return list(rows.values())


def _parents(context: ToolContext, hits: Sequence[Hit]) -> tuple[dict[str, Any], bool]:
    """The sections of the hits by id, long texts cut around the match, and whether any hit has none."""
    wanted = list(dict.fromkeys(hit.section_id for hit in hits))
    rows = {
        str(row["id"]): row for row in context.graph.read(statements.SECTION_TEXTS, {"ids": wanted}).dicts()
    }
    parents: dict[str, Any] = {}
    for hit in hits:
        row = rows.get(hit.section_id)
        if row is not None and hit.section_id not in parents:
            text = str(row["text"] or "")
            parents[hit.section_id] = {
                "title": row["title"] or hit.section_title,
                "text": around(text, hit.text, PARENT_CHARS),
                "kind": row["kind"],
                "page": row["page_start"],
                "cut": len(text) > PARENT_CHARS,
            }
    return parents, len(parents) < len(wanted)


def around(text: str, match: str, characters: int) -> str:
    """At most so many characters of a text, around the place of a match; what is missing is said."""
    if len(text) <= characters:
        return text
    place = _place(text, match)
    middle = place + min(len(match), characters) // 2
    start = max(0, min(middle - characters // 2, len(text) - characters))
    end = start + characters
    before = f"[{start} characters before are left out] " if start else ""
    after = f" [{len(text) - end} characters after are left out]" if end < len(text) else ""
    return before + text[start:end] + after


def _place(text: str, match: str) -> int:
    """Where a passage stands in its section; a piece of a table has its header rows put on top."""
    lines = match.splitlines()
    for skipped in (0, 2, 3):
        rest = "\n".join(lines[skipped:]) if skipped else match
        if rest and (at := text.find(rest[:200])) >= 0:
            return at
    return 0


def _content(artifact: dict[str, Any], hits: Sequence[Hit]) -> str:
    """The JSON for a model: results and sources whole, parents as far as they fit."""
    keys = ("text", "source", "title", "chunkIndex", "score", "parentId", "page")
    shown: dict[str, Any] = {
        "results": [{key: row[key] for key in keys} for row in artifact["results"]],
        "sources": artifact["sources"],
        "parents": {},
        "notice": artifact["notice"],
        "filterCounts": artifact["filterCounts"],
    }
    if artifact["degraded"]:
        shown["degraded"] = artifact["degraded"]
    if artifact["remarks"]:
        shown["remarks"] = artifact["remarks"]
    room = OUTPUT_TOKENS - output_tokens(_json(shown)) - 60
    texts = {hit.section_id: hit.text for hit in reversed(hits)}
    left_out = 0
    for name, parent in artifact["parents"].items():
        entry = {key: value for key, value in parent.items() if key != "cut" or value}
        cost = output_tokens(_json({name: entry}))
        if cost > room and parent["text"] != texts[name]:
            entry |= {"text": around(str(parent["text"]), texts[name], SHORT_PARENT_CHARS), "cut": True}
            cost = output_tokens(_json({name: entry}))
        if cost > room:
            left_out += 1
            continue
        room -= cost
        shown["parents"][name] = entry
    if left_out:
        shown["parentsLeftOut"] = (
            f"{left_out} sections do not fit; get_section_content reads them by parentId"
        )
    return _json(shown)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
