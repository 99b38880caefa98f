"""Answers put together without a model: quotes with their places, figures out of queries, outlines, fixed sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graph_agent.agent.analysis import asks_abilities
from graph_agent.agent.citations import escaped
from graph_agent.agent.extracts import Extract, asks_present, chosen
from graph_agent.agent.outlines import Part, asked_part
from graph_agent.agent.phrases import counted, phrase
from graph_agent.agent.reasoner import AnswerRequest
from graph_agent.agent.response import Passage
from graph_agent.agent.sentences import on_one_line
from graph_agent.text import words

LISTED_ROWS = 30
CLOSEST = 3
LACKING = 8  # words of the question that are said to be nowhere
VALUE_CHARACTERS = 160


def small_talk(request: AnswerRequest) -> str:
    """A greeting back, or what the agent can do, and what is here."""
    language = request.plan["language"]
    greeting = "hello" if request.kind == "documents" else "hello_graph"
    head = phrase("abilities" if asks_abilities(request.plan["question"]) else greeting, language)
    return f"{head} {holdings(request)}".strip()


def described(request: AnswerRequest) -> str:
    """What the collection holds: counts, folders, facets, or node types of another graph."""
    facts = request.facts
    language = request.plan["language"]
    if request.kind != "documents":
        lines = [
            f"- {label}: {count:,}" for label, count in list(facts.get("labels", {}).items())[:LISTED_ROWS]
        ]
        return "\n".join([f"{phrase('holds', language)}:", "", *lines])
    collection = facts.get("collection") or {}
    lines = [holdings(request), ""]
    folders = [path for path in collection.get("places") or [] if path]
    if folders:
        lines.append(f"{phrase('folders', language)}: {_joined(folders, language)}")
    lines += [
        f"{facet}: {_joined(values, language)}" for facet, values in (collection.get("facets") or {}).items()
    ]
    return "\n".join(lines).strip()


def holdings(request: AnswerRequest) -> str:
    """One sentence with the number of documents."""
    language = request.plan["language"]
    collection = request.facts.get("collection") or {}
    if request.kind != "documents" or not collection:
        return ""
    sections = request.facts.get("labels", {}).get("MarkdownSection", 0)
    return (
        f"{phrase('holds', language)} {counted(collection['documents'], 'documents', language)} "
        f"({counted(sections, 'sections', language)})."
    )


def rows_answer(request: AnswerRequest) -> str:
    """The result of the last query that found something, as a sentence and a list, with what can be cited."""
    run = next(run for run in reversed(request.runs) if run["rows"])
    rows = run["rows"]
    language = request.plan["language"]
    weaker = (
        request.plan["details"].get("says") if run["query"] == request.plan["details"].get("fallback") else ""
    )
    lines: list[str] = []
    if len(rows) == 1 and "paths" in rows[0]:
        lines += _counted(rows[0], request, language)
    elif len(rows) == 1 and len(rows[0]) == 1:
        name, value = next(iter(rows[0].items()))
        ours = name in {"documents", "sections", "folders"} and isinstance(value, int)
        lines.append(f"{counted(value, name, language)}." if ours else f"{name}: {_number(value)}")
    else:
        lines += _listed(rows, run, language)
    if weaker:
        lines.append(f"({weaker})")
    return "\n".join(lines)


def _counted(row: Mapping[str, Any], request: AnswerRequest, language: str) -> list[str]:
    """A count with the paths that were counted, each cited where it was opened."""
    name, count = next((key, value) for key, value in row.items() if isinstance(value, int))
    if not count:
        return [f"{phrase('no_rows', language)} ({counted(0, name, language)})"]
    by_path = {passage.display_path: passage.n for passage in reversed(request.passages)}
    paths = [str(path) for path in row["paths"]]
    lines = [f"{counted(count, name, language)}:", ""]
    lines += [
        f"- {escaped(on_one_line(path))}" + (f" [{by_path[path]}]" if path in by_path else "")
        for path in paths[:LISTED_ROWS]
    ]
    if count > LISTED_ROWS:
        lines.append(f"- {phrase('more', language).replace('{count}', f'{count - LISTED_ROWS:,}')}")
    return lines


def _listed(rows: Sequence[Mapping[str, Any]], run: Mapping[str, Any], language: str) -> list[str]:
    lines = []
    for row in rows[:LISTED_ROWS]:
        shown = {key: value for key, value in row.items() if value not in (None, "", [])}
        parts = [f"{key}: {_value(value)}" if len(row) > 1 else _value(value) for key, value in shown.items()]
        lines.append("- " + "; ".join(parts))
    total = run.get("total") or len(rows)
    if total > LISTED_ROWS:
        lines.append(f"- {phrase('more', language).replace('{count}', f'{total - LISTED_ROWS:,}')}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and "properties" in value:
        shown = [f"{key} = {_value(each)}" for key, each in list(value["properties"].items())[:12]]
        return ", ".join(shown)
    if isinstance(value, list):
        return ", ".join(_value(each) for each in value[:12])
    text = escaped(on_one_line(str(value)))
    return text if len(text) <= VALUE_CHARACTERS else text[: VALUE_CHARACTERS - 1] + "…"


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _value(value)


def outline_answer(request: AnswerRequest) -> str:
    """The outline of a document, or of one of its chapters, each section cited where it was opened; "" without one."""
    found = outline_of(request.rounds, request.plan)
    if found is None:
        return ""
    name, sections, chapter = found
    language = request.plan["language"]
    by_id = {passage.section_id: passage.n for passage in reversed(request.passages)}
    head = f" [{by_id[chapter['id']]}]" if chapter and chapter["id"] in by_id else ""
    lines = [f"{phrase('outline', language)} {escaped(on_one_line(name))}{head}:", ""]
    for number, section in enumerate(sections, start=1):
        cited = f" [{by_id[section['id']]}]" if section["id"] in by_id else ""
        lines.append(f"{number}. {escaped(on_one_line(str(section.get('title') or '')))}{cited}")
    return "\n".join(lines)


def outline_of(rounds: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]) -> Part | None:
    """The title and the sections that an outline question asks for, from the table of contents that was read."""
    for one in rounds:
        for call in one["calls"]:
            toc = call.get("artifact")
            if call["name"] == "get_document_toc" and isinstance(toc, Mapping) and toc.get("sections"):
                return asked_part(toc, str(plan["question"]), str(plan["details"].get("outline")))
    return None


def composed(
    request: AnswerRequest,
    extracts: Sequence[Extract],
    lacking: Callable[[Sequence[Passage]], list[str]] | None = None,
) -> tuple[str, dict[int, str]]:
    """The extracts worth showing, each under its place, with exact quotes by number.

    Args:
        lacking: words of the question that stand in none of some passages.
    """
    language = request.plan["language"]
    first, more = chosen(
        extracts, request.search.get("documents") or [], present=asks_present(request.plan["question"])
    )
    head = phrase("extracts_failed" if request.because else "extracts", language)
    lines = [head, ""]
    properties = list(_property_lines(request))
    absent = lacking([extract.passage for extract in (*first, *more)]) if lacking else []
    if properties:
        named = set(words(" ".join(request.plan["details"]["properties"]).replace("_", " ")))
        absent = [word for word in absent if named.isdisjoint(words(word))]
    if absent:  # before the quotes: they may answer another question
        listed = ", ".join(_plain_title(word) for word in absent[:LACKING])
        lines += [f"{phrase('lacking', language)} {listed}.", ""]
    lines += properties
    quotes: dict[int, str] = {}
    for extract in first:
        quotes[extract.passage.n] = extract.quote
        lines += _shown(extract)
    if more:
        lines += [phrase("further", language), ""]
    for extract in in_reading_order(more):
        quotes[extract.passage.n] = extract.quote
        lines += _shown(extract)
    return "\n".join(lines).rstrip(), quotes


def in_reading_order(picked: Sequence[Extract]) -> list[Extract]:
    """Documents in the order of their best extract; within a document as it is read."""
    order: dict[str, int] = {}
    for position, extract in enumerate(picked):
        order.setdefault(extract.passage.document_id or extract.passage.path, position)
    return sorted(
        picked,
        key=lambda extract: (
            order[extract.passage.document_id or extract.passage.path],
            extract.passage.line,
            extract.start,
        ),
    )


def _property_lines(request: AnswerRequest) -> Iterator[str]:
    """Values of properties that the question names, of the documents that were found."""
    names = request.plan["details"].get("properties") or []
    by_document: dict[str, int] = {}
    for passage in request.passages:
        by_document.setdefault(passage.document_id, passage.n)
    shown = 0
    for one in request.rounds:
        for call in one["calls"]:
            rows = (call.get("artifact") or {}).get("rows") if call["name"] == "graph_query" else None
            ranked = sorted(rows or [], key=lambda row: by_document.get(str(row.get("document_id")), 999))
            for row in ranked:
                values = [f"{name}: {_value(row[name])}" for name in names if row.get(name) not in (None, "")]
                number = by_document.get(str(row.get("document_id")))
                if values and number is not None and shown < 3:
                    shown += 1
                    yield f"- {on_one_line(str(row.get('document')))} — {'; '.join(values)} [{number}]"
    if shown:
        yield ""


def _shown(extract: Extract) -> list[str]:
    passage = extract.passage
    page = f", p. {passage.page}" if passage.page else ""
    place = " › ".join(on_one_line(part) for part in _trail(passage))
    dated = f", {passage.date}" if passage.date else ""
    lines = [f"**{_plain_title(place)}**{page}{dated} [{passage.n}]", ""]
    quote = escaped(extract.quote)
    if extract.header and not extract.quote.startswith(extract.header):
        columns = extract.header.count("|") - 1
        lines += [f"> {escaped(extract.header.strip())}", f"> |{'---|' * max(1, columns)}"]
    lines += [f"> {line.rstrip()}" if line.strip() else ">" for line in quote.splitlines()]
    fences = [line for line in lines if line.startswith("> ```")]
    if len(fences) % 2:
        lines.append("> ```")  # a code block that was cut must not swallow what follows
    return [*lines, ""]


def _trail(passage: Passage) -> list[str]:
    parts = [part for part in passage.breadcrumb if part.strip()] or [passage.title or passage.display_path]
    return parts if len(parts) <= 3 else [parts[0], "…", parts[-1]]


def _plain_title(text: str) -> str:
    """A title that cannot close the bold it stands in, nor look like a citation."""
    return text.replace("*", "").replace("[", "(").replace("]", ")").replace("`", "")


def not_found(
    request: AnswerRequest, extracts: Sequence[Extract], missed: Sequence[str] = ()
) -> tuple[str, dict[int, str]]:
    """That nothing matches, what was searched, and the nearest passages as such, with exact quotes by number.

    Args:
        missed: years that are asked for while the passages are about others.
    """
    language = request.plan["language"]
    head = "absent" if request.kind == "documents" else "no_rows"
    parts = [phrase(head, language)]
    if missed:
        parts.append(f"{phrase('other_years', language)} {', '.join(missed)}.")
    searched = request.search.get("phrases") or []
    if searched:
        parts.append(
            f"{phrase('searched', language)} " + "; ".join(on_one_line(one)[:300] for one in searched)
        )
    if notice := request.search.get("notice"):
        parts.append(str(notice))
    first, _ = chosen(extracts, request.search.get("documents") or [])
    near = first[:CLOSEST]
    if near:
        shown = "\n".join(line for extract in near for line in _shown(extract))
        parts.append(f"{phrase('closest', language)}\n\n{shown}".rstrip())
    return "\n\n".join(parts), {extract.passage.n: extract.quote for extract in near}


def _joined(values: Sequence[str], language: str) -> str:
    shown = ", ".join(on_one_line(str(value)) for value in values[:20])
    more = len(values) - 20
    return f"{shown}, {phrase('more', language).replace('{count}', str(more))}" if more > 0 else shown
