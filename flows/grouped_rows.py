"""Rows below the name of their group, readable at 80 columns and without colour: no name is cut off, and where the
terminal is wide enough there are more columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP: Final = 1
LEAST: Final = 12
"""Width of the first column, which alone is folded, where the others leave it no more."""

Justify = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Heading:
    name: str
    justify: Justify = "left"


@dataclass(frozen=True, slots=True)
class GroupedRow:
    """`group` may be empty; what is shown stands in `cells`, the first of which is folded where it is too long."""

    group: Text
    cells: Sequence[Text]
    more: Sequence[Text] = ()
    """Of columns for which the terminal must be wide enough."""
    below: Text | None = None
    """A line in their stead."""


def show_grouped(
    out: Console, headings: Sequence[Heading], rows: Sequence[GroupedRow], more: Sequence[Heading] = ()
) -> None:
    """Headings, then each group's name in a line of its own and its rows below it."""
    widths = _widths(headings, [row.cells for row in rows])
    whole = [*widths, *_widths(more, [row.more for row in rows])]
    is_wide = bool(more) and _together(whole) <= out.width
    shown = [*headings, *more] if is_wide else [*headings]
    kept = whole if is_wide else [max(LEAST, out.width - _together(widths[1:]) - GAP), *widths[1:]]
    kept[0] = min(kept[0], widths[0])
    out.print(_line(shown, kept, [Text(heading.name, style="bold") for heading in shown]))
    for group, own in groupby(rows, key=attrgetter("group")):
        if group:
            out.print(group, soft_wrap=True)
        for row in own:
            out.print(_line(shown, kept, [*row.cells, *row.more] if is_wide else row.cells))
            if row.below and not is_wide:
                out.print(row.below, soft_wrap=True)


def _widths(headings: Sequence[Heading], rows: Sequence[Sequence[Text]]) -> list[int]:
    return [
        max([cell_len(heading.name), *(row[number].cell_len for row in rows)])
        for number, heading in enumerate(headings)
    ]


def _together(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _line(headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[Text]) -> Table:
    line = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    for number, (heading, width) in enumerate(zip(headings, widths, strict=True)):
        line.add_column(justify=heading.justify, width=width, no_wrap=number > 0, overflow="fold")
    line.add_row(*cells)
    return line
