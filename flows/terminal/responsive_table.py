"""Tables that fold where the terminal is too narrow: what does not fit stands below, with the key again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
