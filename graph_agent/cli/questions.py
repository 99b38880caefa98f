"""Commands that ask: search, ask, query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graph_agent import terminal
from graph_agent.cli.opening import open_graph, open_tools, settings_of_context
from graph_agent.cli.options import OK, PARTLY, global_options, json_option
from graph_agent.errors import ModelUnavailable

if TYPE_CHECKING:
    from graph_agent.agent import AgentResponse, GraphAgent
    from graph_agent.agent.state import ScopeChoice


@click.command()
@click.argument("query")
@click.option("--mode", type=click.Choice(["hybrid", "vector", "bm25", "cypher"]), default="hybrid")
@click.option("--limit", type=int, default=10, show_default=True)
@click.option("--document", "document_id", help="Search one document only.")
@click.option("--folder", "folder_id", help="Search one folder only.")
@json_option
@global_options
def search(query: str, as_json: bool, **arguments: Any) -> int:
    """Search sections."""
    given = {key: value for key, value in arguments.items() if value is not None}
    with open_tools() as context:
        from graph_agent.tools import call_tool

        result = call_tool(context, "search_sections", {"query": query, **given})
    if as_json:
        terminal.print_json(result.artifact)
    else:
        click.echo(terminal.safe(result.content))
    return OK if _found(result.artifact) else PARTLY


@click.command()
@click.argument("question")
@click.option("--thread", help="Go on with a conversation of this name.")
@click.option("--folder", "folder_id", help="Look in one folder only.")
@click.option("--document", "document_id", help="Look in one document only.")
@json_option
@global_options
def ask(
    question: str, thread: str | None, folder_id: str | None, document_id: str | None, as_json: bool
) -> int:
    """Ask a question; the answer cites the passages it stands on."""
    from graph_agent.agent import GraphAgent

    settings = settings_of_context()
    with open_graph(settings) as graph, GraphAgent(graph, settings) as agent:
        scope: ScopeChoice = {}
        if folder_id:
            scope["folder"] = folder_id
        if document_id:
            scope["document"] = document_id
        response = _asked(agent, question, thread, scope or None, shown=not as_json)
    if as_json:
        terminal.print_json(response.model_dump(mode="json"))
    else:
        click.echo(terminal.safe(response.answer))
        for remark in response.notes:
            terminal.note(remark)
        for citation in response.citations:
            where = f"{citation.path}, line {citation.line}" if citation.line else citation.path
            page = f", p. {citation.page}" if citation.page else ""
            mark = "" if citation.verified else "  (not verified)"
            terminal.note(f"[{citation.n}] {where}{page}{mark}")
    if response.answered:
        return OK
    return PARTLY if response.error is None else response.error.exit_code


@click.command()
@click.argument("cypher")
@json_option
@global_options
def query(cypher: str, as_json: bool) -> int:
    """Run a read-only Cypher query."""
    with open_tools() as context:
        from graph_agent.tools import call_tool

        result = call_tool(context, "graph_query", {"cypher": cypher})
    artifact = result.artifact
    if as_json:
        terminal.print_json(artifact)
    else:
        terminal.print_rows(
            artifact["columns"], ([row[name] for name in artifact["columns"]] for row in artifact["rows"])
        )
        for remark in (artifact.get("hint"), *(artifact.get("rewritten") or ())):
            if remark:
                terminal.note(str(remark))
        if artifact.get("truncated"):
            terminal.note(f"The first {len(artifact['rows'])} rows; use LIMIT or a narrower question.")
    return OK


def _found(artifact: Any) -> bool:
    rows = artifact.get("sections", artifact.get("results")) if isinstance(artifact, dict) else artifact
    return bool(rows)


def _asked(
    agent: GraphAgent, question: str, thread: str | None, scope: ScopeChoice | None, *, shown: bool
) -> AgentResponse:
    """The response; in a terminal the stage at work is shown meanwhile, on standard error."""
    if not shown or not terminal.is_watched():
        return agent.ask(question, thread_id=thread, scope=scope)
    with terminal.working("Asking") as tell:
        for event in agent.stream(question, thread_id=thread, scope=scope):
            if event.type == "stage_started":
                tell(f"{event.stage} {event.reason}".strip())
            elif event.type == "finished":
                return event.response
    raise ModelUnavailable("The question ended without an answer.", "Ask again.")
