"""`biasgrid compare`: two runs or two evaluations, on the terminal, as Markdown, JSON or CSV."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import orjson
import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catalogs.mistakes import Mistake, UserMistake, nearest
from flows.comparison_sections import Section, head, sections
from flows.encoding import write_data
from flows.markdown import plain, table
from flows.preparation import existing_lake
from flows.terminal import STYLES, console, readable
from tasks.aggregate.chosen import Chosen
from tasks.aggregate.compare import Comparison, compare
from tasks.aggregate.files import as_csv

Format = Literal["table", "json", "csv", "markdown"]
SHOWN = 20
"""Rows that people are shown of a section; programs get all."""
MARKED = STYLES | {"worse": "red", "better": "green", "failed": "red", "passed": "green"}


def show(
    earlier: str,
    later: str,
    *,
    pairs: Sequence[str] = (),
    kind: Format = "table",
    part: str | None = None,
    data: str | Path | None = None,
) -> None:
    """`part` names the table that is written as CSV, `requirements` by default. Raises UserMistake as
    tasks.aggregate.compare does, and for a table that there is not."""
    if part is not None and kind != "csv":
        raise UserMistake(Mistake(f"`--table {part}` has no meaning", "--table", "add --format csv"))
    found = compare(existing_lake(data), earlier, later, pairs)
    if kind == "csv":
        write_data(as_csv(_part(found, part or "requirements")))
    elif kind == "json":
        write_data(as_json(found))
    elif kind == "markdown":
        write_data(as_markdown(found))
    else:
        _show(found)


def _part(found: Comparison, name: str) -> pl.DataFrame:
    known = {**found.tables, "circumstances": found.circumstances}
    if name not in known:
        raise UserMistake(Mistake(f"this comparison has no table `{name}`", "--table", nearest(name, known)))
    return known[name]


def as_json(found: Comparison) -> str:
    """All of it: both sides, models, what differs, and a list of rows for each table."""
    told = {
        "earlier": _side(found.earlier),
        "later": _side(found.later),
        "models": dict(found.models),
        "left_out": list(found.left_out),
        "circumstances": found.circumstances.to_dicts(),
        **{name: _rows(rows) for name, rows in found.tables.items()},
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _side(chosen: Chosen) -> dict[str, Any]:
    run = chosen.run
    return {
        "run_id": run.run_id,
        "evaluation_id": chosen.evaluation_id,
        "state": run.state,
        "started_at": run.started_at,
    }


def _rows(rows: pl.DataFrame) -> list[dict[str, Any]]:
    return rows.with_columns(pl.selectors.decimal().cast(pl.Float64)).to_dicts()


def as_markdown(found: Comparison) -> str:
    """For a pull request or a wiki: names from files and what models said are escaped."""
    parts = [
        f"# {plain(found.earlier.name)} → {plain(found.later.name)}\n",
        "\n".join(f"- {plain(line)}" for line in head(found)) + "\n",
        *(_section_in_markdown(section) for section in sections(found)),
    ]
    return "\n".join(parts)


def _section_in_markdown(section: Section) -> str:
    grouped = any(group for group, _ in section.rows)
    headings = (*section.headings, "model") if grouped else section.headings
    rows = [(*cells, group) if grouped else cells for group, cells in section.rows[:SHOWN]]
    below = "".join(f"\n{plain(line)}\n" for line in (_more(section), section.note) if line)
    return f"## {section.title}\n\n{table(headings, rows, numbers=section.numbers)}{below}"


def _more(section: Section) -> str:
    rest = len(section.rows) - SHOWN
    return f"… and {rest:,} more: --format json has all" if rest > 0 else ""


def _show(found: Comparison) -> None:
    out = console()
    for line in head(found):
        out.print(Text(readable(line)), soft_wrap=True)
    for section in sections(found):
        out.print()
        out.print(Text(section.title, style="bold"))
        _show_section(out, section)


def _show_section(out: Console, section: Section) -> None:
    rows = Table(pad_edge=False, box=None, header_style="bold", padding=(0, 1, 0, 0))
    for number, heading in enumerate(section.headings):
        is_number = section.numbers and number > 0
        rows.add_column(heading, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for group, own in groupby(section.rows[:SHOWN], key=lambda row: row[0]):
        if group:
            rows.add_row(Text(readable(group), style="bold"))
        for _, cells in own:
            rows.add_row(*(_cell(cell, " " if group and not number else "") for number, cell in enumerate(cells)))
    out.print(rows)
    for line in (_more(section), section.note):
        if line:
            out.print(Text(line, style="dim"))


def _cell(told: str, indent: str) -> Text:
    return Text(indent + readable(told), style=MARKED.get(told.rpartition("→ ")[2], ""))
