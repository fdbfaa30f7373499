from support.lint_tables import asking, library, rows, scan
