"""`run`, `plan` and `resume`: the main job from the terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.cli.options import (
    SCENARIO,
    Batch,
    Data,
    Expectations,
    Gate,
    GateOption,
    Library,
    MaxAge,
    MaxCost,
    MaxRequests,
    Models,
    RunId,
    Samples,
    ScenarioFile,
    Seed,
    Yes,
    refuse_other_files,
)
from biasgrid.flows.cli.running import at_once, confirmed, finish, left_as_it_was
from biasgrid.flows.cli.runs.interact import resume_interaction
from biasgrid.flows.cli.runs.plan import plan_sections, sections_of
from biasgrid.flows.cli.runs.probe import resume_probe
from biasgrid.flows.cli.runs.redteam import resume_redteam

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biasgrid.catalogs.scenario.scenario import Overrides, ResolvedScenario, Source
    from biasgrid.flows.runs.prepare import Prepared
    from biasgrid.warehouse.storage.lake import Lake


class Reuse(StrEnum):
    run, all, none = "run", "all", "none"


class PlanFormat(StrEnum):
    table, json = "table", "json"


ReuseOption = Annotated[
    Reuse | None,
    typer.Option("--reuse", help="Which earlier replies stand in for asking: of this run, any, none."),
]


def run(
    scenario: ScenarioFile,
    library: Library = None,
    model: Models = None,
    data: Data = None,
    reuse: ReuseOption = None,
    samples: Samples = None,
    seed: Seed = None,
    max_age: MaxAge = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    batch: Batch = None,
    expectations: Expectations = False,
    gate: GateOption = Gate.point,
    yes: Yes = False,
) -> None:
    """Test models against a scenario's requirements: plan, prompt, evaluate, aggregate.

    Exit codes: 0 every requirement met, 1 at least one not met, 2 a mistake to put right, 3 incomplete,
    4 undecided (with `--gate decided`), 130 interrupted (go on with `biasgrid resume`).
    """
    from biasgrid.catalogs.scenario.scenario import Overrides
    from biasgrid.flows.runs.prepare import earlier_lake, open_lake

    overrides: dict[str, Any] = {
        "library": str(library) if library else None,
        "samples": samples,
        "seed": seed,
        "reuse": reuse.value if reuse else None,
        "max_age": max_age,
        "max_cost": max_cost,
        "max_requests": max_requests,
        "batch": batch,
    }
    with at_once():
        refuse_other_files(scenario, SCENARIO)
        prepared = _prepared(scenario, Overrides(models=model or (), **overrides))
        earlier = earlier_lake(data)
        with left_as_it_was(data):
            lake = open_lake(data)
            _agreed(prepared.resolved, earlier, yes=yes)
        overrides |= {"models": model or None, "expectations": expectations}
        finish(prepared, gate.value, scenario=str(scenario), data=lake.named, **overrides)


def resume(
    run: RunId = None,
    data: Data = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    expectations: Expectations = False,
    gate: GateOption = Gate.point,
    yes: Yes = False,
) -> None:
    """Go on with an unfinished run: what has landed is kept, only what is missing is asked. Caps may be raised."""
    from biasgrid.catalogs.scenario.scenario import Overrides
    from biasgrid.flows.runs.prepare import existing_lake
    from biasgrid.warehouse.storage.runs import UNFINISHED, find

    with at_once():
        lake = existing_lake(data)
        found = find(lake, run, None if run else UNFINISHED)
        if found.kind == "probe":
            resume_probe(lake, found, max_cost, max_requests, expectations=expectations, yes=yes)
        if found.kind == "redteam":
            resume_redteam(lake, found, max_cost, max_requests, expectations=expectations, yes=yes)
        if found.kind == "interaction":
            resume_interaction(lake, found, max_cost, max_requests, expectations=expectations, yes=yes)
        caps: dict[str, Any] = {"max_cost": max_cost, "max_requests": max_requests}
        prepared = _prepared(found.scenario_resolved, Overrides(**caps))
        _agreed(prepared.resolved, lake, run_id=found.run_id, yes=yes)
        caps |= {"expectations": expectations}
        finish(prepared, gate.value, run_id=found.run_id, data=lake.named, **caps)


def plan(
    scenario: ScenarioFile,
    library: Library = None,
    model: Models = None,
    data: Data = None,
    samples: Samples = None,
    seed: Seed = None,
    batch: Batch = None,
    format: Annotated[PlanFormat, typer.Option("--format", help="How to show it.")] = PlanFormat.table,  # noqa: A002
) -> None:
    """Show the grid, prompts, tokens, money and time of a scenario, of a target file's probe and red team, or
    of an interaction file. Sends nothing and needs no key.

    Where earlier runs lie in the data directory, the length of replies is told from theirs.
    """
    from biasgrid.catalogs.scenario.scenario import Overrides
    from biasgrid.flows.benchmark.forecast_view import show_forecast
    from biasgrid.flows.forecast.benchmark import forecast
    from biasgrid.flows.runs.prepare import checked, earlier_lake, resolved
    from biasgrid.flows.terminal.encoding import write_data

    if sections := sections_of(scenario):
        _refuse_for_targets({"--library": library, "--samples": samples, "--batch": batch})
        as_json = format is PlanFormat.json
        plan_sections(scenario, sections, data, as_json=as_json, models=model or None, seed=seed)
        return
    overrides = Overrides(
        library=str(library) if library else None, models=model or (), samples=samples, seed=seed, batch=batch
    )
    found = resolved(scenario, overrides, checked)
    _say(found.notices)
    expected = forecast(found, earlier_lake(data))
    if format is PlanFormat.json:
        write_data(f"{expected.as_json()}\n")
    else:
        show_forecast(expected)


def _refuse_for_targets(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            what = "is for scenarios: of a target or an interaction is asked what its file says"
            raise UserError(Problem(what, option, "leave it out"))


def _prepared(source: Source, overrides: Overrides) -> Prepared:
    """A scenario that can run; its notices are told."""
    from biasgrid.flows.operations.secrets import secret_blocks
    from biasgrid.flows.runs.prepare import prepare

    prepared = prepare(source, overrides, secret_blocks())
    _say(prepared.resolved.notices)
    return prepared


def _agreed(resolved: ResolvedScenario, lake: Lake | None, *, run_id: str | None = None, yes: bool) -> None:
    """Tells what is to be sent and, where that is much, asks. Ends the command where the answer is no."""
    from biasgrid.flows.forecast.benchmark import forecast
    from biasgrid.flows.forecast.confirmation import announce
    from biasgrid.flows.forecast.remaining import remaining

    settings, expected = resolved.settings, forecast(resolved, lake, brief=True)
    if run_id and lake:
        expected = remaining(expected, lake, run_id)
    at_most = settings.reuse == "all" and lake is not None and run_id is None
    announce(expected, settings, is_resumed=run_id is not None, at_most=at_most)
    confirmed(expected, settings, yes=yes, at_most=at_most)


def _say(notices: Iterable[str]) -> None:
    for notice in notices:
        typer.echo(f"note: {notice}", err=True)
