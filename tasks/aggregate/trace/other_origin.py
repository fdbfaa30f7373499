"""What an id is the id of in a probe or a red team, and to which of its cases it leads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.aggregate.trace.errors import ambiguous, elsewhere
from biasgrid.tasks.aggregate.trace.kinds import Kind
from biasgrid.tasks.aggregate.trace.origin import FEWEST_SIGNS
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, all_runs

COLUMNS: tuple[tuple[Kind, str, str], ...] = (
    ("run", "cases", "run_id"),
    ("requirement", "cases", "requirement"),
    ("cell", "cases", "cell_id"),
    ("case", "cases", "case_id"),
    ("request", "cases", "request_key"),
    ("request", "responses", "request_key"),
    ("response", "responses", "response_id"),
    ("verdict", "verdicts", "verdict_id"),
)
"""Where each kind of id stands. What a benchmark calls its requirement is here the pair, or the domain."""
SCENES: tuple[tuple[Kind, str, str], ...] = (
    ("template", "cases", "template"),
    ("template", "cases", "template_id"),
)
"""What interactions have beside: the scenes that are played."""
LEADS = pl.Schema({"kind": pl.String, "id": pl.String, "run_id": pl.String, "case_id": pl.String})


@dataclass(frozen=True, slots=True)
class OtherOrigin:
    """An id, what it is the id of, and the newest of the runs that know it, or the one that was named."""

    kind: Kind
    id: str
    run: Run
    case_ids: tuple[str, ...]
    other_runs: tuple[str, ...] = ()
    """Further runs that know the id, newest first."""


def find_other_origin(
    lake: Lake, asked: str, kind: Kind | None = None, run_id: str | None = None
) -> OtherOrigin | None:
    """What `asked` is the id of in a run that is no benchmark: exactly, else cut short; None where it is nothing
    there. Raises UserError for an id that several have, and for a run that does not know it."""
    runs = {run.run_id: run for run in all_runs(lake) if run.kind != "benchmark"}
    found = _leading(lake, runs.values(), asked, kind)
    if found.is_empty():
        return None
    # a session is known to its replies by its own id: what stands first in COLUMNS is what it is
    units = found.select("kind", "id").unique("id", keep="first", maintain_order=True)
    if units.height > 1:
        raise UserError(ambiguous(asked, units))
    found_kind, id_ = units.row(0)
    known = sorted(set(found["run_id"]), reverse=True)
    if run_id is not None and run_id not in known:
        raise UserError(elsewhere(found_kind, id_, run_id, known))
    chosen = run_id or known[0]
    cases = found.filter(run_id=chosen, kind=found_kind)["case_id"].unique(maintain_order=True)
    return OtherOrigin(found_kind, id_, runs[chosen], tuple(cases), tuple(one for one in known if one != chosen))


def _leading(lake: Lake, runs: Iterable[Run], asked: str, kind: Kind | None) -> pl.DataFrame:
    """The cases that an id leads to; those of exact ids alone where there are any."""
    parts = [_of_run(lake, run, asked, kind) for run in runs]
    found = pl.concat([LEADS.to_frame(), *parts])
    exact = found.filter(pl.col("id").is_in([asked, asked.upper()]))
    if exact.height or len(asked) < FEWEST_SIGNS:
        return exact
    return found


def _of_run(lake: Lake, run: Run, asked: str, kind: Kind | None) -> pl.DataFrame:
    places = COLUMNS + (SCENES if run.kind == "interaction" else ())
    wanted = [place for place in places if kind in (None, place[0])]
    return pl.concat([LEADS.to_frame(), *(_in_column(lake, run.run_id, asked, *place) for place in wanted)])


def _in_column(lake: Lake, run_id: str, asked: str, kind: Kind, table: str, column: str) -> pl.DataFrame:
    id_ = pl.col(column)
    fits = id_.str.starts_with(asked)
    if kind == "run":
        fits = id_.str.starts_with(asked.upper()) | id_.str.ends_with(asked.upper())
    named = {"kind": pl.lit(kind), "id": id_, "run_id": pl.lit(run_id), "case_id": pl.col("case_id")}
    found = lake.scan(table, run_id).filter(fits).select(**named)
    return found.unique(maintain_order=True).collect()
