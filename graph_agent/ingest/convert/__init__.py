"""Files to Markdown, one module per family of formats; `registry.convert` knows which reads what."""
