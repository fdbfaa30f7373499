"""Text in Markdown: whatever it is, it stays text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence

from biasgrid.flows.terminal.console import readable
from biasgrid.tasks.report.model import Row, Section, Table, headings

SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~&])")
HARMLESS = re.compile(r"(?:[^\\`*_{}\[\]<>|#~&]|(?<=\w)_(?=\w))*")


def plain(text: object) -> str:
    """In one line, with everything escaped that Markdown or HTML would read as a command."""
    return SIGNS.sub(r"\\\1", " ".join(readable(text).split()))


class Markup(str):
    """Text that is Markdown already, and is left as it is."""


def cell(text: object) -> str:
    """For a cell of a table artifact, which one of Prefect's UIs reads as Markdown and the other as text: escaped
    only where a sign would be read as a command."""
    words = " ".join(readable(text).split())
    return words if HARMLESS.fullmatch(words) else plain(words)


def block(lines: Iterable[str], language: str = "sh") -> str:
    """Lines to be copied."""
    words = [readable(line).replace("\n", " ") for line in lines]
    longest = max((len(ticks) for word in words for ticks in re.findall("`+", word)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}{language}", *words, fence))


def image(svg: str, words: str) -> Markup:
    """A picture that needs no server; `words` is its alternative text."""
    return Markup(f"![{plain(words)}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A table of escaped cells; `numbers`: all columns but the first are aligned to the right."""
    rule = ["---", *["---:" if numbers else "---"] * (len(headings) - 1)]
    lines = [[plain(heading) for heading in headings], rule, *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def text_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table | None:
    """A table of texts for a page; None without rows."""
    return Table(headings(*names), [*map(Row, rows)]) if rows else None


def render_table(shown: Table) -> str:
    """The table with its groups in a last column."""
    grouped = any(row.group for row in shown.rows)
    names = [heading.name for heading in shown.headings] + ["model"] * grouped
    rows = ([*map(str, row.cells)] + [row.group] * grouped for row in shown.rows)
    return table(names, rows, numbers=any(heading.is_number for heading in shown.headings))


def as_page(title: str, lead: str, sections: Iterable[Section]) -> str:
    """A page of sections: their texts are Markdown, the cells of their tables are escaped."""
    return "\n\n".join([f"# {plain(title)}", lead, *(part for section in sections for part in _parts(section))])


def _parts(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    if section.table:
        yield render_table(section.table)
    yield from map(str, section.lines)
    yield from map(str, section.notes)


def _cell(text: str) -> str:
    return text if isinstance(text, Markup) else plain(text)
