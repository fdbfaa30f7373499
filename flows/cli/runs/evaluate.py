"""`evaluate`: stored replies judged again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from biasgrid.flows.cli.options import Data, Expectations, Gate, GateOption, Library, MaxCost, MaxRequests, RunId
from biasgrid.flows.cli.running import at_once, finish
from biasgrid.flows.cli.runs.interact import finish_interaction
from biasgrid.flows.cli.runs.probe import finish_probe

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake
    from biasgrid.warehouse.storage.runs import Run


def evaluate(
    run: RunId = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="Whose tolerances, deltas, refusal rules and judge count from now on."),
    ] = None,
    library: Library = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="`provider/model` that gives the second opinion.")
    ] = None,
    judge_passed: Annotated[
        float | None,
        typer.Option("--judge-passed", help="Share of passed replies that the judge hears, too, 0 to 1."),
    ] = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    expectations: Expectations = False,
    gate: GateOption = Gate.point,
    data: Data = None,
) -> None:
    """Judge the stored replies of a run again: by changed oracles, tolerances or another judge.

    No model under test is asked. Earlier evaluations stay in the lake; the newest one counts in the marts.
    Replies of a probe or an interaction are read again, by the catalog as it is now. Exit codes as of `run`,
    `probe` or `interact`.
    """
    from biasgrid.catalogs.scenario.scenario import Overrides
    from biasgrid.flows.benchmark.reevaluate_scenario import prepared_again
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.storage.runs import find, refuse_other_kinds

    changes: dict[str, Any] = {
        "library": str(library) if library else None,
        "judge": judge,
        "judge_passed": judge_passed,
        "max_cost": max_cost,
        "max_requests": max_requests,
    }
    with at_once():
        lake = lake_to_change(data)
        found = find(lake, run)
        refuse_other_kinds(found, "later evaluation", "benchmark", *FINISHING)
        if found.kind in FINISHING:
            _read_again(lake, found, {**changes, "scenario": scenario}, expectations=expectations)
        prepared = prepared_again(lake, found, scenario, Overrides(**changes))
        changes |= {"run_id": found.run_id, "scenario": str(scenario) if scenario else None}
        changes |= {"expectations": expectations}
        finish(
            prepared, gate.value, "biasgrid.flows.benchmark.reevaluate:evaluate_again", data=lake.named, **changes
        )


def _read_again(lake: Lake, run: Run, changes: dict[str, Any], *, expectations: bool) -> NoReturn:
    from biasgrid.catalogs.errors import Problem, UserError

    named = [f"--{name.replace('_', '-')}" for name, value in changes.items() if value is not None]
    if named:
        what = f"run `{run.run_id}` is no benchmark: its replies are read and not judged"
        raise UserError(Problem(what, ", ".join(named), f"leave {'it' if len(named) == 1 else 'them'} out"))
    from biasgrid.flows.runs.reparse import prepared_again

    given = {"run_id": run.run_id, "data": lake.named, "expectations": expectations}
    FINISHING[run.kind](prepared_again(run), "biasgrid.flows.runs.reparse:read_again", **given)


FINISHING: Final[Mapping[str, Callable[..., NoReturn]]] = {
    "probe": finish_probe,
    "interaction": finish_interaction,
}
"""Kinds of runs whose replies are read again, and what shows how that ended."""
