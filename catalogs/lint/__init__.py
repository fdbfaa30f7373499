"""The catalog check: every problem of a catalog, with file and line."""
