"""How many of something there are, in words."""

from __future__ import annotations


def format_count(count: int, noun: str) -> str:
    """A count with its noun: `1 reply`, `1,250 replies`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"
