"""`evaluate`: stored replies judged again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.options import Data, Expectations, Gate, GateOption, Library, MaxCost, MaxRequests, RunId
from flows.cli.running import at_once, finish


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
    Exit codes as of `run`.
    """
    from catalogs.scenario import Overrides
    from flows.preparation import existing_lake
    from flows.refitting import prepared_again
    from warehouse.runs import find

    changes: dict[str, Any] = {
        "library": str(library) if library else None,
        "judge": judge,
        "judge_passed": judge_passed,
        "max_cost": max_cost,
        "max_requests": max_requests,
    }
    with at_once():
        lake = existing_lake(data)
        found = find(lake, run)
        prepared = prepared_again(lake, found, scenario, Overrides(**changes))
        changes |= {"run_id": found.run_id, "scenario": str(scenario) if scenario else None}
        changes |= {"expectations": expectations}
        finish(prepared, gate.value, "flows.rejudging:evaluate_again", data=lake.named, **changes)
