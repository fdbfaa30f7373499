"""`biasgrid compare`: two runs or two evaluations, on the terminal, as Markdown, JSON or CSV."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

import orjson
import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.flows.compare import benchmark, other_kinds
from biasgrid.flows.compare.rows import Line, Section
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.flows.terminal.markdown import plain
from biasgrid.flows.terminal.markdown import table as markdown_table
from biasgrid.flows.terminal.progress import STYLES, console, one_line
from biasgrid.flows.terminal.tables import GroupedRow, Heading, show_grouped
from biasgrid.tasks.aggregate.compare import Comparison, compare
from biasgrid.tasks.aggregate.run_selector import Chosen
from biasgrid.warehouse.storage.export_files import as_csv

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


Format = Literal["table", "json", "csv", "markdown"]


def show(
    earlier: str,
    later: str,
    *,
    pairs: Sequence[str] = (),
    kind: Format = "table",
    part: str | None = None,
    data: str | Path | None = None,
) -> None:
    """`part` names the table that is written as CSV, by default the first: `requirements` of a benchmark. Raises
    UserError as biasgrid.tasks.aggregate.compare does, and for a table that there is not."""
    if part is not None and kind != "csv":
        raise UserError(Problem(f"`--table {part}` has no meaning", "--table", "add --format csv"))
    found = compare(existing_lake(data), earlier, later, pairs)
    if kind == "csv":
        write_data(as_csv(_part(found, part)))
    elif kind == "json":
        write_data(as_json(found))
    elif kind == "markdown":
        write_data(as_markdown(found))
    else:
        show_comparison(console(), head(found), sections(found))


def _part(found: Comparison, name: str | None) -> pl.DataFrame:
    """By default the first of them."""
    known = {**found.tables, "circumstances": found.circumstances}
    name = name or next(iter(known))
    if name not in known:
        raise UserError(Problem(f"this comparison has no table `{name}`", "--table", nearest(name, known)))
    return known[name]


def as_json(found: Comparison) -> str:
    """All of it: both sides, models, what differs, and a list of rows for each table."""
    told = {
        "kind": found.kind,
        "earlier": _side(found.earlier),
        "later": _side(found.later),
        "models": dict(found.models),
        "left_out": list(found.left_out),
        "circumstances": found.circumstances.to_dicts(),
        **{name: _rows(rows) for name, rows in found.tables.items()},
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def head(found: Comparison) -> list[str]:
    """What comes of it in a few lines, and which two are compared."""
    lines = [
        *_of_kind(found).summary(found),
        f"earlier  {_named(found.earlier)}",
        f"later    {_named(found.later)}",
    ]
    if found.later.run.run_id < found.earlier.run.run_id:
        lines.append("the run that is named first is the newer one")
    lines += [f"{own} is compared with {other}" for own, other in found.models.items()]
    if found.left_out:
        lines.append(f"in no comparison: {', '.join(found.left_out)}")
    return lines


def _named(chosen: Chosen) -> str:
    run = chosen.run
    judged = "" if len(chosen.evaluations) == 1 else f", evaluation {chosen.evaluation_id}"
    begun = f", {run.started_at:%Y-%m-%d %H:%M} UTC" if run.started_at else ""
    return f"{run.run_id}{judged} ({run.state}{begun})"


def sections(found: Comparison) -> list[Section]:
    """Those that have anything to tell."""
    return [section for section in _of_kind(found).sections(found) if section.lines]


def _of_kind(found: Comparison) -> ModuleType:
    return benchmark if found.kind == "benchmark" else other_kinds


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
    grouped = any(line.group for line in section.lines)
    headings = (*section.headings, *section.more, *(("model",) if grouped else ()))
    rows = [(*line.cells, *line.more, *((line.group,) if grouped else ())) for line in section.first]
    below = "".join(f"\n{plain(line)}\n" for line in (section.rest, section.note) if line)
    return f"## {section.title}\n\n{markdown_table(headings, rows, numbers=section.numbers)}{below}"
