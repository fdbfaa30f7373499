"""Values and names as SQL writes them."""

from __future__ import annotations

import re
from pathlib import Path


def literal(value: object) -> str:
    """A text, or what stands for one, such as a path."""
    return "'" + str(value).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """The name of a column or a table."""
    return '"' + name.replace('"', '""') + '"'


def literally(path: Path | str) -> str:
    """A path, or a part of one, in which DuckDB finds no pattern."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))
