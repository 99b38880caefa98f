"""Every document of the corpus."""

from __future__ import annotations

from graph_agent.tools.context import ToolContext
from graph_agent.tools.get_folder_toc import folder_toc
from graph_agent.tools.result import ToolResult
from graph_agent.tools.spec import tool


@tool("navigation", returns="content", reading=False)
def list_documents(context: ToolContext) -> ToolResult:
    """List every document of the corpus as YAML: id, name, path, sections, description.

    The same as get_folder_toc without a folder. Use get_folder_toc for one folder, and search_sections or
    query_documents to find documents by what they say.
    """
    return folder_toc(context, None)
