"""Values and names as SQL writes them."""

from __future__ import annotations


def literal(value: object) -> str:
    """A text, or what stands for one, such as a path."""
    return "'" + str(value).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """The name of a column or a table."""
    return '"' + name.replace('"', '""') + '"'
