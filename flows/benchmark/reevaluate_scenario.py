"""What a run that is judged again is judged by. Without Prefect: the command line finds mistakes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.scenario.scenario import Overrides, Source, resolve
from biasgrid.catalogs.schema.entries import Requirement
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.runs.prepare import Prepared, prepare
from biasgrid.tasks.evaluate.current_oracles import changed, judged_otherwise, rules
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

SHOWN = 10
"""Templates that a mistake names."""


def prepared_again(lake: Lake, run: Run, scenario: Source | None, overrides: Overrides) -> Prepared:
    """The rules of a scenario, by default the run's own as its files say it now, for what the run has asked.
    Raises UserError with all that does not fit."""
    prepared = fitting(prepare(scenario or run.scenario_resolved, overrides, secret_blocks()), run)
    refuse_other_kinds(lake, run, rules(prepared.resolved.catalog))
    return prepared


def fitting(prepared: Prepared, run: Run) -> Prepared:
    """The scenario's rules for what the run has asked: requirements that it does not name keep theirs, and models
    stay those of the run. Raises UserError for requirements that the run has not asked, or otherwise."""
    asked = {requirement.name: requirement for requirement in resolve(run.scenario_resolved).requirements}
    named = {requirement.name: requirement for requirement in prepared.resolved.requirements}
    mistakes = [mistake for name in named for mistake in _misfit(named[name], asked, run)]
    if mistakes:
        raise UserError(mistakes)
    kept = tuple(named.get(name, asked[name]) for name in asked)
    return replace(prepared, resolved=replace(prepared.resolved, requirements=kept))


def _misfit(wanted: Requirement, asked: Mapping[str, Requirement], run: Run) -> Iterable[Problem]:
    where = f"run {run.run_id}"
    if wanted.name not in asked:
        remedy = nearest(wanted.name, asked) or "leave it out, or ask it with `biasgrid run`"
        yield Problem(f"requirement `{wanted.name}` was not asked", where, remedy)
    elif wanted.concern != asked[wanted.name].concern:
        what = f"requirement `{wanted.name}` was asked about {asked[wanted.name].concern}, not {wanted.concern}"
        yield Problem(what, where, "give it another name, and ask it with `biasgrid run`")


def refuse_other_kinds(lake: Lake, run: Run, now: pl.DataFrame) -> None:
    """Raises UserError for templates whose oracle compares in another way now, not only with other values."""
    other = [
        row
        for row in changed(lake.read("cases", run.run_id), now).iter_rows(named=True)
        if judged_otherwise(row["oracle"], row["rule"])
    ]
    if other:
        names = ", ".join(dict.fromkeys(f"`{row['template']}`" for row in other[:SHOWN]))
        more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
        what = f"the oracles of {names}{more} compare in another way now: other operation, scale or orders"
        raise UserError(Problem(what, f"run {run.run_id}", "ask them again with `biasgrid run`"))
