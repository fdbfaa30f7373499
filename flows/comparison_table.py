"""A comparison on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.comparison_lines import Line, Section
from flows.grouped_rows import GroupedRow, Heading, show_grouped
from flows.terminal import STYLES, one_line

BAD, GOOD = "red", "green"
MARKED: Final = STYLES | {"worse": BAD, "failed": BAD, "biased": BAD, "better": GOOD, "passed": GOOD}


def show_comparison(out: Console, head: Sequence[str], sections: Sequence[Section]) -> None:
    """What comes of it, then the sections."""
    for line in head:
        out.print(Text(one_line(line)), soft_wrap=True)
    for section in sections:
        out.print()
        out.print(Text(section.title, style="bold"))
        _show_section(out, section)


def _show_section(out: Console, section: Section) -> None:
    if section.numbers:
        rows = [_grouped(line, section) for line in section.first]
        show_grouped(out, _headings(section), rows, [*map(Heading, section.more)])
    else:
        out.print(_table(section))
    for line in (section.rest, section.note):
        if line:
            out.print(Text(line, style="dim"))


def _headings(section: Section) -> list[Heading]:
    return [Heading(name, "right" if number else "left") for number, name in enumerate(section.headings)]


def _grouped(line: Line, section: Section) -> GroupedRow:
    below = _below(line, section)
    return GroupedRow(Text(one_line(line.group), style="bold"), _cells(line), [*map(_cell, line.more)], below)


def _below(line: Line, section: Section) -> Text | None:
    """Of what has no finding of its own, such as a language, only what has changed."""
    told = "; ".join(f"{name}: {cell}" for name, cell in zip(section.more, line.more, strict=True) if cell)
    has_changed = "→" in told
    if not told or not (has_changed or all(line.more)):
        return None
    return Text(f"   {one_line(told)}", style="" if has_changed else "dim")


def _table(section: Section) -> Table:
    table = Table(pad_edge=False, box=None, header_style="bold", padding=(0, 1, 0, 0))
    for heading in section.headings:
        table.add_column(heading, overflow="fold")
    for group, own in groupby(section.first, key=attrgetter("group")):
        if group:
            table.add_row(Text(one_line(group), style="bold"))
        for line in own:
            table.add_row(*_cells(line))
    return table


def _cells(line: Line) -> list[Text]:
    first, *rest = line.cells
    return [_cell(first, " " if line.group else ""), *map(_cell, rest)]


def _cell(told: str, indent: str = "") -> Text:
    return Text(indent + one_line(told), style=MARKED.get(told.rpartition("→ ")[2], ""))
