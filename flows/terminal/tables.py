"""Tables for narrow terminals: rows below the name of their group, and columns that continue below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def numbers(*names: str) -> tuple[Heading, ...]:
    """Headings above numbers."""
    return tuple(Heading(name, "right") for name in names)


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
    _show(out, shown, kept, [Text(heading.name, style="bold") for heading in shown])
    for group, own in groupby(rows, key=attrgetter("group")):
        if group:
            out.print(group, soft_wrap=True)
        for row in own:
            _show(out, shown, kept, [*row.cells, *row.more] if is_wide else row.cells)
            if row.below and not is_wide:
                out.print(row.below, soft_wrap=True)


def lost(counts: Sequence[tuple[int, str]]) -> tuple[list[Text], Text | None]:
    """How many of a row tell nothing, and why: in columns of their own, and as a line in their stead."""
    told = ", ".join(f"{count:,} {why}" for count, why in counts if count)
    below = Text(f"   {told}", style="dim") if told else None
    return [Text(f"{count:,}" if count else "–") for count, _ in counts], below


def _widths(headings: Sequence[Heading], rows: Sequence[Sequence[Text]]) -> list[int]:
    return [
        max([cell_len(heading.name), *(row[number].cell_len for row in rows)])
        for number, heading in enumerate(headings)
    ]


def _together(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _show(out: Console, headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[Text]) -> None:
    for line in _lines(out, headings, widths, cells):
        out.print(line, soft_wrap=True)


def _lines(
    out: Console, headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[Text]
) -> Iterator[Text]:
    """A row, and below it what its first cell has no room for. A row that is too long the terminal wraps itself:
    rich's tables would cut off digits."""
    first, *rest = _folded(out, cells[0], widths[0])
    row = _set(first, widths[0], "left")
    for cell, width, heading in zip(cells[1:], widths[1:], headings[1:], strict=True):
        row = Text.assemble(row, " " * GAP, _set(cell, width, heading.justify))
    row.rstrip()
    yield from (row, *rest)


def _folded(out: Console, told: Text, width: int) -> list[Text]:
    """Lines of a cell, all as far from the margin as its first."""
    indent = min(len(told.plain) - len(told.plain.lstrip(" ")), LEAST // 2)
    lines = told[indent:].wrap(out, width - indent, overflow="fold")
    return [Text.assemble(" " * indent, line) for line in lines] or [told]


def _set(told: Text, width: int, justify: Justify) -> Text:
    space = " " * (width - told.cell_len)
    return Text.assemble(told, space) if justify == "left" else Text.assemble(space, told)


KEY_WIDTH: Final = 12
"""To which names are broken before columns are moved below."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, of one or several lines, and what stands below it."""

    heading: str
    cells: Sequence[Text]
    justify: Literal["left", "right"] = "right"

    @property
    def width(self) -> int:
        return max(text.cell_len for text in (*map(Text, self.heading.splitlines()), *self.cells))


def show_folded(out: Console, key: Column, columns: Sequence[Column]) -> None:
    """The columns beside their key, all in one table if the terminal is wide enough."""
    for number, part in enumerate(_parts(key, columns, out.width)):
        if number:
            out.print()
        out.print(_table(key, part))


def _parts(key: Column, columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    room = width - min(key.width, KEY_WIDTH)
    part: list[Column] = []
    for column in columns:
        if part and sum(each.width + 1 for each in (*part, column)) > room:
            yield part
            part = []
        part.append(column)
    yield part


def _table(key: Column, columns: Sequence[Column]) -> Table:
    table = Table(pad_edge=False, box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(key.heading, overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify=column.justify, no_wrap=True)
    for row in zip(key.cells, *(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table
