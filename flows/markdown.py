"""Text in Markdown: whatever it is, it stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flows.terminal import readable

SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~&])")


def plain(text: object) -> str:
    """In one line, with everything escaped that Markdown or HTML would read as a command."""
    return SIGNS.sub(r"\\\1", " ".join(readable(text).split()))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A table of escaped cells; `numbers`: all columns but the first are set to the right."""
    rule = ["---", *["---:" if numbers else "---"] * (len(headings) - 1)]
    lines = [[plain(heading) for heading in headings], rule, *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
