from support.lint_tables import asking, find_in_overlay, library, one_template, rows, scan
