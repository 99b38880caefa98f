"""A conversation as one Markdown file, each answer with its list of sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graph_agent.agent.citations import without_source_list
from graph_agent.agent.response import AgentResponse

if TYPE_CHECKING:
    from graph_agent.ui.conversations import Conversation, StoredTurn


def conversation_markdown(about: Conversation, turns: Sequence[StoredTurn]) -> str:
    """The whole conversation.

    Args:
        about: title and dates.
        turns: in order; those without a response are told as such.
    """
    parts = [f"# {about.title}", f"Begun {about.created[:10]}, last question {about.updated[:10]}."]
    for turn in turns:
        parts.append(f"## {' '.join(turn.question.split())}")
        scope = str(turn.state.get("scope", ""))
        if scope:
            parts.append(f"Asked of: {scope}")
        if turn.response is None:
            parts.append(
                str(turn.state.get("answer", "")).strip() or "*No answer: it was stopped or failed.*"
            )
            continue
        parts += answer_parts(AgentResponse.model_validate(turn.response))
    return "\n\n".join(parts) + "\n"


def answer_parts(response: AgentResponse) -> list[str]:
    """An answer and its sources as Markdown blocks."""
    parts = [without_source_list(response.answer).strip()]
    if response.citations:
        lines = ["Sources", ""]
        for citation in sorted(response.citations, key=lambda one: one.n):
            page = f", page {citation.page}" if citation.page else ""
            line = f", line {citation.line}" if citation.line else ""
            mark = "" if citation.verified else " (not verified)"
            lines.append(f"- [{citation.n}] {citation.path or 'never read'}{page}{line}{mark}")
        parts.append("\n".join(lines))
    if response.mode == "extractive":
        parts.append("*Extracts of the documents; no model wrote this.*")
    return parts
