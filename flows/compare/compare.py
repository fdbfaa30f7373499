"""`biasgrid compare`: two runs or two evaluations, on the terminal, as Markdown, JSON or CSV."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.flows.runs.kinds import find_kind
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.run_state import data_option, warn_of_unfinished
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.flows.terminal.markdown import plain, render_table
from biasgrid.flows.terminal.tables import show_sections
from biasgrid.tasks.aggregate.compare import Comparison, compare, compare_models
from biasgrid.tasks.aggregate.run_selector import Chosen
from biasgrid.tasks.report.html.page_cache import renew
from biasgrid.tasks.report.model import Section
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.export_files import as_csv
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs, find_run, short_ids

Format = Literal["table", "json", "csv", "markdown"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared: two runs, with pairs of models that differ in name, or two models of one run."""

    earlier: str | None = None
    """None: the newest run with `models`, else it and the one before it."""
    later: str | None = None
    pairs: Sequence[str] = ()
    models: tuple[str, str] | None = None

    def compare(self, lake: Lake) -> Comparison:
        if self.models:
            named = find_run(lake, None).run_id if self.earlier is None else self.earlier
            return compare_models(lake, named, self.models)
        earlier, later = (self.earlier, self.later or "") if self.earlier is not None else _newest_two(lake)
        return compare(lake, earlier, later, self.pairs)

    def refuse_misuse(self) -> None:
        """Raises UserError where neither two runs nor two models are named, or both."""
        if self.models and (self.later is not None or self.pairs):
            remedy = "name one run with `--models`, or two with `--as A=B`"
            raise UserError(Problem("two models of one run are named next to a second run", "--models", remedy))
        if self.later is None and self.earlier is not None and not self.models:
            remedy = "name a second run, or two models of this one: `--models A B`"
            raise UserError(Problem("there is nothing to compare it with", f"RUN {self.earlier}", remedy))


def _newest_two(lake: Lake) -> tuple[str, str]:
    """The newest run, after the one before it of the same kind."""
    newest = find_run(lake, None)
    before = [one.run_id for one in all_runs(lake) if one.kind == newest.kind and one.run_id < newest.run_id]
    if not before:
        what = f"run `{newest.run_id}` is the only one of its kind"
        raise UserError(Problem(what, remedy="name two runs, or two models of one: `--models A B`"))
    return before[-1], newest.run_id


def show(asked: Asked, kind: Format = "table", part: str | None = None, data: str | Path | None = None) -> None:
    """`part` names the table that is written as CSV, by default the first: `requirements` of a benchmark. Raises
    UserError as biasgrid.tasks.aggregate.compare does, and for a table that there is not."""
    if part is not None and kind != "csv":
        raise UserError(Problem(f"`--table {part}` has no meaning", "--table", "add --format csv"))
    lake, found = _compare(asked, data)
    if kind == "csv":
        write_data(as_csv(_part(found, part)))
    elif kind == "json":
        write_data(as_json(found))
    elif kind == "markdown":
        write_data(as_markdown(found))
    else:
        show_sections([Section(lines=head(found)), *sections(found), *_next_step(found, asked, lake)])


def _compare(asked: Asked, data: str | Path | None) -> tuple[Lake, Comparison]:
    asked.refuse_misuse()
    lake = existing_lake(data)
    found = asked.compare(lake)
    warn_of_unfinished(lake, {one.run.run_id: one.run for one in (found.earlier, found.later)}.values())
    return lake, found


def write_page(asked: Asked, out: Path | None = None, data: str | Path | None = None) -> Path:
    """The page of a comparison, in `reports/compare-A-B` by default. Raises UserError as `show` does, and for what
    has no page."""
    from biasgrid.flows.compare.page import write_comparison_pages

    lake, found = _compare(asked, data)
    folder = out or Path("reports") / "-".join(["compare", *_short_names(lake, found)])
    return renew(folder, lambda root: write_comparison_pages(lake, found, root))[0]


def _short_names(lake: Lake, found: Comparison) -> list[str]:
    """For a folder."""
    if found.is_of_models:
        return [re.sub(r"[^\w.]+", "-", name) for name in _names(found)]
    short = short_ids(all_runs(lake))
    return [short[side.run.run_id] for side in (found.earlier, found.later)]


def _next_step(found: Comparison, asked: Asked, lake: Lake) -> list[Section]:
    """The command that shows question by question, where a page can."""
    if found.kind != BENCHMARK or found.is_of_one_run:
        return []
    if found.is_of_models:
        named = [found.earlier.run.run_id, "--models", *_names(found)]
    else:
        named = [found.earlier.run.run_id, found.later.run.run_id, *(f"--as={pair}" for pair in asked.pairs)]
    command = shlex.join(["biasgrid", "compare", *named, "--open"])
    return [Section(lines=[f"Next  {command}{data_option(lake)}"])]


def _part(found: Comparison, name: str | None) -> pl.DataFrame:
    """By default the first of them."""
    known = {**found.tables, "circumstances": found.circumstances}
    name = name or next(iter(known))
    if name not in known:
        raise UserError(Problem(f"this comparison has no table `{name}`", "--table", nearest(name, known)))
    return known[name]


def as_json(found: Comparison) -> str:
    """All of it: both sides, models, what differs, and a list of rows for each table."""
    report = {
        "kind": found.kind,
        "earlier": _side(found.earlier),
        "later": _side(found.later),
        "models": dict(found.models),
        "left_out": list(found.left_out),
        "circumstances": found.circumstances.to_dicts(),
        **{name: _rows(rows) for name, rows in found.tables.items()},
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def head(found: Comparison) -> list[str]:
    """What comes of it in a few lines, and which two are compared."""
    if found.is_of_models:
        return [*resolve_name(f"{find_kind(found.kind).comparison}:summary")(found), *_describe_models(found)]
    lines = [
        *resolve_name(f"{find_kind(found.kind).comparison}:summary")(found),
        f"earlier  {_describe_side(found.earlier)}",
        f"later    {_describe_side(found.later)}",
    ]
    if found.later.run.run_id < found.earlier.run.run_id:
        lines.append("the run that is named first is the newer one")
    lines += [f"{own} is compared with {other}" for own, other in found.models.items()]
    if found.left_out:
        lines.append(f"in no comparison: {', '.join(found.left_out)}")
    return lines


def _describe_models(found: Comparison) -> list[str]:
    ((own, other),) = found.models.items()
    return [f"first    {own}", f"second   {other}", f"both of  {_describe_side(found.later)}"]


def _describe_side(chosen: Chosen) -> str:
    run = chosen.run
    begun = f", {run.started_at:%Y-%m-%d %H:%M} UTC" if run.started_at else ""
    if len(chosen.evaluations) == 1:
        return f"{run.run_id} ({run.state}{begun})"
    judged = chosen.criteria["recorded_at"].max()
    when = f" ({judged:%Y-%m-%d %H:%M:%S} UTC)" if isinstance(judged, datetime) else ""
    return f"{run.run_id} ({run.state}{begun}), evaluation {chosen.evaluation_id}{when}"


def sections(found: Comparison) -> list[Section]:
    """Sections that are not empty."""
    found_sections = resolve_name(f"{find_kind(found.kind).comparison}:sections")(found)
    return [section for section in found_sections if section.table]


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
    """For a pull request or a wiki: names from files and texts of models are escaped."""
    parts = [
        f"# {' → '.join(map(plain, _names(found)))}\n",
        "\n".join(f"- {plain(line)}" for line in head(found)) + "\n",
        *map(_section_in_markdown, sections(found)),
    ]
    return "\n".join(parts)


def _names(found: Comparison) -> tuple[str, str]:
    if not found.is_of_models:
        return found.earlier.name, found.later.name
    ((own, other),) = found.models.items()
    return own, other


def _section_in_markdown(section: Section) -> str:
    below = "".join(f"\n{plain(note)}\n" for note in section.notes)
    return f"## {section.title}\n\n{render_table(section.table) if section.table else ''}{below}"
