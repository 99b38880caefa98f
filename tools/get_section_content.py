"""The text of sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from graph_agent.retrieval.documents import SectionRef, resolve_sections
from graph_agent.store.queries import navigation as statements
from graph_agent.tools.bounds import OUTPUT_TOKENS, output_tokens
from graph_agent.tools.context import ToolContext
from graph_agent.tools.markdown_tables import find_tables
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool

ASKED_FOR_MORE = 4  # times the usual bound, when max_lines is given


@tool("navigation", returns="content")
def get_section_content(
    context: ToolContext,
    section_ids: Annotated[
        str | list[str],
        Field(description="one or more section ids such as 568acd8b::3, in a list or parted by commas"),
    ],
    start_line: Annotated[
        int | None, Field(ge=1, description="first line to show, counted from 1 within each section")
    ] = None,
    max_lines: Annotated[
        int | None, Field(ge=1, description="how many lines of each section to show")
    ] = None,
) -> ToolResult:
    """Markdown text of sections by id, in the order asked: `### [id] Title (lines 1-40 of 212, p. 12)`, then the text.

    Ids come from get_document_toc, search_sections and query_documents; the part before :: may be shortened
    to 4 or more characters. Page through long sections and wide tables with start_line and max_lines, which
    apply to every id; a page that starts inside a table repeats its header rows, marked. What is cut says
    with which start_line to go on. Ids that are unknown or ambiguous are listed at the end, with the reason.
    """
    references = resolve_sections(context.listing.current(), section_ids)
    wanted = [reference.section_id for reference in references if reference.section_id]
    rows = context.graph.read(statements.SECTION_TEXTS, {"ids": list(dict.fromkeys(wanted))}).dicts()
    sections = {str(row["id"]): row for row in rows}
    budget = OUTPUT_TOKENS * (ASKED_FOR_MORE if max_lines else 1)
    blocks: list[str] = []
    shown: list[dict[str, Any]] = []
    skipped: list[str] = []
    for reference in references:
        row = sections.get(reference.section_id or "")
        if row is None:
            continue
        if blocks and budget < 50:
            skipped.append(str(row["id"]))
            continue
        window = _window(row, start_line or 1, max_lines, budget)
        budget -= output_tokens(window.block)
        blocks.append(window.block)
        shown.append(window.facts)
    unknown = [_unknown(reference) for reference in references if reference.section_id not in sections]
    if skipped:
        blocks.append(f"Not shown for lack of room: {', '.join(skipped)}. Ask for them in another call.")
    if unknown:
        listed = "; ".join(f"{item['id']} ({item['problem']})" for item in unknown)
        if shown:
            blocks.append(f"Not found: {listed}.")
        else:
            blocks.append(
                f"No section found: {listed}. get_document_toc and search_sections give section ids."
            )
    return ToolResult(
        "\n\n---\n\n".join(blocks) + "\n", {"sections": shown, "unknown": unknown, "skipped": skipped}
    )


@dataclass(frozen=True)
class _Window:
    block: str
    facts: dict[str, Any]


def _window(row: dict[str, Any], first: int, max_lines: int | None, budget: int) -> _Window:
    """Lines of one section from `first` on, as many as were asked for and fit."""
    lines = _lines(row["text"])
    total = len(lines)
    place = _page(row)
    head = f"### [{row['id']}] {row['title'] or '(no title)'}"
    facts = {
        "id": row["id"],
        "title": row["title"],
        "markdown_hash": row["markdown_hash"],
        "first_line": first,
        "last_line": 0,
        "lines": total,
        "document_line": row["start_line"],
        "page": row["page_start"],
        "text": "",
    }
    if first > total:
        note = f"This section has {total} line{'' if total == 1 else 's'}; line {first} is past its end."
        return _Window(f"{head} ({total} lines{place})\n\n{note}", facts)
    repeated = _table_header(lines, first)
    last, text, cut = _take(
        lines, first, max_lines, budget - output_tokens(head) - output_tokens(repeated) - 60
    )
    label = f"lines {first}-{last} of {total}" if last > first else f"line {first} of {total}"
    notes = []
    if cut:
        notes.append(
            f"(Line {last} is cut: it has {cut} characters. "
            f"graph_query can read on: MATCH (s:MarkdownSection {{section_id: '{row['id']}'}}) "
            f"RETURN substring(s.text, {len(text)}, 8000))"
        )
    if last < total:
        notes.append(f"({total - last} more lines; go on with start_line={last + 1})")
    body = "\n".join([part for part in (repeated, text) if part] + ([""] if notes else []) + notes)
    facts |= {"last_line": last, "text": text}
    return _Window(f"{head} ({label}{place})\n\n{body}", facts)


def _lines(text: str | None) -> list[str]:
    """Lines of a section; the empty one after a closing line feed is none."""
    lines = (text or "").replace("\r\n", "\n").split("\n")
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    return lines


def _take(lines: Sequence[str], first: int, max_lines: int | None, budget: int) -> tuple[int, str, int]:
    """The last line taken, the text, and the length of the last line when it had to be cut."""
    taken: list[str] = []
    for line in lines[first - 1 : None if max_lines is None else first - 1 + max_lines]:
        cost = output_tokens(line + "\n")
        if cost > budget:
            if taken:
                break
            room = max(200, budget * 2)
            return first, line[:room], len(line) if len(line) > room else 0
        budget -= cost
        taken.append(line)
    return first + len(taken) - 1, "\n".join(taken), 0


def _table_header(lines: Sequence[str], first: int) -> str:
    """Header rows of the table that line `first` (1-based) stands inside of, marked as repeated; else ""."""
    for table in find_tables(lines):
        if table.start + 2 <= first - 1 < table.end:
            rows = "\n".join(lines[table.start : table.start + 2])
            return f"<!-- table header repeated from line {table.start + 1} -->\n{rows}"
    return ""


def _page(row: dict[str, Any]) -> str:
    first, last = row["page_start"], row["page_end"]
    if first is None:
        return ""
    return f", p. {first}-{last}" if last is not None and last > first else f", p. {first}"


def _unknown(reference: SectionRef) -> dict[str, str]:
    return {"id": reference.given, "problem": reference.problem or "this document has no such section"}
