"""A scripted OpenAI-compatible server for tests: real HTTP on loopback, answers by a script, fails loudly.

    def test_answer(scripted_server):
        scripted_server.script(
            expect(tools={"graph_query"}).reply(tool_calls(("graph_query", {"cypher": "RETURN 1"}))),
            reply(text("The answer [1].", chunks=5)),
        )
        ... run what is tested against scripted_server.base_url ...

The fixture asserts at its end that every step was used and nothing unforeseen came. By rule instead of by order:

    @scripted_server.respond
    def model(request):
        return structured({"stages": []}) if request.schema == "Plan" else text("Answer")

In another process: `python tests/scripted_server --script FILE --port N` (see script_file.py for FILE).
"""

from __future__ import annotations

from .clients import chat_model, merged, text_before
from .received import Received
from .replies import (
    Completion,
    Reply,
    context_length_exceeded,
    drop_stream,
    empty,
    end_stream_early,
    error_in_stream,
    garbage,
    hang,
    json_object,
    reasoning,
    repeated_tool_name,
    schema_refused,
    status,
    structured,
    text,
    tool_calls,
    truncated,
)
from .script_file import load_script
from .server import Failure, ScriptedServer
from .steps import Step, expect, reply

__all__ = [
    "Completion",
    "Failure",
    "Received",
    "Reply",
    "ScriptedServer",
    "Step",
    "chat_model",
    "context_length_exceeded",
    "drop_stream",
    "empty",
    "end_stream_early",
    "error_in_stream",
    "expect",
    "garbage",
    "hang",
    "json_object",
    "load_script",
    "merged",
    "reasoning",
    "repeated_tool_name",
    "reply",
    "schema_refused",
    "status",
    "structured",
    "text",
    "text_before",
    "tool_calls",
    "truncated",
]
