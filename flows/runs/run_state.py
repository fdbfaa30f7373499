"""Whether a run has ended, and if not, whether it is running or was killed, and which command continues it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

import orjson
import polars as pl
import typer

from biasgrid.flows.operations.environment import data_place
from biasgrid.flows.runs.kinds import find_kind
from biasgrid.warehouse.schemas import BENCHMARK, PROBE
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import current_state
from biasgrid.warehouse.storage.runs import UNDER_WAY, Run, planned_cells
from biasgrid.warehouse.storage.tombstones import find_tombstones

WHAT = {
    "running": "is running",
    "killed": "was killed",
    "interrupted": "was interrupted",
    "failed": "broke off",
    "incomplete": "is incomplete",
}
CAPS = ("max_requests", "max_cost")


def describe_unfinished(lake: Lake, run: Run) -> str | None:
    """What became of a run that is not complete, its replies so far, and the command for it; None for others."""
    state = current_state(lake, run)
    if state == "completed" or run.is_imported or run.run_id in find_tombstones(lake):
        return None
    landed = lake.scan("responses", run.run_id).select("request_key", "text", "error_class", "purpose").collect()
    planned = planned_cells(lake, run.run_id)["planned"].sum()
    answered = landed.filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject")[
        "request_key"
    ].n_unique()
    cap = _reached_cap(run) if "CapReached" in landed["error_class"] else ""
    what = WHAT["running" if state in UNDER_WAY else state]
    why = f" since `{cap}` was reached" if cap and state == "incomplete" else ""
    of = f" of {planned:,}" if run.kind in (BENCHMARK, PROBE) else ""  # of others, sessions are planned
    share = f": {answered:,}{of} replies have landed" if planned else ""
    return f"run {run.run_id} {what}{why}{share}; {_command(lake, run, state, cap)}"


def _command(lake: Lake, run: Run, state: str, cap: str) -> str:
    place = data_option(lake)
    if state in UNDER_WAY:
        return f"when it has ended: biasgrid show {run.run_id}{place}"
    raised = f" --{cap.replace('_', '-')} MORE" if cap else ""
    return f"resume with: biasgrid resume {run.run_id}{raised}{place}"


def describe_changed_files(run: Run, now: Mapping[str, str]) -> str | None:
    """Catalog files that changed since a run was planned, those first by which it goes; None if there are none."""
    read, others = find_changed_files(run, now)
    shown = [
        f"{len(files)} {which} ({', '.join(files)})"
        for files, which in ((read, "by which it goes"), (others, "that it does not read"))
        if files
    ]
    return f"catalog files changed since run {run.run_id} was planned: {'; '.join(shown)}" if shown else None


def find_changed_files(run: Run, now: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Names of catalog files with other hashes than the run recorded: those that its kind reads; the others."""
    planned: dict[str, str] = orjson.loads(run.catalog_hashes or "{}")
    unlike = {*planned.values()} ^ {*now.values()}  # by content: a library may have another path elsewhere
    names = sorted({name for name, content in (*planned.items(), *now.items()) if content in unlike})
    kind = find_kind(run.kind)
    return [name for name in names if kind.reads(name)], [name for name in names if not kind.reads(name)]


def data_option(lake: Lake) -> str:
    """The option that names a lake, with a leading space; empty where commands find it anyway."""
    return "" if lake.named == Lake.at(data_place()).named else f" --data {shlex.quote(lake.named)}"


def _reached_cap(run: Run) -> str:
    """The name of the cap, of the scenario or an option, that stopped the run."""
    settings = orjson.loads(run.scenario_resolved).get("asking") or {}
    return next((name for name in CAPS if settings.get(name) is not None), CAPS[0])


def warn_of_unfinished(lake: Lake, runs: Iterable[Run]) -> None:
    """Prints `describe_unfinished` of each on stderr."""
    for run in runs:
        if notice := describe_unfinished(lake, run):
            typer.echo(notice, err=True)
