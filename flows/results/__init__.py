"""Shows stored results: show, report, sql, export, trace."""
