"""`probe`: which stereotypes a model acts on, and which it states."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from biasgrid.flows.cli.options import (
    TARGET,
    UNDESCRIBED,
    Axes,
    Data,
    Expectations,
    Languages,
    MaxAge,
    MaxCost,
    MaxRequests,
    Pairs,
    TargetModels,
    TargetPath,
    Yes,
    how_many_or_which,
    refuse_nothing,
    refuse_other_files,
)
from biasgrid.flows.cli.running import at_once, confirmed, left_as_it_was, ran

if TYPE_CHECKING:
    from biasgrid.flows.probe.prepare import PreparedProbe
    from biasgrid.warehouse.storage.lake import Lake
    from biasgrid.warehouse.storage.runs import Run

FLOW = "biasgrid.flows.probe.flow:probe"


class Test(StrEnum):
    implicit, explicit, decision, counterfactual = "implicit", "explicit", "decision", "counterfactual"


class ReuseReplies(StrEnum):
    run, all, none = "run", "all", "none"


def probe(
    target: TargetPath = None,
    model: TargetModels = None,
    pairs: Pairs = None,
    axis: Axes = None,
    test: Annotated[list[Test] | None, typer.Option("--test", help="May be repeated.")] = None,
    language: Languages = None,
    cases: Annotated[
        int | None, typer.Option("--cases", min=5, max=1000, help="Prompts per pair and implicit test.")
    ] = None,
    detailed: Annotated[
        bool, typer.Option("--detailed", help="Ask outright even where no implicit bias was found.")
    ] = False,
    continue_on_refusal: Annotated[
        bool, typer.Option("--continue-on-refusal", help="Ask outright even where most prompts were refused.")
    ] = False,
    generator: Annotated[
        str | None,
        typer.Option("--generator", help="A model that proposes pairs from the target's description."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Chooses pairs and names.")] = None,
    reuse: Annotated[
        ReuseReplies | None, typer.Option("--reuse", help="Which earlier replies stand in for asking.")
    ] = None,
    max_age: MaxAge = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    data: Data = None,
    expectations: Expectations = False,
    yes: Yes = False,
) -> None:
    """Look for stereotypes that a model acts on, whatever it says when it is asked outright.

    Names are given to attributes in many prompts; a pattern beyond chance is implicit bias. Where it shows, the
    model is asked how far it agrees with the stereotype, its contrary and its denial.

    Exit codes: 0 no bias shown, 1 a pair is biased or could not be evaluated, 2 a mistake to put right,
    3 incomplete, 130 interrupted (go on with `biasgrid resume`).
    """
    from biasgrid.flows.runs.prepare import earlier_lake, open_lake

    refuse_nothing(target, model)
    given: dict[str, Any] = {
        "models": model or None,
        "pairs": how_many_or_which(pairs),
        "axes": axis or None,
        "tests": [each.value for each in test] if test else None,
        "languages": language or None,
        "cases": cases,
        "detailed": detailed or None,
        "continue_on_refusal": continue_on_refusal or None,
        "generator": generator,
        "seed": seed,
        "reuse": reuse.value if reuse else None,
        "max_age": max_age,
        "max_cost": max_cost,
        "max_requests": max_requests,
    }
    with at_once():
        refuse_other_files(target, TARGET)
        prepared = _prepared(target or UNDESCRIBED, **given)
        earlier = earlier_lake(data)
        with left_as_it_was(data):
            lake = open_lake(data)
            _agreed(prepared, earlier, yes=yes)
        finish_probe(
            prepared,
            target=str(target) if target else UNDESCRIBED,
            data=lake.named,
            models=model,
            expectations=expectations,
        )


def resume_probe(
    lake: Lake,
    run: Run,
    max_cost: float | None,
    max_requests: int | None,
    *,
    expectations: bool,
    yes: bool,
) -> NoReturn:
    """Go on with a probe that is not through."""
    prepared = _prepared(run.scenario_resolved, max_cost=max_cost, max_requests=max_requests)
    _agreed(prepared, lake, run_id=run.run_id, yes=yes)
    finish_probe(prepared, run_id=run.run_id, data=lake.named, expectations=expectations)


def _prepared(source: Any, **given: Any) -> PreparedProbe:
    from biasgrid.flows.operations.secrets import secret_blocks
    from biasgrid.flows.probe.prepare import overrides, prepare_probe

    return prepare_probe(source, overrides(**given), secret_blocks())


def _agreed(prepared: PreparedProbe, lake: Lake | None, *, run_id: str | None = None, yes: bool) -> None:
    """Tells what is to be sent and, where that is much, asks. Ends the command where the answer is no."""
    from biasgrid.flows.probe.forecast import left_of, probe_forecast
    from biasgrid.flows.probe.forecast_view import announce_probe

    resolved = prepared.resolved
    expected = probe_forecast(resolved, lake, brief=True)
    if run_id and lake:
        expected = left_of(expected, lake, run_id)
    announce_probe(expected, resolved.settings, is_resumed=run_id is not None)
    confirmed(expected.whole, resolved.settings, yes=yes, at_most=expected.conditional > 0)


def finish_probe(prepared: PreparedProbe, flow: str = FLOW, **parameters: Any) -> NoReturn:
    """Run a flow of probes with progress on the terminal, show what it found and exit as it ended."""
    from biasgrid.flows.probe.findings_view import show_probe

    found = ran(prepared, flow, **parameters)
    show_probe(found)
    raise typer.Exit(found.exit_code)
