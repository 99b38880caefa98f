"""The command `graph-agent`: a thin skin over ingest, tools, agent and pages; it holds no rules of its own.

Exit codes: 0 done; 1 done but some files failed or no answer was found; 2 bad usage or configuration;
3 engine or model unavailable. With --json standard output holds one JSON document and nothing else.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph_agent import __version__, terminal
from graph_agent.errors import BadArgument, GraphAgentError
from graph_agent.settings import Settings, load_settings

if TYPE_CHECKING:
    from graph_agent.tools import ToolContext

OK, PARTLY, USAGE, UNAVAILABLE = 0, 1, 2, 3
INTERRUPTED = 130


def global_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that may stand before or after the subcommand; the later one wins."""
    options = (
        click.option("--data", type=click.Path(path_type=Path), help="Data folder of the embedded engine."),
        click.option("--graph", help="Name of the graph (default: documents)."),
        click.option("--url", help="FalkorDB server, falkor://user:password@host:6379."),
        click.option("--model", help="Chat model, of the OpenAI-compatible endpoint or provider:name."),
        click.option("--verbose", is_flag=True, default=None, help="Log what is done; tracebacks on errors."),
    )

    @functools.wraps(command)
    @click.pass_context
    def run(context: click.Context, /, **arguments: Any) -> Any:
        given = context.ensure_object(dict)
        for name in ("data", "graph", "url", "model", "verbose"):
            value = arguments.pop(name, None)
            if value is not None:
                given[name] = value
        return context.invoke(command, **arguments)

    for option in reversed(options):
        run = option(run)
    return run


class _Commands(click.Group):
    """Commands of which `eval` is loaded when it is asked for: evaluation brings packages of its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), "eval"})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "eval":
            from graph_agent.evals.commands import eval_group

            return eval_group(global_options, _settings)
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="graph-agent")
@global_options
def cli() -> None:
    """Ask questions of document collections through a graph, with citations that open the passage."""


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json`: one JSON document on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--folder", "name", help="Name of the top folder in the graph (default: the folder's own).")
@click.option("--watch", is_flag=True, help="Stay and follow changes.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
@click.option("--no-vectors", is_flag=True, help="Leave the embedding to a later run.")
@click.option("--enrich", is_flag=True, help="Describe sections and documents by the chat model, too.")
@click.option("--include", multiple=True, help="Take only files matching this glob (repeatable).")
@click.option("--exclude", multiple=True, help="Leave out files matching this glob (repeatable).")
@json_option
@global_options
def ingest(
    paths: tuple[Path, ...],
    name: str | None,
    watch: bool,
    dry_run: bool,
    no_vectors: bool,
    enrich: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    as_json: bool,
) -> int:
    """Add or sync folders, files and zips."""
    from graph_agent.ingest import SyncOptions, preview, sync, watch_folders

    settings = _settings(include=include or None, exclude=exclude or None)
    chat = _chat_model(settings) if enrich else None  # that none is set must not come out after an hour
    options = SyncOptions(name=name, vectors=not no_vectors)
    with _graph(settings) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        embedder = _embedder(settings)
        if dry_run:
            plan = preview(graph, embedder, paths, options, progress)
            if as_json:
                terminal.print_json({"plan": plan.lines()})
            else:
                click.echo("\n".join(terminal.safe(line) for line in plan.lines()) or "nothing to do")
            return PARTLY if plan.failed else OK
        report = sync(graph, embedder, paths, options, progress)
        if chat is not None:
            report.enrichment = _enrich(graph, chat, settings, paths, progress)
        _show_report(report, as_json)
        if watch:
            watch_folders(graph, embedder, paths, options, progress, lambda done: _show_report(done, as_json))
    unanswered = report.enrichment is not None and report.enrichment.failed
    return PARTLY if report.failed or unanswered else OK


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
@global_options
def remove(paths: tuple[Path, ...], as_json: bool) -> int:
    """Take folders or files out of the graph; the files themselves are left alone."""
    from graph_agent.ingest import remove as remove_paths

    with _graph(_settings()) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        report = remove_paths(graph, paths, progress)
    _show_report(report, as_json)
    return OK


@cli.command()
@json_option
@global_options
def reembed(as_json: bool) -> int:
    """Embed everything again, with the embedding model that --model names; can be interrupted and run again.

    Here --model is a value of GRAPH_AGENT_EMBEDDINGS: local, multilingual or provider:name.
    """
    from graph_agent.ingest import reembed as embed_again

    name = (click.get_current_context().find_object(dict) or {}).pop("model", None)
    settings = _settings(embeddings=name)
    with _graph(settings) as graph, terminal.TerminalProgress(quiet=as_json) as progress:
        embedder = _embedder(settings)
        filled = embed_again(graph, embedder, progress)
    facts = {
        "model": embedder.name,
        "dimension": embedder.dimension,
        "vectors": filled.vectors,
        "pending": filled.pending,
    }
    if as_json:
        terminal.print_json(facts)
    else:
        click.echo(f"{filled.vectors:,} passages embedded with {embedder.name}.")
        if name:
            terminal.note(f"Set GRAPH_AGENT_EMBEDDINGS={name} for every process that uses this graph.")
    return OK


@cli.command()
@json_option
@global_options
def status(as_json: bool) -> int:
    """Tell what is in the graph and whether all is well."""
    return _run_tool("status", {}, as_json)


@cli.command()
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
    with _tools() as context:
        from graph_agent.tools import call_tool

        result = call_tool(context, "search_sections", {"query": query, **given})
    if as_json:
        terminal.print_json(result.artifact)
    else:
        click.echo(terminal.safe(result.content))
    return OK if _found(result.artifact) else PARTLY


@cli.command()
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
    from graph_agent.agent.state import ScopeChoice

    settings = _settings()
    with _graph(settings) as graph, GraphAgent(graph, settings) as agent:
        scope: ScopeChoice = {}
        if folder_id:
            scope["folder"] = folder_id
        if document_id:
            scope["document"] = document_id
        response = agent.ask(question, thread_id=thread, scope=scope or None)
    if as_json:
        terminal.print_json(response.model_dump(mode="json"))
    else:
        click.echo(terminal.safe(response.answer))
        for citation in response.citations:
            where = f"{citation.path}, line {citation.line}" if citation.line else citation.path
            page = f", p. {citation.page}" if citation.page else ""
            mark = "" if citation.verified else "  (not verified)"
            terminal.note(f"[{citation.n}] {where}{page}{mark}")
    return OK if response.answered else PARTLY


@cli.command()
@click.argument("cypher")
@json_option
@global_options
def query(cypher: str, as_json: bool) -> int:
    """Run a read-only Cypher query."""
    with _tools() as context:
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


@cli.command("tools")
@json_option
@global_options
def list_tools(as_json: bool) -> int:
    """List the tools with their arguments."""
    from graph_agent.tools import TOOLS

    schemas = [entry["function"] for entry in TOOLS]
    if as_json:
        terminal.print_json(schemas)
    else:
        rows = [
            (
                entry["name"],
                ", ".join(entry["parameters"].get("properties", {})),
                entry["description"].split("\n")[0],
            )
            for entry in schemas
        ]
        terminal.print_rows(("tool", "arguments", "what it answers"), rows)
    return OK


@cli.command("tool")
@click.argument("name")
@click.argument("arguments", default="{}")
@click.option("--artifact", is_flag=True, help="Print the JSON artifact instead of the text.")
@global_options
def run_tool(name: str, arguments: str, artifact: bool) -> int:
    """Run one tool with JSON arguments."""
    try:
        given = json.loads(arguments)
    except json.JSONDecodeError as error:
        raise BadArgument(
            f"The arguments are not JSON ({error}).", """Write them like '{"query": "refunds"}'."""
        ) from None
    if not isinstance(given, dict):
        raise BadArgument(
            "The arguments are not a JSON object.", """Write them like '{"query": "refunds"}'."""
        )
    return _run_tool(name, given, artifact)


@cli.command()
@click.option("--host", help="Address to listen on (default 127.0.0.1).")
@click.option("--port", type=int, help="Port to listen on (default 7860).")
@click.option("--auth", type=click.Path(path_type=Path), help="Users file; made by `graph-agent user add`.")
@click.option("--root-path", default="", help="Path prefix behind a proxy.")
@click.option(
    "--sample", type=click.Path(path_type=Path), help="Documents to begin with when the graph is empty."
)
@global_options
def ui(host: str | None, port: int | None, auth: Path | None, root_path: str, sample: Path | None) -> int:
    """Serve the chat in a browser."""
    from graph_agent.ui import serve

    serve(_settings(host=host, port=port), users=auth, root_path=root_path, sample=sample)
    return OK


@cli.group()
def user() -> None:
    """Logins of the chat."""


def users_file_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--file`: where the logins are kept."""
    return click.option(
        "--file", "file", type=click.Path(path_type=Path), help="Users file (default: in the data folder)."
    )(command)


@user.command("add")
@click.argument("name")
@click.password_option(help="Asked for when it is not given.")
@users_file_option
@global_options
def add_user(name: str, password: str, file: Path | None) -> int:
    """Add a login, or give it another password."""
    from graph_agent.ui import users

    path = file or users.default_users_file(_settings().data)
    fresh = users.add_user(path, name, password)
    click.echo(
        f"{'Added' if fresh else 'Changed the password of'} {name} in {path}. Serve with: graph-agent ui --auth {path}"
    )
    return OK


@user.command("remove")
@click.argument("name")
@users_file_option
@global_options
def remove_user(name: str, file: Path | None) -> int:
    """Take a login away."""
    from graph_agent.ui import users

    users.remove_user(file or users.default_users_file(_settings().data), name)
    return OK


@user.command("list")
@users_file_option
@global_options
def list_users(file: Path | None) -> int:
    """List the logins."""
    from graph_agent.ui import users

    for entry in users.list_users(file or users.default_users_file(_settings().data)):
        click.echo(entry.name)
    return OK


@cli.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=8765, show_default=True)
@global_options
def mcp(http: bool, host: str, port: int) -> int:
    """Serve the tools to other programs by the Model Context Protocol."""
    from graph_agent.mcp_server import serve

    with _tools() as context:
        serve(context, http=http, host=host, port=port)
    return OK


def main(arguments: list[str] | None = None) -> None:
    """Entry point: turns exceptions into one line on stderr and an exit code."""
    verbose = "--verbose" in (sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(args=arguments, prog_name="graph-agent", standalone_mode=False)
    except click.exceptions.Abort:
        code = INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = USAGE
    except KeyboardInterrupt:
        terminal.note("Interrupted; what was finished is kept.")
        code = INTERRUPTED
    except GraphAgentError as error:
        if verbose:
            raise
        terminal.note(f"graph-agent: {error}")
        code = error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        code = OK
    sys.exit(code if isinstance(code, int) else OK)


def _settings(**overrides: Any) -> Settings:
    given = dict(click.get_current_context().find_object(dict) or {})
    verbose = bool(given.pop("verbose", False))
    if (url := given.pop("url", None)) is not None:
        given["falkordb_url"] = url
    settings = load_settings(**{**given, **overrides})
    terminal.set_up_logging(verbose=verbose, json_lines=settings.log_format == "json")
    return settings


@contextmanager
def _graph(settings: Settings) -> Iterator[Any]:
    from graph_agent.store import DocumentGraph

    with DocumentGraph.open(settings) as graph:
        yield graph


@contextmanager
def _tools() -> Iterator[ToolContext]:
    from graph_agent.tools import ToolContext

    settings = _settings()
    with _graph(settings) as graph:
        yield ToolContext.open(graph, settings)


def _embedder(settings: Settings) -> Any:
    from graph_agent.embeddings import load_embedder

    return load_embedder(settings)


def _chat_model(settings: Settings) -> Any:
    from graph_agent.chat_models.models import chat_model

    return chat_model(settings)


def _enrich(graph: Any, model: Any, settings: Settings, paths: Sequence[Path], progress: Any) -> Any:
    from graph_agent.ingest import enrich, estimate_enrichment

    name = str(settings.model)
    terminal.note(f"To describe: {estimate_enrichment(graph, settings, name, paths).summary()}")
    return enrich(graph, model, settings, model_name=name, paths=paths, progress=progress)


def _run_tool(name: str, arguments: dict[str, Any], as_json: bool) -> int:
    with _tools() as context:
        from graph_agent.tools import call_tool

        result = call_tool(context, name, arguments)
    if as_json:
        terminal.print_json(result.artifact)
    else:
        click.echo(terminal.safe(result.content))
    return OK


def _found(artifact: Any) -> bool:
    rows = artifact.get("sections", artifact.get("results")) if isinstance(artifact, dict) else artifact
    return bool(rows)


def _show_report(report: Any, as_json: bool) -> None:
    if as_json:
        terminal.print_json(report.as_json())
        return
    click.echo(f"{report.summary()}; {report.documents:,} documents in the graph ({report.seconds:.1f} s).")
    for failure in report.failed:
        terminal.note(f"failed: {failure.path}: {failure.reason}")
    for reason, count in report.redone.items():
        terminal.note(f"made anew: {count} x {reason}")
    for reason, count in report.skipped.items():
        terminal.note(f"left out: {count} x {reason}")
    if report.enrichment is not None:
        terminal.note(report.enrichment.summary())
    if report.vectors_pending:
        terminal.note(
            f"{report.vectors_pending:,} passages have no vector yet; the next ingest goes on with them."
        )
