"""The pages put together: header, tabs, what happens when a page is opened, and what leads from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from graph_agent.ui.chat import ChatPage
from graph_agent.ui.components import html_panel, user_of
from graph_agent.ui.templates import render

if TYPE_CHECKING:
    from graph_agent.ui.workspace import Workspace

HEAD = '<link rel="stylesheet" href="pages/assets/app.css">'
QUEUE_SIZE = 200
SANS = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Helvetica Neue",
    "Noto Sans",
    "Arial",
    "sans-serif",
)
MONO = ("ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")


def build(workspace: Workspace, *, logins: bool = False) -> gr.Blocks:
    """All pages as one Gradio application."""
    chat = ChatPage(workspace)
    with gr.Blocks(title="Graph Agent", analytics_enabled=False, fill_width=True) as blocks:
        header = html_panel("header", (), elem_id="header")
        with gr.Tabs(elem_id="pages"), gr.Tab("Chat", id="chat"):
            chat.lay_out()
        chat.wire()

        def opened(request: gr.Request) -> tuple[Any, ...]:
            user = user_of(request)
            wanted = str(request.query_params.get("c") or "")
            top = str(render("header.html", user=user))
            known = {one.id for one in workspace.conversations.recent(user)}
            feed, listed, name, _, box = chat.opened(user, wanted if wanted in known else "")
            return top, feed, listed, name, box, chat.used_html()

        blocks.load(
            opened,
            None,
            [header, chat.feed, chat.list, chat.conversation, chat.box, chat.used],
            show_progress="hidden",
            api_visibility="private",
            queue=False,
        )
    blocks.queue(max_size=QUEUE_SIZE, default_concurrency_limit=40, api_open=False)
    built: gr.Blocks = blocks
    return built


def theme() -> Any:
    """Gradio's variables set to ours, which assets/app.css defines; fonts of the system only."""
    base = gr.themes.Base(font=list(SANS), font_mono=list(MONO), text_size="md", radius_size="md")
    colours = {
        "body_background_fill": "var(--page)",
        "body_text_color": "var(--text)",
        "body_text_color_subdued": "var(--soft)",
        "background_fill_primary": "var(--panel)",
        "background_fill_secondary": "var(--page)",
        "block_background_fill": "var(--panel)",
        "block_border_color": "var(--line)",
        "block_label_background_fill": "var(--panel)",
        "block_label_text_color": "var(--soft)",
        "block_title_text_color": "var(--soft)",
        "block_info_text_color": "var(--soft)",
        "border_color_primary": "var(--line)",
        "border_color_accent": "var(--accent)",
        "color_accent": "var(--accent)",
        "color_accent_soft": "var(--accent-soft)",
        "link_text_color": "var(--accent)",
        "input_background_fill": "var(--panel)",
        "input_border_color": "var(--line-strong)",
        "input_border_color_focus": "var(--accent)",
        "input_placeholder_color": "var(--soft)",
        "button_primary_background_fill": "var(--accent)",
        "button_primary_background_fill_hover": "var(--accent-strong)",
        "button_primary_text_color": "var(--on-accent)",
        "button_primary_border_color": "var(--accent)",
        "button_secondary_background_fill": "var(--panel)",
        "button_secondary_background_fill_hover": "var(--hover)",
        "button_secondary_text_color": "var(--text)",
        "button_secondary_border_color": "var(--line-strong)",
        "table_border_color": "var(--line)",
        "table_even_background_fill": "var(--panel)",
        "table_odd_background_fill": "var(--page)",
        "code_background_fill": "var(--code)",
        "error_background_fill": "var(--panel)",
        "error_text_color": "var(--bad)",
    }
    both = {**colours, **{f"{name}_dark": value for name, value in colours.items()}}
    known = {name for name in vars(base) if not name.startswith("_")}
    return base.set(**{name: value for name, value in both.items() if name in known})
