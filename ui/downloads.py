"""Files that a page hands out: conversations as Markdown, query results as CSV and JSON, original documents.

Plain routes with the user of the request; Gradio's file route is shut.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from graph_agent.errors import GraphAgentError
from graph_agent.ui.access import USER
from graph_agent.ui.export import conversation_markdown

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from graph_agent.ui.workspace import Workspace

_SAFE = re.compile(r"[^\w.\- ]+")


def add_downloads(api: FastAPI, workspace: Workspace) -> None:
    """Add the routes below /pages/."""
    from fastapi import HTTPException, Request, Response

    # FastAPI looks the annotations of a route up among the module's names.
    globals().update(Request=Request, Response=Response)

    @api.get("/pages/conversations/{conversation}.md")
    async def conversation_file(conversation: str, request: Request) -> Response:
        user = request.scope[USER]

        def made() -> tuple[str, str]:
            store = workspace.conversations
            about = store.get(user, conversation)
            return about.title, conversation_markdown(about, store.turns(user, conversation))

        try:
            title, text = await asyncio.to_thread(made)
        except GraphAgentError as error:
            raise HTTPException(404, error.message) from None
        return attachment(text.encode(), file_name(title, ".md"), "text/markdown")

    @api.get("/pages/results/{result}.{kind}")
    async def result_file(result: str, kind: str, request: Request) -> Response:
        found = workspace.results.get(request.scope[USER], result)
        if found is None or kind not in {"csv", "json"}:
            raise HTTPException(404, "This result is not kept any more: run the query again.")
        body = await asyncio.to_thread(found.as_csv if kind == "csv" else found.as_json)
        media = "text/csv" if kind == "csv" else "application/json"
        return attachment(body, file_name("query result", f".{kind}"), media)


def attachment(body: bytes, name: str, media_type: str) -> Response:
    """An answer that a browser saves and never shows."""
    from fastapi import Response

    return Response(
        body,
        media_type=f"{media_type}; charset=utf-8",
        headers={
            "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "cache-control": "no-store",
        },
    )


def file_name(title: str, ending: str) -> str:
    """A file name of a title: no separators, no controls, bounded, never empty or hidden."""
    plain = unicodedata.normalize("NFC", title)
    stem = " ".join(_SAFE.sub(" ", plain).split()).strip(". ")[:80].strip()
    return f"{Path(stem or 'conversation').name}{ending}"
