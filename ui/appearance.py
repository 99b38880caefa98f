"""Gradio's look set to ours: its variables point at those of assets/app.css; fonts of the system only."""

from __future__ import annotations

from typing import Any

import gradio as gr

HEAD = '<link rel="stylesheet" href="pages/assets/app.css">'
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
