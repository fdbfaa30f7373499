"""Quotes values and names for SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def literal(value: object) -> str:
    """A value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def quote(name: str) -> str:
    """A quoted name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


def quote_all(names: Iterable[str]) -> str:
    """Quoted names, separated by commas."""
    return ", ".join(map(quote, names))


def escape_glob(path: Path | str) -> str:
    """A path with DuckDB's glob characters escaped."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))
