"""Terminal widgets: progress, tables, Markdown, plurals."""
