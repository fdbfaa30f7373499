"""Sections of a report on the terminal, readable at 80 columns and without colour; and columns that fold."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final, Literal

import polars as pl
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from biasgrid.flows.terminal.console import console, one_line, readable
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.tasks.report.figures import format_count
from biasgrid.tasks.report.model import Cell, Heading, Section, Table
from biasgrid.tasks.report.model import Text as Words
from biasgrid.tasks.report.verdicts import COLOURS

GAP: Final = 1
LEAST: Final = 12
"""Width of the first column, which alone is folded, where the others leave it no more."""
KEY_WIDTH: Final = 12
"""To which names are broken before columns are moved below."""


def show_sections(sections: Iterable[Section]) -> None:
    """Each section after a blank line: title, table, lines that the terminal wraps, and notes wrapped by words."""
    out = console()
    for number, section in enumerate(sections):
        if number:
            out.print()
        if section.title:
            out.print(Text(one_line(section.title), style="bold"), soft_wrap=True)
        if section.table:
            show_table(out, section.table)
        for line in section.lines:
            out.print(_text(line), soft_wrap=True)
        for note in section.notes:
            out.print(_text(note))


def show_table(out: Console, table: Table) -> None:
    """The table in its layout."""
    if table.layout == "grouped":
        _show_grouped(out, table)
    else:
        out.print(_rich_table(table))


def rich_table(*headings: Heading, wraps: bool = False) -> RichTable:
    """An empty table without lines; `wraps`: long cells are folded."""
    table = RichTable(box=None, pad_edge=False, header_style="bold", show_header=bool(headings))
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading.is_number else "left"
        table.add_column(heading.name, justify=justify, no_wrap=not wraps and heading.is_number, overflow="fold")
    return table


def _rich_table(table: Table) -> RichTable:
    wraps = table.layout == "wrapped"
    shown = rich_table(*table.headings, wraps=wraps)
    shown.padding = (0, 1, 0, 0) if wraps else shown.padding
    for group, own in groupby(table.rows, key=attrgetter("group")):
        if group:
            shown.add_row(Text(one_line(group), style="bold"))
        for row in own:
            shown.add_row(*_cells(row.cells, group))
    return shown


def _show_grouped(out: Console, table: Table) -> None:
    """Each group's name in a line of its own, its rows below it; extra columns where the terminal is wide."""
    kept = [heading for heading in table.headings if not heading.is_extra]
    cells = [_cells(row.cells, row.group) for row in table.rows]
    widths = [
        max([cell_len(heading.name), *(row[number].cell_len for row in cells)])
        for number, heading in enumerate(table.headings)
    ]
    is_wide = _total_width(widths) <= out.width
    if not is_wide:
        widths = widths[: len(kept)]
        widths[0] = min(widths[0], max(LEAST, out.width - _total_width(widths[1:]) - GAP))
    headings = table.headings if is_wide else kept
    _show(out, headings, widths, [Text(heading.name, style="bold") for heading in headings])
    shown = zip(table.rows, cells, strict=True)
    for group, own in groupby(shown, key=lambda pair: pair[0].group):
        if group:
            out.print(Text(one_line(group), style="bold"), soft_wrap=True)
        for row, texts in own:
            _show(out, headings, widths, texts[: len(headings)])
            if str(row.below) and not is_wide:
                out.print(_text(row.below, "   "), soft_wrap=True)


def _cells(cells: Sequence[Words], group: str) -> list[Text]:
    """Texts of a row, the first one indented below a group's name."""
    first, *rest = cells
    return [_text(first, " " if group else ""), *map(_text, rest)]


def _text(words: Words, indent: str = "") -> Text:
    style = COLOURS[words.tone] if isinstance(words, Cell) else ""
    return Text(indent + one_line(words), style=style)


def _total_width(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _show(out: Console, headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[Text]) -> None:
    for line in _lines(headings, widths, cells):
        out.print(line, soft_wrap=True)


def _lines(headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[Text]) -> Iterator[Text]:
    """A row, and below it what its first cell has no room for. A row that is too long the terminal wraps itself:
    rich's tables would cut off digits."""
    first, *rest = _fold_cell(cells[0], widths[0])
    row = _set(first, widths[0], "left")
    for cell, width, heading in zip(cells[1:], widths[1:], headings[1:], strict=True):
        row = Text.assemble(row, " " * GAP, _set(cell, width, "right" if heading.is_number else "left"))
    row.rstrip()
    yield from (row, *rest)


def _fold_cell(described: Text, width: int) -> list[Text]:
    """Lines of a cell, all as far from the margin as its first."""
    indent = min(len(described.plain) - len(described.plain.lstrip(" ")), LEAST // 2)
    lines = fold_name(described.plain[indent:], width - indent)
    return [Text(" " * indent + line, style=described.style) for line in lines]


def fold_name(name: str, width: int) -> list[str]:
    """Lines of a name, broken between its words, and within one only where it is wider than a line."""
    lines = [""]
    for word in re.findall(r"[^-_/\s]*[-_/\s]|[^-_/\s]+", name):
        if lines[-1] and cell_len(lines[-1] + word.rstrip()) > width:
            lines[-1:] = [lines[-1].rstrip(), ""]
        pieces = chop_cells(lines[-1] + word, width) if cell_len(word) > width else [lines[-1] + word]
        lines[-1:] = pieces
    return lines


def _set(described: Text, width: int, justify: Literal["left", "right"]) -> Text:
    space = " " * (width - described.cell_len)
    return Text.assemble(described, space) if justify == "left" else Text.assemble(space, described)


@dataclass(frozen=True, slots=True)
class Column:
    """A heading of one or several lines, and the content below it."""

    heading: str
    cells: Sequence[Text]
    justify: Literal["left", "right"] = "right"

    @property
    def width(self) -> int:
        return max(text.cell_len for text in (*map(Text, self.heading.splitlines()), *self.cells))


def show_folded(out: Console, key: Column, columns: Sequence[Column]) -> None:
    """The columns next to their key, all in one table if the terminal is wide enough."""
    for number, part in enumerate(_parts(key, columns, out.width)):
        if number:
            out.print()
        out.print(_folded_table(key, part))


def _parts(key: Column, columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    room = width - min(key.width, KEY_WIDTH)
    part: list[Column] = []
    for column in columns:
        if part and sum(each.width + 1 for each in (*part, column)) > room:
            yield part
            part = []
        part.append(column)
    yield part


def _folded_table(key: Column, columns: Sequence[Column]) -> RichTable:
    table = RichTable(pad_edge=False, box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(key.heading, overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify=column.justify, no_wrap=True)
    for row in zip(key.cells, *(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def show_examples() -> None:
    """The included queries, each with the question it answers."""
    from biasgrid.warehouse.queries.example_queries import worked_queries

    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("example", no_wrap=True)
    table.add_column("answers")
    for query in worked_queries().values():
        table.add_row(Text(query.name), Text(query.question))
    console().print(table)


def show_rows(rows: pl.DataFrame, kind: str) -> None:
    """Rows of a query as `table`, `csv` (text that a spreadsheet would run is defused) or `json`."""
    if kind == "csv":
        from biasgrid.warehouse.storage.export_files import as_csv

        text = as_csv(rows)
        write_data(readable(text) if sys.stdout.isatty() else text)
    elif kind == "json":
        write_data(rows.write_json() + "\n")
    else:
        _show_table(rows)


WIDE = 8
"""More columns than this are shown as one block a row."""


def _show_table(rows: pl.DataFrame) -> None:
    out = console()
    if len(rows.columns) > WIDE:
        for place, row in enumerate(rows.iter_rows(named=True), 1):
            block = RichTable(
                box=None, pad_edge=False, show_header=False, title=f"row {place}", title_justify="left"
            )
            for name, value in row.items():
                block.add_row(Text(readable(name), style="bold"), Text(readable(value), overflow="fold"))
            out.print(block)
    else:
        table = RichTable(box=None, pad_edge=False, header_style="bold")
        for name, dtype in rows.schema.items():
            table.add_column(
                Text(readable(name)), justify="right" if dtype.is_numeric() else "left", overflow="fold"
            )
        for values in rows.iter_rows():
            table.add_row(*(Text(readable(value)) for value in values))
        out.print(table)
    out.print(Text(f"({format_count(rows.height, 'row')})"))
